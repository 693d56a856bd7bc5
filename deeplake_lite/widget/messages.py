"""Messages between the page and Python, which are requests, replies with bytes, and errors.

A request has a ``type``, a number ``req``, and the generation ``gen`` of the query result to which
it refers. Each request has one reply, with at most one buffer of concatenated bytes.
"""

from __future__ import annotations

import logging
import re
from base64 import b64encode
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import RLock
from typing import TYPE_CHECKING, NotRequired, TypedDict

from deeplake_lite.brief import brief
from deeplake_lite.errors import LakeError, QuerySyntaxError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from deeplake_lite.widget.parts import Handler

logger = logging.getLogger("deeplake_lite.widget")

STALE = "Stale"
"""`Problem.kind` of errors about requests that refer to an earlier query result."""

ABOUT_ROWS = frozenset({"cells", "detail", "history", "select", "stage", "neighbours"})
"""Requests that refer to rows by their positions in the shown result."""

SLOW = frozenset({"facets", "points", "suspects", "history"})
"""Slow requests. Their handlers read the browser's state only once, so they do not need a lock."""

type Span = tuple[int, int, str]
"""Some bytes in a reply's buffer, given by their offset, length and media type."""


class Problem(TypedDict):
    """The description of an error for users."""

    kind: str
    """Name of the error's class."""
    message: str
    """The rule, the value that breaks the rule, and what users can do."""
    line: NotRequired[int]
    """Line in the text of the query, counted from 1."""
    column: NotRequired[int]
    """Column in the text of the query, counted from 1."""
    hint: NotRequired[str]
    """Advice for users, if the message gives none."""


class Pack:
    """The concatenated bytes of a reply.

    Examples
    --------
    >>> pack = Pack()
    >>> pack.add(b"abc", "text/plain"), pack.add(b"de", "text/plain")
    ((0, 3, 'text/plain'), (3, 2, 'text/plain'))
    >>> pack.data
    b'abcde'
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, data: bytes, mime: str) -> Span:
        """Add bytes, and return the span of these bytes in the buffer."""
        span = (self._size, len(data), mime)
        self._parts.append(data)
        self._size += len(data)
        return span

    @property
    def data(self) -> bytes:
        """The concatenated bytes."""
        return b"".join(self._parts)


class Dispatcher:
    """Passes requests to their handlers, and sends replies or errors.

    Parameters
    ----------
    handlers : mapping
        Handlers, by the type of the request.
    send : callable
        Sends a message and buffers to the page.
    generation : callable
        Returns the generation of the shown result.
    ready : callable
        Called before each request is handled.
    lock : lock
        Held while a request is handled, unless the request is slow.

    Notes
    -----
    Slow requests (`SLOW`) are handled in a separate thread, so that the grid stays responsive. Some
    notebook front ends do not deliver messages from threads. Therefore, the thread first sends a
    test message, and is not used until the page has confirmed this message.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        send: Callable[[dict[str, object], list[bytes]], None],
        generation: Callable[[], int],
        ready: Callable[[], None] = lambda: None,
        lock: AbstractContextManager[object] | None = None,
    ) -> None:
        self._handlers, self._send, self._generation = handlers, send, generation
        self._ready, self._lock = ready, lock or RLock()
        self._thread: ThreadPoolExecutor | None = None
        self._thread_works = False
        self.base64 = False
        """Whether bytes are sent as base64, for notebook front ends that drop buffers."""

    def take(self, message: object) -> None:
        """Handle a request immediately, or in the thread for slow requests."""
        request = message if isinstance(message, Mapping) else {}
        kind = _kind_of(request)
        if request.get("threads"):
            self._start(self._send, {"type": "thread"}, [])
        if kind == "thread":
            self._thread_works = True
        elif kind in SLOW and self._thread_works:
            self._start(self.answer, request)
        else:
            with self._lock:
                self.answer(request)

    def _start(self, call: Callable[..., None], *arguments: object) -> None:
        """Call a function in the thread for slow requests, with the caller's context variables."""
        self._thread = self._thread or ThreadPoolExecutor(1, "deeplake_lite-browser")
        self._thread.submit(copy_context().run, call, *arguments)

    def answer(self, request: Mapping[str, object]) -> None:
        """Handle a request and send the reply. Errors are sent to the page and never raised."""
        pack = Pack()
        head = {"type": "reply", "req": request.get("req"), "gen": request.get("gen")}
        try:
            self.base64 = self.base64 or bool(request.get("base64"))
            self._post({**head, "ok": True, **self._fields(request, pack)}, pack.data)
        except Exception as error:
            self._post({**head, "ok": False, **failure(error)}, b"")

    def _fields(self, request: Mapping[str, object], pack: Pack) -> Mapping[str, object]:
        with self._lock:
            self._ready()
        kind = _kind_of(request)
        handler = self._handlers.get(kind)
        if handler is None:
            raise LakeError(f"There is no message type {brief(kind, 40)}. Reload the page.")
        now, generation = self._generation(), request.get("gen")
        if kind in ABOUT_ROWS and generation is not None and generation != now:
            raise StaleError(
                f"The request must refer to the shown result {now}, but it refers to result "
                f"{brief(generation, 20)}. Send it again."
            )
        return handler(request, pack)

    def _post(self, reply: dict[str, object], data: bytes) -> None:
        """Send a reply with its bytes, as a buffer or as base64."""
        if not data:
            self._send(reply, [])
        elif self.base64:
            self._send({**reply, "b64": b64encode(data).decode("ascii")}, [])
        else:
            self._send(reply, [data])


