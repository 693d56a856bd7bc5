"""64-bit signed and unsigned integers in one column are exact or an error, never rounded."""

from __future__ import annotations

import operator
from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl

ODD = 2**53 + 1
"""An integer that float64 does not represent."""

BEYOND = 2**63 + 5
"""An integer that int64 does not hold."""


def _lake(unsigned: list[int], signed: list[int]) -> dl.Dataset:
    ds = dl.create(f"memory://{uuid4()}", {"u": "uint64", "i": "int64"})
    ds.append({"u": unsigned, "i": signed})
    return ds


BOTH = [
    "SELECT CASE WHEN i > 0 THEN u ELSE i END AS v", "SELECT [u, i] AS v",
    "SELECT UNNEST([u, i]) AS v", "SELECT u AS v FROM dataset UNION ALL SELECT i FROM dataset",
    "SELECT i AS v FROM dataset UNION SELECT u FROM dataset", "SELECT IF(i > 0, u, i) AS v",
    "SELECT LIST_VALUE(u, i) AS v",
]  # fmt: skip


@pytest.mark.parametrize("query", BOTH)
def test_value_that_neither_type_holds_is_an_error(query: str) -> None:
    ds = _lake([ODD, BEYOND, 7], [1, 2, -3])
    with pytest.raises(dl.QueryTypeError, match="must fit in int64 or uint64"):
        ds.query(query)["v"][:]


@pytest.mark.parametrize("query", BOTH)
@pytest.mark.parametrize(("unsigned", "signed"), [([ODD, 3], [1, -3]), ([ODD, BEYOND], [1, 3])])
def test_value_that_one_type_holds_is_exact(
    query: str, unsigned: list[int], signed: list[int]
) -> None:
    result = _lake(unsigned, signed).query(query)["v"][:]
    flat = [int(n) for v in result for n in (v if isinstance(v, list) else [v])]
    assert ODD in flat
    assert set(flat) <= {*unsigned, *signed}


@pytest.mark.parametrize(
    ("sign", "op"), [("+", operator.add), ("-", operator.sub), ("*", operator.mul)]
)
@pytest.mark.parametrize("u", [0, 3, ODD, 2**63 - 1, BEYOND, 2**64 - 1])
@pytest.mark.parametrize("i", [-(2**63), -ODD, -1, 0, 2, ODD, 2**63 - 1])
def test_arithmetic_is_exact_or_an_error(sign: str, op: object, u: int, i: int) -> None:
    ds = _lake([u, 7], [i, 1])
    try:
        result = ds.query(f"SELECT u {sign} i AS v")["v"][:]
    except dl.QueryTypeError:
        assert not 0 <= op(u, i) < 2**64  # type: ignore[operator]
        return
    assert int(result[0]) == op(u, i)  # type: ignore[operator]


def test_structs_hold_integers_of_any_size() -> None:
    result = _lake([ODD, BEYOND], [ODD, -3]).query("SELECT {'a': u + i, 'b': u} AS v")["v"][:]
    assert result == [{"a": 2 * ODD, "b": ODD}, {"a": BEYOND - 3, "b": BEYOND}]


def test_sums_beyond_64_bits_are_an_error() -> None:
    ds = _lake([2**64 - 1, 2**64 - 1], [1, 1])
    with pytest.raises(dl.QueryTypeError, match="CAST an operand AS DOUBLE"):
        ds.query("SELECT SUM(u) AS v")["v"][:]
    assert ds.query("SELECT SUM(CAST(u AS DOUBLE)) AS v")["v"][0] == 2.0**65


