"""Lists that mix strings and numbers are JSON, as a parameter and from a subquery."""

from __future__ import annotations

import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    ds = dl.create("memory://mixed-parameters", {"id": "int64"}, overwrite=True)
    ds.append({"id": range(2)})
    return ds


MIXED = [[1, "x"], [None, True, "x", 2.5], [[1, "x"], [2]], ["2020-01-01", 1], [{"k": "x"}, 1, "y"]]


@pytest.mark.parametrize("values", MIXED)
def test_mixed_list_as_a_parameter_is_json(ds, values):
    assert list(ds.query("SELECT $p AS r LIMIT 1", {"p": values})["r"][:]) == [values]
    assert ds.query("SELECT [$p] AS r LIMIT 1", {"p": values})["r"][:] == [[values]]
    assert ds.query("SELECT LEN($p) AS r LIMIT 1", {"p": values})["r"][:].tolist() == [len(values)]
    assert ds.query("SELECT $p[0] AS r LIMIT 1", {"p": values})["r"][:][0] == values[0]


@pytest.mark.parametrize("values", [v for v in MIXED if not isinstance(v[0], list)])
def test_subquery_of_a_mixed_sequence_is_json(values):
    ds = dl.create("memory://mixed", {"j": dl.Sequence(dl.Json(nullable=True))}, overwrite=True)
    ds.append({"j": [values, []]})
    first = "(SELECT j ORDER BY LEN(j) DESC LIMIT 1)"
    assert ds.query(f"SELECT {first} AS r")["r"][:] == [values] * 2
    assert ds.query(f"SELECT {first}[-1] AS r")["r"][:] == [values[-1]] * 2
    assert ds.query(f"SELECT LEN({first}) AS r")["r"][:].tolist() == [len(values)] * 2
    view = ds.query(f"SELECT j IS NOT DISTINCT FROM {first} AS r, HASH(j) = HASH({first}) AS h")
    assert view["r"][:].tolist() == view["h"][:].tolist() == [True, False]
    chosen = ds.query(f"SELECT CASE WHEN LEN(j) = 0 THEN {first} ELSE j END AS r")
    assert chosen["r"][:] == [values] * 2


SOUGHT = ["x", 1, 2.5, True, "2020-01-01", {"k": "x"}, "missing", 7]


def is_in(value: object, values: list[object]) -> bool | None:
    """Return whether JSON finds a value in a list: true and 1 differ, null is unknown."""
    same = [v == value and isinstance(v, bool) == isinstance(value, bool) for v in values]
    return True if any(same) else None if None in values else False


@pytest.mark.parametrize("values", MIXED)
@pytest.mark.parametrize("value", SOUGHT, ids=repr)
def test_mixed_list_is_searched_as_json(ds, values, value):
    expected = is_in(value, values)
    params = {"p": values, "v": value}
    found = ds.query("SELECT $v IN $p AS r, $v NOT IN $p AS n LIMIT 1", params)
    assert found["r"][:].tolist() == [expected]
    assert found["n"][:].tolist() == [None if expected is None else not expected]


@pytest.mark.parametrize("values", [["x", 1], ["x", 1, None], [1.0, "1", True]])
def test_columns_are_searched_in_mixed_lists(values):
    types = {"w": "text", "i": "int64", "f": "float32", "b": "bool", "j": dl.Json()}
    types |= {"c": dl.ClassLabel(["x", "y"])}
    ds = dl.create("memory://mixed-columns", types, overwrite=True)
    ds.append({"w": ["x", "1"], "i": [1, 2], "f": [1.0, 0.5], "b": [True, False], "j": ["x", 1],
               "c": ["x", "y"]})  # fmt: skip
    ds.commit("rows")
    for name in "wifbj":
        expected = [is_in(getattr(v, "item", lambda v=v: v)(), values) for v in ds[name][:]]
        assert ds.query(f"SELECT {name} IN $p AS r", {"p": values})["r"][:].tolist() == expected
    found = ds.query("SELECT c IN $p AS r", {"p": ["x", 1]})["r"][:]
    assert found.tolist() == [True, True]  # the name of one class and the number of the other


def test_times_are_not_searched_in_mixed_lists():
    ds = dl.create("memory://mixed-times", {"t": "datetime64[us]"}, overwrite=True)
    ds.append({"t": ["2020-01-01"]})
    with pytest.raises(QueryTypeError, match="Times can be compared only with times"):
        ds.query("SELECT t IN $p AS r", {"p": ["2020-01-01", 1]})
