"""Lower the select list: expand ``*``, and name the items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import QueryError
from deeplake_lite.query.bind.calls.special import is_sequence, unnest
from deeplake_lite.query.bind.clauses.grouping import over_group
from deeplake_lite.query.bind.expressions.numpy_inputs import as_column
from deeplake_lite.query.bind.places import locate_errors, start_of
from deeplake_lite.query.parse.added_nodes import UNGROUP
from deeplake_lite.query.parse.dialect import text_of
from deeplake_lite.query.parse.duckdb_nodes import func
from deeplake_lite.query.values import Sql, Tensor, Value

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


type _Item = tuple[str, Value, exp.Expr]
"""An item of the select list: its name, its value and its expression."""


def lower_items(low: Lowering, tree: exp.Select, scope: Scope, keys: set[str]) -> dict[str, Value]:
    """Lower the select list, and return a dict that maps the names of its items to values.

    `keys` are the keys of GROUP BY as SQL text.

    Raises
    ------
    QueryError
        If a SELECT without GROUP BY has both aggregates and values of single rows.
    """
    items: list[_Item] = []
    aggregates: list[exp.Expr] = []
    row_values: list[exp.Expr] = []
    for item in tree.expressions:
        star = _star(item)
        if star is not None:
            with locate_errors(low.text, item):
                items += _items_of_star(star, item, scope, keys, low)
            row_values.append(item)
            continue
        e = item.unalias()
        if e.find(exp.Star) is not None and not _counts_rows(e):
            raise QueryError(
                "* must stand alone or follow a source, as in source.*, but the query contains "
                f"{text_of(item)}. Write the names of the columns instead."
            )
        is_alias = isinstance(item, exp.Alias)
        name = item.alias if is_alias else _name_of(e)
        # Lowering counts the aggregates in the expression, and in the aliases that it uses.
        before = scope.aggregates.count
        value = low.value(e, scope.within_alias(name) if is_alias else scope)
        if scope.aggregates.count > before:
            aggregates.append(e)
        elif _reads_rows(value, scope):
            row_values.append(e)
        if scope.grouped:
            with locate_errors(low.text, e):
                value = over_group(value, keys, e, scope, low)
        items.append((name, as_column(value, text_of(e)), e))
        low.outputs[name] = start_of(e)
    if aggregates and row_values and not scope.grouped:
        raise QueryError(
            "Without GROUP BY, aggregates cannot be selected alongside values of rows, but "
            f"{text_of(aggregates[0])} has one value for all rows, and {text_of(row_values[0])} "
            f"has one per row. GROUP BY {text_of(row_values[0])}, collect its values with LIST, or "
            "add OVER () to the aggregate."
        )
    return _unique(_split_lists(items, tree, scope, low))


def _split_lists(
    items: list[_Item], tree: exp.Select, scope: Scope, low: Lowering
) -> list[tuple[str, Value]]:
    """Return the names and values of the items, replacing lists in UNGROUP BY with their items."""
    parts: list[exp.Expr] = tree.args.get(UNGROUP) or []
    split = [p.sql().upper() for p in parts] == ["SPLIT"] and not scope.find("SPLIT", None)
    selected = [e for _, _, e in items] + [exp.column(name) for name, _, _ in items]
    missing = [part for part in parts if part not in selected and not split]
    if missing:
        with locate_errors(low.text, missing[0]):
            raise QueryError(
                "UNGROUP BY must be followed by columns of the select list, or by SPLIT for "
                f"all lists in it, but it is followed by {text_of(missing[0])}. Add "
                f"{text_of(missing[0])} to the select list."
            )
    out = []
    for name, value, e in items:
        if is_sequence(value) if split else e in parts or exp.column(name) in parts:
            value = unnest(low, value, e, scope)
            scope.aliases[name] = func("UNNEST", e.copy())  # ORDER BY sorts by items
        out.append((name, value))
    return out


def _items_of_star(
    star: exp.Star, item: exp.Expr, scope: Scope, keys: set[str], low: Lowering
) -> list[_Item]:
    """Return the items that ``*`` or ``source.*`` stands for.

    EXCLUDE, REPLACE and RENAME, which may follow ``*``, are applied.
    """
    table = item.table if isinstance(item, exp.Column) else None
    if table and table not in [r.alias for r in scope.relations]:
        raise scope.unknown("*", table)
    excluded = {c.name for c in star.args.get("except_") or ()}
    replacements = {a.alias: a.this for a in star.args.get("replace") or ()}
    renamed = {a.this.name: a.alias for a in star.args.get("rename") or ()}
    columns = {n for r in scope.relations for n in r.columns if table in (None, "", r.alias)}
    parts = [*(star.args.get("except_") or ()), *(star.args.get("replace") or ())]
    named = {part.alias_or_name: part for part in parts}
    named |= {a.this.name: a for a in star.args.get("rename") or ()}
    for name in named.keys() - columns:
        with locate_errors(low.text, named[name]):
            raise scope.unknown(name, table or None)
    items: list[_Item] = []
    for relation in scope.relations:
        if table not in (None, "", relation.alias):
            continue
        for name in relation.columns:
            if name in excluded or (not table and name in relation.hidden):
                continue
            # A column that USING has merged belongs to no table, so it is looked up by name alone.
            by = None if name in scope.merged and not table else relation.alias
            e = replacements.get(name, exp.column(name, table=by))
            unnamed = by == "" and name not in replacements
            value = relation.columns[name] if unnamed else low.value(e, scope)
            if scope.grouped:
                value = over_group(value, keys, e, scope, low)
            items.append((renamed.get(name, name), value, e))
    return items


def _star(item: exp.Expr) -> exp.Star | None:
    if isinstance(item, exp.Star):
        return item
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        return item.this
    return None


def _counts_rows(e: exp.Expr) -> bool:
    """Return whether each ``*`` in an expression is in a call (``COUNT(*)``) or in a subquery."""
    return all(
        isinstance(star.parent, exp.Anonymous)
        or star.find_ancestor(exp.Select) is not e.find_ancestor(exp.Select)
        for star in e.find_all(exp.Star)
    )


def _name_of(e: exp.Expr) -> str:
    """Return the name of an item without an alias: the name of its column, or its text."""
    return e.name if isinstance(e, exp.Column) else text_of(e).replace('"', "")


def _reads_rows(value: Value, scope: Scope) -> bool:
    """Return whether a value of the select list differs from row to row."""
    nodes = list(value.env.values()) if isinstance(value, Tensor) else []
    nodes += [value.node] if isinstance(value, Sql) else []
    tables = {relation.table for relation in scope.relations}
    columns = (column for node in nodes for column in node.find_all(exp.Column))
    return any(c.table in tables and c.find_ancestor(exp.Query) is None for c in columns)


def _unique(items: list[tuple[str, Value]]) -> dict[str, Value]:
    """Return a dict that maps names to values. If a name is repeated, a number is added to it.

    >>> list(_unique([("x", 1), ("x", 2)]))
    ['x', 'x_1']
    """
    out: dict[str, Value] = {}
    for name, value in items:
        unique, number = name, 0
        while unique in out:
            number += 1
            unique = f"{name}_{number}"
        out[unique] = value
    return out
