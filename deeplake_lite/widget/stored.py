"""Columns of an answer that are stored ones, whatever they are called, and the rows they are of.

A query computes columns, also under names of stored ones, renames columns and leaves some out. What
is staged belongs to a row and a column of the lake, both known by their ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.virtual import TakenColumn, VirtualTable, source_of
from deeplake_lite.dataset.selection import RowSelection
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import LakeError
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.selection import ReadTable
    from deeplake_lite.schema import Field, Schema


def stored_field(view: View, f: Field) -> Field | None:
    """Return the stored column that a column of a view is; None for one that is computed.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://stored-field-doc", {"x": "int32", "y": "int32"})
    >>> ds.append({"x": [1], "y": [2]})
    >>> view = ds.query("SELECT x, x + y AS y, y AS z")
    >>> found = [stored_field(view, f) for f in view.schema]
    >>> [f and f.name for f in found]
    ['x', None, 'y']
    """
    table, field_id = source_of(view, f)
    return by_id(table.schema, field_id) if isinstance(table, Table) else None


type Place = tuple[ReadTable, Field, NDArray[np.int64]]
"""Where some cells are stored: version, column, slots."""


def place_of(view: View, f: Field, positions: NDArray[np.int64]) -> Place | None:
    """Return where cells of a column of a view are stored.

    A row that a join has not found has slot -1. None for a column that is computed, or that the
    view does not have.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://place-of-doc", {"x": "int32"})
    >>> ds.append({"x": [1, 2, 3]})
    >>> view = ds.query("SELECT x AS a, x + 1 AS b WHERE x > 1")
    >>> a, b = view.schema
    >>> table, f, slots = place_of(view, a, np.array([1]))
    >>> f.name, slots.tolist(), place_of(view, b, np.array([1]))
    ('x', [2], None)
    """
    if by_id(view.schema, f.id) is None:
        return None
    table, slots = view.rows.locate(positions)
    while isinstance(table, VirtualTable):
        column = table.column(f.id)
        if not isinstance(column, TakenColumn):
            return None
        rows = np.where(slots < 0, -1, column.positions[slots])
        found = np.full(len(rows), -1, np.int64)
        table, found[rows >= 0] = column.view.rows.locate(rows[rows >= 0])
        f, slots = column.field, found
    stored = by_id(table.schema, f.id)
    return None if stored is None else (table, stored, slots)


def by_id(schema: Schema, field_id: str) -> Field | None:
    """Return the column with an id; None where it is gone."""
    return next((f for f in schema if f.id == field_id), None)


def version_read(view: View) -> Table | None:
    """Return the version of the lake that a view's rows are read from; None where there is none.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://version-read-doc", {"x": "int32"})
    >>> ds.append({"x": [1]})
    >>> version_read(ds.query("SELECT x AS y")) is version_read(ds[:])
    True
    """
    return next(_versions(view.rows.table), None)


def _versions(table: Any) -> Iterator[Table]:
    if isinstance(table, Table):
        yield table
    elif isinstance(table, VirtualTable):
        for f in table.schema:
            column = table.column(f.id)
            if isinstance(column, TakenColumn):
                yield from _versions(column.view.rows.table)


def rows_with(
    view: View, field_id: str, ids: NDArray[np.int64], dataset: Callable[[], Dataset]
) -> View:
    """Return rows of a lake, by their ids, as the reader of a view has them, with all columns.

    Parameters
    ----------
    view : View
        What is shown; it may leave the column out.
    field_id : str
        A column that is wanted.
    ids : ndarray, (n,) int64
    dataset : callable
        Returns the dataset, whose rows they are where the version shown has no such column yet.

    Raises
    ------
    LakeError
        Where a row is gone.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://rows-with-doc", {"x": "int32", "y": "int32"})
    >>> ds.append({"x": [1, 2], "y": [3, 4]})
    >>> few = ds.query("SELECT y AS x ORDER BY x DESC LIMIT 1")
    >>> rows_with(few, ds.schema["x"].id, few.row_ids, lambda: ds)["x"][:]
    array([2], dtype=int32)
    """
    lake, table = view.rows.lake, version_read(view)
    if table is None or by_id(table.schema, field_id) is None:
        ds = dataset()
        lake, table = ds.handle.lake, ds.handle.table
    slots = table.find(ids)
    if (slots < 0).any():
        raise LakeError("The row is gone: another writer has removed it. Refresh the browser.")
    return View(RowSelection(lake, table, slots), table.schema.names, "")
