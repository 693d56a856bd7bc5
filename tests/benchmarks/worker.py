"""Measurements that need a process of their own; imports are done before the clock starts.

``python -m benchmarks.worker TASK ARGUMENT…``, from the folder above, prints "ready", waits for a
line on standard input, runs the task and prints its figures as JSON. Because it waits, several
workers can start at the same moment.
"""

import contextlib
import io
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import deeplake_lite as dl

type Task = Callable[[], dict[str, float]]


def prepare_open(url: str) -> Task:
    """Open and get the length; a small lake is opened first, so that lazy imports are done."""
    with tempfile.TemporaryDirectory() as folder:
        dl.create(f"{folder}/warm", {"x": "int32"}).commit("empty")
        len(dl.open(f"{folder}/warm"))

    def task() -> dict[str, float]:
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak, see proc(5)
        before, start = status_mb("VmRSS"), time.perf_counter()
        len(dl.open(url))
        wall = time.perf_counter() - start
        return {"ms": wall * 1e3, "MB": status_mb("VmHWM") - before}

    return task


def prepare_query(url: str) -> Task:
    """Open and query all columns; a small lake is queried first, so that lazy imports are done."""
    asked = "SELECT * WHERE label = 3 AND value > 0.5 AND text LIKE '%rose%'"
    with tempfile.TemporaryDirectory() as folder:
        schema = {"label": "int64", "value": "float32", "text": dl.Text()}
        small = dl.create(f"{folder}/warm", schema)
        small.append({"label": [3], "value": [1.0], "text": ["rose"]})
        small.commit("one row")
        len(dl.open(f"{folder}/warm").query(asked))

    def task() -> dict[str, float]:
        start = time.perf_counter()
        len(dl.open(url).query(asked))
        return {"ms": (time.perf_counter() - start) * 1e3}

    return task


def prepare_append(url: str, source: str, first: str, count: str) -> Task:
    """Append the files of a slice of a folder, and commit."""
    paths = sorted(Path(source).glob("*.jpg"))[int(first) : int(first) + int(count)]
    jpegs, lake = [path.read_bytes() for path in paths], dl.open(url)

    def task() -> dict[str, float]:
        start = time.perf_counter()
        lake.append({"image": jpegs})
        appended = time.perf_counter()
        lake.commit(f"from {first}")
        return {"append s": appended - start, "commit s": time.perf_counter() - appended}

    return task


def prepare_encoded(url: str) -> Task:
    """Read all encoded bytes of a column and hold on to the results."""
    column = dl.open(url)["image"]
    return lambda: clocked(lambda: column.encoded())


def prepare_read_bytes(source: str) -> Task:
    """Read all files of a folder and hold on to the results: the baseline for `encoded`."""
    paths = sorted(Path(source).iterdir())
    return lambda: clocked(lambda: [path.read_bytes() for path in paths])


def prepare_coco(document: str, url: str) -> Task:
    """Import a COCO document whose images do not exist."""
    return lambda: weighed(lambda: dl.from_coco(document, url, images=False, progress=False))


def prepare_pycocotools(document: str) -> Task:
    """Read a COCO document as its own package does."""
    from pycocotools.coco import COCO

    def task() -> dict[str, float]:
        with contextlib.redirect_stdout(io.StringIO()):
            return weighed(lambda: COCO(document))

    return task


def weighed(action: Callable[[], object]) -> dict[str, float]:
    """Return the time of an action, and the memory that it added at its peak."""
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak, see proc(5)
    before = status_mb("VmRSS")
    return {**clocked(action), "MB": status_mb("VmHWM") - before}


def clocked(action: Callable[[], object]) -> dict[str, float]:
    cpu, start = time.process_time(), time.perf_counter()
    kept = action()
    figures = {"s": time.perf_counter() - start, "CPU s": time.process_time() - cpu}
    del kept
    return figures


def status_mb(name: str) -> float:
    """Return a memory figure of this process in MB, from /proc."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(name))
    return int(line.split()[1]) * 1024 / 1e6


TASKS: dict[str, Callable[..., Task]] = {
    "open": prepare_open,
    "query": prepare_query,
    "append": prepare_append,
    "encoded": prepare_encoded,
    "read_bytes": prepare_read_bytes,
    "coco": prepare_coco,
    "pycocotools": prepare_pycocotools,
}


def run(tasks: Mapping[str, Callable[..., Task]], name: str, *arguments: str) -> None:
    task = tasks[name](*arguments)
    print("ready", flush=True)  # noqa: T201 the protocol
    sys.stdin.readline()
    print(json.dumps(task()), flush=True)  # noqa: T201 the protocol


if __name__ == "__main__":
    run(TASKS, *sys.argv[1:])
