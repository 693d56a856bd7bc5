"""Where in the text of a query an error is."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from deeplake_lite.errors import NotFoundError, Place, QueryError, QuerySyntaxError
from deeplake_lite.query.database.duckdb_errors import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlglot import exp


def start_of(e: exp.Expr) -> int | None:
    """Return where the first word of an expression is in the query; None for what we made."""
    starts = (node.meta["start"] for node in e.walk() if "start" in (node._meta or ()))
    return min(starts, default=None)


@contextmanager
def placed(text: str, e: exp.Expr | None) -> Iterator[None]:
    """Give errors of a part of a query their place in the text."""
    try:
        yield
    except (QueryError, NotFoundError) as error:
        put(error, text, e)
        raise


def put(error: QueryError | NotFoundError, text: str, e: exp.Expr | None) -> None:
    """Give an error its place, unless it has one, and shorten a message that echoes the query."""
    if error.args:
        error.args = (shortened(str(error.args[0])), *error.args[1:])
    if error.place is not None or isinstance(error, QuerySyntaxError) or e is None:
        return
    start = start_of(e)
    if start is not None and start < len(text):
        error.place = Place.at(text, start)
