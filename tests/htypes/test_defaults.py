"""Defaults are stored, or refused as soon as they are set."""

from dataclasses import replace
from itertools import count

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

import deeplake_lite as dl

fresh = count()

DEFAULTS = {
    "numbers as keys": (dl.Json(), {1: 2}, {"1": 2}),
    "a number and a text as keys": (dl.Json(), {"a": 1, 2: {3: 4}}, {"a": 1, "2": {"3": 4}}),
    "dollars": (dl.Json(), {"$x": {1: 2}}, {"$x": {"1": 2}}),
    "arrays in JSON": (dl.Json(), [np.int64(1), np.zeros(2)], [1, [0.0, 0.0]]),
    "a list of JSON": (dl.Sequence("json"), [{1: 2}], [{"1": 2}]),
    "a tensor": (dl.Scalar("int64"), torch.tensor(5), 5),
    "tensors": (dl.Array("int64", (2,)), [torch.tensor(1), torch.tensor(2)], [1, 2]),
    "a tensor with axes": (dl.Array("int64", (2,)), torch.tensor([1, 2]), [1, 2]),
    "Arrow's scalar": (dl.Scalar("int64"), pa.scalar(5), 5),
    "Arrow's text": (dl.Text(), pa.scalar("x"), "x"),
    "Arrow's array": (dl.Array("int64", (2,)), pa.array([1, 2]), [1, 2]),
    "a series": (dl.Array("int64", (2,)), pd.Series([1, 2]), [1, 2]),
    "a series of polars": (dl.Sequence("int64"), pl.Series([1, 2]), [1, 2]),
    "a null": (dl.Scalar("int64", nullable=True), pd.NA, None),
}


def stored(ds):
    ds.append({"n": [1]})
    ds.commit("rows")
    assert ds.status is not None
    value = dl.open(ds.url)[0]["x"]
    return value.tolist() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("name", DEFAULTS)
def test_default_is_converted_like_a_value(name):
    htype, default, value = DEFAULTS[name]
    url = f"memory://defaults-{next(fresh)}"
    made = replace(htype, default=default)
    assert stored(dl.create(url, {"n": "int64", "x": made})) == value


@pytest.mark.parametrize("name", DEFAULTS)
def test_later_default_is_converted_like_a_value(name):
    htype, default, value = DEFAULTS[name]
    url = f"memory://defaults-{next(fresh)}"
    ds = dl.create(url, {"n": "int64", "x": htype})
    ds.set_default("x", default)
    assert stored(ds) == value


def test_default_with_equal_keys_is_refused():
    with pytest.raises(dl.SchemaError, match="two keys of an object become the string '1'"):
        dl.Json(default={1: 2, "1": 3})


@pytest.mark.parametrize("null", [pd.NA, pa.scalar(None)])
def test_null_is_not_a_default_of_a_non_nullable_type(null):
    with pytest.raises(dl.SchemaError, match="must not be null"):
        dl.Scalar("int64", default=null)
