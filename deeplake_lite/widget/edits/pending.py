"""Values of cells with staged edits applied, for the grid and the detail panel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from deeplake_lite.errors import LakeError
from deeplake_lite.schema import Field
from deeplake_lite.widget.edits import inputs, writing
from deeplake_lite.widget.images import cards
from deeplake_lite.widget.images.classes import class_column, is_marks
from deeplake_lite.widget.images.overlays import marks
from deeplake_lite.widget.images.values import values_of
from deeplake_lite.widget.stored import by_id, rows_with, stored_field, version_read

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Schema
    from deeplake_lite.widget.edits.staged import Staged
    from deeplake_lite.widget.images.cell import Cell
    from deeplake_lite.widget.parts import Host

type Positions = NDArray[np.int64]


class Input(TypedDict):
    """The input of a cell in the detail panel."""

    editable: bool
    value: object
    """The initial value, as JSON."""


class Pending:
    """Cells of the shown view with staged edits applied.

    Edits refer to stored columns by id. They appear in every column of the result that shows the
    stored column, even under another name, but not in computed columns.

    Parameters
    ----------
    host : Host
        The browser.
    staged : Staged
        The staged edits.
    dataset : callable
        Returns the dataset to which edits are written.
    """

    def __init__(self, host: Host, staged: Staged, dataset: Callable[[], Dataset]) -> None:
        self.host, self.staged, self.dataset = host, staged, dataset

    # ---- cells of the grid

    def mark(self, cells: list[Cell], positions: Positions) -> None:
        """Apply staged edits to cells of the grid. A cell's ``staged`` lists its edited columns."""
        ids = self.host.shown.ids(positions) if len(self.staged) else None
        if ids is None:
            return
        schema = self.host.shown.view.schema
        shown = {f.name: field_ids for f in schema if (field_ids := self._edited_ids(f))}
        hidden = self._hidden_columns(shown)
        names = {**shown, **{name: [field_id] for name, field_id in hidden.items()}}
        for cell, columns in zip(cells, self.staged.columns_at(ids), strict=True):
            cell["staged"] = [name for name, field_ids in names.items() if columns & {*field_ids}]
        for name in shown:
            self._mark_column(cells, positions, schema[name])
        for name, field_id in hidden.items():
            self._mark_hidden(cells, ids, name, field_id)
        marked = [(f, class_column(schema, f)) for f in schema if is_marks(f.htype)]
        for cell in cells:
            for f, labels in marked:
                if f.name in cell["marks"] and {f.name, labels and labels.name} & {*cell["staged"]}:
                    self._update_marks(cell, f, labels)

    def _edited_ids(self, f: Field) -> list[str]:
        """Return the ids under which the edits of a column of the result are staged.

        There may be two ids: the id of the stored column, and `inputs.NEW` if another writer has
        added the tag column in the meantime.
        """
        if f.id == inputs.NEW:
            return [inputs.NEW]
        stored = stored_field(self.host.shown.view, f)
        if stored is None:
            return []
        columns = self.staged.columns().items()
        return [i for i, name in columns if writing.is_target(stored, i, name)]

    def _hidden_columns(self, shown: Mapping[str, Collection[str]]) -> dict[str, str]:
        """Return a dict that maps names to ids, of the edited columns that the result leaves out.

        If another column of the result has the same name, the name gets the suffix " (stored)".
        """
        known = {field_id for ids in shown.values() for field_id in ids}
        names, hidden = self.names(), {}
        for field_id in self.staged.columns():
            if field_id not in known:
                name = names[field_id]
                while name in self.host.shown.view.columns or name in hidden:
                    name += " (stored)"
                hidden[name] = field_id
        return hidden

    def _mark_column(self, cells: list[Cell], positions: Positions, f: Field) -> None:
        """Update the captions and cards of edited cells in a column of the result."""
        edited = [i for i, cell in enumerate(cells) if f.name in cell["staged"]]
        if edited:
            htype, values = self.values(f, positions[edited])
            for i, value in zip(edited, values, strict=True):
                if not is_marks(htype):
                    cells[i]["caption"][f.name] = cards.caption(htype, value)
                cards.update_card(cells[i], f.name, htype, value)

    def _mark_hidden(
        self, cells: list[Cell], ids: NDArray[np.int64], name: str, field_id: str
    ) -> None:
        """Add captions with the edited values of a column that the query leaves out."""
        edited = [i for i, cell in enumerate(cells) if name in cell["staged"]]
        try:
            htype, values = self.stored(field_id, ids[edited])
        except LakeError:  # the column or a row is gone; the commit will report it
            return
        if not is_marks(htype):
            for i, value in zip(edited, values, strict=True):
                cells[i]["caption"][name] = cards.caption(htype, value)

    def _update_marks(self, cell: Cell, f: Field, labels: Field | None) -> None:
        """Update the marks of a cell in column `f`, with the classes in column `labels`."""
        position = cell["p"]
        width, height = cell["w"] or 1, cell["h"] or 1
        classes = None if labels is None else self.value(labels, position)[1]
        htype, value = self.value(f, position)
        cell["marks"][f.name] = marks(htype, value, width, height, classes)

    # ---- columns

    def names(self) -> dict[str, str]:
        """Return a dict that maps the id of each edited column to its name in the shown version."""
        table = version_read(self.host.shown.view)
        known = {} if table is None else {f.id: f.name for f in table.schema}
        return {i: known.get(i, name) for i, name in self.staged.columns().items()}

    def fields(self, schema: Schema, position: int) -> list[Field]:
        """Return a row's columns, including the new tag column if the row has edits for it."""
        added = self.staged.columns().get(inputs.NEW)
        ids = self.host.shown.ids(np.array([position]))
        if added is None or ids is None or added in schema:
            return list(schema)
        if not self.staged.edits_at(inputs.NEW, ids)[0]:
            return list(schema)
        if any(inputs.NEW in self._edited_ids(f) for f in schema):
            return list(schema)
        return [*schema, Field(added, inputs.NEW, inputs.TAGS)]

    def input_of(self, f: Field, htype: Htype, value: object) -> Input:
        """Return whether a cell is editable, and the initial value of its input."""
        about = self.host.about
        editable = bool(
            about["writable"]
            and about["has_ids"]
            and htype.browser.editable
            and not inputs.is_long(value)
            and (f.id == inputs.NEW or stored_field(self.host.shown.view, f) is not None)
        )
        plain = inputs.to_page(htype, value) if editable else None
        return {"editable": editable, "value": plain}

    # ---- values

    def value(self, f: Field, position: int) -> tuple[Htype, Any]:
        """Return the type and value of a cell with staged edits applied."""
        htype, values = self.values(f, np.array([position]))
        return htype, values[0]

    def values(self, f: Field, positions: Positions) -> tuple[Htype, list[Any]]:
        """Return the type and the values of a column of the result, with staged edits applied."""
        shown, field_ids = self.host.shown, self._edited_ids(f)
        ids = shown.ids(positions) if field_ids else None
        if ids is None:
            return f.htype, values_of(shown.view, f, positions)
        if f.id == inputs.NEW:
            return self.stored(f.id, ids)
        htype, values = f.htype, values_of(shown.view, f, positions)
        for field_id in field_ids:
            htype, values = self.after(field_id, htype, ids, values)
        return htype, values

    def stored(self, field_id: str, ids: NDArray[np.int64]) -> tuple[Htype, list[object]]:
        """Return the type of a stored column, and the column's values with staged edits applied.

        The query may omit the column. Raises LakeError if the column or one of the rows no longer
        exists.
        """
        if field_id == inputs.NEW:
            return self._new_tags(ids)
        rows = rows_with(self.host.shown.view, field_id, ids, self.dataset)
        f = by_id(rows.rows.table.schema, field_id)
        if f is None:
            raise LakeError(
                "The column no longer exists, because another writer dropped it. Refresh the "
                "dataset browser."
            )
        return self.after(field_id, f.htype, ids, values_of(rows, f, np.arange(len(ids))))

    def _new_tags(self, ids: NDArray[np.int64]) -> tuple[Htype, list[object]]:
        """Return the type and values of the new tag column, with staged edits applied.

        Another writer may have added the column in the meantime.
        """
        ds = self.dataset()
        f = writing.target(ds.schema, inputs.NEW, self.staged.columns()[inputs.NEW])
        if f is None:
            return self.after(inputs.NEW, inputs.TAGS, ids, [[] for _ in ids])
        rows = rows_with(ds, f.id, ids, self.dataset)
        return self.after(inputs.NEW, f.htype, ids, values_of(rows, f, np.arange(len(ids))))

    def after(
        self, field_id: str, htype: Htype, ids: NDArray[np.int64], before: list[Any]
    ) -> tuple[Htype, list[object]]:
        """Return a column's type and values after the staged edits.

        The type includes new classes. `before` has the values of the rows without edits.
        """
        after = self.staged.after(field_id, ids, inputs.to_cells(htype, before))
        new = inputs.new_classes(htype, [e.value for e in self.staged.of(field_id)])
        wider = inputs.with_classes(htype, new)
        return wider, inputs.as_read(wider, after)
