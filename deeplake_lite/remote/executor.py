"""Executors of other libraries, such as a client of Dask, and the check of the option `executor`.

An executor gets a function, the pickled work and a task. Each process unpickles the work once. A
task whose worker died raises `LostError`, so that the caller can try it again.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import threading
from asyncio import CancelledError
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.errors import LoaderError, OptionError
from deeplake_lite.pickling import pickle_value
from deeplake_lite.remote.failure import Failure, error_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.errors import LakeError

WINDOW = 128
"""Number of tasks that an executor of another library gets at a time."""


MAX_PROCESSES = 4_096
"""Maximum number of processes on this machine."""


class LostError(Exception):
    """A worker that died before it had finished its task, or an executor that took no task."""


class Future(Protocol):
    """The part of a future that this package uses."""

    def add_done_callback(self, fn: Callable[[Any], object], /) -> object:
        """Call a function with this future when it is done."""

    def result(self) -> Any:
        """Return the result or raise the error."""

    def cancel(self) -> object:
        """Do not start the task, if it has not started."""


class Work(Protocol):
    """Work that can be pickled and that runs tasks in any process."""

    def run(self, task: Any, /) -> Any:
        """Run a task, and return its result."""


def check_executor(value: Any) -> Any:
    """Return an executor: None, a number of processes, or an object. Raises OptionError.

    >>> check_executor(2)
    2
    """
    if value is None:
        return None
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        count = checks.integer("executor", value, 1)
        if count > MAX_PROCESSES:
            raise OptionError(
                f"executor must be at most {MAX_PROCESSES:,} processes, but it is {brief(count)}. "
                "Pass about one process per core, or an executor of other machines."
            )
        return count
    if not callable(getattr(value, "submit", None)) or isinstance(value, type):
        raise OptionError(
            "executor must be None for threads, a number of processes, or an object with a method "
            f"submit, such as a client of Dask, but it is {brief(value, 80)}."
        )
    return value


class Remote:
    """Runs tasks with an executor of another library.

    Parameters
    ----------
    work : Work
        The work, which must be picklable.
    executor : object
        Has a method ``submit(function, *arguments)`` that returns a future.
    fallback : type, optional
        Class of the error to raise if a worker's error cannot be pickled.
    """

    def __init__(self, work: Work, executor: Any, fallback: type[LakeError] = LoaderError) -> None:
        self.kind = f"{type(executor).__module__}.{type(executor).__qualname__}"
        self.window = WINDOW
        self._executor, self._fallback = executor, fallback
        self._payload = pickle_value(work)
        # Dask computes a call with the same arguments only once, so each run has its own key.
        digest = hashlib.sha256(self._payload).hexdigest()[:32]
        self._key = f"{digest}-{token_hex(4)}"
        self._futures = set[Future]()

    def submit(self, task: Any) -> Future:
        """Run a task. Raises LostError if the executor does not accept it."""
        try:
            future: Future = self._executor.submit(run_remote, self._key, self._payload, task)
        except Exception as error:
            raise LostError(f"{type(error).__name__}: {error}") from error
        if not hasattr(future, "add_done_callback"):
            raise OptionError(
                "The method submit of executor= must return a future with a method "
                f"add_done_callback, but it returned {type(future).__name__}. Pass an executor of "
                "concurrent.futures or a client of Dask."
            )
        self._futures.add(future)
        return future

    def outcome(self, future: Any) -> Any:
        """Return the result of a future that is done. Raises its error or LostError."""
        self._futures.discard(future)
        try:
            result = future.result()
        except (Exception, CancelledError) as error:
            raise LostError(f"{type(error).__name__}: {error}") from error
        if isinstance(result, Failure):
            raise error_of(result, self._fallback)
        return result

    def close(self, *, wait: bool = False) -> None:
        """Cancel the tasks that have not started. The executor belongs to the user.

        If `wait` is true, wait for the tasks that an executor of `concurrent.futures` is running.
        """
        running = [future for future in self._futures if future.cancel() is False]
        for future in running if wait else ():
            with contextlib.suppress(Exception, CancelledError):
                future.result()


_works: dict[str, Work] = {}
"""The work of the last job in this process, by its key."""

_loading = threading.Lock()


def run_remote(key: str, payload: bytes, task: Any) -> Any:
    """Run a task in a process of another library's executor.

    Parameters
    ----------
    key : str
        Identifies the payload.
    payload : bytes
        The pickled work.
    task : object
        The task.
    """
    try:
        with _loading:
            if key not in _works:
                _works.clear()
                _works[key] = pickle.loads(payload)
            work = _works[key]
        return work.run(task)
    except Exception as error:
        return Failure.of(error)
