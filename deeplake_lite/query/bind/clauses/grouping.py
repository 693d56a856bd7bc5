"""Lower GROUP BY: its keys, and the values of other expressions over a group."""

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
    """Return the SQL of the GROUP BY keys, and add each key's value per group to the scope."""
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
    """Reject GROUP BY without keys or with several groupings at once. Raises QueryError."""
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
    """Return the SQL of one key, and add the value that the key has per group to the scope."""
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
        as_group: Value = pick_row(value, "FIRST")
    elif is_json(value):
        as_group = _first_value(value, low, scope)
        scope.keys.update(dict.fromkeys(_spellings(e, scope), as_group))
    else:
        as_group = Sql(exp.paren(node.copy()), kind_of(value))
    if not (isinstance(e, exp.Column) and e in scope.keys):
        scope.keys[e] = None if isinstance(e, exp.Column) else as_group
    return node


def _first_value(value: Value, low: Lowering, scope: Scope) -> Sql:
    """Return the first value of a group whose values are all equal."""
    return Sql(exp.Anonymous(this="FIRST", expressions=[low.as_sql(value, scope)]), kind_of(value))


def _spellings(e: exp.Expr, scope: Scope) -> list[exp.Expr]:
    """Return the ways to write a column: with and without the name of its source."""
    if not isinstance(e, exp.Column):
        return [e]
    owners = [r.alias for r in scope.relations if e.name in r.columns]
    owners = [owner for owner in owners if owner == e.table] if e.table else owners[:1]
    return [e, exp.column(e.name), *(exp.column(e.name, table=owner) for owner in owners)]


def over_group(value: Value, keys: set[str], e: exp.Expr, scope: Scope, low: Lowering) -> Value:
    """Return the value of an item over a group.

    Keys and aggregates have a single value. A column that is not a key becomes the list of its
    values.

    Raises
    ------
    QueryError
        For a computed tensor that is neither a key nor an aggregate.
    """
    e = in_brackets(e, scope)
    plain = isinstance(e, exp.Column)
    if scope.keys.get(e) is not None:
        return value
    if isinstance(value, Tensor):
        by = digest_of_rows(value, low) if needs_numpy(value) else value
        node = low.find_precomputed(by, scope)
        if node is not None and node.sql("duckdb") in keys:
            return pick_row(value, "FIRST") if needs_numpy(value) else Sql(node, kind_of(value))
        if plain:
            return aggregate_group(value, "LIST", text_of(e))
        if any(isinstance(n, exp.Column) and n.name == ROW for n in value.env.values()):
            raise QueryError(
                "With GROUP BY, every selected item must have one value per group, but "
                f"{text_of(e)} has one per row. Write LIST({text_of(e)}), FIRST({text_of(e)}) or "
                "another aggregate."
            )
        return value
    if plain and isinstance(value, Sql) and value.node.sql("duckdb") not in keys:
        return Sql(exp.Anonymous(this="LIST", expressions=[value.node.copy()]), value.kind.as_list)
    return Sql(value.node, value.kind) if plain and isinstance(value, Sql) else value


def resolve_item(part: exp.Expr, tree: exp.Select, scope: Scope, clause: str) -> exp.Expr:
    """Return the item that a term refers to by number or alias, or the term itself."""
    if is_number(part):
        items: list[exp.Expr] = tree.expressions
        return items[item_number(part, len(items), clause)].unalias()
    if not isinstance(part, exp.Column) or part.table or scope.find(part.name, None) is not None:
        return part
    return scope.alias(part.name) or part
