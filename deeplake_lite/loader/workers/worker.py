"""What a worker process of a loader does: it follows the recipe for the cells that it is sent."""

from __future__ import annotations

import base64
import contextlib
import linecache
import multiprocessing.process
import multiprocessing.spawn
import os
import pickle
import selectors
import signal
import socket
import sys
import sysconfig
import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from deeplake_lite.errors import LoaderError, message_of
from deeplake_lite.loader.workers.channel import Channel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FrameType

    from deeplake_lite.loader.make.recipe import Job, BatchResult, Recipe

PARENT_POLL = 1.0
"""Seconds between looks at whether the loader's process is still there."""


@dataclass(frozen=True)
class Assignment:
    """What a worker is told first."""

    preparation: Mapping[str, Any]
    """Where modules are, and the main one if the recipe needs it; as `multiprocessing` has it."""
    recipe: bytes
    """Pickled."""


@dataclass(frozen=True)
class Failure:
    """An error in a worker, to be raised in the loader's process."""

    error: bytes | None
    """Pickled; None for one that does not pickle."""
    cause: bytes | None
    """What it was raised from, the same way."""
    said: str
    """Its type and message."""
    traceback: str
    """As Python prints it."""
    start: Start | None = None
    """Where the worker was when it could not start."""

    @classmethod
    def of(cls, error: BaseException, *, at_start: bool = False) -> Failure:
        """Take an error apart."""
        cause = error.__cause__
        shown = "".join(traceback.format_exception(cause or error)).rstrip()
        said = f"{type(error).__name__}: {message_of(error)}"
        start = Start.of(error) if at_start else None
        return cls(_pickled(error), _pickled(cause), said, shown, start)


@dataclass(frozen=True)
class Start:
    """Where a worker was when it could not start, as lines of the user's own files."""

    main: str | None
    """In the main module, which the worker imports; None where it fails elsewhere."""
    last: str | None
    """The innermost line; None where that is the same."""
    within: bool
    """Whether it was to start workers of its own, for want of a guard."""

    @classmethod
    def of(cls, error: BaseException) -> Start:
        """Find the lines in the traceback of an error."""
        frames = list(traceback.walk_tb(error.__traceback__))
        names = [frame.f_code.co_name for frame, _ in frames]
        mine = [(f, line) for f, line in frames if _is_users(f.f_code.co_filename)]
        main = [
            (f, line) for f, line in mine
            if f.f_globals.get("__name__") == "__mp_main__" and f.f_code.co_name == "<module>"
        ]  # fmt: skip
        last = None if mine[-1:] == main[-1:] else _line(*mine[-1])
        within = "_check_not_importing_main" in names
        return cls(_line(*main[-1]) if main else None, last, within)


_NOT_USERS = (
    str(Path(__file__).parents[2]),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<",
)
"""What the names of files begin with that are not the user's."""


def _is_users(file: str) -> bool:
    """Tell whether a file is the user's own: no library's, and none of Python's."""
    return not file.startswith(_NOT_USERS)


def _line(frame: FrameType, number: int) -> str:
    """Return a line of code with its file, as people look for it."""
    file = frame.f_code.co_filename
    code = linecache.getline(file, number).strip()
    return f"{Path(file).name}, line {number}, `{code}`"


@dataclass(frozen=True)
class Answer:
    """What became of some batches."""

    made: Sequence[BatchResult]
    """Those that were made."""
    failure: Failure | None = None
    """Why the next one was not."""


def main() -> None:
    """Work until the loader's process hangs up: the entry of a worker process."""
    ends = _connected(sys.stdin.readline())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the loader's process
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    lanes = [Channel(end) for end in ends]
    with contextlib.suppress(EOFError):
        _serve(lanes, lanes[0].receive())
    for lane in lanes:
        lane.close()


def _connected(line: str) -> list[socket.socket]:
    """Return the sockets that a line of text tells of: descriptors, or what Windows has."""
    if sys.platform == "win32":
        return [socket.fromshare(base64.b64decode(part)) for part in line.split()]
    return [socket.socket(fileno=int(part)) for part in line.split()]


def _end_with(parent: int) -> None:
    """End when the loader's process has ended, whatever else is done, or held open by others."""
    while os.getppid() == parent:
        time.sleep(PARENT_POLL)
    os._exit(1)


def _serve(lanes: Sequence[Channel], assignment: Assignment) -> None:
    recipe: Recipe | Failure
    try:
        recipe = _prepared(assignment)
    except BaseException as error:
        recipe = Failure.of(error, at_start=True)
    with selectors.DefaultSelector() as ready:
        for lane in lanes:
            ready.register(lane, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                lane = cast("Channel", key.fileobj)
                _reply(lane, _answer(recipe, *lane.receive()))


def _prepared(assignment: Assignment) -> Recipe:
    """Return the recipe, with what it needs imported and one thread for each library."""
    process = cast("Any", multiprocessing.process.current_process())
    process._inheriting = True  # a main module without a guard then says what it lacks
    try:
        multiprocessing.spawn.prepare(cast("dict[str, Any]", assignment.preparation))
        recipe: Recipe = pickle.loads(assignment.recipe)
    finally:
        del process._inheriting
    torch, cv2 = sys.modules.get("torch"), sys.modules.get("cv2")
    if torch is not None:
        torch.set_num_threads(1)
    if cv2 is not None:
        cv2.setNumThreads(0)
    return recipe


def _answer(recipe: Recipe | Failure, jobs: Sequence[Job], epoch: int) -> Answer:
    if isinstance(recipe, Failure):
        return Answer([], recipe)
    try:
        made, error = recipe.make_all(jobs, epoch)
    except BaseException as error:  # a transform that wants the process to exit, for one
        return Answer([], Failure.of(error))
    return Answer(made, None if error is None else Failure.of(error))


def _reply(lane: Channel, answer: Answer) -> None:
    try:
        lane.send(answer)
    except EOFError:
        raise
    except Exception as error:
        refused = LoaderError(
            f"What a worker process makes is pickled, got {type(error).__name__}: {error}. Return "
            "arrays, numbers, text or tensors from transforms, or take workers='threads'."
        )
        refused.__cause__ = error
        lane.send(Answer([], Failure.of(refused)))


def _pickled(error: BaseException | None) -> bytes | None:
    """Pickle an error; None for one that would not come back."""
    with contextlib.suppress(Exception):
        data = pickle.dumps(error)
        if isinstance(pickle.loads(data), BaseException):
            return data
    return None
