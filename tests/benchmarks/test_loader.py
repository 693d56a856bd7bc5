"""Loaders: an image epoch compared with peers, later epochs, numbers, memory and remote stores.

Each contender runs in a process of its own, with its imports done, on the same bytes. The clock
runs from the first `iter` to the last batch. The order is shuffled, and every row is checked to
appear once. See `loader_peers` for how the peers are set up.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from .far_files import write_files
from .harness import OURS, Contender, at_least, at_least_times, at_most
from .loader_peers import PEERS
from .loaders import OURS as OURSELVES
from .processes import LOADER_WORKER, in_fresh_process

pytestmark = pytest.mark.bench
LIMIT, TORCH = "decode limit", "deeplake_lite, PyTorch"
FASTEST = ("Lance", "Grain", "tf.data")
OTHERS = ("LitData", "Hugging Face", "PyTorch", "WebDataset", "MosaicML")
BUDGETS = (128, 1024)
"""MiB."""

type Measure = Callable[..., Contender]


def run(task: str, *arguments: object) -> dict[str, float]:
    return in_fresh_process(task, *arguments, worker=LOADER_WORKER)


def measure(task: str, *arguments: object) -> Contender:
    return partial(run, task, *arguments)


@pytest.fixture(scope="module")
def count(jpegs: Sequence[bytes], part: Callable[[int], int]) -> int:
    return part(len(jpegs))


@pytest.fixture(scope="module")
def written(work: Path, count: int) -> Callable[[str], Path]:
    """Return the function that gives the folder of a contender's images, which are written once."""

    def folder(name: str) -> Path:
        path = work / name.split(",")[0].replace(" ", "-")
        if not path.exists():
            run("write", name, path, count)
        return path

    return folder


def test_epoch_of_images(race, report, written, count):
    entrants = [*OURSELVES, *PEERS]
    rounds = race(
        {name: measure("epoch", name, written(name), count) for name in entrants}, warm_up=False
    )
    rate, others = "images/s", [f"{OURS}, {framework}" for framework in ("TensorFlow", "JAX")]
    report.add(
        f"an epoch of {count:,} JPEGs, shuffled, batches of 64",
        rounds,
        at_least_times(0.92, LIMIT, rate),
        at_least_times(1.15, FASTEST, rate),
        at_least_times(0.92, LIMIT, rate, of=TORCH),
        at_least_times(1.15, FASTEST, rate, of=TORCH),
        at_least_times(1.6, OTHERS, rate),
        at_least_times(4, "Deep Lake", rate),
        *(at_least_times(0.85, OURS, rate, of=other) for other in others),
    )


def test_second_epoch_of_decoded_images(race, report, written, count):
    rounds = race(
        {
            OURS: measure("decoded", written(OURS), count),
            LIMIT: measure("epoch", LIMIT, written(LIMIT), count),
        },
        warm_up=False,
    )
    figure = f'second epoch of {count:,} JPEGs, cache="decoded"'
    report.add(figure, rounds, at_least_times(8, LIMIT, "images/s"))


@pytest.mark.parametrize(
    ("kind", "total", "batch", "words"),
    [
        ("pictures", 200_000, 256, "32x32x3 uint8 and a label"),
        ("floats", 5_000_000, 4096, "16 float32"),
    ],
)
def test_rows_of_one_shape(race, report, work, part, kind, total, batch, words):
    rows, folder = part(total), work / kind
    run("write_rows", kind, folder, rows)
    rounds = race(
        {
            OURS: measure("rows", folder, rows, batch),
            "np.take": measure("take", kind, rows, batch),
        },
        warm_up=False,
    )
    report.add(
        f"{rows:,} rows of {words}, batches of {batch:,}, exact shuffle",
        rounds,
        at_least_times(0.25, "np.take", "first rows/s"),
        at_least_times(0.5, "np.take", "second rows/s"),
    )


def test_first_batch(race, report, written, count):
    rounds = race({OURS: measure("first_batch", written(OURS))})
    report.add(f"open and first batch of {count:,} JPEGs, new process", rounds, at_most(400, "ms"))


def test_overhead_per_batch(race, report, work, part):
    rows, folder = part(500_000), work / "tiny"
    run("write_rows", "tiny", folder, rows)
    rounds = race({OURS: measure("overhead", folder, rows)})
    report.add("a batch of 64 numbers", rounds, at_most(150, "µs first epoch"), at_most(150, "µs"))


def test_filtered_view(race, report, written, count):
    rounds = race({OURS: measure("filtered", written(OURS), count)})
    report.add(
        f"5 % of {count:,} JPEGs in runs of 50: bytes read by theirs, cached rate by that of all",
        rounds,
        at_most(1.5, "x bytes"),
        at_least(0.8, "x rate"),
    )


@pytest.mark.parametrize("budget", BUDGETS)
def test_peak_memory(race, report, written, count, budget):
    rounds = race({OURS: measure("memory", written(OURS), count, budget)}, warm_up=False)
    most = round(budget * 2**20 / 1e6) + 300
    figure = f"memory added by two epochs of {count:,} JPEGs, memory_budget={budget} MiB"
    report.add(figure, rounds, at_most(most, "MB"))


@pytest.fixture(scope="module")
def endpoint(written: Callable[[str], Path]) -> Iterator[str]:
    """Start a store of 50 ms per request over our lake, and the images as files."""
    folder = written(OURS)
    write_files(folder, written(LIMIT))
    command = [sys.executable, "-m", "deeplake_lite.testing.slow_store", str(folder)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([*command, "--latency", "0.05"], text=True, **pipes) as store:
        yield store.stdout.readline().strip()
        store.stdin.close()


def test_store_of_50_ms_per_request(race, report, endpoint, count):
    one, some = "DataLoader, one at a time", "DataLoader, 16 at a time"
    rounds = race(
        {
            OURS: measure("far", endpoint, count),
            one: measure("far_files", endpoint, max(256, count // 40), 1),
            some: measure("far_files", endpoint, max(256, count // 4), 16),
        },
        warm_up=False,
    )
    report.add(
        f"first epoch of {count:,} JPEGs from a store that takes 50 ms per request",
        rounds,
        at_least_times(40, one, "images/s"),
        at_least_times(2.5, some, "images/s"),
    )
