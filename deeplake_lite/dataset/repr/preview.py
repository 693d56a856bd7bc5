"""Previews of columns that are cheap to read: a few cells, counts of classes, a histogram.

The previewed cells of a column come from a single index chunk, and have a few megabytes and a few
million pixels at most, so that showing a lake is fast. Links are never followed. If a cell cannot
be read, its preview is the error message.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.repr.html import Tally
from deeplake_lite.htypes.cells import DenseCells, RaggedCells
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.htypes.scalar import is_time
from deeplake_lite.storage.array_spec import INDEX_ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.dataset.repr.html.values import Content
    from deeplake_lite.dataset.selection import ReadTable
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.stored_array import Slots

ROWS = 8
"""Number of rows in a preview."""

COUNTED_ROWS = 200_000
"""Columns with more rows than this have no class counts and no histogram."""

UNREAD = "…"
"""Placeholder for a value that would take too long to read."""

_READ_BYTES = 2 * 2**20  # maximum number of bytes to read for a column
_DECODED = 12_000_000  # maximum number of pixels or other numbers to decode for a column
_LARGEST = 16  # factor by which a single value may exceed these limits
_BINS = 10
_MIDNIGHT = re.compile(r"T00(:00)*(\.0+)?$")


def nearby(slots: Slots) -> NDArray[np.int64]:
    """Return the positions of rows in the same index chunk as the first row.

    Only the first rows are searched, because a view may have many rows.

    >>> nearby(np.array([5, 8_191, 8_192, 7])).tolist()
    [0, 1, 3]
    """
    first = slots[: 8 * INDEX_ROWS]
    return np.flatnonzero(first // INDEX_ROWS == first[:1] // INDEX_ROWS)


def spread(positions: NDArray[np.int64], count: int = ROWS) -> NDArray[np.int64]:
    """Return up to `count` positions, evenly spread from the first to the last.

    >>> spread(np.arange(100), 4).tolist(), spread(np.arange(2), 4).tolist()
    ([0, 33, 66, 99], [0, 1])
    """
    if len(positions) <= count:
        return positions
    return positions[np.linspace(0, len(positions) - 1, count).astype(np.int64)]


def contents(table: ReadTable, f: Field, slots: Slots) -> list[Content]:
    """Return previews of cells: None for nulls, and `UNREAD` for cells that are too large to read.

    Never raises. The preview of a damaged cell is the error.
    """
    try:
        affordable = slots[: _count_affordable(table, f, slots)]
        cells = table.read([f.id], affordable)[f.id] if len(affordable) else None
        previews = [] if cells is None else _preview_cells(f.htype, cells)
    except Exception as error:
        if len(slots) == 1:
            return [f"cannot be read: {error}"]
        # Read the cells one by one, so that only damaged cells have no preview.
        return [
            content for i in range(len(slots)) for content in contents(table, f, slots[i : i + 1])
        ]
    return [*previews, *[UNREAD] * (len(slots) - len(affordable))]


def _preview_cells(htype: Htype, cells: Cells) -> list[Content]:
    """Return previews of cells, with None for nulls."""
    if not isinstance(cells, RaggedCells):
        values = htype.decode_cells(cells)
        return [None if value is None else _preview_value(htype, value) for value in values]
    valid = [True] * len(cells) if cells.valid is None else cells.valid.tolist()
    stored = zip(cells.buffers, map(tuple, cells.shapes.tolist()), valid, strict=True)
    return [htype.preview_stored(data, shape) if v else None for data, shape, v in stored]


def _preview_value(htype: Htype, value: object) -> Content:
    """Return the preview of a value without its dtype and shape, which another table shows."""
    if isinstance(value, np.floating | np.datetime64):
        return _short(value)
    content = htype.preview(value)
    if isinstance(value, np.ndarray) and isinstance(htype.layout, Dense) and value.ndim:
        return str(content).partition(": ")[2]
    return content


def _count_affordable(table: ReadTable, f: Field, slots: Slots) -> int:
    """Return how many of the first cells stay within the limits for reading and decoding.

    The first cell counts even if it exceeds the limits, unless it is more than `_LARGEST` times too
    large.
    """
    numbers = np.maximum(table.shapes(f.id, slots), 1).prod(axis=1, dtype=np.int64)
    if table.nbytes(f.id, slots) / _READ_BYTES + numbers.sum() / _DECODED <= 1:
        return len(slots)
    nbytes = np.array([table.nbytes(f.id, slots[i : i + 1]) for i in range(len(slots))])
    effort = np.cumsum(nbytes / _READ_BYTES + numbers / _DECODED)
    return int((effort <= 1).sum()) or int(effort[0] <= _LARGEST)


def class_counts(table: ReadTable, f: Field, slots: Slots) -> Tally | None:
    """Count the rows of each class. Returns None for columns without classes, or with many rows."""
    classes = f.htype.classes
    if classes is None:
        return None
    if len(slots) > (COUNTED_ROWS // 10 if classes.multiple else COUNTED_ROWS):
        return None
    cells = table.read([f.id], slots)[f.id]
    numbers, counts = np.unique(_class_numbers(cells), return_counts=True)
    rows = dict(zip(numbers.tolist(), counts.tolist(), strict=True))
    listed = range(len(classes.names)) if classes.names else rows
    pairs = [(str(classes.to_names(n)), rows.get(n, 0)) for n in listed]
    nulls = _nulls(cells)
    return Tally(f.name, (*pairs, *([("null", nulls)] if nulls else [])))


def _class_numbers(cells: Cells) -> NDArray[np.int32]:
    """Return the class numbers of all cells that are not null."""
    if isinstance(cells, RaggedCells):  # several classes per row
        return np.frombuffer(b"".join(cells.buffers), np.int32)
    assert isinstance(cells, DenseCells)
    return cells.values if cells.valid is None else cells.values[cells.valid]


def _nulls(cells: Cells) -> int:
    """Return the number of nulls."""
    return 0 if cells.valid is None else int((~cells.valid).sum())


def summarize(
    table: ReadTable, f: Field, slots: Slots
) -> tuple[list[tuple[str, str]], Tally | None]:
    """Return facts about a column of numbers, as pairs of strings, and its histogram.

    For other columns, and if there are too many rows, the list is empty and the histogram None.
    """
    if not _is_ordered(f.htype) or not 0 < len(slots) <= COUNTED_ROWS:
        return [], None
    cells = table.read([f.id], slots)[f.id]
    assert isinstance(cells, DenseCells)
    values = cells.values if cells.valid is None else cells.values[cells.valid]
    numbers = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    missing = {"NaN": len(values) - len(numbers), "nulls": _nulls(cells)}
    facts = [*_bounds(f.htype, numbers), *((k, f"{n:,}") for k, n in missing.items() if n)]
    return facts, _histogram(f, numbers)


def _is_ordered(htype: Htype) -> bool:
    """Return whether a column holds one number, boolean or time per row, other than classes."""
    layout = htype.layout
    if htype.classes is not None or not isinstance(layout, Dense) or layout.shape:
        return False
    return np.dtype(layout.dtype).kind in "biuf"


def _bounds(htype: Htype, numbers: NDArray[Any]) -> list[tuple[str, str]]:
    if not len(numbers) or numbers.dtype == bool:
        return []
    facts = [("min", _format(htype, numbers.min())), ("max", _format(htype, numbers.max()))]
    if not _is_time(htype):
        facts.append(("mean", f"{numbers.mean(dtype=np.float64):.4g}"))
    return facts


def _histogram(f: Field, numbers: NDArray[Any]) -> Tally | None:
    """Count the rows with each value or, if there are many different values, in each equal bin."""
    finite = numbers[np.isfinite(numbers)] if numbers.dtype.kind == "f" else numbers
    values, counts = np.unique(finite, return_counts=True)
    if len(values) <= _BINS:
        pairs = zip((_format(f.htype, v) for v in values), counts.tolist(), strict=True)
        return Tally(f.name, tuple(pairs), "value") if len(values) else None
    low, high = float(values[0]), float(values[-1])
    if high / 2 - low / 2 > np.finfo(np.float64).max / 4:  # `np.histogram` would overflow
        return None
    counts, edges = np.histogram(finite.astype(np.float64), _BINS, (low, high))
    if _is_time(f.htype):
        names = [f"from {_format(f.htype, np.int64(e))[:19]}" for e in edges[:-1]]
    else:
        names = [f"{_short(a)} to {_short(b)}" for a, b in pairwise(edges)]
    return Tally(f.name, tuple(zip(names, counts.tolist(), strict=True)), "bin")


def _is_time(htype: Htype) -> bool:
    return is_time(htype.value_dtype)


def _format(htype: Htype, number: object) -> str:
    """Format a stored number as the value to which the type decodes it."""
    if isinstance(number, np.floating):
        return _short(number)
    return _short(htype.decode(np.asarray(number)[None], ())[0])


def _short(value: object) -> str:
    """Format a value with a few digits, and a time at midnight as a date.

    >>> _short(np.float64(0.123456)), _short(np.datetime64("2026-01-02T00:00:00.000"))
    ('0.1235', '2026-01-02')
    """
    if isinstance(value, np.floating):
        return f"{value:.4g}"
    return _MIDNIGHT.sub("", str(value)) if isinstance(value, np.datetime64) else str(value)
