"""Steps and epochs on an object store, compared with Lance, Deep Lake and MosaicML.

The store is a SeaweedFS on this machine. A proxy in front of it delays every reply by the latency
and counts the requests. A row of the table has requests, those of them that waited for one another,
and the time of the step at either latency. The requests are those at 50 ms: there, the times that
the server and the proxy take do not decide which requests overlap.
"""

import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pytest

from deeplake_lite.testing.http_server import Reply, Request
from deeplake_lite.testing.proxy import Proxy
from tests.servers import Bucket

from .harness import OURS, Contender, Figures, Rounds, Target, at_least_times, at_most
from .processes import LOADER_WORKER, STORE_WORKER, in_fresh_process
from .store_tools import TOOLS, Store
from .store_worker import SCANNED, slug

pytestmark = pytest.mark.bench

LATENCY = 0.05
ROWS, APPENDED, COMMITS = 10_000, 1_000, 100
ONE, WARM, LOCAL = "one at a time", f"{OURS}, warm cache", f"{OURS}, local"
SLOWER = {0.0: 10, LATENCY: 40}
"""One in so many images is loaded one at a time, by latency: all of them would take minutes."""


class CountingProxy(Proxy):
    """A proxy that notes when each request began and ended."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint)
        self.times: list[tuple[float, float]] = []

    async def reply(self, request: Request) -> Reply:
        start = time.monotonic()
        try:
            return await super().reply(request)
        finally:
            self.times.append((start, time.monotonic()))


@pytest.fixture(scope="module")
def bucket(seaweedfs: str) -> Bucket:
    """Return a bucket, whose objects are deleted with the server."""
    bucket = Bucket("benchmarks", seaweedfs)
    bucket.client.create_bucket(Bucket=bucket.name)
    return bucket


@pytest.fixture(scope="module")
def proxy(bucket: Bucket) -> Iterator[CountingProxy]:
    with CountingProxy(bucket.endpoint) as proxy:
        yield proxy


def run(task: str, bucket: Bucket, *arguments: object) -> Figures:
    store = Store(bucket.name, bucket.endpoint, bucket.keys["id"], bucket.keys["secret"])
    return in_fresh_process(task, json.dumps(asdict(store)), *arguments, worker=STORE_WORKER)


# ---- steps


@pytest.fixture(scope="module")
def rows(part: Callable[[int], int]) -> int:
    return part(ROWS)


@pytest.fixture(scope="module")
def filled(bucket: Bucket, rows: int, peers_only: bool) -> Bucket:
    """Return the bucket with the datasets that are read."""
    for name in TOOLS:
        if not (peers_only and name == OURS):
            run("fill", bucket, name, rows, COMMITS)
    return bucket


def test_steps(race, report, filled, proxy, rows, part):
    chunks = sum("/chunks/" in key for key in filled.objects(f"{OURS}/{SCANNED}/"))
    appended, seconds = part(APPENDED), f"s at {LATENCY * 1000:g} ms"
    steps: dict[str, tuple[str, Sequence[Target]]] = {
        "create": ("create with six columns", ()),
        "append": (
            f"append {appended:,} rows and commit",
            (at_most(16, "requests"), at_most(8, "sequential")),
        ),
        "append one": (
            "append one row and commit",
            (at_most(16, "requests"), at_most(8, "sequential"), at_most(0.8, seconds)),
        ),
        "open": (
            f"open {rows:,} rows",
            (at_most(4, "requests"), at_most(0.3, seconds)),
        ),
        "first row": ("first row", (at_most(6, "requests"), at_most(0.5, seconds))),
        "scan": (
            f"scan {rows:,} rows, which have {chunks} chunks",
            (at_most(round(1.3 * chunks), "requests"),),
        ),
        "log": (f"log of {COMMITS} commits", (at_most(10, "requests"),)),
    }
    numbers = iter(range(1_000))

    def measure(name: str) -> Figures:
        figures = {}
        for latency in (0.0, LATENCY):
            proxy.latency = latency
            proxy.times.clear()
            fresh = f"{slug(name)}/{next(numbers)}"
            spans = run("steps", filled.at(proxy.endpoint), name, fresh, appended)
            for step, span in spans.items():
                figures[f"{step}: s at {latency * 1000:g} ms"] = span[1] - span[0]
                requests = [each for each in proxy.times if span[0] <= each[0] < span[2]]
                figures[f"{step}: requests"] = len(requests)
                figures[f"{step}: sequential"] = longest_chain(requests)
        return figures

    rounds = race({name: partial(measure, name) for name in TOOLS}, warm_up=False)
    for step, (words, targets) in steps.items():
        report.add(words, part_of(rounds, step), *targets)


def longest_chain(times: Iterable[tuple[float, float]]) -> int:
    """Return the maximum number of requests of which each begins after the one before has ended.

    >>> longest_chain([(0, 10), (1, 3), (2, 5), (4, 6)])
    2
    """
    count, free = 0, float("-inf")
    for start, end in sorted(times, key=lambda each: each[1]):
        if start >= free:
            count, free = count + 1, end
    return count


def part_of(rounds: Rounds, step: str) -> Rounds:
    """Return the figures of one step, in the order of the table."""
    units = ("requests", "sequential", "s at 0 ms", f"s at {LATENCY * 1000:g} ms")
    return {
        name: [{unit: each[f"{step}: {unit}"] for unit in units} for each in figures]
        for name, figures in rounds.items()
    }


# ---- epochs


@pytest.fixture(scope="module")
def count(jpegs: Sequence[bytes], part: Callable[[int], int]) -> int:
    return part(len(jpegs))


@pytest.fixture(scope="module")
def images(bucket: Bucket, count: int, peers_only: bool) -> Bucket:
    """Return the bucket with the images in the format of each loader."""
    for name in ("Lance", "MosaicML", *([] if peers_only else [OURS])):
        run("write", bucket, name, count)
    run("write", bucket, ONE, one_at_a_time(count, 0.0))
    return bucket


def one_at_a_time(count: int, latency: float) -> int:
    return max(256, count // SLOWER[latency])


@pytest.mark.parametrize("latency", SLOWER)
def test_epoch_of_images(race, report, images, proxy, work, count, latency, peers_only):
    """At 0 ms, no request goes through the proxy, whose own time would count."""
    proxy.latency = latency
    store, cache, local = images.at(proxy.endpoint) if latency else images, work / "w", work / "l"

    def epoch(name: str, folder: Path, rows: int) -> Figures:
        proxy.times.clear()
        folder.mkdir(exist_ok=True)
        figures = run("epoch", store, name, rows, folder)
        return figures | ({"requests": len(proxy.times)} if latency else {})

    def cold(name: str, rows: int = count) -> Contender:
        def measure() -> Figures:
            folder = work / "cold"
            try:
                return epoch(name, folder, rows)
            finally:
                shutil.rmtree(folder)

        return measure

    if not peers_only:
        epoch(WARM, cache, count)
        if not local.exists():
            in_fresh_process("write", OURS, local, count, worker=LOADER_WORKER)
    rounds = race(
        {
            OURS: cold(OURS),
            WARM: partial(epoch, WARM, cache, count),
            LOCAL: partial(in_fresh_process, "epoch", OURS, local, count, worker=LOADER_WORKER),
            "Lance": cold("Lance"),
            "MosaicML": cold("MosaicML"),
            ONE: cold(ONE, one_at_a_time(count, latency)),
        },
        warm_up=False,
    )
    rate = "images/s"
    report.add(
        f"first epoch of {count:,} JPEGs, {latency * 1000:g} ms per request",
        rounds,
        at_least_times(12, ONE, rate),
        at_least_times(1, ("Lance", "MosaicML"), rate),
        at_least_times(0.9, LOCAL, rate, of=WARM),
    )
