"""What differs between two versions, row by row and cell by cell, in terms of row ids.

Rows are matched by id, never by position. Cells are compared by digest, and only those whose index
chunk was written between the two versions: the engine's transaction logs name the chunks.
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

NONE = np.empty(0, np.int64)

PICTURES = 256
"""That are read at a time to compare them in another mode."""


@dataclass(frozen=True)
class Changes:
    """What one version has that an older one had not, and the other way round."""

    added: Ids
    """Ids of the rows added, in their order."""
    removed: Ids
    """Ids of the rows removed, in the old order."""
    cells: Mapping[str, Ids]
    """Ids of the rows whose cell changed, ascending, by column id; columns of both versions
    only."""
    schema: SchemaChanges
    """Columns added, dropped, renamed, annotated."""
    metadata: Mapping[str, tuple[object, object]] = field(default_factory=dict)
    """Notes on the dataset that changed: (before, after), None where there is none."""

    def __bool__(self) -> bool:
        return bool(
            len(self.added)
            or len(self.removed)
            or any(map(len, self.cells.values()))
            or self.schema
            or self.metadata
        )


def match_rows(a: Ids, b: Ids) -> tuple[Positions, Positions]:
    """Return where the ids that both have are, in `a` and in `b`, in the order of `a`.

    >>> [x.tolist() for x in match_rows(np.array([5, 6, 7]), np.array([7, 5, 9]))]
    [[0, 2], [1, 0]]
    """
    some = min(len(a), len(b))
    differ = np.flatnonzero(a[:some] != b[:some])
    same = int(differ[0]) if len(differ) else some
    rest_a, rest_b = a[same:], b[same:]
    order = np.argsort(rest_b, kind="stable")
    at = np.searchsorted(rest_b, rest_a, sorter=order)
    at[at == len(rest_b)] = 0
    where = order[at] if len(rest_b) else np.zeros(len(rest_a), np.int64)
    hit = rest_b[where] == rest_a if len(rest_b) else np.zeros(len(rest_a), bool)
    prefix = np.arange(same)
    return (
        np.concatenate([prefix, np.flatnonzero(hit) + same]),
        np.concatenate([prefix, where[hit] + same]),
    )


def difference(a: Table, b: Table, *, by_meaning: bool = False) -> Changes:
    """Return what `b` changed, relative to `a`. Pending edits of `b` count.

    Cells are compared as they are stored, or, with `by_meaning`, classes by name and pictures in
    the newer mode. That matters only where both versions gave a column more classes, number 2 being
    a "bird" here and a "fish" there, or where one has another mode: all shapes may differ.
    """
    if b.edits is not None and a.edits is None and a.snapshot_id == b.snapshot_id:
        pairs, touched = _pairs_of_edits(a, b), None
    else:
        touched = _touched_chunks(a, b)
        if kept := _keeps_rows(a, b, touched):
            b.rows.share_ids(a.rows)
        pairs = _same_rows(a) if kept else _match_tables(a, b)
    known = {f.id: f for f in a.schema}
    cells = {}
    for f in b.schema:
        if f.id in known:
            compare = _changed_rows
            if by_meaning and _is_renumbered(known[f.id], f):
                compare = _renamed_rows
            elif by_meaning and _has_other_mode(known[f.id], f):
                compare = _other_pictures
            cells[f.id] = compare(a, b, f.id, pairs, touched)
    return Changes(
        added=pairs.added,
        removed=pairs.removed,
        cells={c: ids for c, ids in cells.items() if len(ids)},
        schema=a.schema.compare(b.schema),
        metadata=compare_notes(a.state.metadata, b.state.metadata),
    )


def has_same(a: Table, b: Table, column: str) -> bool:
    """Tell from the logs that two versions have the same rows with the same cells of a column.

    Nothing is read. False where the logs do not say.
    """
    touched = _touched_chunks(a, b)
    if touched is None or not _keeps_rows(a, b, touched):
        return False
    return not any(path.split("/")[1] == column for path in touched)


@dataclass(frozen=True)
class _Pairs:
    """The rows that two versions share, and those that only one has."""

    a: Slots
    """Slots of the shared rows in the older."""
    b: Slots
    """Slots of the same rows in the newer."""
    added: Ids
    """Rows of the newer only."""
    removed: Ids
    """Rows of the older only."""


def _match_tables(a: Table, b: Table) -> _Pairs:
    """Match all rows by id."""
    slots_a, slots_b = a.rows.live(), b.rows.live()
    ids_a, ids_b = a.ids(slots_a), b.ids(slots_b)
    at_a, at_b = match_rows(ids_a, ids_b)
    only_a, only_b = np.ones(len(ids_a), bool), np.ones(len(ids_b), bool)
    only_a[at_a] = only_b[at_b] = False
    return _Pairs(slots_a[at_a], slots_b[at_b], ids_b[only_b], ids_a[only_a])


def _same_rows(a: Table) -> _Pairs:
    """Pair each row with itself."""
    live = a.rows.live()
    return _Pairs(live, live, NONE, NONE)


def _keeps_rows(a: Table, b: Table, touched: Touched | None) -> bool:
    """Tell from the logs that both versions have the same rows in the same slots.

    An order that only lost its end has no chunk written, but another length.
    """
    rows = {f"{a.state.generation}/rows/{name}" for name in ("id", "slot")}
    return touched is not None and not rows & touched.keys() and _extent(a) == _extent(b)


def _extent(table: Table) -> tuple[int, bool, int]:
    """Return how many slots a version has, whether row *i* lies in slot *i*, and how many rows."""
    return table.state.slots, table.state.ordered, len(table.rows)


def _pairs_of_edits(a: Table, b: Table) -> _Pairs:
    """Pair the rows of a version with those that an open transaction updated."""
    edits = b.edits
    assert edits is not None
    live = b.rows.live()
    gone = np.setdiff1d(a.rows.live(), live) if edits.deleted or edits.arranged else NONE
    touched = [edits.slots_updated(column) for column in edits.updated]
    updated = np.unique(np.concatenate([NONE, *touched]))
    updated = updated[(updated < a.state.slots) & np.isin(updated, live)]
    return _Pairs(updated, updated, b.ids(live[live >= a.state.slots]), a.ids(gone))


def compare_notes(
    a: Mapping[str, object], b: Mapping[str, object]
) -> dict[str, tuple[object, object]]:
    """Return the keys whose values differ, or that only one has, with both values.

    >>> compare_notes({"x": 1, "y": 2}, {"x": 1, "z": None})
    {'y': (2, None), 'z': (None, None)}
    """
    return {
        k: (a.get(k), b.get(k))
        for k in {**a, **b}
        if (k in a) != (k in b) or not same_json(a.get(k), b.get(k))
    }


def common_ancestor(repository: Repository, a: str, b: str) -> str | None:
    """Return the newest version that both have in their history, not counting merges.

    None where there is none. Below histories that a vacuum has cut there is the engine's own first
    snapshot, which is no version: nobody knows any more what changed between it and them.
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
    """Return, by array path, the chunks in which two versions may differ; None where any may."""
    if a.edits or b.edits or a.state.generation != b.state.generation:
        return None
    repository, found = a.repository, dict[str, set[int]]()
    base = common_ancestor(repository, a.snapshot_id, b.snapshot_id)
    if base is None:
        return None
    try:
        for side in {a.snapshot_id, b.snapshot_id} - {base}:
            for path, touched in repository.changed_chunks(base, side).items():
                found.setdefault(path, set()).update(touched)
    except LakeError:  # the logs between them have been vacuumed
        return None
    return found


