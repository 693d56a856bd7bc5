"""Bringing two lines of edits together: three-way by row id, cell, column and note.

Steps: `plan_merge` compares what both sides changed since their base, lists what collides, and says
what is to be put onto our side; `apply` does so, copying encoded bytes from theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deeplake_lite.dataset.changes import NONE, Changes, Ids
from deeplake_lite.errors import ConflictError, NotFoundError
from deeplake_lite.htypes import ClassLabel
from deeplake_lite.htypes.cells import concat, take
from deeplake_lite.schema import Schema
from deeplake_lite.storage import chunks
from deeplake_lite.storage.table import default_cells

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.table import Table

type Resolution = Literal["raise", "ours", "theirs"]

RESOLUTIONS = ("raise", "ours", "theirs")

COPY_ROWS = 1_024


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

    def __str__(self) -> str:
        name = f" {self.name!r}" if self.name is not None else ""
        row = f" of row {self.row_id}" if self.kind == "cell" else ""
        row = f" {self.row_id}" if self.kind == "row" else row
        return f"{self.kind}{name}{row}: {self.reason}"


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


def check_conflicts(conflicts: list[Conflict], way_out: str) -> None:
    """Raise ConflictError for conflicts, listing the first of them."""
    if not conflicts:
        return
    listed = "\n".join(f"  {c}" for c in conflicts[:10])
    more = f"\n  … and {len(conflicts) - 10} more" if len(conflicts) > 10 else ""
    things = "1 thing" if len(conflicts) == 1 else f"{len(conflicts)} things"
    raise ConflictError(
        f"Both sides changed {things}, and nothing was written:\n{listed}{more}\n{way_out}",
        conflicts,
    )


def plan_merge(
    base: Table, ours: Table, theirs: Table, mine: Changes, other: Changes, side: Resolution
) -> tuple[MergePlan, list[Conflict]]:
    """Plan putting their changes (`other`) onto our side, which has made its own (`mine`).

    Parameters
    ----------
    base, ours, theirs : Table
        The three versions; a side may have pending edits.
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
    wins = side == "theirs"
    merger = _Merger(wins)
    schema = _merge_schemas(base.schema, ours.schema, theirs.schema, mine, other, merger)
    notes = merger.notes(
        "metadata", base.state.metadata, ours.state.metadata, theirs.state.metadata
    )
    clashes = _row_clashes(mine, other)
    merger.conflicts += clashes
    clashing = np.array([c.row_id for c in clashes], np.int64)
    both_added = np.intersect1d(mine.added, other.added)
    remove = np.setdiff1d(other.removed, mine.removed)
    revive = np.intersect1d(clashing, mine.removed) if wins else NONE
    cells = {}
    for f in schema:
        if f.id not in {g.id for g in ours.schema} or f.id not in {g.id for g in theirs.schema}:
            continue
        changed = np.setdiff1d(other.cells.get(f.id, NONE), mine.removed)
        touched = np.intersect1d(changed, mine.cells.get(f.id, NONE))
        touched = np.concatenate([touched, both_added])
        unequal = _unequal(ours, theirs, f.id, touched)
        merger.conflicts += [
            Conflict("cell", f.name, int(i), "each side gave it another value") for i in unequal
        ]
        changed = np.union1d(changed, unequal) if wins else np.setdiff1d(changed, unequal)
        cells[f.id] = changed
    plan = MergePlan(
        schema=schema,
        metadata=notes,
        add=np.concatenate([other.added[~np.isin(other.added, both_added)], revive]),
        remove=remove if wins else np.setdiff1d(remove, clashing),
        cells={c: ids for c, ids in cells.items() if len(ids)},
    )
    return plan, merger.conflicts


def plan_restore(old: Table, changes: Changes) -> MergePlan:
    """Plan turning a table into `old`, given the `changes` that lead there."""
    return MergePlan(
        schema=old.schema,
        metadata=old.state.metadata,
        add=changes.added,
        remove=changes.removed,
        cells=changes.cells,
    )


