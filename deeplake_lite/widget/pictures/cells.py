"""The rows in sight: a picture or a card each, words below it, and what is drawn over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import LakeError
from deeplake_lite.widget import fields
from deeplake_lite.widget.pictures import cards
from deeplake_lite.widget.pictures.belonging import why_not_drawn
from deeplake_lite.widget.pictures.classes import class_column
from deeplake_lite.widget.pictures.drawing import Drawn
from deeplake_lite.widget.pictures.kinds import OVERLAYS, is_picture, picture_column
from deeplake_lite.widget.pictures.overlays import marks
from deeplake_lite.widget.pictures.progress import Progress
from deeplake_lite.widget.pictures.values import values_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request
    from deeplake_lite.widget.pictures.thumbnails import Outcome, Thumbnails

MOST_ROWS = 1000
"""Rows of one message."""

SIDES = (16, 2048)
"""Least and greatest longer side of a picture in the grid."""


class Cells:
    """The grid."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What it answers, by type of message."""
        return {"cells": self.cells}

    def cells(self, request: Request, pack: Pack) -> dict[str, Any]:
        """Return some rows as the grid shows them."""
        host = self._host
        view = host.shown.view
        positions = positions_in(request, len(view))
        progress = Progress(host.tell, request.get("req"))
        sight = Sight(
            view,
            positions,
            host.thumbnails,
            side=side_in(request, 160),
            picture=(
                fields.text_or_none(request, "picture")
                if "picture" in request
                else picture_column(view)
            ),
        )
        found = sight.cells(fields.names(request, "columns"), pack, progress)
        sight.draw_over(found, fields.names(request, "overlays"), pack)
        ids = host.shown.ids(positions)
        for i, cell in enumerate(found):
            cell["id"] = None if ids is None else str(ids[i])
        for addition in host.additions:
            addition(found, positions)
        return {"cells": found}


def positions_in(request: Request, rows: int) -> NDArray[np.int64]:
    """Return the rows that a request speaks of, those that are there.

    >>> positions_in({"start": 3, "stop": 9}, 5).tolist(), positions_in({"positions": [7, 2]}, 5)
    ([3, 4], array([2]))
    """
    if "positions" in request:
        found = fields.positions(request, "positions")
    else:
        start, stop = fields.whole(request, "start"), fields.whole(request, "stop")
        found = np.arange(max(0, start), min(rows, stop))
    if len(found) > MOST_ROWS:
        raise LakeError(f"Up to {MOST_ROWS:,} rows are sent at a time, got {len(found):,}.")
    return found[(found >= 0) & (found < rows)]


def side_in(request: Request, default: int) -> int:
    """Return the longer side of pictures that a request asks for, within what the grid shows."""
    return min(max(fields.whole(request, "size", default), SIDES[0]), SIDES[1])


