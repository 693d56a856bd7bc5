"""A zero-dimensional array equals a number, and so do their hashes."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl

NUMBERS: dict[str, list[Any]] = {
    "bool": [False, True], "int8": [-128, 0, 1, 7], "uint8": [0, 1, 255],
    "int64": [-(2**63), -1, 0, 1, 2**53 + 1, 2**63 - 1],
    "uint64": [0, 1, 2**53 + 1, 2**63, 2**64 - 1], "float16": [0.0, 0.5, 1.0, np.nan, np.inf],
    "float32": [0.0, -0.0, 0.5, 1.0, 2.0**63, 1e30, np.nan, -np.inf],
    "float64": [0.0, -0.0, 0.1, 1.0, 2.0**53, 2.0**63, 2.0**64, 1e30, 1e300, np.nan, np.inf],
}  # fmt: skip


@cache
def lake(dtype: str) -> dl.Dataset:
    """Return a lake with numbers as zero-dimensional arrays, as scalars, and in larger arrays."""
    numbers = NUMBERS[dtype]
    schema = {"x": dl.Array(dtype, None), "y": dl.Array(dtype, None), "s": dl.Scalar(dtype)}
    ds = dl.create(f"memory://single-{dtype}", schema)
    arrays = [np.asarray(n, dtype) for n in numbers]
    ds.append({"x": arrays, "s": numbers, "y": [np.full((1, 1), n, dtype) for n in numbers]})
    return ds


@pytest.mark.parametrize("dtype", NUMBERS)
def test_zero_dimensional_column_hashes_like_its_numbers(dtype: str) -> None:
    ds = lake(dtype)
    result = ds.query("SELECT HASH(x) = HASH(s) AS a, HASH(y) = HASH(s) AS b, HASH(x) AS c, s")
    assert result["a"][:].all()
    assert not result["b"][:].any()
    assert result["c"][:].tolist() == ds.query("SELECT HASH(s) AS c")["c"][:].tolist()
    assert ds.query("SELECT HASH(COALESCE(x, x)) = HASH(s) AS a")["a"][:].all()
    numbers = [np.asarray(number, dtype).item() for number in NUMBERS[dtype]]
    for number in numbers:
        if not np.isnan(number):
            equal = [n == number for n in numbers]
            query = "SELECT HASH(x) = HASH($p) AS a"
            for parameter in (number, np.asarray(number, dtype)):
                assert ds.query(query, {"p": parameter})["a"][:].tolist() == equal


@pytest.mark.parametrize("pair", [*product(NUMBERS, NUMBERS)], ids="-".join)
def test_equal_numbers_of_two_dtypes_have_one_hash(pair: tuple[str, str]) -> None:
    ds, other = (lake(dtype) for dtype in pair)
    result = ds.query(
        "SELECT a.s AS s, b.s AS t, HASH(a.x) = HASH(b.s) AS x, HASH(a.x) = HASH(b.x) AS y, "
        "HASH(a.s) = HASH(b.x) AS z FROM dataset AS a, other AS b",
        sources={"other": other},
    )
    for row in result:
        s, t = row["s"].item(), row["t"].item()
        if s == s or t == t:
            assert {row["x"], row["y"], row["z"]} == {s == t}, (s, t)


def test_different_values_with_the_same_bits_have_different_hashes(make_lake):
    ds = make_lake(
        {"u": "uint8", "f": "float64", "h": "float32", "j": dl.Json()},
        u=[1, 2, 0], f=[5e-324, 0.5, 0.25], h=[1, 0.5, 0.25], j=[1, 0.5, 0.25],
    )  # fmt: skip
    for a, b in combinations("ufhj", 2):
        result = ds.query(f"SELECT HASH({a}) = HASH({b}) AS same, {a} = {b} AS equal")
        assert result["same"][:].tolist() == result["equal"][:].tolist()


def test_times_are_hashed_by_value_whatever_their_unit(make_lake):
    counts = [-1000, -1, -1500, -999, 1_000_000_001, 1000]
    moments = np.array(counts, "datetime64[ns]")
    ds = make_lake(
        {"a": "datetime64[ns]", "b": "datetime64[us]"},
        a=moments,
        b=np.array(counts, "datetime64[us]"),
    )
    result = ds.query("SELECT COUNT(DISTINCT HASH(a)) AS n")["n"][0]
    assert result == len(set(counts))
    pairs = ds.query(
        "SELECT HASH(x.a) = HASH(y.b) AS same, x.a = y.b AS equal FROM dataset AS x, dataset AS y"
    )
    assert pairs["same"][:].tolist() == pairs["equal"][:].tolist()
