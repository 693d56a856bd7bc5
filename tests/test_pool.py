"""Thread pools: order, errors, cancelled jobs, forks and shutdown."""

import os
import subprocess
import sys
import threading
import time

import pytest

from deeplake_lite.pool import Pool

THREADS = 2


@pytest.fixture
def pool():
    with Pool(THREADS) as pool:
        yield pool


def held(pool):
    """Keep all threads of a pool busy; return the function that releases them, and their jobs."""
    gate, begun = threading.Event(), threading.Semaphore(0)

    def wait():
        begun.release()
        gate.wait()

    jobs = [pool.submit(wait) for _ in range(pool.threads)]
    for _ in jobs:
        begun.acquire()
    return gate, jobs


def test_results_are_in_the_order_of_the_items(pool):
    assert pool.map(lambda i: (time.sleep(0.001 * (i % 3)), i)[1], range(50)) == list(range(50))
    assert pool.map(str, []) == []


@pytest.mark.parametrize("error", [ValueError("a"), KeyboardInterrupt(), SystemExit(3)])
def test_error_in_a_job_is_raised_by_its_result_and_ends_no_thread(pool, error):
    def fail():
        raise error

    for _ in range(2 * THREADS):
        with pytest.raises(type(error)) as raised:
            pool.submit(fail).result()
        assert raised.value is error
    assert pool.submit(max, 3, 5).result() == 5


def test_map_skips_remaining_items_after_an_error():
    gate, done = threading.Event(), []

    def work(item):
        if item == 0:
            raise ValueError(item)
        gate.wait()
        done.append(item)

    with Pool(1) as alone:
        with pytest.raises(ValueError, match="0"):
            alone.map(work, range(1000))
        gate.set()
        alone.submit(int).result()
    assert done in ([], [1])  # it may have started


def test_job_cancelled_before_it_starts_is_skipped(pool):
    gate, jobs = held(pool)
    done = []
    late = pool.submit(done.append, 1)
    late.cancel()
    gate.set()
    for job in jobs:
        job.result()
    for _ in range(THREADS):
        pool.submit(int).result()
    assert done == []


def test_started_job_is_not_cancelled(pool):
    gate, (job, _) = held(pool)
    job.cancel()
    assert not job.wait(0.01)
    gate.set()
    assert job.result() is None


def test_jobs_are_accepted_from_several_threads(pool):
    result = {}

    def ask(start):
        result[start] = pool.map(lambda i: i * i, range(start, start + 200))

    threads = [threading.Thread(target=ask, args=(start,)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert result == {a: [i * i for i in range(a, a + 200)] for a in range(8)}


def test_exiting_a_pool_returns_at_once_and_its_jobs_still_finish():
    with Pool(THREADS) as pool:
        gate, jobs = held(pool)
        late = pool.submit(max, 3, 5)
    gate.set()
    assert [job.result() for job in jobs] == [None] * THREADS
    assert late.result() == 5


def test_threads_end_with_their_pool():
    idents = set()
    with Pool(THREADS) as pool:
        pool.map(lambda _: idents.add(threading.get_ident()), range(50))
    deadline = time.monotonic() + 60
    while idents & set(sys._current_frames()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not idents & set(sys._current_frames())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_pool_works_in_a_fork(pool):
    gate, _ = held(pool)
    child = os.fork()
    if child == 0:
        os._exit(pool.submit(max, 3, 5).result())
    _, status = os.waitpid(child, 0)
    gate.set()
    assert os.waitstatus_to_exitcode(status) == 5


AT_THE_END = """
import time
from deeplake_lite.pool import Pool
pool = Pool(1)
def work():
    print("begun", flush=True)
    time.sleep(0.5)
    print("done", flush=True)
begun = pool.submit(work)
late = [pool.submit(print, "late", flush=True) for _ in range(100)]
while begun._work is not None:
    time.sleep(0.001)
"""


def test_process_exits_after_running_jobs_and_without_pending_ones():
    ended = subprocess.run(
        [sys.executable, "-c", AT_THE_END], capture_output=True, text=True, check=True, timeout=600
    )
    assert ended.stdout.split() == ["begun", "done"]
    assert ended.stderr == ""
