"""Values that go from a column of one lake into a column of another, or of another type.

What a type can take from another as it is stored goes along so: files as their bytes, which are
then kept rather than decoded and encoded again; classes by name, since another type may number them
otherwise; links as paths, or as the files that they lead to.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.column import Column
from deeplake_lite.dataset.portable import values_of
from deeplake_lite.dataset.positions import in_brackets, is_position
from deeplake_lite.dataset.reading import read_cells
from deeplake_lite.dataset.values import decode_block, with_none
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes import Link
from deeplake_lite.htypes.roots import resolve_link

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells


def taken_from(values: Any, to: Htype) -> Any:
    """Return values for a column of type `to`; those of another column are read when asked for."""
    return Transfer(values, to) if isinstance(values, Column) else values


class Transfer:
    """Values of a column, as one of another type takes them."""

    def __init__(
        self, column: Column, to: Htype, positions: NDArray[np.int64] | None = None
    ) -> None:
        self._column, self._to = column, to
        self._positions = np.arange(len(column)) if positions is None else positions
        self.of = column.htype
        """Type of the values."""

    def __len__(self) -> int:
        return len(self._positions)

    def at(self, rows: NDArray[np.int64]) -> Transfer:
        """Return the values of some rows, still to be read."""
        return Transfer(self._column, self._to, self._positions[rows])

    def __getitem__(self, index: Any) -> Any:
        column, single = self._column, is_position(index)
        positions = self._positions[in_brackets([index] if single else index, len(self))]
        cells = read_cells(column._view, column._field, positions)
        values = transferred(column.htype, cells, self._to, column._view._lake.allow)
        return values[0] if single else values


def transferred(of: Htype, cells: Cells, to: Htype, allow: tuple[str, ...] | None = None) -> Any:
    """Return the values of cells as another type takes them, None where null.

    Parameters
    ----------
    of : Htype
        Type of the cells.
    cells : Cells
        What is stored.
    to : Htype
        Type that is to take the values.
    allow : tuple of str, optional
        Roots under which links are followed; without them, links go along as paths.

    Examples
    --------
    >>> from deeplake_lite.htypes import ClassLabel
    >>> label = ClassLabel(["rose", "tulip"])
    >>> transferred(label, label.encode([1, 0]), ClassLabel(["tulip", "rose"]))
    ['tulip', 'rose']
    """
    if of.hands_files_to(to):
        return values_of(of, cells)
    if isinstance(of, Link) and not isinstance(to, Link) and allow is not None:
        if not to.takes_files:
            return decode_block(of, cells, allow)
        paths = of.decode_cells(cells)
        return [None if path is None else resolve_link(path, allow) for path in paths]
    return to.values_from(of, with_none(decode_block(of, cells, follow=False)))


@contextmanager
def naming_types(of: Htype, to: Htype) -> Iterator[None]:
    """Let errors of values that come from a column of another type name both types."""
    try:
        yield
    except InvalidValueError as error:
        of, to = (replace(htype, nullable=False, default=None) for htype in (of, to))
        if of == to:
            raise
        raise type(error)(
            f"{error.args[0]} The values come from a column of type {of}; this one is {to}.",
            column=error.column,
            row=error.row,
        ) from error.__cause__
