"""Values that go from a column of one lake into a column of another, or of another type.

What a type can take from another as it is stored goes along so: files as their bytes, which are
then kept rather than decoded and encoded again; classes by name, since another type may number them
otherwise; links as paths, or as the files that they lead to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.column import Column
from deeplake_lite.dataset.portable import values_of
from deeplake_lite.dataset.positions import is_position
from deeplake_lite.dataset.reading import read_cells
from deeplake_lite.dataset.values import decode_block, with_none
from deeplake_lite.htypes import Array, ClassLabel, Link, Scalar, Sequence
from deeplake_lite.htypes.roots import resolve_link

if TYPE_CHECKING:
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells


def taken_from(values: Any, to: Htype) -> Any:
    """Return values for a column of type `to`; those of another column are read when asked for."""
    return Transfer(values, to) if isinstance(values, Column) else values


class Transfer:
    """Values of a column, as one of another type takes them."""

    def __init__(self, column: Column, to: Htype) -> None:
        self._column, self._to = column, to

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, index: Any) -> Any:
        column, single = self._column, is_position(index)
        positions = column._positions([index] if single else index)
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
    values = with_none(decode_block(of, cells, follow=False))
    return values if _is_number(to) else _by_name(of, values)


def _is_number(htype: Htype) -> bool:
    return (
        _is_number(htype.of) if isinstance(htype, Sequence) else isinstance(htype, Scalar | Array)
    )


def _by_name(htype: Htype, values: Any) -> Any:
    """Return values with classes by name."""
    if isinstance(htype, Sequence):
        return [None if v is None else _by_name(htype.of, v) for v in values]
    if not isinstance(htype, ClassLabel) or not htype.names:
        return values
    if htype.multiple:
        return [None if v is None else htype.to_names(v) for v in values]
    return [None if v is None else htype.to_names([v])[0] for v in values]
