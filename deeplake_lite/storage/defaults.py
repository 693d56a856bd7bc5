"""What a column holds in rows that come from where it is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.cells import concat, take

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field


def cells_of_new_rows(f: Field, is_live: NDArray[np.bool_]) -> Cells:
    """Return the default for rows that are live, and blanks for those that were deleted again.

    Raises
    ------
    InvalidValueError
        When there are live rows, and the column has no default and takes no null.
    """
    live, gone = np.flatnonzero(is_live), np.flatnonzero(~is_live)
    parts = [default_cells(f, len(live))] if len(live) or not len(gone) else []
    if len(gone):
        parts.append(f.htype.encode([f.htype.blank] * len(gone)))
    if len(parts) == 1:
        return parts[0]
    return take(concat(parts), np.argsort(np.concatenate([live, gone])))


def default_cells(f: Field, count: int) -> Cells:
    """Return cells for rows that come from where a column is not known.

    Raises
    ------
    InvalidValueError
        When the column has no default and takes no null.
    """
    try:
        return f.htype.encode_default(count)
    except InvalidValueError as error:
        raise InvalidValueError(
            f"{count:,} row(s) come from where this column is not known, and it has no default. "
            f"Give it one where it is: ds.set_default({f.name!r}, …), commit, and try again.",
            column=f.name,
        ) from error
