"""The plan of a three-way merge, by row id, cell, column and metadata key.

"Our side" is the version that receives the changes, and "their side" is the version whose changes
are merged. `plan_merge` compares the changes that each side has made since the common base, and
lists the conflicts. It reads only the data needed for these decisions. The module `apply` then
copies the cells.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from deeplake_lite import checks
from deeplake_lite.dataset.versions.apply import slots_of
from deeplake_lite.dataset.versions.conflicts import ALL_RESOLVED, Conflict, Unresolved
from deeplake_lite.dataset.versions.pairs import NONE, Ids
from deeplake_lite.dataset.versions.reconcile import Reconciler
from deeplake_lite.storage.append_keys import has_digest, has_entry, ids_of, keys_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.versions.changes import Changes
    from deeplake_lite.schema import Schema
    from deeplake_lite.storage.append_keys import Digest, Runs
    from deeplake_lite.storage.table import Table

type Resolution = Literal["raise", "ours", "theirs"]

RESOLUTIONS = ("raise", "ours", "theirs")


def check_resolution(on_conflict: str) -> None:
    """Reject a value that is not a `Resolution`. Raises OptionError."""
    checks.choice("on_conflict", on_conflict, RESOLUTIONS)


@dataclass(frozen=True)
class MergePlan:
    """The edits that turn our side into the merged version."""

    schema: Schema
    """The merged columns."""
    metadata: Mapping[str, object]
    """The merged metadata of the dataset."""
    add: Ids = field(default_factory=lambda: NONE)
    """Ids of rows to copy from their side."""
    remove: Ids = field(default_factory=lambda: NONE)
    """Ids of rows to remove."""
    cells: Mapping[str, Ids] = field(default_factory=dict)
    """Maps column ids to the ids of the rows whose cells are copied from their side."""
    keys: Mapping[Digest, Runs] = field(default_factory=dict)
    """Keys of batches that only their side has appended."""


@dataclass(frozen=True)
class Sides:
    """The three versions of a merge. Each side may have pending edits."""

    base: Table
    """The common ancestor of both sides."""
    ours: Table
    """The version that receives the changes."""
    theirs: Table
    """The version whose changes are merged."""
    unresolved: Unresolved = ALL_RESOLVED
    """Items that have no common base value, because several merge bases conflict."""
    names: tuple[str, str] = ("ours", "theirs")
    """Names of the two sides in messages."""


def _keep_existing(table: Table, ids: Ids) -> Ids:
    """Return the ids that belong to rows of a table, without the other ids."""
    return ids[table.find(ids) >= 0] if len(ids) else ids


def plan_merge(
    sides: Sides, mine: Changes, other: Changes, side: Resolution
) -> tuple[MergePlan, list[Conflict]]:
    """Plan the merge of their side's changes (`other`) into our side, which has changes `mine`.

    Parameters
    ----------
    sides : Sides
        The three versions.
    mine, other : Changes
        The changes on our side and on their side since the base.
    side : {"raise", "ours", "theirs"}
        Side whose change is kept in a conflict. With "raise", the plan is the same as with "ours".

    Returns
    -------
    plan : MergePlan
        The edits to our side.
    conflicts : list of Conflict
        All data that the sides changed in different ways.
    """
    base, ours, theirs, unresolved = sides.base, sides.ours, sides.theirs, sides.unresolved
    theirs_wins = side == "theirs"
    if unresolved:
        mine, other = unresolved.add_to(mine, ours), unresolved.add_to(other, theirs)
    reconciler = Reconciler(unresolved, sides.names, theirs_wins=theirs_wins)
    schema = reconciler.schema(base.schema, ours.schema, theirs.schema, mine, other)
    metadata = reconciler.metadata(
        "metadata", ("metadata",), base.state.metadata, ours.state.metadata, theirs.state.metadata
    )
    keys, repeated = _plan_keys(sides)
    other = replace(other, added=other.added[~np.isin(other.added, repeated)])
    row_conflicts = _find_row_conflicts(sides, mine, other)
    conflicting = np.array([c.row_id for c in row_conflicts], np.int64)
    remove, add = _plan_rows(sides, mine, other, conflicting, theirs_wins=theirs_wins)
    cells, cell_conflicts = _plan_cells(sides, schema, mine, other, theirs_wins=theirs_wins)
    plan = MergePlan(schema, metadata, add=add, remove=remove, cells=cells, keys=keys)
    return plan, [*reconciler.conflicts, *row_conflicts, *cell_conflicts]


def _plan_keys(sides: Sides) -> tuple[Mapping[Digest, Runs], Ids]:
    """Return the keys of batches that only their side has appended since the base.

    If both sides have appended a batch with the same key, our rows are kept. The ids of their rows
    are returned, too.
    """
    base, ours, theirs = sides.base, sides.ours, sides.theirs
    if theirs.has_same_keys(base) or theirs.has_same_keys(ours):
        return {}, NONE
    mine, other = ours.keys_since(base), theirs.keys_since(base)
    other = other[~has_entry(other, mine)]
    is_repeated = has_digest(other, mine)
    repeated = ids_of(other[is_repeated, 2:].astype(np.int64).tolist())
    return keys_of(other[~is_repeated]), repeated


def plan_restore(old: Table, changes: Changes) -> MergePlan:
    """Plan the edits that turn a table into `old`, given the `changes` from this table to `old`."""
    return MergePlan(
        schema=old.schema,
        metadata=old.state.metadata,
        add=changes.added,
        remove=changes.removed,
        cells=changes.cells,
    )


def _find_row_conflicts(sides: Sides, mine: Changes, other: Changes) -> list[Conflict]:
    """Return a conflict for each row that one side removed and the other changed.

    There is also a conflict for each unresolved row that only one side still has.
    """
    our_name, their_name = sides.names
    unresolved = sides.unresolved.rows
    in_ours, in_theirs = (_keep_existing(t, unresolved) for t in (sides.ours, sides.theirs))
    conflicts = []
    for removed, changes, name, only_in_other in (
        (mine.removed, other, our_name, np.setdiff1d(in_theirs, in_ours)),
        (other.removed, mine, their_name, np.setdiff1d(in_ours, in_theirs)),
    ):
        changed = np.unique(np.concatenate([NONE, *changes.cells.values()]))
        conflicts += [
            Conflict("row", None, int(i), f"{name} removed it, but the other side changed it")
            for i in np.union1d(np.intersect1d(removed, changed), only_in_other)
        ]
    return conflicts


def _plan_rows(
    sides: Sides, mine: Changes, other: Changes, conflicting: Ids, *, theirs_wins: bool
) -> tuple[Ids, Ids]:
    """Return the ids of the rows to remove from our side, and of the rows to add to our side."""
    in_ours = _keep_existing(sides.ours, conflicting)
    remove = np.setdiff1d(other.removed, mine.removed)
    add = other.added[~np.isin(other.added, mine.added)]
    if theirs_wins:
        restored = np.setdiff1d(conflicting, in_ours)
        return np.union1d(remove, in_ours), np.concatenate([add, restored])
    return np.setdiff1d(remove, conflicting), add


def _plan_cells(
    sides: Sides, schema: Schema, mine: Changes, other: Changes, *, theirs_wins: bool
) -> tuple[dict[str, Ids], list[Conflict]]:
    """Return the copied cells, as a dict that maps column ids to row ids, and the conflicts."""
    ours, theirs, base = ({f.id for f in t.schema} for t in (sides.ours, sides.theirs, sides.base))
    cells, conflicts = {}, []
    # If a cell has no base value, the cells of the two sides are compared with each other.
    without_base = np.union1d(
        np.intersect1d(mine.added, other.added),
        _keep_existing(sides.theirs, _keep_existing(sides.ours, sides.unresolved.rows)),
    )
    for f in schema:
        if f.id not in ours & theirs:
            continue
        changed = np.setdiff1d(other.cells.get(f.id, NONE), mine.removed)
        compared = np.union1d(np.intersect1d(changed, mine.cells.get(f.id, NONE)), without_base)
        if f.id not in base or ("column", f.id) in sides.unresolved.keys:
            compared = _keep_existing(sides.theirs, sides.ours.ids(sides.ours.rows.live()))
        unequal = _find_unequal(sides.ours, sides.theirs, f.id, compared)
        reason = "the sides set different values"
        conflicts += [Conflict("cell", f.name, int(i), reason, (f.id,)) for i in unequal]
        changed = np.union1d(changed, unequal) if theirs_wins else np.setdiff1d(changed, unequal)
        if len(changed):
            cells[f.id] = changed
    return cells, conflicts


def _find_unequal(ours: Table, theirs: Table, column: str, ids: Ids) -> Ids:
    """Return the ids of rows whose cells differ between the two sides."""
    if not len(ids):
        return NONE
    our_slots, their_slots = slots_of(ours, ids), slots_of(theirs, ids)
    differ = ours.digests(column, our_slots) != theirs.digests(column, their_slots)
    return np.asarray(ids[differ])
