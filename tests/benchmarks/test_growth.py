"""The costs of many columns, commits and refs, and of large cells."""

import json
import subprocess
import sys

import pytest

from .growth_worker import SUBJECTS
from .harness import OURS, Figures, Target, at_most

pytestmark = pytest.mark.bench

TARGETS: dict[str, tuple[Target, ...]] = {
    "1,000 columns: create": (at_most(1_500, "ms"),),
    "1,000 columns: commit of one row": (at_most(500, "ms"),),
    "append a sample of 1 GB, commit": (at_most(1_100, "MB"),),
    "read a slice of 10 MB of it": (at_most(100, "MB"),),
    "read all of it": (at_most(1_100, "MB"),),
    "files of a one-row commit": (at_most(8, "files"),),
    "900 commits of one row": (at_most(10, "MB kept"),),
    "log of 1,000 commits": (at_most(50, "ms"),),
    "open by id": (at_most(50, "ms"),),
    "open by tag": (at_most(50, "ms"),),
    "vacuum, dry run": (at_most(2_000, "ms"),),
}
"""Targets by step. Times are CPU times; MB are the memory that a step adds at its peak."""


@pytest.mark.usefixtures("needs_ours")
@pytest.mark.parametrize("subject", SUBJECTS)
def test_costs(race, report, work, subject):
    rounds: list[dict[str, Figures]] = []

    def measure() -> Figures:
        folder = work / f"{subject}-{len(rounds)}"
        folder.mkdir()
        command = [sys.executable, "-m", "tests.benchmarks.growth_worker", str(folder), subject]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        rounds.append(json.loads(done.stdout.splitlines()[-1]))
        return {}

    race({OURS: measure}, warm_up=False)
    for step in rounds[0]:
        report.add(step, {OURS: [each[step] for each in rounds]}, *TARGETS.get(step, ()))
