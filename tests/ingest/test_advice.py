"""Messages about columns without a type only suggest what works."""

import datetime as dt
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

import deeplake_lite as dl

VALUES = {
    "numbers and texts": [1, "a"],
    "with a null": [1, "a", None],
    "NaN among texts": ["a", float("nan")],
    "arrays of several ranks": [np.zeros(2, int), np.zeros((2, 2), int)],
    "numbers and lists": [1, [2]],
    "calendar intervals": pa.array([pa.MonthDayNano([1, 2, 3])]),
    "an empty name of a class": pa.DictionaryArray.from_arrays(
        pa.array([0, 1]), pa.array(["a", ""])
    ),
}
UNFIT = {
    "sets": [{1}],
    "bytes and texts": [b"a", "a"],
    "objects": [object()],
    "records": np.array([(1, 2)], [("a", "i4"), ("b", "i4")]),
}


@pytest.mark.parametrize("kind", VALUES)
def test_suggested_type_accepts_the_values(kind):
    with pytest.raises(dl.SchemaError, match=r"Column 'x'.*schema=\{'x': dl\.") as raised:
        dl.from_arrays({"x": VALUES[kind]}, "memory://advice")
    advised = str(raised.value).rpartition("schema=")[2].rstrip(".")

    ds = dl.from_arrays(
        {"x": VALUES[kind]}, "memory://advised", schema=eval(advised, {"dl": dl}), update="force"
    )

    assert len(ds) >= len(VALUES[kind])
    dl.create("memory://advised", {}, overwrite=True)


@pytest.mark.parametrize("kind", UNFIT)
def test_no_type_is_suggested_if_none_accepts_the_values(kind):
    with pytest.raises(dl.SchemaError, match="Convert the values to numbers"):
        dl.from_arrays({"x": UNFIT[kind]}, "memory://advice")


def test_times_of_day_are_durations_as_in_a_frame():
    ds = dl.from_arrays({"x": [dt.time(1), None]}, "memory://advice-times-of-day")
    assert ds["x"].htype == dl.Scalar("timedelta64[us]", nullable=True)
    assert ds["x"][0] == np.timedelta64(1, "h")


@pytest.mark.parametrize(
    "single", [np.array(5), torch.tensor(5), np.datetime64("2026"), pa.scalar(5), 5, "a", None]
)
def test_single_value_is_not_a_column(single):
    with pytest.raises(dl.InvalidValueError, match="with one value per row"):
        dl.from_arrays({"x": single}, "memory://single")


def test_labels_are_not_a_folder(photos):
    folder = photos("rose/1.png")
    with pytest.raises(dl.InvalidValueError, match=r"is a folder. Leave labels= out"):
        dl.from_folder(folder, "memory://labels-folder", labels=folder / "rose")


def advised_schema(error):
    """Return the schema that a message suggests, for the column x."""
    shown = re.search(r"schema=(\{.*?\})[,.]", str(error.value))[1]
    return eval(shown.replace("…", "'x'"), {"dl": dl})


def as_objects(values):
    array = np.empty(len(values), object)
    for i, value in enumerate(values):
        array[i] = value
    return array


