"""Exports whose files are written by an executor of another library."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.export.shards import remote
from deeplake_lite.dataset.export.shards.journal import NAME, Journal
from deeplake_lite.errors import InvalidValueError, OptionError, StorageError

ROWS = 60

EXPORTS = {
    "to_webdataset": {"shard_bytes": "20KiB"},
    "to_tfrecord": {"shard_bytes": "9KiB"},
    "to_arrayrecord": {"shard_bytes": "9KiB"},
    "to_mds": {"shard_bytes": "9KiB"},
    "to_litdata": {"chunk_bytes": "9KiB"},
    "to_parquet": {"rows_per_file": 9},
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    rng = np.random.default_rng(0)
    ds = dl.create(
        str(tmp_path_factory.mktemp("lakes") / "a.lake"),
        {"txt": "text", "bin": dl.Bytes(), "a": dl.Array("float32", (None,))},
    )
    ds.append(
        {
            "txt": [f"{i}" * int(rng.integers(1, 90)) for i in range(ROWS)],
            "bin": [bytes(int(rng.integers(0, 900))) for _ in range(ROWS)],
            "a": [np.arange(int(rng.integers(0, 90)), dtype="f4") for _ in range(ROWS)],
        }
    )
    ds.commit("rows")
    return ds


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def write(view, method, out, **more):
    getattr(view, method)(out, **EXPORTS[method], **more)
    return content(out)


class Here:
    """An executor that runs each task at once, and may do something before or after it."""

    def __init__(self, before=lambda _: None, after=lambda _: None):
        self.before, self.after, self.tasks = before, after, []

    def submit(self, fn, key, payload, task):
        future = Future()
        try:
            self.before(task)
            self.tasks.append(task)
            future.set_result(fn(key, payload, task))
            self.after(task)
        except BrokenPipeError as error:
            future.set_exception(error)
        return future


@pytest.mark.parametrize("method", EXPORTS)
def test_executors_write_the_same_files(lake, method, tmp_path, processes):
    expected = write(lake, method, tmp_path / "one")
    assert len(expected) > 3
    assert write(lake, method, tmp_path / "processes", executor=processes) == expected
    with ThreadPoolExecutor(3) as threads:
        assert write(lake, method, tmp_path / "threads", executor=threads) == expected


@pytest.mark.filterwarnings("ignore")
def test_workers_of_dask_write_the_files(lake, tmp_path, dask_client):
    view = lake.query("SELECT txt, bin, LENGTH(txt) AS n ORDER BY n")
    for method in ("to_webdataset", "to_parquet"):
        expected = write(view, method, tmp_path / method)
        assert write(view, method, tmp_path / f"dask-{method}", executor=dask_client) == expected


def kill_once(marker):
    """End this process, unless the file exists."""
    if not os.path.exists(marker):
        open(marker, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)


class Renewing:
    """Processes that are started again when one dies."""

    def __init__(self):
        self.start()

    def start(self):
        self.pool = ProcessPoolExecutor(1, multiprocessing.get_context("forkserver"))

    def submit(self, *call):
        try:
            return self.pool.submit(*call)
        except RuntimeError:
            self.start()
            return self.pool.submit(*call)


def test_killed_workers_are_replaced(lake, tmp_path):
    expected = write(lake, "to_webdataset", tmp_path / "one")
    executor = Renewing()
    executor.submit(os.getpid).result()
    marker = str(tmp_path / "marker")
    executor.submit(kill_once, marker)
    assert write(lake, "to_webdataset", tmp_path / "out", executor=executor) == expected
    executor.pool.shutdown()


def test_workers_that_keep_dying_leave_finished_files(lake, tmp_path):
    def die(task):
        if task.path == "000002.tar":
            raise BrokenPipeError("gone")

    out = tmp_path / "out"
    with pytest.raises(StorageError, match=r"in 5 attempts at writing '000002.tar'.*gone") as e:
        lake.to_webdataset(out, shard_bytes="20KiB", executor=Here(die))
    assert "has written" in e.value.__notes__[0]
    done = [json.loads(line)["path"] for line in (out / NAME).read_text().splitlines()[1:]]
    assert done
    again = Here()
    assert write(lake, "to_webdataset", out, executor=again) == write(
        lake, "to_webdataset", tmp_path / "one"
    )
    assert not {task.path for task in again.tasks} & set(done)


def test_another_executor_resumes(lake, tmp_path, monkeypatch, processes):
    expected, out, add = write(lake, "to_mds", tmp_path / "one"), tmp_path / "out", Journal.add

    def interrupt(self, file):
        add(self, file)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "add", interrupt)
        for executor in (processes, 2, None, Here()):
            with pytest.raises(KeyboardInterrupt):
                write(lake, "to_mds", out, executor=executor)
    assert write(lake, "to_mds", out, executor=processes) == expected


def test_errors_of_workers_name_the_row_and_leave_nothing(tmp_path, processes):
    ds = dl.create(str(tmp_path / "lake"), {"t": dl.Text(nullable=True)})
    ds.append({"t": ["x" * 900] * 30 + [None]})
    ds.commit("rows")
    with pytest.raises(InvalidValueError, match="row 30: must have a value") as caught:
        ds.to_webdataset(tmp_path / "out", shard_bytes=3_000, executor=processes)
    assert caught.value.row == 30
    assert not (tmp_path / "out").exists()


def test_workers_stop_when_the_export_has_ended(lake, tmp_path):
    calls = []

    class Late(Here):
        def submit(self, *call):
            calls.append(call)
            future = Future()
            future.set_exception(BrokenPipeError("late"))
            return future

    out = tmp_path / "out"
    with pytest.raises(StorageError, match="attempts"):
        lake.to_webdataset(out, shard_bytes="20KiB", executor=Late())
    assert not out.exists()
    fn, *arguments = calls[0]
    assert "share" in fn(*arguments).message
    assert not out.exists()


def test_a_folder_that_is_not_shared_is_reported(lake, tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "VISIBLE_SECONDS", 0.1)
    out = tmp_path / "out"
    executor = Here(after=lambda task: (out / task.path).unlink())
    with pytest.raises(StorageError, match=r"has written '00000\d.tar', but .* workers .* share"):
        lake.to_webdataset(out, shard_bytes="20KiB", executor=executor)


def test_executors_are_checked(lake, new_url, tmp_path, processes):
    for executor in ("dask", 1.5, True, ThreadPoolExecutor):
        with pytest.raises(OptionError, match="executor must be None"):
            lake.to_parquet(tmp_path / "out", executor=executor)
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    with pytest.raises(StorageError, match="did not accept a task: RuntimeError"):
        lake.to_parquet(tmp_path / "out", executor=closed)

    class Waiting:
        def submit(self, *_):
            return 5

    with pytest.raises(OptionError, match="must return a future"):
        lake.to_parquet(tmp_path / "out", executor=Waiting())
    ds = dl.create(new_url(), {"t": "text"})
    ds.append({"t": ["a"]})
    with pytest.raises(dl.LakeError, match=r"[Cc]ommit"):
        ds.to_parquet(tmp_path / "out", executor=processes)

    @dl.function(returns="int64")
    def doubled(x):
        return 2 * x

    result = lake.query("SELECT txt, doubled(LENGTH(txt)) AS n")
    with pytest.raises(dl.LakeError, match="doubled"):
        result.to_parquet(tmp_path / "out", executor=processes)
    assert not (tmp_path / "out").exists()