def _changed_rows(a: Table, b: Table, column: str, pairs: _Pairs, touched: Touched | None) -> Ids:
    """Return the ids of the shared rows whose cells of `column` differ, ascending."""
    maybe = _candidates(b, column, pairs, touched)
    if not len(maybe):
        return NONE
    slots = pairs.a[maybe]
    unequal = a.digests(column, slots) != b.digests(column, pairs.b[maybe])
    return np.sort(a.ids(slots[unequal]))


def _candidates(b: Table, column: str, pairs: _Pairs, touched: Touched | None) -> Positions:
    """Return which of the shared rows may differ in a column: those in chunks written since."""
    if touched is None:
        return np.arange(len(pairs.a))
    moved = pairs.a is not pairs.b and pairs.a != pairs.b
    return np.flatnonzero(b.in_chunks(column, pairs.b, touched) | moved)


def _is_renumbered(old: Field, new: Field) -> bool:
    """Tell whether one number may be two classes: neither list of names continues the other."""
    was, now = old.htype.classes, new.htype.classes
    if was is None or now is None:
        return False
    return any(a != b for a, b in zip(was.names, now.names, strict=False))


def _renamed_rows(a: Table, b: Table, column: str, pairs: _Pairs, touched: Touched | None) -> Ids:
    """Return the ids of the shared rows whose classes have other names, ascending."""
    maybe = _candidates(b, column, pairs, touched)
    found = [NONE]
    for span in chunks.spans(len(maybe), chunks.COPY_ROWS):
        slots = pairs.a[maybe[span]]
        both = zip(_names(a, column, slots), _names(b, column, pairs.b[maybe[span]]), strict=True)
        found.append(a.ids(slots[np.array([old != new for old, new in both], bool)]))
    return np.sort(np.concatenate(found))


def _has_other_mode(old: Field, new: Field) -> bool:
    """Tell whether pictures are read in another mode, which each cell's shape shows."""
    was, now = old.htype.pixels, new.htype.pixels
    return was is not None and now is not None and was.mode != now.mode


def _other_pictures(a: Table, b: Table, column: str, pairs: _Pairs, touched: Touched | None) -> Ids:
    """Return the ids of the shared rows whose pictures differ in the newer mode, ascending."""
    old, new = (next(f.htype for f in t.schema if f.id == column) for t in (a, b))
    maybe = _candidates(b, column, pairs, touched)
    differ = a.digests(column, pairs.a[maybe]) != b.digests(column, pairs.b[maybe])
    maybe, found = maybe[differ], [NONE]
    for span in chunks.spans(len(maybe), PICTURES):
        slots = pairs.a[maybe[span]]
        cells = a.read([column], slots)[column]
        converted = replace(new, nullable=True).encode(images_of(old, cells))
        same = b.digest(column, converted) == b.digests(column, pairs.b[maybe[span]])
        found.append(a.ids(slots[~same]))
    return np.sort(np.concatenate(found))


def _names(table: Table, column: str, slots: Slots) -> list[object]:
    """Return the names of each row's class, or classes; None where it is null."""
    htype = next(f.htype for f in table.schema if f.id == column)
    classes = htype.classes
    assert classes is not None
    values = decode_block(htype, table.read([column], slots)[column])
    return [classes.to_names(value) for value in values]