# ---- sums of unsigned integers


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int8", "bool"])
@pytest.mark.parametrize(
    "expression", ["SUM(a) - SUM(b)", "SUM(a, axis=0) - SUM(b, axis=0)", "SUM(a) - 100",
                   "-SUM(b)", "PROD(a) - 10", "SUM(a, axis=[0, 1]) - SUM(b, axis=[0, 1]) * 2"],
)  # fmt: skip
def test_differences_of_sums_do_not_wrap_around(dtype: str, expression: str) -> None:
    array = dl.Array(dtype, (2, 3))
    ds = dl.create(f"memory://{uuid4()}", {"a": array, "b": array, "k": "int64"})
    a, b = (np.full((2, 3), n).astype(dtype) for n in (1, 100))
    ds.append({"a": [a], "b": [b], "k": [0]})
    wide = {"SUM": np.sum, "PROD": np.prod, "a": a.astype("int64"), "b": b.astype("int64")}
    wide["SUM"] = lambda x, axis=None: np.sum(x, axis=tuple(axis) if axis else axis)
    if "axis=0" in expression:
        wide["SUM"] = lambda x, axis: np.sum(x, axis=axis)
    expected = eval(expression, {}, wide)
    np.testing.assert_array_equal(ds.query(f"SELECT {expression} AS v")["v"][0], expected)


def test_sums_over_a_group_do_not_wrap_around() -> None:
    ds = dl.create(f"memory://{uuid4()}", {"a": dl.Array("uint8", (2,)), "k": "int64"})
    ds.append({"a": np.array([[1, 2], [3, 4]], "uint8"), "k": [0, 0]})
    result = ds.query("SELECT SUM(a) - 100 AS v, PROD(a) - 100 AS w GROUP BY k")
    assert (result["v"][0].tolist(), result["w"][0].tolist()) == ([-96, -94], [-97, -92])


MIXED = [
    "SELECT {a} AS x FROM ds UNION ALL SELECT {b} AS x FROM ds",
    "SELECT CASE WHEN i = 0 THEN {a} ELSE {b} END AS x",
    "SELECT COALESCE({n}, {b}) AS x",
    "SELECT IF(i = 0, {b}, {a}) AS x",
    "SELECT CASE WHEN i = 0 THEN {s} WHEN i = 1 THEN {a} ELSE {b} END AS x",
]


@pytest.fixture(scope="module", params=[(2,), (None,)])
def mixed(request):
    shape = request.param
    types = {"a": "int64", "b": "uint64", "s": "int8", "l": "uint64"}
    schema = {name: dl.Array(dtype, shape) for name, dtype in types.items()}
    schema |= {"n": dl.Array("int64", shape, nullable=True), "i": "int32"}
    ds = dl.create("memory://mixed-integers", schema, overwrite=True)
    ds.append({
        "i": [0, 1, 2], "a": [[2**53 + 1, -1]] * 3, "b": [[2**53 + 1, 2**62 + 1]] * 3,
        "s": [[-1, 1]] * 3, "l": [[2**63 + 1, 1]] * 3, "n": [None, [2**53 + 1, -2], None],
    })  # fmt: skip
    ds.commit("rows")
    return ds


@pytest.mark.parametrize("text", MIXED)
def test_signed_and_unsigned_tensors_stay_exact_in_one_column(mixed, text):
    result = mixed.query(text.format(a="a", b="b", n="n", s="s"))
    assert result.schema["x"].htype.dtype == "int64"
    rows = [np.asarray(v).tolist() for v in result["x"][:]]
    assert {n for row in rows for n in row} <= {2**53 + 1, -1, 2**62 + 1, -2, 1}
    assert [2**53 + 1, 2**62 + 1] in rows


@pytest.mark.parametrize("text", MIXED)
def test_unsigned_tensor_beyond_int64_is_refused(mixed, text):
    result = pytest.raises(dl.QueryTypeError, match=f"must be at most .* contains {2**63 + 1}")
    with result:
        mixed.query(text.format(a="a", b="l", n="n", s="s"))["x"][:]


def test_constants_next_to_unsigned_tensors_stay_exact(mixed):
    result = mixed.query("SELECT CASE WHEN i = 1 THEN b ELSE [-1, 3] END AS x")
    rows = [np.asarray(v).tolist() for v in result["x"][:]]
    assert rows == [[-1, 3], [2**53 + 1, 2**62 + 1], [-1, 3]]


def test_integers_next_to_floats_behave_as_in_numpy(mixed):
    result = mixed.query("SELECT CASE WHEN i = 0 THEN b ELSE [0.5, 1] END AS x")
    assert result.schema["x"].htype.dtype == "float64"
