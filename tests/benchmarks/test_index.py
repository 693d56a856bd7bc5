"""Indexes: vectors in clusters, and texts whose words have Zipf's frequencies.

Searches are timed one by one, in CPU time of one thread. The recall is the share of the ten nearest
vectors, by cosine similarity, that a search finds for queries near to stored vectors.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import faiss
import numpy as np
import pytest
import tantivy
from numpy.typing import NDArray
from usearch.index import Index as USearch

from . import lakes
from .harness import OURS, Contender, Figures, Target, at_least, at_most, median, timed

pytestmark = pytest.mark.bench

AXES, BEST, QUERIES, WORDS = 128, 10, 100, 100_000
CLUSTER_ROWS = 200
"""Average number of vectors in a cluster."""


def clustered(rows: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((max(1, rows // CLUSTER_ROWS), AXES), dtype=np.float32)
    vectors = centres[rng.integers(0, len(centres), rows)]
    vectors += 0.7 * rng.standard_normal((rows, AXES), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def each_searched[Q](
    search: Callable[[Q], Sequence[int]], queries: Sequence[Q], expected: NDArray[Any] | None = None
) -> Contender:
    """Time each search after a warm-up, and compare what it finds."""

    def measure() -> Figures:
        times, found = [], []
        for query in queries:
            search(query)
        for query in queries:
            begun = time.process_time()
            found.append(search(query))
            times.append({"CPU ms": (time.process_time() - begun) * 1e3})
        figures = median(times)
        if expected is not None:
            common = [
                len({*a} & {*b}) / BEST for a, b in zip(found, expected.tolist(), strict=True)
            ]
            figures["recall"] = float(np.mean(common))
        return figures

    return measure


@pytest.fixture(scope="module")
def vectors(needs_ours: None, work: Path, rows: int) -> SimpleNamespace:  # noqa: ARG001 skips first
    data, rng = clustered(rows), np.random.default_rng(1)
    queries = data[rng.choice(rows, QUERIES, replace=False)]
    queries = queries + np.float32(0.05) * rng.standard_normal(queries.shape, dtype=np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    ours = lakes.dl.create(str(work / "vectors"), {"v": lakes.dl.Embedding(AXES)})
    for start in range(0, rows, 100_000):
        ours.append({"v": data[start : start + 100_000]})
    ours.commit("vectors")
    expected = np.array([np.argpartition(-(data @ q), BEST)[:BEST] for q in queries])
    return SimpleNamespace(data=data, queries=queries, expected=expected, ours=ours)


def build_faiss(data: NDArray[np.float32]) -> Any:
    lists = int(4 * len(data) ** 0.5)
    index = faiss.index_factory(AXES, f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT)
    sample = np.random.default_rng(0).choice(len(data), min(len(data), 40 * lists), replace=False)
    index.train(data[sample])
    index.add(data)
    index.nprobe = 8
    return index


def build_usearch(data: NDArray[np.float32]) -> USearch:
    index = USearch(ndim=AXES, metric="ip", dtype="f16", connectivity=16, expansion_add=64)
    index.add(np.arange(len(data)), data)
    return index


def test_vectors(race, report, vectors, rows):
    faiss.omp_set_num_threads(2)
    rounds = race(
        {
            OURS: lambda: timed(lambda: vectors.ours.create_index("v", progress=False)),
            "faiss": lambda: timed(lambda: build_faiss(vectors.data)),
            "usearch": lambda: timed(lambda: build_usearch(vectors.data)),
        },
        1,
        warm_up=False,
    )
    report.add(f"build an index of {rows:,} x {AXES}", rounds, at_most(600, "CPU s"))
    faiss.omp_set_num_threads(1)
    from_faiss, from_usearch = build_faiss(vectors.data), build_usearch(vectors.data)
    text = f"SELECT * ORDER BY COSINE_SIMILARITY(v, ?) DESC LIMIT {BEST}"
    data, ours = vectors.data, vectors.ours
    contenders: dict[str, Callable[[NDArray[Any]], Any]] = {
        OURS: lambda q: ours.query(f"{text} USING INDEX", [q]).rows.live(),
        "faiss": lambda q: from_faiss.search(q[None], BEST)[1][0],
        "usearch": lambda q: from_usearch.search(q, BEST, threads=1).keys.tolist(),
        "NumPy, exact": lambda q: np.argpartition(-(data @ q), BEST)[:BEST],
    }
    searches = {
        name: each_searched(search, vectors.queries, vectors.expected)
        for name, search in contenders.items()
    }
    searches[f"{OURS}, the index alone"] = each_step(vectors)
    rounds = race(searches)
    step = Target(
        "the index alone ≤ 2 CPU ms", lambda m: m[f"{OURS}, the index alone"]["CPU ms"] <= 2
    )
    figure = f"{BEST} nearest of {rows:,} x {AXES}, with an index"
    report.add(figure, rounds, at_least(0.95, "recall"), step)


def each_step(vectors: SimpleNamespace) -> Contender:
    """Time the index's part of the queries, without parsing and DuckDB."""
    from deeplake_lite.query.plan import Nearest
    from deeplake_lite.query.run.nearest import NearestRows
    from deeplake_lite.query.run.sources import Source

    f = vectors.ours.schema["v"]

    def search(query: NDArray[Any]) -> Any:
        nearest = Nearest(f, "COSINE_SIMILARITY", query, BEST)
        rows = NearestRows(Source(vectors.ours, "dataset"), nearest)
        assert not rows.obstacle()
        return rows.rows(None)

    return each_searched(search, vectors.queries)


