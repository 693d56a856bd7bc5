"""Startup time: the import, and opening a wide lake of a million rows."""

import json
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import deeplake_lite as dl

from .harness import OURS, Contender, Figures, at_most, at_most_times
from .processes import FOLDER, import_seconds, in_fresh_process

pytestmark = pytest.mark.bench


def test_import_time(race, report):
    def contender(module: str) -> Contender:
        return lambda: {"s": import_seconds(f"import {module}")}

    modules = {OURS: OURS, "Deep Lake": "deeplake", "Lance": "lance", "zarr": "zarr"}
    rounds = race({name: contender(f"{module}") for name, module in modules.items()} | BARE, 7)
    bare = rounds.pop("bare")
    rounds = {name: list(map(less, figures, bare)) for name, figures in rounds.items()}
    report.add("import, minus the start of the interpreter", rounds, at_most(0.3, "s"))


BARE: dict[str, Contender] = {"bare": lambda: {"s": import_seconds("pass")}}


def less(figures: Figures, bare: Figures) -> Figures:
    return {"s": figures["s"] - bare["s"]}


def test_open_of_a_wide_lake(race, report, wide_lake, rows):
    rounds = race({OURS: partial(in_fresh_process, "open", wide_lake / "lake")}, 5)
    figure = f"open of {rows:,} rows x 10 columns, peak memory added"
    report.add(figure, rounds, at_most(100, "ms"), at_most(100, "MB"))


def test_first_steps_in_a_new_process(race, report, tmp_path):
    ds = dl.create(str(tmp_path / "lake"), {"label": "int32", "note": dl.Text(), "image": "image"})
    images = [np.full((8, 8), i, "uint8") for i in range(100)]
    ds.append({"label": [i % 10 for i in range(100)], "note": ["a note"] * 100, "image": images})
    ds.commit("a hundred rows")

    def figures(*words: str) -> dict[str, float]:
        command = [sys.executable, "-m", f"{FOLDER.name}.first_steps", *words]
        compiled = {"PYTHONPYCACHEPREFIX": str(tmp_path / "compiled")}  # by the round to warm up
        environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run(
            command, cwd=FOLDER.parent, env=environ | compiled, capture_output=True, check=True
        )
        return json.loads(done.stdout)

    rounds = race({OURS: partial(figures, ds.url), "zarr": figures}, 9)
    for step, factor in (("open", 0.5), ("query", 0.3), ("browse", 0.3)):
        ours = [{"s": steps[step]} for steps in rounds[OURS]]
        target = at_most_times(factor, "zarr", "s")
        report.add(f"first {step}, new process", {OURS: ours, "zarr": rounds["zarr"]}, target)
