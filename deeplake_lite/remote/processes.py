"""Worker processes of this package, which run tasks.

A worker is a `Child`. It reads the work and then tasks until its standard input ends.
"""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import LakeError, LoaderError
from deeplake_lite.pickling import pickle_value
from deeplake_lite.remote.child import Child, open_pipes
from deeplake_lite.remote.executor import LostError
from deeplake_lite.remote.failure import Failure, error_of
from deeplake_lite.storage.repo import spreading_credentials

if TYPE_CHECKING:
    from deeplake_lite.remote.executor import Future, Work

AHEAD = 2
"""Number of tasks per process that are submitted in advance and wait for the process."""


class Processes:
    """Runs tasks in new processes. A process that dies is replaced.

    Parameters
    ----------
    work : Work
        The work, which must be picklable.
    count : int
        Number of processes.
    fallback : type, optional
        Class of the error to raise if a worker's error cannot be pickled.
    """

    kind = "processes"

    def __init__(self, work: Work, count: int, fallback: type[LakeError] = LoaderError) -> None:
        self.window, self._fallback = AHEAD * count, fallback
        with spreading_credentials():
            self._payload = pickle_value(work)
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="deeplake-lite-work")
        self._idle = SimpleQueue[_Process | None]()
        for _ in range(count):
            self._idle.put(None)
        self._running = set[_Process]()
        self._closed = False

    def submit(self, task: Any) -> Future:
        """Run a task in the next process that is free."""
        return self._pool.submit(self._run, task)

    def outcome(self, future: Any) -> Any:
        """Return the result of a future that is done. Raises its error or LostError."""
        result = future.result()
        if isinstance(result, Failure):
            raise error_of(result, self._fallback)
        return result

    def close(self) -> None:
        """End the processes, and wait for them."""
        self._closed = True
        for process in list(self._running):
            process.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for process in list(self._running):
            process.end()

    def _run(self, task: Any) -> Any:
        process = self._idle.get()
        try:
            if process is None:
                process = _Process(self._payload)
                self._running.add(process)
            if self._closed:
                raise LostError("the work was stopped")
            return process.request(task)
        except (EOFError, OSError, pickle.UnpicklingError):
            assert process is not None
            self._running.discard(process)
            code = process.end()
            process = None
            raise LostError(f"a worker process exited with code {code}") from None
        finally:
            self._idle.put(process)


class _Process(Child):
    """A worker process."""

    def __init__(self, payload: bytes) -> None:
        super().__init__(__name__)
        self._first: bytes | None = pickle.dumps(payload)

    def request(self, task: Any) -> Any:
        """Let the process run a task. Raises EOFError or OSError if the process has ended."""
        if self._first is not None:
            self.greet(self._first)
            self._first = None
        pickle.dump(task, self.requests)
        self.requests.flush()
        return pickle.load(self.replies)


def main() -> None:
    """Run tasks until standard input ends."""
    requests, replies = open_pipes()
    with suppress(EOFError, BrokenPipeError):
        payload, work = pickle.load(requests), None
        while True:
            task = pickle.load(requests)
            reply: Any
            try:
                work = work or pickle.loads(payload)
                reply = work.run(task)
            except Exception as error:
                reply = Failure.of(error)
            replies.write(pickle.dumps(reply))
            replies.flush()
