"""Conversion of the page's edit requests to edits, which refer to rows by id."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import ColumnNotFoundError, InvalidValueError, LakeError
from deeplake_lite.schema import Field, free_name
from deeplake_lite.widget import fields
from deeplake_lite.widget.edits import inputs, writing
from deeplake_lite.widget.edits.box_classes import box_classes
from deeplake_lite.widget.edits.boxes import boxes_from
from deeplake_lite.widget.images.belonging import reasons_not_drawn
from deeplake_lite.widget.images.classes import TAGS, is_boxes, tag_column
from deeplake_lite.widget.images.drawing import WebImage
from deeplake_lite.widget.images.kinds import image_column
from deeplake_lite.widget.images.overlays import MOST
from deeplake_lite.widget.images.values import values_of
from deeplake_lite.widget.stored import by_id, rows_with, stored_field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.widget.edits.pending import Pending
    from deeplake_lite.widget.edits.staged import Edit
    from deeplake_lite.widget.parts import Host

type Positions = NDArray[np.int64]

SMALL = 256
"""Longer side, in pixels, of a thumbnail that is decoded only to find the size of its original."""


class EditParser:
    """Converts edit requests to edits. The types of the columns check the values."""

    def __init__(self, host: Host, pending: Pending) -> None:
        self._host, self._pending, self._staged = host, pending, pending.staged

    def edits(self, ds: Dataset, request: Mapping[str, object]) -> Iterator[Edit]:
        """Yield the edits of a request."""
        self._check_rows()
        positions = self._positions(request)
        self._check_id(positions, fields.text_or_none(request, "row"))
        op = fields.text(request, "op")
        if op in ("add_tag", "remove_tag"):
            yield self._tag(ds, op, request, positions)
        elif op == "set":
            f = self._field(ds, fields.text(request, "column"))
            yield self._set(f, positions, _value(f, request.get("value"), request))
        elif op == "take":
            f = self._field(ds, fields.text(request, "column"))
            yield from self._take(f, positions, request)
        elif op == "set_boxes":
            f = self._field(ds, fields.text(request, "column"))
            for position in positions.tolist():
                yield from self._boxes(ds, f, position, request)
        else:
            raise LakeError(
                "The operation of an edit must be 'set', 'take', 'add_tag', 'remove_tag' or "
                f"'set_boxes', but it is {brief(op, 40)}. Reload the page."
            )

    def _positions(self, request: Mapping[str, object]) -> Positions:
        rows = len(self._host.shown.view)
        match request.get("positions"):
            case "all":
                return np.arange(rows)
            case "selected":
                return np.asarray(self._host.selected, np.int64)
        positions = np.unique(fields.positions(request, "positions"))
        if len(positions) and not (positions[0] >= 0 and positions[-1] < rows):
            wrong = positions[0] if positions[0] < 0 else positions[-1]
            raise LakeError(
                f"Row positions must be at least 0 and less than {rows:,}, but one is {wrong:,}. "
                "Refresh the dataset browser."
            )
        return positions

    def _check_id(self, positions: Positions, row_id: str | None) -> None:
        """Raise LakeError if the edited row has moved since the page showed it."""
        if row_id is None:
            return
        now = self._host.shown.ids(positions)
        if now is None or [str(i) for i in now.tolist()] != [row_id]:
            raise LakeError(
                f"The shown row {row_id} has moved or was deleted, so nothing was edited. Find the "
                "row, and edit it there."
            )

    def _field(self, ds: Dataset, name: str) -> Field:
        """Return the stored column that a request names, by its name in the query result.

        A column that the query leaves out is named by its stored name. Raises ColumnNotFoundError
        if the query computes the column, or another writer has dropped it.
        """
        view = self._host.shown.view
        if name not in view.columns:
            if name not in ds.schema:
                raise ColumnNotFoundError.named("column", name, ds.columns)
            return ds.schema[name]
        stored = stored_field(view, view.schema[name])
        current = None if stored is None else by_id(ds.schema, stored.id)
        if current is None:
            raise ColumnNotFoundError(
                f"Column {name!r} cannot be edited, because the query computes it, or because it "
                f"was dropped. Edit a stored column: {', '.join(map(repr, ds.columns))}."
            )
        return current

    def _set(self, f: Field, positions: Positions, value: object) -> Edit:
        ids = self._ids(positions)
        return self._staged.edit(
            f.name, f.id, "set", ids, value, self._seen(f, ids), _describe_edit(f, value)
        )

    def _take(
        self, f: Field, positions: Positions, request: Mapping[str, object]
    ) -> Iterator[Edit]:
        """Yield edits that copy another shown column, one edit for each distinct value."""
        view = self._host.shown.view
        source = view[fields.text(request, "value")].field
        inputs.check_compatible(f, source)
        values = values_of(view, source, positions)
        if damaged := [v for v in values if isinstance(v, Exception)]:
            raise LakeError(f"A value that would be copied cannot be read: {damaged[0]!s:.300}")
        groups: dict[object, tuple[object, list[int]]] = {}
        for position, value in zip(
            positions.tolist(), inputs.to_cells(source.htype, values), strict=True
        ):
            groups.setdefault(inputs.key_of(value), (value, []))[1].append(position)
        for value, rows in groups.values():
            yield self._set(f, np.array(rows), _value(f, value, request))

    def _tag(
        self, ds: Dataset, op: Any, request: Mapping[str, object], positions: Positions
    ) -> Edit:
        f = self._tags_field(ds, fields.text_or_none(request, "column"))
        tag = inputs.tag_of(f, request.get("value"), exists=op == "remove_tag")
        what = f"{'+' if op == 'add_tag' else '−'} {tag}"
        return self._staged.edit(f.name, f.id, op, self._ids(positions), tag, None, what)

    def _tags_field(self, ds: Dataset, name: str | None) -> Field:
        """Return the tag column named `name`, or the dataset's tag column if `name` is empty.

        If the dataset has no tag column, return the column that the commit will add.
        """
        if name is not None and (name in ds.schema or name in self._host.shown.view.columns):
            return self._field(ds, name)
        if known := tag_column(ds.schema):
            return known
        pending = self._staged.columns().get(inputs.NEW)
        added = pending or free_name(TAGS, ds.schema)
        return Field(added, inputs.NEW, inputs.TAGS)

    def _boxes(
        self, ds: Dataset, f: Field, position: int, request: Mapping[str, object]
    ) -> Iterator[Edit]:
        """Yield an edit of a row's boxes, and a linked edit of the boxes' classes."""
        if not is_boxes(f.htype):
            raise InvalidValueError(
                f"Boxes can only be drawn in a column of boxes, but the type of column {f.name!r} "
                f"is {f.htype}. Choose another column."
            )
        value, at = fields.part(request, "value"), np.array([position])
        current = self._current(f, position)
        size = self._size(f, position, request)
        # The page only receives a row's first `MOST` boxes. Later boxes keep their values.
        drawn = boxes_from(fields.rows_of(value, "boxes", 4), f.htype, size, current[:MOST])
        boxes = np.concatenate([drawn, np.asarray(current[MOST:], drawn.dtype)])
        f.htype.encode([boxes])
        moved = self._set(f, at, boxes)
        before = box_classes(self._pending, ds, f, position)
        if before is None:
            yield moved
            return
        classes = before.after(_classes_in(value), drawn=len(boxes), before=len(current))
        if isinstance(classes, Exception):  # do not change an unreadable cell
            yield moved
            return
        g, what = before.field, _describe_edit(ds.schema[before.field.name], classes)
        yield replace(moved, with_next=True)
        yield self._staged.edit(g.name, g.id, "set", moved.ids, classes, before.seen, what)

    def _current(self, f: Field, position: int) -> NDArray[Any]:
        """Return a row's boxes, (n, 4), with staged edits applied. A null cell has no boxes.

        Raises LakeError if the cell cannot be read.
        """
        [value] = self._pending.stored(f.id, self._ids(np.array([position])))[1]
        if isinstance(value, Exception):
            raise LakeError(f"The boxes of row {position:,} cannot be read: {value!s:.300}")
        return np.zeros((0, 4)) if value is None else np.asarray(value)

    def _size(self, f: Field, position: int, request: Mapping[str, object]) -> tuple[int, int]:
        """Return the width and height of the image on which a row's boxes were drawn.

        Raises LakeError if the boxes do not belong to that image, or if boxes in pixels have no
        image.
        """
        view, at = self._host.shown.view, np.array([position])
        coordinates = f.htype.coordinates
        is_fraction = coordinates is not None and coordinates.units == "fraction"
        names = (
            fields.text_or_none(fields.part(request, "value"), "picture"),
            self._host.settings.get("picture"),
        )
        name = next((n for n in names if n in view.columns), image_column(view))
        if name is None:
            if is_fraction:
                return 1, 1
            raise LakeError("Boxes in pixels need an image. Choose an image column in the grid.")
        [drawn] = self._host.thumbnails.of(view, name, at, SMALL)
        size = (drawn.width, drawn.height) if isinstance(drawn, WebImage) else None
        shown, image = fields.text(request, "column"), view.schema[name]
        box_field = view.schema[shown] if shown in view.columns else f
        [reason] = reasons_not_drawn(view, box_field, image, at, [size])
        if reason is not None:
            raise LakeError(f"The boxes were not edited. {reason}")
        if size is None and not is_fraction:
            raise LakeError(
                f"Boxes in pixels need an image, but column {name!r} has no drawable image in this "
                "row. Choose another column in the grid."
            )
        return size or (1, 1)

    def _check_rows(self) -> None:
        if not self._host.shown.has_ids:
            raise LakeError(
                "Only rows of the dataset can be edited, but the query groups or joins rows, or "
                "shows another lake. Clear the query to edit."
            )

    def _ids(self, positions: Positions) -> NDArray[np.int64]:
        ids = self._host.shown.ids(positions)
        assert ids is not None
        if not len(ids):
            raise LakeError("No row is selected. Select one or more rows first.")
        return ids

    def _seen(self, f: Field, ids: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the digests of cells in the shown version, even if the query omits them."""
        view = self._host.shown.view
        table, slots = rows_with(view, f.id, ids, self._pending.dataset).rows.locate()
        return table.digests(f.id, slots)


