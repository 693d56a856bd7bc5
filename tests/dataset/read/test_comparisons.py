"""Columns compared with values, lists, other columns, Series and Arrow arrays."""

import operator
import re
from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deeplake_lite as dl

pets = dl.ClassLabel(["cat", "dog"], nullable=True)

# type, three values, ways to write the second value
EVERY = {
    "int": (dl.Scalar("int32", nullable=True), [1, 2, None], [2, 2.0, np.int8(2), np.uint64(2)]),
    "large": (dl.Scalar("uint64", nullable=True), [1, 2**63 + 1, None], [2**63 + 1]),
    "float": (dl.Scalar("float32", nullable=True), [0.5, 2, None], [2, np.float64(2)]),
    "bool": (dl.Scalar("bool", nullable=True), [False, True, None], [True, np.True_]),
    "text": (dl.Text(nullable=True), ["a", "b", None], ["b", np.str_("b")]),
    "bytes": (dl.Bytes(nullable=True), [b"a", b"b", None], [b"b"]),
    "label": (pets, ["cat", "dog", None], ["dog", 1]),
    "labels": (
        dl.ClassLabel(["cat", "dog"], multiple=True, nullable=True),
        [["cat"], ["cat", "dog"], None],
        [["cat", "dog"], ("cat", "dog"), [0, 1], np.array([0, 1])],
    ),
    "moment": (
        dl.Scalar("datetime64[s]", nullable=True),
        ["2020-01-01", "2020-06-01", None],
        [
            "2020-06-01",
            "2020-06-01T02:00+02:00",
            date(2020, 6, 1),
            datetime(2020, 6, 1),
            datetime(2020, 6, 1, tzinfo=UTC),
            pd.Timestamp("2020-06-01"),
            np.datetime64("2020-06-01"),
        ],
    ),
    "duration": (
        dl.Scalar("timedelta64[s]", nullable=True),
        ["1 s", "2 s", None],
        ["2 s", "2000 ms", np.timedelta64(2, "s"), pd.Timedelta(2, "s")],
    ),
    "json": (dl.Json(nullable=True), [{"a": 1}, [1, "x"], None], [[1, "x"]]),
    "vector": (dl.Embedding(2, nullable=True), [[0, 1], [2, 3], None], [[2, 3], np.array([2, 3])]),
    "ragged": (
        dl.Array("int8", (None,), nullable=True),
        [[1], [2, 3], None],
        [[2, 3], np.array([2, 3])],
    ),
    "texts": (dl.Sequence(dl.Text(), nullable=True), [["a"], ["b", "c"], None], [["b", "c"]]),
    "tags": (
        dl.Sequence(dl.ClassLabel(["cat", "dog"]), nullable=True),
        [["dog"], ["cat"], None],
        [["cat"], [0]],
    ),
}


@pytest.fixture(params=EVERY)
def case(request, make_lake):
    htype, values, spellings = EVERY[request.param]
    return make_lake({"x": htype}, x=values), values, spellings


def test_value_equals_itself_in_every_spelling(case):
    ds, _, spellings = case
    for value in spellings:
        assert (ds["x"] == value).tolist() == [False, True, False], value
        assert (ds["x"] != value).tolist() == [True, False, True], value
        assert value in ds["x"]
        assert len(ds[ds["x"] == value]) == 1


def test_value_is_a_single_value_even_in_an_empty_column(case):
    ds, _, spellings = case
    for value in spellings:
        assert (ds[:0]["x"] == value).tolist() == []
        assert (ds[2:]["x"] == value).tolist() == [False]


def test_values_of_all_rows_compare_equal(case):
    ds, values, _ = case
    one_each = tuple(values) if ds["x"].htype.name == "json" else values
    for other in (ds["x"], one_each, ds["x"][:]):
        if isinstance(other, list) and ds["x"].htype.name == "json":
            continue  # a list is a JSON value
        assert (ds["x"] == other).all()
    assert (ds["x"] == None).tolist() == [False, False, True]  # noqa: E711


@pytest.mark.parametrize("name", ["int", "float", "text", "label", "moment", "duration"])
def test_series_and_arrow_arrays_are_compared_row_by_row(make_lake, name):
    htype, values, _ = EVERY[name]
    ds = make_lake({"x": htype}, x=values)[:2]
    plain = values[:2] if name == "label" else list(ds["x"][:])
    assert (ds["x"] == pd.Series(plain)).all()
    assert (ds["x"] == pa.array(plain)).all()
    assert (ds["x"] == pd.Index(plain)).all()


