"""Generate SQL that slices and searches bytes.

DuckDB can slice and search only strings, so the SQL converts bytes to hexadecimal digits, two for
each byte. Positions are DuckDB's: they count from 1, or from -1 at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.query.parse.duckdb_nodes import func

if TYPE_CHECKING:
    from collections.abc import Callable


def byte_at(node: exp.Expr, position: exp.Expr) -> exp.Expr:
    """Return SQL for the byte at a position as a number. Beyond the end, it is null."""
    digits = func("array_slice", func("hex", node.copy()), _first(position), _last(position))
    number = exp.DPipe(this=exp.Literal.string("0x"), expression=digits)
    return exp.TryCast(this=exp.paren(number), to=exp.DataType.build("BIGINT"))


def bytes_slice(node: exp.Expr, start: exp.Expr, stop: exp.Expr) -> exp.Expr:
    """Return SQL for the bytes from position `start` to position `stop`, both inclusive."""
    return func("unhex", func("array_slice", func("hex", node.copy()), _first(start), _last(stop)))


def bytes_contain(node: exp.Expr, part: exp.Expr) -> exp.Expr:
    """Return SQL that tests whether the bytes `node` contain the bytes `part`.

    The digits of `part` must start at an even offset, so that they do not match halves of bytes.
    """
    digits = func("hex", part.copy())
    pattern = exp.DPipe(this=exp.Literal.string("^(..)*"), expression=digits)
    return func("regexp_matches", func("hex", node.copy()), exp.paren(pattern))


def _first(position: exp.Expr) -> exp.Expr:
    """Return SQL for the position of a byte's first digit: 2 * p - 1, or 2 * p if p is negative."""
    return _digit_position(position, lambda p: 2 * p - 1, lambda p: 2 * p)


def _last(position: exp.Expr) -> exp.Expr:
    """Return SQL for the position of a byte's last digit: 2 * p, or 2 * p + 1 if p is negative."""
    return _digit_position(position, lambda p: 2 * p, lambda p: 2 * p + 1)


def _digit_position(
    position: exp.Expr,
    from_start: Callable[[exp.Expr], exp.Expr],
    from_end: Callable[[exp.Expr], exp.Expr],
) -> exp.Expr:
    p = exp.paren(position.copy())
    branch = exp.If(this=p >= 0, true=from_start(p.copy()))
    return exp.Case(ifs=[branch], default=from_end(p.copy()))
