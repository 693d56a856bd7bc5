"""Jobs whose workers or driver were killed go on, with any executor, and give the same results."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

import deeplake_lite as dl
from deeplake_lite.errors import JobError
from deeplake_lite.map import driver, journal, places
from deeplake_lite.map.journal import Journal
from deeplake_lite.storage.repo import run
from deeplake_lite.storage.state import add_digest

from ..loader.watching import children, eventually
from . import functions, lakes

ROWS = 60
OPTIONS = {"columns": "x", "into": {"y": "int64"}, "batch": 2, "progress": False}
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def record_often(monkeypatch):
    """Commit each part to the journal at once."""
    monkeypatch.setattr(driver, "RECORD_SECONDS", 0.0)
    monkeypatch.setattr(driver, "RECORD_SHARE", 0.0)


def check(ds):
    """Check that each row has its result, and that the job has left nothing behind."""
    assert ds["y"][:].tolist() == [2 * x for x in ds["x"][:].tolist()]
    assert ds.handle.repository.branch_names() == ["main"]
    assert not ds.verify().damaged


def run_until_killed(url, seconds, workers, commit):
    """Run a job in another process, kill it after some seconds, and return whether it had ended."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.map.driver_child", url, str(workers), commit],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    with child:
        assert child.stdout.readline() == "begun\n"
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(signal.SIGKILL)
        return "ended" in child.stdout.read()


@pytest.mark.parametrize("seed", range(12))
def test_a_killed_driver_is_followed_by_another_one(tmp_path, seed):
    chance = random.Random(seed)
    ds = lakes.make(tmp_path / "a.lake", ROWS)
    workers, commit = chance.choice([0, 0, 1]), chance.choice(["once", "each"])
    ended = run_until_killed(ds.url, chance.uniform(0, 2.0), workers, commit)
    ds.refresh()
    found = Journal.find(ds.handle.repository, "slow_double-y")
    before = 0 if found is None else found.rows_done
    if not ended:
        executor = chance.choice([None, None, 1])
        job = ds.map(functions.slow_double, executor=executor, commit=commit, **OPTIONS)
        assert job.result().resumed == before
    check(ds)


@pytest.mark.parametrize("seed", range(12))
def test_killed_workers_are_replaced(tmp_path, seed):
    chance = random.Random(seed)
    ds = lakes.make(tmp_path / "a.lake", ROWS)
    job = ds.map(functions.slow_double, executor=2, wait=False, **OPTIONS)
    for _ in range(2):
        eventually(lambda: job.done or children())
        time.sleep(chance.uniform(0, 1))
        for pid in children()[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    job.result()
    check(ds.refresh())
    assert eventually(lambda: not children())


@pytest.mark.parametrize("workers", [0, 2], ids=["threads", "processes"])
def test_ctrl_c_stops_a_job_and_its_workers(tmp_path, workers):
    ds = lakes.make(tmp_path / "a.lake", 600)
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.map.driver_child", ds.url, str(workers), "once"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    with child:
        assert child.stdout.readline() == "begun\n"
        assert eventually(lambda: any(job.done for job in dl.jobs(ds.url)))
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate(timeout=60)
    assert "ended" not in output
    assert "KeyboardInterrupt" in errors
    assert "To compute the others, run the job again." in errors
    [job] = dl.jobs(ds.url)
    assert job.phase == "stopped"
    assert 0 < job.done < 600


def test_only_parts_that_are_left_are_computed(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 40)
    seen = []

    def fail_late(batch):
        if batch["x"][0] >= 30 and not seen:
            raise RuntimeError("late")
        return batch["x"] * 2

    with pytest.raises(JobError, match="late") as caught:
        ds.map(fail_late, executor=One(), **OPTIONS)
    assert "Finished so far: 30 of 40 rows" in caught.value.__notes__[0]
    assert caught.value.row_ids == tuple(ds.row_ids[30:32].tolist())
    assert "y" not in ds.columns
    [stopped] = dl.jobs(ds.url)
    assert (stopped.name, stopped.phase, stopped.done) == ("fail_late-y", "stopped", 30)
    assert stopped.function.endswith("fail_late")
    seen.append("no more")
    calls = []
    original = driver.Driver._task

    def count(self, part, number):
        calls.append(part)
        return original(self, part, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver.Driver, "_task", count)
        result = ds.map(fail_late, **OPTIONS).result()
    assert sorted(calls) == [15, 16, 17, 18, 19]
    assert (result.rows, result.resumed) == (40, 30)
    check(ds)


class One:
    """An executor that runs each task in this thread when its result is needed."""

    def submit(self, function, *arguments):
        return Later(partial(function, *arguments))


class Later:
    """A future that is done at once, and computes its result when it is asked for."""

    def __init__(self, call):
        self.result = call

    def add_done_callback(self, function):
        function(self)

    def cancel(self):
        pass


def interrupted(ds, rows=20, **options):
    """Stop a job after its first part, and return its function."""
    batches = []

    def stop(batch):
        if batches:
            raise KeyboardInterrupt
        batches.append(batch)
        return batch["x"] * 2

    options = {"executor": One(), **OPTIONS, "where": f"x < {rows}", **options}
    with pytest.raises(KeyboardInterrupt):
        ds.map(stop, name="job", **options)
    return stop


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": 3}, "began with another batch="),
        ({"where": "x < 19"}, "began with another where="),
        ({"into": {"y": "int32"}}, "began with another into="),
        ({"into": {"z": "int64"}}, "began with another into="),
        ({"columns": ["x", "name"]}, "began with other columns="),
        ({"on_error": "skip"}, "began with another on_error="),
        ({"setup": functions.load}, "began with another setup="),
    ],
)
def test_a_job_that_began_differently_is_not_resumed(tmp_path, change, message):
    ds = lakes.make(tmp_path / "a.lake", 20)
    stop = interrupted(ds)
    with pytest.raises(JobError, match=message):
        ds.map(stop, name="job", **{**OPTIONS, "where": "x < 20", **change})


