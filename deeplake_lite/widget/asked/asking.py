"""Queries of the page: asked, completed, filtered, sorted; and what is chosen of the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import LakeError
from deeplake_lite.widget import fields
from deeplake_lite.widget.messages import problem_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request

MOST_COMPLETIONS = 200
"""What a reader may be offered at once."""


class Asking:
    """The query box."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What it answers, by type of message."""
        return {
            "hello": self.hello,
            "query": self.query,
            "complete": self.complete,
            "refresh": self.refresh,
        }

    def hello(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        """Send four bytes, so that the page sees whether bytes arrive."""
        pack.add(b"\x01\x02\x03\x04", "application/octet-stream")
        return {"probe": 4}

    def query(self, request: Request, pack: Pack) -> Mapping[str, Any]:  # noqa: ARG002
        """Show the answer of a query."""
        text = fields.text(request, "text", "")
        try:
            return self._host.ask(text)
        except LakeError as error:
            error.reply = {"error": problem_of(error, text)}  # type: ignore[attr-defined]
            raise

    def complete(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        """Return what may stand at the cursor, and where the word begins that it replaces."""
        from deeplake_lite.query import complete

        text = fields.text(request, "text")
        wanted = fields.whole(request, "cursor")
        cursor = min(max(wanted, 0), len(text))  # a late message may have that of another text
        found = complete(text, cursor, self._host.shown.base)[:MOST_COMPLETIONS]
        return {"items": [list(item) for item in found], "word": word_start(text, cursor)}

    def refresh(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        """Take the dataset as it is now."""
        self._host.refresh()
        return answer_of(self._host)


def answer_of(host: Host) -> dict[str, Any]:
    """Return what the page is told of an answer."""
    shown = host.shown
    return {"rows": len(shown.view), "ms": shown.ms, "query": shown.text}


def word_start(text: str, cursor: int) -> int:
    """Return where the word begins that a completion takes the place of, its quote included.

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
