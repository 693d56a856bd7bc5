"""The library's event loop. Each process has one, which runs in a separate thread."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None

END_SECONDS = 0.2
"""How long the interpreter waits for the loop's thread at exit."""


def event_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop. The first call starts the loop.

    Raises
    ------
    RuntimeError
        When called in the loop's own thread, which would wait for itself forever.
    """
    global _loop, _thread
    if _thread is threading.current_thread():
        raise RuntimeError(
            "Code that runs in the event loop must await other work, and must not block on it."
        )
    if _loop is None:
        with _lock:
            if _loop is None:
                loop = asyncio.new_event_loop()
                _thread = threading.Thread(
                    target=loop.run_forever, name="deeplake_lite", daemon=True
                )
                _thread.start()
                _loop = loop  # assigned last, since other threads read `_loop` without the lock
    return _loop


def _forget() -> None:
    """Forget the event loop in a forked process, which does not inherit its parent's threads."""
    global _lock, _loop, _thread
    _lock, _loop, _thread = threading.Lock(), None, None


@atexit.register
def _end() -> None:
    """Stop the loop before the interpreter tears down its modules."""
    if _loop is not None and _thread is not None:
        _loop.call_soon_threadsafe(_loop.stop)
        _thread.join(END_SECONDS)


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)
