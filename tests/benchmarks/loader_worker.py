"""Tasks of the loader race, each run in a process of its own: see `processes`.

Run ``python -m benchmarks.loader_worker TASK ARGUMENT…`` from the folder above. Lakes are opened
and lazy imports are done before the clock starts, unless a task says otherwise. An epoch of images
starts with their files in the page cache: files that were not used for minutes may have been
evicted, and racing the disk would be a different benchmark.
"""

import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import deeplake_lite as dl
from deeplake_lite.loader import Loader
from deeplake_lite.storage import chunk_files
from deeplake_lite.testing.slow_store import storage_options

from . import corpus, lakes
from .far_files import far_batches
from .loader_peers import PEERS
from .loaders import BATCH, OURS, WORKERS, Batches, Pairs, check_images, check_rows, write_lake
from .worker import Task, run, status_mb

ENTRANTS = OURS | PEERS
MIB = 2**20
DECODED_BUDGET = 8 * 2**30
SIDE, FLOATS = 32, 16


# ---- images


def prepare_write(name: str, folder: str, count: str) -> Task:
    """Write the first images of the corpus in a contender's format."""
    jpegs = corpus.load()[: int(count)]

    def task() -> dict[str, float]:
        Path(folder).mkdir(parents=True)
        ENTRANTS[name].write(Path(folder), jpegs)
        return {}

    return task


def prepare_epoch(name: str, folder: str, count: str) -> Task:
    """Run an epoch of a contender whose files are in the page cache."""
    for path in (*Path(folder).rglob("*"), *corpus.folder().glob("*.jpg")):
        if path.is_file():
            with path.open("rb", buffering=0) as file:
                while file.read(2**16):
                    pass
    loader = ENTRANTS[name].batches(Path(folder))
    return lambda: {"images/s": int(count) / epoch_seconds(loader, int(count))}


def epoch_seconds(loader: Batches, count: int) -> float:
    """Return the duration of an epoch, after checking that it has every image once."""
    labels = []
    start = time.perf_counter()
    for images, rows in loader:
        check_images(images)
        labels.append(rows)
    seconds = time.perf_counter() - start
    check_rows(labels, count)
    return seconds


def image_loader(folder: str, **options: Any) -> Loader:
    view = dl.open(f"{folder}/lake")
    return view.batches(BATCH, shuffle=True, num_workers=WORKERS, **options)


def prepare_decoded(folder: str, count: str) -> Task:
    """Run a second epoch, whose pixels the first one has left in memory."""
    loader = Pairs(image_loader(folder, cache="decoded", memory_budget=DECODED_BUDGET))
    epoch_seconds(loader, int(count))
    return lambda: {"images/s": int(count) / epoch_seconds(loader, int(count))}


def prepare_memory(folder: str, count: str, budget: str) -> Task:
    """Run two epochs, and report how far memory grew beyond its level before."""
    warm_up()

    def task() -> dict[str, float]:
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak, see proc(5)
        before = status_mb("VmRSS")
        loader = Pairs(image_loader(folder, memory_budget=int(budget) * MIB))
        for _ in range(2):
            epoch_seconds(loader, int(count))
        return {"MB": status_mb("VmHWM") - before}

    return task


def prepare_first_batch(folder: str) -> Task:
    """Open a lake and get a batch; all of that is timed."""
    warm_up()

    def task() -> dict[str, float]:
        start = time.perf_counter()
        next(iter(image_loader(folder)))
        return {"ms": (time.perf_counter() - start) * 1e3}

    return task


def warm_up() -> None:
    """Use the whole loader once on a separate lake, to get its imports done."""
    with tempfile.TemporaryDirectory() as folder:
        write_lake(Path(folder), corpus.jpeg_crops(4, 64, seed=0))
        list(image_loader(folder))


def prepare_filtered(folder: str, count: str) -> Task:
    """Compare the epochs of a view of runs of 50 rows in 1,000 with those of all rows."""
    lake = dl.open(f"{folder}/lake")
    view = lake.query("SELECT * WHERE label % 1000 < 50")
    warm_up()
    chunk_files.MAPPED_BYTES = 2**62  # the system does not count mapped memory

    def task() -> dict[str, float]:
        options: dict[str, Any] = {"shuffle": True, "num_workers": WORKERS}
        before = bytes_read()
        few = view.batches(BATCH, **options)
        rows = np.concatenate([batch["label"] for batch in few])
        read = bytes_read() - before
        stored = sum(len(data) for data in lake[rows.tolist()]["image"].encoded())
        all_rows = lake.batches(BATCH, **options)
        list(map(len, all_rows))
        rate = fastest(few) * len(rows)
        return {
            "x bytes": read / (stored + rows.nbytes),
            "x rate": rate / (fastest(all_rows) * int(count)),
        }

    return task


def fastest(loader: Iterable[Any], epochs: int = 5) -> float:
    """Return the epochs per second of the fastest of several."""
    seconds = []
    for _ in range(epochs):
        start = time.perf_counter()
        for _batch in loader:
            pass
        seconds.append(time.perf_counter() - start)
    return 1 / min(seconds)


