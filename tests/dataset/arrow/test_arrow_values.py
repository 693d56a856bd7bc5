"""Arrow, pandas and xarray columns can be written back to the lake that they came from."""

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deeplake_lite as dl


def values_of(ds, name="x"):
    """Return the values of a column from any container, with None for null."""
    return [_plain(value) for value in ds[name][:].tolist()] if _is_array(ds[name][:]) else [
        _plain(value) for value in ds[name][:]
    ]  # fmt: skip


def _is_array(values):
    return isinstance(values, np.ndarray)


def _plain(value):
    if _is_array(value):
        return _plain(value.tolist())
    if isinstance(value, list):
        items = [_plain(item) for item in value]
        return None if items and all(item is None for item in items) else items
    return "nan" if isinstance(value, float) and np.isnan(value) else value


def appended(table, ds):
    ds.append(table)


def appended_by_column(table, ds):
    ds.append({"x": table["x"]})


def updated(table, ds):
    column = ds.schema["x"]
    ds.drop_column("x")
    ds.append({"k": range(len(table))})
    ds.add_column("x", column.htype, values=table["x"])


WAYS = [appended, appended_by_column, updated]


def lake_like(made, new_url):
    """Return an empty lake with the columns of another."""
    columns = {f.name: f.htype for f in made.schema}
    return dl.create(new_url(), {"k": dl.Scalar("int64", default=0), **columns})


# ---- tensors that are stored in a different order


def tensors(stored, order, dtype, nulls=0):
    """Return Arrow tensors, stored in one shape and read in another order, and their array."""
    numbers = np.arange(2 * np.prod(stored)).reshape(2, -1).astype(dtype)
    rows = [*numbers, *([None] * nulls)]
    storage = pa.array(rows, pa.list_(pa.from_numpy_dtype(dtype), numbers.shape[1]))
    kind = pa.fixed_shape_tensor(storage.type.value_type, stored, permutation=order)
    array = numbers.reshape(2, *stored).transpose(0, *(axis + 1 for axis in order))
    return pa.ExtensionArray.from_storage(kind, storage), array


ORDERS = [
    ((3, 3), (0, 1)), ((3, 3), (1, 0)), ((3, 4), (1, 0)), ((2, 3, 4), (2, 0, 1)),
    ((2, 3, 4), (1, 2, 0)), ((3, 3, 3), (2, 1, 0)),
]  # fmt: skip


def test_arrow_reads_tensors_in_the_expected_order():
    for stored, order in ORDERS:
        column, array = tensors(stored, order, "int32")
        if order == tuple(np.argsort(order)):  # pyarrow 26 mixes up strides of any other
            assert np.array_equal(column.to_numpy_ndarray(), array)


@pytest.mark.parametrize(("stored", "order"), ORDERS, ids=str)
@pytest.mark.parametrize("dtype", ["int32", "float64", "uint64"])
@pytest.mark.parametrize("nulls", [0, 1])
def test_tensors_are_read_in_the_order_of_their_axes(
    new_url, tmp_path, stored, order, dtype, nulls
):
    column, array = tensors(stored, order, dtype, nulls)
    table = pa.table({"x": column})
    pq.write_table(table, tmp_path / "a.parquet")
    made = dl.from_dataframe(table, new_url(), progress=False)
    assert made["x"].htype == dl.Array(dtype, array.shape[1:], nullable=bool(nulls))
    lakes = [made, dl.from_parquet(tmp_path / "a.parquet", new_url(), progress=False)]
    for write in WAYS:
        lakes.append(lake_like(made, new_url))
        write(table, lakes[-1])
    chunked = lake_like(made, new_url)
    chunked.append(pa.table({"x": pa.chunked_array([column.slice(0, 1), column.slice(1)])}))
    for ds in (*lakes, chunked):
        assert np.array_equal(np.ma.getdata(ds["x"][:2]), array)
        assert len(ds) == 2 + nulls


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=str)
@pytest.mark.parametrize("fixed", [True, False])
def test_lists_of_tensors_become_sequences(new_url, order, fixed):
    column, array = tensors((3, 4), order, "int32")
    if fixed:
        column = pa.FixedSizeListArray.from_arrays(column, 2)
    else:
        column = pa.ListArray.from_arrays([0, 2], column)
    table = pa.table({"x": column})
    made = dl.from_dataframe(table, new_url(), progress=False)
    again = lake_like(made, new_url)
    again.append(table)
    for ds in (made, again):
        assert np.array_equal(np.array(ds["x"][0]), array)