CONTAINERS = {
    "texts": (dl.Text(), lambda value: [value]),
    "a sequence": (dl.Sequence("text"), lambda value: [[value]]),
    "an array of objects": (dl.Text(), lambda value: as_objects([value])),
    "Arrow": (dl.Text(), lambda value: pa.array([bytes(value)], pa.binary())),
    "pandas": (dl.Text(), lambda value: pd.Series([value], dtype=object)),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_bytes_error_suggests_decoding(container, kind, encoding):
    htype, put = CONTAINERS[container]
    value = kind("café".encode(encoding))
    ds = dl.create("memory://bytes", {"x": htype}, overwrite=True)
    with pytest.raises(dl.InvalidValueError, match=r"must be text.* Decode it") as raised:
        ds.append({"x": put(value)})
    value = bytes(value) if container == "Arrow" else value
    assert eval(re.search(r"(\S*value\)?\.decode\(.*?\))", str(raised.value))[1]) == "café"


LACKING = {
    "int64": [1, 2],
    "float32": np.array([0.5, 1], "f4"),
    "texts": ["a", "b"],
    "lists": [["a"], ["b", "c"]],
    "times": [dt.date(2026, 1, 2)] * 2,
    "JSON": [{"a": 1}, {}],
    "arrays": np.zeros((2, 3)),
}


@pytest.mark.parametrize("values", LACKING.values(), ids=LACKING)
@pytest.mark.parametrize("rows", [1, 3])
def test_missing_column_is_added_as_suggested(values, rows):
    ds = dl.create("memory://lacking", {"n": "int64"}, overwrite=True)
    ds.append({"n": [0] * rows})
    ds.commit("first")
    new = {"n": [1, 2], "w": values}
    with pytest.raises(dl.SchemaError, match=r"has no column 'w'\. First add it") as raised:
        dl.from_arrays(new, ds.url)
    eval(re.search(r"(ds\.add_column\(.*\)) and commit", str(raised.value))[1])
    ds.commit("added")
    assert len(dl.from_arrays(new, ds.url)["w"]) == rows + 2


@pytest.mark.parametrize(
    ("value", "dtype", "wider"),
    [
        (300, "int8", "int16"),
        (-1, "uint8", "int16"),
        (256, "uint8", "uint16"),
        (-1, "uint32", "int64"),
        (2**31, "int32", "int64"),
        (2**63, "int64", "uint64"),
        (-1, "uint64", "float64"),
        (2**64, "uint64", "float64"),
        (2**64, "int64", "float64"),
        (-(2**63) - 1, "int64", "float64"),
        (2**70, "int8", "float64"),
        pytest.param(10**400, "int64", "text", id="10**400"),
    ],
)
@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: [value]], ids=["", "list"])
def test_integer_out_of_range_fits_the_suggested_type(value, dtype, wider, wrap):
    make = (lambda d: d) if wrap(0) == 0 else dl.Sequence
    ds = dl.create("memory://range", {"x": make(dtype)}, overwrite=True)
    with pytest.raises(dl.InvalidValueError, match=f"{dtype} holds") as raised:
        ds.append({"x": [wrap(value)]})
    assert re.search(r"Declare the column as '(\w+)'", str(raised.value))[1] == wider
    ds = dl.create("memory://range", {"x": make(wider)}, overwrite=True)
    ds.append({"x": [wrap(str(value) if wider == "text" else value)]})


FEW_DTYPES = {
    "mask": (dl.Mask(), [[300]], "Mask(dtype='uint16')"),
    "negative mask": (dl.Mask(), [[-1]], "Mask(dtype='int32')"),
    "named mask": (dl.Mask(names=["a"]), [[-1]], "Mask(dtype='int32', names=['a'])"),
    "wide mask": (dl.Mask(), [[2**31]], None),
    "float mask": (dl.Mask(), [[1.5]], None),
    "float masks": (dl.Mask("instance"), [[[1.0]]], None),
    "pixels": (dl.Image("raw"), [[36127]], "Image('raw', dtype='uint16')"),
    "negative pixels": (dl.Image("zstd"), [[-1]], "Image('zstd', dtype='int16')"),
    "wide pixels": (dl.Image("raw"), [[2**40]], "Image('raw', dtype='float64')"),
    "float pixels": (dl.Image("raw"), [[1.5]], "Image('raw', dtype='float64')"),
    "complex pixels": (dl.Image("raw", dtype="float32"), [[1j]], None),
    "large pixels": (dl.Image("raw", dtype="float32"), [[1e39]], "Image('raw', dtype='float64')"),
    "boxes": (dl.Boxes(dtype="int16"), [[0, 0, 40_000, 9]], "Boxes(dtype='int32')"),
    "float boxes": (dl.Boxes(dtype="int16"), [[0, 0, 1.5, 9]], "Boxes(dtype='float64')"),
    "complex boxes": (dl.Boxes(), [[0, 0, 1j, 9]], None),
    "embedding": (dl.Embedding(1, dtype="int8"), [128], "Embedding(1, 'float64')"),
    "large embedding": (dl.Embedding(1), [1e39], "Embedding(1, 'float64')"),
    "keypoints": (dl.Keypoints(dims=2), [[[0, 1e39]]], None),
    "polygon": (dl.Polygons(), [[[0, 0], [1e39, 0], [0, 1]]], None),
    "class": (dl.ClassLabel(), 2**31, None),
}
"""Narrow types, a value that does not fit, and the type that holds it."""


