"""Draw how the costs of operations depend on the number of rows, from the results of benchmarks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from matplotlib.axes import Axes

FIGURE = re.compile(r"(.+), ([\d,]+) rows")
MEASURED = re.compile(r"([\d.,]+) ms, ([\d.,]+) MB")

CHANGE = {
    "open": "open",
    "first row of a handle": "first row",
    "commit of one cell": "commit a cell",
    "commit of one row": "commit a row",
    "diff of one cell": "diff of a cell",
    "delete one row, commit": "delete a row",
    "filter of a sorted column (statistics)": "filter by statistics",
}
"""Operations whose cost should follow the change, and their labels."""

LAKE = {
    "filter of all rows": "first filter",
    "second filter": "second filter",
    "split": "split",
    "sorted view": "sort",
    "save a view of half of the rows": "save a view",
    "verify": "verify",
    "first shuffled batch": "first shuffled batch",
}
"""Operations that do work for every row, and their labels."""

type Curves = dict[str, list[tuple[int, float, float]]]


def read_curves(rows: Iterable[dict[str, str]]) -> Curves:
    """Return the rows, milliseconds and megabytes of each step.

    >>> read_curves([{"figure": "open, 10,000 rows", "measured": "3.1 ms, 0.04 MB"}])
    {'open': [(10000, 3.1, 0.04)]}
    """
    curves: Curves = {}
    for row in rows:
        figure, measured = FIGURE.fullmatch(row["figure"]), MEASURED.fullmatch(row["measured"])
        if figure is None or measured is None:
            continue
        count, ms, mb = (float(text.replace(",", "")) for text in (figure[2], *measured.groups()))
        curves.setdefault(figure[1], []).append((int(count), ms, mb))
    return curves


def draw_curves(results: dict[str, Any], path: Path) -> None:
    """Draw the table "Scale" of the results: times above, memory below."""
    [table] = (table for table in results["tables"] if table["title"] == "Scale")
    curves = read_curves(table["rows"])
    mpl.rcParams["svg.hashsalt"] = "curves"  # so that equal figures give equal files
    figure = Figure(figsize=(9.6, 8.4), layout="constrained")
    for at, (quantity, unit) in enumerate((("CPU time", "ms"), ("additional memory", "MB"))):
        panels = zip(("cost follows the change", "work for every row"), (CHANGE, LAKE), strict=True)
        for column, (title, labels) in enumerate(panels):
            axes = figure.add_subplot(2, 2, 2 * at + column + 1)
            _draw_panel(axes, curves, labels, at + 1)
            axes.set_title(f"{quantity}: {title}", fontsize=10, loc="left")
            axes.set_ylabel(unit)
    figure.savefig(path, format="svg", metadata={"Date": None})


def _draw_panel(axes: Axes, curves: Curves, labels: dict[str, str], value: int) -> None:
    """Draw one curve for each label; `value` is 1 for times and 2 for memory."""
    for step, label in labels.items():
        points = [(each[0], max(each[value], 0.1)) for each in curves.get(step, ())]
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rows")
    axes.set_ylim(0.08, 3e6)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, frameon=False, loc="upper left", ncols=2)
