"""Arrays, DataFrames, Parquet and CSV: types, nulls, keys and batches."""

import datetime as dt
import gzip
import re
from decimal import Decimal
from importlib import import_module

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deeplake_lite as dl
from deeplake_lite.ingest.tables import csv_file

WHEN = dt.datetime(2026, 1, 2, 3, 4, 5)

CASES = {
    "int8": (pa.array([1, -2], pa.int8()), dl.Scalar("int8"), [1, -2]),
    "uint64": (pa.array([2**64 - 1, 0], pa.uint64()), dl.Scalar("uint64"), [2**64 - 1, 0]),
    "big nullable": (
        pa.array([2**53 + 1, None]),
        dl.Scalar("int64", nullable=True),
        [2**53 + 1, None],
    ),
    "float16": (pa.array(np.array([1, 2], "float16")), dl.Scalar("float16"), [1, 2]),
    "bool": (pa.array([True, None]), dl.Scalar("bool", nullable=True), [True, None]),
    "text": (pa.array(["rose", ""]), dl.Text(), ["rose", ""]),
    "large text": (pa.array(["é", None], pa.large_string()), dl.Text(nullable=True), ["é", None]),
    "bytes": (pa.array([b"a", b""]), dl.Bytes(), [b"a", b""]),
    "date": (
        pa.array([WHEN.date(), None]),
        dl.Scalar("datetime64[D]", nullable=True),
        [np.datetime64("2026-01-02"), None],
    ),
    "zone": (
        pa.array([WHEN, WHEN], pa.timestamp("us", tz="Europe/Paris")),
        dl.Scalar("datetime64[us]"),
        [np.datetime64(WHEN)] * 2,
    ),
    "duration": (
        pa.array([dt.timedelta(seconds=2)] * 2),
        dl.Scalar("timedelta64[us]"),
        [np.timedelta64(2, "s")] * 2,
    ),
    "time": (
        pa.array([dt.time(0, 0, 2), None], pa.time64("us")),
        dl.Scalar("timedelta64[us]", nullable=True),
        [np.timedelta64(2, "s"), None],
    ),
    "decimal": (pa.array([Decimal("1.50"), Decimal(2)]), dl.Scalar("float64"), [1.5, 2]),
    "whole decimal": (
        pa.array([Decimal(2**53 + 1), None], pa.decimal128(20, 0)),
        dl.Scalar("int64", nullable=True),
        [2**53 + 1, None],
    ),
    "lists of whole decimals": (
        pa.array([[Decimal(2**53 + 1)], []], pa.list_(pa.decimal128(20, 0))),
        dl.Array("int64", (None,)),
        [[2**53 + 1], []],
    ),
    "fixed lists of whole decimals": (
        pa.array([[Decimal(2**53 + 1)]] * 2, pa.list_(pa.decimal128(20, 0), 1)),
        dl.Array("int64", (1,)),
        [[2**53 + 1]] * 2,
    ),
    "dictionary": (
        pa.array(["b", "a"]).dictionary_encode(),
        dl.ClassLabel(["b", "a"]),
        [0, 1],
    ),
    "numbers by dictionary": (
        pa.array([5, 7]).dictionary_encode(),
        dl.Scalar("int64"),
        [5, 7],
    ),
    "fixed": (
        pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2)),
        dl.Array("float32", (2,)),
        [[1, 2], [3, 4]],
    ),
    "fixed in fixed": (
        pa.array([[[1, 2]], [[3, 4]]], pa.list_(pa.list_(pa.int16(), 2), 1)),
        dl.Array("int16", (1, 2)),
        [[[1, 2]], [[3, 4]]],
    ),
    "ragged": (pa.array([[1, 2], []]), dl.Array("int64", (None,)), [[1, 2], []]),
    "texts": (
        pa.array([["a", None], []]),
        dl.Sequence(dl.Text(nullable=True)),
        [["a", None], []],
    ),
    "struct": (pa.array([{"a": 1, "b": ["x"]}] * 2), dl.Json(), [{"a": 1, "b": ["x"]}] * 2),
    "map": (
        pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
        dl.Json(),
        [{"a": 1}, {}],
    ),
    "null": (pa.nulls(2), dl.Text(nullable=True), [None, None]),
}