def apply(plan: MergePlan, target: Table, source: Table) -> None:
    """Put a plan onto `target`, a table that takes edits, copying cells from `source`.

    What goes makes room first: a row that is removed needs no default, a dropped column no name.
    """
    if len(plan.remove):
        target.delete(np.flatnonzero(np.isin(target.ids(target.rows.live()), plan.remove)))
    known = {f.id for f in target.schema}
    kept = Schema(tuple(f for f in plan.schema if f.id in known))
    if kept != target.schema or plan.metadata != target.state.metadata:
        target.set_document(schema=kept, metadata=plan.metadata)
    for f in plan.schema:
        if f.id not in known:
            target.add_column(f, _cells_for(target, source, f))
    if plan.schema != target.schema:
        target.set_document(schema=plan.schema)
    if len(plan.add):
        target.append(_rows_from(source, plan.add, plan.schema), plan.add)
    for column, ids in plan.cells.items():
        there, here = slots_of(source, ids), slots_of(target, ids)
        for some in chunks.spans(len(ids), COPY_ROWS):
            target.update(here[some], source.read([column], there[some]))


def slots_of(table: Table, ids: Ids) -> Ids:
    """Return the slots of live rows by id, all of which must be there; an id may come twice."""
    if not len(ids):
        return NONE
    found = table.find(ids)
    if (found < 0).any():
        raise NotFoundError(f"Version {table.snapshot_id} has no row {ids[found < 0][0]}.")
    return found