@pytest.mark.parametrize("name", FEW_DTYPES)
def test_type_with_few_dtypes_suggests_one_that_it_supports(name):
    htype, value, wider = FEW_DTYPES[name]
    values = [np.array(value) if htype.name == "image" else value]
    ds = dl.create("memory://few-dtypes", {"x": htype}, overwrite=True)
    with pytest.raises(dl.InvalidValueError) as raised:
        ds.append({"x": values})
    if wider is None:
        assert not re.search("declare ", str(raised.value), re.IGNORECASE)
        return
    assert f"eclare the column as {wider}" in str(raised.value)
    advised = eval(f"dl.{wider}", {"dl": dl})
    if name != "named mask":  # whose classes have no such number
        dl.create("memory://few-dtypes", {"x": advised}, overwrite=True).append({"x": values})


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(
    "number", [10**400, -(10**400), 10**300], ids=["10**400", "less", "10**300"]
)
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v, 1], lambda v: [0.5, v]])
def test_integer_that_no_float_approximates_fits_the_suggested_type(dtype, number, wrap):
    make = (lambda d: d) if wrap(0) == 0 else (lambda d: dl.Sequence(d))
    if number == 10**300 and dtype.endswith(("64", "128")) and dtype != "complex64":
        return
    ds = dl.create("memory://far", {"x": make(dtype)}, overwrite=True)
    with pytest.raises(dl.InvalidValueError, match=f"{dtype} holds at most") as raised:
        ds.append({"x": [wrap(number)]})
    wider = re.search(r"Declare the column as '(\w+)'", str(raised.value))[1]
    values = wrap(number)
    if wider == "text":
        values = [str(v) for v in values] if isinstance(values, list) else str(values)
    dl.create("memory://far", {"x": make(wider)}, overwrite=True).append({"x": [values]})


@pytest.mark.parametrize(
    "values", [[1j, 2], [2.5, 1j], [np.int8(1), 1j], [[1j, 2], [3]], [np.complex64(1j), 2.5]]
)
def test_numbers_next_to_complex_ones_are_complex(values):
    ds = dl.from_arrays({"x": values}, "memory://complex")
    assert ds["x"].htype.dtype == "complex128"
    assert [np.asarray(v).tolist() for v in ds["x"][:]] == [np.asarray(v).tolist() for v in values]
    dl.create("memory://complex", {}, overwrite=True)


def test_integer_that_a_complex_number_would_round_has_no_type():
    with pytest.raises(
        dl.SchemaError, match="no column type can store floats together with the integer"
    ):
        dl.from_arrays({"x": [1j, 2**53 + 1]}, "memory://rounded")


@pytest.mark.parametrize("big", [2**63, 2**64, 2**70])
def test_integer_beyond_64_bits_next_to_others_is_stored_as_suggested(big):
    with pytest.raises(dl.InvalidValueError, match="'float64', which rounds the number, or 'text'"):
        dl.from_arrays({"x": [big, -1]}, "memory://beyond")
    ds = dl.from_arrays({"x": [big, -1]}, "memory://beyond-f", schema={"x": "float64"})
    assert ds["x"][:].tolist() == [float(big), -1.0]
    dl.create("memory://beyond-f", {}, overwrite=True)


PRESENT = {
    "int": 1,
    "float": 1.5,
    "text": "a",
    "truth": True,
    "bytes": b"a",
    "JSON": {"a": 1},
    "list": [1],
    "array": np.zeros(2),
    "day": dt.date(2026, 1, 2),
    "datetime": dt.datetime(2026, 1, 2),
    "Timestamp": pd.Timestamp("2026-01-02"),
    "Timedelta": pd.Timedelta(1, "s"),
    "datetime64": np.datetime64("2026-01-02"),
}


@pytest.mark.parametrize("null", [pd.NA, pd.NaT], ids=["NA", "NaT"])
@pytest.mark.parametrize("present", PRESENT.values(), ids=PRESENT)
@pytest.mark.parametrize("column", [list, tuple, as_objects])
def test_pandas_nulls_are_null_in_lists_as_in_frames(null, present, column):
    url, like = "memory://nulls-of-pandas", "memory://nulls"
    ds = dl.from_arrays({"x": column([present, null])}, url)
    expected = dl.from_arrays({"x": column([present, None])}, like)
    assert ds["x"].htype == expected["x"].htype
    assert ds["x"][1] is None
    ds.append({"x": [null, present]})
    assert ds["x"][2] is None
    for made in (url, like):
        dl.create(made, {}, overwrite=True)