def values_in(ds):
    """Return the values of column x, one by one."""
    values = [ds[i]["x"] for i in range(len(ds))]
    return [v.tolist() if isinstance(v, np.ndarray) else v for v in values]


@pytest.mark.parametrize("name", CASES)
def test_parquet_types_are_mapped_to_lake_types(tmp_path, name):
    array, htype, values = CASES[name]
    pq.write_table(pa.table({"x": array}), tmp_path / "a.parquet")
    ds = dl.from_parquet(tmp_path / "a.parquet", str(tmp_path / "a.lake"))
    there = ds["x"].htype
    nested = pa.types.is_nested(array.type)  # whose statistics do not count nulls
    assert there == htype or nested
    assert values_in(ds) == values


@pytest.mark.parametrize("name", CASES)
def test_arrow_types_are_mapped_to_lake_types(tmp_path, name):
    array, htype, values = CASES[name]
    ds = dl.from_dataframe(pa.table({"x": array}), str(tmp_path / "a.lake"))
    assert ds["x"].htype == htype
    assert values_in(ds) == values


def test_files_matching_a_pattern_are_read_in_order_and_in_batches(tmp_path, url):
    for i in (2, 0, 1):
        table = pa.table({"x": np.arange(10_000) + 10_000 * i})
        pq.write_table(table, tmp_path / f"{i}.parquet")
    ds = dl.from_parquet(tmp_path / "*.parquet", url)
    assert np.array_equal(ds["x"][:], np.arange(30_000))
    assert dl.from_parquet(tmp_path, url + "2", columns=["x"]).ingested.added == 30_000


def test_rows_with_a_key_are_updated_and_rows_without_are_appended(tmp_path, url):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"k": ["a", "b"], "x": [1, 2]}), path)
    dl.from_parquet(path, url, on="k")
    pq.write_table(pa.table({"k": ["b", "c"], "x": [20, 3]}), path)
    ds = dl.from_parquet(path, url, on="k")
    assert ds["x"][:].tolist() == [1, 20, 3]
    assert (ds.ingested.added, ds.ingested.changed) == (1, 1)
    pq.write_table(pa.table({"k": ["b", "c"], "x": [0, 0]}), path)
    assert len(dl.from_parquet(path, url)) == 5


def test_duplicate_key_is_refused_or_skipped(url):
    rows = {"k": ["a", "b", "a"], "x": [1, 2, 3]}
    with pytest.raises(dl.InvalidValueError, match=r"row 2: a key .* occurs twice in column 'k'"):
        dl.from_arrays(rows, url, on="k")
    ds = dl.from_arrays(rows, url, on="k", on_error="skip", progress=False)
    assert ds["x"][:].tolist() == [1, 2]
    assert [s.path for s in ds.ingested.skipped] == ["arrays, row 2"]


def test_duplicate_key_in_different_blocks_is_the_same_row(url, monkeypatch):
    monkeypatch.setattr(import_module("deeplake_lite.ingest.tables.arrays"), "BLOCK_ROWS", 2)
    with pytest.raises(dl.InvalidValueError, match="occurs twice"):
        dl.from_arrays({"k": [1, 2, 1], "x": [1, 2, 3]}, url, on="k")


def test_null_key_is_refused(url):
    with pytest.raises(dl.InvalidValueError, match="must not be null"):
        dl.from_arrays({"k": ["a", None]}, url, on="k")


def test_lake_with_duplicate_keys_is_reported(url):
    dl.from_arrays({"k": ["a", "a"]}, url)
    with pytest.raises(dl.InvalidValueError, match="rows with the same key"):
        dl.from_arrays({"k": ["b"]}, url, on="k")


