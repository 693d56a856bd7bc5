"""Lower the current time, which is the same throughout a query and whenever the query is repeated.

When the query first runs, the clock is read once, and the time in UTC becomes a constant in the
query. A saved or pickled view stores this time, just as it stores the seed of RANDOM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.query.values import CLOCK, TIME, Sql

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope
    from deeplake_lite.query.values import Value

_FORMATS: dict[type[exp.Expr], tuple[str, str]] = {
    exp.CurrentDate: ("%Y-%m-%d", "DATE"),
    exp.CurrentTime: ("%H:%M:%S.%f+00", "TIMETZ"),
    exp.CurrentTimestamp: ("%Y-%m-%d %H:%M:%S.%f", "TIMESTAMP"),
    exp.Localtime: ("%H:%M:%S.%f", "TIME"),
    exp.Localtimestamp: ("%Y-%m-%d %H:%M:%S.%f", "TIMESTAMP"),
}
"""Maps the syntax nodes for the current time to a string format and a DuckDB type."""


def current_time(low: Lowering, e: exp.Expr, scope: Scope) -> Sql:
    """Lower CURRENT_DATE, CURRENT_TIME, CURRENT_TIMESTAMP, LOCALTIME or LOCALTIMESTAMP."""
    pattern, type_ = _FORMATS[type(e)]
    node: exp.Expr = exp.cast(exp.Literal.string(low.read_clock().strftime(pattern)), type_)
    if isinstance(e, exp.CurrentTimestamp):  # its type has a time zone
        node = exp.paren(exp.AtTimeZone(this=node, zone=exp.Literal.string("UTC")))
    return Sql(node, CLOCK if type_ in ("TIME", "TIMETZ") else TIME)


def age(low: Lowering, e: exp.Anonymous, scope: Scope) -> Value | None:
    """Lower AGE(x), the time from x to the start of today. Returns None for AGE(x, y)."""
    if len(e.expressions) != 1:
        return None
    whole = exp.Anonymous(this=e.this, expressions=[exp.CurrentDate(), e.expressions[0].copy()])
    return low.value(whole, scope)