@pytest.mark.parametrize("null", [pd.NA, pd.NaT, None], ids=str)
@pytest.mark.parametrize("item", [1, 0.5, "a", np.datetime64("2026-01-02")])
def test_pandas_nulls_are_null_within_lists(null, item):
    ds = dl.from_arrays({"x": [[item, null], [item]]}, "memory://nulls-within")
    assert ds["x"][0][1] is None
    dl.create("memory://nulls-within", {}, overwrite=True)


NOT_NULLABLE = ["int8", "datetime64[s]", "text", dl.Array("int8", (2,)), dl.ClassLabel(["a", "b"])]


@pytest.mark.parametrize("htype", NOT_NULLABLE, ids=str)
@pytest.mark.parametrize("null", [None, pd.NA, pd.NaT], ids=str)
def test_suggested_type_accepts_null(htype, null):
    with pytest.raises(dl.InvalidValueError, match="must not be null") as raised:
        dl.from_arrays({"x": [null]}, "memory://takes-null", schema={"x": htype})
    ds = dl.from_arrays({"x": [null]}, "memory://takes-null", schema=advised_schema(raised))
    assert ds["x"][0] is None
    dl.create("memory://takes-null", {}, overwrite=True)


@pytest.mark.parametrize("labels", [["true", "false"], ["7.5", "8"], ["2026-01-02", "2026-01-03"]])
@pytest.mark.parametrize("way", ["from_folder", "from_csv"])
def test_labels_that_are_not_classes_are_converted_as_suggested(photos, labels, way):
    folder = photos("a.png", "b.png")
    (folder / "l.csv").write_text(f"file,label\na.png,{labels[0]}\nb.png,{labels[1]}\n")

    def take(url, **options):
        if way == "from_csv":
            return dl.from_csv(folder / "l.csv", url, **options)
        return dl.from_folder(folder, url, labels="l.csv", **options)

    dl.create("memory://labels-first", {}, overwrite=True)
    dl.create("memory://labels-again", {}, overwrite=True)
    ds = take("memory://labels-first", progress=False)
    with pytest.raises(dl.SchemaError, match="has no class names") as raised:
        _ = ds["label"].names
    ds = take("memory://labels-again", schema=advised_schema(raised), progress=False)
    assert ds["label"].htype.to_names(ds["label"][:]) == labels


MIXED = {
    "numbers": lambda big: [big, 0.5],
    "with null": lambda big: [big, None, 0.5],
    "NumPy's": lambda big: [np.int64(big), np.float32(0.5)],
    "objects": lambda big: np.array([big, 0.5], object),
    "lists": lambda big: [[big, 0.5], [1]],
    "NaN": lambda big: [big, float("nan")],
}


@pytest.mark.parametrize("values", MIXED.values(), ids=MIXED)
@pytest.mark.parametrize("big", [2**53 + 1, -(2**53) - 1, 2**62 + 1])
def test_integer_next_to_floats_is_rounded_only_on_request(values, big):
    with pytest.raises(dl.SchemaError, match=rf"integer {big}, because float64 would") as raised:
        dl.from_arrays({"x": values(big)}, "memory://rounded")
    ds = dl.from_arrays({"x": values(big)}, "memory://rounded", schema=advised_schema(raised))
    assert np.ravel(ds["x"][0])[0] == float(big)
    dl.create("memory://rounded", {}, overwrite=True)


@pytest.mark.parametrize("values", MIXED.values(), ids=MIXED)
@pytest.mark.parametrize("big", [2**53, -(2**53), 2**62])
def test_integer_that_a_float_represents_becomes_a_float_next_to_floats(values, big):
    ds = dl.from_arrays({"x": values(big)}, "memory://rounded")
    assert np.ravel(ds["x"][0])[0] == float(big)
    dl.create("memory://rounded", {}, overwrite=True)


def test_column_of_floats_rounds_integers():
    ds = dl.create("memory://rounds", {"x": "float64"}, overwrite=True)
    ds.append({"x": [2**53 + 1]})
    assert ds["x"][0] == 2.0**53
