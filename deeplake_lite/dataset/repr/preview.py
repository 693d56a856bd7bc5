"""What can be read of a column in passing: a few cells, shapes, counts of classes, a histogram.

Everything keeps to one index chunk of a column, a few megabytes of its bytes and a few million
pixels, so that looking at a lake stays cheap. Links are never followed, and what does not read says
so in its place.
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
from deeplake_lite.storage.arrays import INDEX_ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.dataset.repr.html.values import Content
    from deeplake_lite.dataset.selection import ReadTable
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.arrays import Slots

ROWS = 8
"""Rows that are shown."""

COUNTED_ROWS = 200_000
"""Most rows whose classes are counted, or whose numbers are summed up."""

UNREAD = "…"
"""Stands for a value that would take too long to read."""

_READ_BYTES = 2 * 2**20  # of one column
_DECODED = 12_000_000  # numbers of one column
_LARGEST = 16  # times both: even a single value may be too large to show
_BINS = 10
_MIDNIGHT = re.compile(r"T00(:00)*(\.0+)?$")


def nearby(slots: Slots) -> NDArray[np.int64]:
    """Return the positions of the rows that share the first row's index chunk, not looking far.

    >>> nearby(np.array([5, 8_191, 8_192, 7])).tolist()
    [0, 1, 3]
    """
    some = slots[: 8 * INDEX_ROWS]
    return np.flatnonzero(some // INDEX_ROWS == some[:1] // INDEX_ROWS)


def spread(positions: NDArray[np.int64], count: int = ROWS) -> NDArray[np.int64]:
    """Return up to `count` of the positions, evenly spread, from the first to the last.

    >>> spread(np.arange(100), 4).tolist(), spread(np.arange(2), 4).tolist()
    ([0, 33, 66, 99], [0, 1])
    """
    if len(positions) <= count:
        return positions
    return positions[np.linspace(0, len(positions) - 1, count).astype(np.int64)]


def contents(table: ReadTable, f: Field, slots: Slots) -> list[Content]:
    """Return some cells as their type shows them: None for null, a sign for what is too large.

    Raises nothing: a damaged cell says what is wrong with it.
    """
    try:
        few = slots[: _affordable(table, f, slots)]
        shown = _shown(f.htype, table.read([f.id], few)[f.id]) if len(few) else []
    except Exception as error:
        if len(slots) == 1:
            return [f"does not read: {error}"]
        return [
            content for i in range(len(slots)) for content in contents(table, f, slots[i : i + 1])
        ]
    return [*shown, *[UNREAD] * (len(slots) - len(few))]


def _shown(htype: Htype, cells: Cells) -> list[Content]:
    """Show some cells, None for null."""
    if not isinstance(cells, RaggedCells):
        values = htype.decode_cells(cells)
        return [None if value is None else _shown_value(htype, value) for value in values]
    valid = [True] * len(cells) if cells.valid is None else cells.valid.tolist()
    stored = zip(cells.buffers, map(tuple, cells.shapes.tolist()), valid, strict=True)
    return [htype.preview_stored(data, shape) if v else None for data, shape, v in stored]


def _shown_value(htype: Htype, value: Any) -> Content:
    """Show one value without what the table of columns says already: dtype, shape, many digits."""
    if isinstance(value, np.floating | np.datetime64):
        return _short(value)
    content = htype.preview(value)
    if isinstance(value, np.ndarray) and isinstance(htype.layout, Dense) and value.ndim:
        return str(content).partition(": ")[2]
    return content


def _affordable(table: ReadTable, f: Field, slots: Slots) -> int:
    """Return how many of the cells can be read and decoded in passing; nearly always the first."""
    numbers = np.maximum(table.shapes(f.id, slots), 1).prod(axis=1, dtype=np.int64)
    if table.nbytes(f.id, slots) / _READ_BYTES + numbers.sum() / _DECODED <= 1:
        return len(slots)
    nbytes = np.array([table.nbytes(f.id, slots[i : i + 1]) for i in range(len(slots))])
    effort = np.cumsum(nbytes / _READ_BYTES + numbers / _DECODED)
    return int((effort <= 1).sum()) or int(effort[0] <= _LARGEST)


def class_counts(table: ReadTable, f: Field, slots: Slots) -> Tally | None:
    """Return how many rows have which class; None for too many rows, or other columns."""
    classes = f.htype.classes
    if classes is None:
        return None
    if len(slots) > (COUNTED_ROWS // 10 if classes.multiple else COUNTED_ROWS):
        return None
    cells = table.read([f.id], slots)[f.id]
    numbers, counts = np.unique(_class_numbers(cells), return_counts=True)
    found = dict(zip(numbers.tolist(), counts.tolist(), strict=True))
    known = range(len(classes.names)) if classes.names else found
    pairs = [(str(classes.to_names(n)), found.get(n, 0)) for n in known]
    nulls = _nulls(cells)
    return Tally(f.name, (*pairs, *([("null", nulls)] if nulls else [])))


def _class_numbers(cells: Cells) -> NDArray[np.int32]:
    if isinstance(cells, RaggedCells):
        return np.frombuffer(b"".join(cells.buffers), np.int32)
    assert isinstance(cells, DenseCells)
    return cells.values if cells.valid is None else cells.values[cells.valid]


def _nulls(cells: Cells) -> int:
    return 0 if cells.valid is None else int((~cells.valid).sum())


def sum_up(table: ReadTable, f: Field, slots: Slots) -> tuple[list[tuple[str, str]], Tally | None]:
    """Return facts about a column of numbers, and its histogram; nothing for too many rows."""
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
    """Tell whether a column holds one number, truth value or time per row, classes aside."""
    layout = htype.layout
    if htype.classes is not None or not isinstance(layout, Dense) or layout.shape:
        return False
    return np.dtype(layout.dtype).kind in "biuf"


def _bounds(htype: Htype, numbers: NDArray[Any]) -> list[tuple[str, str]]:
    if not len(numbers) or numbers.dtype == bool:
        return []
    facts = [("min", _written(htype, numbers.min())), ("max", _written(htype, numbers.max()))]
    if not _is_time(htype):
        facts.append(("mean", f"{numbers.mean(dtype=np.float64):.4g}"))
    return facts


def _histogram(f: Field, numbers: NDArray[Any]) -> Tally | None:
    """Count the values when they are few, else those in bins of equal width."""
    finite = numbers[np.isfinite(numbers)] if numbers.dtype.kind == "f" else numbers
    values, counts = np.unique(finite, return_counts=True)
    if len(values) <= _BINS:
        pairs = zip((_written(f.htype, v) for v in values), counts.tolist(), strict=True)
        return Tally(f.name, tuple(pairs), "value") if len(values) else None
    low, high = float(values[0]), float(values[-1])
    if high / 2 - low / 2 > np.finfo(np.float64).max / 4:
        return None
    counts, edges = np.histogram(finite.astype(np.float64), _BINS, (low, high))
    if _is_time(f.htype):
        names = [f"from {_written(f.htype, np.int64(e))[:19]}" for e in edges[:-1]]
    else:
        names = [f"{_short(a)} to {_short(b)}" for a, b in pairwise(edges)]
    return Tally(f.name, tuple(zip(names, counts.tolist(), strict=True)), "bin")


def _is_time(htype: Htype) -> bool:
    return is_time(htype.value_dtype)


def _written(htype: Htype, number: Any) -> str:
    """Write a stored number as it reads."""
    if isinstance(number, np.floating):
        return _short(number)
    return _short(htype.decode(np.asarray(number)[None], ())[0])


def _short(value: Any) -> str:
    """Write a number in a few digits, midnight as a date.

    >>> _short(np.float64(0.123456)), _short(np.datetime64("2026-01-02T00:00:00.000"))
    ('0.1235', '2026-01-02')
    """
    if isinstance(value, np.floating):
        return f"{value:.4g}"
    return _MIDNIGHT.sub("", str(value)) if isinstance(value, np.datetime64) else str(value)
