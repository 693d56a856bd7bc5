"""Find expressions that use values of single rows although the rows are grouped.

DuckDB rejects such expressions, so they are found to tell users where the error is.
"""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from deeplake_lite.query.bind.calls import function_names


def is_ungrouped(nodes: list[exp.Expr], keys: list[exp.Expr], *, is_group: bool) -> bool:
    """Return whether an expression uses the value of a single row although rows are grouped.

    Parameters
    ----------
    nodes : list of exp.Expr
        The SQL of the expression.
    keys : list of exp.Expr
        The SQL of the keys of GROUP BY.
    is_group : bool
        Whether the expression is evaluated once for each group.
    """
    test = partial(_takes_rows, keys=keys) if is_group else _has_windows_of_groups
    return any(map(test, nodes))


def _takes_rows(node: exp.Expr, keys: list[exp.Expr]) -> bool:
    """Return whether an expression uses a column that is neither a key nor in an aggregate."""
    if node in keys or isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Anonymous) and node.name.upper() in function_names.AGGREGATES:
        return False
    return isinstance(node, exp.Column) or any(
        _takes_rows(part, keys) for part in node.iter_expressions()
    )


def _has_windows_of_groups(node: exp.Expr) -> bool:
    """Return whether PARTITION BY or ORDER BY of a window contains an aggregate.

    In this case, the rows are grouped even without GROUP BY.
    """
    parts = (
        part
        for window in node.find_all(exp.Window)
        for part in (*(window.args.get("partition_by") or ()), window.args.get("order"))
        if part is not None
    )
    return any(
        call.name.upper() in function_names.AGGREGATES
        for part in parts
        for call in part.find_all(exp.Anonymous)
    )
