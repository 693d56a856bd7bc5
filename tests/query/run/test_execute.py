"""Execution: cleanup after queries that end early, and their errors."""

import subprocess
import sys
import textwrap
from itertools import combinations

import numpy as np
import pytest

import deeplake_lite as dl

from .. import data

SLOW = {
    "a user's function": "SELECT * WHERE slow(x) > 0",
    "DuckDB": "SELECT COUNT(*) AS n FROM ds AS a JOIN ds AS b ON a.x + b.x = -1",
    "a function that DuckDB calls": "SELECT COUNT(*) AS n FROM ds AS a JOIN ds AS b "
    "ON DOT(a.v, b.v) > 100",
}
"""Queries that would run for at least half an hour."""

BLOCK = 2_048
"""Rows that DuckDB passes to a function at a time."""


@pytest.mark.parametrize("query", SLOW.values(), ids=SLOW)
def test_interrupt_ends_a_query_at_once_and_without_harm(query):
    program = f"""
        import os, signal, threading, time
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it
        import numpy as np
        import deeplake_lite as dl
        from deeplake_lite.query.database import thread

        calls = []

        @dl.function(returns="float64")
        def slow(x):
            calls.append(x)
            time.sleep(0.01)
            return x

        ds = dl.create("memory://interrupted", {{"x": "float64", "v": dl.Embedding(4)}})
        ds.append({{"x": np.random.rand(200_000), "v": np.random.rand(200_000, 4)}})
        ds.commit("numbers")
        ds.query("SELECT COUNT(*) AS n")

        def stop():
            time.sleep(1)
            while "slow" in {query!r} and not calls:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=stop, daemon=True).start()
        try:
            ds.query({query!r})
        except KeyboardInterrupt:
            print("stopped")
        print(ds.query("SELECT COUNT(*) AS n")["n"][0])
        thread.await_all()
        print(len(calls) < {BLOCK})
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=1_800,
        check=False,
    )
    assert done.stdout.splitlines() == ["stopped", "200000", "True"], done.stderr


@pytest.fixture
def vectors(tmp_path):
    ds = dl.create(str(tmp_path / "lake"), {"v": dl.Embedding(4), "x": "int32"})
    ds.append({"v": np.random.default_rng(0).random((20, 4)), "x": np.arange(20)})
    ds.commit("vectors")
    return ds


def test_error_in_a_join_is_that_of_the_function(vectors):
    with pytest.raises(dl.QueryError, match="reshape array of size 4"):
        vectors.query("SELECT a.x FROM ds AS a JOIN ds AS b ON RESHAPE(a.v, 3)[0] > b.v[0]")
    assert len(vectors.query("SELECT x")) == 20


def test_steps_record_what_they_read(vectors):
    vectors = dl.open(vectors.url)
    result = vectors.query("SELECT x WHERE L2_NORM(v) > 0 AND x > 3")
    assert {s.name: s.nbytes for s in result.record.steps if s.nbytes} == {"read": 80, "i0": 320}
    assert "320 B read" in result.explain()


def test_exit_of_python_prints_nothing():
    program = """
        import numpy as np
        import deeplake_lite as dl

        ds = dl.create("memory://leaks", {"v": dl.Embedding(4)})
        ds.append({"v": np.ones((9, 4))})
        ds.query("SELECT COUNT(*) AS n FROM ds AS a JOIN ds AS b ON DOT(a.v, b.v) > 1")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_slow_statements_print_no_bar():
    """DuckDB has a bar of its own in programs that are not scripts, such as this one."""
    program = (
        "from deeplake_lite.query.database.connect import connect; database = connect();"
        "setting = \"SELECT current_setting('enable_progress_bar')\";"
        "print([each.execute(setting).fetchone() for each in (database, database.cursor())])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[(False,), (False,)]", done.stderr


def test_function_of_pairs_of_rows_skips_nulls(ds):
    vectors = [row.vec for row in data.rows()]

    def cosine(a, b):
        lengths = np.linalg.norm(a) * np.linalg.norm(b)
        return a @ b / lengths if lengths else 0.0

    near = [
        (i, j)
        for (i, a), (j, b) in combinations(enumerate(vectors), 2)
        if a is not None and b is not None and cosine(a, b) > 0.9995
    ]
    result = ds.query(
        "SELECT a.id AS i, b.id AS j FROM dataset a JOIN dataset b ON a.id < b.id "
        "WHERE COSINE_SIMILARITY(a.vec, b.vec) > 0.9995 ORDER BY i, j"
    )
    assert list(zip(result["i"][:], result["j"][:], strict=True)) == near


@pytest.mark.parametrize(
    "text",
    [
        "SELECT AVG(x) AS y FROM (SELECT AMEAN(vec) AS x FROM dataset)",
        "SELECT AVG(MEAN(b.vec)) AS y FROM dataset a LEFT JOIN dataset b ON a.id = b.id",
        (
            "SELECT AVG(x) AS y FROM (SELECT MEAN(vec) AS x FROM dataset QUALIFY "
            "ROW_NUMBER() OVER (PARTITION BY id ORDER BY MEAN(vec)) = 1)"
        ),
    ],
)
def test_mean_ignores_nulls_from_functions(ds, text):
    present = [row.vec.mean() for row in data.rows() if row.vec is not None]
    assert ds.query(text)["y"][0] == pytest.approx(np.mean(present))


def test_words_are_scored_in_a_join_without_matches(ds):
    result = ds.query(
        "SELECT a.id, BM25_SIMILARITY(b.text, 'fox') AS y FROM dataset a "
        "LEFT JOIN dataset b ON a.id = b.id + 50 ORDER BY a.id"
    )["y"][:]
    assert result.mask.tolist() == [i < 50 for i in range(60)]
    assert result.compressed().tolist() == [
        float(y) for y in ds.query("SELECT BM25_SIMILARITY(text, 'fox') AS y LIMIT 10")["y"][:]
    ]
