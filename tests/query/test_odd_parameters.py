"""Parameters that no column can hold."""

from __future__ import annotations

from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl


@pytest.mark.parametrize(
    "value",
    ["\ud800", "a\udfff", np.str_("\ud800"), {"a": "\ud800"}, {"\ud800": 1}],
)
@pytest.mark.parametrize("column", ["text", "json"])
def test_half_a_surrogate_pair_is_refused_as_a_parameter(value, column):
    ds = dl.create(f"memory://{uuid4().hex}", {"text": dl.Text(), "json": dl.Json()})
    ds.append({"text": ["a"], "json": [{"a": 1}]})
    with pytest.raises(dl.errors.QueryTypeError, match="half a surrogate pair"):
        ds.query(f"SELECT * WHERE {column} = ?", [value])
    with pytest.raises(dl.errors.QueryTypeError, match="half a surrogate pair"):
        ds.query(f"SELECT * WHERE {column} IN ?", [[value]])


@pytest.mark.parametrize("dtype", ["float32", "FLOAT", "int8", "BIGINT", "bool"])
@pytest.mark.parametrize(
    "value", [[1.5, 2.0], [1, 0], np.array([1.5, 2.0]), np.array([[1, 0], [3, 4]]), (1, 2)]
)
@pytest.mark.parametrize("text", ["$p", "[k, 2]", "{literal}", "$p + 0", "LIST(k)"])
def test_lists_and_arrays_are_cast_as_tensors(make_lake, dtype, value, text):
    ds = make_lake({"k": "int32"}, k=[1])
    literal = str(np.asarray(value).tolist())
    cast = f"CAST({text.format(literal=literal)} AS {dtype})"
    found = ds.query(f"SELECT {cast} AS x", {"p": value} if "$p" in cast else {})
    name = {"FLOAT": "float32", "BIGINT": "int64"}.get(dtype, dtype)
    of = {"[k, 2]": [1, 2], "LIST(k)": [1]}.get(text, value)
    expected = np.asarray(of).astype(name)
    assert found["x"][0].dtype == expected.dtype
    assert found["x"][0].tolist() == expected.tolist()


def test_lists_are_cast_to_lists_and_texts_as_sql_does(make_lake):
    ds = make_lake({"k": "int32"}, k=[1])
    found = ds.query("SELECT CAST([1, 2] AS TEXT) AS t, CAST([k, 2] AS BIGINT[]) AS l")
    assert found["t"][:] == ["[1, 2]"]
    assert np.asarray(found["l"][0]).tolist() == [1, 2]


def test_a_list_of_texts_is_not_cast_to_numbers(make_lake):
    ds = make_lake({"k": "int32"}, k=[1])
    with pytest.raises(dl.QueryTypeError, match="CAST takes numbers"):
        ds.query("SELECT CAST($p AS float32) AS x", {"p": ["a", "1"]})
