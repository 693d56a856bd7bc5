"""Skipping of rows that cannot satisfy the conditions of a query, by the statistics of chunks.

The statistics of a column contain two bounds for each chunk of rows: no value in the chunk is
smaller than the lower bound or larger than the upper bound. A chunk is skipped only if the bounds
prove that none of its rows satisfies the conditions. Conditions that this module does not
understand are assumed to be satisfied. A constant is compared as the range of numbers to which
DuckDB may round it, so that skipping chunks never changes the result of a query.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import LakeError
from deeplake_lite.htypes.times import cast_time
from deeplake_lite.query.database.times import read_timestamp
from deeplake_lite.storage.array_spec import INDEX_ROWS
from deeplake_lite.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.query.plan import Instance
    from deeplake_lite.schema import Field

WORTH = 4
"""Chunks are skipped only if at most one in this many rows remains. Otherwise, all rows are
read."""

type Chunks = NDArray[np.bool_]
"""An array, (chunks,), that says for each chunk whether any of its rows may satisfy a condition."""


def wanted_chunks(instance: Instance) -> Chunks | None:
    """Return the chunks with rows that may satisfy the cheap conditions of a source.

    Return None if all chunks may have such rows.
    """
    if instance.source.table.uncommitted:
        return None
    return _all_of(_may_pass(condition, instance) for condition in instance.cheap)


def remaining_rows(instance: Instance, wanted: Chunks, rows: slice) -> NDArray[np.int64] | None:
    """Return the positions of the given rows that are in wanted chunks.

    Return None if all of the rows should be read.
    """
    remaining = instance.source.rows_in_chunks(wanted, INDEX_ROWS, rows)
    return remaining if len(remaining) * WORTH <= rows.stop - rows.start else None


@dataclass(frozen=True)
class _Statistics:
    """Statistics of a column: for each chunk, bounds and numbers of nulls and NaNs, (chunks,)."""

    field: Field
    low: NDArray[Any]
    high: NDArray[Any]
    nulls: NDArray[np.int64]
    nans: NDArray[np.int64]

    def between(self, low: object, high: object) -> Chunks:
        """Return a mask of the chunks that may contain a number from `low` to `high`, or NaN."""
        return np.asarray(((self.high >= low) & (self.low <= high)) | (self.nans > 0))


def _all_of(parts: Iterator[Chunks | None]) -> Chunks | None:
    masks = [part for part in parts if part is not None]
    return np.asarray(np.logical_and.reduce(masks)) if masks else None


def _may_pass(e: exp.Expr, instance: Instance) -> Chunks | None:
    """Return a mask of the chunks in which a condition may be true, or None if it may be in all."""
    match e:
        case exp.Paren():
            return _may_pass(e.this, instance)
        case exp.And():
            return _all_of(_may_pass(part, instance) for part in (e.left, e.right))
        case exp.Or():
            left, right = (_may_pass(part, instance) for part in (e.left, e.right))
            return None if left is None or right is None else left | right
        case exp.GT() | exp.GTE() | exp.LT() | exp.LTE() | exp.EQ():
            return _may_compare(e, instance)
        case exp.Between():
            return _may_be_in(e.this, [(e.args["low"], e.args["high"])], instance)
        case exp.In() if e.expressions:
            return _may_be_in(e.this, [(item, item) for item in e.expressions], instance)
        case exp.Is() if isinstance(e.expression, exp.Null):
            column = _statistics(e.this, instance)
            return None if column is None else column.nulls > 0
    return None


_MIRRORED: dict[type[exp.Binary], type[exp.Binary]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.EQ: exp.EQ,
}


def _may_compare(e: exp.Binary, instance: Instance) -> Chunks | None:
    """Return a mask of the chunks in which comparing a column with a constant may be true."""
    kind, column, constant = type(e), _statistics(e.left, instance), e.right
    if column is None:
        kind, column, constant = _MIRRORED[kind], _statistics(e.right, instance), e.left
    ends = None if column is None else _rounding_range(constant, column)
    if column is None or ends is None:
        return None
    if kind is exp.EQ:
        return column.between(*ends)
    may_pass = column.high >= ends[0] if kind in (exp.GT, exp.GTE) else column.low <= ends[1]
    return np.asarray(may_pass | (column.nans > 0))  # for DuckDB, NaN is the largest number


def _may_be_in(
    e: exp.Expr, ranges: list[tuple[exp.Expr, exp.Expr]], instance: Instance
) -> Chunks | None:
    """Return a mask of the chunks in which a column may have a value in one of the ranges.

    Returns None if the expression is not a column, or if an end of a range is not a constant.
    """
    column = _statistics(e, instance)
    if column is None:
        return None
    wanted = np.zeros(len(column.low), bool)
    for low, high in ranges:
        ends = _rounding_range(low, column), _rounding_range(high, column)
        if ends[0] is None or ends[1] is None:
            return None
        wanted |= column.between(ends[0][0], ends[1][1])
    return wanted


_NUMBERS = ("bool", "number", "time", "class")
"""Kinds of values that are stored as numbers, so that the statistics contain bounds."""


def _statistics(e: exp.Expr, instance: Instance) -> _Statistics | None:
    """Return the statistics of a column, or None if `e` is not a column with statistics."""
    while isinstance(e, exp.Paren):
        e = e.this
    field = instance.scalars.get(e.name) if isinstance(e, exp.Column) else None
    if field is None or field.htype.sql not in _NUMBERS:
        return None
    table: Any = instance.source.table
    stored = table.statistics(field.id) if isinstance(table, Snapshot) else None
    if stored is None or table.chunk_rows(field.id) != INDEX_ROWS:
        return None
    (low, high), (nulls, nans) = stored[0].T, stored[1].T
    if low.dtype.kind == "f":
        low, high = low.astype(np.float64), high.astype(np.float64)
    if low.dtype.kind == "b":
        low, high = low.astype(np.int64), high.astype(np.int64)
    return _Statistics(field, low, high, nulls, nans)


def _rounding_range(e: exp.Expr, column: _Statistics) -> tuple[Any, Any] | None:
    """Return the smallest and the largest number to which DuckDB may round a constant.

    Returns None if the expression is not a constant, or if it cannot be compared with the bounds.
    """
    value = _constant(e)
    htype = column.field.htype
    if htype.sql == "time":
        return _time_ends(value, htype.value_dtype)
    if value is None or isinstance(value, str) or not math.isfinite(value):
        return None
    if column.low.dtype.kind != "f":
        return math.floor(value), math.ceil(value)
    with np.errstate(over="ignore"):
        kinds = {"float32", htype.value_dtype}
        rounded = [float(np.dtype(kind).type(value)) for kind in kinds]
    return min(value, *rounded), max(value, *rounded)


def _time_ends(value: object, dtype: str) -> tuple[int, int] | None:
    """Return the range of counts to which a timestamp in a string may be rounded, or None."""
    if not isinstance(value, str) or not dtype.startswith("datetime64"):
        return None
    try:
        timestamp = read_timestamp(value)
        if timestamp is None:
            return None
        count = int(cast_time(np.array(timestamp), np.dtype(dtype)).astype(np.int64))
    except LakeError:  # the dtype cannot represent the time, or its time zone is not supported
        return None
    return count - 1, count + 1


def _constant(e: exp.Expr) -> Any:
    """Return the value of a constant number, boolean or string, or None for other expressions."""
    match e:
        case exp.Literal(is_string=True):
            return e.this
        case exp.Literal():
            return int(e.this) if e.is_int else float(e.this)
        case exp.Boolean():
            return int(e.this)
        case exp.Neg():
            inner = _constant(e.this)
            return None if inner is None or isinstance(inner, str) else -inner
        case exp.Paren():
            return _constant(e.this)
        case exp.Cast() if isinstance(e.this, exp.Literal) and e.this.is_string:
            return e.this.this
    return None
