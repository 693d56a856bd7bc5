"""Functions that find the stored columns and rows behind the columns and rows of a query result.

A query may rename or omit columns, or give new columns the names of stored columns. In contrast,
staged edits refer to rows and columns of the lake by their ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset.read.virtual import ViewColumn, VirtualTable, source_of
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
    """Return the stored column that a view's column shows, or None if it is computed.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://stored-field-doc", {"x": "int32", "y": "int32"})
    >>> ds.append({"x": [1], "y": [2]})
    >>> view = ds.query("SELECT x, x + y AS y, y AS z")
    >>> fields = [stored_field(view, f) for f in view.schema]
    >>> [f and f.name for f in fields]
    ['x', None, 'y']
    """
    table, field_id = source_of(view, f)
    return by_id(table.schema, field_id) if isinstance(table, Table) else None


type Location = tuple[ReadTable, Field, NDArray[np.int64]]
"""Where cells are stored: a version, a column of this version, and the slots of the rows."""


def location_of(view: View, f: Field, positions: NDArray[np.int64]) -> Location | None:
    """Return where a view's cells are stored, or None if the column is computed or not in the view.

    Rows without a partner in a join have slot -1.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://location-of-doc", {"x": "int32"})
    >>> ds.append({"x": [1, 2, 3]})
    >>> view = ds.query("SELECT x AS a, x + 1 AS b WHERE x > 1")
    >>> a, b = view.schema
    >>> table, f, slots = location_of(view, a, np.array([1]))
    >>> f.name, slots.tolist(), location_of(view, b, np.array([1]))
    ('x', [2], None)
    """
    if by_id(view.schema, f.id) is None:
        return None
    table, slots = view.rows.locate(positions)
    while isinstance(table, VirtualTable):
        column = table.column(f.id)
        if not isinstance(column, ViewColumn):
            return None
        rows = np.where(slots < 0, -1, column.positions[slots])
        source_slots = np.full(len(rows), -1, np.int64)
        table, source_slots[rows >= 0] = column.view.rows.locate(rows[rows >= 0])
        f, slots = column.field, source_slots
    stored = by_id(table.schema, f.id)
    return None if stored is None else (table, stored, slots)


def by_id(schema: Schema, field_id: str) -> Field | None:
    """Return the column with the given id, or None if the schema does not have this column."""
    return next((f for f in schema if f.id == field_id), None)


def version_read(view: View) -> Table | None:
    """Return the version from which a view reads its rows, or None if all columns are computed.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://version-read-doc", {"x": "int32"})
    >>> ds.append({"x": [1]})
    >>> version_read(ds.query("SELECT x AS y")) is version_read(ds[:])
    True
    """
    return next(_versions(view.rows.table), None)


def _versions(table: object) -> Iterator[Table]:
    """Yield the versions from which a table, or the columns of a query result, are read."""
    if isinstance(table, Table):
        yield table
    elif isinstance(table, VirtualTable):
        for f in table.schema:
            column = table.column(f.id)
            if isinstance(column, ViewColumn):
                yield from _versions(column.view.rows.table)


def rows_with(
    view: View, field_id: str, ids: NDArray[np.int64], dataset: Callable[[], Dataset]
) -> View:
    """Return a view of the rows with the given ids, with all columns.

    The rows are read from the version that `view` reads.

    Parameters
    ----------
    view : View
        The shown view, which may omit the column.
    field_id : str
        Id of a column that must be in the result.
    ids : ndarray, (n,) int64
        Ids of the rows.
    dataset : callable
        Returns the dataset, which is read if the view's version does not have the column.

    Raises
    ------
    LakeError
        When a row has been deleted.

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
        raise LakeError(
            "The row no longer exists, because another writer deleted it. Refresh the dataset "
            "browser."
        )
    return View(RowSelection(lake, table, slots), table.schema.names, "")
