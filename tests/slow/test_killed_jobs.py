"""200 SIGKILLs of workers and drivers at random moments of jobs: every row has its result once.

Jobs run on a Dask cluster, in processes and in threads. After a driver was killed, another one goes
on with another executor. The results are compared with those of a job that nobody has disturbed.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import deeplake_lite as dl
from deeplake_lite.map.journal import Journal
from tests.map import functions, lakes

ROOT = Path(__file__).parents[2]
KILLS = 200
ROWS = 300
OPTIONS = {"columns": "x", "into": lakes.TYPES, "batch": 4, "progress": False, "name": "job"}


def expected(tmp_path):
    """Return the digests of the results of a job that nobody disturbs."""
    ds = lakes.make(tmp_path / "expected.lake", ROWS)
    ds.map(functions.every_type, **OPTIONS)
    return {name: list(d.values()) for name, d in lakes.digests(ds, lakes.TYPES).items()}


def check(ds, results):
    ds.refresh()
    mine = {name: list(d.values()) for name, d in lakes.digests(ds, lakes.TYPES).items()}
    assert mine == results
    assert ds.handle.repository.branch_names() == ["main"]
    assert ds.verify()
    assert len([c for c in ds.log() if "map" in c.metadata]) == 1


def start_driver(url, executor):
    """Start a job in another process, which prints a line when the job begins."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.slow.killed_jobs_child", url, executor],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip


@pytest.fixture(scope="module")
def cluster():
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        yield cluster


@pytest.mark.filterwarnings("ignore")
def test_killed_drivers_and_workers_change_no_result(tmp_path, cluster, trials):
    chance, results, kills, jobs = random.Random(0), expected(tmp_path), 0, 0
    while kills < trials(KILLS):
        ds = lakes.make(tmp_path / f"{jobs}.lake", ROWS)
        jobs += 1
        while True:
            executor = chance.choice(["threads", "processes", cluster.scheduler_address])
            with start_driver(ds.url, executor) as child:
                assert child.stdout.readline() == "begun\n"
                time.sleep(chance.uniform(0, 4))
                if executor.startswith("tcp") and chance.random() < 0.6:
                    worker = chance.choice(list(cluster.workers.values()))
                    with contextlib.suppress(ProcessLookupError, AttributeError, TypeError):
                        os.kill(worker.pid, signal.SIGKILL)
                        kills += 1
                    ended = "ended" in child.stdout.read()
                    assert ended
                else:
                    with contextlib.suppress(ProcessLookupError):
                        child.send_signal(signal.SIGKILL)
                    kills += 1
                    ended = "ended" in child.stdout.read()
            # The driver may have been killed after it had deleted the journal.
            if ended or any(job.phase == "finished" for job in dl.jobs(ds.url)):
                break
        check(ds, results)
        assert Journal.find(dl.open(ds.url).handle.repository, "job") is None
    assert jobs
