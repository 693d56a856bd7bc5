"""Computing a column with a function, beside the peers' ways to do it, and the driver of a job."""

from functools import partial
from pathlib import Path

import pytest

from .harness import OURS, Figures, Target, at_most, in_fresh_folder
from .processes import MAP_WORKER, in_fresh_process

pytestmark = pytest.mark.bench

ROWS, PARTS = 10_000, 100_000
ONE, THREADS, ALONE = f"{OURS}, one process", f"{OURS}, threads", "the function alone"
PEERS = {
    "Hugging Face": "datasets",
    "LitData": "litdata",
    "Lance": "lance",
    "Deep Lake": "deeplake",
}
"""Tasks of peers. Deep Lake uses one process, because it has no such function, and others two."""


def test_a_function_of_one_millisecond(race, report, work, part):
    rows = part(ROWS)

    def measure(task: str) -> partial[Figures]:
        return partial(in_fresh_folder, work, partial(run, task, rows))

    ours = {
        OURS: measure("two processes"),
        ONE: measure("one process"),
        THREADS: measure("threads"),
    }
    peers = {name: measure(task) for name, task in PEERS.items()}
    rounds = race(ours | peers | {ALONE: measure("function")}, warm_up=False)
    report.add(
        f"a function of 1 ms per row, {rows:,} rows, two processes",
        rounds,
        Target("≤ 1.15x the function's CPU time", lambda m: cpu(m[OURS]) <= 1.15 * cpu(m[ALONE])),
        Target("≥ 1.8x one process", lambda m: m[ONE]["s"] >= 1.8 * m[OURS]["s"]),
    )


def cpu(figures: Figures) -> float:
    return figures["CPU s"]


def run(task: str, rows: int, folder: Path) -> Figures:
    return in_fresh_process(task, folder, rows, worker=MAP_WORKER)


@pytest.mark.usefixtures("needs_ours")
def test_driver(race, report, work, part):
    parts = part(PARTS)
    measure = partial(in_fresh_folder, work, partial(run, "driver", parts))
    rounds = race({OURS: measure}, 1, warm_up=False)
    flat = Target(
        "as much at the end",
        lambda m: m[OURS]["ms per part at the end"] <= 1.25 * m[OURS]["ms per part"],
    )
    report.add(f"driver of {parts:,} parts and 64 workers", rounds, at_most(2, "ms per part"), flat)
