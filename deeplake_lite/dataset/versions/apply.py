"""Putting a plan onto a table: rows, cells and columns, copied from another as they are stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset.versions.changes import NONE, Ids
from deeplake_lite.dataset.write.columns import filled, woven
from deeplake_lite.dataset.write.modes import converted
from deeplake_lite.errors import NotFoundError
from deeplake_lite.htypes.json_values import same_json
from deeplake_lite.schema import Schema
from deeplake_lite.storage import chunks
from deeplake_lite.storage.defaults import default_cells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.dataset.versions.merge_plan import MergePlan
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.arrays import Slots
    from deeplake_lite.storage.table import Table


def merge_rows(plan: MergePlan, target: Table, source: Table) -> None:
    """Put a plan onto `target`, and convert the pictures that were stored without their mode.

    Cells are copied as they are stored. Where one side has set the mode of a column, the other may
    have pictures that are not in it.
    """
    sides = [target.schema, source.schema]
    _copy_edits(plan, target, source)
    _bring_to_modes(target, sides)


def _bring_to_modes(table: Table, sides: list[Schema]) -> None:
    """Convert the pictures of columns whose mode one side of a merge did not have."""
    for f in table.schema:
        own, stored = f.htype.pixels, f.htype.with_mode(None)
        if own is None or own.mode is None or stored is None:
            continue
        there = [g.htype.pixels for side in sides for g in side if g.id == f.id]
        if any(pixels is not None and pixels.mode != own.mode for pixels in there):
            table.write([], converted(table, replace(f, htype=stored), f.htype))


def _copy_edits(plan: MergePlan, target: Table, source: Table) -> None:
    """Put a plan onto `target`, a table that takes edits, copying cells from `source`.

    What goes makes room first: a row that is removed needs no default, a dropped column no name.
    """
    if len(plan.remove):
        target.delete(np.flatnonzero(np.isin(target.ids(target.rows.live()), plan.remove)))
    known = {f.id for f in target.schema}
    kept = Schema(tuple(f for f in plan.schema if f.id in known))
    if kept != target.schema or not same_json(plan.metadata, target.state.metadata):
        target.set_document(schema=kept, metadata=plan.metadata)
    for f in plan.schema:
        if f.id not in known:
            target.add_column(f, _cells_from(target, source, f))
    if plan.schema != target.schema:
        target.set_document(schema=plan.schema)
    if len(plan.add):
        target.append(_rows_from(source, plan.add, plan.schema), plan.add)
    for column, ids in plan.cells.items():
        there, here = slots_of(source, ids), slots_of(target, ids)
        for some in chunks.spans(len(ids), chunks.COPY_ROWS):
            target.update(here[some], source.read([column], there[some]))


def slots_of(table: Table, ids: Ids) -> Ids:
    """Return the slots of live rows by id, all of which must be there; an id may come twice."""
    if not len(ids):
        return NONE
    found = table.find(ids)
    if (found < 0).any():
        raise NotFoundError(f"Version {table.snapshot_id} has no row {ids[found < 0][0]}.")
    return found


def _cells_from(target: Table, source: Table, added: Field) -> Iterator[Cells]:
    """Yield the cells of a column of `source` for every slot of `target`.

    Rows that the source does not have get the default.
    """
    there = source.find(target.ids(np.arange(target.rows.slots)))

    def give(slots: Slots) -> Cells:
        at = there[slots]
        return woven(
            (np.flatnonzero(at >= 0), lambda rows: source.read([added.id], at[rows])[added.id]),
            (np.flatnonzero(at < 0), lambda rows: default_cells(added, len(rows))),
        )

    return filled(target, added, give)


def _rows_from(source: Table, ids: Ids, schema: Schema) -> Iterator[dict[str, Cells]]:
    """Yield cells of rows in blocks; columns that the source does not have get their default."""
    known = {f.id for f in source.schema}
    slots = slots_of(source, ids)
    for some in chunks.spans(len(slots), chunks.COPY_ROWS):
        block = source.read([f.id for f in schema if f.id in known], slots[some])
        yield block | {
            f.id: default_cells(f, len(slots[some])) for f in schema if f.id not in known
        }
