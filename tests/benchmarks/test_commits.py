"""Small commits to a new lake, and to a wide one of a million rows."""

import shutil
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from . import corpus, lakes, peers
from .harness import (
    OURS,
    Contender,
    Figures,
    Target,
    at_most,
    disk_mb,
    each_timed,
    in_fresh_folder,
)

pytestmark = pytest.mark.bench
COMMITS, LAST = 300, 1000


def test_one_row_commits_on_a_fresh_lake(race, report, jpegs, work):
    samples = [data for data in jpegs if 19_500 < len(data) < 20_500][:COMMITS]

    def ours(folder: Path) -> Callable[[bytes], object]:
        lake = lakes.image_lake(folder)
        return lambda data: (lake.append({"image": [data]}), lake.commit("one"))

    def deep_lake(folder: Path) -> Callable[[bytes], object]:
        lake = peers.deep_lake_create(folder)
        return lambda data: (lake.append({"image": [data]}), lake.commit())

    def lance(folder: Path) -> Callable[[bytes], object]:
        peers.lance_ingest(folder, {"image": samples[:1]})
        return lambda data: peers.lance_ingest(folder, {"image": [data]}, mode="append")

    def contender(prepare: Callable[[Path], Callable[[bytes], object]]) -> Contender:
        def measure(folder: Path) -> Figures:
            times = each_timed(prepare(folder), samples)
            return {"ms": statistics.median(times), "MB": disk_mb(folder)}

        return partial(in_fresh_folder, work, measure)

    rounds = race(
        {OURS: contender(ours), "Deep Lake": contender(deep_lake), "Lance": contender(lance)}
    )
    figure = f"{len(samples)} commits of one 20 KB row: time of each, size of all on disk"
    report.add(figure, rounds, at_most(60, "ms"), at_most(40, "MB"))


def test_one_row_commits_on_a_wide_lake(race, report, wide_lake, work, rows):
    row = {name: values[:1] for name, values in wide_row().items()}

    def measure() -> Figures:
        return in_fresh_folder(work, lambda folder: commit_rows(wide_lake, folder / "copy", row))

    rounds = race({OURS: measure}, 1, warm_up=False)  # 1,004 commits are repetition enough
    steady = Target(
        f"{LAST:,}th ≤ 1.5x 10th",
        lambda m: m[OURS][f"ms the {LAST:,}th"] <= 1.5 * m[OURS]["ms the 10th"],
    )
    figure = f"one-row commits on {rows:,} rows x 10 columns, each"
    report.add(figure, rounds, at_most(150, "ms"), at_most(0.5, "MB"), steady)


def wide_row() -> dict:
    return lakes.wide_columns(0, corpus.jpeg_crops(1, 48, seed=4))


def commit_rows(source: Path, folder: Path, row: dict) -> Figures:
    """Commit one row at a time on a copy; the 10th and 1,000th figures are medians around them."""
    shutil.copytree(source, folder)
    before, lake = disk_mb(folder), lakes.open_lake(folder)
    count = LAST + 4
    times = each_timed(lambda _: (lake.append(row), lake.commit("one")), range(count))
    return {
        "ms": statistics.median(times),
        "MB": (disk_mb(folder) - before) / count,
        "ms the 10th": statistics.median(times[5:14]),
        f"ms the {LAST:,}th": statistics.median(times[-9:]),
    }
