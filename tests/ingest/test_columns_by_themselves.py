"""Arrow and pandas columns are read the same way alone, in a frame and when appended."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deeplake_lite as dl

PIXELS = pa.array([[1, 2, 3, 4, 5, 6]], pa.list_(pa.int32(), 6))
ARRAYS: dict[str, pa.Array | pa.ChunkedArray] = {
    "tensors": pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int32(), (2, 3)), PIXELS),
    "permuted tensors": pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.int32(), (2, 3), permutation=[1, 0]), PIXELS
    ),
    "lists of uint64 with null": pa.array([[1, None], [2**64 - 1]], pa.list_(pa.uint64())),
    "dictionary": pa.array(["b", "a", None]).dictionary_encode(),
    "dictionary of integers": pa.array([1, 2]).dictionary_encode(),
    "dictionary, a class twice": pa.DictionaryArray.from_arrays([0, 1, 2], ["a", "a", "b"]),
    "dictionary, a class empty": pa.array(["", "b"]).dictionary_encode(),
    "dictionary, a class null": pa.DictionaryArray.from_arrays([0, 1], ["a", None]),
    "whole decimals": pa.array([1, None], pa.decimal128(5, 0)),
    "decimals": pa.array(["1.5", None]).cast(pa.decimal128(5, 2)),
    "lists of decimals": pa.array([[1], None], pa.list_(pa.decimal32(3, 0))),
    "lists of decimals with null": pa.array([[1, None], [2]], pa.list_(pa.decimal128(5, 0))),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int8())),
    "struct": pa.array([{"a": 1}, None]),
    "lists of texts": pa.array([["a"], None], pa.list_(pa.string_view())),
    "run ends": pa.RunEndEncodedArray.from_arrays(
        pa.array([2, 3], pa.int32()), pa.array(["a", "b"]).dictionary_encode()
    ),
    "chunks": pa.chunked_array([["a", "b"], ["c"]]),
    "chunks with null": pa.chunked_array([[1, None], [2**62 + 1]]),
    "integers with null": pa.array([2**53 + 1, None]),
    "booleans": pa.array([True, None]),
    "floats": pa.array([1.5, None, float("nan")]),
    "halves": pa.array(np.array([1, 2], "f2")),
    "nothing": pa.nulls(2),
    "bytes": pa.array([b"a", None]),
    "lists of a length": pa.array([[1, 2], None], pa.list_(pa.int16(), 2)),
    "lists of lists": pa.array([[[1], [2, 3]], None]),
    **{
        str(kind): pa.array([1, None], kind)
        for kind in (
            pa.time32("s"), pa.time64("ns"), pa.date32(), pa.date64(), pa.timestamp("ns", "UTC"),
            pa.timestamp("s"), pa.duration("ms"),
        )
    },
}  # fmt: skip
SERIES: dict[str, pd.Series[Any]] = {
    "integers": pd.Series([1, 2]),
    "integers with null": pd.Series([2**53 + 1, None], dtype="Int64"),
    "categories": pd.Series(["b", "a", None], dtype="category"),
    "texts": pd.Series(["a", None]),
    "moments": pd.Series(pd.to_datetime(["2026-01-01", None])),
    "of Arrow": pd.Series([1, None], dtype="int8[pyarrow]"),
    "arrays": pd.Series([np.ones(2), np.zeros(3)]),
    "periods": pd.Series(pd.period_range("2026", "2027", freq="Y")),
    "booleans": pd.Series([True, None], dtype="boolean"),
    "intervals": pd.Series(pd.interval_range(0, 2)),
    "sparse": pd.Series(pd.arrays.SparseArray([0, 1, 0])),
    "another index": pd.Series([1.5, 2.5], index=[7, 3]),
}


def outcome(read: Any) -> tuple[str, Any]:
    """Return the type and values of a column ``x`` after reading it, or the error."""
    try:
        ds = read()
    except dl.errors.LakeError as error:
        return type(error).__name__, str(error).replace("DataFrame", "arrays")
    return str(ds.schema["x"].htype), str(ds.to_arrow()["x"].to_pylist())


def into(name: str) -> dict[str, Any]:
    """Return the options to ingest into a new lake."""
    return {"url": f"memory://{name}-{uuid4().hex}", "progress": False}


def appended(htype: Any, column: Any) -> dl.Dataset:
    ds = dl.create("memory://alone-c", {"x": htype}, overwrite=True)
    ds.append({"x": column})
    return ds


@pytest.mark.parametrize("name", ARRAYS)
def test_arrow_column_is_read_the_same_alone_in_a_frame_and_appended(name: str) -> None:
    column = ARRAYS[name]
    there = into("a")
    alone = outcome(lambda: dl.from_arrays({"x": column}, **there))
    assert alone == outcome(lambda: dl.from_dataframe(pa.table({"x": column}), **into("b")))
    if not alone[0].endswith("Error"):
        htype = dl.open(there["url"]).schema["x"].htype
        assert alone == outcome(lambda: appended(htype, column))


@pytest.mark.parametrize("name", SERIES)
def test_pandas_column_is_read_the_same_alone_in_a_frame_and_appended(name: str) -> None:
    column = SERIES[name]
    there = into("a")
    alone = outcome(lambda: dl.from_arrays({"x": column}, **there))
    assert alone == outcome(lambda: dl.from_dataframe(pd.DataFrame({"x": column}), **into("b")))
    if not alone[0].endswith("Error"):
        htype = dl.open(there["url"]).schema["x"].htype
        assert alone == outcome(lambda: appended(htype, column))


def test_exported_column_round_trips() -> None:
    ds = dl.create("memory://alone-d", {"x": dl.Array("int32", (2, 3))}, overwrite=True)
    ds.append({"x": np.arange(12).reshape(2, 2, 3)})
    back = dl.from_arrays({"x": ds.to_arrow()["x"]}, **into("e"))
    assert back.schema["x"].htype == ds.schema["x"].htype
    assert np.array_equal(back["x"][:], ds["x"][:])
