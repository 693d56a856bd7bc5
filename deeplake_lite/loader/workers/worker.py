"""The program of a worker process, which receives cells and replies with batches."""

from __future__ import annotations

import base64
import contextlib
import multiprocessing.process
import multiprocessing.spawn
import os
import pickle
import selectors
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from deeplake_lite.errors import LoaderError
from deeplake_lite.loader.workers.channel import Channel
from deeplake_lite.remote.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deeplake_lite.loader.make.recipe import BatchResult, Job, Recipe

PARENT_POLL = 1.0
"""Seconds between checks of whether the loader's process is still running."""


@dataclass(frozen=True)
class Assignment:
    """The first message to a worker."""

    preparation: Mapping[str, object]
    """The import path, and the main module if the recipe needs it, for `multiprocessing.spawn`."""
    recipe: bytes
    """The pickled recipe."""


@dataclass(frozen=True)
class Reply:
    """The reply of a worker to a request for batches."""

    results: Sequence[BatchResult]
    """The batches that were finished before a batch failed."""
    failure: Failure | None = None
    """The error of the batch that failed; None if no batch failed."""


def main() -> None:
    """Run a worker process until the loader's process closes the connection."""
    ends = _connect(sys.stdin.readline())
    # If a transform reads from standard input, it should reach the end instead of waiting.
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the loader's process
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    channels = [Channel(end) for end in ends]
    with contextlib.suppress(EOFError):
        _serve(channels, channels[0].receive())
    for channel in channels:
        channel.close()


def _connect(line: str) -> list[socket.socket]:
    """Return the sockets that a line lists as descriptors or, on Windows, as shared sockets."""
    if sys.platform == "win32":
        return [socket.fromshare(base64.b64decode(part)) for part in line.split()]
    return [socket.socket(fileno=int(part)) for part in line.split()]


def _end_with(parent: int) -> None:
    """End this process when the loader's process, whose id is `parent`, has ended.

    The connection may outlive the loader's process, because a fork may keep its sockets open.
    """
    while os.getppid() == parent:
        time.sleep(PARENT_POLL)
    os._exit(1)


def _serve(channels: Sequence[Channel], assignment: Assignment) -> None:
    """Reply to requests for batches until a channel is closed, which raises EOFError."""
    recipe: Recipe | Failure
    try:
        recipe = _prepare(assignment)
    except BaseException as error:
        recipe = Failure.of(error, at_start=True)
    with selectors.DefaultSelector() as ready:
        for channel in channels:
            ready.register(channel, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                channel = cast("Channel", key.fileobj)
                _send(channel, _make_batches(recipe, *channel.receive()))


def _prepare(assignment: Assignment) -> Recipe:
    """Import the modules of the recipe, limit the threads of libraries, and return the recipe."""
    process = cast("Any", multiprocessing.process.current_process())
    # With this flag, multiprocessing raises an error if the main module starts processes because
    # it has no `if __name__ == "__main__":` guard.
    process._inheriting = True  # noqa: SLF001 # multiprocessing has no other switch
    try:
        multiprocessing.spawn.prepare(cast("dict[str, Any]", assignment.preparation))
        recipe: Recipe = pickle.loads(assignment.recipe)
    finally:
        del process._inheriting  # noqa: SLF001
    torch, cv2 = sys.modules.get("torch"), sys.modules.get("cv2")
    if torch is not None:
        torch.set_num_threads(1)
    if cv2 is not None:
        cv2.setNumThreads(0)
    return recipe


def _make_batches(recipe: Recipe | Failure, jobs: Sequence[Job], epoch: int) -> Reply:
    if isinstance(recipe, Failure):
        return Reply([], recipe)
    try:
        results, error = recipe.make_all(jobs, epoch)
    except BaseException as error:  # a transform may raise SystemExit, for example
        return Reply([], Failure.of(error))
    return Reply(results, None if error is None else Failure.of(error))


def _send(channel: Channel, reply: Reply) -> None:
    """Send a reply or, if it cannot be pickled, an error that says so."""
    try:
        channel.send(reply)
    except EOFError:
        raise
    except Exception as error:
        reason = str(error).rstrip(".")
        refusal = LoaderError(
            "Batches from a worker process must be picklable, but pickling raised "
            f"{type(error).__name__}: {reason}. Return arrays, numbers, strings or tensors from "
            "transforms, or use workers='threads'."
        )
        refusal.__cause__ = error
        channel.send(Reply([], Failure.of(refusal)))