def test_types_of_arrays_and_lists_are_inferred(url):
    ds = dl.from_arrays(
        {
            "pixels": np.zeros((2, 4, 5), "uint8"),
            "masked": np.ma.masked_array([1, 2], [False, True]),
            "boxes": [np.zeros((2, 4), "float32"), np.zeros((0, 4), "float32")],
            "tags": [["a"], ["b", "c"]],
            "counts": [[1, 2], [3]],
            "note": ["x", None],
            "when": [WHEN, WHEN],
            "mixed": [1, 2.5],
            "extra": [{"a": 1}, {}],
            "names": np.array(["u", "v"]),
        },
        url,
    )
    assert {f.name: f.htype for f in ds.schema} == {
        "pixels": dl.Array("uint8", (4, 5)),
        "masked": dl.Scalar("int64", nullable=True),
        "boxes": dl.Array("float32", (None, 4)),
        "tags": dl.Sequence("text"),
        "counts": dl.Array("int64", (None,)),
        "note": dl.Text(nullable=True),
        "when": dl.Scalar("datetime64[us]"),
        "mixed": dl.Scalar("float64"),
        "extra": dl.Json(),
        "names": dl.Text(),
    }


def test_types_can_be_given_and_classes_inferred(url):
    ds = dl.from_arrays(
        {"image": [np.zeros((4, 5, 3), "uint8")] * 3, "label": ["b", "a", None]},
        url,
        schema={"image": dl.Image("png"), "label": "class_label"},
    )
    assert ds["image"].htype == dl.Image("png")
    assert ds["label"].htype == dl.ClassLabel(["a", "b"], nullable=True)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": [1, 2], "b": [1]}, "same length, but their lengths are 'a': 2, 'b': 1"),
        ({"a": 5}, "column 'a': must be an array or a list"),
        ({"a": "text"}, "must be an array or a list"),
        ({"a": [1, "x"]}, "no column type can store int, str"),
        ([1, 2], "must be a dict"),
    ],
)
def test_arrays_that_are_not_columns_are_refused(url, arrays, message):
    with pytest.raises(dl.LakeError, match=message):
        dl.from_arrays(arrays, url)
    assert not dl.exists(url)


def test_dataframe_keeps_categories_arrays_and_a_named_index(url):
    df = pd.DataFrame(
        {
            "kind": pd.Categorical(["b", "a", None], categories=["b", "a", "c"]),
            "vector": [np.zeros((2, 2)), np.ones((1, 2)), np.ones((0, 2))],
            "number": pd.array([1, None, 3], dtype="Int64"),
            "value": [1.0, np.nan, 3.0],
            "note": ["x", None, "z"],
            "when": pd.to_datetime(["2026-01-02", None, "2026-01-04"]),
        },
        index=pd.Index(["p", "q", "r"], name="name"),
    )
    ds = dl.from_dataframe(df, url, on="name")
    assert ds.columns == ("name", "kind", "vector", "number", "value", "note", "when")
    assert ds["kind"].names == ("b", "a", "c")
    assert ds["kind"][:].tolist() == [0, 1, None]
    assert ds["vector"].htype == dl.Array("float64", (None, 2))
    assert ds["number"][:].tolist() == [1, None, 3]
    assert np.isnan(ds["value"][1])
    assert ds["note"][:] == ["x", None, "z"]
    assert ds["when"].htype.nullable


def test_dataframe_of_paths_becomes_images(photos, url):
    folder = photos("1.png", "2.png")
    df = pd.DataFrame({"image": [str(folder / "1.png"), str(folder / "2.png")]})
    ds = dl.from_dataframe(df, url, schema={"image": dl.Image("png")})
    assert ds["image"][1].shape == (8, 9, 3)


def test_hugging_face_images_are_read_from_structs(photos, tmp_path, url):
    data = (photos("1.png") / "1.png").read_bytes()
    rows = pa.table({"image": pa.array([{"bytes": data, "path": "1.png"}])})
    pq.write_table(rows, tmp_path / "a.parquet")
    ds = dl.from_parquet(tmp_path / "a.parquet", url, schema={"image": dl.Image("png")})
    assert bytes(ds["image"].encoded()[0]) == data


