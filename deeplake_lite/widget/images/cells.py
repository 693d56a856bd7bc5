"""The visible rows of the grid, each with an image or a card, captions, and overlays."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from deeplake_lite.errors import LakeError
from deeplake_lite.widget import fields
from deeplake_lite.widget.images import cards
from deeplake_lite.widget.images.belonging import reasons_not_drawn
from deeplake_lite.widget.images.classes import class_column
from deeplake_lite.widget.images.drawing import WebImage
from deeplake_lite.widget.images.kinds import OVERLAYS, image_column, is_drawable
from deeplake_lite.widget.images.overlays import marks
from deeplake_lite.widget.images.progress import Progress
from deeplake_lite.widget.images.values import values_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field
    from deeplake_lite.widget.images.cell import Caption, Cell, Drawn, Marks
    from deeplake_lite.widget.images.thumbnails import Outcome, Thumbnails
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request

MAX_ROWS = 1000
"""Maximum number of rows in a message."""

SIDES = (16, 2048)
"""Minimum and maximum length of the longer side of an image in the grid, in pixels."""


class CellsReply(TypedDict):
    """Rows of the grid."""

    cells: list[Cell]


class Cells:
    """The part of the browser that sends rows to the grid."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The methods that answer requests, by the type of the request."""
        return {"cells": self.cells}

    def cells(self, request: Request, pack: Pack) -> CellsReply:
        """Return the requested rows as the grid shows them."""
        host = self._host
        view = host.shown.view
        positions = positions_in(request, len(view))
        progress = Progress(host.notify, request.get("req"))
        rows = GridRows(
            view,
            positions,
            host.thumbnails,
            side=side_in(request, 160),
            picture=(
                fields.text_or_none(request, "picture")
                if "picture" in request
                else image_column(view)
            ),
        )
        cells = rows.cells(fields.names(request, "columns"), pack, progress)
        rows.draw_over(cells, fields.names(request, "overlays"), pack)
        ids = host.shown.ids(positions)
        for i, cell in enumerate(cells):
            cell["id"] = None if ids is None else str(ids[i])
        for addition in host.additions:
            addition(cells, positions)
        return {"cells": cells}


def positions_in(request: Request, rows: int) -> NDArray[np.int64]:
    """Return the row positions in a request, without positions that do not exist.

    >>> positions_in({"start": 3, "stop": 9}, 5).tolist(), positions_in({"positions": [7, 2]}, 5)
    ([3, 4], array([2]))
    """
    if "positions" in request:
        positions = fields.positions(request, "positions")
    else:
        start, stop = fields.whole(request, "start"), fields.whole(request, "stop")
        positions = np.arange(max(0, start), min(rows, stop))
    if len(positions) > MAX_ROWS:
        raise LakeError(
            f"A request may have up to {MAX_ROWS:,} rows, but this one has {len(positions):,}. "
            "Request the rows in several messages."
        )
    return positions[(positions >= 0) & (positions < rows)]


def side_in(request: Request, default: int) -> int:
    """Return the longer side of images in a request, clipped to the range of `SIDES`."""
    return min(max(fields.whole(request, "size", default), SIDES[0]), SIDES[1])


