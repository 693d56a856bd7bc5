"""Add a column that a function computes, with this package and its peers, each in a new process.

The function is pure Python and takes about a millisecond per row. Run ``python -m
benchmarks.map_worker TASK FOLDER ROWS`` from the folder above.
"""

import contextlib
import resource
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import batched, pairwise
from multiprocessing import get_context
from typing import Any

import numpy as np

from .worker import Task, run

LOOPS = 16_000
"""Number of additions per row."""

BATCH = 50


def compute(x: int) -> float:
    total = 0
    for i in range(LOOPS):
        total += i ^ x
    return total / LOOPS


def compute_batch(batch: dict[str, Any]) -> list[float]:
    return [compute(int(x)) for x in batch["x"]]


def timed(work: Callable[[], object]) -> Task:
    """Return a task with the time of its work, and its CPU time with that of ended processes."""

    def task() -> dict[str, float]:
        start, before = time.perf_counter(), cpu_seconds()
        work()
        return {"s": time.perf_counter() - start, "CPU s": cpu_seconds() - before}

    return task


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def prepare_function(_: str, rows: str) -> Task:
    """Call the function only."""
    return timed(lambda: [compute(x) for x in range(int(rows))])


def prepare_ours(folder: str, rows: str, executor: int | None = None) -> Task:
    import deeplake_lite as dl

    ds = dl.create(f"{folder}/lake", {"x": "int64"})
    ds.append({"x": range(int(rows))})
    ds.commit("rows")
    into = {"y": "float64"}
    return timed(
        lambda: ds.map(compute_batch, into=into, batch=BATCH, executor=executor, progress=False)
    )


def prepare_datasets(folder: str, rows: str) -> Task:
    import datasets

    datasets.disable_progress_bars()
    datasets.Dataset.from_dict({"x": range(int(rows))}).save_to_disk(f"{folder}/data")
    stored = datasets.load_from_disk(f"{folder}/data")

    def add(batch: dict[str, Any]) -> dict[str, Any]:
        return {"y": compute_batch(batch)}

    def work() -> None:
        stored.map(add, batched=True, batch_size=BATCH, num_proc=2).save_to_disk(f"{folder}/out")

    return timed(work)


def compute_items(numbers: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    for x in numbers:
        yield {"x": x, "y": compute(x)}


def prepare_litdata(folder: str, rows: str) -> Task:
    import litdata

    inputs = list(batched(range(int(rows)), BATCH))
    return timed(
        lambda: litdata.optimize(
            compute_items, inputs, f"{folder}/out", num_workers=2, chunk_bytes="64MB"
        )
    )


def prepare_lance(folder: str, rows: str) -> Task:
    """Two processes compute the column of a fragment each; a commit joins them."""
    import lance
    import pyarrow as pa

    uri, count = f"{folder}/data", int(rows)
    table = pa.table({"x": np.arange(count)})
    lance.write_dataset(table, uri, max_rows_per_file=-(-count // 2))

    def work() -> None:
        stored = lance.dataset(uri)
        numbers = [f.fragment_id for f in stored.get_fragments()]
        with get_context("spawn").Pool(2) as pool:
            done = pool.map(partial(merge_fragment, uri), numbers)
            pool.close()
            pool.join()
        operation = lance.LanceOperation.Merge([each[0] for each in done], done[0][1])
        lance.LanceDataset.commit(uri, operation, read_version=stored.version)

    return timed(work)


def merge_fragment(uri: str, number: int) -> Any:
    import lance
    import pyarrow as pa

    def add(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.record_batch({"y": compute_batch({"x": batch["x"].to_pylist()})})

    return lance.dataset(uri).get_fragment(number).merge_columns(add, columns=["x"])


def prepare_deeplake(folder: str, rows: str) -> Task:
    """Deep Lake 4 has no such function: a loop in one process."""
    import deeplake

    ds = deeplake.create(f"{folder}/data", schema={"x": "int64"})
    ds.append({"x": list(range(int(rows)))})
    ds.commit()

    def work() -> None:
        ds.add_column("y", "float64")
        for start in range(0, int(rows), BATCH):
            stop = min(start + BATCH, int(rows))
            ds["y"][start:stop] = np.array(compute_batch({"x": ds["x"][start:stop]}))
        ds.commit()

    return timed(work)


# ---- the driver alone


class FakeExecutor:
    """64 workers that take no time, and write one small chunk for each part.

    Parameters
    ----------
    session : Session
        A session of the lake.
    """

    kind, window = "fake", 64

    def __init__(self, session: Any) -> None:
        self._session = session
        self.seconds = 0.0
        """CPU time of the workers."""

    def submit(self, task: Any) -> Future[Any]:
        from deeplake_lite.map.places import chunk_of
        from deeplake_lite.map.work import Done
        from deeplake_lite.storage.repo import run as run_in_loop

        before = time.process_time()
        fork = self._session.at(task.fork)
        run_in_loop(fork.put(chunk_of(task.attempt, 0), bytes(600)))
        done = Future[Any]()
        done.set_result(Done(task.part, task.attempt, 1, len(task.slots), 0, fork.saved()))
        self.seconds += time.process_time() - before
        return done

    def outcome(self, future: Future[Any]) -> Any:
        return future.result()

    def close(self) -> None:
        pass


class Enough(Exception):
    """All parts are done, and nothing is to be committed."""


def prepare_driver(folder: str, parts: str) -> Task:
    """Run a job of parts of one row, until their results would be committed."""
    import deeplake_lite as dl
    from deeplake_lite.map import api, driver, places

    count = int(parts)
    ds = dl.create(f"{folder}/lake", {"x": "int64"})
    ds.append({"x": range(count)})
    ds.commit("rows")
    places.PART_ROWS = 1
    workers = FakeExecutor(ds.handle.repository.reader(ds.version))
    api.make_executor = lambda *_: workers
    times = [0.0]

    class Watched(driver.Driver):
        def _add(self, *arguments: Any) -> None:
            super()._add(*arguments)
            if self.state.parts_done % (count // 10) == 0:
                times.append(time.process_time() - workers.seconds)
            if self.state.parts_done == count:
                raise Enough

    api.Driver = Watched

    def task() -> dict[str, float]:
        times[0] = time.process_time()
        with contextlib.suppress(Enough):
            ds.map(compute_batch, into={"y": "float64"}, batch=1, progress=False)
        tenths = [10 * 1e3 * (b - a) / count for a, b in pairwise(times)]
        return {"ms per part": tenths[1], "ms per part at the end": tenths[-1]}

    return task


TASKS: dict[str, Callable[..., Any]] = {
    "function": prepare_function,
    "one process": partial(prepare_ours, executor=1),
    "two processes": partial(prepare_ours, executor=2),
    "threads": prepare_ours,
    "datasets": prepare_datasets,
    "litdata": prepare_litdata,
    "lance": prepare_lance,
    "deeplake": prepare_deeplake,
    "driver": prepare_driver,
}

if __name__ == "__main__":
    run(TASKS, *sys.argv[1:])
