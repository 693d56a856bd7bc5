"""200 SIGKILLs of workers, drivers and schedulers during jobs: every row has its result once.

Jobs run on a Dask cluster, in processes and in threads, and fill columns or write rows. After a
driver was killed, another one goes on with another executor and another number of workers. The
results are compared with those of a job that nobody has disturbed.
"""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import deeplake_lite as dl
from deeplake_lite.map.journal import Journal
from deeplake_lite.testing.proxy import NO_FAULTS, Faults, Proxy
from tests.map import functions, lakes

ROOT = Path(__file__).parents[2]
KILLS, STORE_JOBS = 200, 20
ROWS = 300
OPTIONS = {"columns": "x", "batch": 4, "progress": False, "name": "job"}
PATIENCE = 300
"""Seconds after which a driver that has not ended hangs."""


def results_of(ds):
    """Return the digests of the results, in the order of the rows."""
    names = [name for name in ds.columns if name in lakes.TYPES]
    return {name: list(d.values()) for name, d in lakes.digests(ds, names).items()}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """Return the results of jobs that nobody disturbs: for columns, and for rows."""
    folder = tmp_path_factory.mktemp("expected")
    ds = lakes.make(folder / "a.lake", ROWS)
    ds.map(functions.every_type, into=lakes.TYPES, **OPTIONS)
    ds.map(
        functions.rows_of_every_type, rows_into=str(folder / "b.lake"), schema=lakes.TYPES,
        keep=["name"], **OPTIONS,
    )  # fmt: skip
    return {"columns": results_of(ds), "rows": results_of(dl.open(str(folder / "b.lake")))}


class Cluster:
    """A scheduler of Dask and two workers, which are replaced if they are killed."""

    def __init__(self, folder):
        self._folder, self._workers, self._scheduler = folder, [], None
        with socket.create_server(("127.0.0.1", 0)) as server:
            self._port = server.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self._port}"

    def start(self):
        """Start everything that does not run."""
        if self._scheduler is None:
            self._scheduler = self._run(
                "scheduler", "--host", "127.0.0.1", "--port", str(self._port), "--no-dashboard",
            )  # fmt: skip
            while not self._answers():
                time.sleep(0.1)
        while len(self._workers) < 2:
            worker = self._run(
                "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard",
                "--local-directory", str(self._folder),
            )  # fmt: skip
            self._workers.append(worker)

    def kill_worker(self, chance):
        kill(self._workers.pop(chance.randrange(len(self._workers))))
        self.start()

    def kill_all(self):
        """Kill the scheduler and all workers, and start others at the same address."""
        self.stop()
        self.start()

    def stop(self):
        for process in [self._scheduler, *self._workers]:
            kill(process)
        self._scheduler, self._workers = None, []

    def _run(self, *arguments):
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments], cwd=ROOT,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    def _answers(self):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self._port)).close()
            return True
        return False


def kill(process):
    process.kill()
    process.wait()


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path / "dask")
    cluster.start()
    yield cluster
    cluster.stop()


def start_driver(url, executor, commit="once", target="-", most=0):
    """Start a job in another process, and return when the job begins."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.slow.killed_jobs_child", url, executor, commit, target,
         str(most)], stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert child.stdout.readline() == "begun\n"
    return child


def end_of(child):
    """Return the last line of a driver. Raises TimeoutExpired if the driver hangs."""
    output, _ = child.communicate(timeout=PATIENCE)
    return output.strip()


def kill_own_worker(child, chance):
    """Kill a worker process of a driver, if it has one, and return how many were killed."""
    with contextlib.suppress(psutil.NoSuchProcess):
        workers = [
            p for p in psutil.Process(child.pid).children()
            if "deeplake_lite.loader.workers.worker" in " ".join(p.cmdline())
        ]  # fmt: skip
        if workers:
            chance.choice(workers).kill()
            return 1
    return 0


def disturb(child, executor, cluster, chance):
    """Kill something, wait for the driver's end, and return the number of kills."""
    kills, victim = 0, chance.random()
    if executor.startswith("tcp") and victim < 0.5:
        for _ in range(chance.randint(1, 4)):
            cluster.kill_worker(chance)
            kills += 1
            time.sleep(chance.uniform(0, 1))
    elif executor.startswith("tcp") and victim < 0.6:
        cluster.kill_all()
        kills += 1
    elif executor.isdigit() and victim < 0.6:
        for _ in range(chance.randint(1, 4)):
            kills += kill_own_worker(child, chance)
            time.sleep(chance.uniform(0, 1))
    else:
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(signal.SIGKILL)
        kills += 1
    return kills


def finished(url, options):
    """Return the jobs of a lake on a store that fails now and then."""
    while True:
        with contextlib.suppress(dl.StorageError):
            return dl.jobs(url, storage_options=options)