class GridRows:
    """Rows of a view as the grid shows them.

    Parameters
    ----------
    view : View
        The shown view.
    positions : ndarray, (n,) int64
        Positions of the rows in the view.
    thumbnails : Thumbnails
        Draws the images.
    side : int
        Longer side of images in pixels.
    picture : str, optional
        Main column, drawn as an image or written on a card. Without a main column, or if the view
        does not have this column, a card lists the columns.
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
    ) -> list[Cell]:
        """Return the rows, each with captions and an image or a card."""
        cells: list[Cell] = [
            {
                "p": p,
                "main": None if self._main is None else self._main.name,
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
            self._list_columns(cells)
        elif is_drawable(self._main.htype):
            self._draw_images(cells, self._main, pack, progress)
        else:
            self._write_cards(cells, self._main)
        for f in self._fields(columns):
            for cell, value in zip(cells, self._captions(f), strict=True):
                cell["caption"][f.name] = value
        return cells

    def draw_over(self, cells: list[Cell], columns: Iterable[str], pack: Pack) -> None:
        """Add overlays to the cells as ``marks``, and reasons for missing overlays as ``unmarked``.

        Columns that cannot be drawn as overlays are skipped.
        """
        for f in self._fields(columns):
            kind = f.htype.browser.kind
            if kind not in OVERLAYS:
                continue
            rows = self._rows_with_marks(cells, f)
            if kind == "mask":
                self._add_masks(cells, f, rows, pack)
            else:
                self._add_marks(cells, f, rows)

    def _rows_with_marks(self, cells: list[Cell], f: Field) -> list[int]:
        """Return the indices of the cells over which the marks in `f` may be drawn.

        The other cells get the reason why the marks are not drawn.
        """
        main = self._main
        if main is None or main.id == f.id or not is_drawable(main.htype):
            return list(range(len(cells)))
        reasons = reasons_not_drawn(self._view, f, main, self._positions, self._sizes)
        for cell, reason in zip(cells, reasons, strict=True):
            if reason is not None:
                cell.setdefault("unmarked", {})[f.name] = reason
        return [i for i, reason in enumerate(reasons) if reason is None]

    def _fields(self, columns: Iterable[str]) -> list[Field]:
        """Return the fields of the given columns, without columns that the query omits."""
        return [self._view.schema[name] for name in columns if name in self._view.columns]

    def _draw_images(
        self, cells: list[Cell], f: Field, pack: Pack, progress: Progress | None
    ) -> None:
        """Add an image to each row, and record its size for the overlays."""
        outcomes = self._thumbnails.of(
            self._view, f.name, self._positions, self._side, progress=progress
        )
        for i, (cell, outcome) in enumerate(zip(cells, outcomes, strict=True)):
            if isinstance(outcome, WebImage):
                self._sizes[i] = (outcome.width, outcome.height)
            put_image(cell, outcome, pack)

    def _write_cards(self, cells: list[Cell], f: Field) -> None:
        """Add a card with the value of the main column to each row."""
        values = values_of(self._view, f, self._positions)
        for cell, value in zip(cells, values, strict=True):
            cell["card"] = cards.card(f.htype, value)

    def _list_columns(self, cells: list[Cell]) -> None:
        """Add a card that lists columns with their values to each row."""
        fields = self._view.schema.fields
        shown = [f for f in fields if not is_drawable(f.htype)][: cards.CELLS]
        columns = [values_of(self._view, f, self._positions) for f in shown]
        for i, cell in enumerate(cells):
            pairs = zip(shown, columns, strict=True)
            card = cards.table_card({f.name: (f.htype, values[i]) for f, values in pairs})
            cell["card"] = {**card, "more": len(fields) - len(shown)}

    def _captions(self, f: Field) -> Sequence[Caption]:
        if is_drawable(f.htype):
            return [{"t": None, "c": None}] * len(self._positions)
        return [cards.caption(f.htype, v) for v in values_of(self._view, f, self._positions)]

    def _add_masks(self, cells: list[Cell], f: Field, rows: list[int], pack: Pack) -> None:
        positions = self._positions[rows]
        outcomes = self._thumbnails.of(self._view, f.name, positions, self._side, numbers=True)
        for i, outcome in zip(rows, outcomes, strict=True):
            if isinstance(outcome, WebImage):
                mark: Marks = {"v": pack.add(outcome.data, outcome.mime)}
                if outcome.classes:
                    mark["of"] = list(outcome.classes)
                cells[i]["marks"][f.name] = mark

    def _add_marks(self, cells: list[Cell], f: Field, rows: list[int]) -> None:
        positions = self._positions[rows]
        values = values_of(self._view, f, positions)
        labels = class_column(self._view.schema, f)
        classes = [None] * len(rows) if labels is None else values_of(self._view, labels, positions)
        coordinates = f.htype.coordinates
        is_fraction = coordinates is not None and coordinates.units == "fraction"
        for i, value, numbers in zip(rows, values, classes, strict=True):
            # Marks in pixels need the size of an image, but fractions can be drawn without an
            # image.
            size = self._sizes[i] or ((1, 1) if is_fraction else None)
            if size is not None:  # a null image has no marks until an edit is staged
                cells[i]["marks"][f.name] = marks(f.htype, value, *size, numbers)


def put_image(cell: Drawn, outcome: Outcome, pack: Pack) -> None:
    """Put an image into a cell, or a card with the text or error that is shown instead."""
    if isinstance(outcome, WebImage):
        cell["v"] = pack.add(outcome.data, outcome.mime)
        cell["w"], cell["h"] = outcome.width, outcome.height
    elif isinstance(outcome, str):
        cell["card"] = {"kind": "value", "text": outcome}
    else:
        cell["card"] = {"kind": "null"} if outcome is None else cards.damaged_card(outcome)