def test_object_that_is_not_a_dataframe_is_refused(url):
    with pytest.raises(dl.InvalidValueError, match=r"must be a DataFrame .* its type is dict"):
        dl.from_dataframe({"a": [1]}, url)
    with pytest.raises(dl.InvalidValueError, match=r"must be a DataFrame .* its type is Series"):
        dl.from_dataframe(pd.Series([1, 2]), url)
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(dl.InvalidValueError, match="'a' occurs twice"):
        dl.from_dataframe(twice, url)


def test_csv_types_are_inferred_from_all_rows(tmp_path, url):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"id,x,t,when\n1,1,,2026-01-02\n2,,b,\n3,2.5,c,2026-01-03\n"))
    ds = dl.from_csv(path, url, on="id")
    assert {f.name: f.htype for f in ds.schema} == {
        "id": dl.Scalar("int64"),
        "x": dl.Scalar("float64", nullable=True),
        "t": dl.Text(),
        "when": dl.Scalar("datetime64[D]", nullable=True),
    }
    assert ds["t"][:] == ["", "b", "c"]


def test_empty_string_is_not_a_class(tmp_path, url):
    path = tmp_path / "a.csv"
    path.write_text("id,kind\n1,rose\n2,\n3,lily\n")
    ds = dl.from_csv(path, url, schema={"kind": "class_label"})
    assert ds["kind"].htype == dl.ClassLabel(["lily", "rose"], nullable=True)
    assert ds["kind"][:].tolist() == [1, None, 0]


def test_large_csv_is_read_block_by_block(tmp_path, url, monkeypatch):
    monkeypatch.setattr(csv_file, "AT_ONCE", 0)
    monkeypatch.setattr(csv_file, "BLOCK_BYTES", 2_000)
    path = tmp_path / "a.csv"
    lines = [f"{i},name {i}" for i in range(1_000)]
    path.write_text("\n".join(["id,name", *lines]) + "\n")
    assert dl.from_csv(path, url)["id"][:].tolist() == list(range(1_000))
    path.write_text("\n".join(["id,name", *lines, "oops,last"]) + "\n")
    with pytest.raises(dl.InvalidValueError, match="Declare the column's type: schema="):
        dl.from_csv(path, url + "2")
    given = dl.from_csv(path, url + "2", schema={"id": "text"})
    assert given["id"][1_000] == "oops"


@pytest.mark.parametrize(
    ("text", "message"),
    [("a,b\n1,2\n3\n", "cannot be read"), ("", "cannot be read"), ("a,,c\n1,2,3\n", "has no name")],
)
def test_invalid_csv_is_refused(tmp_path, url, text, message):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(dl.InvalidValueError, match=message):
        dl.from_csv(path, url)
    assert not dl.exists(url)


def test_null_in_a_list_is_nan_or_refused_and_never_zero(url):
    table = pa.table({"f": pa.array([[1.5, None], [2.0]])})
    ds = dl.from_dataframe(table, url)
    assert np.array_equal(ds["f"][0], [1.5, np.nan], equal_nan=True)
    with pytest.raises(dl.InvalidValueError, match=r"column 'd': .*row 0: must be a time"):
        dl.from_dataframe(pa.table({"d": [[WHEN, None], []]}), url + "1")  # without NaT for null
    whole = pa.table({"x": pa.array([[1], [1, None]])})
    with pytest.raises(
        dl.InvalidValueError, match=r"column 'x': .*row 1: must be int64, but it is None.*Sequence"
    ):
        dl.from_dataframe(whole, url + "2")
    schema = {"x": dl.Sequence(dl.Scalar("int64", nullable=True))}
    assert dl.from_dataframe(whole, url + "2", schema=schema)["x"][1][1] is None


def test_csv_that_is_not_utf_8_is_refused(tmp_path, url):
    (tmp_path / "a.csv").write_bytes("id,x\n1,ä\n".encode("latin1"))
    with pytest.raises(dl.InvalidValueError, match=r"column 'x'.*UTF-8.*iconv"):
        dl.from_csv(tmp_path / "a.csv", url)


