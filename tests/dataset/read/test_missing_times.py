"""NaT in arrays of times and durations is exported as a null item and imported as NaT."""

from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deeplake_lite as dl

DTYPES = [f"datetime64[{unit}]" for unit in ("Y", "M", "D", "h", "s", "ms", "us", "ns")]
DTYPES += [f"timedelta64[{unit}]" for unit in ("D", "h", "s", "ms", "us", "ns")]
"""Without durations of months and years, which are exported as integers."""

SHAPES = {
    "any length": ((None,), [[1, None], [], [None]]),
    "fixed": ((2,), [[1, None], [None, None], [2, 3]]),
    "fixed axes": ((2, 2), [[[1, None], [2, 3]], [[None, None], [0, 1]]]),
    "one axis of any length": ((None, 2), [[[1, None]], []]),
    "axes of any length": ((None, None), [[[1, None]], [[2], [None]]]),
    "any": (None, [[[1, None]], [None]]),
}


def new_url():
    return f"memory://{uuid4().hex}"


def lake(dtype, shape, rows):
    values = [np.array(row, object) for row in rows]
    values = [np.where(v == None, "NaT", v).astype(dtype) for v in values]  # noqa: E711
    width = (0, 2) if shape == (None, 2) else (0,)
    ds = dl.create(new_url(), {"x": dl.Array(dtype, shape)})
    ds.append({"x": [v if v.size else v.reshape(width) for v in values]})
    ds.commit("times")
    return ds


def leaves(value):
    """Return the items of nested lists as one flat list."""
    return [v for item in value for v in leaves(item)] if isinstance(value, list) else [value]


def are_null(column):
    """Return which numbers of a column are null, in lists of any depth and in tensors."""
    if pa.types.is_struct(column.type):
        column = column.field("data")
    while pa.types.is_nested(column.type):
        column = column.flatten()
    return column.is_null().to_pylist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SHAPES)
def test_missing_times_are_exported_as_nulls_and_round_trip(tmp_path, dtype, name):
    shape, rows = SHAPES[name]
    ds = lake(dtype, shape, rows)
    table = ds.to_arrow()
    expected = [leaf is None for leaf in leaves(rows)]
    pq.write_table(table, tmp_path / "a.parquet")
    for result in (table, pq.read_table(tmp_path / "a.parquet"), ds.query("SELECT x").to_arrow()):
        assert are_null(result.column("x").combine_chunks()) == expected
    other = dl.create(new_url(), ds.schema)
    other.append(table)
    other.commit("again")
    for again in (
        other,
        dl.from_dataframe(table, new_url()),
        dl.from_parquet(tmp_path / "a.parquet", new_url()),
    ):
        assert again["x"].htype == ds["x"].htype
        for a, b in zip(again["x"][:], ds["x"][:], strict=True):
            assert np.array_equal(a.view("int64"), b.view("int64"))


KINDS = {
    pa.timestamp("us"): "datetime64[us]",
    pa.timestamp("ns", "UTC"): "datetime64[ns]",
    pa.date32(): "datetime64[D]",
    pa.date64(): "datetime64[ms]",
    pa.duration("s"): "timedelta64[s]",
    pa.time64("us"): "timedelta64[us]",
}
LISTS = {
    "any length": lambda times: pa.ListArray.from_arrays([0, 2], times),
    "large": lambda times: pa.LargeListArray.from_arrays([0, 2], times),
    "fixed": lambda times: pa.FixedSizeListArray.from_arrays(times, 2),
    "dictionary": lambda times: pa.DictionaryArray.from_arrays([0], LISTS["any length"](times)),
    "fixed within any": lambda times: pa.ListArray.from_arrays([0, 1], LISTS["fixed"](times)),
    "fixed within fixed": lambda times: pa.FixedSizeListArray.from_arrays(LISTS["fixed"](times), 1),
}


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("form", LISTS)
@pytest.mark.parametrize("row", [[1, None], [None, None]], ids=str)
def test_null_in_a_foreign_list_of_times_is_refused(kind, form, row):
    numbers = [v and 86_400_000 if kind == pa.date64() else v for v in row]  # whole days
    width = pa.int32() if kind == pa.date32() else pa.int64()
    column = LISTS[form](pa.array(numbers, width).cast(kind))
    shape = (None, 2) if "within" in form else (None,)
    ds = dl.create(new_url(), {"k": "int64", "x": dl.Array(KINDS[kind], shape, nullable=True)})
    ds.append({"k": [0], "x": [None]})
    writes = (
        lambda: dl.from_arrays({"x": column}, new_url(), progress=False),
        lambda: dl.from_dataframe(pa.table({"x": column}), new_url(), progress=False),
        lambda: ds.append({"k": [1], "x": column}),
        lambda: ds.append(pa.table({"k": [1], "x": column})),
        lambda: ds["x"].__setitem__(slice(0, 1), column),
    )
    for write in writes:
        with pytest.raises(dl.InvalidValueError, match="To store lists with nulls, declare"):
            write()
    assert ds["x"][:] == [None]


def test_null_in_a_foreign_tensor_of_times_is_refused():
    tensor = {"data": pa.array([1, None], pa.timestamp("s")), "shape": pa.array([1, 2])}
    parts = [pa.ListArray.from_arrays([0, 2], part) for part in tensor.values()]
    ds = dl.create(new_url(), {"x": dl.Array("datetime64[s]", (None, None))})
    with pytest.raises(dl.InvalidValueError, match="To store lists with nulls, declare"):
        ds.append({"x": pa.StructArray.from_arrays(parts, list(tensor))})


@pytest.mark.parametrize("dtype", DTYPES)
def test_missing_times_in_sequences_round_trip(dtype):
    item = dl.Array(dtype, (2,))
    ds = dl.create(new_url(), {"x": dl.Sequence(item)})
    ds.append({"x": [[np.array([1, "NaT"], dtype), np.array(["NaT", 2], dtype)], []]})
    again = dl.create(new_url(), ds.schema)
    again.append(ds.to_arrow())
    assert np.array_equal(np.isnat(again["x"][0]), [[False, True], [True, False]])
