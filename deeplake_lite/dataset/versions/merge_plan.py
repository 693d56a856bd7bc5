"""What a merge is to put onto our side: three-way by row id, cell, column and note.

`plan_merge` compares what both sides changed since their base, and lists what collides. It decides
only; `apply` copies.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deeplake_lite import checks
from deeplake_lite.dataset.versions.apply import slots_of
from deeplake_lite.dataset.versions.changes import NONE, Changes, Ids
from deeplake_lite.dataset.versions.conflicts import NO_DOUBTS, Conflict, Doubts
from deeplake_lite.dataset.versions.reconcile import Reconciler

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.schema import Schema
    from deeplake_lite.storage.table import Table

type Resolution = Literal["raise", "ours", "theirs"]

RESOLUTIONS = ("raise", "ours", "theirs")


def check_resolution(on_conflict: str) -> None:
    """Refuse what is no way to settle conflicts. Raises OptionError."""
    checks.choice("on_conflict", on_conflict, RESOLUTIONS)


@dataclass(frozen=True)
class MergePlan:
    """What is to be put onto our side."""

    schema: Schema
    """The columns, merged."""
    metadata: Mapping[str, Any]
    """The notes, merged."""
    add: Ids = field(default_factory=lambda: NONE)
    """Rows to copy from their side."""
    remove: Ids = field(default_factory=lambda: NONE)
    """Rows to remove."""
    cells: Mapping[str, Ids] = field(default_factory=dict)
    """Cells to copy from their side, by column id."""


@dataclass(frozen=True)
class Sides:
    """The three versions of a merge; a side may have pending edits."""

    base: Table
    """What both sides come from."""
    ours: Table
    """Where the changes go."""
    theirs: Table
    """Where the changes come from."""
    doubts: Doubts = NO_DOUBTS
    """Where the base holds no value that is agreed upon."""
    names: tuple[str, str] = ("ours", "theirs")
    """What users call the two sides."""

    def holding(self, table: Table, ids: Ids) -> Ids:
        """Return those of `ids` that a side has."""
        return ids[table.find(ids) >= 0] if len(ids) else ids


def plan_merge(
    sides: Sides, mine: Changes, other: Changes, side: Resolution
) -> tuple[MergePlan, list[Conflict]]:
    """Plan putting their changes (`other`) onto our side, which has made its own (`mine`).

    Parameters
    ----------
    sides : Sides
        The three versions.
    mine, other : Changes
        What ours and theirs changed, relative to base.
    side : {"raise", "ours", "theirs"}
        Whose change counts where both changed the same thing. "raise" plans as "ours" does.

    Returns
    -------
    plan : MergePlan
    conflicts : list of Conflict
        Everything that both sides changed, each in its own way.
    """
    base, ours, theirs, doubts = sides.base, sides.ours, sides.theirs, sides.doubts
    wins = side == "theirs"
    if doubts:
        mine, other = doubts.add_to(mine, ours), doubts.add_to(other, theirs)
    small = Reconciler(doubts, sides.names, theirs_wins=wins)
    schema = small.schema(base.schema, ours.schema, theirs.schema, mine, other)
    notes = small.notes(
        "metadata", ("metadata",), base.state.metadata, ours.state.metadata, theirs.state.metadata
    )
    clashes = _row_clashes(sides, mine, other)
    clashing = np.array([c.row_id for c in clashes], np.int64)
    remove, add = _rows(sides, mine, other, clashing, wins=wins)
    cells, unequal = _cells(sides, schema, mine, other, wins=wins)
    plan = MergePlan(schema=schema, metadata=notes, add=add, remove=remove, cells=cells)
    return plan, [*small.conflicts, *clashes, *unequal]


def plan_restore(old: Table, changes: Changes) -> MergePlan:
    """Plan turning a table into `old`, given the `changes` that lead there."""
    return MergePlan(
        schema=old.schema,
        metadata=old.state.metadata,
        add=changes.added,
        remove=changes.removed,
        cells=changes.cells,
    )


def _row_clashes(sides: Sides, mine: Changes, other: Changes) -> list[Conflict]:
    """Return the rows that one side removed and the other changed, or may have."""
    a, b = sides.names
    doubted = sides.doubts.rows
    here, there = (sides.holding(t, doubted) for t in (sides.ours, sides.theirs))
    found = []
    for gone, changed, who, left in (
        (mine.removed, other, a, np.setdiff1d(there, here)),
        (other.removed, mine, b, np.setdiff1d(here, there)),
    ):
        touched = np.unique(np.concatenate([NONE, *changed.cells.values()]))
        found += [
            Conflict("row", None, int(i), f"{who} removed it, the other side changed it")
            for i in np.union1d(np.intersect1d(gone, touched), left)
        ]
    return found


def _rows(
    sides: Sides, mine: Changes, other: Changes, clashing: Ids, *, wins: bool
) -> tuple[Ids, Ids]:
    """Return the rows that go from our side, and those that come to it."""
    kept = sides.holding(sides.ours, clashing)
    remove = np.setdiff1d(other.removed, mine.removed)
    add = other.added[~np.isin(other.added, mine.added)]
    if wins:
        return np.union1d(remove, kept), np.concatenate([add, np.setdiff1d(clashing, kept)])
    return np.setdiff1d(remove, clashing), add


def _cells(
    sides: Sides, schema: Schema, mine: Changes, other: Changes, *, wins: bool
) -> tuple[dict[str, Ids], list[Conflict]]:
    """Return the cells to copy by column id, and those to which each side gave another value."""
    here, there, before = ({f.id for f in t.schema} for t in (sides.ours, sides.theirs, sides.base))
    cells, conflicts = {}, []
    fresh = np.intersect1d(mine.added, other.added)
    fresh = np.union1d(
        fresh, sides.holding(sides.theirs, sides.holding(sides.ours, sides.doubts.rows))
    )
    for f in schema:
        if f.id not in here & there:
            continue
        changed = np.setdiff1d(other.cells.get(f.id, NONE), mine.removed)
        touched = np.union1d(np.intersect1d(changed, mine.cells.get(f.id, NONE)), fresh)
        if f.id not in before or ("column", f.id) in sides.doubts.things:
            ids = sides.ours.ids(sides.ours.rows.live())
            touched = sides.holding(sides.theirs, ids)
        unequal = _unequal(sides.ours, sides.theirs, f.id, touched)
        reason = "each side gave it another value"
        conflicts += [Conflict("cell", f.name, int(i), reason, (f.id,)) for i in unequal]
        changed = np.union1d(changed, unequal) if wins else np.setdiff1d(changed, unequal)
        if len(changed):
            cells[f.id] = changed
    return cells, conflicts


def _unequal(ours: Table, theirs: Table, column: str, ids: Ids) -> Ids:
    """Return those of `ids` whose cells differ between the two sides."""
    if not len(ids):
        return NONE
    here, there = slots_of(ours, ids), slots_of(theirs, ids)
    differ = ours.digests(column, here) != theirs.digests(column, there)
    return np.asarray(ids[differ])
