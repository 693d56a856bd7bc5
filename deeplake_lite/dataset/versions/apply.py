"""Application of a merge plan to a table. Rows, cells and columns are copied from another table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset.versions.pairs import NONE, Ids
from deeplake_lite.dataset.write.columns import fill_column, interleave
from deeplake_lite.dataset.write.modes import convert_images
from deeplake_lite.errors import DamagedError, NotFoundError
from deeplake_lite.htypes.json_values import same_json
from deeplake_lite.schema import Schema
from deeplake_lite.storage import chunks
from deeplake_lite.storage.defaults import default_cells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.dataset.versions.merge_plan import MergePlan
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.stored_array import Slots
    from deeplake_lite.storage.table import Table


def merge_rows(plan: MergePlan, target: Table, source: Table) -> None:
    """Apply a plan to `target`. Cells are copied from `source` as they are stored.

    If one side has set the mode of an image column, images of the other side may not be in that
    mode. Such images are converted afterwards.
    """
    sides = [target.schema, source.schema]
    if plan.keys:
        target.add_keys(plan.keys, {} if source.edits is None else source.edits.key_names)
    _copy_edits(plan, target, source, source.checked())
    _convert_to_modes(target, sides)


def _convert_to_modes(table: Table, sides: list[Schema]) -> None:
    """Convert images to their column's mode, if the mode differs between the sides of the merge."""
    for f in table.schema:
        pixels, stored = f.htype.pixels, f.htype.with_mode(None)
        if pixels is None or pixels.mode is None or stored is None:
            continue
        pixels_of_sides = [g.htype.pixels for side in sides for g in side if g.id == f.id]
        if any(old is not None and old.mode != pixels.mode for old in pixels_of_sides):
            table.write([], convert_images(table, replace(f, htype=stored), f.htype))


def _copy_edits(plan: MergePlan, target: Table, source: Table, checked: Table) -> None:
    """Apply a plan to `target`, a table that accepts edits. Cells are copied from `source`.

    Rows are looked up in `source`, which may have cached their ids. Their cells are copied from
    `checked`, which is the same table with verified reads.

    Deletions are applied first, so that a new column needs no default for removed rows, and can
    reuse the name of a dropped column.
    """
    if len(plan.remove):
        slots = target.find(plan.remove)
        target.delete(target.rows.positions(slots[slots >= 0]))
    existing = {f.id for f in target.schema}
    remaining = Schema(tuple(f for f in plan.schema if f.id in existing))
    if remaining != target.schema or not same_json(plan.metadata, target.state.metadata):
        target.set_document(schema=remaining, metadata=plan.metadata)
    for f in plan.schema:
        if f.id not in existing:
            target.add_column(f, _cells_from(target, source, checked, f))
    if plan.schema != target.schema:
        target.set_document(schema=plan.schema)
    if len(plan.add):
        target.append(_rows_from(source, checked, plan.add, plan.schema), plan.add)
    for column, ids in plan.cells.items():
        source_slots, target_slots = _slots_to_copy(source, checked, ids), slots_of(target, ids)
        for span in chunks.spans(len(ids), chunks.COPY_ROWS):
            target.update(target_slots[span], checked.read([column], source_slots[span]))


def slots_of(table: Table, ids: Ids) -> Ids:
    """Return the slots of the rows with the given ids, which may repeat. Raises NotFoundError."""
    if not len(ids):
        return NONE
    slots = table.find(ids)
    if (slots < 0).any():
        raise NotFoundError(
            f"Version {table.snapshot_id} has no row with the id {ids[slots < 0][0]}. Use ids from "
            "the row_ids of that version."
        )
    return slots


def _slots_to_copy(source: Table, checked: Table, ids: Ids) -> Ids:
    """Return the slots of the rows to copy, and check that these rows have the right ids.

    Raises DamagedError.
    """
    slots = slots_of(source, ids)
    if (checked.ids(slots) != ids).any():
        raise DamagedError(
            f"Rows are copied by their ids, but the ids read from version {source.snapshot_id} are "
            "damaged. Nothing was changed. Open the lake again."
        )
    return slots


def _cells_from(target: Table, source: Table, checked: Table, added: Field) -> Iterator[Cells]:
    """Yield the cells of a column of `source` for every slot of `target`.

    Rows that do not exist in `source` get the default.
    """
    source_slots = source.find(target.ids(np.arange(target.rows.slots)))

    def cells_of(slots: Slots) -> Cells:
        sources = source_slots[slots]

        def read(rows: Slots) -> Cells:
            return checked.read([added.id], sources[rows])[added.id]

        return interleave(
            (np.flatnonzero(sources >= 0), read),
            (np.flatnonzero(sources < 0), lambda rows: default_cells(added, len(rows))),
        )

    return fill_column(target, added, cells_of)


def _rows_from(
    source: Table, checked: Table, ids: Ids, schema: Schema
) -> Iterator[dict[str, Cells]]:
    """Yield rows of `source` in blocks, with the default for columns that `source` lacks."""
    existing = {f.id for f in source.schema}
    slots = _slots_to_copy(source, checked, ids)
    for span in chunks.spans(len(slots), chunks.COPY_ROWS):
        block = checked.read([f.id for f in schema if f.id in existing], slots[span])
        yield block | {
            f.id: default_cells(f, len(slots[span])) for f in schema if f.id not in existing
        }
