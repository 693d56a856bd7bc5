"""One row at large: its picture, and every column with its type, shape and value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.repr.describe import type_of
from deeplake_lite.dataset.repr.html.words import shape as axes_text
from deeplake_lite.errors import LakeError
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.widget import fields
from deeplake_lite.widget.edits.box_classes import about_classes
from deeplake_lite.widget.edits.editing import Editing
from deeplake_lite.widget.pictures import cards
from deeplake_lite.widget.pictures.cells import Sight, put_picture
from deeplake_lite.widget.pictures.classes import is_boxes, is_tags
from deeplake_lite.widget.pictures.drawing import Drawn
from deeplake_lite.widget.pictures.kinds import OVERLAYS, is_picture, picture_column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request

SMALL = 256
"""Longer side of the pictures beside the one that is large, pixels."""

LARGEST = 16_384
"""Longer side of a picture that a browser draws, pixels."""


class Detail:
    """The row that is looked at."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What it answers, by type of message."""
        return {"detail": self.detail}

    def detail(self, request: Request, pack: Pack) -> dict[str, Any]:
        """Return a row: the picture large, the other columns in words and small pictures."""
        shown = self._host.shown
        position = fields.row(request, len(shown.view))
        ids = shown.ids(np.array([position]))
        picture = fields.text_or_none(request, "picture") or self._host.settings.get("picture")
        if picture not in shown.view.columns:
            picture = picture_column(shown.view)
        large = self._sight(position, picture, fields.whole(request, "size", 0))
        [cell] = large.cells((), pack)
        large.draw_over([cell], [f.name for f in shown.view.schema], pack)
        pending = self._host.part(Editing).pending
        pending.mark([cell], np.array([position]))
        listed = pending.fields(shown.view.schema, position)
        columns = [self._column(shown.view, f, position, pack, cell) for f in listed]
        return {
            "id": None if ids is None else str(ids[0]),
            "position": position,
            "picture": picture,
            "w": cell["w"],
            "h": cell["h"],
            "columns": columns,
        }

    def _sight(self, position: int, picture: str | None, side: int) -> Sight:
        host = self._host
        return Sight(
            host.shown.view,
            np.array([position]),
            host.thumbnails,
            side=min(side, LARGEST),
            picture=picture,
        )

    def _column(
        self, view: View, f: Field, position: int, pack: Pack, cell: dict[str, Any]
    ) -> dict[str, Any]:
        """Return what is known of a row's cell."""
        found: dict[str, Any] = {
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
        if f.name == cell["main"] and is_picture(f.htype):
            card = cell["card"]
            found["text"] = card["text"] if card and card["kind"] == "value" else None
            return {**found, "v": cell["v"], "w": cell["w"], "h": cell["h"], "card": card}
        if is_picture(f.htype):
            return {**found, **self._small(f, position, pack)}
        pending = self._host.part(Editing).pending
        htype, value = pending.value(f, position)
        found["staged"] = f.name in cell.get("staged", ())
        found |= pending.input_of(f, htype, value)
        f = replace(f, htype=htype)
        found["text"] = cards.long_text(f.htype, value)
        found["null"] = value is None
        if isinstance(value, Exception):
            return {**found, "damaged": f"{value!s:.400}"}
        words = cards.caption(f.htype, value)
        card = cards.card(f.htype, value)
        numbers = {"numbers": card["numbers"]} if "numbers" in card else {}
        items = {} if found["kind"] in OVERLAYS else tags_of(f, value)
        found["box_classes"] = self._box_classes(f, position, value)
        return {**found, **numbers, **items, "c": words["c"]}

    def _box_classes(self, f: Field, position: int, boxes: Any) -> dict[str, Any] | None:
        """Return the classes that boxes are edited with; None where they are not, or have none."""
        about = self._host.about
        if not is_boxes(f.htype) or not about["writable"] or not about["has_ids"]:
            return None
        pending = self._host.part(Editing).pending
        try:
            ds = pending.dataset()
        except LakeError:  # edits are refused by now, and say why
            return None
        return about_classes(pending, ds, f, position, 0 if boxes is None else len(boxes))

    def _small(self, f: Field, position: int, pack: Pack) -> dict[str, Any]:
        small: dict[str, Any] = {"v": None}
        view, thumbnails = self._host.shown.view, self._host.thumbnails
        [outcome] = thumbnails.of(view, f.name, np.array([position]), SMALL)
        put_picture(small, outcome, pack)
        small["null"] = outcome is None
        if isinstance(outcome, Exception):
            small["damaged"] = f"{outcome!s:.400}"
        if isinstance(outcome, Drawn):
            small["text"] = f"{outcome.width} × {outcome.height}"
        elif isinstance(outcome, str):
            small["text"] = outcome
        return small


def shape_at(view: View, f: Field, position: int) -> str:
    """Return the shape of a value in words; empty where it has none, or does not read."""
    layout = f.htype.layout
    if isinstance(layout, Dense):
        return axes_text(layout.shape)
    try:
        table, slots = view.rows.locate(np.array([position]))
        [shape] = table.shapes(f.id, slots).tolist()
    except Exception:
        return ""
    return axes_text([n for n in shape if n >= 0])


def tags_of(f: Field, value: Any) -> dict[str, Any]:
    """Return a row's tags one by one, to take away or add to."""
    if not is_tags(f.htype) or value is None:
        return {}
    if f.htype.classes is not None:
        return {"tags": f.htype.classes.to_names(value)}
    return {"tags": [str(cards.words(f.htype.item or f.htype, item)) for item in value]}
