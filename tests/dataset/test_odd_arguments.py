"""Keys that are equal but differ in bytes, and unusual names, messages and times."""

import numpy as np
import pandas as pd
import pytest

import deeplake_lite as dl

KEYS = {
    "zero": ("float64", 0.0, -0.0),
    "zero of 16 bits": ("float16", -0.0, 0.0),
    "zero in a vector": (dl.Array("float32", (2,)), [0.0, 1.0], [-0.0, 1.0]),
    "NaN": ("float32", np.nan, -np.nan),
    "complex": ("complex64", 0j, complex(-0.0, -0.0)),
    "order of keys": ("json", {"a": [1], "b": 2}, {"b": 2.0, "a": [1]}),
}


@pytest.mark.parametrize("case", KEYS)
def test_equal_keys_identify_one_row(make_lake, case):
    htype, there, same = KEYS[case]
    ds = make_lake({"x": htype, "n": "int32"}, x=[there], n=[1])
    done = ds.upsert({"x": [same], "n": [2]}, on="x")
    assert (done.added, done.changed, ds["n"][:].tolist()) == (0, 1, [2])
    with pytest.raises(dl.InvalidValueError, match="twice"):
        ds.upsert({"x": [there, same], "n": [3, 4]}, on="x")


def test_json_keys_differ_if_their_values_do(make_lake):
    ds = make_lake({"x": "json"}, x=[1])
    assert ds.upsert({"x": [1.0, True, "1"]}, on="x").added == 2


@pytest.mark.parametrize("message", ["\ud800", None, b"x", 3])
def test_non_string_message_is_refused_and_nothing_is_lost(make_lake, message):
    ds = make_lake({"x": "int32"}, x=[1])
    ds.append({"x": [2]})
    with pytest.raises(dl.InvalidValueError, match="message must be"):
        ds.commit(message)
    ds.commit("fine")
    assert dl.open(ds.url)["x"][:].tolist() == [1, 2]


@pytest.mark.parametrize("name", [3, None, b"x", "a" * 5000, "a" * 201, "\ud800", ""])
def test_invalid_name_is_refused(make_lake, name):
    ds = make_lake({"x": "int32"}, x=[1])
    ds.commit("one")
    for make in (ds.branch, ds.tag):
        with pytest.raises(dl.SchemaError, match="letters, digits or any of"):
            make(name)
    ds.tag("a" * 200)
    assert dl.open(ds.url, version="a" * 200)["x"][:].tolist() == [1]


@pytest.mark.parametrize("when", [pd.Timestamp("2990-01-01"), pd.Timestamp("2990-01-01", tz="UTC")])
def test_pandas_timestamp_is_accepted_as_a_time(make_lake, when):
    ds = make_lake({"x": "int32"}, x=[1])
    ds.commit("one")
    assert dl.open(ds.url, version=when).version == ds.version
    with pytest.raises(dl.VersionNotFoundError, match="oldest version"):
        dl.open(ds.url, version=when.replace(year=1990))


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)])
def test_xarray_refuses_integers_that_nulls_would_round(make_lake, number):
    ds = make_lake({"x": dl.Scalar("int64", nullable=True)}, x=[2**53, None, number])
    assert np.array_equal(ds[:2].to_xarray()["x"].values, [2.0**53, np.nan], equal_nan=True)
    with pytest.raises(dl.InvalidValueError, match=rf"column 'x': .*float64.* {number}\."):
        ds.to_xarray()["x"].values.sum()
    ds = make_lake({"x": dl.Scalar("uint64", nullable=True)}, x=[None, 2**64 - 1])
    with pytest.raises(dl.InvalidValueError, match=str(2**64 - 1)):
        ds.to_xarray()["x"].values.sum()


def test_xarray_keeps_integers_of_a_column_without_nulls(make_lake):
    ds = make_lake({"x": "int64"}, x=[2**63 - 1])
    assert ds.to_xarray()["x"].values.tolist() == [2**63 - 1]


def test_column_without_classes_has_no_attribute_names(make_lake):
    ds = make_lake({"x": "int32", "label": dl.ClassLabel(["a"])}, x=[1], label=["a"])
    assert not hasattr(ds["x"], "names")
    assert getattr(ds["label"], "names", None) == ("a",)
    with pytest.raises(dl.ColumnAttributeError, match="has no class names"):
        _ = ds["x"].names