def test_exact_vectors(needs_ours, race, report):  # noqa: ARG001 skips first
    data = clustered(199_999)
    ours = lakes.dl.create("memory://bench-exact", {"v": lakes.dl.Embedding(AXES)})
    ours.append({"v": data})
    ours.commit("vectors")
    text = f"SELECT * ORDER BY COSINE_SIMILARITY(v, ?) DESC LIMIT {BEST}"

    def exact(query: NDArray[Any]) -> Any:
        scores = (data @ query) / (np.sqrt(np.vecdot(data, data)) * np.linalg.norm(query))
        return np.argpartition(-scores, BEST)[:BEST]

    rounds = race(
        {
            OURS: each_searched(lambda q: ours.query(text, [q]).rows.live(), data[:20]),
            "NumPy": each_searched(exact, data[:20]),
        }
    )
    numpy = Target("≤ 1.2x NumPy", lambda m: m[OURS]["CPU ms"] <= 1.2 * m["NumPy"]["CPU ms"])
    report.add(f"{BEST} nearest of {len(data):,} x {AXES}, exact", rounds, numpy)


def texts(rows: int) -> tuple[list[str], list[str]]:
    """Return texts of 4 to 16 words, and the words, the most frequent first."""
    rng, letters = np.random.default_rng(0), np.array([*"abcdefghijklmnopqrstuvwxyz"])
    words = np.array(["".join(rng.choice(letters, rng.integers(3, 10))) for _ in range(WORDS)])
    shares = np.cumsum(1 / np.arange(1, WORDS + 1))
    lengths = rng.integers(4, 17, rows)
    drawn = words[np.searchsorted(shares, rng.random(lengths.sum()) * shares[-1])]
    ends = np.cumsum(lengths)
    parts = zip((ends - lengths).tolist(), ends.tolist(), strict=True)
    return [" ".join(drawn[a:b]) for a, b in parts], words.tolist()


def build_tantivy(strings: Sequence[str], folder: Path) -> Any:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("t", tokenizer_name="default", index_option="freq")
    folder.mkdir(exist_ok=True)
    index = tantivy.Index(builder.build(), path=str(folder))
    writer = index.writer(500_000_000, num_threads=1)
    writer.delete_all_documents()
    for string in strings:
        writer.add_document(tantivy.Document(t=[string]))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def test_texts(needs_ours, race, report, work, rows):  # noqa: ARG001 skips first
    strings, words = texts(rows)
    ours = lakes.dl.create(str(work / "texts"), {"t": "text"})
    for start in range(0, rows, 100_000):
        ours.append({"t": strings[start : start + 100_000]})
    ours.commit("texts")
    rounds = race(
        {
            OURS: lambda: timed(lambda: ours.create_index("t", progress=False)),
            "tantivy": lambda: timed(lambda: build_tantivy(strings, work / "tantivy")),
        },
        1,
        warm_up=False,
    )
    report.add(f"build an index of {rows:,} texts", rounds)
    index = tantivy.Index.open(str(work / "tantivy"))
    searcher, rng = index.searcher(), np.random.default_rng(1)
    queries = [" ".join(words[i] for i in rng.integers(20, 20_000, 3)) for _ in range(QUERIES)]
    text = f"SELECT t ORDER BY BM25_SIMILARITY(t, ?) DESC LIMIT {BEST}"
    rounds = race(
        {
            OURS: each_searched(lambda q: ours.query(text, [q]).rows.live(), queries),
            "tantivy": each_searched(
                lambda q: searcher.search(index.parse_query(q, ["t"]), BEST).hits, queries
            ),
        }
    )
    report.add(f"BM25 of {rows:,} texts, three words", rounds, at_most(10, "CPU ms"))
    duck = duckdb.connect()
    duck.register("arrow", ours.to_arrow())
    duck.execute("CREATE TABLE t AS SELECT * FROM arrow")
    patterns = [f"%{words[i]}%" for i in range(3_000, 3_010)]
    like = "SELECT COUNT(*) AS n {}WHERE t LIKE ?"
    rounds = race(
        {
            OURS: each_searched(lambda p: ours.query(like.format(""), [p])["n"][:], patterns),
            "DuckDB": each_searched(
                lambda p: duck.execute(like.format("FROM t "), [p]).fetchall(), patterns
            ),
        }
    )
    within = Target("≤ DuckDB + 6 CPU ms", lambda m: m[OURS]["CPU ms"] <= m["DuckDB"]["CPU ms"] + 6)
    report.add(f"LIKE over {rows:,} texts", rounds, within)
    duck.close()
