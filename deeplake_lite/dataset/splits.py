"""Cutting rows into parts for training and testing, the same way wherever the same rows are.

Rows are ranked by a hash of their id and the seed; the ranking is cut at the fractions. Positions,
versions and the order of rows play no part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xxhash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View


def split(
    view: View, fractions: Sequence[float], *, by: str | None, group: str | None, seed: int
) -> list[NDArray[np.int64]]:
    """Return the positions of each part, ascending; see `View.split`."""
    shares = _shares(fractions)
    if by is not None and group is not None:
        raise ValueError("rows are split by= or group=, not both. Give one of them.")
    if len(view) == 0:
        return [np.empty(0, np.int64) for _ in shares]
    if group is not None:
        return _split_groups(_codes(view, group), _keys(view, group), shares, seed)
    rank = _ranks(view.row_ids, seed)
    strata = _codes(view, by) if by is not None else np.zeros(len(view), np.int64)
    part = np.empty(len(view), np.int64)
    for code in np.unique(strata):
        rows = np.flatnonzero(strata == code)
        part[rows[np.argsort(rank[rows], kind="stable")]] = _cut(len(rows), shares)
    return [np.flatnonzero(part == i) for i in range(len(shares))]


def _shares(fractions: Sequence[float]) -> NDArray[np.float64]:
    """Return the size of each part; ValueError for what does not divide a whole.

    >>> _shares([3, 1])
    Traceback (most recent call last):
        ...
    ValueError: fractions must add up to 1, got [3, 1], which add up to 4. Divide them: [0.75, ...
    """
    try:
        shares = np.asarray(fractions, float)
    except (TypeError, ValueError):
        shares = np.empty(())
    if shares.ndim != 1 or not len(shares):
        raise ValueError(
            f"fractions must be a number per part, such as [0.9, 0.1], got {fractions!r:.60}."
        )
    if not (shares >= 0).all() or not np.isfinite(shares).all():
        bad = shares[~(np.isfinite(shares) & (shares >= 0))][0]
        raise ValueError(
            f"fractions must be 0 to 1, got {bad:g}. Leave the part out, or give it 0."
        )
    if (total := shares.sum()) == 0 or abs(total - 1) > 1e-6:
        way = "Give one that is not 0." if total == 0 else f"Divide them: {_divided(shares)}."
        raise ValueError(
            f"fractions must add up to 1, got {list(fractions)!r:.60}, which add up to {total:g}. "
            f"{way}"
        )
    return shares


def _divided(shares: NDArray[np.float64]) -> str:
    return f"[{', '.join(f'{share:.3g}' for share in shares / shares.sum())}]"


def _split_groups(
    codes: NDArray[np.int64], keys: list[bytes], shares: NDArray[np.float64], seed: int
) -> list[NDArray[np.int64]]:
    """Put whole groups into parts: by rank, each where most rows are still missing."""
    sizes = np.bincount(codes)
    rank = np.array([xxhash.xxh3_64_intdigest(key, seed) for key in keys], np.uint64)
    missing = shares * len(codes)
    home = np.empty(len(sizes), np.int64)
    for i in np.argsort(rank, kind="stable"):
        home[i] = int(np.argmax(missing))
        missing[home[i]] -= sizes[i]
    part = home[codes]
    return [np.flatnonzero(part == i) for i in range(len(shares))]


def _ranks(ids: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    little = ids.astype("<i8")
    return np.fromiter((xxhash.xxh3_64_intdigest(i, seed) for i in little), np.uint64, len(ids))


def _cut(count: int, shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the part of each rank.

    >>> _cut(5, np.array([0.8, 0.2])).tolist()
    [0, 0, 0, 0, 1]
    """
    ends = np.round(np.cumsum(shares) * count).astype(np.int64)
    return np.searchsorted(ends, np.arange(count), side="right").clip(max=len(shares) - 1)


def _digests(view: View, column: str) -> NDArray[np.uint64]:
    table, slots = view._located()
    return table.digests(view.schema[column].id, slots)


def _codes(view: View, column: str) -> NDArray[np.int64]:
    """Return a number per row, equal for equal values, in the order of first appearance."""
    digests = _digests(view, column)
    _, first, inverse = np.unique(digests, return_index=True, return_inverse=True)
    appearance = np.argsort(np.argsort(first, kind="stable"), kind="stable")
    return appearance[inverse.ravel()]


def _keys(view: View, column: str) -> list[bytes]:
    """Return what stands for each group, in the order of `_codes`."""
    digests = _digests(view, column)
    _, first = np.unique(digests, return_index=True)
    return [int(d).to_bytes(8, "little") for d in digests[np.sort(first)]]