class Sight:
    """Some rows of a view, as they are drawn.

    Parameters
    ----------
    side : int
        Longer side of pictures.
    picture : str, optional
        Column that is drawn, or written, large; without it a card lists the columns.
    """

    def __init__(
        self,
        view: View,
        positions: NDArray[np.int64],
        thumbnails: Thumbnails,
        *,
        side: int,
        picture: str | None,
    ) -> None:
        self._view, self._positions, self._thumbnails = view, positions, thumbnails
        self._side = side
        self._main = view.schema[picture] if picture in view.columns else None
        self._sizes: list[tuple[int, int] | None] = [None] * len(positions)

    def cells(
        self, columns: Iterable[str], pack: Pack, progress: Progress | None = None
    ) -> list[dict[str, Any]]:
        """Return the rows with a picture or a card, and the words below."""
        found: list[dict[str, Any]] = [
            {
                "p": p,
                "main": self._main and self._main.name,
                "v": None,
                "w": None,
                "h": None,
                "card": None,
                "caption": {},
                "marks": {},
            }
            for p in self._positions.tolist()
        ]
        if self._main is None:
            self._list(found)
        elif is_picture(self._main.htype):
            self._draw(found, self._main, pack, progress)
        else:
            self._write(found, self._main)
        for f in self._fields(columns):
            for cell, value in zip(found, self._captions(f), strict=True):
                cell["caption"][f.name] = value
        return found

    def draw_over(self, found: list[dict[str, Any]], columns: Iterable[str], pack: Pack) -> None:
        """Add what is drawn over the pictures: `marks`, and why others are not, `unmarked`."""
        for f in self._fields(columns):
            kind = f.htype.browser.kind
            if kind not in OVERLAYS:
                continue
            rows = self._drawn_over(found, f)
            if kind == "mask":
                self._mask(found, f, rows, pack)
            else:
                self._marks(found, f, rows)

    def _drawn_over(self, found: list[dict[str, Any]], f: Field) -> list[int]:
        """Return the rows whose pictures marks are drawn over; the others say why not."""
        main = self._main
        if main is None or main.id == f.id or not is_picture(main.htype):
            return list(range(len(found)))
        reasons = why_not_drawn(self._view, f, main, self._positions, self._sizes)
        for cell, why in zip(found, reasons, strict=True):
            if why is not None:
                cell.setdefault("unmarked", {})[f.name] = why
        return [i for i, why in enumerate(reasons) if why is None]

    def _fields(self, columns: Iterable[str]) -> list[Field]:
        """Return those columns that the view has: a query may have left some out."""
        return [self._view.schema[name] for name in columns if name in self._view.columns]

    def _draw(
        self, found: list[dict[str, Any]], f: Field, pack: Pack, progress: Progress | None
    ) -> None:
        drawn = self._thumbnails.of(
            self._view, f.name, self._positions, self._side, progress=progress
        )
        for i, (cell, outcome) in enumerate(zip(found, drawn, strict=True)):
            if isinstance(outcome, Drawn):
                self._sizes[i] = (outcome.width, outcome.height)
            put_picture(cell, outcome, pack)

    def _write(self, found: list[dict[str, Any]], f: Field) -> None:
        values = values_of(self._view, f, self._positions)
        for cell, value in zip(found, values, strict=True):
            cell["card"] = cards.card(f.htype, value)

    def _list(self, found: list[dict[str, Any]]) -> None:
        fields = self._view.schema.fields
        shown = [f for f in fields if not is_picture(f.htype)][: cards.CELLS]
        columns = [values_of(self._view, f, self._positions) for f in shown]
        for i, cell in enumerate(found):
            pairs = zip(shown, columns, strict=True)
            cell["card"] = cards.table_card({f.name: (f.htype, values[i]) for f, values in pairs})
            cell["card"]["more"] = len(fields) - len(shown)

    def _captions(self, f: Field) -> Sequence[dict[str, Any]]:
        if is_picture(f.htype):
            return [{"t": None, "c": None}] * len(self._positions)
        return [cards.caption(f.htype, v) for v in values_of(self._view, f, self._positions)]

    def _mask(self, found: list[dict[str, Any]], f: Field, rows: list[int], pack: Pack) -> None:
        positions = self._positions[rows]
        drawn = self._thumbnails.of(self._view, f.name, positions, self._side, numbers=True)
        for i, outcome in zip(rows, drawn, strict=True):
            if isinstance(outcome, Drawn):
                mark: dict[str, Any] = {"v": pack.add(outcome.data, outcome.mime)}
                if outcome.classes:
                    mark["of"] = list(outcome.classes)
                found[i]["marks"][f.name] = mark

    def _marks(self, found: list[dict[str, Any]], f: Field, rows: list[int]) -> None:
        positions = self._positions[rows]
        values = values_of(self._view, f, positions)
        known = class_column(self._view.schema, f)
        classes = [None] * len(rows) if known is None else values_of(self._view, known, positions)
        places = f.htype.coordinates
        whole = places is not None and places.units == "fraction"
        for i, value, numbers in zip(rows, values, classes, strict=True):
            size = self._sizes[i] or ((1, 1) if whole else None)
            if size is not None:  # of null there are none, until an edit is staged
                found[i]["marks"][f.name] = marks(f.htype, value, *size, numbers)


def put_picture(cell: dict[str, Any], outcome: Outcome, pack: Pack) -> None:
    """Put a picture into a cell, or a card: its text, or the reason why there is no picture."""
    if isinstance(outcome, Drawn):
        cell["v"] = pack.add(outcome.data, outcome.mime)
        cell["w"], cell["h"] = outcome.width, outcome.height
    elif isinstance(outcome, str):
        cell["card"] = {"kind": "value", "text": outcome}
    else:
        cell["card"] = {"kind": "null"} if outcome is None else cards.damaged(outcome)
