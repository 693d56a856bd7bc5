"""Messages between the page and Python: a request, its reply, bytes, and what went wrong.

A request has a ``type``, a number ``req`` and the generation ``gen`` of what it speaks of. Each
gets one reply, with at most one buffer: all bytes of the reply back to back.
"""

from __future__ import annotations

import logging
import re
from base64 import b64encode
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import RLock
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from deeplake_lite.brief import brief
from deeplake_lite.errors import LakeError, QuerySyntaxError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from deeplake_lite.widget.parts import Handler

logger = logging.getLogger("deeplake_lite.widget")

STALE = "Stale"
"""Kind of the error for positions in what is no longer shown."""

ABOUT_ROWS = frozenset({"cells", "detail", "history", "select", "stage", "neighbours"})
"""Messages that speak of rows by their position in what is shown."""

SLOW = frozenset({"facets", "points", "suspects", "history"})
"""Messages that take long, whose handlers read once what is shown, and need no lock for that."""

type Span = tuple[int, int, str]
"""Bytes in a reply's buffer: offset, length, media type."""


class Problem(TypedDict):
    """What went wrong, for people."""

    kind: str
    """Name of the error's class."""
    message: str
    """The rule, the value and the way out."""
    line: NotRequired[int]
    """Of a query's text, from 1."""
    column: NotRequired[int]
    """Of a query's text, from 1."""
    hint: NotRequired[str]
    """The way out, where it stands apart."""


class Pack:
    """The bytes of a reply, back to back.

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
        """Add bytes; return where they are."""
        span = (self._size, len(data), mime)
        self._parts.append(data)
        self._size += len(data)
        return span

    @property
    def data(self) -> bytes:
        """All that was added."""
        return b"".join(self._parts)


class Dispatcher:
    """Answers requests, one at a time; whatever goes wrong is an answer too.

    Parameters
    ----------
    handlers : mapping
        By type of message.
    send : callable
        Takes a message and buffers to the page.
    generation : callable
        Returns that of what is shown.
    ready : callable
        Called before each answer.
    lock : lock
        Held while a message is answered, but for those that take long.

    Notes
    -----
    What takes long (`SLOW`) is answered in a thread of its own, so that the grid scrolls meanwhile,
    once the page has heard a message of such a thread: not all hosts let them speak.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        send: Callable[[dict[str, Any], list[bytes]], None],
        generation: Callable[[], int],
        ready: Callable[[], None] = lambda: None,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        self._handlers, self._send, self._generation = handlers, send, generation
        self._ready, self._lock = ready, lock or RLock()
        self._aside: ThreadPoolExecutor | None = None
        self._is_heard = False
        self.base64 = False
        """Whether bytes go as text, for hosts that lose buffers."""

    def take(self, sent: Any) -> None:
        """Answer a request, at once or when it is its turn among those that take long."""
        request = sent if isinstance(sent, Mapping) else {}
        kind = _kind_of(request)
        if request.get("threads"):
            self._start(self._send, {"type": "thread"}, [])
        if kind == "thread":
            self._is_heard = True
        elif kind in SLOW and self._is_heard:
            self._start(self.answer, request)
        else:
            with self._lock:
                self.answer(request)

    def _start(self, call: Callable[..., None], *arguments: Any) -> None:
        self._aside = self._aside or ThreadPoolExecutor(1, "deeplake_lite-browser")
        self._aside.submit(copy_context().run, call, *arguments)

    def answer(self, request: Mapping[str, Any]) -> None:
        """Answer one request. Raises nothing."""
        pack = Pack()
        head = {"type": "reply", "req": request.get("req"), "gen": request.get("gen")}
        try:
            self.base64 = self.base64 or bool(request.get("base64"))
            self._post({**head, "ok": True, **self._fields(request, pack)}, pack.data)
        except Exception as error:
            self._post({**head, "ok": False, **failure(error)}, b"")

    def _fields(self, request: Mapping[str, Any], pack: Pack) -> Mapping[str, Any]:
        with self._lock:
            self._ready()
        kind = _kind_of(request)
        handler = self._handlers.get(kind)
        if handler is None:
            raise LakeError(f"There is no message {brief(kind, 40)}. Reload the page.")
        now, asked = self._generation(), request.get("gen")
        if kind in ABOUT_ROWS and asked is not None and asked != now:
            raise StaleError(
                f"Other rows are shown by now ({now}), got {brief(asked, 20)}. Ask again."
            )
        return handler(request, pack)

    def _post(self, reply: dict[str, Any], data: bytes) -> None:
        if not data:
            self._send(reply, [])
        elif self.base64:
            self._send({**reply, "b64": b64encode(data).decode("ascii")}, [])
        else:
            self._send(reply, [data])


def _kind_of(request: Mapping[str, Any]) -> str:
    kind = request.get("type")
    return kind if isinstance(kind, str) else repr(kind)


class StaleError(LakeError):
    """Positions in what is no longer shown."""


def failure(error: Exception) -> dict[str, Any]:
    """Return what the page is told of an error; what nobody foresaw is logged.

    >>> failure(LakeError("There is no row 9. Ask for another."))["error"]["kind"]
    'LakeError'
    """
    if isinstance(error, StaleError):
        return {"error": Problem(kind=STALE, message=str(error))}
    if isinstance(error, LakeError):
        more = getattr(error, "reply", {})
        return {"error": problem_of(error), **more}
    logger.error("A message of the browser failed.", exc_info=error)
    said = f"{type(error).__name__}: {error}"
    return {"error": Problem(kind=type(error).__name__, message=f"{said:.500} (see the log)")}


def problem_of(error: Exception, text: str = "") -> Problem:
    r"""Return an error for people: its place in a query apart from its words.

    Parameters
    ----------
    text : str
        The query, in which a name that the error quotes is looked for.

    >>> problem_of(LakeError("There is no column 'b'. Known: 'a'."), "SELECT\n  b")["column"]
    3
    """
    said = str(error)
    found = Problem(kind=type(error).__name__, message=said)
    if isinstance(error, QuerySyntaxError):
        found["message"] = re.sub(r": line \d+, column \d+\.$", "", said.split("\n", 1)[0])
        found["line"], found["column"] = error.line, error.column
    elif isinstance(error, LakeError) and error.place is not None:
        found["message"] = str(error.args[0])
        found["line"], found["column"] = error.place.line, error.place.column
    elif place := _place(said, text):
        found["line"], found["column"] = place
    return found


def _place(said: str, text: str) -> tuple[int, int] | None:
    """Return where in a query the first word stands that a message quotes; None for nowhere."""
    for word in re.findall(r"['\"`]([^'\"`]+)['\"`]", said):
        if found := re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE):
            before = text[: found.start()]
            return before.count("\n") + 1, found.start() - (before.rfind("\n") + 1) + 1
    return None
