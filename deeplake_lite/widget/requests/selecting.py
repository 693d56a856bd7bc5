"""The part of the browser that selects many rows at once.

In contrast, the page sends selections of single rows through a trait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    """The part of the browser that changes the selection of many rows."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The methods that answer requests, by the type of the request."""
        return {"select": self.select}

    def select(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        """Change the selection, and return the number of selected rows."""
        host = self._host
        rows = len(host.shown.view)
        what = fields.text(request, "what")
        if what == "runs":
            host.selected = positions_of(fields.runs(request, "runs"), rows)
        else:
            host.selected = selection(what, host.selected, rows)
        return {"rows": len(host.selected)}


def positions_of(runs: Iterable[tuple[int, int]], rows: int) -> NDArray[np.int64]:
    """Return the positions in runs of rows, which are pairs (start, stop) in ascending order.

    >>> positions_of([(2, 4), (7, 99)], 9).tolist()
    [2, 3, 7, 8]
    """
    ranges = [np.arange(max(0, start), min(stop, rows)) for start, stop in runs]
    return np.concatenate([np.empty(0, np.int64), *ranges])


def selection(what: str, selected: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Return the positions to select: all rows, no rows, or the rows that are not selected.

    >>> selection("invert", np.array([1]), 3).tolist()
    [0, 2]
    """
    match what:
        case "all":
            return np.arange(rows)
        case "none":
            return np.empty(0, np.int64)
        case "invert":
            return np.delete(np.arange(rows), selected)
    raise LakeError(
        f"A selection must be 'all', 'none' or 'invert', but it is {brief(what, 40)}. Reload the "
        "page."
    )
