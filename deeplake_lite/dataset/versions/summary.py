"""The summary of a diff for display: counts, schema changes, and a few rows that differ.

The summary is made in three steps: choose rows (mostly changed rows, and a few added and removed
rows), read previews of their cells in both versions, and put the previews of each cell side by
side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.values import decode_block, with_none
from deeplake_lite.dataset.repr import preview
from deeplake_lite.dataset.repr.excerpts import cut_to_difference
from deeplake_lite.dataset.repr.html import CellChange, DiffExample, DiffSummary, SchemaChange
from deeplake_lite.dataset.repr.html.pages import MAX_COLUMNS
from deeplake_lite.dataset.versions.apply import slots_of
from deeplake_lite.dataset.versions.changes import compare_metadata
from deeplake_lite.htypes.base import Picture
from deeplake_lite.htypes.show import short_array, short_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deeplake_lite.dataset.repr.html.values import ChangeKind, Content
    from deeplake_lite.dataset.versions.diff import Diff
    from deeplake_lite.dataset.versions.pairs import Ids
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field, SchemaChanges
    from deeplake_lite.storage.table import Table

_SIDE_ROWS = 2  # number of added rows, and of removed rows, shown along with changed rows
VISIBLE_CHARACTERS = 40
"""Number of characters of a cell that the HTML page of a diff always shows."""

_FIELDS = 4  # number of columns shown for an added or removed row


def outline(diff: Diff, examples: tuple[DiffExample, ...] = ()) -> DiffSummary:
    """Return the summary of a diff without reading cells."""
    changed = diff.changed
    return DiffSummary(
        diff.a,
        diff.b,
        added=len(diff.added),
        removed=len(diff.removed),
        changed=len(_any_of(changed)),
        columns=tuple((name, len(ids)) for name, ids in changed.items()),
        schema=(*schema_changes(diff.schema), *_metadata_changes("(dataset)", diff.metadata)),
        examples=examples,
    )


def page(diff: Diff) -> DiffSummary:
    """Return the summary of a diff with a few rows that differ."""
    return outline(diff, tuple(_examples(diff)))


def schema_changes(changes: SchemaChanges) -> Iterator[SchemaChange]:
    """Yield the changes to columns, in the form in which reprs show them.

    >>> from deeplake_lite.schema import Schema
    >>> old = Schema.build({"x": "int32", "s": "text"})
    >>> [c.detail for c in schema_changes(old.compare(old.rename("s", "t").drop("x")))]
    ["Scalar('int32')", 'renamed from s']
    """
    for f in changes.added:
        yield SchemaChange("added", f.name, str(f.htype))
    for f in changes.dropped:
        yield SchemaChange("removed", f.name, str(f.htype))
    for old, new in changes.renamed:
        yield SchemaChange("changed", new.name, f"renamed from {old.name}")
    for old, new in changes.retyped:
        yield SchemaChange("changed", new.name, f"{old.htype} → {new.htype}")
    for old, new in changes.metadata:
        yield from _metadata_changes(new.name, compare_metadata(old.metadata, new.metadata))


def _metadata_changes(
    owner: str, changes: Mapping[str, tuple[object, object]]
) -> Iterator[SchemaChange]:
    for key, (before, after) in changes.items():
        old, new = cut_to_difference(repr(before), repr(after), VISIBLE_CHARACTERS)
        yield SchemaChange("changed", owner, f"metadata {key}: {old} → {new}")


def plain_pair(before: object, after: object, htypes: tuple[Htype, Htype]) -> tuple[object, object]:
    """Return both values as cells of a table, with more detail if they would look the same.

    >>> from deeplake_lite.htypes import Array
    >>> htype = Array("float64", (2,))
    >>> plain_pair(np.array([1700000123.25, 1]), np.array([1700000123.75, 1]), (htype, htype))
    ('[1700000123.25, 1.0]', '[1700000123.75, 1.0]')
    """
    pair = to_table_cell(before, htypes[0]), to_table_cell(after, htypes[1])
    if before is None or after is None or not isinstance(pair[0], str) or pair[0] != pair[1]:
        return pair
    words = htypes[0].to_words(before), htypes[1].to_words(after)
    return pair if None in words else cut_to_difference(str(words[0]), str(words[1]))


def to_table_cell(value: object, htype: Htype | None = None) -> Any:
    """Return a value as a cell of a table, which is a scalar, a string or None.

    >>> from deeplake_lite.htypes import ClassLabel, Sequence
    >>> to_table_cell(np.int32(3)), to_table_cell(np.zeros(2))
    (3, 'float64 (2,): 0, 0')
    >>> to_table_cell(1, ClassLabel(["rose", "tulip"]))
    'tulip'
    >>> to_table_cell([np.int32(1)], Sequence(ClassLabel(["rose", "tulip"])))
    '[tulip]'
    """
    if value is None or (isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).all()):
        return None
    if htype is not None and htype.classes is not None:
        return htype.preview(value)
    if htype is not None and htype.item is not None:
        items = htype.to_words(value)
        if items is not None:
            return short_text(f"[{items}]")
    if isinstance(value, np.datetime64 | np.timedelta64):
        return value
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim):
        return value.item()
    if isinstance(value, bool | int | float | complex | str):
        return value
    if isinstance(value, np.ndarray):
        return short_array(value)
    return f"{len(value):,} bytes" if isinstance(value, bytes) else short_text(repr(value))


def _any_of(changed: Mapping[str, Ids]) -> Ids:
    """Return the ids of the rows with any changed cell, ascending."""
    return np.unique(np.concatenate([np.empty(0, np.int64), *changed.values()]))


def _choose_rows(changed: Ids, added: Ids, removed: Ids) -> tuple[Ids, Ids, Ids]:
    """Choose up to eight rows, mostly changed rows.

    >>> [len(c) for c in _choose_rows(np.arange(9), np.arange(1), np.arange(5))]
    [5, 1, 2]
    """
    sides = [min(len(ids), _SIDE_ROWS) for ids in (added, removed)]
    first = changed[: preview.ROWS - sum(sides)]
    new = added[: preview.ROWS - len(first) - sides[1]]
    return first, new, removed[: preview.ROWS - len(first) - len(new)]


def _examples(diff: Diff) -> Iterator[DiffExample]:
    changed, added, removed = _choose_rows(_any_of(diff.changed), diff.added, diff.removed)
    older = Side(diff.older, np.concatenate([changed, removed]))
    newer = Side(diff.newer, np.concatenate([changed, added]))
    yield from _changed_rows(diff, older, newer, changed)
    yield from _whole_rows("added", newer, added)
    yield from _whole_rows("removed", older, removed)


class Side:
    """The chosen rows of one version of a diff.

    Parameters
    ----------
    table : Table
        The version.
    ids : ndarray, (n,) int64
        Ids of the chosen rows.
    """

    def __init__(self, table: Table, ids: Ids) -> None:
        self.table = table
        self._slots = dict(zip(ids.tolist(), slots_of(table, ids).tolist(), strict=True))

    def slots(self, ids: Ids) -> Ids:
        """Return the slots of the rows with the given ids."""
        return np.array([self._slots[row_id] for row_id in ids.tolist()], np.int64)

    def values(self, f: Field, ids: Ids) -> list[Content]:
        """Return previews of a column's cells in the rows with the given ids."""
        return preview.contents(self.table, f, self.slots(ids))

    def exact(self, f: Field, row: Ids) -> str | None:
        """Return a cell's complete value as a string, or None if its type has no string form."""
        try:
            cells = self.table.read([f.id], self.slots(row))[f.id]
            value = with_none(decode_block(f.htype, cells, follow=False))[0]
            return None if value is None else f.htype.to_words(value)
        except Exception:  # the cell's preview shows the error
            return None

    def positions(self, ids: Ids) -> list[int]:
        """Return the positions, in this version, of the rows with the given ids."""
        positions: list[int] = self.table.rows.positions(self.slots(ids)).tolist()
        return positions

    def pictures(self, ids: Ids) -> list[Picture | None]:
        """Return the preview of each row's image in the first image column, or None."""
        f = next((f for f in self.table.schema if f.htype.is_image), None)
        contents: list[Content] = self.values(f, ids) if f else [None] * len(ids)
        return [content if isinstance(content, Picture) else None for content in contents]


