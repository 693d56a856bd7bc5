"""What two sides changed, each in its own way, and how a user is told.

A `Conflict` names one cell, row, column or note. Conflicts between the versions that two tips come
from are `Doubts`: there is no agreed value to compare with, so the tips have to be equal there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deeplake_lite.dataset.read.values import decode_block
from deeplake_lite.dataset.repr.excerpts import cut_to_difference
from deeplake_lite.dataset.versions.changes import NONE, Changes, Ids
from deeplake_lite.dataset.versions.summary import plain_pair
from deeplake_lite.errors import ConflictError
from deeplake_lite.htypes.words import numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deeplake_lite.htypes import Htype
    from deeplake_lite.storage.table import Table

MOST_LISTED = 10
"""Conflicts that an error message goes through one by one."""

MOST_LETTERS = 60
"""Of a value in an error message."""


@dataclass(frozen=True)
class Conflict:
    """One thing that both sides changed, each in its own way."""

    kind: Literal["cell", "row", "column", "metadata"]
    """What collided."""
    name: str | None
    """Name of the column, or key of the note; None for a whole row."""
    row_id: int | None
    """Id of the row; None for a column or a note."""
    reason: str
    """What each side did."""
    key: tuple[str, ...] = ()
    """What collided, in terms of ids: the column's id first."""

    def __str__(self) -> str:
        name = f" {self.name!r}" if self.name is not None else ""
        row = f" of row id {self.row_id}" if self.kind == "cell" else ""
        row = f" id {self.row_id}" if self.kind == "row" else row
        return f"{self.kind}{name}{row}: {self.reason}"


@dataclass(frozen=True)
class Doubts:
    """On what the versions that two tips come from do not agree."""

    rows: Ids = field(default_factory=lambda: NONE)
    """Rows that one removed and another changed."""
    cells: Mapping[str, Ids] = field(default_factory=dict)
    """Rows by column id."""
    things: frozenset[tuple[str, ...]] = frozenset()
    """Keys of conflicts over columns and notes."""

    def __bool__(self) -> bool:
        return bool(len(self.rows) or self.cells or self.things)

    def joined(self, conflicts: Iterable[Conflict]) -> Doubts:
        """Return these and what `conflicts` leave open."""
        rows, cells = [self.rows], {c: [ids] for c, ids in self.cells.items()}
        things = set(self.things)
        for c in conflicts:
            if c.row_id is None:
                things.add(c.key)
            elif c.kind == "row":
                rows.append(np.array([c.row_id]))
            else:
                cells.setdefault(c.key[0], []).append(np.array([c.row_id]))
        return Doubts(
            np.unique(np.concatenate(rows)),
            {c: np.unique(np.concatenate(ids)) for c, ids in cells.items()},
            frozenset(things),
        )

    def add_to(self, changes: Changes, newer: Table) -> Changes:
        """Return the changes of one tip with cells in doubt among them, and without such rows."""
        cells = dict(changes.cells)
        for f in newer.schema:
            ids = self.cells.get(f.id, NONE)
            if len(ids):
                cells[f.id] = np.union1d(cells.get(f.id, NONE), ids[newer.find(ids) >= 0])
        gone = {("column", c) for c in cells} & self.things
        return Changes(
            added=_without(changes.added, self.rows),
            removed=_without(changes.removed, self.rows),
            cells={
                c: _without(i, self.rows) for c, i in cells.items() if ("column", c) not in gone
            },
            schema=changes.schema,
            metadata=changes.metadata,
        )


NO_DOUBTS = Doubts()


def _without(ids: Ids, others: Ids) -> Ids:
    """Return the ids that are not among `others`, in their order."""
    return ids[~np.isin(ids, others)] if len(others) else ids


def check_conflicts(
    conflicts: Sequence[Conflict], sides: Mapping[str, Table], way_out: str
) -> None:
    """Raise ConflictError for conflicts, listing the first of them.

    Parameters
    ----------
    conflicts : sequence of Conflict
    sides : mapping
        The versions by what they are called, "ours" and "theirs". Rows are named by their position
        in the first that has them.
    way_out : str
        Last line of the message.
    """
    if not conflicts:
        return
    distinct = {(c.kind, c.name, c.row_id, c.reason): c for c in conflicts}  # two columns, one name
    listed = "\n".join(f"  {_told(c, sides)}" for c in islice(distinct.values(), MOST_LISTED))
    rest = len(distinct) - MOST_LISTED
    more = f"\n  … and {rest:,} more" if rest > 0 else ""
    things = "1 thing" if len(distinct) == 1 else f"{len(distinct):,} things"
    raise ConflictError(
        f"Both sides changed {things}, and nothing was written:\n{listed}{more}\n{way_out}",
        conflicts,
    )


def _told(conflict: Conflict, sides: Mapping[str, Table]) -> str:
    """Return a conflict in one line: the row's position, and what each side holds in a cell."""
    if conflict.row_id is None:
        return str(conflict)
    found = {who: table.find(np.array([conflict.row_id])) for who, table in sides.items()}
    who = next(w for w, slots in found.items() if slots[0] >= 0)
    position = int(np.flatnonzero(sides[who].rows.live() == found[who][0])[0])
    if conflict.kind == "row":
        return f"row {position} of {who}: {conflict.reason}"
    (ours, theirs) = [_cell(sides[who], conflict.key[0], found[who]) for who in sides]
    texts = brief_apart(*plain_pair(ours[0], theirs[0], (ours[1], theirs[1])))
    values = [f"{w} {text}" for w, text in zip(sides, texts, strict=True)]
    return f"cell {conflict.name!r} of row {position}: {', '.join(values)}"


def _cell(table: Table, column: str, slots: Ids) -> tuple[Any, Htype]:
    htype = next(f.htype for f in table.schema if f.id == column)
    cells = table.read([column], slots)[column]
    return decode_block(htype, cells, follow=False)[0], htype


def brief(value: Any) -> str:
    """Return a value in a few letters.

    >>> brief(None), brief("a" * 99)
    ('null', "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…")
    """
    text = _in_full(value)
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"


def brief_apart(ours: Any, theirs: Any) -> tuple[str, str]:
    """Return two values in a few letters, those where they begin to differ if the first are alike.

    >>> brief_apart("a" * 99 + "b", "a" * 99 + "c")
    ("…aaaaaaaaaaaaaaaab'", "…aaaaaaaaaaaaaaaac'")
    """
    texts = brief(ours), brief(theirs)
    if texts[0] != texts[1]:
        return texts
    return cut_to_difference(_in_full(ours), _in_full(theirs), MOST_LETTERS)


def _in_full(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return numbers(value)
    return "null" if value is None else repr(value)