class _Merger:
    """Three-way choice of small values, noting what collides."""

    def __init__(self, theirs_wins: bool) -> None:
        self.theirs_wins, self.conflicts = theirs_wins, list[Conflict]()

    def choose(
        self,
        kind: Literal["column", "metadata"],
        name: str,
        what: str,
        base: Any,
        ours: Any,
        theirs: Any,
    ) -> Any:
        """Return the side that changed; where both did, note a conflict and return the winner."""
        if ours == theirs or theirs == base:
            return ours
        if ours == base:
            return theirs
        self.conflicts.append(
            Conflict(kind, name, None, f"{what}: ours {_brief(ours)}, theirs {_brief(theirs)}")
        )
        return theirs if self.theirs_wins else ours

    def notes(
        self,
        name: str,
        base: Mapping[str, Any],
        ours: Mapping[str, Any],
        theirs: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Merge notes key by key; None stands for a key that is not there."""
        merged = {
            k: self.choose("metadata", k, name, base.get(k), ours.get(k), theirs.get(k))
            for k in {**ours, **theirs}
        }
        return {k: v for k, v in merged.items() if v is not None}


def _brief(value: Any) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _merge_schemas(
    base: Schema, ours: Schema, theirs: Schema, mine: Changes, other: Changes, merger: _Merger
) -> Schema:
    """Return the merged schema: our columns in our order, then theirs that are new."""
    b, o, t = ({f.id: f for f in schema} for schema in (base, ours, theirs))
    kept: list[Field] = []
    for c in [*o, *(c for c in t if c not in o)]:
        if c in o and c in t:
            kept.append(_merge_fields(b.get(c, o[c]), o[c], t[c], merger))
        elif c not in b:
            kept.append(o.get(c) or t[c])
        elif (survivor := _merge_drop(b[c], o.get(c), t.get(c), mine, other, merger)) is not None:
            kept.append(survivor)
    return Schema(tuple(_settle_names(kept, t if merger.theirs_wins else o, merger)))


def _settle_names(kept: list[Field], winner: Mapping[str, Field], merger: _Merger) -> list[Field]:
    """Return the columns without two of one name: the winner's names count, the rest goes."""
    while clashing := _clashing(kept):
        for f in clashing:
            merger.conflicts.append(
                Conflict("column", f.name, None, "each side has a column, or group, of this name")
            )
        same = {f.id: winner[f.id].name for f in clashing if f.id in winner}
        if any(f.name != same.get(f.id, f.name) for f in clashing):
            kept = [replace(f, name=same.get(f.id, f.name)) for f in kept]
        else:
            kept = [f for f in kept if f not in clashing or f.id in winner]
    return kept


def _clashing(fields: list[Field]) -> list[Field]:
    """Return the columns whose name another one has, as its own or as the group that it lies in."""

    def clash(a: str, b: str) -> bool:
        return a == b or a.startswith(f"{b}/") or b.startswith(f"{a}/")

    return [f for f in fields if any(clash(f.name, g.name) for g in fields if g is not f)]


def _merge_fields(base: Field, ours: Field, theirs: Field, merger: _Merger) -> Field:
    name = merger.choose("column", ours.name, "name", base.name, ours.name, theirs.name)
    htype = _merge_types(ours.name, base.htype, ours.htype, theirs.htype, merger)
    notes = merger.notes(
        f"metadata of {ours.name!r}", base.metadata, ours.metadata, theirs.metadata
    )
    return replace(ours, name=name, htype=htype, metadata=notes)


def _merge_types(column: str, base: Htype, ours: Htype, theirs: Htype, merger: _Merger) -> Htype:
    """Merge the type of a column: nulls, default and what the values mean, each on its own.

    Raises
    ------
    ConflictError
        When both sides changed what the values mean: stored values of one would be misread.
    """
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    default = merger.choose("column", column, "default", base.default, ours.default, theirs.default)
    b, o, t = (replace(h, nullable=False, default=None) for h in (base, ours, theirs))
    meaning = _extended(o, t) if o not in (b, t) and t != b else (t if o == b else o)
    if meaning is None:
        raise ConflictError(
            f"Both sides changed the type of column {column!r}, ours to {ours}, theirs to "
            f"{theirs}. Give both the same type, then merge."
        )
    return replace(meaning, nullable=ours.nullable or theirs.nullable, default=default)


def _extended(a: Htype, b: Htype) -> Htype | None:
    """Return the longer of two lists of classes that begin alike, None for other types."""
    if not isinstance(a, ClassLabel) or not isinstance(b, ClassLabel) or a.multiple != b.multiple:
        return None
    short, long = sorted((a, b), key=lambda h: len(h.names))
    return long if tuple(long.names[: len(short.names)]) == tuple(short.names) else None


def _merge_drop(
    base: Field,
    ours: Field | None,
    theirs: Field | None,
    mine: Changes,
    other: Changes,
    merger: _Merger,
) -> Field | None:
    """Merge a column that one side dropped: it goes, unless the other side changed it."""
    survivor, changes = (ours, mine) if theirs is None else (theirs, other)
    if survivor == base and not len(changes.cells.get(base.id, NONE)):
        return None
    dropped = "theirs" if theirs is None else "ours"
    merger.conflicts.append(
        Conflict("column", base.name, None, f"{dropped} dropped it, the other side changed it")
    )
    return theirs if merger.theirs_wins else ours


def _row_clashes(mine: Changes, other: Changes) -> list[Conflict]:
    """Return the rows that one side removed and the other changed."""
    found = []
    for gone, changed, who in ((mine.removed, other, "ours"), (other.removed, mine, "theirs")):
        touched = np.unique(np.concatenate([NONE, *changed.cells.values()]))
        found += [
            Conflict("row", None, int(i), f"{who} removed it, the other side changed it")
            for i in np.intersect1d(gone, touched)
        ]
    return found


def _unequal(ours: Table, theirs: Table, column: str, ids: Ids) -> Ids:
    """Return those of `ids` whose cells differ between the two sides."""
    if not len(ids):
        return NONE
    here, there = slots_of(ours, ids), slots_of(theirs, ids)
    differ = ours.digests(column, here) != theirs.digests(column, there)
    return np.asarray(ids[differ])


def _rows_from(source: Table, ids: Ids, schema: Schema) -> Iterator[dict[str, Cells]]:
    """Yield cells of rows in blocks; columns that the source does not have get their default."""
    known = {f.id for f in source.schema}
    slots = slots_of(source, ids)
    for some in chunks.spans(len(slots), COPY_ROWS):
        block = source.read([f.id for f in schema if f.id in known], slots[some])
        yield block | {
            f.id: default_cells(f, len(slots[some])) for f in schema if f.id not in known
        }


def _cells_for(target: Table, source: Table, added: Field) -> Iterator[Cells]:
    """Yield the cells of a column of `source` for every slot of `target`.

    Rows that the source does not have get the default, slots of deleted rows are blank.
    """
    every = np.arange(target.rows.slots)
    alive = np.isin(every, target.rows.live())
    ids, there = target.ids(every), source.ids(source.rows.live())
    for some in chunks.spans(len(every), COPY_ROWS):
        copied = alive[some] & np.isin(ids[some], there)
        missing = alive[some] & ~copied
        parts = [source.read([added.id], slots_of(source, ids[some][copied]))[added.id]]
        if missing.any():
            parts.append(default_cells(added, int(missing.sum())))
        if not alive[some].all():
            parts.append(added.htype.encode([added.htype.blank] * int((~alive[some]).sum())))
        order = np.concatenate([np.flatnonzero(m) for m in (copied, missing, ~alive[some])])
        yield take(concat(parts), np.argsort(order))
