"""Find the position of an error in the text of a query, and add it to the error."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from deeplake_lite.errors import NotFoundError, Place, QueryError, QuerySyntaxError
from deeplake_lite.query.database.duckdb_errors import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlglot import exp


def start_of(e: exp.Expr) -> int | None:
    """Return the offset of an expression's first character in the text of the query.

    Returns None for an expression that was created during lowering, and so is not in the text.
    """
    # `node.meta` would create a dict for every node.
    starts = (node.meta["start"] for node in e.walk() if "start" in (node._meta or ()))  # noqa: SLF001
    return min(starts, default=None)


@contextmanager
def locate_errors(text: str, e: exp.Expr | None) -> Iterator[None]:
    """Add the position of `e` in the query `text` to errors that are raised within the block."""
    try:
        yield
    except (QueryError, NotFoundError) as error:
        add_place(error, text, e)
        raise


def add_place(error: QueryError | NotFoundError, text: str, e: exp.Expr | None) -> None:
    """Add the position of `e` to an error without a position, and shorten a message with SQL."""
    if error.args:
        error.args = (shorten(str(error.args[0])), *error.args[1:])
    if error.place is not None or isinstance(error, QuerySyntaxError) or e is None:
        return
    start = start_of(e)
    if start is not None and start < len(text):
        error.place = Place.at(text, start)
