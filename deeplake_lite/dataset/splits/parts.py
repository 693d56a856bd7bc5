"""Reproducible splits and folds of rows for training and testing.

Rows are ranked by a hash of their id and the seed. The ranking is cut into parts of the required
sizes. Therefore, a row's part does not depend on its position, the version or the order of the
rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset.read.values import with_none
from deeplake_lite.dataset.splits.apportion import apportion
from deeplake_lite.dataset.splits.hashing import xxh3_64
from deeplake_lite.dataset.splits.stratify import (
    Labels,
    by_groups,
    by_groups_and_labels,
    by_labels,
    cut,
)
from deeplake_lite.dataset.write.keys import canonical, digests_by_value
from deeplake_lite.errors import OptionError
from deeplake_lite.htypes.layouts import Nested, Ragged
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.storage.digests import digests_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype

    type Ints = NDArray[np.int64]


TOLERANCE = 1e-6
"""Maximum deviation of the sum of fractions from 1, which allows for fractions in float32."""


class Fold(NamedTuple):
    """One fold of a cross-validation: a pair of views, for training and for testing."""

    train: View
    """Rows of all other folds."""
    test: View
    """Rows of this fold."""


def split(
    view: View,
    fractions: Sequence[float],
    *,
    by: str | None,
    group: str | None,
    seed: int,
    names: Sequence[object] = (),
) -> list[Ints]:
    """Return the positions of each part, ascending; see `View.split`."""
    shares = _check_fractions(fractions)
    for keyword, column in (("by", by), ("group", group)):
        if not isinstance(column, str | None):
            raise OptionError(
                f"{keyword} must be the name of a column, but it is {type(column).__name__} "
                f"{brief(column)}. Add a column with these values, and pass its name."
            )
    part = _assign_rows(view, shares, by, group, checks.integer("seed", seed))
    counts = np.bincount(part, minlength=len(shares))
    for number in np.flatnonzero((counts == 0) & (shares > 0)).tolist():
        name = names[number] if names else number
        raise OptionError(_explain_empty(view, shares, number, f"part {name!r}", group))
    return [np.flatnonzero(part == i) for i in range(len(shares))]


def folds(view: View, k: int, *, by: str | None, group: str | None, seed: int) -> list[Ints]:
    """Return the positions of the rows of each fold, ascending; see `View.folds`."""
    k = checks.integer("k", k, 2)
    if k > max(len(view), 2):
        raise OptionError(
            f"{k:,} folds need at least {k:,} rows, but the view has {len(view):,}. Ask for fewer "
            "folds, or add rows."
        )
    names = [f"fold {number}" for number in range(k)]
    return split(view, [1 / k] * k, by=by, group=group, seed=seed, names=names)


def _assign_rows(
    view: View, shares: NDArray[np.float64], by: str | None, group: str | None, seed: int
) -> Ints:
    """Return the number of the part to which each row is assigned, (n,) int64."""
    for name in (by, group):
        if name is not None:
            view.field(name)
    if not len(view):
        return np.empty(0, np.int64)
    ids = view.row_ids
    if group is None and not _has_repeats(view, ids):
        return _assign_single_rows(view, shares, by, seed, xxh3_64(ids, seed))
    # All occurrences of a repeated row must be in one part, so they form a group.
    keys = ids.view(np.uint64) if group is None else _digests(view, group)
    return _assign_groups(view, shares, by, seed, keys)


def _assign_single_rows(
    view: View, shares: NDArray[np.float64], by: str | None, seed: int, rank: NDArray[np.uint64]
) -> Ints:
    """Assign each row to a part without keeping rows together."""
    if by is not None and _has_several(view.schema[by].htype):
        return by_labels(_labels(view, by), shares, rank)
    if by is None:
        number, sizes = np.zeros(len(rank), np.int64), np.array([len(rank)])
    else:
        number, sizes, _ = _number_keys(_digests(view, by), seed)
    return cut(number, rank, apportion(sizes, shares))


def _assign_groups(
    view: View,
    shares: NDArray[np.float64],
    by: str | None,
    seed: int,
    keys: NDArray[np.uint64],
) -> Ints:
    """Assign each row to a part, keeping rows with equal keys in the same part."""
    number, sizes, rank = _number_keys(keys, seed)
    if by is None:
        return by_groups(sizes, shares, rank)[number]
    if _has_several(view.schema[by].htype):
        labels = _labels(view, by)
    else:
        labels = Labels.of(np.arange(len(number)), _digests(view, by), len(number))
    pairs, weights = np.unique(
        np.stack([number[labels.rows], labels.numbers]), axis=1, return_counts=True
    )
    starts = np.concatenate([[0], np.cumsum(np.bincount(pairs[0], minlength=len(sizes)))])
    of_groups = Labels(pairs[1], starts)
    return by_groups_and_labels(sizes, of_groups, weights, shares, rank)[number]


def _has_repeats(view: View, ids: Ints) -> bool:
    """Return whether a row occurs twice. The usual cases are recognised quickly."""
    if (view.rows.slots is None and view.rows.table.has_ids) or (ids[1:] > ids[:-1]).all():
        return False
    ordered = np.sort(ids)
    return bool((ordered[1:] == ordered[:-1]).any())


def _number_keys(keys: NDArray[np.uint64], seed: int) -> tuple[Ints, Ints, NDArray[np.uint64]]:
    """Return the number of each row's key. Keys are numbered in the order of their hashes.

    Also return the number of rows and the hash of each key, (keys,).
    """
    hashes, number, sizes = np.unique(xxh3_64(keys, seed), return_inverse=True, return_counts=True)
    return number.ravel(), sizes, hashes


def _explain_empty(
    view: View, shares: NDArray[np.float64], number: int, name: str, group: str | None
) -> str:
    """Return the message that explains why a part would have no rows, with advice."""
    if not len(view):
        return f"{name} would be empty, because the view has no rows to split. Append rows first."
    parts = np.count_nonzero(shares)
    if group is not None:
        count = len(np.unique(_digests(view, group)))
        return (
            f"{name} would be empty, because group={group!r} has {pluralize(count, 'group')} for "
            f"{parts} parts, and each group stays in one part. Ask for fewer parts, or leave "
            "group= out."
        )
    different = len(np.unique(view.row_ids))
    if different < min(len(view), int(parts)):
        return (
            f"{name} would be empty, because the view has {pluralize(different, 'different row')} "
            f"for {parts} parts, and repeated rows stay in one part. Ask for fewer parts."
        )
    return (
        f"{name} would be empty, because {shares[number]:.3g} of {pluralize(len(view), 'row')} is "
        f"less than one row. Ask for a fraction of at least {1 / len(view):.3g}, ask for fewer "
        "parts, or add rows."
    )


def _check_fractions(fractions: Sequence[float]) -> NDArray[np.float64]:
    """Return the fraction of each part as an array. Raises OptionError if one is not valid.

    >>> _check_fractions([3, 1])
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.OptionError: fractions must add up to 1, but [3, 1] adds up to 4. ...
    """
    try:
        shares = np.asarray(fractions, float)
    except (TypeError, ValueError, OverflowError):
        shares = np.empty(())
    if shares.ndim != 1 or not len(shares):
        raise OptionError(
            "fractions must be a list with one number per part, such as [0.9, 0.1], but it is "
            f"{brief(fractions)}."
        )
    if not (shares >= 0).all() or not np.isfinite(shares).all():
        bad = shares[~(np.isfinite(shares) & (shares >= 0))][0]
        raise OptionError(
            f"fractions must be from 0 to 1, but one is {bad:g}. Leave the part out, or use 0."
        )
    if (total := shares.sum()) == 0 or abs(total - 1) > TOLERANCE:
        hint = (
            "Pass a fraction above 0."
            if total == 0
            else f"Divide them by their sum: {_format_normalized(shares)}."
        )
        raise OptionError(
            f"fractions must add up to 1, but {brief(list(fractions))} adds up to {total:g}. {hint}"
        )
    return shares


def _format_normalized(shares: NDArray[np.float64]) -> str:
    """Return fractions that add up to 1, with as few digits as possible.

    >>> _format_normalized(np.array([3, 1])), _format_normalized(np.array([1, 1, 1]))
    ('[0.75, 0.25]', '[0.3333333, 0.3333333, 0.3333333]')
    """
    scaled = shares / shares.sum()
    digits = next(d for d in range(3, 18) if abs(_round_digits(scaled, d).sum() - 1) <= TOLERANCE)
    return f"[{', '.join(f'{share:.{digits}g}' for share in scaled)}]"


def _round_digits(shares: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    return np.array([float(f"{share:.{digits}g}") for share in shares])


def _has_several(htype: Htype) -> bool:
    """Return whether a row may have several labels, as a 1-d array of integers or as a list.

    >>> from deeplake_lite.htypes import ClassLabel, Sequence, Text
    >>> [_has_several(h) for h in (ClassLabel(multiple=True), Sequence(Text()), ClassLabel())]
    [True, True, False]
    """
    layout = htype.layout
    if isinstance(layout, Nested):
        return True
    return isinstance(layout, Ragged) and layout.ndim == 1 and layout.dtype in _INTEGERS


_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def _labels(view: View, column: str) -> Labels:
    """Return the labels of all rows. Rows with a null have no labels."""
    f = view.schema[column]
    if isinstance(f.htype.layout, Nested):
        table, slots = view.rows.locate()
        cells: Any = canonical(f.htype, table.read([f.id], slots)[f.id])
        counts, labels = cells.counts, digests_of(f.htype.layout.item.layout, cells.items)
    else:
        values = [() if v is None else v for v in with_none(view[column][:])]
        counts = np.fromiter(map(len, values), np.int64, len(values))
        labels = np.concatenate([np.empty(0, np.int64), *map(np.asarray, values)]).astype(np.int64)
    return Labels.of(np.repeat(np.arange(len(view)), counts), labels, len(view))


def _digests(view: View, column: str) -> NDArray[np.uint64]:
    """Return a number for each row, (n,) uint64. Equal values have equal numbers."""
    table, slots = view.rows.locate()
    return digests_by_value(table, view.schema[column], slots)
