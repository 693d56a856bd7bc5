"""The part of the browser that runs queries from the page, and completes their text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import LakeError
from deeplake_lite.widget import fields
from deeplake_lite.widget.messages import problem_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request

MAX_COMPLETIONS = 200
"""Maximum number of completions to offer at a time."""


class Querying:
    """The part of the browser that serves the query box."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The methods that answer requests, by the type of the request."""
        return {
            "hello": self.hello,
            "query": self.query,
            "complete": self.complete,
            "refresh": self.refresh,
        }

    def hello(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        """Send four bytes, by which the page detects whether the front end delivers buffers."""
        pack.add(b"\x01\x02\x03\x04", "application/octet-stream")
        return {"probe": 4}

    def query(self, request: Request, pack: Pack) -> Mapping[str, Any]:  # noqa: ARG002
        """Show the result of a query."""
        text = fields.text(request, "text", "")
        try:
            return self._host.ask(text)
        except LakeError as error:
            error.reply = {"error": problem_of(error, text)}  # type: ignore[attr-defined]
            raise

    def complete(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        """Return completions at the cursor, and the start of the word that they replace."""
        from deeplake_lite.query import complete

        text = fields.text(request, "text")
        requested = fields.whole(request, "cursor")
        # In a delayed message, the cursor may be beyond the end of the text.
        cursor = min(max(requested, 0), len(text))
        completions = complete(text, cursor, self._host.shown.base)[:MAX_COMPLETIONS]
        return {"items": [list(item) for item in completions], "word": word_start(text, cursor)}

    def refresh(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        """Show the dataset as it is now."""
        self._host.refresh()
        return query_reply(self._host)


def query_reply(host: Host) -> dict[str, object]:
    """Return the reply to a query: its number of rows, its duration, and its text."""
    shown = host.shown
    return {"rows": len(shown.view), "ms": shown.ms, "query": shown.text}


def word_start(text: str, cursor: int) -> int:
    """Return the start of the word that a completion replaces, including its opening quote.

    >>> word_start("SELECT la", 9), word_start("WHERE label = 'red t", 20)
    (7, 14)
    """
    before = text[:cursor]
    for quote in "'\"":
        if before.count(quote) % 2:
            return before.rindex(quote)
    start = len(before)
    while start and (before[start - 1].isalnum() or before[start - 1] == "_"):
        start -= 1
    return start