def _kind_of(request: Mapping[str, object]) -> str:
    kind = request.get("type")
    return kind if isinstance(kind, str) else repr(kind)


class StaleError(LakeError):
    """A request refers to positions in a result that has been replaced."""


def failure(error: Exception) -> dict[str, object]:
    """Return the reply for an error. Unexpected errors are logged.

    >>> failure(LakeError("There is no row 9. Ask for another."))["error"]["kind"]
    'LakeError'
    """
    if isinstance(error, StaleError):
        return {"error": Problem(kind=STALE, message=str(error))}
    if isinstance(error, LakeError):
        more = getattr(error, "reply", {})  # handlers may attach fields to errors
        return {"error": problem_of(error), **more}
    logger.error("A request of the browser failed.", exc_info=error)
    text = f"{type(error).__name__}: {error}"
    return {"error": Problem(kind=type(error).__name__, message=f"{text:.500} (see the log)")}


def problem_of(error: Exception, text: str = "") -> Problem:
    r"""Describe an error for users, with the line and column in the query as separate fields.

    Parameters
    ----------
    error : Exception
        The error.
    text : str
        The query in which to search for the first name that the error quotes.

    >>> problem_of(LakeError("There is no column 'b'. Known: 'a'."), "SELECT\n  b")["column"]
    3
    """
    message = str(error)
    problem = Problem(kind=type(error).__name__, message=message)
    if isinstance(error, QuerySyntaxError):
        problem["message"] = re.sub(r": line \d+, column \d+\.$", "", message.split("\n", 1)[0])
        problem["line"], problem["column"] = error.line, error.column
    elif isinstance(error, LakeError) and error.place is not None:
        problem["message"] = str(error.args[0])
        problem["line"], problem["column"] = error.place.line, error.place.column
    elif location := _locate_quoted_word(message, text):
        problem["line"], problem["column"] = location
    return problem


def _locate_quoted_word(message: str, text: str) -> tuple[int, int] | None:
    """Return the line and column in a query of the first word that a message quotes, or None."""
    for word in re.findall(r"['\"`]([^'\"`]+)['\"`]", message):
        if match := re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE):
            before = text[: match.start()]
            return before.count("\n") + 1, match.start() - (before.rfind("\n") + 1) + 1
    return None
