"""Jobs give the same results with every executor, for every type of column."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.remote import executor as remote_executor

from . import functions, lakes


@pytest.fixture
def pool():
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.fixture(params=["threads", "processes", "futures"])
def executor(request, pool):
    return {"threads": None, "processes": 2, "futures": pool}[request.param]


def test_results_are_those_of_the_function_for_every_type_and_executor(tmp_path, executor):
    ds = lakes.make(tmp_path / "a.lake", 90)
    ds.delete([3, 40])
    ds.append({"x": [1000], "name": ["late"]})
    ds.commit("changes")
    expected = lakes.make(tmp_path / "b.lake", 0)
    values = functions.every_type({"x": ds["x"][:]})
    for name, htype in lakes.TYPES.items():
        nullable = dl.Schema.build({"a": htype})["a"].htype
        expected.add_column(name, nullable)
    expected.append({"x": ds["x"][:], "name": ds["name"][:], **values})

    job = ds.map(functions.every_type, columns=["x"], into=lakes.TYPES, batch=7, executor=executor)

    assert job.result().rows == len(ds) == 89
    for name in lakes.TYPES:
        mine, theirs = (list(lakes.digests(d, [name])[name].values()) for d in (ds, expected))
        assert mine == theirs, name
    assert ds.log()[0].message == f"map {job.name}"
    assert ds.branches.keys() == {"main"}
    assert not ds.verify().damaged
    assert ds.handle.repository.branch_names() == ["main"]


def test_batches_look_like_those_of_batches(tmp_path):
    ds = dl.create(
        str(tmp_path / "a.lake"), {**lakes.TYPES, "none": dl.Scalar("int8", nullable=True)}
    )
    values = functions.every_type({"x": np.arange(20)})
    ds.append({**values, "none": [None, 1] * 10})
    ds.commit("rows")
    seen = []

    def look(batch):
        seen.append(batch)
        return np.zeros(len(batch["scalar"]), int)

    ds.map(look, into={"y": "int8"}, batch=6)

    def plain(batch):
        return {
            name: (type(v), str(getattr(v, "dtype", "")), np.shape(v), str(v))
            for name, v in batch.items()
            if name not in ("boxes", "items", "picture")
        }

    starts = sorted(seen, key=lambda batch: batch["vector"][0].tolist())
    names = [*lakes.TYPES, "none"]
    assert [plain(b) for b in starts] == [plain(b) for b in ds.batches(6, columns=names)]
    assert all(isinstance(b["picture"], list) for b in seen)


def test_rows_outside_the_condition_are_null(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 30)
    result = ds.map(functions.double, into={"y": "int64"}, where="x >= 20").result()
    assert result.rows == 10
    assert ds["y"][:].tolist() == [None] * 20 + list(range(40, 60, 2))


def test_a_default_takes_the_place_of_null(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 3)
    ds.map(functions.double, into={"y": dl.Scalar("int64", default=-1)}, where="x = 1")
    assert ds["y"][:].tolist() == [-1, 2, -1]
    assert not ds.schema["y"].htype.nullable


def test_rows_of_a_view_are_mapped(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 10)
    job = ds[[7, 2, 2]].map(functions.double, into={"y": "int64"})
    assert job.result().rows == 2
    assert ds.refresh()["y"][:].tolist() == [None, None, 4, None, None, None, None, 14, None, None]


def test_existing_columns_are_updated(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 10)
    ds.map(functions.double, into="x", where="x < 3")
    assert ds["x"][:].tolist() == [0, 2, 4, *range(3, 10)]
    ds.map(lambda batch: [f"{n}!" for n in batch["x"].tolist()], into={"name": dl.Text()})
    assert ds["name"][:] == [f"{n}!" for n in ds["x"][:].tolist()]


@pytest.mark.parametrize("where", [None, "x < 0"])
def test_without_rows_the_column_is_added(tmp_path, where):
    ds = lakes.make(tmp_path / "a.lake", 0 if where is None else 5)
    job = ds.map(functions.double, into={"y": "int64"}, where=where)
    assert job.result().rows == 0
    assert ds["y"][:].tolist() == [None] * len(ds)
    before = ds.version
    assert ds.map(functions.double, into="y", where=where).result().version == before


@pytest.mark.parametrize("commit", ["once", "each"])
def test_commits_are_made_once_or_for_each_part(tmp_path, commit):
    ds = lakes.make(tmp_path / "a.lake", 20)
    before = len(ds.log())
    ds.map(functions.double, into={"y": "int64"}, batch=8, commit=commit)
    assert len(ds.log()) - before == (1 if commit == "once" else 3)
    assert ds["y"][:].tolist() == list(range(0, 40, 2))


def test_setup_runs_once_in_each_process(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 40)
    calls = []

    def setup():
        calls.append(1)
        return functions.load()

    ds.map(functions.multiply, columns="x", into={"y": "int64"}, batch=4, setup=setup)
    assert len(calls) == 1
    assert ds["y"][:].tolist() == list(range(0, 120, 3))
    ds.map(functions.multiply, into={"z": "int64"}, batch=4, setup=functions.load, executor=2)
    assert ds["z"][:].tolist() == list(range(0, 120, 3))


def test_processes_are_replaced_after_some_rows(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 12)
    options = {"columns": "x", "batch": 2, "executor": 1}
    ds.map(functions.process, into={"one": "int64"}, **options)
    assert len(set(ds["one"][:].tolist())) == 1
    ds.map(functions.process, into={"several": "int64"}, restart_after=4, **options)
    pids = ds["several"][:].tolist()
    assert len(set(pids)) == 3
    assert pids[0] == pids[3] != pids[4]


def test_results_may_reuse_a_buffer(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 30)
    buffer = np.zeros(10, "int64")

    def reuse(batch):
        buffer[:] = batch["x"] * 2
        return buffer

    ds.map(reuse, into={"y": "int64"}, batch=10, where="x < 30")
    # The threads share the buffer, so that only the rows of one batch can be compared.
    assert all(n % 2 == 0 for n in ds["y"][:].tolist())


def test_a_function_of_a_notebook_runs_in_processes(tmp_path):
    script = f"""
