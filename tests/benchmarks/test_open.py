"""What it takes to start: import, and open of a wide lake of a million rows."""

from functools import partial

import pytest

from .harness import OURS, Contender, Figures, at_most
from .processes import import_seconds, in_fresh_process

pytestmark = pytest.mark.bench


def test_import_time(race, report):
    def contender(module: str) -> Contender:
        return lambda: {"s": import_seconds(f"import {module}")}

    modules = {OURS: OURS, "Deep Lake": "deeplake", "Lance": "lance", "zarr": "zarr"}
    rounds = race({name: contender(f"{module}") for name, module in modules.items()} | BARE, 7)
    bare = rounds.pop("bare")
    rounds = {name: list(map(less, figures, bare)) for name, figures in rounds.items()}
    report.add("import, less a bare interpreter", rounds, at_most(0.3, "s"))


BARE: dict[str, Contender] = {"bare": lambda: {"s": import_seconds("pass")}}


def less(figures: Figures, bare: Figures) -> Figures:
    return {"s": figures["s"] - bare["s"]}


def test_open_of_a_wide_lake(race, report, wide_lake, rows):
    rounds = race({OURS: partial(in_fresh_process, "open", wide_lake / "lake")}, 5)
    figure = f"open of {rows:,} rows x 10 columns, peak memory added"
    report.add(figure, rounds, at_most(100, "ms"), at_most(100, "MB"))
