"""Which rows are selected: all, none, the others. Single rows the page sends as a trait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import LakeError
from deeplake_lite.widget import fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request


class Selecting:
    """Selections of many rows, which Python makes and the page hears of."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What it answers, by type of message."""
        return {"select": self.select}

    def select(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        """Select all rows shown, none, those that were not, or runs of rows."""
        host = self._host
        rows = len(host.shown.view)
        what = fields.text(request, "what")
        if what == "runs":
            host.selected = positions_of(fields.runs(request, "runs"), rows)
        else:
            host.selected = chosen(what, host.selected, rows)
        return {"rows": len(host.selected)}


def positions_of(runs: Iterable[tuple[int, int]], rows: int) -> NDArray[np.int64]:
    """Return the positions of runs, each from a row up to another, ascending.

    >>> positions_of([(2, 4), (7, 99)], 9).tolist()
    [2, 3, 7, 8]
    """
    there = [np.arange(max(0, start), min(stop, rows)) for start, stop in runs]
    return np.concatenate([np.empty(0, np.int64), *there])


def chosen(what: str, selected: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Return the positions of all rows, of none, or of those that were not selected.

    >>> chosen("invert", np.array([1]), 3).tolist()
    [0, 2]
    """
    match what:
        case "all":
            return np.arange(rows)
        case "none":
            return np.empty(0, np.int64)
        case "invert":
            return np.delete(np.arange(rows), selected)
    raise LakeError(f"Rows are selected by 'all', 'none' or 'invert', got {brief(what, 40)}.")
