"""The differences between two versions, by row and by cell.

Rows are matched by id, never by position. Cells are compared by digest. Only cells whose index
chunk was written between the two versions are compared; Icechunk's transaction logs list the
chunks.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset.read.values import decode_block, images_of
from deeplake_lite.errors import LakeError
from deeplake_lite.htypes.json_values import same_json
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deeplake_lite.schema import Field, SchemaChanges
    from deeplake_lite.storage.arrays import Slots
    from deeplake_lite.storage.repo import Repository
    from deeplake_lite.storage.table import Table

type Ids = NDArray[np.int64]
type Positions = NDArray[np.int64]
type Touched = dict[str, set[int]]
"""Maps paths of arrays to the numbers of the chunks in which two versions may differ."""

NONE = np.empty(0, np.int64)

COMPARED_IMAGES = 256
"""Number of images that are read at a time to compare them in another mode."""


@dataclass(frozen=True)
class Changes:
    """The changes from an older version to a newer version."""

    added: Ids
    """Ids of the added rows, in the order of the newer version."""
    removed: Ids
    """Ids of the removed rows, in the order of the older version."""
    cells: Mapping[str, Ids]
    """Maps the ids of columns that exist in both versions to the ids of the rows whose cell
    changed, ascending."""
    schema: SchemaChanges
    """Columns that were added, dropped, renamed, changed in type or changed in metadata."""
    metadata: Mapping[str, tuple[object, object]] = field(default_factory=dict)
    """Maps keys of changed metadata to (before, after), with None where the key is missing."""

    def __bool__(self) -> bool:
        return bool(
            len(self.added)
            or len(self.removed)
            or any(map(len, self.cells.values()))
            or self.schema
            or self.metadata
        )


def match_rows(a: Ids, b: Ids) -> tuple[Positions, Positions]:
    """Return the positions of the common ids in `a` and in `b`, in the order of `a`.

    >>> [x.tolist() for x in match_rows(np.array([5, 6, 7]), np.array([7, 5, 9]))]
    [[0, 2], [1, 0]]
    """
    # Versions usually begin with the same rows in the same order, which need no search.
    shorter = min(len(a), len(b))
    differ = np.flatnonzero(a[:shorter] != b[:shorter])
    same = int(differ[0]) if len(differ) else shorter
    rest_a, rest_b = a[same:], b[same:]
    order = np.argsort(rest_b, kind="stable")
    ranks = np.searchsorted(rest_b, rest_a, sorter=order)
    ranks[ranks == len(rest_b)] = 0
    candidates = order[ranks] if len(rest_b) else np.zeros(len(rest_a), np.int64)
    is_match = rest_b[candidates] == rest_a if len(rest_b) else np.zeros(len(rest_a), bool)
    prefix = np.arange(same)
    return (
        np.concatenate([prefix, np.flatnonzero(is_match) + same]),
        np.concatenate([prefix, candidates[is_match] + same]),
    )


def difference(a: Table, b: Table, *, by_meaning: bool = False) -> Changes:
    """Return the changes from `a` to `b`, including the pending edits of `b`.

    Cells are compared as they are stored. With `by_meaning`, classes are compared by name and
    images in the newer mode instead. This matters only if both versions added classes to a column,
    so that class 2 may be "bird" in one version and "fish" in the other, or if the modes differ, so
    that the shapes of all images may differ.
    """
    if b.edits is not None and a.edits is None and a.snapshot_id == b.snapshot_id:
        pairs, touched = _pairs_of_edits(a, b), None
    else:
        touched = _touched_chunks(a, b)
        if has_same_rows := _has_same_rows(a, b, touched):
            b.rows.share_ids(a.rows)
        pairs = _pair_identical(a) if has_same_rows else _match_tables(a, b)
    old_fields = {f.id: f for f in a.schema}
    cells = {}
    for f in b.schema:
        if f.id in old_fields:
            compare = _rows_with_changed_cells
            if by_meaning and _is_renumbered(old_fields[f.id], f):
                compare = _rows_with_changed_names
            elif by_meaning and _has_other_mode(old_fields[f.id], f):
                compare = _rows_with_changed_images
            cells[f.id] = compare(a, b, f.id, pairs, touched)
    return Changes(
        added=pairs.added,
        removed=pairs.removed,
        cells={c: ids for c, ids in cells.items() if len(ids)},
        schema=a.schema.compare(b.schema),
        metadata=compare_metadata(a.state.metadata, b.state.metadata),
    )


def has_same(a: Table, b: Table, column: str) -> bool:
    """Return whether a column is the same in two versions according to their transaction logs.

    No cells are read. The result is False if the logs are missing or inconclusive.
    """
    touched = _touched_chunks(a, b)
    if touched is None or not _has_same_rows(a, b, touched):
        return False
    return not any(path.split("/")[1] == column for path in touched)


@dataclass(frozen=True)
class _Pairs:
    """The rows that two versions share, and the rows that exist in only one of them."""

    a: Slots
    """Slots of the shared rows in the older version."""
    b: Slots
    """Slots of the same rows in the newer version."""
    added: Ids
    """Ids of rows that exist only in the newer version."""
    removed: Ids
    """Ids of rows that exist only in the older version."""


def _match_tables(a: Table, b: Table) -> _Pairs:
    """Match all rows of two versions by their ids."""
    slots_a, slots_b = a.rows.live(), b.rows.live()
    ids_a, ids_b = a.ids(slots_a), b.ids(slots_b)
    at_a, at_b = match_rows(ids_a, ids_b)
    only_a, only_b = np.ones(len(ids_a), bool), np.ones(len(ids_b), bool)
    only_a[at_a] = only_b[at_b] = False
    return _Pairs(slots_a[at_a], slots_b[at_b], ids_b[only_b], ids_a[only_a])


def _pair_identical(a: Table) -> _Pairs:
    """Pair each row with the row in the same slot, for versions that have the same rows."""
    live = a.rows.live()
    return _Pairs(live, live, NONE, NONE)


def _has_same_rows(a: Table, b: Table, touched: Touched | None) -> bool:
    """Return whether the transaction logs show the same rows in the same slots in both versions.

    The lengths are compared, too, because deleting rows at the end changes the length of the order,
    but writes no chunk of the order.
    """
    rows = {f"{a.state.generation}/rows/{name}" for name in ("id", "slot")}
    return touched is not None and not rows & touched.keys() and _row_layout(a) == _row_layout(b)


def _row_layout(table: Table) -> tuple[int, bool, int]:
    """Return the number of slots, whether row *i* is in slot *i*, and the number of rows."""
    return table.state.slots, table.state.ordered, len(table.rows)


def _pairs_of_edits(a: Table, b: Table) -> _Pairs:
    """Pair the rows that an open transaction `b` on version `a` has updated."""
    edits = b.edits
    assert edits is not None
    live = b.rows.live()
    deleted = np.setdiff1d(a.rows.live(), live) if edits.deleted or edits.arranged else NONE
    touched = [edits.slots_updated(column) for column in edits.updated]
    updated = np.unique(np.concatenate([NONE, *touched]))
    updated = updated[(updated < a.state.slots) & np.isin(updated, live)]
    return _Pairs(updated, updated, b.ids(live[live >= a.state.slots]), a.ids(deleted))


def compare_metadata(
    a: Mapping[str, object], b: Mapping[str, object]
) -> dict[str, tuple[object, object]]:
    """Return both values of each key whose values differ, or that exists in only one mapping.

    >>> compare_metadata({"x": 1, "y": 2}, {"x": 1, "z": None})
    {'y': (2, None), 'z': (None, None)}
    """
    return {
        k: (a.get(k), b.get(k))
        for k in {**a, **b}
        if (k in a) != (k in b) or not same_json(a.get(k), b.get(k))
    }


def common_ancestor(repository: Repository, a: str, b: str) -> str | None:
    """Return the newest version in the histories of both versions, ignoring merged histories.

    The result is None if the histories have no version in common. A history that a vacuum has
    truncated continues with Icechunk's initial snapshot, which is skipped, because it is not a
    version and has no record of the changes since.
    """
    seen: set[str] = set()
    for pair in zip_longest(repository.ancestry(a), repository.ancestry(b)):
        for commit in filter(None, pair):
            if commit.parent is None:
                continue
            version: str = commit.id
            if version in seen:
                return version
            seen.add(version)
    return None


def _touched_chunks(a: Table, b: Table) -> Touched | None:
    """Return the chunks in which two versions may differ, or None if all chunks may differ."""
    if a.edits or b.edits or a.state.generation != b.state.generation:
        return None
    repository, result = a.repository, dict[str, set[int]]()
    base = common_ancestor(repository, a.snapshot_id, b.snapshot_id)
    if base is None:
        return None
    try:
        for side in {a.snapshot_id, b.snapshot_id} - {base}:
            for path, touched in repository.changed_chunks(base, side).items():
                result.setdefault(path, set()).update(touched)
    except LakeError:  # a vacuum has deleted the logs between the versions
        return None
    return result


def _rows_with_changed_cells(
    a: Table, b: Table, column: str, pairs: _Pairs, touched: Touched | None
) -> Ids:
    """Return the ids of the shared rows whose cells of `column` differ, ascending."""
    candidates = _candidates(b, column, pairs, touched)
    if not len(candidates):
        return NONE
    slots = pairs.a[candidates]
    unequal = a.digests(column, slots) != b.digests(column, pairs.b[candidates])
    return np.sort(a.ids(slots[unequal]))


def _candidates(b: Table, column: str, pairs: _Pairs, touched: Touched | None) -> Positions:
    """Return the shared rows that may differ in a column: in another slot, or in written chunks.

    The rows are given as positions in `pairs`.
    """
    if touched is None:
        return np.arange(len(pairs.a))
    moved = pairs.a is not pairs.b and pairs.a != pairs.b
    return np.flatnonzero(b.in_chunks(column, pairs.b, touched) | moved)


def _is_renumbered(old: Field, new: Field) -> bool:
    """Return whether the same number may mean different classes, because the names differ."""
    old_classes, new_classes = old.htype.classes, new.htype.classes
    if old_classes is None or new_classes is None:
        return False
    return any(a != b for a, b in zip(old_classes.names, new_classes.names, strict=False))


def _rows_with_changed_names(
    a: Table, b: Table, column: str, pairs: _Pairs, touched: Touched | None
) -> Ids:
    """Return the ids of the shared rows whose class names differ, ascending."""
    candidates = _candidates(b, column, pairs, touched)
    changed = [NONE]
    for span in chunks.spans(len(candidates), chunks.COPY_ROWS):
        old_slots, new_slots = pairs.a[candidates[span]], pairs.b[candidates[span]]
        names = zip(_names(a, column, old_slots), _names(b, column, new_slots), strict=True)
        changed.append(a.ids(old_slots[np.array([old != new for old, new in names], bool)]))
    return np.sort(np.concatenate(changed))


def _has_other_mode(old: Field, new: Field) -> bool:
    """Return whether images are read in another mode, which changes the shapes of cells."""
    before, after = old.htype.pixels, new.htype.pixels
    return before is not None and after is not None and before.mode != after.mode


def _rows_with_changed_images(
    a: Table, b: Table, column: str, pairs: _Pairs, touched: Touched | None
) -> Ids:
    """Return the ids of the shared rows whose images differ in the newer mode, ascending."""
    old, new = (next(f.htype for f in t.schema if f.id == column) for t in (a, b))
    candidates = _candidates(b, column, pairs, touched)
    differ = a.digests(column, pairs.a[candidates]) != b.digests(column, pairs.b[candidates])
    candidates, changed = candidates[differ], [NONE]
    for span in chunks.spans(len(candidates), COMPARED_IMAGES):
        slots = pairs.a[candidates[span]]
        cells = a.read([column], slots)[column]
        converted = replace(new, nullable=True).encode(images_of(old, cells))
        same = b.digest(column, converted) == b.digests(column, pairs.b[candidates[span]])
        changed.append(a.ids(slots[~same]))
    return np.sort(np.concatenate(changed))


def _names(table: Table, column: str, slots: Slots) -> list[object]:
    """Return a list with each row's class name or list of class names, and None for nulls."""
    htype = next(f.htype for f in table.schema if f.id == column)
    classes = htype.classes
    assert classes is not None
    values = decode_block(htype, table.read([column], slots)[column])
    return [classes.to_names(value) for value in values]