def test_another_function_needs_restart(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 20)
    interrupted(ds)
    options = {**OPTIONS, "where": "x < 20", "name": "job"}
    with pytest.raises(JobError, match="began with another function"):
        ds.map(functions.double, **options)
    ds.map(functions.double, restart=True, **options)
    check(ds)


def test_corrected_function_starts_over_if_no_part_has_finished(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 20)

    def wrong(batch):
        return batch["nothing"]

    options = {**OPTIONS, "where": "x < 20", "name": "job"}
    with pytest.raises(JobError, match="Fix the function"):
        ds.map(wrong, **options)
    ds.map(functions.double, **options)
    check(ds)


def test_a_job_goes_on_with_its_version_although_others_have_committed(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 20)
    before, stopped = ds.version, tmp_path / "stopped"

    def stop_once(batch):
        if batch["x"][0] == 4 and not stopped.exists():
            stopped.touch()
            raise KeyboardInterrupt
        return batch["x"] * 2

    with pytest.raises(KeyboardInterrupt):
        ds.map(stop_once, executor=One(), **OPTIONS)
    ds.append({"x": [500], "name": ["new"]})
    ds.commit("another row")
    result = ds.map(stop_once, executor=One(), **OPTIONS).result()
    assert (result.rows, result.resumed) == (20, 4)
    assert ds["y"][:].tolist() == [*range(0, 40, 2), None]
    assert ds.lineage("y").input_version == before


def test_a_job_of_another_line_of_versions_is_not_resumed(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 20)
    first = ds.version
    ds.append({"x": [500], "name": ["new"]})
    ds.commit("another row")
    stop = interrupted(ds, 500)
    old = dl.open(ds.url, version=first)
    old.branch("old")
    with pytest.raises(JobError, match="does not descend"):
        dl.open(ds.url, branch="old").map(stop, name="job", **{**OPTIONS, "where": "x < 500"})


def test_results_that_were_committed_are_not_committed_again(tmp_path, monkeypatch):
    ds = lakes.make(tmp_path / "a.lake", 20)

    def killed(_driver):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(driver.Driver, "_finish", killed)
        with pytest.raises(KeyboardInterrupt):
            ds.map(functions.double, **OPTIONS)
    ds.refresh()
    ds["y"][3] = -1  # an edit of results that are there already must stay
    version = ds.commit("an edit")
    assert ds.map(functions.double, **OPTIONS).result().version == version
    assert ds["y"][3] == -1
    assert ds.handle.repository.branch_names() == ["main"]


