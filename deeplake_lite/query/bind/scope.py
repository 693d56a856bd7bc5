"""Scopes, which list the relations, aliases and parameters that names in a query can refer to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import ColumnNotFoundError, QueryError
from deeplake_lite.query.values import Constant, Sql, Tensor, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deeplake_lite.query.plan import Instance


SELF = ("dataset", "ds", "this", "self")
"""Names that refer to the view whose `query` method runs the query."""

OWN = "dataset"
"""Alias that a query without FROM gives to the view whose `query` method runs the query."""


@dataclass(eq=False)
class Relation:
    """An item of FROM: a source, a subquery, or a query named by WITH."""

    alias: str
    """Name in the user's query."""
    table: str
    """Name in the SQL for DuckDB."""
    columns: dict[str, Value]
    """Maps the names of the columns in the user's query to their values, in the order of the
    columns."""
    instance: Instance | None = None
    """The source, if the relation is a source, or else None."""
    source: exp.Expr | None = None
    """The subquery, if the relation is a subquery. A column of row positions may be added to its
    SQL."""
    tested: bool = False
    """Whether this is the right side of a SEMI or ANTI join, which only filters rows."""
    hidden: set[str] = field(default_factory=set)
    """Columns that ``*`` leaves out, because USING takes them from the left side of the join."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a lambda."""

    value: Sql
    depth: int
    """Nesting depth of the lambda. The depth of an outermost lambda is 1."""
    in_aggregate: bool
    """Whether the lambda is within an aggregate."""


@dataclass
class Aggregates:
    """A counter of the aggregates that have been lowered.

    If the count before an expression differs from the count after it, the expression contains an
    aggregate.
    """

    count: int = 0


