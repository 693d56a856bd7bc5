"""Exports that record the types of a lake record its metadata, too, whatever JSON it is."""

from __future__ import annotations

from uuid import uuid4

import pytest

import deeplake_lite as dl

METADATA = {"license": "CC0", "numbers": [1, 2.5, None], "nested": {"a": {"b": True}}}
LOSING = {"huggingface", "parquet"}
"""Exports that leave out the metadata of columns."""

SUFFIXES = {"numpy": ".npz", "torch": ".pt"}


@pytest.mark.parametrize(
    "name",
    ["arrayrecord", "huggingface", "litdata", "mds", "numpy", "parquet", "tfrecord", "torch",
     "webdataset"],
)  # fmt: skip
def test_metadata_survives_the_round_trip(name, make_lake, tmp_path):
    ds = make_lake({"a": "int32", "t": "text"}, a=[1, 2], t=["x", "y"])
    ds.metadata.update(METADATA)
    if name not in LOSING:
        ds["a"].metadata.update(METADATA)
    ds.commit("metadata")
    path = tmp_path / f"exported{SUFFIXES.get(name, '')}"
    export = getattr(ds, f"to_{name}")
    exported = export() if name == "huggingface" else (export(path), path)[1]
    ingest = getattr(dl, f"from_{name}")
    again = ingest(exported, f"memory://{uuid4().hex}", progress=False)
    assert dict(again.metadata) == METADATA
    assert dict(again["a"].metadata) == ({} if name in LOSING else METADATA)
    assert dict(again["t"].metadata) == {}
