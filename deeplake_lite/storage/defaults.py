"""What a column holds in rows that come from where it is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field


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
