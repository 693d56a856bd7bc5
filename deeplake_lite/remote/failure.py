"""Errors in worker processes, which are sent to the process that waits for the result."""

from __future__ import annotations

import contextlib
import linecache
import pickle
import sysconfig
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deeplake_lite.errors import LakeError, LoaderError, message_of

if TYPE_CHECKING:
    from types import FrameType


class RemoteTracebackError(Exception):
    """The traceback of an error in a worker, as the cause of the error in this process."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}\n"""'


@dataclass(frozen=True)
class Failure:
    """An error in a worker, which the waiting process raises again."""

    error: bytes | None
    """The pickled error; None if it cannot be pickled."""
    cause: bytes | None
    """The pickled cause of the error; None if there is no cause, or it cannot be pickled."""
    message: str
    """Type and message of the error."""
    traceback: str
    """The traceback as Python prints it."""
    start: StartFailure | None = None
    """The lines that failed, if the worker could not start."""

    @classmethod
    def of(cls, error: BaseException, *, at_start: bool = False) -> Failure:
        """Convert an error to a form that can be sent to another process."""
        cause = error.__cause__
        lines = "".join(traceback.format_exception(cause or error)).rstrip()
        message = f"{type(error).__name__}: {message_of(error)}"
        start = StartFailure.of(error) if at_start else None
        return cls(_pickle_error(error), _pickle_error(cause), message, lines, start)


@dataclass(frozen=True)
class StartFailure:
    """The lines of the user's files at which a worker failed to start."""

    main: str | None
    """The line of the main module that failed, if the worker failed to import this module."""
    last: str | None
    """The innermost line of the user's files; None if this is the line `main`."""
    starts_workers: bool
    """Whether the main module would itself start workers, because it has no guard."""

    @classmethod
    def of(cls, error: BaseException) -> StartFailure:
        """Return the lines in the traceback of an error."""
        frames = list(traceback.walk_tb(error.__traceback__))
        names = [frame.f_code.co_name for frame, _ in frames]
        mine = [(f, line) for f, line in frames if _is_users(f.f_code.co_filename)]
        main = [
            (f, line) for f, line in mine
            if f.f_globals.get("__name__") == "__mp_main__" and f.f_code.co_name == "<module>"
        ]  # fmt: skip
        last = None if mine[-1:] == main[-1:] else _line(*mine[-1])
        starts_workers = "_check_not_importing_main" in names  # of multiprocessing.spawn
        return cls(_line(*main[-1]) if main else None, last, starts_workers)


_NOT_USERS = (
    str(Path(__file__).parents[1]),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<",
)
"""Prefixes of the paths of files that belong to Python or to installed packages."""


def _is_users(file: str) -> bool:
    """Return whether a file belongs neither to Python nor to an installed package."""
    return not file.startswith(_NOT_USERS)


def _line(frame: FrameType, number: int) -> str:
    """Return a line of code, after the name of its file and its line number."""
    file = frame.f_code.co_filename
    code = linecache.getline(file, number).strip()
    return f"{Path(file).name}, line {number}, `{code}`"


def error_of(failure: Failure, fallback: type[LakeError] = LoaderError) -> Exception:
    """Return the error of a worker, with its cause and traceback, to be raised in this process.

    If the error could not be pickled, return a `fallback` with the error's message.
    """
    original, cause = _unpickle_error(failure.error), _unpickle_error(failure.cause)
    remote = RemoteTracebackError(failure.traceback)
    error = (
        original if isinstance(original, Exception)
        else fallback(f"A worker process failed: {failure.message}")
    )  # fmt: skip
    if cause is not None:
        cause.__cause__ = remote
    error.__cause__ = cause or remote
    return error


def _pickle_error(error: BaseException | None) -> bytes | None:
    """Return the pickle of an error, or None if the error cannot be pickled and unpickled."""
    with contextlib.suppress(Exception):
        data = pickle.dumps(error)
        if isinstance(pickle.loads(data), BaseException):
            return data
    return None


def _unpickle_error(data: bytes | None) -> BaseException | None:
    with contextlib.suppress(Exception):
        error = None if data is None else pickle.loads(data)
        return error if isinstance(error, BaseException) else None
    return None
