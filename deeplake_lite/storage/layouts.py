"""Which kind of column stores an htype: one per layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deeplake_lite.errors import FormatError
from deeplake_lite.htypes.layouts import Dense, Nested, Ragged
from deeplake_lite.storage.dense import DenseColumn
from deeplake_lite.storage.nested import NestedColumn
from deeplake_lite.storage.ragged import RaggedColumn

if TYPE_CHECKING:
    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.storage.column import Column, Place


def make_column(htype: Htype, place: Place) -> Column:
    """Return the column for an htype's layout."""
    match htype.layout:
        case Dense():
            return DenseColumn(htype, place)
        case Ragged():
            return RaggedColumn(htype, place)
        case Nested():
            return NestedColumn(htype, place, make_column)
    raise FormatError(f"{htype!r} has a layout that this release does not know. Upgrade.")