def test_path_may_begin_with_a_tilde(tmp_path, url, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.csv").write_text("x\n1\n")
    assert len(dl.from_csv("~/a.csv", url)) == 1


def test_other_delimiter_is_suggested(tmp_path, url):
    path = tmp_path / "a.csv"
    path.write_text("id;x\n1;2\n")
    with pytest.raises(
        dl.InvalidValueError, match=r"another delimiter: 'id;x'\. Pass delimiter=';'"
    ):
        dl.from_csv(path, url)
    with pytest.raises(
        dl.OptionError, match=r"delimiter must be one ASCII character, .* but it is ';;'"
    ):
        dl.from_csv(path, url, delimiter=";;")
    assert dl.from_csv(path, url, delimiter=";").columns == ("id", "x")


def test_missing_file_or_invalid_parquet_is_refused(tmp_path, url):
    with pytest.raises(dl.NotFoundError, match=r"no \.parquet, \.parq or \.pq file"):
        dl.from_parquet(tmp_path / "no.parquet", url)
    (tmp_path / "a.parquet").write_bytes(b"no parquet")
    with pytest.raises(dl.InvalidValueError, match="cannot be read"):
        dl.from_parquet(tmp_path / "a.parquet", url)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(dl.NotFoundError, match="no column 'b'"):
        dl.from_parquet(tmp_path / "a.parquet", url, columns=["b"])
    with pytest.raises(dl.SchemaError, match=r"on= must be a column of .* but it is 'k'"):
        dl.from_parquet(tmp_path / "a.parquet", url, on="k")
    with pytest.raises(dl.SchemaError, match="but it has 'k'"):
        dl.from_parquet(tmp_path / "a.parquet", url, schema={"k": "text"})


DECIMALS = pa.array([Decimal("5.00"), Decimal("0.10")], pa.decimal128(20, 2))


@pytest.mark.parametrize(
    ("htype", "values"),
    [("text", ["5.00", "0.10"]), ("float64", [5.0, 0.1]), ("json", [5.0, 0.1])],
)
def test_decimals_become_the_requested_type(new_url, htype, values):
    ds = dl.from_dataframe(pa.table({"x": DECIMALS}), new_url(), schema={"x": htype})
    assert values_in(ds) == values


LONG = Decimal("12345678901234567.5")
WIDE = pa.decimal128(38, 20)
ROUNDED = {
    "a Series": pd.Series([Decimal("0.1"), LONG]),
    "decimal128": pa.array([Decimal("0.1"), LONG], WIDE),
    "decimal256": pa.array([Decimal("0.1"), LONG], pa.decimal256(76, 40)),
    "chunks": pa.chunked_array([[Decimal("0.1")], [LONG]], WIDE),
    "a dictionary": pa.array([Decimal("0.1"), LONG], WIDE).dictionary_encode(),
    "lists": pa.array([[], [Decimal("0.1"), LONG]], pa.list_(WIDE)),
    "lists of one size": pa.array([[Decimal("0.1")], [LONG]], pa.list_(WIDE, 1)),
    "lists of lists": pa.array([[[]], [[], [LONG]]], pa.list_(pa.large_list(WIDE))),
    "a list": [Decimal("0.1"), LONG],
    "a list of lists": [[Decimal("0.1")], [LONG]],
    "small ones": [Decimal("0.1"), Decimal("1.23456789012345678E-30")],
}


@pytest.mark.parametrize("name", ROUNDED)
def test_decimals_that_float64_would_round_are_refused_during_type_inference(new_url, name):
    values = ROUNDED[name]
    number = "1.23456789012345678E-30" if name == "small ones" else "12345678901234567.5"
    message = rf"Column 'x': row 1 has the decimal {re.escape(number)}0*, which float64 rounds"
    url = new_url()
    with pytest.raises(dl.SchemaError, match=message) as refused:
        dl.from_arrays({"x": values}, url, progress=False)
    floats, texts = (
        eval(result, {"dl": dl}) for result in re.findall(r"\{.*?\}", str(refused.value))
    )
    for schema in [floats] if isinstance(values, list) else [floats, texts]:
        assert len(dl.from_arrays({"x": values}, new_url(), schema=schema, progress=False)) == 2
    dl.create(url, floats).commit("empty")
    assert len(dl.from_arrays({"x": values}, url, progress=False)) == 2


def test_parquet_decimals_that_float64_would_round_are_refused_with_their_row(new_url, tmp_path):
    numbers = [Decimal("0.1")] * 9_000 + [LONG]
    pq.write_table(
        pa.table({"x": pa.array(numbers, WIDE), "n": range(9_001)}), tmp_path / "a.parquet"
    )
    with pytest.raises(dl.SchemaError, match="row 9000 has the decimal 12345678901234567"):
        dl.from_parquet(tmp_path / "a.parquet", new_url(), progress=False)
    for options in ({"schema": {"x": "float64"}}, {"columns": ["n"]}):
        ds = dl.from_parquet(tmp_path / "a.parquet", new_url(), progress=False, **options)
        assert len(ds) == 9_001


@pytest.mark.parametrize(
    "kind", [pa.decimal128(38, 20), pa.decimal256(76, 37), pa.decimal64(18, 3)]
)
def test_decimals_become_the_nearest_floats(new_url, kind):
    texts = ["0.70", "3694.1", "0.1", "-2.675", "104.125", "0.007", "12345678.9", "1e3"]
    numbers = pa.array([Decimal(text) for text in texts], kind)
    ds = dl.from_dataframe(pa.table({"x": numbers, "l": [[n] for n in numbers]}), new_url())
    assert ds["x"][:].tolist() == [float(text) for text in texts]
    assert [item.tolist() for item in ds["l"][:]] == [[float(text)] for text in texts]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_list_of_decimals_is_accepted_by_a_column_of_floats(new_url, dtype):
    values = [Decimal("0.1"), None, LONG]
    ds = dl.create(new_url(), {"x": dl.Scalar(dtype, nullable=True), "l": dl.Array(dtype, (None,))})
    ds.append({"x": values, "l": [[Decimal("0.5"), 1], [], [LONG]]})
    assert ds["x"][:].tolist() == [np.dtype(dtype).type(0.1), None, np.dtype(dtype).type(LONG)]
    assert ds["l"][2].tolist() == [np.dtype(dtype).type(LONG)]
    with pytest.raises(dl.InvalidValueError, match="row 0"):
        ds.append({"x": [Decimal("1e400")], "l": [[]]})


def test_digits_of_an_integral_decimal_survive_unsigned(new_url):
    wide = pa.table({"x": pa.array([Decimal(2**64 - 1)], pa.decimal128(20, 0))})
    ds = dl.from_dataframe(wide, new_url(), schema={"x": "uint64"})
    assert values_in(ds) == [2**64 - 1]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (DECIMALS, r"column 'x': DataFrame, row 1: must be int64, but it is Decimal"),
        (pa.array([Decimal(1), Decimal(2**63)], pa.decimal128(20, 0)), r"row 1: int64 holds"),
    ],
)
def test_fractional_decimal_is_refused_with_its_row(new_url, values, message):
    table = pa.table({"x": values})
    with pytest.raises(dl.InvalidValueError, match=message):
        dl.from_dataframe(table, new_url(), schema={"x": "int64"})
    ds = dl.from_dataframe(table, new_url(), schema={"x": "int64"}, on_error="skip", progress=False)
    assert len(ds) == 1


