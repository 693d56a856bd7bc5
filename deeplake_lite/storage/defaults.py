"""Default values of a column, for rows that were written without that column.

These rows come from another branch, or from a transaction that began before the column was added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.cells import concat, take
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field


class MissingDefaultError(InvalidValueError):
    """Raised if rows need the default of a column that has no default."""

    field_id: str = ""
    """Id of the column."""


def cells_of_new_rows(f: Field, is_live: NDArray[np.bool_]) -> Cells:
    """Return cells of one column for new rows: the default, or a blank value for deleted rows.

    A transaction that appends rows and then deletes some of them still has slots for the deleted
    rows. `is_live` is False for deleted rows.

    Raises
    ------
    MissingDefaultError
        If there are live rows, and the column has no default and is not nullable.
    """
    live, deleted = np.flatnonzero(is_live), np.flatnonzero(~is_live)
    parts = [default_cells(f, len(live))] if len(live) or not len(deleted) else []
    if len(deleted):
        parts.append(f.htype.encode([f.htype.blank] * len(deleted)))
    if len(parts) == 1:
        return parts[0]
    return take(concat(parts), np.argsort(np.concatenate([live, deleted])))


def default_cells(f: Field, count: int) -> Cells:
    """Return `count` cells with the column's default, or nulls if it has none.

    Raises
    ------
    MissingDefaultError
        If the column has no default and is not nullable.
    """
    try:
        return f.htype.encode_default(count)
    except InvalidValueError as error:
        missing = MissingDefaultError(
            "Rows from a version without this column need its default, but the column has none "
            f"({pluralize(count, 'such row')}). Set one with "
            f"set_default({f.name!r}, …) on the branch that has the column.",
            column=f.name,
        )
        missing.field_id = f.id
        raise missing from error
