"""Tasks on an object store, each run in a process of its own: see `processes`.

Run ``python -m benchmarks.store_worker TASK STORE ARGUMENT…`` from the folder above, where STORE is
a `Store` as JSON.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import corpus
from .loader_worker import epoch_seconds
from .store_loaders import ENTRANTS
from .store_tools import TOOLS, Store, Tool, wide_rows
from .worker import Task, run

SETTLE = 0.3
"""Seconds after a step in which the requests that it has left to threads are still counted."""

SCANNED, LOGGED = "scanned", "logged"
"""Names of the datasets that are read."""

type Span = tuple[float, float, float]
"""When a step began, returned, and no longer counted, in seconds of the monotonic clock."""


def slug(name: str) -> str:
    """Return the name of a library as a part of URLs."""
    return name.replace(" ", "-")


def store_of(text: str) -> Store:
    return Store(**json.loads(text))


# ---- steps


def prepare_fill(store: str, name: str, rows: str, commits: str) -> Task:
    """Write the datasets that the steps read: one with many rows, one with many commits."""
    tool, columns = TOOLS[name](store_of(store)), wide_rows(int(rows))
    row = {column: values[:1] for column, values in columns.items()}

    def task() -> dict[str, float]:
        tool.append(tool.create(f"{slug(name)}/{SCANNED}"), columns)
        lake = tool.create(f"{slug(name)}/{LOGGED}")
        for _ in range(int(commits)):
            tool.append(lake, row)
        return {}

    return task


def prepare_steps(store: str, name: str, fresh: str, appended: str) -> Callable[[], dict[str, Any]]:
    """Time every step, after running all of them once on a small dataset."""
    tool, columns = TOOLS[name](store_of(store)), wide_rows(int(appended))
    few = {column: values[:10] for column, values in columns.items()}
    small = f"{fresh}-small"
    write(tool, small, few)
    read(tool, small, small)

    def task() -> dict[str, Any]:
        written = write(tool, fresh, columns)
        return written | read(tool, f"{slug(name)}/{SCANNED}", f"{slug(name)}/{LOGGED}")

    return task


def write(tool: Tool, name: str, columns: dict[str, Any]) -> dict[str, Span]:
    row = {column: values[:1] for column, values in columns.items()}
    create, lake = clocked(lambda: tool.create(name))
    append, _ = clocked(lambda: tool.append(lake, columns))
    append_one, _ = clocked(lambda: tool.append(lake, row))
    return {"create": create, "append": append, "append one": append_one}


def read(tool: Tool, scanned: str, logged: str) -> dict[str, Span]:
    spans = {}
    spans["open"], lake = clocked(lambda: tool.open(scanned))
    spans["first row"], _ = clocked(lambda: tool.read_first_row(lake))
    lake = tool.open(scanned)
    spans["scan"], _ = clocked(lambda: tool.scan(lake))
    lake = tool.open(logged)
    spans["log"], _ = clocked(lambda: tool.list_commits(lake))
    return spans


def clocked[T](action: Callable[[], T]) -> tuple[Span, T]:
    time.sleep(SETTLE)
    start = time.monotonic()
    result = action()
    end = time.monotonic()
    time.sleep(SETTLE)
    return (start, end, time.monotonic()), result


# ---- epochs


def prepare_write(store: str, name: str, count: str) -> Task:
    """Write the first images of the corpus in a contender's format."""
    jpegs = corpus.load()[: int(count)]

    def task() -> dict[str, float]:
        ENTRANTS[name].write(store_of(store), jpegs)
        return {}

    return task


def prepare_epoch(store: str, name: str, count: str, folder: str) -> Task:
    """Run an epoch of a contender; its data are open, but none of them have been read."""
    loader = ENTRANTS[name].batches(store_of(store), int(count), Path(folder))
    return lambda: {"images/s": int(count) / epoch_seconds(loader, int(count))}


TASKS: dict[str, Callable[..., Any]] = {
    "fill": prepare_fill,
    "steps": prepare_steps,
    "write": prepare_write,
    "epoch": prepare_epoch,
}

if __name__ == "__main__":
    run(TASKS, *sys.argv[1:])
