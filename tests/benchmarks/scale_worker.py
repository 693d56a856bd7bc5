"""One operation on a large lake, in a process of its own, so that its peak of memory is known.

``python -m tests.benchmarks.scale_worker FOLDER OPERATION`` prints the CPU time in milliseconds and
the additional memory in MB of each timed step, as JSON. Each operation has a branch of its own.
"""

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import deeplake_lite as dl

COLUMNS = {"a": "int32", "b": "float32", "c": "int64", "k": "int64"}
COMMIT_ROWS = 2_000_000
ROW = {"a": 1, "b": 2.0, "c": 3, "k": -1}

STEPS: dict[str, dict[str, float]] = {}


def build(folder: Path, rows: int) -> None:
    """Create a lake of four scalars, whose column ``k`` counts up."""
    ds = dl.create(str(folder), COLUMNS)
    for start in range(0, rows, COMMIT_ROWS):
        count = min(COMMIT_ROWS, rows - start)
        numbers = np.arange(start, start + count)
        random = np.random.default_rng(start)
        ds.append({
            "a": random.integers(0, 1_000, count, np.int32),
            "b": random.random(count, np.float32),
            "c": numbers * 7 % 1_000_003,
            "k": numbers,
        })  # fmt: skip
        ds.commit(f"from {start}")


@contextmanager
def timed(step: str) -> Iterator[None]:
    """Measure the CPU time and the additional memory of a step."""
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before, began = memory("VmRSS"), time.process_time()
    yield
    spent = 1e3 * (time.process_time() - began)
    STEPS[step] = {"ms": spent, "MB": max(0.0, memory("VmHWM") - before)}


def memory(name: str) -> float:
    """Return a figure of this process's memory in MB."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1e3 if found else 0.0


def one_cell(ds: dl.Dataset) -> None:
    ds["a"][len(ds) // 2] = -1
    ds.commit("a cell")


def one_row(ds: dl.Dataset) -> None:
    ds.append([ROW])
    ds.commit("a row")


def first_row(ds: dl.Dataset) -> None:
    with timed("open"):
        opened = dl.open(ds.url, branch=str(ds.current_branch))
    with timed("first row of a handle"):
        opened[len(opened) // 2]["a"]


def commits(ds: dl.Dataset) -> None:
    one_row(ds)
    with timed("commit of one cell"):
        one_cell(ds)
    with timed("commit of one row"):
        one_row(ds)


def diff(ds: dl.Dataset) -> None:
    before = ds.version
    one_cell(ds)
    opened = dl.open(ds.url, branch=str(ds.current_branch))
    with timed("diff of one cell"):
        assert len(opened.diff(before, ds.version).changed["a"]) == 1


def merge(ds: dl.Dataset) -> None:
    """Merge 1,000 changed cells, half of them on each side."""
    cells = np.arange(500) * (len(ds) // 500)
    ds.branch("side")
    side = dl.open(ds.url, branch="side")
    side.update(cells, {"a": np.full(500, -1, np.int32)})
    side.commit("side")
    ds.update(cells, {"b": np.full(500, -1, np.float32)})
    ds.commit("main")
    opened = dl.open(ds.url, branch=str(ds.current_branch))
    with timed("merge of 1,000 cells"):
        opened.merge("side")


def delete_one(ds: dl.Dataset) -> None:
    with timed("delete one row, commit"):
        ds.delete([len(ds) // 2])
        ds.commit("one less")
    with timed("then: open and first row"):
        opened = dl.open(ds.url, branch=str(ds.current_branch))
        opened[len(opened) // 2]["a"]
    with timed("then: commit of one row"):
        one_row(opened)


def delete_many(ds: dl.Dataset) -> None:
    rows = np.random.default_rng(0).choice(len(ds), len(ds) // 10, replace=False)
    blocks = range(0, len(ds) * 8 // 10, max(1, len(ds) // 10))
    with timed("read 8 blocks of 1,000 rows"):
        _ = [ds["a"][start : start + 1_000] for start in blocks]
    with timed("delete 10 % of the rows, commit"):
        ds.delete(rows)
        ds.commit("fewer")
    opened = dl.open(ds.url, branch=str(ds.current_branch))
    with timed("then: read 8 blocks of 1,000 rows"):
        _ = [opened["a"][start : start + 1_000] for start in blocks]


def upsert(ds: dl.Dataset) -> None:
    keys = np.random.default_rng(0).choice(len(ds), min(10_000, len(ds) // 2), replace=False)
    with timed("upsert of 10,000 rows, commit"):
        ds.upsert({"k": keys, "a": keys.astype(np.int32) % 7, "b": keys % 3, "c": keys}, on="k")
        ds.commit("upserted")


def queries(ds: dl.Dataset) -> None:
    with timed("filter of all rows"):
        len(ds.query("SELECT * WHERE a < 10"))
    with timed("second filter"):
        len(ds.query("SELECT * WHERE a < 11"))


def statistics(ds: dl.Dataset) -> None:
    """Filter a sorted column, of which the statistics of chunks exclude almost all."""
    with timed("filter of a sorted column (statistics)"):
        assert len(ds.query("SELECT * WHERE k BETWEEN 5000 AND 5100")) == 101


def views(ds: dl.Dataset) -> None:
    with timed("split"):
        ds.split([0.8, 0.2], seed=0)
    with timed("sorted view"):
        ds.query("SELECT * ORDER BY c")
    with timed("nbytes"):
        _ = ds.nbytes
    half = ds.query("SELECT * WHERE a < 500")
    with timed("save a view of half of the rows"):
        half.save("half")


def verify(ds: dl.Dataset) -> None:
    with timed("verify"):
        assert ds.verify()


def loader(ds: dl.Dataset) -> None:
    next(iter(ds[:512].pytorch(batch_size=256)))  # imports PyTorch
    loader = ds.pytorch(batch_size=256, shuffle=True, seed=0, memory_budget="1GB")
    with timed("first shuffled batch"):
        batches = iter(loader)
        next(batches)
    with timed("30 more batches"):
        for _ in range(min(30, len(loader) - 1)):
            next(batches)


OPERATIONS: dict[str, Callable[[dl.Dataset], None]] = {
    f.__name__: f
    for f in (
        *(
            first_row,
            commits,
            diff,
            merge,
            delete_one,
            delete_many,
            upsert,
            queries,
            statistics,
            views,
        ),
        *(verify, loader),
    )
}


def main(folder: str, operation: str) -> None:
    ds = dl.open(folder)
    ds[:10].query("SELECT a WHERE a < 0")  # imports what the first use needs
    _ = ds[0]["a"]
    ds.branch(operation)
    OPERATIONS[operation](dl.open(folder, branch=operation))
    print(json.dumps(STEPS))  # noqa: T201 read by the benchmark


if __name__ == "__main__":
    main(*sys.argv[1:])
