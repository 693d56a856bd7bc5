"""Arrays of floats are told apart by value, however they are stored.

A column of floats is hashed by its numbers, in which -0.0 equals 0.0 and every NaN is one value.
That holds for arrays that a codec compresses, too: their bytes depend on the signs of zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite import codecs

if TYPE_CHECKING:
    from collections.abc import Callable

DTYPES = ["float16", "float32", "float64", "complex64", "complex128"]
CODECS: list[str | None] = [None, *codecs.NUMBERS]
LENGTHS = [0, 1, 3, 100, 1000]

COLUMNS: dict[str, Callable[[str, str | None], dl.Htype]] = {
    "vector": lambda dtype, codec: dl.Array(dtype, (None,), codec=codec),
    "depth": lambda dtype, codec: dl.Array(dtype, (None, None), codec=codec),
    "pair": lambda dtype, codec: dl.Array(dtype, (2,), codec=codec),
    "any": lambda dtype, codec: dl.Array(dtype, None, codec=codec),
    "listed": lambda dtype, codec: dl.Sequence(dl.Array(dtype, (None,), codec=codec)),
}
"""The types of columns by their names; each has a nullable column, too."""


def values_of(name: str, dtype: str) -> list[list[Any]]:
    """Return groups of equal values."""
    if name == "pair":
        pairs = [[[0, 1], [-0.0, 1]], [[np.nan, 1], [-np.nan, 1]], [[2, 3]]]
        return [[np.array(pair, dtype) for pair in group] for group in pairs]
    groups = []
    for n in LENGTHS:
        zeros, nans = np.zeros(n, dtype), np.full(n, np.nan, dtype)
        groups += [[zeros, -zeros], [nans, -nans], [zeros + 1]] if n else [[zeros, zeros]]
    shaped: dict[str, Callable[[Any], Any]] = {
        "depth": lambda v: v.reshape(-1, 1),
        "any": lambda v: v.reshape((1,) * (len(v) % 3) + (-1,)),
        "listed": lambda v: [v, v],
    }
    shape = shaped.get(name, lambda v: v)
    return [[shape(value) for value in group] for group in groups]


@pytest.fixture(scope="module", params=[(d, c) for d in DTYPES for c in CODECS], ids=str)
def lake(request: pytest.FixtureRequest) -> tuple[dl.Dataset, dict[str, list[int]]]:
    """Return a lake per column type, and for each column the group of each row's value."""
    dtype, codec = request.param
    lakes: dict[str, Any] = {}
    for name, make in COLUMNS.items():
        htype = make(dtype, codec)
        groups = values_of(name, dtype)
        rows = [value for group in groups for value in group]
        numbers = [at for at, group in enumerate(groups) for _ in group]
        ds = dl.create(
            f"memory://compressed-{dtype}-{codec}-{name}",
            {"id": "int64", "x": htype, "n": htype.computed()},
            overwrite=True,
        )
        ds.append({"id": numbers, "x": rows, "n": rows})
        ds.append({"id": [len(groups)], "x": rows[:1], "n": [None]})
        ds.commit("rows")
        lakes[name] = ds
    return lakes


@pytest.mark.parametrize("name", COLUMNS)
def test_clauses_tell_arrays_apart_by_value(lake, name):
    ds = lake[name]
    ids = ds["id"][:].tolist()
    kinds = {"x": [0 if i == max(ids) else i for i in ids], "n": ids}
    for x, groups in kinds.items():
        n = len(set(groups))
        present = n - (x == "n")
        assert len(ds.query(f"SELECT DISTINCT {x}")) == n
        assert len(ds.query(f"SELECT {x}, COUNT(*) AS c GROUP BY {x}")) == n
        assert int(ds.query(f"SELECT COUNT(DISTINCT {x}) AS c")["c"][0]) == present
        assert int(ds.query(f"SELECT COUNT(DISTINCT HASH({x})) AS c")["c"][0]) == present
        assert len(ds.query(f"SELECT {x} UNION SELECT {x}")) == n
        assert len(ds.query(f"SELECT {x} INTERSECT SELECT {x}")) == n
        assert len(ds.query(f"SELECT {x} EXCEPT SELECT {x} WHERE id = 1")) == n - 1
        assert len(ds.query(f"SELECT id ARRANGE BY {x}")) == len(ids)
        joined = ds.query(
            f"SELECT a.id AS i FROM t AS a JOIN t AS b ON a.{x} IS NOT DISTINCT FROM b.{x}",
            sources={"t": ds},
        )
        assert len(joined) == sum(groups.count(g) for g in groups)
        nested = ds.query(
            f"SELECT (SELECT COUNT(*) FROM t AS b WHERE b.{x} IS NOT DISTINCT FROM a.{x}) AS c "
            "FROM t AS a",
            sources={"t": ds},
        )
        assert nested["c"][:].tolist() == [groups.count(g) for g in groups]


def test_codecs_do_not_change_keys_and_splits():
    ds = dl.create(
        "memory://compressed-keys",
        {"k": dl.Array("float32", (None,), codec="zstd"), "v": "int64"},
        overwrite=True,
    )
    zeros = np.zeros(1000, np.float32)
    ds.append({"k": [zeros, zeros + 1], "v": [1, 2]})
    ds.upsert({"k": [-zeros], "v": [3]}, on="k")
    assert ds["v"][:].tolist() == [3, 2]
