"""Choose the column class for an htype, based on its layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deeplake_lite.errors import FormatError
from deeplake_lite.htypes.layouts import Dense, Nested, Ragged
from deeplake_lite.storage.dense import DenseColumn
from deeplake_lite.storage.nested import NestedColumn
from deeplake_lite.storage.ragged import RaggedColumn

if TYPE_CHECKING:
    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.storage.column import Column, Location


def make_column(htype: Htype, location: Location) -> Column:
    """Return a column object for an htype, of the class that stores the htype's layout."""
    match htype.layout:
        case Dense():
            return DenseColumn(htype, location)
        case Ragged():
            return RaggedColumn(htype, location)
        case Nested():
            return NestedColumn(htype, location, make_column)
    raise FormatError(
        f"{htype!r} has a layout that this release of deeplake-lite does not know. "
        "Upgrade: pip install -U deeplake-lite."
    )
