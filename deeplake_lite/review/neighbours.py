"""The nearest neighbours of each vector, by cosine similarity.

Up to `EXACT_ROWS` vectors are all compared with each other, in blocks. Larger sets are divided into
clusters by k-means, and each vector is compared with about `COMPARED` vectors from its own cluster
and the nearest other clusters. This is an inverted file (Jégou, Douze, Schmid, Product Quantization
for Nearest Neighbor Search, PAMI 2011) without quantization.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.index.clusters import (
    TRAINING_ROWS,
    directions,
    find_centres,
    nearest_centres,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

type Vectors = NDArray[np.float32]
type Rows = NDArray[np.int64]

EXACT_ROWS = 16_384
"""Maximum number of vectors that are all compared with each other."""

COMPARED = 1_024
"""Approximate number of vectors with which each vector of a larger set is compared."""

BLOCK_BYTES = 16 * 2**20
"""Maximum size, in bytes, of the cosines that are in memory at a time."""

_CLUSTER_ROWS = 512  # mean cluster size, half of COMPARED so that two clusters are searched
_MAX_CLUSTERS = 1024


def nearest(vectors: Vectors, count: int) -> tuple[Rows, Vectors]:
    """Return the nearest neighbours of each row, and the cosine similarity of each neighbour.

    A row is not its own neighbour.

    Parameters
    ----------
    vectors : ndarray, (n, dim) float32
        Vectors of any length.
    count : int
        Number of neighbours per row, which must be less than n.

    Returns
    -------
    rows : ndarray, (n, count) int64
        Rows of the neighbours in no particular order, padded with -1 if there are fewer.
    cosines : ndarray, (n, count) float32
        Cosine similarity of each neighbour: 0 for zero vectors, -inf for missing neighbours.

    Examples
    --------
    >>> vectors = np.array([[1, 0], [0, 1], [2, 0.1], [0.1, 2]], np.float32)
    >>> nearest(vectors, 1)[0].tolist()
    [[2], [3], [0], [1]]
    """
    unit = directions(vectors)
    rows = np.full((len(unit), count), -1)
    cosines = np.full((len(unit), count), -np.inf, np.float32)
    for group, candidates in _comparisons(unit):
        others = unit[candidates]
        for block in _blocks(group, len(others)):
            products = unit[block] @ others.T
            _exclude_self(products, block, candidates)
            at = largest(products, min(count, len(candidates)))
            best = np.take_along_axis(products, at, axis=1)
            rows[block, : at.shape[1]] = np.where(np.isfinite(best), candidates[at], -1)
            cosines[block, : at.shape[1]] = best
    return rows, cosines


def largest(values: Vectors, count: int) -> Rows:
    """Return the columns of each row's `count` largest values, (n, count), in no particular order.

    The columns are divided into tiles. Tile i of t has every t-th column, starting with the i-th.
    The largest values are all in the `count` tiles with the largest maxima. Partitioning the
    maxima, and then the values in these tiles, is ten times as fast as partitioning whole rows.

    >>> np.sort(largest(np.array([[3.0, 9, 1, 7], [1, 2, 3, 4]]), 2)).tolist()
    [[1, 3], [2, 3]]
    """
    width = values.shape[1]
    high = int((width / count) ** 0.5)  # columns per tile, such that both steps take equally long
    tiles = width // max(high, 1)
    if tiles <= count:
        return np.argpartition(values, -count, axis=1)[:, -count:]
    whole = values[:, : tiles * high].reshape(len(values), high, tiles)
    best = np.argpartition(whole.max(axis=1), -count, axis=1)[:, -count:]
    columns = best[:, np.newaxis, :] + np.arange(high)[:, np.newaxis] * tiles
    # Columns that do not fill a row of tiles are searched too.
    last = np.broadcast_to(np.arange(tiles * high, width), (len(values), width - tiles * high))
    columns = np.hstack([columns.reshape(len(values), -1), last])
    among = np.argpartition(np.take_along_axis(values, columns, axis=1), -count, axis=1)
    return np.take_along_axis(columns, among[:, -count:], axis=1)


def _exclude_self(products: Vectors, rows: Rows, candidates: Rows) -> None:
    """Set the product of each row with itself to -inf. `candidates` must be in ascending order."""
    at = np.minimum(np.searchsorted(candidates, rows), len(candidates) - 1)
    itself = np.flatnonzero(candidates[at] == rows)
    products[itself, at[itself]] = -np.inf


def _blocks(rows: Rows, width: int) -> Iterator[Rows]:
    size = max(1, BLOCK_BYTES // (4 * width))
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _comparisons(unit: Vectors) -> Iterator[tuple[Rows, Rows]]:
    """Yield groups of rows, each with the rows to compare the group with, in ascending order."""
    if len(unit) <= EXACT_ROWS:
        if len(unit):
            yield np.arange(len(unit)), np.arange(len(unit))
        return
    centres = _centres(unit)
    members = _members(unit, centres)
    for cluster, near in enumerate(np.argsort(-(centres @ centres.T), axis=1)):
        if len(members[cluster]):
            yield members[cluster], _candidates([members[c] for c in near])


def _candidates(groups: list[Rows]) -> Rows:
    """Return about `COMPARED` rows of the first groups. Large groups are sampled evenly."""
    taken, missing = [], COMPARED
    for rows in groups:
        taken.append(rows[:: -(-len(rows) // missing)] if len(rows) else rows)
        missing -= len(taken[-1])
        if missing <= 0:
            break
    return np.sort(np.concatenate(taken))


def _centres(unit: Vectors) -> Vectors:
    """Return the directions of the centres of clusters, found in a sample of the vectors."""
    count = min(_MAX_CLUSTERS, max(2, len(unit) // _CLUSTER_ROWS))
    size = min(len(unit), count * TRAINING_ROWS)
    sample = unit[np.random.default_rng(0).choice(len(unit), size, replace=False)]
    return find_centres(sample, count, spherical=True)


def _members(unit: Vectors, centres: Vectors) -> list[Rows]:
    """Return the rows of each cluster in ascending order."""
    nearest = nearest_centres(unit, centres)
    order = np.argsort(nearest, kind="stable")
    return np.split(order, np.searchsorted(nearest[order], np.arange(1, len(centres))))
