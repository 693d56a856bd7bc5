"""Chooses the files that `pytest --fast` leaves out, `not_fast.txt`, from the times of a run.

Usage: ``pytest --junitxml times.xml``, then ``python tests/not_fast.py times.xml``. The files whose
tests take longest, with one case each, are left out until the others take `BUDGET` seconds.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from xml.etree import ElementTree as ET

BUDGET = 160
"""Seconds of all tests that stay, in a run in which other programs slow each other down, too."""

LIST = Path(__file__).with_name("not_fast.txt")


def main(*results: str) -> None:
    """Write the list, from files of results."""
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
    while parts and not Path(*parts).with_suffix(".py").exists():  # names of classes
        parts.pop()
    return Path(*parts).with_suffix(".py").as_posix() if parts else ""


if __name__ == "__main__":
    main(*sys.argv[1:])
