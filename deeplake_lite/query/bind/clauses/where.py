"""Lower WHERE, and assign conditions on the columns of a single source to this source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.query.tensors.trees import reads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope
    from deeplake_lite.query.plan import Instance


def lower_where(low: Lowering, tree: exp.Select, scope: Scope) -> list[exp.Expr]:
    """Return the lowered conditions that AND combines in WHERE.

    If there is only one source, conditions that depend on single rows are also assigned to this
    source.
    """
    where = tree.args.get("where")
    if where is None:
        return []
    alone = not tree.args.get("joins") and len(scope.relations) == 1
    instance = scope.relations[0].instance if alone else None
    conditions: list[exp.Expr] = []
    for part in _conjuncts(where.this):
        node = low.clause_of_rows(part, scope, "WHERE")
        conditions.append(exp.paren(node, copy=False))
        if instance is not None:
            _assign_condition(instance, node)
    return conditions


def _conjuncts(e: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the conditions that AND combines, including those in parentheses."""
    if isinstance(e, exp.And):
        yield from _conjuncts(e.this)
        yield from _conjuncts(e.expression)
    elif isinstance(e, exp.Paren) and isinstance(e.this, exp.And):
        yield from _conjuncts(e.this)
    else:
        yield e


def _assign_condition(instance: Instance, node: exp.Expr) -> None:
    """Add a condition to a source if the condition depends only on single rows of the source.

    A condition on stored columns is added to the source's `cheap` conditions. These are checked
    first, so that precomputed columns are needed for fewer rows. A condition on precomputed columns
    is added to `staged`.
    """
    columns = list(node.find_all(exp.Column))
    of_others = any(c.table != instance.table for c in columns)
    if of_others or node.find(exp.Select, exp.Window) is not None:
        instance.is_filtered_later = True
        return
    precomputed = tuple(dict.fromkeys(c.name for c in columns if c.name in instance.precomputed))
    if precomputed:
        instance.staged.append((node, precomputed))
        instance.staged.sort(key=lambda part: any(reads(instance.precomputed[n]) for n in part[1]))
    elif columns:
        instance.cheap.append(node)
