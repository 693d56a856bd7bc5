"""What leaves a SELECT: values, and positions of rows of what is read when it is looked at."""

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
    """A query as DuckDB runs it, and its columns in terms of that result."""

    sql: exp.Query
    columns: dict[str, Value]
    limit: int | None = None
    clauses: list[Clause] = field(default_factory=list)
    order: tuple[str, ...] = ()
    """Columns of positions by which the result is sorted, unless DuckDB has sorted it."""


class Projection:
    """The select list that DuckDB gets: values, and positions of rows."""

    def __init__(self) -> None:
        self.items: list[exp.Expr] = []
        self._names: dict[str, str] = {}

    def column(self, node: exp.Expr) -> exp.Expr:
        """Return the name under which an expression leaves; the same one for equal ones."""
        text = node.sql("duckdb")
        if text not in self._names:
            self._names[text] = f"c{len(self.items)}"
            self.items.append(exp.alias_(node.copy(), self._names[text]))
        return exp.column(self._names[text])

    def value(self, value: Value, *, lazy: bool, merges: bool = False) -> Value:
        """Return a value in terms of the result; plain columns are only positions if `lazy`.

        A SELECT that `merges` equal rows has one of them for all.
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
