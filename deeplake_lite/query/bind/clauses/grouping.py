"""Lower GROUP BY.

The keys are the expressions that follow GROUP BY. Rows with equal keys form a group.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import QueryError
from deeplake_lite.query.bind.calls.aggregates import aggregate_group, not_positional, pick_row
from deeplake_lite.query.bind.clauses.endings import is_number, item_number
from deeplake_lite.query.bind.expressions.digests import comparable, digest_of_rows
from deeplake_lite.query.bind.expressions.names import in_brackets
from deeplake_lite.query.bind.places import locate_errors
from deeplake_lite.query.bind.scalars.kinds import is_json, kind_of, needs_numpy
from deeplake_lite.query.bind.scope import Aggregates
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.plan import ROW
from deeplake_lite.query.values import Constant, Sql, Tensor, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def keys_of(tree: exp.Select, scope: Scope, low: Lowering) -> list[exp.Expr]:
    """Return the SQL of the keys of GROUP BY, and add the value of each key to the scope."""
    group = tree.args.get("group")
    if group is None:
        return []
    with locate_errors(low.text, group):
        _check_keys(group)
    keys = []
    for part in group.expressions:
        with locate_errors(low.text, part):
            keys.append(_key(resolve_item(part, tree, scope, "GROUP BY"), scope, low))
    if group.args.get("all"):
        meaning = "GROUP BY ALL groups by all items without aggregates"
        scope.check_word("all", meaning, 'GROUP BY "all"', "GROUP BY 1, 2 for the first two items")
        for item in tree.expressions:
            inner = replace(scope, grouped=True, keys={}, aggregates=Aggregates())
            low.value(item.unalias(), inner)
            if not inner.aggregated:
                keys.append(_key(item.unalias(), scope, low))
    return keys


def _check_keys(group: exp.Group) -> None:
    """Check that GROUP BY lists expressions, without parentheses around all of them.

    Raises QueryError for GROUP BY without keys, with ROLLUP, CUBE or GROUPING SETS, and for keys in
    parentheses.
    """
    if not group.expressions and not group.args.get("all"):
        raise QueryError(
            "GROUP BY must be followed by expressions, but nothing follows "
            f"{text_of(group).strip()}."
        )
    for part in group.expressions:
        if isinstance(part, exp.Rollup | exp.Cube | exp.GroupingSets):
            raise QueryError(
                f"GROUP BY must be followed by expressions, but it is followed by {text_of(part)}. "
                "Write one query per grouping, and combine them with UNION ALL."
            )
        if isinstance(part, exp.Tuple):
            raise QueryError(
                f"The keys of GROUP BY must not be in parentheses, but they are {text_of(part)}. "
                "Write GROUP BY a, b."
            )


def _key(e: exp.Expr, scope: Scope, low: Lowering) -> exp.Expr:
    """Return the SQL of one key. In the scope, the key then stands for its value in a group."""
    e = in_brackets(e, scope)
    before = scope.aggregates.count
    value = low.value(e, scope)
    if scope.aggregates.count > before:
        raise QueryError(
            f"A key of GROUP BY must depend on a single row, but {text_of(e)} aggregates rows. "
            "Group the result of a subquery: FROM (SELECT …)."
        )
    node = comparable(value, low, scope)
    if isinstance(value, Constant):
        return not_positional(node)
    if isinstance(value, Tensor) and needs_numpy(value):
        group_value: Value = pick_row(value, "FIRST")
    elif is_json(value):
        group_value = _first_value(value, low, scope)
        scope.keys.update(dict.fromkeys(_spellings(e, scope), group_value))
    else:
        group_value = Sql(exp.paren(node.copy()), kind_of(value))
    if not (isinstance(e, exp.Column) and e in scope.keys):
        scope.keys[e] = None if isinstance(e, exp.Column) else group_value
    return node


def _first_value(value: Value, low: Lowering, scope: Scope) -> Sql:
    """Return the value that all rows of a group share, which is FIRST of the value."""
    return Sql(exp.Anonymous(this="FIRST", expressions=[low.as_sql(value, scope)]), kind_of(value))


def _spellings(e: exp.Expr, scope: Scope) -> list[exp.Expr]:
    """Return a column with and without the name of its source. Keep other expressions."""
    if not isinstance(e, exp.Column):
        return [e]
    owners = [r.alias for r in scope.relations if e.name in r.columns]
    owners = [owner for owner in owners if owner == e.table] if e.table else owners[:1]
    return [e, exp.column(e.name), *(exp.column(e.name, table=owner) for owner in owners)]


def over_group(value: Value, keys: set[str], e: exp.Expr, scope: Scope, low: Lowering) -> Value:
    """Return the value that an item of the select list has for a group.

    Keys and aggregates have a single value, which is returned unchanged. A column that is neither
    becomes the list of its values in the group.

    Parameters
    ----------
    value : Value
        The lowered item.
    keys : set of str
        The SQL of the keys of GROUP BY.
    e : exp.Expr
        The item as written in the query.
    scope : Scope
        The scope of the expression.
    low : Lowering
        The lowering of the query.

    Raises
    ------
    QueryError
        If the item is a computed tensor that is neither a key nor an aggregate.
    """
    e = in_brackets(e, scope)
    is_column = isinstance(e, exp.Column)
    if scope.keys.get(e) is not None:
        return value
    if isinstance(value, Tensor):
        by = digest_of_rows(value, low) if needs_numpy(value) else value
        node = low.find_precomputed(by, scope)
        if node is not None and node.sql("duckdb") in keys:
            return pick_row(value, "FIRST") if needs_numpy(value) else Sql(node, kind_of(value))
        if is_column:
            return aggregate_group(value, "LIST", text_of(e))
        if any(isinstance(n, exp.Column) and n.name == ROW for n in value.env.values()):
            raise QueryError(
                "With GROUP BY, every selected item must have one value per group, but "
                f"{text_of(e)} has one per row. Write LIST({text_of(e)}), FIRST({text_of(e)}) or "
                "another aggregate."
            )
        return value
    if is_column and isinstance(value, Sql) and value.node.sql("duckdb") not in keys:
        return Sql(exp.Anonymous(this="LIST", expressions=[value.node.copy()]), value.kind.as_list)
    return Sql(value.node, value.kind) if is_column and isinstance(value, Sql) else value


def resolve_item(part: exp.Expr, tree: exp.Select, scope: Scope, clause: str) -> exp.Expr:
    """Return the item of SELECT that a term stands for, or the term itself.

    A term stands for an item if it is the item's number or alias.
    """
    if is_number(part):
        items: list[exp.Expr] = tree.expressions
        return items[item_number(part, len(items), clause)].unalias()
    if not isinstance(part, exp.Column) or part.table or scope.find(part.name, None) is not None:
        return part
    return scope.alias(part.name) or part
