"""Limit the size of the SQL that is created while a query is lowered.

Some functions repeat their arguments in the SQL for DuckDB, so the SQL of nested calls can grow
exponentially.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deeplake_lite.errors import QueryError

if TYPE_CHECKING:
    from sqlglot import exp

    from deeplake_lite.query.run.sources import Source

MAX_NODES = 200_000
"""Maximum number of SQL nodes for a short query. Processing this many nodes takes a few seconds."""

PER_CHARACTER = 2_000
"""Additional nodes that are allowed for each of the first `LONG` characters of the query."""

LONG = 5_000
"""Number of characters at the start of a query that are assumed to be nested calls. All further
characters are assumed to be long lists or chains, which create fewer nodes."""

PER_CHARACTER_OF_LISTS = 200
"""Additional nodes that are allowed for each character after the first `LONG` characters."""

PER_COLUMN = 10_000
"""Additional nodes that are allowed for each column of a source, since ``*`` means all columns."""

PER_VALUE = 50
"""Additional nodes that are allowed for each value in the parameters."""

EXPRESSION_COST = 100
"""Cost of lowering one expression, as the number of nodes whose processing takes as much time."""

REPEATED_COST = 50
"""Cost of each node in an expression that is repeated because of an alias or NULLIF.

If aliases refer to each other in a chain, and each repeats the alias before, the SQL doubles with
each alias. Each repeated node is then copied dozens of times before the SQL is complete.
"""

SHORT = 50
"""Maximum number of nodes in an expression whose repetition costs nothing."""

SUBQUERY_COST = 5_000
"""Cost of running a subquery whose value is needed while the query is lowered."""


class Effort:
    """A budget of SQL nodes that one query may still create.

    Parameters
    ----------
    text : str
        The query.
    """

    def __init__(self, text: str) -> None:
        in_lists = max(len(text) - LONG, 0)
        self._left = MAX_NODES + PER_CHARACTER * (len(text) - in_lists)
        self._left += PER_CHARACTER_OF_LISTS * in_lists

        self._sources: set[int] = set()

    def allow_values(self, count: int) -> None:
        """Allow more SQL nodes for the `count` values in the parameters."""
        self._left += PER_VALUE * count

    def allow_columns(self, source: Source) -> None:
        """Allow more SQL nodes for the columns of a source, the first time that it is used."""
        if id(source) not in self._sources:
            self._sources.add(id(source))
            self._left += PER_COLUMN * len(source.fields)

    def repeat(self, e: exp.Expr) -> None:
        """Subtract the cost of repeating `e`. Raises QueryError if the budget is exceeded."""
        nodes = sum(1 for _ in e.walk())
        if nodes > SHORT:
            self.spend(REPEATED_COST * nodes)

    def spend(self, nodes: int) -> None:
        """Subtract `nodes` from the budget. Raises QueryError if the budget is exceeded."""
        self._left -= nodes
        if self._left < 0:
            raise QueryError(
                "The SQL that a query is translated to for DuckDB may have at most "
                f"{MAX_NODES:,} parts, or more if the query is long. This query exceeds the limit, "
                "because some functions repeat their arguments, or because aliases of long "
                "expressions are used many times. Compute the inner expressions in FROM: "
                "SELECT f(part) FROM (SELECT g(x) AS part FROM dataset)."
            )
