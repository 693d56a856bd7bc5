"""Chooses the test files that `pytest --fast` leaves out, from the times of a run.

Usage: ``pytest --junitxml times.xml``, then ``python tests/not_fast.py times.xml``, which writes
`not_fast.txt`. The slowest files, with one case per test, are left out until the remaining ones
take `BUDGET` seconds.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from xml.etree import ElementTree as ET

BUDGET = 160
"""Seconds of all remaining tests, in a run in which other programs compete for the CPU."""

LIST = Path(__file__).with_name("not_fast.txt")


def main(*results: str) -> None:
    """Write the list, from the results of a run."""
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    for path in results:
        for case in ET.parse(path).iter("testcase"):
            test = _file(case), case.get("name", "").split("[")[0]
            times[test].append(float(case.get("time", 0)))
    totals: dict[str, float] = defaultdict(float)
    for (file, _), of in times.items():
        if file.startswith("tests/"):
            totals[file] += fmean(of)
    by_time = sorted(totals, key=lambda file: (totals[file], file))
    until = accumulate(totals[file] for file in by_time)
    slow = [file for file, total in zip(by_time, until, strict=True) if total > BUDGET]
    LIST.write_text("\n".join(sorted(slow)) + "\n")


def _file(case: ET.Element) -> str:
    parts = case.get("classname", "").split(".")
    while parts and not Path(*parts).with_suffix(".py").exists():  # class names
        parts.pop()
    return Path(*parts).with_suffix(".py").as_posix() if parts else ""


if __name__ == "__main__":
    main(*sys.argv[1:])