# ---- columns of Python objects: each value unchanged, or an error

MOMENT = pd.Timestamp("2020-01-01 00:00:00.123456789")
DAY, LATER = dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5)

OBJECTS = {
    "nanoseconds": ([MOMENT], "datetime64[ns]", [MOMENT.to_datetime64()]),
    "nanoseconds of a span": (
        [pd.Timedelta(123, "ns")],
        "timedelta64[ns]",
        [np.timedelta64(123, "ns")],
    ),
    "day and moment": ([DAY, LATER], None, [dt.datetime(2020, 1, 1), LATER]),
    "moment and day": ([LATER, DAY], None, [LATER, dt.datetime(2020, 1, 1)]),
    "times of day": ([dt.time(1, 2)], None, [np.timedelta64(3_720, "s")]),
    "dicts": ([{"a": 1}, {"b": 2}], None, [{"a": 1}, {"b": 2}]),
    "empty dict": ([{"a": 1}, {}], None, [{"a": 1}, {}]),
    "numbers in dicts": ([{"a": 1}, {"a": 1.5}], None, [{"a": 1}, {"a": 1.5}]),
    "lists of dicts": ([[{"a": 1}], [{"b": 1}]], None, [[{"a": 1}], [{"b": 1}]]),
    "large integers": ([2**63, 1], "uint64", [2**63, 1]),
    "large integers in dicts": ([{"a": 2**70}], "json", [{"a": 2**70}]),
    "large integers in lists": ([[2**63]], dl.Array("uint64", (None,)), [[2**63]]),
    "spans of NumPy": ([np.timedelta64(5, "us")], None, [np.timedelta64(5, "us")]),
    "decimals": ([Decimal("1.5"), Decimal(2)], None, [1.5, 2.0]),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_of_a_frame_are_stored_unchanged(new_url, name):
    values, htype, expected = OBJECTS[name]
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    schema = {} if htype is None else {"x": htype}
    ds = dl.from_dataframe(frame, new_url(), schema=schema)
    result = values_in(ds)
    if name in ("day and moment", "moment and day"):
        result = [np.datetime64(v).astype("datetime64[us]").item() for v in result]
    assert result == expected
    appended = dl.create(new_url(), {"x": ds["x"].htype})
    appended.append(frame)
    assert values_in(appended) == values_in(ds)


@pytest.mark.parametrize(
    ("values", "htype"),
    [
        ([MOMENT], None), ([pd.Timedelta(123, "ns")], None), ([[MOMENT]], None),
        ([DAY, LATER], "datetime64[D]"), ([dt.time(1, tzinfo=dt.UTC)], "timedelta64[us]"),
        ([{1, 2}], "json"), ([b"a", "b"], "bytes"), ([pd.Period("2020-01", "M")], None),
        ([object()], None), ([2**63, 1], None),
    ],
)  # fmt: skip
def test_objects_that_would_change_are_refused(new_url, values, htype):
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    with pytest.raises(dl.LakeError):
        dl.from_dataframe(frame, new_url(), schema={} if htype is None else {"x": htype})


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"k": [1]}, index=pd.Index(["p"], name="k")),
        pd.DataFrame({"p": pd.period_range("2020-01", periods=2, freq="M")}),
        pa.table({"x": pa.StructArray.from_arrays([pa.array([1])] * 2, names=["a", "a"])}),
        pa.table({"m": pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int64()))}),
    ],
    ids=["index", "periods", "fields", "map"],
)
def test_tables_that_would_lose_data_are_refused(new_url, table):
    with pytest.raises(dl.LakeError):
        dl.from_dataframe(table, new_url())


def test_arrow_tensors_keep_their_shape(new_url):
    kind = pa.fixed_shape_tensor(pa.int64(), (2, 2))
    storage = pa.array([[1, 2, 3, 4]] * 2, pa.list_(pa.int64(), 4))
    table = pa.table({"t": pa.ExtensionArray.from_storage(kind, storage)})
    ds = dl.from_dataframe(table, new_url())
    assert ds["t"].htype == dl.Array("int64", (2, 2))
    assert ds["t"][:].tolist() == [[[1, 2], [3, 4]]] * 2


def test_rows_exported_to_a_frame_round_trip(new_url):
    ds = dl.create(new_url(), {"j": "json"})
    ds.append({"j": [{"a": 1}, {"x": 1}, {"b": 2**53 + 1}]})
    back = dl.from_dataframe(ds.to_pandas().iloc[[0, 2]], new_url())
    assert back["j"][:] == [{"a": 1}, {"b": 2**53 + 1}]
