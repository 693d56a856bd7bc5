"""The event loop that asynchronous work runs in: one a process, in a thread of its own."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None

END_SECONDS = 0.2
"""How long the interpreter waits for the loop when it ends."""


def event_loop() -> asyncio.AbstractEventLoop:
    """Return the loop, which is started when it is first asked for.

    Raises
    ------
    RuntimeError
        In the loop's own thread, which would wait for itself for ever.
    """
    global _loop, _thread
    if _thread is threading.current_thread():
        raise RuntimeError("Work that runs in the event loop must await, not wait for other work.")
    if _loop is None:
        with _lock:
            if _loop is None:
                made = asyncio.new_event_loop()
                _thread = threading.Thread(
                    target=made.run_forever, name="deeplake_lite", daemon=True
                )
                _thread.start()
                _loop = made
    return _loop


def _forget() -> None:
    """Start anew in a fork: the thread stays behind in the process that it comes from."""
    global _lock, _loop, _thread
    _lock, _loop, _thread = threading.Lock(), None, None


@atexit.register
def _end() -> None:
    """Stop the loop before the interpreter takes its modules away."""
    if _loop is not None and _thread is not None:
        _loop.call_soon_threadsafe(_loop.stop)
        _thread.join(END_SECONDS)


if hasattr(os, "register_at_fork"):  # Windows has none
    os.register_at_fork(after_in_child=_forget)