def test_labels_of_two_columns_are_compared_by_name(make_lake):
    schema = {
        "a": dl.ClassLabel(["cat", "dog"]),
        "b": dl.ClassLabel(["dog", "cat", "cow"]),
        "c": dl.ClassLabel(["cow", "cat", "dog"], multiple=True),
        "d": dl.ClassLabel(["dog", "cat"], multiple=True),
    }
    ds = make_lake(
        schema,
        a=["cat", "dog", "cat"],
        b=["cat", "cat", "cow"],
        c=[["cat"], ["dog", "cat"], []],
        d=[["cat"], ["dog", "cat"], ["cat"]],
    )
    assert (ds["a"] == ds["b"]).tolist() == [True, False, False]
    assert (ds["b"] == ds["a"]).tolist() == [True, False, False]
    assert (ds["c"] == ds["d"]).tolist() == [True, True, False]


REFUSED = {
    "number of rows": (
        "int",
        lambda x: x == [1, 2],
        "has 3 rows, but it is compared with 2 values",
    ),
    "rows of text": ("text", lambda x: x == ["a"], "has 3 rows, but it is compared with 1 value"),
    "class": ("label", lambda x: x == "dgo", "Did you mean 'dog'"),
    "class of several": ("labels", lambda x: x == ["dgo"], "Did you mean 'dog'"),
    "class of a sequence": ("tags", lambda x: x == ["dgo"], "Did you mean 'dog'"),
    "date": ("moment", lambda x: x == "yesterday", "yesterday"),
    "one class for several": ("labels", lambda x: x == "dog", "Compare with a whole value"),
    "number for vectors": ("vector", lambda x: x == 0, "Compare with a whole value"),
    "item of several": ("texts", lambda x: "b" in x, "Compare with a whole value"),
    "number and text": ("int", lambda x: x < "a", "have no order relative"),
    "number and null": ("int", lambda x: x < None, "have no order relative"),
    "text and number": ("text", lambda x: x > 1, "have no order relative"),
    "vectors": ("vector", lambda x: x < [1, 2], "have no order relative"),
    "rows of text in order": ("text", lambda x: x < ["b"], "compared with 1 value"),
    "moment and text": ("moment", lambda x: x < "b", "'b'"),
    "json": ("json", lambda x: x < 3, "have no order relative"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_meaningless_comparison_is_an_error_that_names_the_column(make_lake, name):
    key, test, message = REFUSED[name]
    htype, values, _ = EVERY[key]
    ds = make_lake({"x": htype}, x=values)
    with pytest.raises(dl.InvalidValueError, match=message) as caught:
        test(ds["x"])
    assert re.search("[Cc]olumn 'x'", str(caught.value))


def test_columns_are_ordered_against_all_forms_of_their_values(make_lake):
    ds = make_lake({"x": EVERY["moment"][0], "y": pets}, x=EVERY["moment"][1], y=EVERY["label"][1])
    assert (ds["x"] < "2020-06-01").tolist() == [True, False, False]
    assert (ds["x"] >= date(2020, 6, 1)).tolist() == [False, True, False]
    assert (ds["x"] <= ds["x"]).tolist() == [True, True, False]
    assert (ds["y"] < "dog").tolist() == [True, False, False]


def test_range_of_a_dtype_does_not_matter(make_lake):
    ds = make_lake({"x": "int8"}, x=[1, 2, 3])
    assert (ds["x"] < 300).all()
    assert not (ds["x"] == 258).any()
    assert not (ds["x"] == 1.5).any()
    assert not (ds["x"] == "a").any()


@pytest.mark.parametrize("operator", [operator.lt, operator.le, operator.gt, operator.ge])
def test_classes_with_different_names_are_ordered_by_name(make_lake, operator):
    names, others = ["z", "b", "z", "b"], ["c", "a", "zz", "z"]
    ds = make_lake(
        {"l": dl.ClassLabel(["z", "b"]), "t": "text", "k": dl.ClassLabel(sorted(others))},
        l=names, t=others, k=others,
    )  # fmt: skip
    expected = [operator(a, b) for a, b in zip(names, others, strict=True)]
    assert operator(ds["l"], ds["t"]).tolist() == expected
    assert operator(ds["l"], ds["k"]).tolist() == expected
    swapped = [operator(b, a) for a, b in zip(names, others, strict=True)]
    assert operator(ds["t"], ds["l"]).tolist() == swapped
    assert operator(ds["k"], ds["l"]).tolist() == swapped
    with pytest.raises(dl.InvalidValueError, match="has 2 rows, but it is compared with 4"):
        operator(ds[:2]["l"], ds["t"])


def test_classes_with_the_same_names_are_ordered_by_number(make_lake):
    classes = dl.ClassLabel(["z", "b"], nullable=True)
    ds = make_lake({"l": classes, "k": classes}, l=["z", "b", None, "z"], k=["b", "z", "z", "z"])
    assert (ds["l"] < ds["k"]).tolist() == [True, False, False, False]
    assert (ds["l"] >= ds["k"]).tolist() == [False, True, False, True]
