"""The part of the browser that shows a single row, with a large image and all values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import numpy as np

from deeplake_lite.dataset.repr.describe import type_of
from deeplake_lite.dataset.repr.html.words import shape as axes_text
from deeplake_lite.errors import LakeError
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.widget import fields
from deeplake_lite.widget.edits.box_classes import about_classes
from deeplake_lite.widget.edits.editing import Editing
from deeplake_lite.widget.images import cards
from deeplake_lite.widget.images.cell import Drawn
from deeplake_lite.widget.images.cells import GridRows, put_image
from deeplake_lite.widget.images.classes import is_boxes, is_tags
from deeplake_lite.widget.images.drawing import WebImage
from deeplake_lite.widget.images.kinds import OVERLAYS, image_column, is_drawable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field
    from deeplake_lite.widget.images.cell import Card, Cell, Marks
    from deeplake_lite.widget.messages import Pack, Span
    from deeplake_lite.widget.parts import Handler, Host, Request

SMALL = 256
"""Longer side of the images of all columns except the main column, in pixels."""

LARGEST = 16_384
"""Maximum side of images that web browsers can draw, in pixels."""


class SmallImage(Drawn):
    """A column of a row as a small image, or the text that is shown instead."""

    text: NotRequired[str]
    null: NotRequired[bool]
    damaged: NotRequired[str]


class Tags(TypedDict, total=False):
    """The tags of a row, if the column has tags."""

    tags: list[str]


class ColumnDetail(Tags, total=False):
    """A column of a row in the detail panel: its type, and its value as a string or an image."""

    name: str
    kind: str
    type: str
    dtype: str | None
    shape: str
    nullable: bool
    text: str | None
    """The value in full."""
    null: bool
    damaged: str
    """The reason why the value cannot be read."""
    numbers: list[float | None]
    """Heights of the bars that plot a vector."""
    c: int | None
    """Number of the class, if the value is a class."""
    v: Span | None
    """The image, with the size of the original."""
    w: int | None
    h: int | None
    card: Card | None
    marks: Marks | None
    unmarked: str | None
    """The reason why the marks are not drawn."""
    staged: bool
    """Whether the value is a staged edit."""
    editable: bool
    value: object
    """The initial value of an input."""
    box_classes: Mapping[str, object] | None
    """The classes that edited boxes may have."""
    changed: bool
    """Whether the column has changed, in a difference."""


class RowDetail(TypedDict):
    """A row in the detail panel."""

    id: str | None
    position: int
    picture: str | None
    w: int | None
    h: int | None
    columns: list[ColumnDetail]


class Detail:
    """The part of the browser that serves the detail panel."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The methods that answer requests, by the type of the request."""
        return {"detail": self.detail}

    def detail(self, request: Request, pack: Pack) -> RowDetail:
        """Return a row with a large image, and its other columns as strings and small images."""
        shown = self._host.shown
        position = fields.row(request, len(shown.view))
        ids = shown.ids(np.array([position]))
        picture = fields.text_or_none(request, "picture") or self._host.settings.get("picture")
        if picture not in shown.view.columns:
            picture = image_column(shown.view)
        large = self._row(position, picture, fields.whole(request, "size", 0))
        [cell] = large.cells((), pack)
        large.draw_over([cell], [f.name for f in shown.view.schema], pack)
        pending = self._host.part(Editing).pending
        pending.mark([cell], np.array([position]))
        listed = pending.fields(shown.view.schema, position)
        columns = [self._describe(shown.view, f, position, pack, cell) for f in listed]
        return {
            "id": None if ids is None else str(ids[0]),
            "position": position,
            "picture": picture,
            "w": cell["w"],
            "h": cell["h"],
            "columns": columns,
        }

    def _row(self, position: int, picture: str | None, side: int) -> GridRows:
        host = self._host
        return GridRows(
            host.shown.view,
            np.array([position]),
            host.thumbnails,
            side=min(side, LARGEST),
            picture=picture,
        )

    def _describe(
        self, view: View, f: Field, position: int, pack: Pack, cell: Cell
    ) -> ColumnDetail:
        """Describe a column of a row for the page, with staged edits applied.

        Parameters
        ----------
        view : View
            The shown view.
        f : Field
            A column of the view, or a column that only a staged edit names.
        position : int
            Position of the row.
        pack : Pack
            Pack for the bytes of images.
        cell : dict
            The row as the grid shows it, with the large image and the marks.
        """
        column: ColumnDetail = {
            "name": f.name,
            "kind": f.htype.browser.kind,
            "type": type_of(f.htype),
            "dtype": f.htype.value_dtype,
            "shape": shape_at(view, f, position) if f.name in view.columns else "",
            "nullable": f.htype.nullable,
            "v": None,
            "text": None,
            "c": None,
            "marks": cell["marks"].get(f.name),
            "unmarked": cell.get("unmarked", {}).get(f.name),
        }
        if f.name == cell["main"] and is_drawable(f.htype):
            card = cell["card"]
            column["text"] = card["text"] if card and card["kind"] == "value" else None
            return {**column, "v": cell["v"], "w": cell["w"], "h": cell["h"], "card": card}
        if is_drawable(f.htype):
            return {**column, **self._small_image(f, position, pack)}
        pending = self._host.part(Editing).pending
        htype, value = pending.value(f, position)
        column["staged"] = f.name in cell.get("staged", ())
        column = {**column, **pending.input_of(f, htype, value)}
        f = replace(f, htype=htype)  # a staged edit may add classes to the type
        column["text"] = cards.long_text(f.htype, value)
        column["null"] = value is None
        if isinstance(value, Exception):
            return {**column, "damaged": f"{value!s:.400}"}
        caption = cards.caption(f.htype, value)
        card = cards.card(f.htype, value)
        if "numbers" in card:
            column["numbers"] = card["numbers"]
        items: Tags = {} if column["kind"] in OVERLAYS else tags_of(f, value)
        column["box_classes"] = self._box_classes(f, position, value)
        return {**column, **items, "c": caption["c"]}

    def _box_classes(self, f: Field, position: int, boxes: Any) -> dict[str, object] | None:
        """Return the classes of a row's boxes, for the editor of boxes.

        Return None if the column has no boxes, if the boxes have no classes, or if the row cannot
        be edited.
        """
        about = self._host.about
        if not is_boxes(f.htype) or not about["writable"] or not about["has_ids"]:
            return None
        pending = self._host.part(Editing).pending
        try:
            ds = pending.dataset()
        except LakeError:  # the dataset cannot be edited now; an attempt to edit it reports why
            return None
        return about_classes(pending, ds, f, position, 0 if boxes is None else len(boxes))

    def _small_image(self, f: Field, position: int, pack: Pack) -> SmallImage:
        """Return a small image of a column with its size, or the text that is shown instead."""
        small: SmallImage = {"v": None}
        view, thumbnails = self._host.shown.view, self._host.thumbnails
        [outcome] = thumbnails.of(view, f.name, np.array([position]), SMALL)
        put_image(small, outcome, pack)
        small["null"] = outcome is None
        if isinstance(outcome, Exception):
            small["damaged"] = f"{outcome!s:.400}"
        if isinstance(outcome, WebImage):
            small["text"] = f"{outcome.width} × {outcome.height}"
        elif isinstance(outcome, str):
            small["text"] = outcome
        return small


def shape_at(view: View, f: Field, position: int) -> str:
    """Format a value's shape, or return "" if it has no shape or cannot be read."""
    layout = f.htype.layout
    if isinstance(layout, Dense):
        return axes_text(layout.shape)
    try:
        table, slots = view.rows.locate(np.array([position]))
        [shape] = table.shapes(f.id, slots).tolist()
    except Exception:
        return ""
    return axes_text([n for n in shape if n >= 0])


def tags_of(f: Field, value: Any) -> Tags:
    """Return a row's tags as a list, so that users can remove and add single tags."""
    if not is_tags(f.htype) or value is None:
        return {}
    if f.htype.classes is not None:
        return {"tags": f.htype.classes.to_names(value)}
    return {"tags": [str(cards.words(f.htype.item or f.htype, item)) for item in value]}
