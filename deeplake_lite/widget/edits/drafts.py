"""What the page wants changed, as edits: checked by the columns' types, row by row id."""

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
"""Longer side of a picture that is drawn to know the size that it has, pixels."""


class Drafts:
    """Makes edits of what the page sends."""

    def __init__(self, host: Host, pending: Pending) -> None:
        self._host, self._pending, self._staged = host, pending, pending.staged

    def edits(self, ds: Dataset, wanted: Mapping[str, Any]) -> Iterator[Edit]:
        """Yield the edits that the page wants."""
        self._check_rows()
        positions = self._positions(wanted)
        self._check_id(positions, fields.text_or_none(wanted, "row"))
        op = fields.text(wanted, "op")
        if op in ("add_tag", "remove_tag"):
            yield self._tag(ds, op, wanted, positions)
        elif op == "set":
            f = self._field(ds, fields.text(wanted, "column"))
            yield self._set(f, positions, _value(f, wanted.get("value"), wanted))
        elif op == "take":
            f = self._field(ds, fields.text(wanted, "column"))
            yield from self._take(f, positions, wanted)
        elif op == "set_boxes":
            f = self._field(ds, fields.text(wanted, "column"))
            for position in positions.tolist():
                yield from self._boxes(ds, f, position, wanted)
        else:
            raise LakeError(
                f"An edit is 'set', 'take', 'add_tag', 'remove_tag' or 'set_boxes', got "
                f"{brief(op, 40)}."
            )

    def _positions(self, wanted: Mapping[str, Any]) -> Positions:
        rows = len(self._host.shown.view)
        match wanted.get("positions"):
            case "all":
                return np.arange(rows)
            case "selected":
                return np.asarray(self._host.selected, np.int64)
        found = np.unique(fields.positions(wanted, "positions"))
        if len(found) and not (found[0] >= 0 and found[-1] < rows):
            wrong = found[0] if found[0] < 0 else found[-1]
            raise LakeError(f"Rows lie below {rows:,}, got {wrong:,}. Look again.")
        return found

    def _check_id(self, positions: Positions, row_id: str | None) -> None:
        """Refuse an edit of a row that is no longer where the page shows it. Raises LakeError."""
        if row_id is None:
            return
        now = self._host.shown.ids(positions)
        if now is None or [str(i) for i in now.tolist()] != [row_id]:
            raise LakeError(
                f"An edit goes to the row whose value was shown, but row {row_id} has moved or is "
                "gone, so nothing was edited. Look for the row, and edit it there."
            )

    def _field(self, ds: Dataset, name: str) -> Field:
        """Return the stored column that a column shown is, or one that the query leaves out.

        Raises ColumnNotFoundError for one that a query computed, or that another writer dropped.
        """
        view = self._host.shown.view
        if name not in view.columns:
            if name not in ds.schema:
                raise ColumnNotFoundError.named("column", name, ds.columns)
            return ds.schema[name]
        stored = stored_field(view, view.schema[name])
        found = None if stored is None else by_id(ds.schema, stored.id)
        if found is None:
            raise ColumnNotFoundError(
                f"Column {name!r} is computed, not stored, or gone. Edit one of "
                f"{', '.join(map(repr, ds.columns))}, in a query that leaves it as it is."
            )
        return found

    def _set(self, f: Field, positions: Positions, value: Any) -> Edit:
        ids = self._ids(positions)
        return self._staged.edit(
            f.name, f.id, "set", ids, value, self._seen(f, ids), _what(f, value)
        )

    def _take(self, f: Field, positions: Positions, wanted: Mapping[str, Any]) -> Iterator[Edit]:
        """Yield edits that give cells what another column shown has: one edit for each value."""
        view = self._host.shown.view
        source = view[fields.text(wanted, "value")]._field
        inputs.check_alike(f, source)
        values = values_of(view, source, positions)
        if damaged := [v for v in values if isinstance(v, Exception)]:
            raise LakeError(f"A value to be taken over does not read: {damaged[0]!s:.300}")
        groups: dict[Any, tuple[Any, list[int]]] = {}
        for position, value in zip(
            positions.tolist(), inputs.plain(source.htype, values), strict=True
        ):
            groups.setdefault(inputs.key_of(value), (value, []))[1].append(position)
        for value, rows in groups.values():
            yield self._set(f, np.array(rows), _value(f, value, wanted))

    def _tag(self, ds: Dataset, op: Any, wanted: Mapping[str, Any], positions: Positions) -> Edit:
        f = self._tags_field(ds, fields.text_or_none(wanted, "column"))
        tag = inputs.tag_of(f, wanted.get("value"), there=op == "remove_tag")
        what = f"{'+' if op == 'add_tag' else '−'} {tag}"
        return self._staged.edit(f.name, f.id, op, self._ids(positions), tag, None, what)

    def _tags_field(self, ds: Dataset, name: str | None) -> Field:
        """Return the column of tags: as named, the one there is, or one that is yet to be added."""
        if name is not None and (name in ds.schema or name in self._host.shown.view.columns):
            return self._field(ds, name)
        if known := tag_column(ds.schema):
            return known
        pending = self._staged.columns().get(inputs.NEW)
        added = pending or free_name(TAGS, ds.schema)
        return Field(added, inputs.NEW, inputs.TAGS)

    def _boxes(
        self, ds: Dataset, f: Field, position: int, wanted: Mapping[str, Any]
    ) -> Iterator[Edit]:
        """Yield the edit of a row's boxes, and that of their classes: they go together."""
        if not is_boxes(f.htype):
            raise InvalidValueError(f"boxes are drawn in a column of boxes, this is {f.htype}.")
        value, at = fields.part(wanted, "value"), np.array([position])
        current = self._current(f, position)
        size = self._size(f, position, wanted)
        drawn = boxes_from(fields.rows_of(value, "boxes", 4), f.htype, size, current[:MOST])
        boxes = np.concatenate([drawn, np.asarray(current[MOST:], drawn.dtype)])
        f.htype.encode([boxes])
        moved = self._set(f, at, boxes)
        known = box_classes(self._pending, ds, f, position)
        if known is None:
            yield moved
            return
        classes = known.after(_classes_in(value), drawn=len(boxes), before=len(current))
        if isinstance(classes, Exception):  # that does not read: it stays as it is
            yield moved
            return
        g, what = known.field, _what(ds.schema[known.field.name], classes)
        yield replace(moved, with_next=True)
        yield self._staged.edit(g.name, g.id, "set", moved.ids, classes, known.seen, what)

    def _current(self, f: Field, position: int) -> NDArray[Any]:
        """Return the boxes of a row as they are staged, none for null. Raises LakeError."""
        [value] = self._pending.stored(f.id, self._ids(np.array([position])))[1]
        if isinstance(value, Exception):
            raise LakeError(f"The boxes of row {position:,} do not read: {value!s:.300}")
        return np.zeros((0, 4)) if value is None else np.asarray(value)

    def _size(self, f: Field, position: int, wanted: Mapping[str, Any]) -> tuple[int, int]:
        """Return width and height of the picture that boxes of a row were drawn over.

        Raises LakeError where they do not belong to it, or where pixels have no picture.
        """
        view, at = self._host.shown.view, np.array([position])
        parts = f.htype.coordinates is not None and f.htype.coordinates.units == "fraction"
        names = (
            fields.text_or_none(fields.part(wanted, "value"), "picture"),
            self._host.settings.get("picture"),
        )
        name = next((n for n in names if n in view.columns), image_column(view))
        if name is None:
            if parts:
                return 1, 1
            raise LakeError("Boxes in pixels need a picture. Choose its column in the grid.")
        [drawn] = self._host.thumbnails.of(view, name, at, SMALL)
        size = (drawn.width, drawn.height) if isinstance(drawn, WebImage) else None
        shown, picture = fields.text(wanted, "column"), view.schema[name]
        marks = view.schema[shown] if shown in view.columns else f
        [why] = reasons_not_drawn(view, marks, picture, at, [size])
        if why is not None:
            raise LakeError(f"The boxes were not edited. {why}")
        if size is None and not parts:
            raise LakeError(
                f"Boxes in pixels need a picture, but {name!r} has none in this row that can be "
                "drawn. Choose another column in the grid."
            )
        return size or (1, 1)

    def _check_rows(self) -> None:
        if not self._host.shown.has_ids:
            raise LakeError(
                "These rows are no rows of the dataset: the query groups or joins, or shows "
                "another lake. Take it back to edit them."
            )

    def _ids(self, positions: Positions) -> NDArray[np.int64]:
        ids = self._host.shown.ids(positions)
        assert ids is not None
        if not len(ids):
            raise LakeError("No row is selected. Select some first.")
        return ids

    def _seen(self, f: Field, ids: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the digests of cells in the version shown, also of a column that is left out."""
        view = self._host.shown.view
        table, slots = rows_with(view, f.id, ids, self._pending.dataset)._located()
        return table.digests(f.id, slots)


def _classes_in(value: Mapping[str, Any]) -> list[Any] | None:
    """Return the class of each box that was drawn; None where the page knows of none."""
    return None if value.get("c") is None else fields.items(value, "c")


def _value(f: Field, value: Any, wanted: Mapping[str, Any]) -> Any:
    """Return a value as edits have it; a class may be new where it was typed, or asked for."""
    cell = inputs.taken(f, value)
    if not wanted.get("new_class", wanted["op"] == "set"):
        inputs.check_known(f, cell)
    return cell


def _what(f: Field, value: Any) -> str:
    """Return what an edit does, for people.

    >>> from deeplake_lite.htypes import ClassLabel, Text
    >>> _what(Field("label", "c0000000a", ClassLabel(["ant"])), "bee")
    '→ bee (new class)'
    >>> note = Field("note", "c0000000b", Text(nullable=True))
    >>> [_what(note, value) for value in ("a", "", None, "null")]
    ['→ a', "→ ''", '→ null', "→ 'null'"]
    >>> [_what(Field("tags", "c0000000c", inputs.TAGS), tags) for tags in (["a", "b"], [], [""])]
    ['→ a, b', '→ []', "→ ['']"]
    """
    new = inputs.new_classes(f.htype, [value])
    told = _joined(value) if isinstance(value, list) else value
    plain = isinstance(told, str) and told not in ("", "null")  # which are read as no value
    said = told if plain else writing.told(f.htype, told)
    return f"→ {said}{' (new class)' if new else ''}"


def _joined(items: list[Any]) -> Any:
    """Return a list as words where those tell it apart from every other list; itself otherwise."""
    words = [str(item) for item in items]
    unclear = not words or any(w in ("", "null") or set(w) & {",", "[", "'"} for w in words)
    return items if unclear else ", ".join(words)
