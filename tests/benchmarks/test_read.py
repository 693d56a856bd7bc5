"""Reading encoded bytes in order, random rows of ten columns and random batches of images."""

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from . import corpus, lakes, peers, processes
from .harness import (
    OURS,
    Contender,
    Figures,
    at_least_times,
    at_most,
    each_timed,
    timed,
)

pytestmark = pytest.mark.bench
MEGABYTES = 432  # CPU time is reported per this many rows


@pytest.fixture(scope="module")
def images(work, jpegs, peers_only):
    """Return the folder with the same images as a lake of each library and as files."""
    corpus.write_chunk_files(jpegs, work / "files")
    peers.deep_lake_ingest(work / "peers", {"image": jpegs})
    peers.lance_ingest(work / "peers", {"image": jpegs})
    if not peers_only:
        lakes.image_lake(work, jpegs)
    return work


def rates(total: int, figures: Figures) -> Figures:
    cpu = figures["CPU s"] * MEGABYTES * 1e6 / total
    return {"GB/s": total / 1e9 / figures["s"], "CPU s": cpu}


SEQUENTIAL = (at_least_times(0.4, "read_bytes", "GB/s"), at_most(0.3, "CPU s"))


def test_encoded_bytes_in_order(race, report, images, jpegs):
    total = sum(map(len, jpegs))
    files = sorted((images / "files").iterdir())

    def contender[T](opened: Callable[[], T], read: Callable[[T], object]) -> Contender:
        return lambda: rates(total, timed(partial(read, opened())))

    rounds = race(
        {
            OURS: contender(
                lambda: lakes.open_lake(images)["image"], lambda column: column.encoded()
            ),
            "read_bytes": contender(lambda: files, lambda paths: [p.read_bytes() for p in paths]),
            "Deep Lake": contender(
                lambda: peers.deep_lake_open(images / "peers"), peers.deep_lake_encoded
            ),
            "Lance": contender(
                lambda: peers.lance_open(images / "peers"), lambda lake: lake.to_table()
            ),
        },
        rounds=5,
    )
    report.add("encoded bytes in order, one process", rounds, *SEQUENTIAL)


def test_encoded_bytes_in_order_in_a_new_process(race, report, images, jpegs):
    """Memory that is new to a process costs page faults, for ours as for the files."""
    total = sum(map(len, jpegs))
    tasks = {OURS: ("encoded", images / "lake"), "read_bytes": ("read_bytes", images / "files")}

    def contender(task: tuple[object, ...]) -> Contender:
        return lambda: rates(total, processes.in_fresh_process(*task))

    rounds = race({name: contender(task) for name, task in tasks.items()})
    report.add("encoded bytes in order, new process each", rounds, *SEQUENTIAL)


def random_rows(count: int, total: int, seed: int) -> list[int]:
    return np.random.default_rng(seed).choice(total, count, replace=False).tolist()


def test_random_rows_of_ten_columns(race, report, work, jpegs, peers_only):
    folder = work / "ten"
    columns = lakes.wide_columns(0, jpegs)
    peers.deep_lake_ingest(folder, columns, peers.DEEP_LAKE_WIDE)
    peers.lance_ingest(folder, columns)
    if not peers_only:
        lake = lakes.dl.create(str(folder / "ours" / "lake"), lakes.wide_schema())
        lake.append(columns)
        lake.commit("ten columns")

    def contender(opened: Callable[[], Any], read: Callable[[Any, int], object]) -> Contender:
        def measure() -> Figures:
            times = each_timed(partial(read, opened()), random_rows(200, len(jpegs), seed=0))
            return {"ms": statistics.median(times)}

        return measure

    rounds = race(
        {
            OURS: contender(lambda: lakes.open_lake(folder / "ours"), lambda lake, row: lake[row]),
            "Deep Lake": contender(lambda: peers.deep_lake_open(folder), peers.deep_lake_row),
            "Lance": contender(lambda: peers.lance_open(folder), peers.lance_row),
        }
    )
    report.add("one random row of ten columns, new handle", rounds, at_most(1.5, "ms"))


def test_random_batches_of_images(race, report, images, jpegs):
    batches = [random_rows(64, len(jpegs), seed=1 + i) for i in range(10)]

    def contender(opened: Callable[[], Any], read: Callable[[Any, list[int]], object]) -> Contender:
        def measure() -> Figures:
            times = each_timed(partial(read, opened()), batches)
            return {"ms/row": statistics.median(times) / 64}

        return measure

    rounds = race(
        {
            OURS: contender(
                lambda: lakes.open_lake(images), lambda lake, rows: lake[rows]["image"][:]
            ),
            "Deep Lake": contender(
                lambda: peers.deep_lake_open(images / "peers"), peers.deep_lake_images
            ),
            "Lance": contender(lambda: peers.lance_open(images / "peers"), peers.lance_images),
            "decode from RAM": contender(
                lambda: jpegs, lambda ram, rows: peers.decode([ram[row] for row in rows])
            ),
        }
    )
    report.add("64 random images, decoded", rounds, at_most(0.6, "ms/row"))
