"""What names mean at a place of a query: relations in FROM, and what the SELECT calls things."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import ColumnNotFoundError, QueryError
from deeplake_lite.query.values import Constant, Sql, Tensor, Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deeplake_lite.query.plan import Instance


SELF = ("dataset", "ds", "this", "self")
"""Names of the view that the query is asked of."""

OWN = "dataset"
"""Name of that view where FROM is left out."""


@dataclass(eq=False)
class Relation:
    """Something in FROM: a source, or a query in parentheses or under a name."""

    alias: str
    """As users call it."""
    table: str
    """As DuckDB calls it."""
    columns: dict[str, Value]
    """Its columns, in order, by the names that users see."""
    instance: Instance | None = None
    """The source, if it is one."""
    source: exp.Expr | None = None
    """What FROM has for it, to which a column of positions can be added."""
    tested: bool = False
    """Whether a SEMI or ANTI join only tests its rows, which do not come out."""
    hidden: set[str] = field(default_factory=set)
    """Columns that ``*`` leaves out: those of USING come from the left."""


@dataclass(frozen=True)
class Parameter:
    """A lambda's parameter."""

    value: Sql
    depth: int
    """How many lambdas it lies within, its own among them."""
    in_aggregate: bool
    """Whether the lambda stands within an aggregate."""


@dataclass(eq=False)
class Scope:
    """One SELECT."""

    relations: list[Relation] = field(default_factory=list)
    parent: Scope | None = None
    merged: dict[str, Value] = field(default_factory=dict)
    """Columns of USING."""
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    """What the select list calls things."""
    grouped: bool = False
    """Whether there is GROUP BY, and we are behind it."""
    keys: dict[exp.Expr, Value | None] = field(default_factory=dict)
    """What GROUP BY computes, over a group; None for its columns."""
    unfolding: tuple[str, ...] = ()
    """Names of the select list that we are within the expressions of, where they mean others."""
    names_first: bool = False
    """Whether what the select list calls so comes before a column of the name, as in HAVING."""
    aggregated: bool = False
    """Whether an aggregate was met."""
    in_aggregate: bool = False
    """Whether we are within one."""
    in_window: bool = False
    """Whether we are before or within OVER, where aggregates may go over others."""
    parameters: dict[str, Parameter] = field(default_factory=dict)
    """Those of the lambdas that we are within."""
    lengths: tuple[exp.Expr, ...] = ()
    """How many items the lists of those have of which a lambda makes long values."""

    def add(self, relation: Relation) -> None:
        """Add what FROM names. Raises QueryError where its name is taken."""
        if relation.alias in [r.alias for r in self.relations]:
            raise QueryError(
                f"Sources in FROM have names of their own, got {relation.alias!r} twice. Write "
                f"FROM {relation.alias} AS a JOIN {relation.alias} AS b."
            )
        self.relations.append(relation)

    def find(self, name: str, table: str | None) -> Value | None:
        """Return what a column's name means; None when it means nothing.

        Raises
        ------
        QueryError
            When two relations have the column.
        """
        if table is None and name in self.merged:
            return self.merged[name]
        if table in SELF and table not in self.tables():
            table = OWN
        name = self._spelled(name, table)
        found = [
            relation.columns[name]
            for relation in self.relations
            if name in relation.columns and table in (None, relation.alias)
        ]
        if len(found) > 1:
            owners = [r.alias for r in self.relations if name in r.columns]
            raise QueryError(
                f"A column's name says which source it is of where several have it: {name!r} is "
                f"in {' and '.join(map(repr, owners))}. Write {owners[0]}.{name}."
            )
        if found:
            return found[0]
        return self.parent.find(name, table) if self.parent else None

    def _spelled(self, name: str, table: str | None) -> str:
        """Return the one column that a name means regardless of case, if it means none as it is."""
        known = [n for r in self.relations if table in (None, r.alias) for n in r.columns]
        if name in known or name in self.aliases:
            return name
        alike = {n for n in known if n.casefold() == name.casefold()}
        return alike.pop() if len(alike) == 1 else name

    def names(self, table: str | None = None) -> list[str]:
        """Return the names of all columns, or of those of one source."""
        relations = [r for r in self.relations if table in (None, r.alias)]
        own = [name for relation in relations for name in relation.columns]
        return list(dict.fromkeys([*own, *(self.parent.names(table) if self.parent else ())]))

    def unknown(self, name: str, table: str | None) -> ColumnNotFoundError | QueryError:
        """Return the error for a name that means nothing here."""
        if not self.tables():
            return QueryError(
                f"A query that is asked of no dataset names one: SELECT … FROM 'url', got {name!r} "
                "without FROM."
            )
        if table is not None and table not in (known := self.tables()):
            near = get_close_matches(table, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            shown = ", ".join(map(repr, known)) or "none"
            return QueryError(f"There is no source {table!r} in FROM.{hint} Known: {shown}.")
        prefix = "" if table is None else f"{table}."
        names = [f"{prefix}{known}" for known in self.names(table)]
        error = ColumnNotFoundError.named("column", f"{prefix}{name}", names)
        assert isinstance(error, ColumnNotFoundError)
        return error

    def check_word(self, word: str, meaning: str, column: str, other: str) -> None:
        """Refuse a word of the language that is also the name of a column here.

        Parameters
        ----------
        meaning : str
            What the language takes it for.
        column, other : str
            What to write for the column, and for what the language means.

        Raises
        ------
        QueryError
            When there is such a column, in any case.
        """
        if any(name.casefold() == word for name in self.names()):
            raise QueryError(
                f"{meaning}, but {word!r} is a column, too. Write {column} for the column, or "
                f"{other}."
            )

    def tables(self) -> list[str]:
        """Return the names of the relations."""
        own = [relation.alias for relation in self.relations]
        return [*own, *(self.parent.tables() if self.parent else ())]


def imported(columns: Iterable[tuple[str, Value]], table: str, number: int) -> dict[str, Value]:
    """Return a query's columns as those of a relation: by the names they have in its result.

    Keys of trees get the relation's number, so that two mentions of one query stay apart.
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
