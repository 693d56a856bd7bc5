"""Sorting of all rows by one numeric column, which NumPy does in a fifth of the database's time.

The value and the position of each row are packed into one 64-bit number. The sorted numbers contain
the positions in the requested order::

    63                        24                       0
    ├── value - least value ──┼── position of the row ─┤
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from deeplake_lite.query.plan import ROW
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def sort_rows(sql: exp.Expr, tables: Mapping[str, pa.Table]) -> pa.Table | None:
    """Return the result of a statement that only sorts the rows of a table, or None for others.

    Parameters
    ----------
    sql : Expr
        A statement such as ``SELECT t1.__row AS c0 FROM t1 ORDER BY t1.x0, t1.__row``.
    tables : mapping
        The registered tables by name.
    """
    if not isinstance(sql, exp.Select) or {k for k, v in sql.args.items() if v} != _CLAUSES:
        return None
    source, orders = sql.args["from_"].this, sql.args["order"].expressions
    if not isinstance(source, exp.Table) or len(orders) != 2 or len(sql.expressions) != 1:
        return None
    (output,), (by, last) = sql.expressions, orders
    names = [_column(e, source.name) for e in (output.unalias(), by.this, last.this)]
    if names[0] != ROW or names[1] in (None, ROW) or names[2] != ROW or last.args.get("desc"):
        return None
    table = tables[source.name]
    rows, column = table[ROW].to_numpy(), table[names[1]]
    if column.null_count or not _is_packable(column.type) or not (rows[1:] > rows[:-1]).all():
        return None
    order = _order(column.to_numpy(), descending=bool(by.args.get("desc")))
    if order is None:
        return None
    is_all = len(rows) and rows[0] == 0 and rows[-1] == len(rows) - 1  # then row i is in position i
    return pa.table({output.alias: order if is_all else rows[order]})


BLOCK = 2**15
"""Number of rows whose keys are computed at a time."""

_CLAUSES = {"expressions", "from_", "order"}


def _column(e: exp.Expr, table: str) -> str | None:
    """Return the name of a column of a table, or None for other expressions."""
    return e.name if isinstance(e, exp.Column) and e.table == table else None


def _is_packable(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_float32(type_))


def _order(values: NDArray[Any], *, descending: bool) -> NDArray[np.int64] | None:
    """Return the positions of values in their order; equal values stay in the order of positions.

    Return None if values and positions do not fit into 64 bits.

    >>> _order(np.array([3, -1, 3, 2]), descending=False).tolist()
    [1, 3, 0, 2]
    >>> _order(np.array([0.5, np.nan, -0.0, 0.0], np.float32), descending=True).tolist()
    [1, 0, 2, 3]
    """
    if not len(values):
        return np.empty(0, np.int64)
    numbers = _as_integers(values) if values.dtype.kind == "f" else values
    low, high = int(numbers.min()), int(numbers.max())
    bits = np.uint64((len(values) - 1).bit_length())
    if (high - low).bit_length() + int(bits) > 64:
        return None
    keys = numbers.astype(np.uint64)  # negative numbers wrap around, and so do the differences
    for span in chunks.spans(len(keys), BLOCK):  # small blocks stay in the processor's cache
        part = keys[span]
        if descending:
            np.subtract(np.uint64(high % 2**64), part, out=part)
        else:
            part -= np.uint64(low % 2**64)
        part <<= bits
        part |= np.arange(span.start, span.stop, dtype=np.uint64)
    keys.sort()
    keys &= np.uint64((1 << int(bits)) - 1)
    return keys.view(np.int64)


def _as_integers(values: NDArray[np.float32]) -> NDArray[np.uint32]:
    """Return integers in the order of floats. As in the database, NaN is the greatest.

    Among floats of one sign, the order is that of their bits, which is reversed if they are
    negative.
    """
    numbers = values + np.float32(0)  # -0.0 becomes 0.0, which is equal
    numbers[np.isnan(numbers)] = np.nan
    raw = numbers.view(np.uint32)
    return np.where(raw >> 31, ~raw, raw | np.uint32(1 << 31))
