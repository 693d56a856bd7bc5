"""Transfer of values between columns of different lakes or types.

If the new type accepts encoded files, the files are copied without decoding. Classes are
transferred by name, because the types may number them differently. Links are transferred as paths,
or as the linked files.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.column import Column
from deeplake_lite.dataset.export.portable import values_of
from deeplake_lite.dataset.read.positions import is_position, resolve_index
from deeplake_lite.dataset.read.values import decode_block, with_none
from deeplake_lite.dataset.write.tables import Exported
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.roots import resolve_link

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from deeplake_lite.dataset.selection import RowSelection
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field


def wrap_source(values: object, to: Htype) -> Any:
    """Wrap a Column or Exported in a `Transfer` to the type `to`. Return other values unchanged."""
    if isinstance(values, Column):
        view = values.view.pin().checked()
        f = view.field(values.name)
        return Transfer(f.htype, partial(_read_column, view.rows, f, to), np.arange(len(view)))
    if not isinstance(values, Exported):
        return values
    if _same_values(values.of, to):
        return values.values
    exported = replace(values, values=with_none(values.values))
    return Transfer(values.of, partial(_read_exported, exported, to), np.arange(len(values)))


class Transfer:
    """Values of a column that can be read in a form that another type accepts.

    Parameters
    ----------
    of : Htype
        Type of the source.
    read : callable
        Function from positions in the source, (n,) int64, to values that the other type accepts.
    positions : ndarray, (n,) int64
        Positions of the values in the source.
    """

    def __init__(
        self, of: Htype, read: Callable[[NDArray[np.int64]], Any], positions: NDArray[np.int64]
    ) -> None:
        self.of, self._read, self._positions = of, read, positions

    def __len__(self) -> int:
        return len(self._positions)

    def at(self, rows: NDArray[np.int64] | list[int]) -> Transfer:
        """Return a `Transfer` of the values of the given rows, without reading the values."""
        return Transfer(self.of, self._read, self._positions[rows])

    def __getitem__(self, index: object) -> Any:
        single = is_position(index)
        positions = self._positions[resolve_index([index] if single else index, len(self))]
        values = self._read(positions)
        return values[0] if single else values


def _read_column(rows: RowSelection, f: Field, to: Htype, positions: NDArray[np.int64]) -> object:
    table, slots = rows.locate(positions)
    return transfer_values(f.htype, table.read([f.id], slots)[f.id], to, rows.lake.allow)


def _read_exported(values: Exported, to: Htype, positions: NDArray[np.int64]) -> object:
    cells = replace(values.of, nullable=True).encode([values[i] for i in positions.tolist()])
    return transfer_values(values.of, cells, to)


def _same_values(of: Htype, to: Htype) -> bool:
    """Return whether two types are equal except for nullability and default."""
    return of.bare == to.bare


def transfer_values(
    of: Htype, cells: Cells, to: Htype, allow: tuple[str, ...] | None = None
) -> object:
    """Return the values of cells in a form that another type accepts, with None for nulls.

    Parameters
    ----------
    of : Htype
        Type of the cells.
    cells : Cells
        The stored cells.
    to : Htype
        Type that receives the values.
    allow : tuple of str, optional
        Roots under which links are followed. Without them, links are transferred as paths.

    Examples
    --------
    >>> from deeplake_lite.htypes import ClassLabel
    >>> label = ClassLabel(["rose", "tulip"])
    >>> transfer_values(label, label.encode([1, 0]), ClassLabel(["tulip", "rose"]))
    ['tulip', 'rose']
    """
    if of.hands_files_to(to):
        return values_of(of, cells)
    if of.target is not None and to.target is None and allow is not None:
        if not to.takes_files:
            return decode_block(of, cells, allow)
        paths = of.decode_cells(cells)
        return [None if path is None else resolve_link(path, allow) for path in paths]
    return to.values_from(of, with_none(decode_block(of, cells, follow=False)))


@contextmanager
def naming_types(of: Htype, to: Htype) -> Iterator[None]:
    """If values are copied from a column of another type, make errors name both types."""
    try:
        yield
    except InvalidValueError as error:
        if _same_values(of, to):
            raise
        raise type(error)(
            f"{error.args[0]} The values were copied from a column of type {of.bare} to a column "
            f"of type {to.bare}.",
            column=error.column,
            row=error.row,
        ) from error.__cause__
