"""The columns of a lowered SELECT: values, or row positions from which values are read later."""

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
    """A query as DuckDB runs it, and its columns in terms of DuckDB's result."""

    sql: exp.Query
    columns: dict[str, Value]
    limit: int | None = None
    clauses: list[Clause] = field(default_factory=list)
    order: tuple[str, ...] = ()
    """Position columns by which the result must be sorted; empty if DuckDB sorts it."""


class Projection:
    """The select list of the SQL for DuckDB."""

    def __init__(self) -> None:
        self.items: list[exp.Expr] = []
        self._names: dict[str, str] = {}

    def column(self, node: exp.Expr) -> exp.Expr:
        """Return the result column of an expression; equal expressions share one."""
        text = node.sql("duckdb")
        if text not in self._names:
            self._names[text] = f"c{len(self.items)}"
            self.items.append(exp.alias_(node.copy(), self._names[text]))
        return exp.column(self._names[text])

    def value(self, value: Value, *, lazy: bool, merges: bool = False) -> Value:
        """Return a value expressed in the columns of the result.

        Parameters
        ----------
        value : Value
            The value, expressed in the columns of the sources.
        lazy : bool
            Whether an unchanged column is represented only by the positions of its rows.
        merges : bool
            Whether the SELECT merges equal rows, so that a position stands for several rows.
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
