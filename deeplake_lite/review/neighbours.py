"""The vectors nearest to each one of many, by cosine: blocks of products, a few largest of each.

Up to `EXACT_ROWS` vectors each is compared with every other one. Beyond, the vectors are gathered
in clusters around directions that k-means finds, and each is compared with those of its own and the
nearest clusters, about `COMPARED` of them: an inverted file (Jégou, Douze, Schmid, Product
Quantization for Nearest Neighbor Search, PAMI 2011), without the quantization.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

type Vectors = NDArray[np.float32]
type Rows = NDArray[np.int64]

EXACT_ROWS = 16_384
"""Most vectors of which each is compared with every other one."""

COMPARED = 1_024
"""Vectors that each one is compared with where there are more."""

BLOCK_BYTES = 16 * 2**20
"""Of products that are held at a time."""

_CLUSTER_ROWS = 512  # about, so that some two clusters and more are compared
_MOST_CLUSTERS = 1024
_TRAINING_ROWS = 32  # of a cluster, about, from which its direction is found
_ROUNDS = 4  # of k-means


def nearest(vectors: Vectors, count: int) -> tuple[Rows, Vectors]:
    """Return the rows nearest to each row, itself left out, and their cosines.

    Parameters
    ----------
    vectors : ndarray, (n, dim) float32
    count : int
        Of neighbours of each, fewer than n.

    Returns
    -------
    rows : ndarray, (n, count) int64
        In no order; -1 where a row has fewer.
    cosines : ndarray, (n, count) float32
        0 for vectors without a direction; -inf where there is no row.

    Examples
    --------
    >>> vectors = np.array([[1, 0], [0, 1], [2, 0.1], [0.1, 2]], np.float32)
    >>> nearest(vectors, 1)[0].tolist()
    [[2], [3], [0], [1]]
    """
    unit = directions(vectors)
    rows = np.full((len(unit), count), -1)
    cosines = np.full((len(unit), count), -np.inf, np.float32)
    for asked, compared in _comparisons(unit):
        others = unit[compared]
        for block in _blocks(asked, len(others)):
            products = unit[block] @ others.T
            _leave_out(products, block, compared)
            at = largest(products, min(count, len(compared)))
            found = np.take_along_axis(products, at, axis=1)
            rows[block, : at.shape[1]] = np.where(np.isfinite(found), compared[at], -1)
            cosines[block, : at.shape[1]] = found
    return rows, cosines


def directions(vectors: Vectors) -> Vectors:
    """Return vectors of length 1; what has no length stays zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, np.newaxis]
    unit: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit


def largest(values: Vectors, count: int) -> Rows:
    """Return where the largest values of each row are, (n, count), in no order.

    They lie in the tiles, every so many columns, whose largest values are largest: partitioning
    these and then what they hold is a tenth of the work of partitioning the rows.

    >>> np.sort(largest(np.array([[3.0, 9, 1, 7], [1, 2, 3, 4]]), 2)).tolist()
    [[1, 3], [2, 3]]
    """
    width = values.shape[1]
    high = int((width / count) ** 0.5)  # as many tiles as are looked into have columns
    tiles = width // max(high, 1)
    if tiles <= count:
        return np.argpartition(values, -count, axis=1)[:, -count:]
    whole = values[:, : tiles * high].reshape(len(values), high, tiles)
    best = np.argpartition(whole.max(axis=1), -count, axis=1)[:, -count:]
    columns = best[:, np.newaxis, :] + np.arange(high)[:, np.newaxis] * tiles
    rest = np.broadcast_to(np.arange(tiles * high, width), (len(values), width - tiles * high))
    columns = np.hstack([columns.reshape(len(values), -1), rest])
    among = np.argpartition(np.take_along_axis(values, columns, axis=1), -count, axis=1)
    return np.take_along_axis(columns, among[:, -count:], axis=1)


def _leave_out(products: Vectors, rows: Rows, compared: Rows) -> None:
    """Make no row its own neighbour; `compared` ascends."""
    at = np.minimum(np.searchsorted(compared, rows), len(compared) - 1)
    itself = np.flatnonzero(compared[at] == rows)
    products[itself, at[itself]] = -np.inf


def _blocks(rows: Rows, width: int) -> Iterator[Rows]:
    size = max(1, BLOCK_BYTES // (4 * width))
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _comparisons(unit: Vectors) -> Iterator[tuple[Rows, Rows]]:
    """Yield rows with the rows that they are compared with, both ascending."""
    if len(unit) <= EXACT_ROWS:
        if len(unit):
            yield np.arange(len(unit)), np.arange(len(unit))
        return
    centres = _centres(unit)
    members = _members(unit, centres)
    for cluster, near in enumerate(np.argsort(-(centres @ centres.T), axis=1)):
        if len(members[cluster]):
            yield members[cluster], _enough([members[c] for c in near])


def _enough(groups: list[Rows]) -> Rows:
    """Return `COMPARED` rows of the first groups, evenly of groups that are too large."""
    taken, room = [], COMPARED
    for rows in groups:
        taken.append(rows[:: -(-len(rows) // room)] if len(rows) else rows)
        room -= len(taken[-1])
        if room <= 0:
            break
    return np.sort(np.concatenate(taken))


def _centres(unit: Vectors) -> Vectors:
    """Return directions that vectors gather around: k-means on some of them (Dhillon, Modha)."""
    count = min(_MOST_CLUSTERS, max(2, len(unit) // _CLUSTER_ROWS))
    random = np.random.default_rng(0)
    some = unit[random.choice(len(unit), min(len(unit), count * _TRAINING_ROWS), replace=False)]
    centres = some[:count]
    for _ in range(_ROUNDS):
        own = _nearest_centre(some, centres)
        order = np.argsort(own, kind="stable")
        held, starts = np.unique(own[order], return_index=True)
        centres = centres.copy()
        centres[held] = np.add.reduceat(some[order], starts, axis=0)
        centres = directions(centres)
    return centres


def _nearest_centre(unit: Vectors, centres: Vectors) -> Rows:
    blocks = _blocks(np.arange(len(unit)), len(centres))
    return np.concatenate([(unit[b] @ centres.T).argmax(axis=1) for b in blocks])


def _members(unit: Vectors, centres: Vectors) -> list[Rows]:
    """Return the rows of each cluster, ascending."""
    own = _nearest_centre(unit, centres)
    order = np.argsort(own, kind="stable")
    return np.split(order, np.searchsorted(own[order], np.arange(1, len(centres))))