# ---- Arrow columns


def dictionary(values):
    return pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.int8()), values)


def run_ends(values):
    return pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), values)


LISTS = pa.array([[1], [2, 3]])
COLUMNS = {
    "dictionary of lists": (dictionary(LISTS), dl.Array("int64", (None,), nullable=True), None),
    "dictionary of structs": (
        dictionary(pa.array([{"a": 1}, {"a": 2}])), dl.Json(nullable=True), None,
    ),
    "dictionary of lists of texts": (
        dictionary(pa.array([["a"], []], pa.list_(pa.string()))),
        dl.Sequence(dl.Text(nullable=True), nullable=True), None,
    ),
    "run-end encoded texts": (run_ends(pa.array(["a", "b"])), dl.Text(), None),
    "run-end encoded numbers": (run_ends(pa.array([1.5, 2.5])), dl.Scalar("float64"), None),
    "run-end encoded dictionary": (
        run_ends(pa.array(["a", "b"]).dictionary_encode()), dl.ClassLabel(["a", "b"]), [0, 0, 1],
    ),
    "run-end encoded lists": (run_ends(LISTS), dl.Array("int64", (None,)), None),
    "a part of run ends": (run_ends(pa.array(["a", "b"])).slice(1), dl.Text(), None),
    "chunks of run ends": (
        pa.chunked_array([run_ends(pa.array(["a", "b"])), run_ends(pa.array(["c", "d"]))]),
        dl.Text(), None,
    ),
    "chunks of dictionaries": (
        pa.chunked_array([dictionary(LISTS), dictionary(LISTS.slice(0, 2))]),
        dl.Array("int64", (None,), nullable=True), None,
    ),
    "bool8": (
        pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 5, None], pa.int8())),
        dl.Scalar("bool", nullable=True), [False, True, None],
    ),
    "uuids": (
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16], pa.binary(16))),
        dl.Bytes(), [b"0" * 16],
    ),
    "decimals": (
        pa.array([Decimal("1.5"), None]), dl.Scalar("float64", nullable=True), [1.5, None],
    ),
    "times of day": (
        pa.array([dt.time(1), None]), dl.Scalar("timedelta64[us]", nullable=True),
        [dt.timedelta(hours=1), None],
    ),
    "lists of floats with nulls": (
        pa.array([[1.0, None], None]), dl.Array("float64", (None,), nullable=True),
        [[1.0, "nan"], None],
    ),
    "large numbers in lists": (
        pa.array([[[2**64 - 1, 0]], None], pa.list_(pa.list_(pa.uint64(), 2))),
        dl.Sequence(dl.Array("uint64", (2,), nullable=True), nullable=True), None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("write", WAYS)
def test_arrow_column_is_read_the_same_on_creation_and_on_append(new_url, name, write):
    column, htype, expected = COLUMNS[name]
    table = pa.table({"x": column})
    made = dl.from_dataframe(table, new_url(), progress=False)
    assert made["x"].htype == htype
    assert values_of(made) == (column.to_pylist() if expected is None else expected)
    again = lake_like(made, new_url)
    write(table, again)
    assert values_of(again) == values_of(made)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("chunks", [0, 1])
def test_empty_arrow_column_is_read_the_same_on_creation_and_on_append(new_url, name, chunks):
    column, htype, _ = COLUMNS[name]
    empty = pa.chunked_array([pa.nulls(0, column.type)] * chunks, column.type)
    made = dl.from_dataframe(pa.table({"x": empty}), new_url(), progress=False)
    is_class = isinstance(htype, dl.ClassLabel)
    assert made["x"].htype == (dl.ClassLabel() if is_class else replace(htype, nullable=False))
    made.append(pa.table({"x": empty}))
    assert len(made) == 0


@pytest.mark.parametrize("nullable", [True, False])
def test_largest_numbers_in_arrays_round_trip_through_arrow(make_lake, nullable):
    largest = np.array([[2**64 - 1, 0], [1, 2]], "uint64")
    schema = {"x": dl.Array("uint64", (2, 2), nullable=nullable)}
    ds = make_lake(schema, x=[largest, *([None] if nullable else [])])
    again = make_lake(schema)
    again.append(ds.to_arrow())
    assert again["x"][0].tolist() == largest.tolist()
    assert len(again) == len(ds)


# ---- pandas columns

OBJECTS = {
    "decimals": [Decimal("1.5"), None],
    "whole decimals": [Decimal(2), None],
    "times of day": [dt.time(1, 2, 3), None],
    "lists with nan": [[1.0, float("nan")], None],
    "texts": ["a", None],
    "bytes": [b"a", None],
    "days": [dt.date(2020, 1, 1), None],
    "truth": [True, None],
    "paths": [Path("a/b"), Path("c")],
    "dicts": [{"a": 1}, None],
}
SERIES = {
    **{name: pd.Series(values, dtype=object) for name, values in OBJECTS.items()},
    "categories": pd.Series(["b", "a", None], dtype="category"),
    "categories of numbers": pd.Series([3, 1, None], dtype="category"),
    "whole numbers": pd.Series([2**53 + 1, None], dtype="Int64"),
    "floats with nulls": pd.Series(
        pd.arrays.FloatingArray(np.array([1.0, np.nan, 0]), np.array([False, False, True]))
    ),
    "zones": pd.Series(pd.to_datetime(["2020-01-01", None])).dt.tz_localize("Europe/Paris"),
    "spans": pd.Series(pd.to_timedelta([1, None], unit="s")),
    "decimals of Arrow": pd.Series([Decimal("1.5")], dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
    "times of Arrow": pd.Series([dt.time(1), None], dtype=pd.ArrowDtype(pa.time64("ns"))),
    "lists of Arrow": pd.Series([[1, None], None], dtype=pd.ArrowDtype(pa.list_(pa.float32()))),
    "sparse": pd.Series(pd.arrays.SparseArray([np.nan, 1.0])),
    "sparse numbers": pd.Series(pd.arrays.SparseArray([0, 0, 5])),
}


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("write", WAYS)
def test_frame_can_be_appended_to_the_lake_made_from_it(new_url, name, write):
    frame = pd.DataFrame({"x": SERIES[name]})
    made = dl.from_dataframe(frame, new_url(), progress=False)
    again = lake_like(made, new_url)
    write(frame, again)
    assert values_of(again) == values_of(made)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
@pytest.mark.parametrize("sparse", [True, False])
def test_nan_is_stored_in_floats_of_any_layout_without_changing_the_dtype(
    new_url, order, kind, sparse
):
    array = np.array([1.5, np.nan], f"{order}{kind}")
    column = pd.arrays.SparseArray(array) if sparse else array
    ds = dl.from_dataframe(pd.DataFrame({"x": column}), new_url(), progress=False)
    assert ds["x"].htype == dl.Scalar(np.dtype(kind).name)
    assert np.isnan(ds["x"][1])


@pytest.mark.parametrize("dtype", ["i2", "i4", "i8", "u2", "u4", "u8", "c8", "M8[s]", "m8[ms]"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_numbers_of_a_frame_keep_dtype_and_value_in_any_byte_order(new_url, dtype, order):
    largest = 2**63 + 1 if dtype == "u8" else 100
    array = np.array([largest, 1], dtype).astype(f"{order}{dtype}")
    ds = dl.from_dataframe(pd.DataFrame({"x": array}), new_url(), progress=False)
    assert ds["x"].htype == dl.Scalar(np.dtype(dtype).name)
    assert np.array_equal(ds["x"][:], array)


def test_floats_that_no_column_can_hold_are_refused_instead_of_rounded(new_url):
    third = 1 / np.longdouble(3)
    with pytest.raises(dl.SchemaError, match="dtype must be one of"):
        dl.from_dataframe(pd.DataFrame({"x": np.array([third])}), new_url())


@pytest.mark.parametrize(
    ("names", "column"),
    [(["i", "i"], "x"), (["i", None], "level_1"), (["i", "x"], "x"), ([None, "level_0"], "x")],
)
def test_duplicate_column_or_level_names_are_refused(new_url, names, column):
    index = pd.MultiIndex.from_tuples([(1, 2), (3, 4)], names=names)
    with pytest.raises(dl.InvalidValueError, match="Column names must be unique"):
        dl.from_dataframe(pd.DataFrame({column: [1, 2]}, index=index), new_url())


@pytest.mark.parametrize(
    "name", [0, 1.0, False, np.bool_(False), np.int64(0), "k", dt.date(1, 1, 1)]
)
def test_index_with_any_name_becomes_a_column(new_url, name):
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index([5, 6], name=name))
    ds = dl.from_dataframe(frame, new_url(), on=str(name), progress=False)
    assert ds.columns == (str(name), "a")
    assert ds[str(name)][:].tolist() == [5, 6]


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        ([0, None], ("0", "level_1", "a")),
        ([None, 0], ("level_0", "0", "a")),
        ([0, 1], ("0", "1", "a")),
        ([None, None], ("a",)),
    ],
)
def test_index_levels_become_columns_if_any_has_a_name(new_url, names, columns):
    index = pd.MultiIndex.from_tuples([(1, 2), (3, 4)], names=names)
    frame = pd.DataFrame({"a": [1, 2]}, index=index)
    assert dl.from_dataframe(frame, new_url(), progress=False).columns == columns


@pytest.mark.parametrize(
    ("name", "column", "message"),
    [
        ("", "a", "name must be a non-empty string"),
        (0, "0", "a column and the index are named '0'"),
        ("0", 0, "a column and the index are named '0'"),
    ],
)
def test_index_with_an_invalid_column_name_is_refused(new_url, name, column, message):
    frame = pd.DataFrame({column: [1]}, index=pd.Index([5], name=name))
    with pytest.raises(dl.LakeError, match=message):
        dl.from_dataframe(frame, new_url())


def test_paths_become_strings(new_url):
    ds = dl.from_arrays({"x": [Path("a") / "b", "c"]}, new_url(), progress=False)
    ds.append({"x": [Path("d")]})
    assert ds["x"][:] == ["a/b", "c", "d"]


# ---- xarray without rows

EMPTY = {
    "int8": dl.Scalar("int8", nullable=True),
    "bool": dl.Scalar("bool", nullable=True),
    "float32": dl.Scalar("float32", nullable=True),
    "moments": dl.Scalar("datetime64[s]", nullable=True),
    "classes": dl.ClassLabel(["a"], nullable=True),
    "arrays": dl.Array("int16", (2, 3), nullable=True),
    "embeddings": dl.Embedding(2, nullable=True),
    "no nulls": dl.Scalar("int8"),
}


@pytest.mark.parametrize("htype", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize("view", [True, False])
def test_empty_xarray_variable_round_trips(make_lake, new_url, htype, view):
    ds = make_lake({"x": htype})
    if view:
        dtype = getattr(htype, "dtype", htype.layout.dtype)
        ds.append({"x": np.zeros((1, *htype.layout.shape), dtype)})
        ds.commit("a row")
    none = ds[0:0].to_xarray() if view else ds.to_xarray()
    made = dl.from_arrays({"x": none["x"]}, new_url(), progress=False)
    ds.append({"x": none["x"]})
    assert (len(made), len(ds)) == (0, int(view))
