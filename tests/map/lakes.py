"""Lakes for the tests of jobs."""

import numpy as np

import deeplake_lite as dl

TYPES = {
    "scalar": "float64",
    "vector": dl.Embedding(4),
    "words": "text",
    "picture": dl.Image("png"),
    "boxes": dl.Boxes(),
    "items": dl.Sequence("int32"),
    "kind": dl.ClassLabel(["even", "odd"]),
    "document": "json",
}
"""The columns that `functions.every_type` fills."""


def make(url, rows=100):
    """Return a lake with a column of numbers, in which some rows were deleted."""
    ds = dl.create(str(url), {"x": "int64", "name": "text"})
    ds.append({"x": np.arange(rows), "name": [f"row {i}" for i in range(rows)]})
    ds.commit("rows")
    return ds


def digests(ds, columns):
    """Return the digests of the cells of columns, by row id."""
    table, slots = ds.rows.locate()
    ids = table.ids(slots).tolist()
    return {
        name: dict(zip(ids, table.digests(ds.field(name).id, slots).tolist(), strict=True))
        for name in columns
    }
