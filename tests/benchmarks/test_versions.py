"""Diff and merge of two branches of a million rows that differ in 1,000 cells."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from . import lakes
from .harness import OURS, Figures, Target, timed

pytestmark = pytest.mark.bench
CELLS = 1000


def test_diff_and_merge(race, report, wide_lake, work, rows):
    shutil.copytree(wide_lake, work / "wide")
    turns = iter(range(100))
    rounds = race({OURS: lambda: diff_and_merge(work / "wide", rows, seed=next(turns))})
    both = Target("≤ 2 s in all", lambda m: m[OURS]["s diff"] + m[OURS]["s merge"] <= 2)
    report.add(f"diff and merge, {rows:,} rows, {CELLS:,} cells differ", rounds, both)


def diff_and_merge(folder: Path, rows: int, seed: int) -> Figures:
    """Edit half of the cells on each of two new branches, then compare and merge them."""
    left, right = f"left{seed}", f"right{seed}"
    picks = np.random.default_rng(seed).choice(rows, CELLS, replace=False)
    edit_on_branch(folder, left, picks[: CELLS // 2], seed)
    edit_on_branch(folder, right, picks[CELLS // 2 :], seed)
    lake = lakes.open_lake(folder)
    lake.checkout(left)
    diff = timed(lambda: lake.diff(left, right))
    merge = timed(lambda: lake.merge(right))
    merged = [str(text) for text in lake[np.sort(picks[1::2]).tolist()]["text"][:]]
    assert merged == [f"edit {seed}"] * (CELLS // 2), "the merge lost edits"
    return {"s diff": diff["s"], "s merge": merge["s"]}


def edit_on_branch(folder: Path, name: str, picks: np.ndarray, seed: int) -> None:
    """Change the label of every other row of `picks`, and the string of those in between."""
    lake = lakes.open_lake(folder)
    lake.branch(name)
    lake.checkout(name)
    labels, texts = picks[::2].tolist(), picks[1::2].tolist()
    lake.update(labels, {"label": (np.asarray(lake["label"][labels]) + 1) % len(lakes.NAMES)})
    lake.update(texts, {"text": [f"edit {seed}"] * len(texts)})
    lake.commit(f"edits of {name}")