def test_a_job_runs_once_at_a_time(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", ROWS)
    job = ds.map(functions.slow_double, wait=False, **OPTIONS)
    with pytest.raises(JobError, match="is running in another process or thread"):
        dl.open(ds.url).map(functions.slow_double, **OPTIONS)
    assert [j.phase for j in dl.jobs(ds.url)] == ["running"]
    job.result()
    check(ds.refresh())


def test_a_job_can_be_cancelled_and_resumed(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", ROWS)
    job = ds.map(functions.slow_double, wait=False, **OPTIONS)
    assert eventually(lambda: job.progress().done > 0)
    job.cancel()
    with pytest.raises(JobError, match="was cancelled"):
        job.result()
    progress = job.progress()
    assert progress.phase == "cancelled"
    assert 0 < progress.done < ROWS
    assert ds.map(functions.slow_double, **OPTIONS).result().resumed >= progress.done
    check(ds)


def test_a_vacuum_during_a_job_keeps_what_workers_have_written(tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "RECORD_SECONDS", 1000.0)
    ds = lakes.make(tmp_path / "a.lake", 20)

    def large(batch):
        if batch["x"][0] == 16:
            dl.open(ds.url).vacuum(older_than="0s", spare="0s")
        return [b"large" * 1_000] * len(batch["x"])

    ds.map(large, columns="x", into={"data": "bytes"}, batch=2, executor=One(), progress=False)
    assert ds["data"][:] == [b"large" * 1_000] * 20
    assert ds.verify()


def test_a_vacuum_keeps_what_a_job_needs(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 20)
    stopped = tmp_path / "stopped"

    def stop_once(batch):
        if batch["x"][0] == 4 and not stopped.exists():
            stopped.touch()
            raise KeyboardInterrupt
        return batch["x"] * 2

    with pytest.raises(KeyboardInterrupt):
        ds.map(stop_once, executor=One(), **OPTIONS)
    ds.append({"x": [20], "name": ["new"]})
    ds.commit("another row")
    ds.vacuum(older_than="0s", spare="0s")
    assert ds.map(stop_once, executor=One(), **OPTIONS).result().resumed == 4
    assert ds["y"][:].tolist() == [*range(0, 40, 2), None]


@pytest.mark.parametrize(("first", "then"), [("once", "each"), ("each", "once")])
def test_a_job_may_be_resumed_with_other_commits(tmp_path, first, then):
    ds = lakes.make(tmp_path / "a.lake", 20)
    stopped = tmp_path / "stopped"

    def stop_once(batch):
        if batch["x"][0] == 4 and not stopped.exists():
            stopped.touch()
            raise KeyboardInterrupt
        return batch["x"] * 2

    with pytest.raises(KeyboardInterrupt):
        ds.map(stop_once, executor=One(), commit=first, **OPTIONS)
    before = len(ds.refresh().log())
    ds.map(stop_once, executor=One(), commit=then, **OPTIONS)
    assert len(ds.log()) - before == (10 if then == "each" else 1)
    check(ds)


def damage(ds, change):
    """Change the document of the journal of an interrupted job."""
    repository = ds.handle.repository
    session = repository.writer("_job-job")
    document = dict(run(session.attributes())[journal.KEY])
    change(document)
    run(session.set_attributes({journal.KEY: document}))
    session.commit("job job")


@pytest.mark.parametrize("fresh", [True, False], ids=["digest", "no digest"])
def test_a_damaged_journal_is_an_error_unless_the_job_begins_anew(tmp_path, fresh):
    ds = lakes.make(tmp_path / "a.lake", 20)
    stop = interrupted(ds)

    def change(document):
        document["batch"] = 0
        if fresh:
            document |= add_digest(document)

    damage(ds, change)
    options = {**OPTIONS, "where": "x < 20", "name": "job"}
    with pytest.raises(dl.DamagedError, match="not complete" if fresh else "its digest"):
        ds.map(stop, **options)
    ds.map(functions.double, restart=True, **options)
    check(ds)


def test_damaged_results_are_an_error(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 20)
    stopped = tmp_path / "stopped"

    def stop_once(batch):
        if batch["x"][0] == 4 and not stopped.exists():
            stopped.touch()
            raise KeyboardInterrupt
        return batch["x"] * 2

    with pytest.raises(KeyboardInterrupt):
        ds.map(stop_once, executor=One(), **OPTIONS)
    repository = ds.handle.repository
    session = repository.writer("_job-stop_once-y")
    key = places.chunk_of(0, 0)
    data = bytearray(run(session.get(key)))
    data[-20] ^= 1
    run(session.put(key, data))
    session.commit("job stop_once-y")
    with pytest.raises(dl.DamagedError, match="digest does not match their bytes"):
        ds.map(stop_once, executor=One(), **OPTIONS)
    assert "y" not in dl.open(ds.url).columns
    ds.map(stop_once, executor=One(), restart=True, **OPTIONS)
    check(ds)


def test_several_threads_wait_for_the_result_of_a_job(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 10)
    release = threading.Event()

    def wait(batch):
        assert release.wait(30)
        return batch["x"]

    job = ds.map(wait, columns="x", into={"y": "int64"}, wait=False)
    with ThreadPoolExecutor(4) as pool:
        results = [pool.submit(job.result, 30) for _ in range(4)]
        time.sleep(0.1)  # until all of them wait
        release.set()
        assert {future.result().rows for future in results} == {len(ds)}
