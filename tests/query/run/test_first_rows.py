"""Queries that sort by computed numbers and need only the first rows."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.run import staging
from deeplake_lite.query.run.staging import smallest


@pytest.fixture
def ds(make_lake):
    random = np.random.default_rng(0)
    vectors = np.rint(random.normal(size=(500, 2)) * 2).astype(np.float32)  # with many ties
    vectors[[3, 100, 499]] = np.nan
    vectors[[4, 200]] = np.inf
    vectors[5] = -np.inf
    values = list(vectors)
    for row in (0, 77, 498):
        values[row] = None
    return make_lake(
        {"v": dl.Array("float32", (2,), nullable=True), "n": "int32"}, v=values, n=range(500)
    )


ORDERS = [
    "v[0]", "v[0] DESC", "v[0] + v[1] DESC", "SUM(v), n DESC", "v[0] DESC, v[1], n DESC",
    "v[0] NULLS FIRST", "v[0] DESC NULLS FIRST", "n, v[0]", "ABS(v[0]) DESC", "-v[0]",
]  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("where", ["", "WHERE n % 3 = 0", "WHERE v[1] > 0", "WHERE n < 4"])
def test_first_rows_are_those_of_the_whole_order(ds, monkeypatch, order, where):
    whole = ds.query(f"SELECT n {where} ORDER BY {order}")["n"][:].tolist()
    monkeypatch.setattr(staging, "FEW_FIRST", 0)
    for end, part in {
        "LIMIT 7": whole[:7],
        "LIMIT 5 OFFSET 20": whole[20:25],
        "LIMIT 600": whole,
        "LIMIT 0": [],
    }.items():
        assert ds.query(f"SELECT n {where} ORDER BY {order} {end}")["n"][:].tolist() == part


def test_other_clauses_see_all_rows(ds, monkeypatch):
    queries = (
        "SELECT n, ROW_NUMBER() OVER (ORDER BY n DESC) AS r ORDER BY v[0] LIMIT 5",
        "SELECT DISTINCT n % 5 AS m ORDER BY n % 5 LIMIT 3",
        "SELECT n % 5 AS m, SUM(v[0]) AS s GROUP BY m ORDER BY m LIMIT 3",
        "SELECT n QUALIFY ROW_NUMBER() OVER (PARTITION BY n % 7) = 2 ORDER BY v[0] LIMIT 5",
        "SELECT n ORDER BY v[0], COUNT(*) OVER (PARTITION BY n % 3), n LIMIT 5",
        "SELECT n ORDER BY v[0] LIMIT 5 SAMPLE BY COUNT(*) OVER () LIMIT 3 SEED 1",
        "SELECT UNNEST(v) AS u, n ORDER BY v[0] LIMIT 5",
        "SELECT n WHERE n > (SELECT AVG(n) FROM dataset) ORDER BY v[0] LIMIT 5",
        "SELECT n ORDER BY v[0] LIMIT 5 SAMPLE BY 1 LIMIT 3 SEED 1",
        "SELECT n ORDER BY v[0] LIMIT 5 EXPAND BY 1, 1",
    )
    expected = [ds.query(text).to_pandas() for text in queries]
    monkeypatch.setattr(staging, "FEW_FIRST", 0)
    for text, frame in zip(queries, expected, strict=True):
        assert ds.query(text).to_pandas().equals(frame), text


def test_smallest_values_contain_the_first_of_any_values():
    random = np.random.default_rng(0)
    for _ in range(300):
        values = random.integers(-4, 4, random.integers(1, 60)).astype(np.float32)
        values[random.random(len(values)) < 0.2] = np.nan
        count = int(random.integers(1, 8))
        rows = smallest(values, count)
        if rows is not None:
            first = np.sort(values)[:count]
            assert not np.isnan(first).any()
            assert rows.tolist() == sorted(set(rows.tolist()))
            assert set(np.flatnonzero(values <= first[-1])) <= set(rows.tolist())
        else:
            assert np.count_nonzero(~np.isnan(values)) < 8 * count
