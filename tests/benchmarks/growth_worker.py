"""The costs of many columns, commits and refs, and of large cells, each in a process of its own.

``python -m tests.benchmarks.growth_worker FOLDER SUBJECT`` prints the figures of each step as JSON.
Times are CPU times.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import deeplake_lite as dl

from .scale_worker import STEPS, memory, timed


def columns(folder: Path) -> None:
    """A lake with 1,000 columns of numbers, beside one with 10."""
    for count in (10, 1_000):
        name = f"{count:,} columns"
        schema = {f"c{i}": "int32" for i in range(count)}
        url = str(folder / f"{count}.lake")
        with timed(f"{name}: create"):
            ds = dl.create(url, schema)
        ds.append({column: np.arange(10_000, dtype=np.int32) for column in schema})
        ds.commit("rows")
        with timed(f"{name}: commit of one row"):
            ds.append([dict.fromkeys(schema, -1)])
            ds.commit("a row")
        opened = dl.open(url)
        opened.query("SELECT c1 WHERE c1 = 3")  # imports what the first query needs
        with timed(f"{name}: filter by one column"):
            assert len(opened.query("SELECT c2 WHERE c2 < 5")) == 6


def ragged(folder: Path) -> None:
    """A cell of 1 GB, and a slice of it."""
    ds = dl.create(str(folder / "ragged.lake"), {"x": dl.Array("float32", (None, 1_000))})
    sample = np.random.default_rng(0).random((250_000, 1_000), np.float32)
    with timed("append a sample of 1 GB, commit"):
        ds.append({"x": [sample]})
        ds.commit("a sample")
    opened = dl.open(ds.url)
    with timed("read a slice of 10 MB of it"):
        part = opened.query("SELECT x[100000:102500] AS part")["part"][0]
    assert np.array_equal(part, sample[100_000:102_500])
    with timed("read all of it"):
        whole = opened["x"][0]
    assert whole.shape == sample.shape


def commits(folder: Path) -> None:
    """1,000 commits of one row, 1,000 tags and 200 branches."""
    url = str(folder / "commits.lake")
    ds = dl.create(url, {"a": "int32", "b": "text"})
    for i in range(100):
        commit(ds, i)
    before = memory("VmRSS")
    with timed("900 commits of one row"):
        for i in range(900):
            commit(ds, i)
    STEPS["900 commits of one row"]["MB kept"] = max(0.0, memory("VmRSS") - before)
    files = count_files(folder)
    commit(ds, 0)
    STEPS["files of a one-row commit"] = {"files": count_files(folder) - files}
    middle = ds.log()[500].id
    for i in range(1_000):
        ds.tag(f"v{i}")
    for i in range(200):
        ds.branch(f"b{i}")
    with timed("log of 1,000 commits"):
        assert len(dl.open(url).log()) > 1_000
    with timed("open by id"):
        assert len(dl.open(url, version=middle)) > 100
    with timed("open by tag"):
        assert len(dl.open(url, version="v700")) > 1_000
    with timed("vacuum, dry run"):
        ds.vacuum(dry_run=True)


def commit(ds: dl.Dataset, number: int) -> None:
    ds.append([{"a": number, "b": "a text"}])
    ds.commit("a row")


def count_files(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


SUBJECTS: dict[str, Callable[[Path], None]] = {f.__name__: f for f in (columns, ragged, commits)}

if __name__ == "__main__":
    SUBJECTS[sys.argv[2]](Path(sys.argv[1]))
    print(json.dumps(STEPS))  # noqa: T201 read by the benchmark