def _changed_rows(diff: Diff, older: Side, newer: Side, ids: Ids) -> Iterator[DiffExample]:
    """Yield rows with the cells that changed, before and after."""
    cells: dict[int, list[CellChange]] = {row_id: [] for row_id in ids.tolist()}
    for name, changed in list(diff.changed.items())[:MAX_COLUMNS]:
        rows = ids[np.isin(ids, changed)]
        new = newer.table.schema[name]
        old = next(f for f in older.table.schema if f.id == new.id)
        sides = older.values(old, rows), newer.values(new, rows)
        for row_id, *previews in zip(rows.tolist(), *sides, strict=True):
            if _are_same_previews(*previews):
                row = np.array([row_id])
                exact = older.exact(old, row), newer.exact(new, row)
                previews = _cut_to_difference(*exact) or previews
            cells[row_id].append(CellChange(name, *previews))
    examples = zip(ids.tolist(), newer.positions(ids), newer.pictures(ids), strict=True)
    for row_id, position, picture in examples:
        has_image = any(isinstance(s, Picture) for c in cells[row_id] for s in (c.before, c.after))
        yield DiffExample("changed", position, tuple(cells[row_id]), None if has_image else picture)


def _are_same_previews(before: Content, after: Content) -> bool:
    """Return whether two previews look the same. Previews of unread cells count as different.

    >>> [_are_same_previews(a, b) for a, b in (("1.7e+09", "1.7e+09"), ("a", "b"), ("…", "…"))]
    [True, False, False]
    """
    if not isinstance(before, str) or not isinstance(after, str) or before == preview.UNREAD:
        return False
    return before[:VISIBLE_CHARACTERS] == after[:VISIBLE_CHARACTERS]


def _cut_to_difference(before: str | None, after: str | None) -> list[Content]:
    """Return two values, cut to where they differ, or an empty list if one of them is None."""
    return (
        []
        if before is None or after is None
        else [*cut_to_difference(before, after, VISIBLE_CHARACTERS)]
    )


def _whole_rows(kind: ChangeKind, side: Side, ids: Ids) -> Iterator[DiffExample]:
    """Yield rows that exist in only one version, with a few of their values."""
    fields = [f for f in side.table.schema if not f.htype.is_image][:_FIELDS]
    values = [side.values(f, ids) for f in fields]
    for i, (row, picture) in enumerate(zip(side.positions(ids), side.pictures(ids), strict=True)):
        pairs = zip(fields, (column[i] for column in values), strict=True)
        is_removed = kind == "removed"
        cells = (CellChange(f.name, *((v, None) if is_removed else (None, v))) for f, v in pairs)
        yield DiffExample(kind, row, tuple(cells), picture)
