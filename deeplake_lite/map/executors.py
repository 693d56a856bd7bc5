"""Executors, which run the tasks of a job: in threads, in processes, or anywhere else.

An executor returns a future for each task. A task whose worker died raises `LostError`, and is
tried again.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from deeplake_lite.errors import JobError
from deeplake_lite.loader.options import cores
from deeplake_lite.loader.workers.processes import Worker, assignment_for
from deeplake_lite.pickling import pickle_value
from deeplake_lite.remote.executor import LostError, Remote
from deeplake_lite.remote.failure import RemoteTracebackError, error_of

if TYPE_CHECKING:
    from deeplake_lite.loader.workers.worker import Reply
    from deeplake_lite.map.work import Done, Task, Work
    from deeplake_lite.remote.executor import Future
    from deeplake_lite.remote.failure import Failure

AHEAD = 2
"""Number of tasks per worker that are submitted in advance and wait for the worker."""

STOP_SECONDS = 0.5
"""Seconds that the worker processes have to end before they are killed, when a job stops."""


class Executor(Protocol):
    """Runs tasks."""

    kind: str
    """Name in records and messages."""
    window: int
    """Number of tasks to submit at a time."""

    def submit(self, task: Task) -> Future:
        """Run a task."""

    def outcome(self, future: Any) -> Done:
        """Return the result of a future that is done. Raises its error or LostError."""

    def close(self) -> None:
        """Stop all tasks and end the workers."""


def make_executor(
    choice: Any, work: Work, timeout: float | None, restart_after: int | None
) -> Executor:
    """Return the executor that the user has chosen. Raises OptionError or JobError."""
    if choice is None:
        return Threads(work, cores())
    if isinstance(choice, int):
        return Processes(work, choice, timeout, restart_after)
    return Foreign(work, choice)


class Threads:
    """Runs tasks in threads of this process."""

    kind = "threads"

    def __init__(self, work: Work, count: int) -> None:
        self._work, self.window = work, AHEAD * count
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="deeplake-lite-map")

    def submit(self, task: Task) -> Future:
        """Run a task."""
        return self._pool.submit(self._work.run, task)

    def outcome(self, future: Any) -> Done:
        """Return the result of a future that is done. Raises its error."""
        done: Done = future.result()
        return done

    def close(self) -> None:
        """Stop each task before its next batch, and then end the threads."""
        self._work.stopped = True
        self._pool.shutdown(wait=True, cancel_futures=True)


class Processes:
    """Runs tasks in new processes. A process that dies is replaced.

    Parameters
    ----------
    work : Work
        The work of the job.
    count : int
        Number of processes.
    timeout : float, optional
        Seconds that each batch of a task may take. A process that takes longer is killed.
    restart_after : int, optional
        Number of rows after which a process is replaced.
    """

    kind = "processes"

    def __init__(
        self, work: Work, count: int, timeout: float | None, restart_after: int | None
    ) -> None:
        self.window = AHEAD * count
        self._batch, self._timeout, self._restart_after = work.batch, timeout, restart_after
        self._rows = dict[Worker, int]()
        check_picklable(work)
        self._assignment = assignment_for(work)  # type: ignore[arg-type] # makes batches, too
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="deeplake-lite-map")
        self._seats = SimpleQueue[Worker | None]()
        for _ in range(count):
            self._seats.put(None)
        self._workers = set[Worker]()
        self._closed = False

    def submit(self, task: Task) -> Future:
        """Run a task in the next process that is free."""
        return self._pool.submit(self._run, task)

    def outcome(self, future: Any) -> Done:
        """Return the result of a future that is done. Raises its error or LostError."""
        done: Done = future.result()
        return done

    def close(self) -> None:
        """End the processes, and kill those that are busy."""
        self._closed = True
        self._end_all()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._end_all()  # processes that were started meanwhile

    def _end_all(self) -> None:
        workers, until = list(self._workers), time.monotonic() + STOP_SECONDS
        for worker in workers:
            worker.hang_up()
        for worker in workers:
            worker.end(until)
        self._workers.difference_update(workers)

    def _run(self, task: Task) -> Done:
        worker = self._seats.get()
        try:
            if worker is None:
                worker = Worker(self._assignment)
                self._workers.add(worker)
            if self._closed:
                raise LostError("the job was stopped")
            reply = self._request(worker, task)
            if reply.failure is not None and reply.failure.start is not None:
                self._forget(worker)
                worker = None
                raise _start_error(reply.failure)
            if self._is_worn(worker, len(task.slots)):
                self._forget(worker)
                worker = None
        except EOFError:
            assert worker is not None
            reason = worker.how_it_ended()
            self._forget(worker)
            worker = None
            raise LostError(f"a worker process {reason}") from None
        finally:
            self._seats.put(worker)
        if reply.failure is not None:
            raise error_of(reply.failure)
        done: Any = reply.results[0]
        return done  # type: ignore[no-any-return]

    def _request(self, worker: Worker, task: Task) -> Reply:
        """Send a task to a process, and return the reply. Raises EOFError if the process died."""
        channel, late = worker.free.pop(), threading.Event()
        timer = None
        if self._timeout is not None:
            batches = -(-len(task.slots) // self._batch)
            timer = threading.Timer(self._timeout * batches, self._kill, [worker, late])
            timer.daemon = True
            timer.start()
        try:
            reply: Reply = channel.request(([task], 0))
        except EOFError:
            if late.is_set():
                raise JobError(
                    f"The function took longer than timeout={self._timeout} s per batch in a part "
                    f"of {len(task.slots):,} rows, so its process was killed. Pass a larger "
                    "timeout=, or find out which rows take that long."
                ) from None
            raise
        finally:
            if timer is not None:
                timer.cancel()
            worker.free.append(channel)
        return reply

    def _kill(self, worker: Worker, late: threading.Event) -> None:
        late.set()
        worker.end(time.monotonic())

    def _is_worn(self, worker: Worker, rows: int) -> bool:
        """Count the rows that a process computed; return whether to replace the process."""
        total = self._rows[worker] = self._rows.get(worker, 0) + rows
        return self._restart_after is not None and total >= self._restart_after

    def _forget(self, worker: Worker) -> None:
        self._workers.discard(worker)
        self._rows.pop(worker, None)
        worker.end(time.monotonic())


def check_picklable(work: Work) -> None:
    """Raise JobError if a user's function cannot be sent to another process."""
    for name, value in (("function", work.function), ("setup", work.setup)):
        try:
            pickle_value(value)
        except Exception as error:
            reason = str(error).rstrip(".")
            raise JobError(
                f"Functions for other processes must be picklable, but pickling {name}={value!r} "
                f"failed: {reason}. Define the function at the top level of a module, install "
                "cloudpickle, or leave out executor= to use threads."
            ) from error


