"""Queries whose tensor expressions are computed by processes or by another library's executor."""

from __future__ import annotations

import math
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import JobError, OptionError, QueryError, UncommittedError
from deeplake_lite.query.registering import unregister

ROWS = 300


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    rng = np.random.default_rng(0)
    ds = dl.create(
        str(tmp_path_factory.mktemp("lakes") / "a.lake"),
        {"i": "int32", "v": dl.Embedding(4), "image": dl.Image("png", nullable=True),
         "boxes": dl.Array("float32", (None, 4)), "label": dl.ClassLabel(["x", "y", "z"])},
    )  # fmt: skip
    ds.append(
        {
            "i": np.arange(ROWS),
            "v": rng.normal(size=(ROWS, 4)),
            "image": [
                None if i % 50 == 7 else rng.integers(0, 255, (4 + i % 3, 5, 3), dtype="u1")
                for i in range(ROWS)
            ],
            "boxes": [rng.normal(size=(i % 4, 4)) for i in range(ROWS)],
            "label": [i % 3 for i in range(ROWS)],
        }
    )
    ds.commit("rows")
    return ds


class Here:
    """An executor that runs each task at once."""

    def __init__(self, before=lambda _: None):
        self.before, self.tasks = before, []

    def submit(self, fn, key, payload, task):
        future = Future()
        try:
            self.before(task)
            self.tasks.append(task)
            future.set_result(fn(key, payload, task))
        except BrokenPipeError as error:
            future.set_exception(error)
        return future


QUERIES = [
    "SELECT i WHERE MEAN(image) > 127",
    "SELECT i, MEAN(image) AS m WHERE i % 2 = 0 ORDER BY MEAN(image) DESC, i",
    "SELECT i ORDER BY L2_NORM(v - ?)",
    "SELECT label, COUNT(*) AS n, AVG(MAX(image)) AS m GROUP BY label ORDER BY label",
    "SELECT i WHERE SHAPE(image)[0] = 5 AND SUM(boxes) > 0 ORDER BY i",
    "SELECT i, image WHERE MIN(image) < 3 LIMIT 15",
    (
        "SELECT a.i FROM ds AS a JOIN ds AS b ON a.i = b.i + 1 "
        "WHERE MEAN(a.image) > MEAN(b.image) ORDER BY a.i"
    ),
    "SELECT i WHERE ANY(boxes > 1)",
    "SELECT i WHERE L2_NORM(v) > 1e9 OR MEAN(image) < 0",
    "SELECT i WHERE MEAN(image) > (SELECT AVG(MEAN(image)) FROM ds)",
    "SELECT i WHERE i > 5",
]


def rows_of(view):
    with np.printoptions(threshold=10_000):
        return {name: repr(view[name][:]) for name in view.columns}


@pytest.mark.parametrize("text", QUERIES)
def test_results_do_not_depend_on_the_executor(lake, text, processes):
    params = [[1.0, 0.0, 0.0, 0.0]] if "?" in text else ()
    expected = rows_of(lake.query(text, params))
    for executor in (processes, Here()):
        assert rows_of(lake.query(text, params, executor=executor)) == expected
    half = lake[::2]
    expected = rows_of(half.query(text, params))
    assert rows_of(half.query(text, params, executor=processes)) == expected


def test_parts_are_computed_by_processes(lake):
    expected = lake.query("SELECT i WHERE MEAN(image) > 127")["i"][:].tolist()
    got = lake.query("SELECT i WHERE MEAN(image) > 127", executor=2)
    assert got["i"][:].tolist() == expected
    here = Here()
    dl.query("SELECT i WHERE MEAN(image) > 127", view=lake, executor=here)
    assert [len(task.rows) for task in here.tasks] == [64, 64, 64, 64, 44]
    relational = Here()
    lake.query("SELECT i WHERE i > 3", executor=relational)
    assert relational.tasks == []


def test_steps_count_the_bytes_that_workers_read(lake):
    one = lake.query("SELECT i WHERE MEAN(image) > 127")
    other = lake.query("SELECT i WHERE MEAN(image) > 127", executor=Here())
    assert [s.nbytes > 0 for s in other.record.steps] == [s.nbytes > 0 for s in one.record.steps]


@pytest.mark.filterwarnings("ignore")
def test_workers_of_dask_compute_the_same_rows(lake, dask_client):
    for text in QUERIES[:2]:
        assert rows_of(lake.query(text, executor=dask_client)) == rows_of(lake.query(text))


def test_errors_of_workers_are_errors_of_the_query(lake, processes):
    dl.function(returns="float64", name="root")(math.sqrt)
    messages = []
    try:
        for executor in (None, Here(), processes):
            with pytest.raises(QueryError, match="math domain error") as caught:
                lake.query("SELECT i WHERE ROOT(L2_NORM(v) - 1) > 1", executor=executor)
            cause = caught.value.__cause__
            messages.append(
                (type(caught.value), str(caught.value), type(cause), caught.value.place)
            )
    finally:
        unregister("root")
    assert messages[1:] == messages[:1] * 2


def test_functions_of_modules_run_in_workers(lake, processes):
    dl.function(returns="float64", name="spread")(np.ptp)
    try:
        text = "SELECT i WHERE SPREAD(v) > 2 ORDER BY i"
        expected = rows_of(lake.query(text))
        assert len(lake.query(text)) > 0
        assert rows_of(lake.query(text, executor=processes)) == expected
    finally:
        unregister("spread")


def test_lost_workers(lake):
    lost = []

    def lose_once(task):
        if not lost:
            lost.append(task)
            raise BrokenPipeError("gone")

    text = "SELECT i WHERE MEAN(image) > 127"
    assert rows_of(lake.query(text, executor=Here(lose_once))) == rows_of(lake.query(text))

    def lose(_):
        raise BrokenPipeError("gone")

    with pytest.raises(JobError, match="Workers died in 5 attempts at computing 64 rows"):
        lake.query(text, executor=Here(lose))


def test_executors_and_edits_are_checked(lake, new_url):
    with pytest.raises(OptionError, match="executor must be None"):
        lake.query("SELECT i", executor="dask")
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    with pytest.raises(JobError, match="did not accept a task"):
        lake.query("SELECT i WHERE MEAN(image) > 1", executor=closed)
    ds = dl.create(new_url(), {"v": dl.Embedding(2)})
    ds.append({"v": [[1, 2]]})
    with pytest.raises(UncommittedError):
        ds.query("SELECT v WHERE L2_NORM(v) > 1", executor=Here())
