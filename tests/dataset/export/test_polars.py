"""Rows become polars DataFrames, and come back as the same cells."""

from uuid import uuid4

import numpy as np
import polars as pl

import deeplake_lite as dl
from deeplake_lite.htypes import resolve
from tests.dataset.everything import SCHEMA, VALUES


def test_columns_have_types_of_polars(make_lake):
    schema = {
        "x": dl.Scalar("int8", nullable=True), "label": dl.ClassLabel(["b", "a"], nullable=True),
        "block": dl.Array("float32", (2, 3), nullable=True), "t": "text",
        "when": "datetime64[s]", "boxes": dl.Boxes(), "image": dl.Image("png"),
    }  # fmt: skip
    block = np.arange(6, dtype="f4").reshape(2, 3)
    ds = make_lake(
        schema, x=[1, None], label=["a", None], block=[block, None], t=["é", ""],
        when=["2020-01-01", "2021-01-01"], boxes=[np.ones((2, 4)), []],
        image=[np.zeros((2, 2), "u1")] * 2,
    )  # fmt: skip
    frame = ds.to_polars()
    assert frame.columns == list(schema)
    assert frame["label"].dtype == pl.Enum(["b", "a"])
    assert frame["label"].to_list() == ["a", None]
    assert frame["block"].dtype == pl.Array(pl.Array(pl.Float32, 3), 2)
    assert frame["block"].to_list() == [block.tolist(), None]
    assert frame["x"].to_list() == [1, None]
    assert frame["boxes"].to_list() == [[[1.0] * 4] * 2, []]
    assert frame["image"][0] == bytes(ds["image"].encoded()[0])


def test_every_type_is_exported_and_comes_back_with_its_schema(make_lake):
    wrong = []
    for name, htype in SCHEMA.items():
        if resolve(htype).sql == "json":
            continue  # polars has only strings for it, which are JSON values, too
        ds = make_lake({name: htype}, **{name: VALUES[name]})
        try:
            frame = ds.to_polars()
            again = dl.from_dataframe(
                frame, f"memory://{uuid4().hex}", schema=ds.schema, progress=False
            )
        except Exception as error:
            wrong.append(f"{name}: {error!r:.200}")
            continue
        cells = [
            lake.handle.table.digests(lake.schema[name].id, np.arange(len(ds))).tolist()
            for lake in (ds, again)
        ]
        if cells[0] != cells[1]:
            wrong.append(f"{name}: {again[name][:]!r:.200}")
    assert not wrong, "\n".join(wrong)
