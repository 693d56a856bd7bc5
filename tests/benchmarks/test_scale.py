"""The costs of operations on a small part of a lake, in lakes of different sizes.

The rows have four numbers. ``--bench-scale`` has the numbers of rows; a billion rows take 7 GB of
disk space and about ten minutes to write.
"""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from .harness import OURS, Figures, Target
from .scale_worker import OPERATIONS, build

pytestmark = pytest.mark.bench

MOST_ROWS = {
    "verify": 10**7,
    "upsert": 10**7,
    "delete_many": 10**7,
    "merge": 10**8,
    "queries": 10**8,
    "views": 10**8,
}
"""Maximum number of rows for operations that take time or memory for each of them."""

LIMITS: dict[tuple[str, int], tuple[float, float]] = {
    ("first row of a handle", 10**8): (50, 100),
    ("commit of one cell", 10**8): (150, 100),
    ("commit of one row", 10**8): (150, 100),
    ("diff of one cell", 10**8): (100, 20),
    ("merge of 1,000 cells", 10**7): (1_000, 100),
    ("then: open and first row", 10**8): (50, 100),
    ("then: commit of one row", 10**8): (150, 100),
    ("upsert of 10,000 rows, commit", 10**7): (1_500, 1_000),
    ("split", 10**7): (1_000, 1_000),
    ("sorted view", 10**7): (1_000, 1_000),
    ("nbytes", 10**7): (1_000, 1_000),
    ("save a view of half of the rows", 10**7): (1_000, 1_000),
    ("first shuffled batch", 10**8): (1_000, 1_000),
    ("open", 10**9): (1_000, 1_000),
    ("commit of one cell", 10**9): (2_000, 1_000),
    ("first row of a handle", 10**9): (100, 1_000),
    ("filter of a sorted column (statistics)", 10**9): (1_000, 1_000),
    ("first shuffled batch", 10**9): (3_000, 1_000),
}
"""Limits on the CPU time in milliseconds and on the additional memory in MB, by step and rows."""


@pytest.mark.usefixtures("needs_ours")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_costs_by_number_of_rows(race, report, work, scale, operation):
    steps = dict[tuple[int, str], Figures]()

    def measure() -> Figures:
        for rows in (n for n in scale if n <= MOST_ROWS.get(operation, n)):
            steps.update({(rows, s): f for s, f in run(lake_of(work, rows), operation).items()})
        return {}

    race({OURS: measure}, 1, warm_up=False)
    for step in dict.fromkeys(step for _, step in steps):
        for rows in (n for n in scale if (n, step) in steps):
            limit = LIMITS.get((step, rows))
            targets = [] if limit is None else [within(*limit)]
            report.add(f"{step}, {rows:,} rows", {OURS: [steps[rows, step]]}, *targets)


def within(milliseconds: float, megabytes: float) -> Target:
    return Target(
        f"≤ {milliseconds:,g} ms, {megabytes:,g} MB",
        lambda m: m[OURS]["ms"] <= milliseconds and m[OURS]["MB"] <= megabytes,
    )


@cache
def lake_of(work: Path, rows: int) -> Path:
    folder = work / f"{rows}.lake"
    build(folder, rows)
    return folder


def run(folder: Path, operation: str) -> dict[str, Figures]:
    command = [sys.executable, "-m", "tests.benchmarks.scale_worker", str(folder), operation]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
