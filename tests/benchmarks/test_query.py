"""Warm queries: a table of 1,000,000 rows, 200,000 vectors, tiny and ordinary images.

Every contender returns the rows that pass (groups for GROUP BY) and reads no other column. Deep
Lake returns a view, Lance a table of row ids, DuckDB positions from an Arrow table in memory.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
import simplejpeg
from numpy.typing import NDArray

from . import corpus, lakes, peers
from .harness import (
    OURS,
    Contender,
    Figures,
    Medians,
    Target,
    at_least_times,
    at_most,
    each_timed,
    median,
)
from .processes import in_fresh_process

pytestmark = pytest.mark.bench

REPEATS = 7
WORDS = ["red", "rose", "tulip", "garden", "bright", "morning", "old", "house", "river", "cat"]
VECTORS, AXES, BEST = 200_000, 128, 10

QUERIES = {
    "filter": ("WHERE label = 3", "label = 3"),
    "filter of two columns": ("WHERE value > 0.9 AND label < 5", "value > 0.9 AND label < 5"),
    "text search": ("WHERE text LIKE '%rose tulip%'", "text LIKE '%rose tulip%'"),
}
"""The SELECT expression, except for ours and Deep Lake's, and Lance's filter."""

DEEP_LAKE = {"text search": "WHERE CONTAINS(text, 'rose tulip')"}
TOP = "ORDER BY value DESC LIMIT 10"
GROUPS = "SELECT label, COUNT(*) AS n, AVG(value) AS mean {}GROUP BY label"


def beside_duckdb(m: Medians) -> bool:
    return m[OURS]["ms"] <= 2 * m["DuckDB"]["ms"] + 4


BESIDE_DUCKDB = Target("≤ 2x DuckDB + 4 ms", beside_duckdb)


def faster_than(factor: float, peer: str) -> Target:
    def holds(m: Medians) -> bool:
        return m[OURS]["ms"] * factor <= m[peer]["ms"]

    return Target(f"≥ {factor:g}x as fast as {peer}" if factor > 1 else f"≤ {peer}", holds)


def warm(action: Callable[[], object]) -> Contender:
    """Time an action after a warm-up: the median of several runs."""

    def measure() -> Figures:
        action()
        times = each_timed(lambda _: action(), range(REPEATS))
        return median([{"ms": time} for time in times])

    return measure


def columns(count: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    words = np.array(WORDS)[rng.integers(len(WORDS), size=(count, 4))]
    return {
        "label": rng.integers(10, size=count),
        "value": rng.random(count, dtype=np.float32),
        "text": [" ".join(row) for row in words.tolist()],
    }


@pytest.fixture(scope="module")
def table(work: Path, rows: int, peers_only: bool) -> Iterator[SimpleNamespace]:
    """Yield the same table in each library."""
    data = columns(rows)
    types = peers.types
    schema = {"label": types.Int64(), "value": types.Float32(), "text": types.Text()}
    deep_lake = peers.deep_lake_create(work / "peers", schema)
    for start in range(0, rows, 100_000):
        deep_lake.append({name: cells[start : start + 100_000] for name, cells in data.items()})
    deep_lake.commit()
    peers.lance_ingest(work / "peers", data)
    if not peers_only:
        ours = lakes.dl.create(
            str(work / "lake"), {"label": "int64", "value": "float32", "text": lakes.dl.Text()}
        )
        ours.append(data)
        ours.commit("table")
    arrow = pa.table({**data, "row": np.arange(rows)})
    duck = duckdb.connect()
    duck.register("t", arrow)
    yield SimpleNamespace(
        folder=work,
        ours=None if peers_only else lakes.open_lake(work),
        duck=lambda sql: duck.sql(sql).to_arrow_table(),
        lance=peers.lance_open(work / "peers"),
        deep_lake=peers.deep_lake_open(work / "peers"),
    )
    duck.close()


def lance_filter(lake: Any, condition: str) -> pa.Table:
    return lake.to_table(columns=[], filter=condition, with_row_id=True)


@pytest.mark.parametrize("name", QUERIES)
def test_rows_that_pass(race, report, table, rows, name):
    ours, condition = QUERIES[name]
    rounds = race(
        {
            OURS: warm(lambda: table.ours.query(f"SELECT * {ours}")),
            "DuckDB": warm(lambda: table.duck(f"SELECT row FROM t WHERE {condition}")),
            "Lance": warm(lambda: lance_filter(table.lance, condition)),
            "Deep Lake": warm(
                lambda: table.deep_lake.query(f"SELECT * {DEEP_LAKE.get(name, ours)}")
            ),
        }
    )
    targets = (faster_than(10, "Deep Lake"), BESIDE_DUCKDB, faster_than(1, "Lance"))
    report.add(f"{name}, {rows:,} rows", rounds, *targets)


def test_top_rows_by_value(race, report, table, rows):
    rounds = race(
        {
            OURS: warm(lambda: table.ours.query(f"SELECT * {TOP}")),
            "DuckDB": warm(lambda: table.duck(f"SELECT row FROM t {TOP}")),
            "Deep Lake": warm(lambda: table.deep_lake.query(f"SELECT * {TOP}")),
        }
    )
    targets = (faster_than(10, "Deep Lake"), BESIDE_DUCKDB)
    report.add(f"ten rows with the highest values, {rows:,} rows", rounds, *targets)


def test_groups(race, report, table, rows):
    rounds = race(
        {
            OURS: warm(lambda: table.ours.query(GROUPS.format(""))),
            "DuckDB": warm(lambda: table.duck(GROUPS.format("FROM t "))),
        }
    )  # Deep Lake 4.7.4 has neither COUNT nor AVG of a group
    report.add(f"count and mean of ten groups, {rows:,} rows", rounds, BESIDE_DUCKDB)


def test_open_and_first_query(race, report, table, rows):
    rounds = race({OURS: partial(in_fresh_process, "query", table.folder / "lake")}, 5)
    report.add(f"open and first query, {rows:,} rows", rounds, at_most(500, "ms"))


# ---- vectors


def best_rows(vectors: NDArray[Any], norms: NDArray[Any], query: NDArray[Any]) -> NDArray[Any]:
    scores = (vectors @ query) / norms
    top = np.argpartition(-scores, BEST)[:BEST]
    return top[np.argsort(-scores[top])]


def test_nearest_vectors(race, report, work, peers_only):
    folder, rng = work / "vectors", np.random.default_rng(0)
    vectors = rng.standard_normal((VECTORS, AXES), dtype=np.float32)
    query, norms = rng.standard_normal(AXES, dtype=np.float32), np.linalg.norm(vectors, axis=1)
    deep_lake = peers.deep_lake_create(folder / "peers", {"embedding": peers.types.Embedding(AXES)})
    deep_lake.append({"embedding": vectors})
    deep_lake.commit()
    peers.lance_ingest(folder / "peers", {"embedding": vectors})
    ours: Any = None
    if not peers_only:
        ours = lakes.dl.create(str(folder / "lake"), {"embedding": lakes.dl.Embedding(AXES)})
        ours.append({"embedding": vectors})
        ours.commit("vectors")
        expected = best_rows(vectors, norms, query)
        assert (nearest(ours, query).row_ids == ours.row_ids[expected]).all()
    text = ", ".join(map(str, query.tolist()))
    asked = f"SELECT * ORDER BY COSINE_SIMILARITY(embedding, ARRAY[{text}]) DESC LIMIT {BEST}"
    near = {"column": "embedding", "q": query, "k": BEST, "metric": "cosine", "use_index": False}
    deep_lake, lance = peers.deep_lake_open(folder / "peers"), peers.lance_open(folder / "peers")
    rounds = race(
        {
            OURS: warm(lambda: nearest(ours, query)),
            "NumPy": warm(lambda: best_rows(vectors, norms, query)),
            "Lance": warm(lambda: lance.to_table(columns=[], nearest=near, with_row_id=True)),
            "Deep Lake": warm(lambda: deep_lake.query(asked)),
        }
    )
    numpy = Target("≤ 1.3x NumPy + 5 ms", lambda m: m[OURS]["ms"] <= 1.3 * m["NumPy"]["ms"] + 5)
    figure = f"exact cosine top-{BEST}, {VECTORS:,} x {AXES}"
    report.add(figure, rounds, numpy, faster_than(5, "Deep Lake"))


def nearest(lake: Any, query: NDArray[Any]) -> Any:
    text = f"SELECT * ORDER BY COSINE_SIMILARITY(embedding, ?) DESC LIMIT {BEST}"
    return lake.query(text, [query])


# ---- images


def test_shapes(needs_ours, race, report, work, rows):  # noqa: ARG001 skips first
    pool = corpus.jpeg_crops(100, 16, seed=1) + corpus.jpeg_crops(100, 24, seed=1)
    folder = work / "tiny"
    lake = lakes.image_lake(folder)
    for start in range(0, rows, 100_000):
        lake.append({"image": lakes.repeat(pool, min(100_000, rows - start))})
    lake.commit("tiny")
    rounds = race({OURS: warm(lambda: lake.query("SELECT * WHERE SHAPE(image)[0] > 20"))})
    report.add(f"a predicate on SHAPE, {rows:,} images", rounds, at_most(100, "ms"))


def test_means(race, report, work, jpegs, peers_only):
    folder = work / "jpegs"
    ours: Any = None if peers_only else lakes.image_lake(folder, jpegs)
    pool = ThreadPoolExecutor(2)

    def decode(start: int) -> None:
        for data in jpegs[start : start + 32]:
            simplejpeg.decode_jpeg(data)

    def rate(action: Callable[[], object]) -> Contender:
        return lambda: {"images/s": len(jpegs) / (each_timed(lambda _: action(), [0])[0] / 1e3)}

    rounds = race(
        {
            OURS: rate(lambda: ours.query("SELECT * WHERE MEAN(image) > 120")),
            "decode, two threads": rate(lambda: list(pool.map(decode, range(0, len(jpegs), 32)))),
        }
    )
    target = at_least_times(0.8, "decode, two threads", "images/s")
    report.add(f"MEAN(image) > 120, {len(jpegs):,} JPEGs", rounds, target)
    pool.shutdown()
