"""The columns of a lowered SELECT.

The columns of DuckDB's result contain either values or row positions, with which values are read
from a source when they are accessed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.query.bind.scalars.kinds import kind_of
from deeplake_lite.query.values import Constant, Sql, Tensor, Value

if TYPE_CHECKING:
    from deeplake_lite.query.plan import Clause


@dataclass
class Lowered:
    """A lowered query."""

    sql: exp.Query
    """The query that DuckDB runs."""
    columns: dict[str, Value]
    """Maps the column names in the user's query to expressions of the columns of DuckDB's
    result."""
    limit: int | None = None
    """Sum of LIMIT and OFFSET; None if there is no limit in rows."""
    clauses: list[Clause] = field(default_factory=list)
    """Clauses that follow LIMIT."""
    order: tuple[str, ...] = ()
    """Columns of row positions by which to sort DuckDB's result, or () if DuckDB sorts the
    result."""


class Projection:
    """The select list of the SQL for DuckDB."""

    def __init__(self) -> None:
        self.items: list[exp.Expr] = []
        self._names: dict[str, str] = {}

    def column(self, node: exp.Expr) -> exp.Expr:
        """Return the column of DuckDB's result for an expression, which is added if necessary.

        Equal expressions share a column.
        """
        text = node.sql("duckdb")
        if text not in self._names:
            self._names[text] = f"c{len(self.items)}"
            self.items.append(exp.alias_(node.copy(), self._names[text]))
        return exp.column(self._names[text])

    def value(self, value: Value, *, lazy: bool, merges: bool = False) -> Value:
        """Return a value as an expression of the columns of DuckDB's result.

        Parameters
        ----------
        value : Value
            The value as an expression of the columns of the sources.
        lazy : bool
            Whether the result has only row positions for an unchanged column, not its values.
        merges : bool
            Whether the SELECT merges equal rows, so that a row position stands for several rows.
        """
        plain = value.plain if isinstance(value, Sql | Tensor) else None
        if plain is not None:
            several = merges or plain.of_several
            plain = replace(plain, row=self.column(plain.row), of_several=several)
        match value:
            case Sql(node, kind) if plain is not None and lazy:
                return Sql(plain.row, kind, plain)
            case Sql(node, kind):
                return Sql(self.column(node), kind, plain)
            case Constant(node=node):
                return Sql(self.column(node), kind_of(value))
            case Tensor(tree, env, text):
                moved = {key: self.column(node) for key, node in env.items()}
                return Tensor(tree, moved, text, plain)
