"""The differences between two versions, by row and by cell.

Cells are compared by their digests, and only if their chunks were written between the two versions
(see `pairs`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset.read.values import decode_block, images_of
from deeplake_lite.dataset.versions.pairs import NONE, pair_edited, pair_rows
from deeplake_lite.errors import LakeError
from deeplake_lite.htypes.json_values import same_json
from deeplake_lite.storage import chunks
from deeplake_lite.storage.touched import Touched

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.versions.pairs import Ids, Pairs
    from deeplake_lite.schema import Field, SchemaChanges
    from deeplake_lite.storage.repo import Repository
    from deeplake_lite.storage.stored_array import Slots
    from deeplake_lite.storage.table import Table

COMPARED_IMAGES = 256
"""Number of images that are read at a time when images are compared by their pixels."""


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
    """Maps each changed metadata key to (before, after), with None if the version lacks the key."""

    def __bool__(self) -> bool:
        return bool(
            len(self.added)
            or len(self.removed)
            or any(map(len, self.cells.values()))
            or self.schema
            or self.metadata
        )


def difference(a: Table, b: Table, *, by_meaning: bool = False) -> Changes:
    """Return the changes from `a` to `b`, including the pending edits of `b`.

    By default, cells are compared as they are stored. With `by_meaning`, classes are compared by
    name, and images in the newer version's mode. This matters only if both versions added classes
    to a column, so that class 2 may be "bird" in one version and "fish" in the other, or if the
    modes differ, so that the shapes of all images may differ.
    """
    if b.edits is not None and a.edits is None and a.snapshot_id == b.snapshot_id:
        pairs = pair_edited(a, b)
    else:
        touched = find_touched(a, b)
        if _has_same_rows(a, b, touched):
            b.rows.share_ids(a.rows)
        pairs = pair_rows(a, b, touched)
    old_fields = {f.id: f for f in a.schema}
    cells = {}
    for f in b.schema:
        if f.id in old_fields:
            compare = _rows_with_changed_cells
            if by_meaning and _is_renumbered(old_fields[f.id], f):
                compare = _rows_with_changed_names
            elif by_meaning and _has_other_mode(old_fields[f.id], f):
                compare = _rows_with_changed_images
            cells[f.id] = compare(pairs, f.id)
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
    touched = find_touched(a, b)
    if touched is None or not _has_same_rows(a, b, touched):
        return False
    return not any(path.split("/")[1] == column for path in touched.paths())


def _has_same_rows(a: Table, b: Table, touched: Touched | None) -> bool:
    """Return whether the transaction logs show the same rows in the same slots in both versions.

    The lengths are compared, too, because they may change without any written chunk.
    """
    rows = {f"{a.state.generation}/rows/{name}" for name in ("id", "slot", "deleted")}
    return touched is not None and not rows & touched.paths() and _row_layout(a) == _row_layout(b)


def _row_layout(table: Table) -> tuple[int, bool, int]:
    """Return the number of slots, whether row *i* is in slot *i*, and the number of rows."""
    return table.state.slots, table.state.ordered, len(table.rows)


def compare_metadata(
    a: Mapping[str, object], b: Mapping[str, object]
) -> dict[str, tuple[object, object]]:
    """Return (before, after) for each key whose values differ, or that only one mapping has.

    >>> compare_metadata({"x": 1, "y": 2}, {"x": 1, "z": None})
    {'y': (2, None), 'z': (None, None)}
    """
    return {
        k: (a.get(k), b.get(k))
        for k in {**a, **b}
        if (k in a) != (k in b) or not same_json(a.get(k), b.get(k))
    }


def common_ancestor(repository: Repository, a: str, b: str) -> str | None:
    """Return the newest version that is in both histories, without following merged versions.

    The result is None if the histories have no version in common. If a vacuum has truncated a
    history, the history continues with Icechunk's initial snapshot. This snapshot is skipped,
    because it is not a version and has no record of the changes since then.
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


def find_touched(a: Table, b: Table) -> Touched | None:
    """Return the entries in which two versions may differ, or None if all entries may differ."""
    if a.edits or b.edits or a.state.generation != b.state.generation:
        return None
    repository, touched = a.repository, Touched()
    base = common_ancestor(repository, a.snapshot_id, b.snapshot_id)
    if base is None:
        return None
    try:
        for side in {a.snapshot_id, b.snapshot_id} - {base}:
            for path, numbers in repository.changed_chunks(base, side).items():
                touched.add_chunks(path, numbers)
    except LakeError:  # a vacuum has deleted the logs between the versions
        return None
    a.compare_logs(b, touched)
    return touched


def _rows_with_changed_cells(pairs: Pairs, column: str) -> Ids:
    """Return the ids of the shared rows whose cells of `column` differ, ascending."""
    a, b, changed = pairs.older, pairs.newer, [NONE]
    for old_slots, new_slots in pairs.candidates(column):
        unequal = a.digests(column, old_slots) != b.digests(column, new_slots)
        changed.append(a.ids(old_slots[unequal]))
    return np.sort(np.concatenate(changed))


def _is_renumbered(old: Field, new: Field) -> bool:
    """Return whether a number may mean different classes in the two versions."""
    old_classes, new_classes = old.htype.classes, new.htype.classes
    if old_classes is None or new_classes is None:
        return False
    return any(a != b for a, b in zip(old_classes.names, new_classes.names, strict=False))


def _rows_with_changed_names(pairs: Pairs, column: str) -> Ids:
    """Return the ids of the shared rows whose class names differ, ascending."""
    a, b, changed = pairs.older, pairs.newer, [NONE]
    for old_slots, new_slots in pairs.candidates(column):
        for span in chunks.spans(len(old_slots), chunks.COPY_ROWS):
            old, new = _names(a, column, old_slots[span]), _names(b, column, new_slots[span])
            is_changed = np.array([x != y for x, y in zip(old, new, strict=True)], bool)
            changed.append(a.ids(old_slots[span][is_changed]))
    return np.sort(np.concatenate(changed))


def _has_other_mode(old: Field, new: Field) -> bool:
    """Return whether images are read in another mode, so that the shapes of their cells differ."""
    before, after = old.htype.pixels, new.htype.pixels
    return before is not None and after is not None and before.mode != after.mode


def _rows_with_changed_images(pairs: Pairs, column: str) -> Ids:
    """Return the ids of the shared rows whose images differ in the newer mode, ascending."""
    a, b, changed = pairs.older, pairs.newer, [NONE]
    old, new = (next(f.htype for f in t.schema if f.id == column) for t in (a, b))
    for old_slots, new_slots in pairs.candidates(column):
        differ = a.digests(column, old_slots) != b.digests(column, new_slots)
        old_slots, new_digests = old_slots[differ], b.digests(column, new_slots[differ])
        for span in chunks.spans(len(old_slots), COMPARED_IMAGES):
            cells = a.read([column], old_slots[span])[column]
            converted = replace(new, nullable=True).encode(images_of(old, cells))
            same = b.digest(column, converted) == new_digests[span]
            changed.append(a.ids(old_slots[span][~same]))
    return np.sort(np.concatenate(changed))


def _names(table: Table, column: str, slots: Slots) -> list[object]:
    """Return a list with each row's class name or list of class names, and None for nulls."""
    htype = next(f.htype for f in table.schema if f.id == column)
    classes = htype.classes
    assert classes is not None
    values = decode_block(htype, table.read([column], slots)[column])
    return [classes.to_names(value) for value in values]
