"""Query parameters are copied, and restored unchanged when a view is saved."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import enum
import json
import math
import pickle
import types

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import deeplake_lite as dl
from deeplake_lite.dataset.saved.parameters import (
    copy_params,
    params_from_json,
    params_to_json,
    plain_value,
)
from deeplake_lite.errors import InvalidValueError, QueryTypeError

FINE = np.datetime64("2020-01-01T00:00:00.000000003")
BERLIN = dt.timezone(dt.timedelta(hours=1))


class Colour(enum.StrEnum):
    RED = "a"


class Number(enum.IntEnum):
    ONE = 1


VALUES = {
    "null": None, "true": True, "int": -3, "large int": 2**63, "float": 0.1, "negative zero": -0.0,
    "nan": math.nan, "inf": -math.inf, "text": "é\0", "enum of text": Colour.RED,
    "enum of int": Number.ONE,
    "bytes": b"\0\xff", "bytearray": bytearray(b"a"), "memoryview": memoryview(b"a"),
    "decimal": decimal.Decimal("1.10"), "numpy float": np.float32(0.1), "numpy bool": np.bool_(1),
    "numpy text": np.str_("a"), "numpy uint": np.uint64(2**63),
    "date": dt.date(2020, 1, 1), "datetime": dt.datetime(2020, 1, 1, 2, 3, 4, 5),
    "zoned": dt.datetime(2020, 1, 1, 2, tzinfo=BERLIN), "time": dt.time(1, 2, 3, 4),
    "span": dt.timedelta(1, 2, 3), "fine": FINE, "timestamp": pd.Timestamp(FINE),
    "zoned timestamp": pd.Timestamp("2020-01-01", tz="Europe/Berlin"),
    "day": np.datetime64("2020-01-01"), "hour": np.datetime64("2020-01-01T01"),
    "numpy span": np.timedelta64(2000, "ns"), "pandas span": pd.Timedelta(3, "D"),
    "no time": pd.NaT, "numpy's no time": np.datetime64("NaT", "ns"),
    "list": [1, 2], "tuple": (1, 2), "set": {1}, "frozenset": frozenset([1]), "range": range(3),
    "list of fine": [FINE], "list of bytes": [b"a", None], "list of times": [dt.time(1)],
    "list of decimals": [decimal.Decimal("0.1")], "empty list": [], "nested": [[1, 2], [3]],
    "list of dicts": [{"date": "2026-01-01"}, {"a": np.int8(1)}],
    "array": np.array([1.5, 2]), "floats of two bytes": np.array([1, 2], "f2"),
    "other byte order": np.array([1, 2], ">f4"), "reversed": np.arange(4)[::-2],
    "columns first": np.asfortranarray([[1, 2], [3, 4]]), "no numbers": np.zeros((0, 2)),
    "complex array": np.array([1 + 2j]), "array of texts": np.array(["a", "b"]),
    "array of objects": np.array(["a", None], object),
    "array of moments": np.array([FINE, "NaT"], "M8[ns]"),
    "array of spans": np.array([1, 2], "m8[s]"), "array of bool": np.array([True, False]),
    "masked": np.ma.masked, "masked array": np.ma.array([2, 3.0], mask=[0, 1]),
    "mask of nothing": np.ma.array([2, 3.0]),
    "masked moments": np.ma.array([FINE, FINE], mask=[0, 1]),
    "series": pd.Series([1, 2]), "series with null": pd.Series([1.0, None]),
    "series of moments": pd.Series([pd.Timestamp(FINE)]),
    "index of moments": pd.to_datetime(["2020-01-01"]), "pandas array": pd.array([1, 2]),
    "tensor": torch.tensor([1.0, 2.0]), "scalar tensor": torch.tensor(3),
    "half": torch.tensor([1.0, 2.0], dtype=torch.bfloat16),
    "dict": {"a": [1, None, {"b": 0.1}]}, "numpy in a dict": {"a": np.float32(0.1)},
    "array in a dict": {"a": np.array([1, 2])}, "numbers as keys": {1: 2}, "no keys": {},
    **{
        f"a dict like {tag}": {tag: value}
        for tag, value in {
            "date": "2026-01-01", "datetime": "2026-01-01T00:00:00", "time": "01:00:00",
            "float": "nan", "microseconds": 1, "nanoseconds": 1, "bytes": "AA==", "decimal": "1",
            "json": "{}", "complex": ["0.0", "1.0"],
        }.items()
    },
    "a dict like array": {"array": "AAAA", "dtype": "uint8", "shape": [3]},
}  # fmt: skip


def described(value):
    if isinstance(value, dict):
        return {key: described(part) for key, part in value.items()}
    if value is np.ma.masked or value is None:
        return None
    if isinstance(value, list):
        return [described(part) for part in value]
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return ("objects", described(value.tolist()))
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.str, value.shape, value.tobytes())
    return (type(value).__name__, getattr(value, "dtype", None), repr(value))


@pytest.fixture(scope="module")
def ds():
    made = dl.create("memory://parameters", {"k": "int64"}, overwrite=True)
    made.append({"k": range(2)})
    made.commit("rows")
    return made


def saved(view):
    view.save("kept", overwrite=True)
    return dl.open("memory://parameters").views()["kept"]


KEPT = {
    "saved": saved,
    "pickled": lambda view: pickle.loads(pickle.dumps(view)),
    "pickled, then saved": lambda view: saved(pickle.loads(pickle.dumps(view))),
}


def answers(view):
    return {name: [described(value) for value in view[name][:]] for name in view.columns}


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("name", VALUES)
def test_saved_view_is_queried_with_the_same_value(ds, name):
    value = VALUES[name]
    dl.function(returns="text", name="seen")(lambda x: repr(described(x)))
    columns = "k, SEEN($p) AS seen" if name != "complex array" else "k, ABS($p) AS p"
    if not isinstance(plain_value(value), complex | np.ndarray):
        columns += ", $p AS p, CAST($p AS VARCHAR) AS t"
    view = ds.query(f"SELECT {columns}", {"p": value})
    expected = answers(view)
    assert {how: answers(keep(view)) for how, keep in KEPT.items()} == dict.fromkeys(KEPT, expected)


@pytest.mark.parametrize("name", VALUES)
def test_values_round_trip_through_json_and_pickle(name):
    params = copy_params({"p": VALUES[name], "many": [VALUES[name], 1]})
    expected = described(params)
    assert described(params_from_json(json.loads(json.dumps(params_to_json(params))))) == expected
    assert described(pickle.loads(pickle.dumps(params))) == expected
    assert described(copy_params(params)) == expected


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
    | st.complex_numbers() | st.decimals(allow_nan=False, allow_infinity=False) | st.dates()
    | st.datetimes() | st.times() | st.timedeltas()
    | st.integers(-(2**62), 2**62).map(lambda n: np.datetime64(n, "ns"))
)  # fmt: skip
OBJECTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("date"), inner),
)
NUMBERS = npst.arrays(
    npst.scalar_dtypes().filter(lambda dtype: dtype.kind in "biufc" and dtype.itemsize <= 8),
    npst.array_shapes(min_side=0),
)


@given(st.recursive(SCALARS | OBJECTS | NUMBERS, st.lists, max_leaves=5))
def test_random_values_round_trip_through_json(value):
    params = copy_params([value])
    assert described(params_from_json(json.loads(json.dumps(params_to_json(params))))) == described(
        params
    )


CONTAINERS = {
    "list": lambda a: [a],
    "tuple": lambda a: (a,),
    "deque": lambda a: collections.deque([a]),
    "array of objects": lambda a: np.array([a, None], object)[:1],
    "array of arrays": lambda a: a[None],
    "dict": lambda a: {"p": a},
    "mapping proxy": lambda a: types.MappingProxyType({"p": a}),
    "user dict": lambda a: collections.UserDict(p=a),
    "chain map": lambda a: collections.ChainMap({"p": a}),
    "ordered dict": lambda a: collections.OrderedDict(p=a),
    "series": lambda a: {"p": pd.Series(a, copy=False)},
    "tensor": lambda a: {"p": torch.from_numpy(a)},
    "masked array": lambda a: {"p": np.ma.array(a, copy=False)},
    "read-only": lambda a: {"p": np.broadcast_to(a, a.shape)},
    "tuple of arrays": lambda a: {"p": (a, a)},
    "array of objects in a dict": lambda a: {"p": np.array([a, None], object)[:1]},
}


@pytest.mark.parametrize("how", CONTAINERS)
def test_changing_a_value_later_changes_no_view(how):
    made = dl.create(f"memory://owned-{how.replace(' ', '-')}", {"v": dl.Array("float64", (2,))})
    made.append({"v": np.arange(8.0).reshape(4, 2)})
    made.commit("rows")
    array = np.array([1.0, 2.0])
    params = CONTAINERS[how](array)
    name = "$p" if hasattr(params, "keys") else "?"
    name += "[0]" if how in ("tuple of arrays", "array of objects in a dict") else ""
    view = made.query(f"SELECT v + {name} AS e", params)
    array[...] = 100
    expected = np.arange(8.0).reshape(4, 2) + np.array([1, 2])
    view.save("kept")
    for again in (view, made.views()["kept"], pickle.loads(pickle.dumps(view))):
        assert again["e"][:].tolist() == expected.tolist()


def test_extending_a_dict_or_list_later_changes_no_view(ds):
    value = {"a": [1]}
    view = ds.query("SELECT $p AS p, $q AS q", {"p": value, "q": (many := [1])})
    value["a"].append(2)
    many.append(2)
    assert view["p"][0] == {"a": [1]}
    assert list(view["q"][0]) == [1]


ITSELF = [1]
ITSELF.append(ITSELF)

REFUSED = {
    "an object": object(),
    "a set in a dict": {"a": {1}},
    "a date in a dict": {"a": dt.date(2020, 1, 1)},
    "a tuple as a key": {(1, 2): 3},
    "an array of bytes": np.array([b"a"]),
    "an infinite decimal": decimal.Decimal("inf"),
    "beyond the first year": dt.datetime.min.replace(tzinfo=BERLIN),
    "beyond all years": np.datetime64(20_000, "Y"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_value_is_refused_with_its_position(ds, name):
    for value in (REFUSED[name], [REFUSED[name]], (1, REFUSED[name])):
        with pytest.raises(QueryTypeError, match=r"parameter(.|\n)*Line 1, column 20"):
            ds.query("SELECT k WHERE k = $p", {"p": value})


def test_recursive_list_is_refused(ds):
    with pytest.raises(dl.errors.QueryError, match="deep"):
        ds.query("SELECT k WHERE k IN $p", {"p": ITSELF})


def test_zero_dimensional_array_is_not_a_list_of_parameters(ds):
    with pytest.raises(QueryTypeError, match="Parameters must be a list with a value for each"):
        ds.query("SELECT k WHERE k = ?", np.array(3))


def test_value_without_a_json_form_is_refused():
    with pytest.raises(InvalidValueError, match="storable as JSON"):
        params_to_json([object()])


def test_values_saved_by_an_earlier_release_are_read():
    kept = [{"float": "inf"}, {"a": 1}, {"array": "AQI=", "dtype": "uint8", "shape": [2]}]
    infinite, value, array = params_from_json(kept)
    assert (infinite, value, array.tolist()) == (math.inf, {"a": 1}, [1, 2])
