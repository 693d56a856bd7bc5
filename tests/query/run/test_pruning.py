"""Skipping chunks by their statistics does not change the answer."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.run import sources, staging
from deeplake_lite.query.run.cache import CACHE

ROWS = 8192 * 6

CONDITIONS = [
    "x < 10",
    "x <= 8192 AND x > 8000",
    "x = 20000",
    "20000.0 = x",
    "x > 49000.5",
    "x BETWEEN 9000 AND 9010",
    "x IN (5, 30000)",
    "x < 5 OR x > 49150",
    "NOT (x > 5)",
    "x <> 5 AND x < 7",
    "f > 40000",
    "f >= 0.1 AND f < 3",
    "f < -1",
    "f = 16384.1",
    "f IN (1, 2, 3)",
    "n IS NULL",
    "n IS NOT NULL AND x < 3",
    "n > 49100",
    "b = TRUE AND x < 20",
    "t < '1970-01-02'",
    "t = '1970-01-01 00:00:07'",
    "name = 'few'",
    "x > 1e30",
    "x < -300",
    "x > 5 AND text LIKE '%7' AND x < 30",
]


@pytest.fixture(autouse=True)
def read_rows():
    """Read all rows at once, except where a test says otherwise, because the lake has many rows."""


@pytest.fixture(scope="module")
def lake():
    """Return a lake with increasing columns, with nulls, NaN and updates that widen the bounds."""
    x = np.arange(ROWS)
    f = x.astype("float32")
    f[100], f[30_000], f[9] = np.nan, np.inf, 0.1
    ds = dl.create(
        "memory://pruned",
        {
            "x": "int32",
            "f": "float32",
            "n": dl.Scalar("int64", nullable=True),
            "b": "bool",
            "t": dl.Scalar("datetime64[s]"),
            "name": dl.ClassLabel(["many", "few"]),
            "text": dl.Text(),
        },
        overwrite=True,
    )
    ds.append(
        {
            "x": x,
            "f": f,
            "n": np.ma.MaskedArray(x, (x > 8500) & (x < 8600)),
            "b": x < 5,
            "t": x.astype("datetime64[s]"),
            "name": (x == 17_000).astype(int),
            "text": [f"text {i}" for i in range(ROWS)],
        }
    )
    ds.commit("rising")
    ds.update([45_000, 20], {"x": [3, 20_000], "f": [np.nan, 45_000], "n": [None, 5]})
    ds.commit("changed")
    return ds


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("shape", ["all", "deleted", "shuffled"])
def test_rows_are_the_same_without_statistics(lake, condition, shape, monkeypatch):
    view = lake if shape == "all" else lake[1:]
    if shape == "shuffled":
        view = lake[np.random.default_rng(0).permutation(ROWS)[: ROWS // 2]]
    asked = f"SELECT x, text WHERE {condition}"
    CACHE.clear()
    pruned = view.query(asked)
    with monkeypatch.context() as patch:
        patch.setattr(staging, "wanted_chunks", lambda _: None)
        whole = view.query(asked)
    assert (pruned.row_ids == whole.row_ids).all()


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("shape", ["all", "deleted", "shuffled"])
@pytest.mark.parametrize("cached", ["x", "none"])
def test_rows_are_the_same_in_blocks(lake, condition, shape, cached, monkeypatch):
    view = lake if shape == "all" else lake[1:]
    if shape == "shuffled":
        view = lake[np.random.default_rng(0).permutation(ROWS)[: ROWS // 2]]
    asked = f"SELECT x, text WHERE {condition}"
    monkeypatch.setattr(sources, "READ_ROWS", ROWS)
    whole = view.query(asked)
    monkeypatch.setattr(sources, "READ_ROWS", 10_000)
    CACHE.clear()
    if cached == "x":
        lake.query("SELECT SUM(x) AS total")
    else:
        monkeypatch.setattr(CACHE, "_limit", 1_000)
    assert (view.query(asked).row_ids == whole.row_ids).all()


def test_most_rows_in_memory_are_those_of_a_block(lake, monkeypatch):
    monkeypatch.setattr(sources, "READ_ROWS", 10_000)
    monkeypatch.setattr(CACHE, "_limit", 1_000)
    CACHE.clear()
    read, scalar = [], sources.Source.scalar

    def count(source, f, rows=None):
        span = range(len(source))
        read.append(len(span if rows is None else span[rows] if isinstance(rows, slice) else rows))
        return scalar(source, f, rows)

    monkeypatch.setattr(sources.Source, "scalar", count)
    found = lake.query("SELECT x WHERE x % 1000 = 7")
    assert max(read) == 10_000
    assert sum(read) == ROWS
    [step, where, _] = found.record.steps
    assert (step.rows_in, step.rows_out, where.rows_out) == (ROWS, ROWS, len(found))


def test_chunks_that_cannot_match_are_not_read(lake):
    CACHE.clear()
    plan = lake.query("SELECT x WHERE x > 49000 AND text LIKE '%7'").record
    [read] = [s for s in plan.steps if s.name == "read"]
    assert (read.rows_in, read.rows_out) == (ROWS, 8192)
    assert "[49,152 -> 8,192 rows, 32.8 KB read" in lake.query("SELECT x WHERE x = 49000").explain()


def test_cached_column_is_used_whole(lake):
    CACHE.clear()
    lake.query("SELECT SUM(x) AS total")
    [read, _] = lake.query("SELECT * WHERE x = 5").record.steps
    assert (read.rows_out, read.nbytes) == (ROWS, 0)


def test_uncommitted_edits_count(lake):
    ds = dl.open(lake.url)
    CACHE.clear()
    ds.update([49_000], {"x": [-5]})
    assert ds.query("SELECT x WHERE x < 0")["x"][:].tolist() == [-5]
