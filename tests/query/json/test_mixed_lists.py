"""Lists that mix strings and numbers are JSON, as a parameter and from a subquery."""

from __future__ import annotations

import pytest

import deeplake_lite as dl


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
