"""What cells hold with the edits that are staged, and how the grid shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.htypes import Boxes
from deeplake_lite.schema import Field
from deeplake_lite.widget.edits import inputs, writing
from deeplake_lite.widget.pictures import cards
from deeplake_lite.widget.pictures.classes import class_column, is_marks
from deeplake_lite.widget.pictures.overlays import marks
from deeplake_lite.widget.pictures.thumbnails import origin
from deeplake_lite.widget.pictures.values import values_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Schema
    from deeplake_lite.widget.edits.staged import Staged
    from deeplake_lite.widget.parts import Host

type Positions = NDArray[np.int64]


class Pending:
    """Cells of what is shown, as they will be.

    Parameters
    ----------
    host : Host
    staged : Staged
    dataset : callable
        Returns the dataset that is written to.
    """

    def __init__(self, host: Host, staged: Staged, dataset: Callable[[], Dataset]) -> None:
        self.host, self.staged, self.dataset = host, staged, dataset

    def mark(self, cells: list[dict[str, Any]], positions: Positions) -> None:
        """Bring cells of the grid to what is staged for them."""
        ids = self.host.shown.ids(positions) if len(self.staged) else None
        if ids is None:
            return
        for cell, names in zip(cells, self.staged.touched(ids), strict=True):
            cell["staged"] = names
        for field_id, name in self.staged.columns().items():
            self._mark_column(cells, positions, ids, field_id, name)
        schema = self.host.shown.view.schema
        marked = [(f, class_column(schema, f)) for f in schema if is_marks(f.htype)]
        for cell in cells:
            for f, known in marked:
                if f.name in cell["marks"] and {f.name, known and known.name} & {*cell["staged"]}:
                    self._mark_again(cell, f.name, known)

    def _mark_column(
        self,
        cells: list[dict[str, Any]],
        positions: Positions,
        ids: NDArray[np.int64],
        field_id: str,
        name: str,
    ) -> None:
        touched = [i for i, cell in enumerate(cells) if name in cell["staged"]]
        if touched:
            htype, values = self.values(field_id, name, positions[touched], ids[touched])
            if not isinstance(htype, Boxes):
                for i, value in zip(touched, values, strict=True):
                    cells[i]["caption"][name] = cards.caption(htype, value)

    def _mark_again(self, cell: dict[str, Any], name: str, known: Field | None) -> None:
        position = int(cell["p"])
        width, height = (cell["w"], cell["h"]) if cell["w"] else (1, 1)
        classes = None if known is None else self.value(known.name, position)[1]
        htype, value = self.value(name, position)
        cell["marks"][name] = marks(htype, value, width, height, classes)

    def fields(self, schema: Schema, position: int) -> list[Field]:
        """Return the columns that a row has, with one of tags that is yet to be added."""
        added = self.staged.columns().get(inputs.NEW)
        ids = self.host.shown.ids(np.array([position]))
        if added is None or ids is None or added in schema:
            return list(schema)
        if not self.staged.touching(inputs.NEW, ids)[0]:
            return list(schema)
        return [*schema, Field(added, inputs.NEW, inputs.TAGS)]

    def input_of(self, name: str, htype: Htype, value: Any) -> dict[str, Any]:
        """Return what a reader may change a cell from: whether it can be, and its plain value."""
        about = self.host.about
        stored = name in self.host.shown.view.columns or self.staged.columns().get(inputs.NEW)
        editable = bool(
            stored
            and about["writable"]
            and about["has_ids"]
            and inputs.is_editable(htype)
            and not inputs.is_long(value)
        )
        plain = inputs.sent(htype, value) if editable else None
        return {"editable": editable, "value": plain}

    def value(self, name: str, position: int) -> tuple[Htype, Any]:
        """Return the value of one cell as it is staged, or as it is, and its type."""
        shown = self.host.shown
        ids = shown.ids(np.array([position]))
        staged = {n: field_id for field_id, n in self.staged.columns().items()}
        if ids is None or name not in staged:
            f = shown.view.schema[name]
            return f.htype, values_of(shown.view, f, np.array([position]))[0]
        htype, values = self.values(staged[name], name, np.array([position]), ids)
        return htype, values[0]

    def values(
        self, field_id: str, name: str, positions: Positions, ids: NDArray[np.int64]
    ) -> tuple[Htype, list[Any]]:
        """Return the values of a column's cells as they are staged, and the type that it gets."""
        view = self.host.shown.view
        if name in view.columns:
            f = view.schema[name]
            htype, before = f.htype, list(values_of(view, f, positions))
        else:
            htype, before = self._stored(field_id, name, ids)
        return self.after(field_id, htype, ids, before)

    def after(
        self, field_id: str, htype: Htype, ids: NDArray[np.int64], before: list[Any]
    ) -> tuple[Htype, list[Any]]:
        """Return what cells of a column become, by what is staged, and the type that it gets."""
        after = self.staged.after(field_id, ids, inputs.plain(htype, before))
        new = inputs.new_classes(htype, [e.value for e in self.staged.of(field_id)])
        wider = inputs.with_classes(htype, new)
        return wider, inputs.shown(wider, after)

    def _stored(self, field_id: str, name: str, ids: NDArray[np.int64]) -> tuple[Htype, list[Any]]:
        """Return cells of a column that is not shown, by row id; of one that is to come, none."""
        ds = self.dataset()
        f = writing.target(ds.schema, field_id, name)
        if f is None:
            return inputs.TAGS, [[] for _ in ids]
        table = ds._table
        slots = table.find(ids)
        there = values_of(ds, f, writing.positions_of(table, slots[slots >= 0]))
        found: list[Any] = [None] * len(ids)
        for at, value in zip(np.flatnonzero(slots >= 0).tolist(), there, strict=True):
            found[at] = value
        return f.htype, found


def is_stored(view: View, f: Field, field_id: str) -> bool:
    """Tell whether a column of a view is a stored one, which a query has perhaps taken over.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://is-stored-doc", {"x": "int32", "y": "int32"})
    >>> ds.append({"x": [1], "y": [2]})
    >>> view = ds.query("SELECT x, x + y AS y")
    >>> [is_stored(view, view.schema[name], ds.schema[name].id) for name in ("x", "y")]
    [True, False]
    """
    return origin(view, f, np.empty(0, np.int64))[1].id == field_id
