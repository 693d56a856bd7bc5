"""Rows like one: the query that sorts by nearness to a row, which it names by its id.

Positions would mean another row once rows before it are deleted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.reading import read_values
from deeplake_lite.errors import LakeError, SchemaError
from deeplake_lite.query.parse.names import quoted

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View
    from deeplake_lite.widget.shown import Shown

_VECTOR = re.compile(
    r"\(SELECT (.+?) FROM dataset WHERE ROW_ID\(\) = (\d+) LIMIT 1\)", re.IGNORECASE
)
"""A query's vector of one row, as `nearest_first` writes it."""


def nearest_first(shown: Shown, position: int, name: str) -> str:
    """Return the query that sorts all rows by how near they are to one that is shown.

    Parameters
    ----------
    name : str
        A column of vectors.

    Raises
    ------
    SchemaError
        For a row that has no vector, or is not among those that are browsed.
    """
    ids, base = shown.ids(np.array([position])), shown.base
    if ids is None:
        raise SchemaError("Neighbours are those of a row of the dataset. Take the query back.")
    match _has_vector(base, name, int(ids[0])):
        case None:
            raise SchemaError(
                f"Neighbours are found among the rows that are browsed, but row {position:,} is of "
                "another version or view. Browse that one."
            )
        case False:
            raise SchemaError(f"Row {position:,} has no {name!r}, by which rows would be like it.")
    column = quoted(name)
    asked = f"(SELECT {column} FROM dataset WHERE ROW_ID() = {ids[0]} LIMIT 1)"
    return f"SELECT * ORDER BY COSINE_SIMILARITY({column}, {asked}) DESC"


def check_row(text: str, base: View) -> None:
    """Refuse a query by nearness to a row that is gone by now: null is near to nothing.

    Raises LakeError.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://check-row-doc", {"v": dl.Embedding(2)})
    >>> check_row("SELECT * WHERE (SELECT v FROM dataset WHERE ROW_ID() = 7 LIMIT 1) = v", ds)
    Traceback (most recent call last):
    deeplake_lite.errors.LakeError: The query sorts by 'v' of row 7, which is gone. ...
    """
    for column, row_id in _VECTOR.findall(text):
        name = next((n for n in base.columns if column in (n, quoted(n))), None)
        if name is not None and not (has := _has_vector(base, name, int(row_id))):
            why = "is gone" if has is None else "has none by now"
            raise LakeError(
                f"The query sorts by {name!r} of row {row_id}, which {why}. Take the query back, "
                "or look for rows like another one."
            )


def _has_vector(base: View, name: str, row_id: int) -> bool | None:
    """Tell whether a row of what is browsed has a value; None where it has no such row."""
    table: Any = base.rows.table
    if not getattr(table, "has_ids", True):
        return None
    at = np.flatnonzero(base.row_ids == row_id)[:1]
    if not len(at):
        return None
    [value] = read_values(base, [base.schema[name]], at)[name]
    return value is not None and not np.ma.getmaskarray(value).any()
