"""How long a query may get while it is lowered.

Some functions repeat their arguments in what DuckDB is asked, so that calls within calls get
longer by powers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deeplake_lite.errors import QueryError

if TYPE_CHECKING:
    from deeplake_lite.query.run.sources import Source

MOST_NODES = 200_000
"""Parts of expressions that are made for a short query, at the most: a few seconds."""

PER_CHARACTER = 2_000
"""How many more there may be per character of the text, up to `LONG` of them."""

LONG = 5_000
"""Characters of a text that is nested; more are a list or a chain, with a few parts each."""

PER_CHARACTER_OF_LISTS = 200
"""How many more there may be per character beyond those."""

PER_COLUMN = 10_000
"""How many more there may be per column of each source, as ``*`` stands for all of them."""

PER_VALUE = 50
"""How many more there may be per value of the parameters."""

EXPRESSION = 100
"""As how many of them the lowering of an expression counts, which takes as long."""

ANSWER = 5_000
"""As how many of them a query within it counts that is answered meanwhile."""


class Effort:
    """The parts of expressions that are made for one query.

    Parameters
    ----------
    text : str
        The query.
    """

    def __init__(self, text: str) -> None:
        in_lists = max(len(text) - LONG, 0)
        self._left = MOST_NODES + PER_CHARACTER * (len(text) - in_lists)
        self._left += PER_CHARACTER_OF_LISTS * in_lists

        self._sources: set[int] = set()

    def allow_values(self, count: int) -> None:
        """Let there be more for the values of the parameters."""
        self._left += PER_VALUE * count

    def allow_columns(self, source: Source) -> None:
        """Let there be more for the columns of a source, once however often it is named."""
        if id(source) not in self._sources:
            self._sources.add(id(source))
            self._left += PER_COLUMN * len(source.fields)

    def spend(self, nodes: int) -> None:
        """Count some more. Raises QueryError when they are too many."""
        self._left -= nodes
        if self._left < 0:
            raise QueryError(
                f"What DuckDB is asked has at most {MOST_NODES:,} parts, and more if the query is "
                "long. This one has more, because some functions repeat their arguments, or names "
                "stand for long expressions. Compute the inner ones in FROM: SELECT f(part) FROM "
                "(SELECT g(x) AS part FROM dataset)."
            )