@dataclass(frozen=True, eq=False)
class Scope:
    """The meaning of names in a part of a SELECT.

    The fields `relations`, `merged`, `aliases` and `keys` are filled clause by clause, and all
    parts of the SELECT share them. The other fields are specific to one part. For example, an
    expression within an aggregate or a lambda is lowered in a copy of the scope, made by
    `dataclasses.replace`.
    """

    relations: list[Relation] = field(default_factory=list)
    parent: Scope | None = None
    merged: dict[str, Value] = field(default_factory=dict)
    """Columns that USING has merged."""
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    """Maps each alias of the select list to its expression."""
    keys: dict[exp.Expr, Value | None] = field(default_factory=dict)
    """Maps each expression of GROUP BY to its value for a group, or to None if the expression is
    only a column."""
    aggregates: Aggregates = field(default_factory=Aggregates)
    """Counter of the aggregates over the rows of the SELECT. Each window has its own counter."""
    grouped: bool = False
    """Whether the query has GROUP BY, and this part is evaluated once for each group."""
    unfolding: tuple[str, ...] = ()
    """Aliases whose expressions are being lowered. Within such an expression, the name of the alias
    refers to a column."""
    names_first: bool = False
    """Whether an alias takes precedence over a column with the same name, as in HAVING."""
    in_aggregate: bool = False
    """Whether the expression is within an aggregate."""
    in_window: bool = False
    """Whether the expression is within a window, where aggregates may be nested."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    """Maps names to the parameters of the surrounding lambdas."""
    lengths: tuple[exp.Expr, ...] = ()
    """SQL for the lengths of the lists to which the surrounding lambdas are applied. Empty if these
    lambdas cannot produce long values."""

    def within_alias(self, name: str) -> Scope:
        """Return the scope for lowering the expression of an alias."""
        return replace(self, unfolding=(*self.unfolding, name))

    @property
    def aggregated(self) -> bool:
        """Whether any aggregate over the rows of the SELECT has been lowered so far."""
        return self.aggregates.count > 0

    def count_aggregate(self) -> None:
        """Record that an aggregate has been lowered."""
        self.aggregates.count += 1

    def alias(self, name: str) -> exp.Expr | None:
        """Return the expression that an alias stands for, or None if `name` is no alias here."""
        return None if name in self.unfolding else self.aliases.get(name)

    def add(self, relation: Relation) -> None:
        """Add a relation from FROM. Raises QueryError if its alias is already used."""
        if relation.alias in [r.alias for r in self.relations]:
            raise QueryError(
                f"Sources in FROM must have different names, but {relation.alias!r} occurs "
                f"twice. Write FROM {relation.alias} AS a JOIN {relation.alias} AS b."
            )
        self.relations.append(relation)

    def find(self, name: str, table: str | None) -> Value | None:
        """Return the value of a column of this query or of an enclosing query, or None.

        Parameters
        ----------
        name : str
            Name of the column.
        table : str or None
            Name of the relation that the query has before the column, as in ``table.name``.

        Raises
        ------
        QueryError
            If two relations have a column with this name.
        """
        if table is None and name in self.merged:
            return self.merged[name]
        if table in SELF and table not in self.tables():
            table = OWN
        name = self._correct_case(name, table)
        matches = [
            relation.columns[name]
            for relation in self.relations
            if name in relation.columns and table in (None, relation.alias)
        ]
        if len(matches) > 1:
            owners = [r.alias for r in self.relations if name in r.columns]
            raise QueryError(
                f"The column name {name!r} is ambiguous, because it is in the sources "
                f"{' and '.join(map(repr, owners))}. Write {owners[0]}.{name}."
            )
        if matches:
            return matches[0]
        return self.parent.find(name, table) if self.parent else None

    def _correct_case(self, name: str, table: str | None) -> str:
        """Return the name of the only column that differs from `name` at most in case.

        Returns `name` unchanged if it is itself a column or an alias, or if no column or several
        columns differ from it only in case.
        """
        columns = [n for r in self.relations if table in (None, r.alias) for n in r.columns]
        if name in columns or self.alias(name) is not None:
            return name
        matches = {n for n in columns if n.casefold() == name.casefold()}
        return matches.pop() if len(matches) == 1 else name

    def names(self, table: str | None = None) -> list[str]:
        """Return the names of all visible columns, or of the columns of one relation."""
        relations = [r for r in self.relations if table in (None, r.alias)]
        own = [name for relation in relations for name in relation.columns]
        return list(dict.fromkeys([*own, *(self.parent.names(table) if self.parent else ())]))

    def unknown(self, name: str, table: str | None) -> ColumnNotFoundError | QueryError:
        """Return the error for a name that matches no column."""
        if not self.tables():
            return QueryError(
                "A query that is not run on a dataset must have a FROM clause, but this query uses "
                f"{name!r} without FROM. Write SELECT … FROM 'url'."
            )
        if table is not None and table not in (tables := self.tables()):
            matches = get_close_matches(table, tables, n=1)
            hint = f" Did you mean {matches[0]!r}?" if matches else ""
            listing = ", ".join(map(repr, tables)) or "none"
            return QueryError(f"There is no source {table!r} in FROM.{hint} Known: {listing}.")
        prefix = "" if table is None else f"{table}."
        names = [f"{prefix}{column}" for column in self.names(table)]
        error = ColumnNotFoundError.named("column", f"{prefix}{name}", names)
        assert isinstance(error, ColumnNotFoundError)
        return error

    def check_word(self, word: str, meaning: str, column: str, other: str) -> None:
        """Reject a keyword that is also the name of a visible column, so that it is ambiguous.

        Parameters
        ----------
        word : str
            The keyword, in lower case.
        meaning : str
            Explanation of the keyword, for the message.
        column : str
            How to write the query to mean the column.
        other : str
            How to get the effect of the keyword without using the keyword.

        Raises
        ------
        QueryError
            If a visible column has this name, in upper or lower case.
        """
        if any(name.casefold() == word for name in self.names()):
            raise QueryError(
                f"{meaning}, but {word!r} is also a column. Write {column} for the column, or "
                f"{other}."
            )

    def tables(self) -> list[str]:
        """Return the aliases of all visible relations."""
        own = [relation.alias for relation in self.relations]
        return [*own, *(self.parent.tables() if self.parent else ())]


def relation_columns(
    columns: Iterable[tuple[str, Value]], table: str, number: int
) -> dict[str, Value]:
    """Return the columns of a subquery as values by which an outer query refers to them.

    Parameters
    ----------
    columns : iterable of (str, Value)
        Names and values of the columns, as the subquery computes them.
    table : str
        Name of the subquery in the SQL of the outer query.
    number : int
        Suffix for the keys of trees, so that two uses of one subquery have different keys.

    Returns
    -------
    dict
        The values for use in the outer query; the keys are the names.
    """
    from deeplake_lite.query.values import rename_keys

    def inside(node: exp.Expr) -> exp.Expr:
        return exp.column(node.name, table=table)

    out: dict[str, Value] = {}
    for name, value in columns:
        match value:
            case Sql(node, kind, plain):
                moved = plain and replace(plain, row=inside(plain.row))
                out[name] = Sql(inside(node), kind, moved)
            case Tensor(tree, env, text, plain):
                moved = plain and replace(plain, row=inside(plain.row))
                tree = rename_keys(tree, lambda key: f"{key}_{number}")
                env = {f"{key}_{number}": inside(node) for key, node in env.items()}
                out[name] = Tensor(tree, env, text, moved)
            case Constant():
                out[name] = value
    return out