def _start_error(failure: Failure) -> JobError:
    """Return the error for a worker process that could not start."""
    start, message = failure.start, failure.message.strip().partition("\n")[0].removesuffix(".")
    assert start is not None
    if start.main is not None:
        problem = "would itself start workers" if start.starts_workers else f"fails: {message}"
        error = JobError(
            "A worker process imports the main module, where the function is defined, and so runs "
            f"{start.main}, which {problem}. Put that line below `if __name__ == "
            '"__main__":`, define the function in a separate module, or leave out executor=.'
        )
    else:
        where = f" at {start.last}" if start.last else ""
        error = JobError(
            "A worker process must import the modules that the function needs, but that failed "
            f"with {message}{where}. Define the function in a module that can be imported by "
            "itself, or leave out executor=."
        )
    error.__cause__ = RemoteTracebackError(failure.traceback)
    return error


class Foreign(Remote):
    """Runs tasks with an executor of another library, such as a client of Dask.

    Parameters
    ----------
    work : Work
        The work of the job.
    executor : object
        Has a method ``submit(function, *arguments)`` that returns a future.
    """

    def __init__(self, work: Work, executor: Any) -> None:
        check_picklable(work)
        super().__init__(work, executor)

    def submit(self, task: Task) -> Future:
        """Run a task. Raises JobError if the executor does not accept it."""
        try:
            return super().submit(task)
        except LostError as error:
            raise JobError(
                f"The executor {self.kind} did not accept a task: {error}. "
                "Run the job again with a working executor; finished parts are kept."
            ) from error.__cause__

    def outcome(self, future: Any) -> Done:
        """Return the result of a future that is done. Raises its error or LostError."""
        done: Done = super().outcome(future)
        return done
