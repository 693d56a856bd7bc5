"""Cells of a view as users get them, and which one it was when stored bytes do not read.

A read that meets damage is done again in halves, until the column and the row are found.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.values import decode_block, decode_one, decode_row, owned, with_none
from deeplake_lite.errors import DamagedError
from deeplake_lite.storage import chunks
from deeplake_lite.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field

ITER_ROWS = 64
"""Rows that iteration reads at a time."""

type Positions = NDArray[np.int64]


def read_cells(view: View, f: Field, positions: Positions) -> Cells:
    """Return the stored cells of some rows of a column.

    Raises
    ------
    DamagedError
        With the column and the position of the first row that does not read.
    """
    return _named(view, [f], positions, lambda some, at: _stored(view, some, at)[f.id])


NOWHERE: Mapping[str, NDArray[Any]] = MappingProxyType({})
"""No place of the reader's own."""


def read_blocks(
    view: View,
    fields: Sequence[Field],
    positions: Positions,
    into: Mapping[str, NDArray[Any]] = NOWHERE,
) -> dict[str, Cells]:
    """Return the stored cells of some rows of columns, by name. Raises as `read_cells`.

    Parameters
    ----------
    into : mapping
        Arrays for the cells of columns of one shape, by name: where a column can be read there,
        its cells are.
    """
    places = {f.id: into[f.name] for f in fields if f.name in into}

    def read(some: Sequence[Field], at: Positions) -> dict[str, Cells]:
        table, slots = view.rows.locate(at)
        if not places or not isinstance(table, Snapshot) or len(at) < len(positions):
            return _stored(view, some, at)
        return table.read([f.id for f in some], slots, places)

    cells = _named(view, fields, positions, read)
    return {f.name: cells[f.id] for f in fields}


def read_value(view: View, f: Field, position: int) -> Any:
    """Return the value of one row, by position. Raises as `read_cells`."""

    def read(some: Sequence[Field], at: Positions) -> Any:
        return owned(decode_one(f.htype, _stored(view, some, at)[f.id], view.rows.lake.allow))

    return _named(view, [f], np.array([position]), read)


def read_row(view: View, fields: Sequence[Field], position: int) -> dict[str, Any]:
    """Return the values of one row by name. Raises as `read_cells`."""

    def read(some: Sequence[Field], at: Positions) -> dict[str, Any]:
        cells = _stored(view, some, at)
        htypes = {f.name: f.htype for f in some}
        row = decode_row(htypes, {f.name: cells[f.id] for f in some}, view.rows.lake.allow)
        return {name: owned(value) for name, value in row.items()}

    return _named(view, fields, np.array([position]), read)


def read_rows(view: View, fields: Sequence[Field]) -> Iterator[dict[str, Any]]:
    """Yield the rows as dicts, None where null, read a block at a time. Raises as `read_cells`."""
    for span in chunks.spans(len(view), ITER_ROWS):
        block = read_values(view, fields, np.arange(span.start, span.stop))
        columns = [with_none(values) for values in block.values()]
        for row in zip(*columns, strict=True):
            yield dict(zip(block, row, strict=True))


def read_values(
    view: View, fields: Sequence[Field], positions: Positions, *, follow: bool = True
) -> dict[str, Any]:
    """Return the values of some rows, an array or a list per column. Raises as `read_cells`."""

    def read(some: Sequence[Field], at: Positions) -> dict[str, Any]:
        cells, allow = _stored(view, some, at), view.rows.lake.allow
        return {
            f.name: owned(decode_block(f.htype, cells[f.id], allow, follow=follow)) for f in some
        }

    return _named(view, fields, positions, read)


def _stored(view: View, fields: Sequence[Field], positions: Positions) -> dict[str, Cells]:
    table, slots = view.rows.locate(positions)
    return table.read([f.id for f in fields], slots)


def _named[T](
    view: View,
    fields: Sequence[Field],
    positions: Positions,
    read: Callable[[Sequence[Field], Positions], T],
) -> T:
    """Return what a read gives; where it meets damage, name the cell."""
    try:
        return read(fields, positions)
    except DamagedError as error:
        whose, found = _first_damaged(fields, positions, read)
        if found is None:
            raise
        of = " of the view" if view.origin else ""
        way = "" if "ds.verify()" in str(error) else " Run ds.verify() to list all damage."
        raise DamagedError(f"column {whose!r}, row {found:,}{of}: {error}{way}") from error


def _first_damaged(
    fields: Sequence[Field],
    positions: Positions,
    read: Callable[[Sequence[Field], Positions], Any],
) -> tuple[str, int | None]:
    """Return the column and the row of the first cell that does not read, found by halving."""
    for f in fields:
        some = positions
        if _reads(read, f, some):
            continue
        while len(some) > 1:
            first, rest = some[: len(some) // 2], some[len(some) // 2 :]
            some = rest if _reads(read, f, first) else first
        return f.name, int(some[0]) if len(some) else None
    return "", None


def _reads(
    read: Callable[[Sequence[Field], Positions], Any], f: Field, positions: Positions
) -> bool:
    try:
        read([f], positions)
    except DamagedError:
        return False
    return True
