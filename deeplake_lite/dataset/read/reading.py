"""Reading of the cells of a view, with errors that name the damaged cell.

If a read fails because of damage, the column and the row of the first damaged cell are found by
bisection.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.values import (
    copy_if_shared,
    decode_block,
    decode_one,
    decode_row,
    with_none,
)
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
"""Number of rows that iteration reads at a time."""

type Positions = NDArray[np.int64]


def read_cells(view: View, f: Field, positions: Positions) -> Cells:
    """Return the stored cells of a column at `positions`.

    Raises
    ------
    DamagedError
        With the column and the position of the first row that cannot be read.
    """
    return _name_damage(
        view, [f], positions, lambda fields, at: _read_stored(view, fields, at)[f.id]
    )


NOWHERE: Mapping[str, NDArray[Any]] = MappingProxyType({})
"""The default for arrays into which cells are read: a mapping without arrays."""


def read_blocks(
    view: View,
    fields: Sequence[Field],
    positions: Positions,
    into: Mapping[str, NDArray[Any]] = NOWHERE,
) -> dict[str, Cells]:
    """Return a dict that maps column names to the stored cells at `positions`.

    Raises the same errors as `read_cells`.

    Parameters
    ----------
    view : View
        The view.
    fields : sequence of Field
        The columns.
    positions : ndarray, (n,) int64
        Positions of the rows.
    into : mapping
        Maps column names to arrays into which columns of fixed shape are read if possible.
    """
    arrays = {f.id: into[f.name] for f in fields if f.name in into}

    def read(columns: Sequence[Field], at: Positions) -> dict[str, Cells]:
        table, slots = view.rows.locate(at)
        # The search for damage reads fewer rows than `arrays` has, so it does not use `arrays`.
        if not arrays or not isinstance(table, Snapshot) or len(at) < len(positions):
            return _read_stored(view, columns, at)
        return table.read([f.id for f in columns], slots, arrays)

    cells = _name_damage(view, fields, positions, read)
    return {f.name: cells[f.id] for f in fields}


def read_value(view: View, f: Field, position: int) -> object:
    """Return the value of the row at `position`. Raises the same errors as `read_cells`."""

    def read(columns: Sequence[Field], at: Positions) -> Any:
        return copy_if_shared(
            decode_one(f.htype, _read_stored(view, columns, at)[f.id], view.rows.lake.allow)
        )

    return _name_damage(view, [f], np.array([position]), read)


def read_row(view: View, fields: Sequence[Field], position: int) -> dict[str, object]:
    """Return a dict that maps column names to the values of a row.

    This raises the same errors as `read_cells`.
    """

    def read(columns: Sequence[Field], at: Positions) -> dict[str, Any]:
        cells = _read_stored(view, columns, at)
        htypes = {f.name: f.htype for f in columns}
        row = decode_row(htypes, {f.name: cells[f.id] for f in columns}, view.rows.lake.allow)
        return {name: copy_if_shared(value) for name, value in row.items()}

    return _name_damage(view, fields, np.array([position]), read)


def read_rows(view: View, fields: Sequence[Field]) -> Iterator[dict[str, object]]:
    """Read rows block by block, and yield them as dicts, with None for nulls.

    Raises the same errors as `read_cells`.
    """
    for span in chunks.spans(len(view), ITER_ROWS):
        block = read_values(view, fields, np.arange(span.start, span.stop))
        columns = [with_none(values) for values in block.values()]
        for row in zip(*columns, strict=True):
            yield dict(zip(block, row, strict=True))


def read_values(
    view: View, fields: Sequence[Field], positions: Positions, *, follow: bool = True
) -> dict[str, Any]:
    """Return a dict that maps column names to the values at `positions`, an array or a list each.

    Raises the same errors as `read_cells`.
    """

    def read(columns: Sequence[Field], at: Positions) -> dict[str, object]:
        cells, allow = _read_stored(view, columns, at), view.rows.lake.allow
        return {
            f.name: copy_if_shared(decode_block(f.htype, cells[f.id], allow, follow=follow))
            for f in columns
        }

    return _name_damage(view, fields, positions, read)


def _read_stored(view: View, fields: Sequence[Field], positions: Positions) -> dict[str, Cells]:
    table, slots = view.rows.locate(positions)
    return table.read([f.id for f in fields], slots)


def _name_damage[T](
    view: View,
    fields: Sequence[Field],
    positions: Positions,
    read: Callable[[Sequence[Field], Positions], T],
) -> T:
    """Call `read`, and return its result. If a cell is damaged, raise an error that names it."""
    try:
        return read(fields, positions)
    except DamagedError as error:
        column, row = _first_damaged(fields, positions, read)
        if row is None:
            raise
        of = " of the view" if view.origin else ""
        hint = "" if "ds.verify()" in str(error) else " Run ds.verify() to list all damage."
        raise DamagedError(f"column {column!r}, row {row:,}{of}: {error}{hint}") from error


def _first_damaged(
    fields: Sequence[Field],
    positions: Positions,
    read: Callable[[Sequence[Field], Positions], object],
) -> tuple[str, int | None]:
    """Return the column and the row of the first cell that cannot be read, by bisection.

    The row is None if each column can be read by itself, or if there are no rows.
    """
    for f in fields:
        rows = positions
        if _is_readable(read, f, rows):
            continue
        while len(rows) > 1:
            first, rest = rows[: len(rows) // 2], rows[len(rows) // 2 :]
            rows = rest if _is_readable(read, f, first) else first
        return f.name, int(rows[0]) if len(rows) else None
    return "", None


def _is_readable(
    read: Callable[[Sequence[Field], Positions], object], f: Field, positions: Positions
) -> bool:
    try:
        read([f], positions)
    except DamagedError:
        return False
    return True
