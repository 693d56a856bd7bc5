"""Rows are sorted in NumPy exactly as in the database."""

from unittest import mock

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.run import execute, row_sort

RNG = np.random.default_rng(0)
N = 500
COLUMNS = {
    "int8": RNG.integers(-128, 128, N),
    "int32": RNG.integers(-5, 5, N),
    "int64": RNG.integers(-(2**62), 2**62, N) >> RNG.integers(0, 60, N),
    "far": np.array([-(2**63), 2**63 - 1, *RNG.integers(-9, 9, N - 2)]),
    "uint16": RNG.integers(0, 2**16, N),
    "uint64": np.uint64(2**64 - 1) - RNG.integers(0, 2**40, N).astype(np.uint64),
    "float32": RNG.choice([0.0, -0.0, 1.5, -2.5, 1e-40, -1e-40, np.inf, -np.inf, np.nan], N),
    "finite": RNG.choice([0.0, -0.0, 1.5, -2.5, 1e-40, -1e-40, 3e38, -3e38], N),
    "float64": RNG.random(N),
}
TYPES = {"far": "int64", "finite": "float32"}


@pytest.fixture(scope="module")
def ds():
    types = {name: TYPES.get(name, name) for name in COLUMNS}
    ds = dl.create("memory://row-sort", types | {"null": dl.Scalar("int8", nullable=True)})
    nulls = [None if i % 7 == 0 else i % 50 for i in range(N)]
    ds.append({n: v.astype(types[n]) for n, v in COLUMNS.items()} | {"null": nulls})
    ds.commit("rows")
    return ds


@pytest.mark.parametrize("direction", ["ASC", "DESC", "ASC NULLS FIRST", "DESC NULLS LAST"])
@pytest.mark.parametrize("column", [*COLUMNS, "null"])
def test_order_is_that_of_the_database(ds, column, direction):
    query = f"SELECT * ORDER BY {column} {direction}"
    ours = ds.query(query).rows.slots
    with mock.patch.object(execute, "sort_rows", return_value=None):
        theirs = ds[:].query(query + " ").rows.slots
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("column", ["int8", "int32", "uint16", "uint64", "finite"])
def test_one_numeric_column_is_sorted_without_the_database(ds, column):
    with mock.patch.object(row_sort, "_order", wraps=row_sort._order) as order:
        ds.query(f"SELECT {column} ORDER BY {column} DESC")
    assert order.call_count == 1


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * WHERE int8 > 0 ORDER BY int32",
        "SELECT * ORDER BY int32 LIMIT 5",
        "SELECT * ORDER BY int32, int8",
        "SELECT * ORDER BY int32 + 1",
        "SELECT int8 AS int32 ORDER BY int32",
        "SELECT DISTINCT int32 ORDER BY int32",
        "SELECT int32, COUNT(*) AS n GROUP BY int32 ORDER BY int32",
    ],
)
def test_other_statements_give_the_same_result(ds, query):
    ours = ds.query(query)
    with mock.patch.object(execute, "sort_rows", return_value=None):
        theirs = ds[:].query(query + " ")
    assert ours.to_pandas().equals(theirs.to_pandas())


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows_are_sorted(ds, rows):
    assert ds[N - rows :].query("SELECT * ORDER BY int32").rows.slots.tolist() == sorted(
        range(N - rows, N), key=lambda i: (COLUMNS["int32"][i], i)
    )


def test_subset_in_another_order_is_sorted_by_its_own_positions(ds):
    rows = RNG.permutation(N)[:200]
    found = ds[rows].query("SELECT * ORDER BY int32").rows.slots
    order = np.argsort(COLUMNS["int32"][rows], kind="stable")
    np.testing.assert_array_equal(found, rows[order])