def _classes_in(value: Mapping[str, object]) -> list[Any] | None:
    """Return the class of each drawn box, or None if the page did not send classes."""
    return None if value.get("c") is None else fields.items(value, "c")


def _value(f: Field, value: object, request: Mapping[str, object]) -> object:
    """Convert a value of a request to a cell, as edits store it.

    A new class is accepted if its name was typed, or if the request's ``new_class`` is true.
    """
    cell = inputs.to_cell(f, value)
    if not request.get("new_class", request["op"] == "set"):
        inputs.check_known(f, cell)
    return cell


def _describe_edit(f: Field, value: object) -> str:
    """Describe an edit for users.

    >>> from deeplake_lite.htypes import ClassLabel, Text
    >>> _describe_edit(Field("label", "c0000000a", ClassLabel(["ant"])), "bee")
    '→ bee (new class)'
    >>> note = Field("note", "c0000000b", Text(nullable=True))
    >>> [_describe_edit(note, value) for value in ("a", "", None, "null")]
    ['→ a', "→ ''", '→ null', "→ 'null'"]
    >>> f = Field("tags", "c0000000c", inputs.TAGS)
    >>> [_describe_edit(f, tags) for tags in (["a", "b"], [], [""])]
    ['→ a, b', '→ []', "→ ['']"]
    """
    new = inputs.new_classes(f.htype, [value])
    value = _join(value) if isinstance(value, list) else value
    is_clear = isinstance(value, str) and value not in ("", "null")  # "" and "null" need quotes
    text = value if is_clear else writing.describe(f.htype, value)
    return f"→ {text}{' (new class)' if new else ''}"


def _join(items: list[object]) -> object:
    """Join a list with commas. If the text would be ambiguous, return the list unchanged."""
    words = [str(item) for item in items]
    unclear = not words or any(w in ("", "null") or set(w) & {",", "[", "'"} for w in words)
    return items if unclear else ", ".join(words)