def bytes_read() -> int:
    """Return the bytes that this process has read from files, see proc(5)."""
    line = next(x for x in Path("/proc/self/io").read_text().splitlines() if x.startswith("rchar"))
    return int(line.split()[1])


# ---- numbers


def columns_of(kind: str, count: int) -> dict[str, NDArray[Any]]:
    """Return small images of one shape with labels, or rows of floats."""
    rng = np.random.default_rng(0)
    if kind == "floats":
        return {"x": rng.standard_normal((count, FLOATS), dtype=np.float32)}
    if kind == "tiny":
        return {"x": np.arange(count)}
    tiles = np.stack(corpus.random_crops(20_000, SIDE, seed=4))
    return {"image": np.resize(tiles, (count, SIDE, SIDE, 3)), "label": np.arange(count)}


SCHEMAS: dict[str, dict[str, Any]] = {
    "pictures": {"image": dl.Array("uint8", (SIDE, SIDE, 3)), "label": "int64"},
    "floats": {"x": dl.Array("float32", (FLOATS,))},
    "tiny": {"x": "int64"},
}


def prepare_write_rows(kind: str, folder: str, count: str) -> Task:
    """Write a lake of numbers."""
    columns = columns_of(kind, int(count))

    def task() -> dict[str, float]:
        lake = dl.create(f"{folder}/lake", SCHEMAS[kind])
        for start in range(0, int(count), lakes.BATCH):
            lake.append({n: c[start : start + lakes.BATCH] for n, c in columns.items()})
        lake.commit(kind)
        return {}

    return task


def prepare_rows(folder: str, count: str, size: str) -> Task:
    """Run two epochs of a lake of numbers."""
    warm_up()
    loader = dl.open(f"{folder}/lake").batches(int(size), shuffle="exact", num_workers=WORKERS)

    def task() -> dict[str, float]:
        first, second = (rows_seconds(loader, int(count)) for _ in range(2))
        return {"first rows/s": int(count) / first, "second rows/s": int(count) / second}

    return task


def prepare_take(kind: str, count: str, size: str) -> Task:
    """Take the same batches from arrays in memory, in a known order: the upper bound."""
    columns = columns_of(kind, int(count))
    order = np.random.default_rng(1).permutation(int(count))

    def batches() -> Iterator[dict[str, NDArray[Any]]]:
        for start in range(0, int(count), int(size)):
            rows = order[start : start + int(size)]
            yield {name: np.take(values, rows, axis=0) for name, values in columns.items()}

    def task() -> dict[str, float]:
        rate = int(count) / rows_seconds(batches(), int(count))
        return {"first rows/s": rate, "second rows/s": rate}

    return task


def prepare_overhead(folder: str, count: str) -> Task:
    """Iterate over batches of 64 numbers, to measure the overhead of a batch."""
    warm_up()
    loader = dl.open(f"{folder}/lake").batches(64, shuffle=True, num_workers=WORKERS)

    def task() -> dict[str, float]:
        first, second = (rows_seconds(loader, int(count)) / len(loader) for _ in range(2))
        return {"µs first epoch": first * 1e6, "µs": second * 1e6}

    return task


def rows_seconds(batches: Iterable[dict[str, NDArray[Any]]], count: int) -> float:
    """Return the duration of an epoch, after checking its number of rows."""
    start = time.perf_counter()
    result = sum(len(next(iter(batch.values()))) for batch in batches)
    seconds = time.perf_counter() - start
    if result != count:
        raise AssertionError(f"{result} rows of {count}")
    return seconds


# ---- remote stores


def prepare_far(endpoint: str, count: str) -> Task:
    """Run the first epoch of an open lake on a slow store."""
    view = dl.open("s3://lakes/lake", storage_options=storage_options(endpoint))

    def task() -> dict[str, float]:
        start = time.perf_counter()
        epoch_seconds(Pairs(view.batches(BATCH, shuffle=True, num_workers=WORKERS)), int(count))
        return {"images/s": int(count) / (time.perf_counter() - start)}

    return task


def prepare_far_files(endpoint: str, count: str, at_a_time: str) -> Task:
    """Run an epoch of files on the same store, with PyTorch's DataLoader."""
    loader = far_batches(endpoint, int(count), int(at_a_time))
    return lambda: {"images/s": int(count) / epoch_seconds(loader, int(count))}


TASKS = {
    "write": prepare_write,
    "epoch": prepare_epoch,
    "decoded": prepare_decoded,
    "memory": prepare_memory,
    "first_batch": prepare_first_batch,
    "filtered": prepare_filtered,
    "write_rows": prepare_write_rows,
    "rows": prepare_rows,
    "take": prepare_take,
    "overhead": prepare_overhead,
    "far": prepare_far,
    "far_files": prepare_far_files,
}

if __name__ == "__main__":
    run(TASKS, *sys.argv[1:])
