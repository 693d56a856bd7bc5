"""Queries that sort rows by similarity to a row.

The queries refer to the row by its id, because the position of a row changes when earlier rows are
deleted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset.read.reading import read_values
from deeplake_lite.errors import DamagedError, LakeError, SchemaError
from deeplake_lite.index.stored import find_index
from deeplake_lite.query.parse.names import quote_column
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from deeplake_lite.dataset.selection import ReadTable
    from deeplake_lite.dataset.view import View
    from deeplake_lite.widget.browser_state import BrowserState

MANY_ROWS = 200_000
"""An index is used only for at least this many rows. Fewer rows are all sorted."""

NEAREST = 1_000
"""Number of rows that are shown if an index finds them."""

_VECTOR = re.compile(
    r"\(SELECT (.+?) FROM dataset WHERE ROW_ID\(\) = (\d+) LIMIT 1\)", re.IGNORECASE
)
"""Matches the part of a query that reads the vector of one row, as `nearest_first` writes it."""


def nearest_first(shown: BrowserState, position: int, name: str) -> str:
    """Return a query that sorts rows by similarity to a shown row.

    All rows are sorted, unless there are many and an index can find the nearest of them.

    Parameters
    ----------
    shown : BrowserState
        The state of the browser.
    position : int
        Position of the row in the shown view.
    name : str
        A column of vectors.

    Raises
    ------
    SchemaError
        When the row has no vector, or is not among the browsed rows.
    """
    ids, base = shown.ids(np.array([position])), shown.base
    if ids is None:
        raise SchemaError(
            "Only rows of the dataset have neighbours, but the query computes this row. Clear the "
            "query."
        )
    match _has_vector(base, name, int(ids[0])):
        case None:
            raise SchemaError(
                f"The search for neighbours covers the browsed rows, but row {position:,} belongs "
                "to another version or view. Browse that version or view."
            )
        case False:
            raise SchemaError(
                f"Row {position:,} has no value in column {name!r} with which to compare other "
                "rows. Choose another row or column."
            )
    column = quote_column(name)
    vector = f"(SELECT {column} FROM dataset WHERE ROW_ID() = {ids[0]} LIMIT 1)"
    order = f"SELECT * ORDER BY COSINE_SIMILARITY({column}, {vector}) DESC"
    return f"{order} LIMIT {NEAREST} USING INDEX" if _uses_index(base, name) else order


def _uses_index(base: View, name: str) -> bool:
    """Return whether there are many browsed rows, and an index of the column."""
    table = base.rows.table
    if len(base) < MANY_ROWS or not isinstance(table, Table) or table.uncommitted:
        return False
    use = "vector", "cosine", base.schema[name].id
    try:
        return find_index(table.repository, table.snapshot_id, use) is not None
    except DamagedError:
        return False


def check_row(text: str, base: View) -> None:
    """Reject a query that sorts by similarity to a row that no longer exists or has no vector.

    Without this check, the vector would be null, and the order meaningless. Raises LakeError.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://check-row-doc", {"v": dl.Embedding(2)})
    >>> check_row("SELECT * WHERE (SELECT v FROM dataset WHERE ROW_ID() = 7 LIMIT 1) = v", ds)
    Traceback (most recent call last):
    deeplake_lite.errors.LakeError: The query sorts by similarity to 'v' of row 7, which ...
    """
    for column, row_id in _VECTOR.findall(text):
        name = next((n for n in base.columns if column in (n, quote_column(n))), None)
        if name is not None and not (has := _has_vector(base, name, int(row_id))):
            state = "no longer exists" if has is None else "no longer has a value"
            raise LakeError(
                f"The query sorts by similarity to {name!r} of row {row_id}, which {state}. Clear "
                "the query, or search for neighbours of another row."
            )


def _has_vector(base: View, name: str, row_id: int) -> bool | None:
    """Return whether a browsed row has a value in a column, or None if the row does not exist."""
    table: ReadTable = base.rows.table
    if not getattr(table, "has_ids", True):
        return None
    at = np.flatnonzero(base.row_ids == row_id)[:1]
    if not len(at):
        return None
    [value] = read_values(base, [base.schema[name]], at)[name]
    return value is not None and not np.ma.getmaskarray(value).any()
