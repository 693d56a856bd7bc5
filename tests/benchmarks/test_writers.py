"""Two processes that append to one lake at the same time."""

from functools import partial
from itertools import accumulate, takewhile
from pathlib import Path

import pytest

from . import corpus, lakes
from .harness import OURS, Figures, Target, disk_mb, in_fresh_folder
from .processes import together

pytestmark = [pytest.mark.bench, pytest.mark.usefixtures("needs_ours")]
SHARE = 200e6


def test_two_writers_at_the_same_time(race, report, jpegs, work):
    count = len(list(takewhile(lambda size: size <= SHARE, accumulate(map(len, jpegs)))))
    stored = sum(map(len, jpegs[: 2 * count])) / 1e6
    rounds = race({OURS: partial(in_fresh_folder, work, partial(write, count, writers=2))})
    alone = race({"one writer": partial(in_fresh_folder, work, partial(write, count, writers=1))})
    target = Target("both commit, ≤ 1.05x the bytes", lambda m: m[OURS]["MB"] <= 1.05 * stored)
    figure = f"two writers, {SHARE / 1e6:.0f} MB each ({stored:.0f} MB in all)"
    report.add(figure, rounds | alone, target)


def write(count: int, folder: Path, *, writers: int) -> Figures:
    lakes.image_lake(folder)
    tasks = [("append", folder / "lake", corpus.folder(), i * count, count) for i in range(writers)]
    ends = [figures["append s"] + figures["commit s"] for figures in together(tasks)]
    assert len(lakes.open_lake(folder)) == writers * count, "a writer's rows are missing"
    return {"s": max(ends), "MB": disk_mb(folder)}
