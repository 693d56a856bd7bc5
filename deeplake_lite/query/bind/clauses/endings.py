"""Lower the last clauses of a SELECT, from ORDER BY and LIMIT to SAMPLE BY and EXPAND BY."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from sqlglot import exp

from deeplake_lite.brief import brief
from deeplake_lite.errors import QueryError, QueryTypeError
from deeplake_lite.query.bind.calls.aggregates import sort_term
from deeplake_lite.query.bind.expressions.digests import comparable
from deeplake_lite.query.bind.places import locate_errors, start_of
from deeplake_lite.query.parse import added_nodes
from deeplake_lite.query.parse.added_nodes import CLAUSES, UNGROUP
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.plan import ROW, Arrange, Clause, Expand, Sample
from deeplake_lite.query.values import Constant, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.clauses.projection import Projection
    from deeplake_lite.query.bind.clauses.select import Binder
    from deeplake_lite.query.bind.scope import Scope


MAX_ROWS = 1 << 62
"""LIMIT and OFFSET must be smaller than this number, so that their sum fits in 64 bits."""


def order_by(binder: Binder, order: exp.Order, scope: Scope, items: list[Value]) -> list[exp.Expr]:
    """Return the lowered terms of ORDER BY. `items` are the values of the select list."""
    terms: list[exp.Expr] = []
    for term in order.expressions:
        with locate_errors(binder.low.text, term):
            terms += _sort_terms(binder, term, scope, items)
    return terms


def _sort_terms(binder: Binder, term: exp.Expr, scope: Scope, items: list[Value]) -> list[exp.Expr]:
    """Return the lowered terms for one term of ORDER BY. Only ALL gives several terms."""
    e = term.this
    if is_all(e):
        meaning, others = "ORDER BY ALL sorts by all items", "ORDER BY 1, 2 for the first two items"
        scope.check_word("all", meaning, 'ORDER BY "all"', others)
        return [sort_term(item, term, binder.low, scope) for item in items]
    return [sort_term(value_of_term(binder, e, scope, items), term, binder.low, scope)]


def is_all(e: exp.Expr) -> bool:
    """Return whether a term of ORDER BY is the keyword ALL."""
    return isinstance(e, exp.Var) and e.name.upper() == "ALL"


def value_of_term(binder: Binder, e: exp.Expr, scope: Scope, items: list[Value]) -> Value:
    """Return the value of a term of ORDER BY, which may be a number or an alias of an item."""
    if is_number(e):
        return items[item_number(e, len(items), "ORDER BY")]
    if isinstance(e, exp.Column) and not e.table and (alias := scope.alias(e.name)) is not None:
        return binder.low.value(alias, scope.within_alias(e.name))
    return binder.low.value(e, scope)


def is_number(e: exp.Expr) -> bool:
    """Return whether a term of ORDER BY or GROUP BY is a number, which refers to a SELECT item."""
    number = e.this if isinstance(e, exp.Neg) else e
    return isinstance(number, exp.Literal) and not number.is_string


def item_number(e: exp.Expr, count: int, what: str) -> int:
    """Return the index, from 0, of the item of SELECT that the 2 in ``ORDER BY 2`` refers to.

    Raises QueryError if there is no such item.
    """
    text = text_of(e)
    if not text.isdecimal() or not 0 < int(text) <= count:
        raise QueryError(
            f"A number in {what} refers to an item of the select list, so it must be from 1 to "
            f"{count}, but it is {text}."
        )
    return int(text) - 1


def limit(binder: Binder, tree: exp.Expr, out: exp.Query, scope: Scope) -> int | None:
    """Add the lowered LIMIT and OFFSET to the query `out`.

    Return their sum, or None if there is no LIMIT or if it is a percentage.
    """
    end: int | None = None
    if limit := tree.args.get("limit"):
        e = limit.args.get("expression") or limit.args.get("count")
        options = limit.args.get("limit_options")
        percent = options is not None and options.args.get("percent")
        with locate_errors(binder.low.text, limit):
            count = whole_number(binder, e, scope, "LIMIT", percent=bool(percent))
        if percent:
            out.set(
                "limit",
                exp.Limit(expression=exp.Mod(this=exp.convert(count), expression=exp.Var(this=""))),
            )
        else:
            out.set("limit", exp.Limit(expression=exp.convert(count)))
            end = int(count)
    if offset := tree.args.get("offset"):
        with locate_errors(binder.low.text, offset):
            skip = whole_number(binder, offset.expression, scope, "OFFSET")
        out.set("offset", exp.Offset(expression=exp.convert(int(skip))))
        end = None if end is None else end + int(skip)
    return end


def whole_number(
    binder: Binder, e: exp.Expr, scope: Scope, what: str, *, percent: bool = False
) -> int | float:
    """Return the constant number in a clause, such as LIMIT or SEED. `what` names the clause.

    Raises
    ------
    QueryTypeError
        If the number is not whole, unless it is a percentage, or if it is negative or too large, or
        not a constant.
    """
    with locate_errors(binder.low.text, e):
        return _number_of_rows(binder, e, scope, what, percent=percent)


def _number_of_rows(
    binder: Binder, e: exp.Expr, scope: Scope, what: str, *, percent: bool
) -> int | float:
    value = binder.low.value(e, scope)
    number: Any = value.value if isinstance(value, Constant) else None
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if is_number and 0 <= number < MAX_ROWS and (percent or number == int(number)):
        return cast("int | float", number)
    text = text_of(e)
    if isinstance(value, Constant) and isinstance(e, exp.Placeholder | exp.Parameter):
        text = f"{text}, which is {brief(value.value)}"
    rule = "a whole number" if what == "SEED" else "a whole number of rows"
    rule = "a finite percentage of at least 0" if percent else f"{rule} from 0 to 2**62 - 1"
    raise QueryTypeError(f"{what} must be {rule}, but it is {text}.")


def stop_early(tree: exp.Select, scope: Scope, out: exp.Select, limit: int | None) -> None:
    """If a query needs only the first `limit` rows that pass its conditions, record this number.

    The source can then stop reading when this number of rows has passed.
    """
    stops = limit is not None and not any(
        tree.args.get(k) for k in ("order", "group", "distinct", "having", "qualify", "joins")
    )
    if stops and not scope.aggregated and len(scope.relations) == 1:
        instance = scope.relations[0].instance
        names = {call.name.upper() for call in out.find_all(exp.Anonymous)}
        if instance is None or instance.is_filtered_later:
            return
        if not any(out.find_all(exp.Window)) and "UNNEST" not in names:
            instance.rows_needed = limit


def _row_column(tree: exp.Expr, scope: Scope, projection: Projection) -> tuple[str, str]:
    """Return the name of the only source, and the result column with the positions of its rows.

    Raises
    ------
    QueryError
        If the rows of the result do not correspond to the rows of a single source.
    """
    many = any(tree.args.get(k) for k in ("distinct", "joins", "qualify", UNGROUP))
    many = many or any(map(spans_rows, tree.expressions))
    instance = scope.relations[0].instance if len(scope.relations) == 1 else None
    if instance is None or many or scope.grouped or scope.aggregated:
        raise QueryError(
            "EXPAND BY adds neighbouring rows of one source, so the query must not have joins, "
            "groups, windows, UNNEST or DISTINCT. Select from a single source."
        )
    return instance.table, projection.column(exp.column(ROW, table=instance.table)).name


def spans_rows(e: exp.Expr) -> bool:
    """Return whether an expression depends on other rows, or turns one row into several."""
    calls = {call.name.upper() for call in e.find_all(exp.Anonymous)}
    return e.find(exp.Window) is not None or "UNNEST" in calls


def clauses(binder: Binder, tree: exp.Expr, scope: Scope, projection: Projection) -> list[Clause]:
    """Return the lowered ARRANGE BY, SAMPLE BY and EXPAND BY clauses, in the order in the query."""
    out: list[Clause] = []
    for part in tree.args.get(CLAUSES) or ():
        with locate_errors(binder.low.text, part):
            match part:
                case added_nodes.Arrange():
                    out.append(_lower_arrange(binder, part, scope, projection))
                case added_nodes.Sample():
                    out.append(_lower_sample(binder, part, scope, projection))
                case added_nodes.Expand():
                    ends = (part.args["before"], part.args["after"])
                    counts = [int(whole_number(binder, e, scope, "EXPAND BY")) for e in ends]
                    out.append(Expand(*_row_column(tree, scope, projection), *counts))
    return out


def _lower_arrange(
    binder: Binder, part: added_nodes.Arrange, scope: Scope, projection: Projection
) -> Arrange:
    low = binder.low
    nodes = [comparable(low.value(e, scope), low, scope) for e in part.expressions]
    return Arrange(tuple(projection.column(node).name for node in nodes))


def _lower_sample(
    binder: Binder, part: added_nodes.Sample, scope: Scope, projection: Projection
) -> Sample:
    limit, seed, percent = part.args["limit"], part.args["seed"], bool(part.args["percent"])
    return Sample(
        projection.column(binder.low.sql(part.this, scope)).name,
        replace=bool(part.args["replace"]),
        limit=None
        if limit is None
        else whole_number(binder, limit, scope, "SAMPLE BY LIMIT", percent=percent),
        percent=percent,
        seed=binder.low.draw_seed()
        if seed is None
        else int(whole_number(binder, seed, scope, "SEED")),
        start=start_of(part.this),
    )
