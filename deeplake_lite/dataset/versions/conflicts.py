"""Conflicts between the two sides of a merge, and the error message that lists them.

A `Conflict` names one cell, row, column or metadata key. If two tips have several merge bases,
these may conflict with each other. `Unresolved` lists the items in conflict. Such an item has no
value in a common base with which the tips could be compared, so any difference between the tips is
a conflict.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Literal

import numpy as np

from deeplake_lite.dataset.read.values import decode_block
from deeplake_lite.dataset.repr.excerpts import cut_to_difference
from deeplake_lite.dataset.versions.changes import Changes
from deeplake_lite.dataset.versions.pairs import NONE, Ids
from deeplake_lite.dataset.versions.summary import plain_pair
from deeplake_lite.errors import ConflictError
from deeplake_lite.htypes.words import numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deeplake_lite.htypes import Htype
    from deeplake_lite.storage.table import Table

MAX_LISTED = 10
"""Maximum number of conflicts that an error message lists."""

MAX_VALUE_CHARACTERS = 60
"""Maximum length of a value in an error message, in characters."""


@dataclass(frozen=True)
class Conflict:
    """A cell, row, column or metadata key that the two sides changed in different ways."""

    kind: Literal["cell", "row", "column", "metadata"]
    """The kind of item that both sides changed."""
    name: str | None
    """Name of the column or the metadata key, or None if a whole row is in conflict."""
    row_id: int | None
    """Id of the row, or None for a column or metadata."""
    reason: str
    """Description of the change on each side."""
    key: tuple[str, ...] = ()
    """Path of the conflicting property of a column or metadata key. For a cell, the column's id."""

    def __str__(self) -> str:
        name = f" {self.name!r}" if self.name is not None else ""
        row = f" of row id {self.row_id}" if self.kind == "cell" else ""
        row = f" id {self.row_id}" if self.kind == "row" else row
        return f"{self.kind}{name}{row}: {self.reason}"


@dataclass(frozen=True)
class Unresolved:
    """The rows, cells, columns and metadata in which the merge bases of two tips conflict."""

    rows: Ids = field(default_factory=lambda: NONE)
    """Ids of rows that one merge base has removed and another has changed."""
    cells: Mapping[str, Ids] = field(default_factory=dict)
    """Maps column ids to the ids of the rows whose cells conflict."""
    keys: frozenset[tuple[str, ...]] = frozenset()
    """The `Conflict.key` of each conflict about columns and metadata."""

    def __bool__(self) -> bool:
        return bool(len(self.rows) or self.cells or self.keys)

    def with_conflicts(self, conflicts: Iterable[Conflict]) -> Unresolved:
        """Return a copy that also has the given conflicts."""
        rows, cells = [self.rows], {c: [ids] for c, ids in self.cells.items()}
        keys = set(self.keys)
        for c in conflicts:
            if c.row_id is None:
                keys.add(c.key)
            elif c.kind == "row":
                rows.append(np.array([c.row_id]))
            else:
                cells.setdefault(c.key[0], []).append(np.array([c.row_id]))
        return Unresolved(
            np.unique(np.concatenate(rows)),
            {c: np.unique(np.concatenate(ids)) for c, ids in cells.items()},
            frozenset(keys),
        )

    def add_to(self, changes: Changes, newer: Table) -> Changes:
        """Return the changes of a tip, adding unresolved cells and leaving out unresolved rows.

        An unresolved cell counts as changed on both sides, so that any difference is a conflict.
        """
        cells = dict(changes.cells)
        for f in newer.schema:
            ids = self.cells.get(f.id, NONE)
            if len(ids):
                cells[f.id] = np.union1d(cells.get(f.id, NONE), ids[newer.find(ids) >= 0])
        whole_columns = {("column", c) for c in cells} & self.keys
        return Changes(
            added=_exclude(changes.added, self.rows),
            removed=_exclude(changes.removed, self.rows),
            cells={
                c: _exclude(ids, self.rows)
                for c, ids in cells.items()
                if ("column", c) not in whole_columns
            },
            schema=changes.schema,
            metadata=changes.metadata,
        )


ALL_RESOLVED = Unresolved()


def _exclude(ids: Ids, others: Ids) -> Ids:
    """Return the ids that are not in `others`, in the same order."""
    return ids[~np.isin(ids, others)] if len(others) else ids


def check_conflicts(
    conflicts: Sequence[Conflict], sides: Mapping[str, Table], way_out: str
) -> None:
    """Raise ConflictError if there are conflicts. The message lists the first conflicts.

    Parameters
    ----------
    conflicts : sequence of Conflict
        The conflicts.
    sides : mapping
        Maps "ours" and "theirs" to the two versions. The message gives the position of a row in
        the first version that has the row.
    way_out : str
        Last line of the message.
    """
    if not conflicts:
        return
    # Columns with clashing names have one conflict each, but the messages may be equal.
    distinct = {(c.kind, c.name, c.row_id, c.reason): c for c in conflicts}
    listed = "\n".join(f"  {_describe(c, sides)}" for c in islice(distinct.values(), MAX_LISTED))
    hidden = len(distinct) - MAX_LISTED
    more = f"\n  … and {hidden:,} more" if hidden > 0 else ""
    count = "1 conflict" if len(distinct) == 1 else f"{len(distinct):,} conflicts"
    raise ConflictError(
        f"Both sides changed the same data ({count}), so nothing was written:\n"
        f"{listed}{more}\n{way_out}",
        conflicts,
    )


def _describe(conflict: Conflict, sides: Mapping[str, Table]) -> str:
    """Describe a conflict in one line, with the row's position and each side's value of a cell."""
    if conflict.row_id is None:
        return str(conflict)
    slots = {side: table.find(np.array([conflict.row_id])) for side, table in sides.items()}
    first = next(side for side, slot in slots.items() if slot[0] >= 0)
    position = int(sides[first].rows.positions(slots[first])[0])
    if conflict.kind == "row":
        return f"row {position} of {first}: {conflict.reason}"
    (ours, theirs) = [_read_cell(sides[side], conflict.key[0], slots[side]) for side in sides]
    texts = brief_apart(*plain_pair(ours[0], theirs[0], (ours[1], theirs[1])))
    values = [f"{side} {text}" for side, text in zip(sides, texts, strict=True)]
    return f"cell {conflict.name!r} of row {position}: {', '.join(values)}"


def _read_cell(table: Table, column: str, slots: Ids) -> tuple[object, Htype]:
    htype = next(f.htype for f in table.schema if f.id == column)
    cells = table.read([column], slots)[column]
    return decode_block(htype, cells, follow=False)[0], htype


def brief(value: object) -> str:
    """Return a value as a string of at most `MAX_VALUE_CHARACTERS` characters.

    >>> brief(None), brief("a" * 99)
    ('null', "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…")
    """
    text = _in_full(value)
    return text if len(text) <= MAX_VALUE_CHARACTERS else text[: MAX_VALUE_CHARACTERS - 1] + "…"


def brief_apart(ours: object, theirs: object) -> tuple[str, str]:
    """Return two values as short strings that differ, cut around the first difference if needed.

    >>> brief_apart("a" * 99 + "b", "a" * 99 + "c")
    ("…aaaaaaaaaaaaaaaab'", "…aaaaaaaaaaaaaaaac'")
    """
    texts = brief(ours), brief(theirs)
    if texts[0] != texts[1]:
        return texts
    return cut_to_difference(_in_full(ours), _in_full(theirs), MAX_VALUE_CHARACTERS)


def _in_full(value: object) -> str:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return numbers(value)
    return "null" if value is None else repr(value)