def check(ds, results, rows):
    assert results_of(ds) == results
    assert ds.handle.repository.branch_names() == ["main"]
    assert Journal.find(ds.handle.repository, "job") is None
    assert ds.verify()
    records = [c.metadata["map"] for c in ds.log() if "map" in c.metadata]
    assert sum(record["rows"] for record in records) == rows
    return len(records)


@pytest.mark.filterwarnings("ignore")
def test_killed_drivers_workers_and_schedulers_change_no_result(
    tmp_path, cluster, trials, expected, capsys
):
    chance, kills, jobs, restarts = random.Random(0), 0, 0, 0
    while kills < trials(KILLS):
        ds = lakes.make(tmp_path / f"{jobs}.lake", ROWS)
        kind, commit = chance.choice(["columns", "rows"]), chance.choice(["once"] * 7 + ["each"])
        target = "-" if kind == "columns" else str(tmp_path / f"{jobs}-rows.lake")
        jobs += 1
        while True:
            executor = chance.choice(["threads", "1", "3", cluster.address, cluster.address])
            child = start_driver(ds.url, executor, commit, target)
            time.sleep(chance.uniform(0, 4))
            kills += disturb(child, executor, cluster, chance)
            end = end_of(child)
            # The driver may have been killed after it had deleted the journal.
            url = ds.url if target == "-" else target
            if end == "ended" or (
                dl.exists(url) and any(job.phase == "finished" for job in dl.jobs(url))
            ):
                break
            assert end == "" or end.startswith("JobError"), end
            restarts += 1
        count = check(dl.open(url), expected[kind], ROWS)
        assert commit == "each" or count == 1
        with capsys.disabled():
            sys.stdout.write(f"{jobs} jobs, {kills} kills, {restarts} restarts\n")
            sys.stdout.flush()
    assert jobs


def test_a_driver_goes_on_after_the_scheduler_was_restarted(tmp_path, cluster, expected):
    ds = lakes.make(tmp_path / "a.lake", ROWS)
    child = start_driver(ds.url, cluster.address)
    time.sleep(1)
    cluster.kill_all()
    if end_of(child) != "ended":
        assert end_of(start_driver(ds.url, cluster.address)) == "ended"
    check(dl.open(ds.url), expected["columns"], ROWS)


def test_files_that_cannot_grow_lose_nothing(tmp_path, expected):
    """As on a full disk, writes fail after some bytes, until there is space."""
    ends = []
    for kind in ("columns", "rows"):
        ds = lakes.make(tmp_path / f"{kind}.lake", ROWS)
        target = "-" if kind == "columns" else str(tmp_path / "b.lake")
        for most in (1_000, 3_000, 8_000, 20_000, 50_000, 120_000, 300_000, 0):
            for executor in ("threads", "1"):
                ends.append(end_of(start_driver(ds.url, executor, "once", target, most)))
                assert ends[-1].partition(":")[0] in {"StorageError", "JobError", "ended"}, ends
                if ends[-1] == "ended":
                    break
            if ends[-1] == "ended":
                break
        check(dl.open(ds.url if target == "-" else target), expected[kind], ROWS)
    assert any(end.startswith("StorageError") for end in ends)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["columns", "rows"])
def test_jobs_on_an_unreliable_store_compute_every_row_once(bucket, trials, expected, kind):
    faults = Faults.spread(0.1, "lost", "truncated", "stalled", "failed", "busy")
    with Proxy(bucket.endpoint, seed=5) as proxy:
        options = bucket.at(proxy.endpoint).options
        for number in range(trials(STORE_JOBS)):
            url, name = f"{bucket.url()}-{number}", f"memory://unreliable-{kind}-{number}"
            proxy.faults = NO_FAULTS
            if kind == "columns":
                ds = dl.create(url, {"x": "int64", "name": "text"}, storage_options=options)
                ds.append({"x": range(ROWS), "name": [f"row {i}" for i in range(ROWS)]})
                ds.commit("rows")
                job = {"into": lakes.TYPES}
            else:
                ds = lakes.make(name, ROWS)
                job = {"rows_into": url, "schema": lakes.TYPES, "keep": ["name"]}
                job["storage_options"] = options
            proxy.faults = faults
            function = {"columns": functions.every_type, "rows": functions.rows_of_every_type}
            while True:
                try:
                    ds.map(function[kind], **job, **OPTIONS)
                except dl.StorageError:
                    continue
                except dl.JobError:  # the reply to the last commit was lost
                    assert [j.phase for j in finished(url, options)] == ["finished"]
                break
            proxy.faults = NO_FAULTS
            done = dl.open(url, storage_options=options)
            assert results_of(done) == expected[kind]
            records = [c.metadata["map"] for c in done.log() if "map" in c.metadata]
            assert sum(record["rows"] for record in records) == ROWS
