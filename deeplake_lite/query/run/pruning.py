"""Which rows a source's plain conditions may hold for, by the statistics of its columns' chunks.

A chunk is left out only where its bounds say that no row of it passes; whatever is not understood
leaves all chunks in. Bounds only widen, and constants are taken as widely as any type of DuckDB's
rounds them, so that the conditions give the same on the rows that are left as on all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import LakeError
from deeplake_lite.htypes.times import cast_time
from deeplake_lite.query.database.spans import read_moment
from deeplake_lite.storage.arrays import INDEX_ROWS
from deeplake_lite.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.query.plan import Instance
    from deeplake_lite.schema import Field

WORTH = 4
"""Chunks are left out where no more than one row in so many is left."""

type Chunks = NDArray[np.bool_]
"""(chunks,): whether a row of it may pass."""


def rows_left(instance: Instance) -> NDArray[np.int64] | None:
    """Return the rows that may pass a source's conditions; None where all are as well read."""
    source = instance.source
    if source.table.uncommitted or all(map(source.is_kept, instance.scalars.values())):
        return None
    found = _all_of(_may_pass(condition, instance) for condition in instance.cheap)
    if found is None:
        return None
    rows = source.in_chunks(found, INDEX_ROWS)
    return rows if len(rows) * WORTH <= len(source) else None


@dataclass(frozen=True)
class _Noted:
    """What is known of a column's chunks."""

    field: Field
    low: NDArray[Any]
    high: NDArray[Any]
    nulls: NDArray[np.int64]
    nans: NDArray[np.int64]

    def between(self, low: Any, high: Any) -> Chunks:
        """Tell which chunks may have a number from `low` to `high`, or NaN."""
        return np.asarray(((self.high >= low) & (self.low <= high)) | (self.nans > 0))


def _all_of(parts: Iterator[Chunks | None]) -> Chunks | None:
    known = [part for part in parts if part is not None]
    return np.asarray(np.logical_and.reduce(known)) if known else None


def _may_pass(e: exp.Expr, instance: Instance) -> Chunks | None:
    """Return the chunks that a condition may hold in; None where that is not known."""
    match e:
        case exp.Paren():
            return _may_pass(e.this, instance)
        case exp.And():
            return _all_of(_may_pass(part, instance) for part in (e.left, e.right))
        case exp.Or():
            left, right = (_may_pass(part, instance) for part in (e.left, e.right))
            return None if left is None or right is None else left | right
        case exp.GT() | exp.GTE() | exp.LT() | exp.LTE() | exp.EQ():
            return _compared(e, instance)
        case exp.Between():
            return _in(e.this, [(e.args["low"], e.args["high"])], instance)
        case exp.In() if e.expressions:
            return _in(e.this, [(item, item) for item in e.expressions], instance)
        case exp.Is() if isinstance(e.expression, exp.Null):
            noted = _noted(e.this, instance)
            return None if noted is None else noted.nulls > 0
    return None


_MIRRORED: dict[type[exp.Binary], type[exp.Binary]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.EQ: exp.EQ,
}


def _compared(e: exp.Binary, instance: Instance) -> Chunks | None:
    kind, noted, constant = type(e), _noted(e.left, instance), e.right
    if noted is None:
        kind, noted, constant = _MIRRORED[kind], _noted(e.right, instance), e.left
    ends = None if noted is None else _ends(constant, noted)
    if noted is None or ends is None:
        return None
    if kind is exp.EQ:
        return noted.between(*ends)
    may = noted.high >= ends[0] if kind in (exp.GT, exp.GTE) else noted.low <= ends[1]
    return np.asarray(may | (noted.nans > 0))


def _in(e: exp.Expr, spans: list[tuple[exp.Expr, exp.Expr]], instance: Instance) -> Chunks | None:
    """Return the chunks that may have a value in one of the spans."""
    noted = _noted(e, instance)
    if noted is None:
        return None
    found = np.zeros(len(noted.low), bool)
    for low, high in spans:
        ends = _ends(low, noted), _ends(high, noted)
        if ends[0] is None or ends[1] is None:
            return None
        found |= noted.between(ends[0][0], ends[1][1])
    return found


_NUMBERS = ("bool", "number", "time", "class")
"""Kinds that SQL compares by their stored numbers, whose bounds are recorded."""


def _noted(e: exp.Expr, instance: Instance) -> _Noted | None:
    """Return what is known of the chunks of a column; None for anything else."""
    while isinstance(e, exp.Paren):
        e = e.this
    field = instance.scalars.get(e.name) if isinstance(e, exp.Column) else None
    if field is None or field.htype.sql not in _NUMBERS:
        return None
    table: Any = instance.source.table
    found = table.statistics(field.id) if isinstance(table, Snapshot) else None
    if found is None or table.chunk_rows(field.id) != INDEX_ROWS:
        return None
    (low, high), (nulls, nans) = found[0].T, found[1].T
    if low.dtype.kind == "f":
        low, high = low.astype(np.float64), high.astype(np.float64)
    if low.dtype.kind == "b":
        low, high = low.astype(np.int64), high.astype(np.int64)
    return _Noted(field, low, high, nulls, nans)


def _ends(e: exp.Expr, noted: _Noted) -> tuple[Any, Any] | None:
    """Return what a constant may be rounded to in a column's type: the least and the most."""
    value = _constant(e)
    htype = noted.field.htype
    if htype.sql == "time":
        return _time_ends(value, htype.value_dtype)
    if value is None or isinstance(value, str) or not math.isfinite(value):
        return None
    if noted.low.dtype.kind != "f":
        return math.floor(value), math.ceil(value)
    with np.errstate(over="ignore"):
        kinds = {"float32", htype.value_dtype}
        rounded = [float(np.dtype(kind).type(value)) for kind in kinds]
    return min(value, *rounded), max(value, *rounded)


def _time_ends(value: Any, dtype: str) -> tuple[int, int] | None:
    if not isinstance(value, str) or not dtype.startswith("datetime64"):
        return None
    moment = read_moment(value)
    if moment is None:
        return None
    try:
        count = int(cast_time(np.array(moment), np.dtype(dtype)).astype(np.int64))
    except LakeError:  # beyond the dtype, or finer
        return None
    return count - 1, count + 1


def _constant(e: exp.Expr) -> Any:
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