import deeplake_lite as dl
def triple(batch):
    return batch["x"] * 3
ds = dl.open({str(tmp_path / "a.lake")!r})
ds.map(triple, into={{"y": "int64"}}, executor=1)
print(ds["y"][:].tolist(), ds.lineage("y").module)
"""
    lakes.make(tmp_path / "a.lake", 3)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[0, 3, 6] __main__", done.stderr


def test_large_results_are_written_in_several_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr("deeplake_lite.map.places.CHUNK_BYTES", 100)
    ds = lakes.make(tmp_path / "a.lake", 50)
    ds.map(functions.every_type, columns="x", into=lakes.TYPES, batch=3, name="large")
    assert ds["scalar"][:].tolist() == [n / 3 for n in range(50)]
    assert [len(b) for b in ds["boxes"][:]] == [n % 4 for n in range(50)]


def test_a_foreign_executor_that_loses_tasks_is_asked_again(tmp_path):
    class Losing:
        def __init__(self):
            self.pool, self.lost = ThreadPoolExecutor(1), 0

        def submit(self, function, *arguments):
            if self.lost < 3:
                self.lost += 1
                return self.pool.submit(lambda: 1 / 0)
            return self.pool.submit(function, *arguments)

    ds = lakes.make(tmp_path / "a.lake", 20)
    losing = Losing()
    ds.map(functions.double, into={"y": "int64"}, batch=4, executor=losing)
    losing.pool.shutdown()
    assert losing.lost == 3
    assert ds["y"][:].tolist() == list(range(0, 40, 2))
    remote_executor._works.clear()


@pytest.mark.parametrize(
    "query", ["SELECT x * 10 AS x, name", "SELECT name AS x, x AS name", "SELECT x AS y"]
)
def test_views_with_computed_or_renamed_columns_are_refused(tmp_path, query):
    ds = lakes.make(tmp_path / "a.lake", 10)
    with pytest.raises(dl.InvalidValueError, match="this query computes or renames some"):
        ds.query(query).map(functions.double, into={"z": "int64"})


def test_function_receives_the_columns_of_the_view(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 10)
    ds.query("SELECT x WHERE x < 5").map(lambda b: [len(b)] * len(b["x"]), into={"n": "int64"})
    ds.refresh()
    assert ds["n"][0] == 1


@pytest.mark.parametrize(
    "where", ["x > 8 UNION SELECT * WHERE x < 2", "x > 3 GROUP BY x", "x > 3 LIMIT 1", "x > 3)"]
)
def test_where_must_be_one_condition(tmp_path, where):
    ds = lakes.make(tmp_path / "a.lake", 10)
    with pytest.raises(dl.QuerySyntaxError):
        ds.map(functions.double, columns="x", into={"z": "int64"}, where=where)
