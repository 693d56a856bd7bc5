"""Invariants that hold for every dataset, regardless of its history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.htypes.json_values import same_json
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.storage.repo import run
from deeplake_lite.storage.rows import COUNTER_BITS
from deeplake_lite.testing.values import freeze

if TYPE_CHECKING:
    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field
    from deeplake_lite.testing.model import Content


def check_content(view: View, content: Content) -> None:
    """Check that a dataset has the same columns, metadata, rows, row order and cells as a model."""
    fields = {f.id: f for f in view.schema}
    assert [(f.id, f.name, f.htype) for f in view.schema] == [
        (c, column.name, column.htype) for c, column in content.columns.items()
    ]
    assert view.row_ids.tolist() == list(content.rows), "rows, in order"
    assert same_json(dict(view.rows.table.metadata), content.metadata)
    for c, f in fields.items():
        got = [freeze(value) for value in view[f.name][:]]
        assert got == [row[c] for row in content.rows.values()], f"column {f.name!r}"


def check_consistent(ds: Dataset) -> None:
    """Check that the indexes and checksums of a committed dataset agree with its data."""
    report = ds.verify()
    assert report, report
    table = ds.handle.table
    live, ids = table.rows.live(), ds.row_ids
    assert len(np.unique(live)) == len(live) == len(ds), "a slot holds one row"
    assert len(np.unique(ids)) == len(ids), "row ids are unique"
    assert ((live >= 0) & (live < table.rows.slots)).all()
    for f in ds.schema:
        _check_reads(ds, f)
        _check_statistics(ds, f)
        _check_shapes(ds, f)
    _check_id_blocks(ds)


def _check_reads(ds: Dataset, f: Field) -> None:
    """Check that rows read one by one, or in another order, equal rows read together."""
    values = [freeze(value) for value in ds[f.name][:]]
    back = np.arange(len(ds))[::-1]
    assert [freeze(ds[f.name][i]) for i in range(len(ds))] == values
    assert [freeze(value) for value in ds[f.name][back]] == values[::-1]


def _check_shapes(ds: Dataset, f: Field) -> None:
    """Check that the stored shapes match the values, and that nulls have no shape."""
    shapes = ds[f.name].shapes
    assert len(shapes) == len(ds)
    for row, (value, shape) in enumerate(zip(ds[f.name][:], shapes.tolist(), strict=True)):
        if isinstance(value, np.ndarray):
            is_null = f.htype.nullable and ds[f.name][row] is None
            assert tuple(n for n in shape if n >= 0) == (() if is_null else value.shape)


def _check_statistics(ds: Dataset, f: Field) -> None:
    """Check that each chunk has bounds, and that the values of the chunk are within its bounds."""
    statistics = ds.handle.table.statistics(f.id)
    if statistics is None:
        return
    bounds, counts = statistics
    assert isinstance(f.htype.layout, Dense)
    slots, size = ds.handle.table.rows.slots, ds.handle.table.chunk_rows(f.id)
    assert len(bounds) == len(counts) == -(-slots // size), "one entry per chunk"
    cells = ds.handle.table.read([f.id], ds.handle.table.rows.live())[f.id]
    values = cells.values  # type: ignore[union-attr]
    valid = np.ones(len(values), bool) if cells.valid is None else cells.valid
    nan = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
    for slot, value, is_valid, is_nan in zip(
        ds.handle.table.rows.live().tolist(), values, valid, nan, strict=True
    ):
        nulls, nans = counts[slot // size]
        if not is_valid:
            assert nulls > 0
        elif is_nan:
            assert nans > 0
        else:
            assert bounds[slot // size][0] <= value <= bounds[slot // size][1]


def _check_id_blocks(ds: Dataset) -> None:
    """Check that every block of row ids that a row uses is recorded as taken."""
    blocks = ds.handle.table.rows.blocks
    taken = run(blocks.read(np.arange(run(blocks.length()))))
    assert set((ds.row_ids >> COUNTER_BITS).tolist()) <= set(taken.tolist())
