"""The pool of worker processes of a loader, which run until the loader is closed.

The loader's process reads the cells of a batch and sends them to a worker, which replies with the
batch. Workers are new processes, not forks. A worker imports the main module only if the recipe
needs this module.
"""

from __future__ import annotations

import base64
import json
import multiprocessing.spawn
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from deeplake_lite.errors import LoaderError
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.loader.read.readers import CLOSED
from deeplake_lite.loader.workers.channel import Channel
from deeplake_lite.loader.workers.worker import Assignment
from deeplake_lite.pickling import pickle_value
from deeplake_lite.remote.failure import RemoteTracebackError, error_of
from deeplake_lite.storage.repo import spreading_credentials

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deeplake_lite.loader.make.recipe import BatchResult, Job, Recipe
    from deeplake_lite.loader.options import Options
    from deeplake_lite.loader.workers.worker import Reply
    from deeplake_lite.remote.failure import Failure

CHANNELS = 2
"""Number of channels to each worker: one for its current batch, and one for the next."""

GRACE = 0.5
"""Seconds that a worker has to exit before it is killed."""

PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.readline()); "
    "from deeplake_lite.loader.workers.worker import main; main()"
)
"""Code that a worker runs. The worker reads the import path and sockets from standard input."""

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
"""Environment of a worker: libraries use one thread, unless the user has set these variables."""


class WorkerPool:
    """The worker processes of one loader.

    Parameters
    ----------
    recipe : Recipe
        How to make batches.
    count : int
        Number of processes.
    """

    def __init__(self, recipe: Recipe, count: int) -> None:
        self._assignment = assignment_for(recipe)
        self._lock = threading.Lock()
        self._workers: list[Worker] = []
        self.close = weakref.finalize(self, _end, self._workers, os.getpid())
        """End the processes. Called when the pool is garbage-collected and at interpreter exit."""
        for _ in range(count):
            self._workers.append(Worker(self._assignment))

    def make_all(
        self, jobs: Sequence[Job], epoch: int
    ) -> tuple[Sequence[BatchResult], Exception | None]:
        """Make batches in a worker until a batch fails. See `Recipe.make_all`.

        Raises
        ------
        LoaderError
            When the worker ended before it replied, or could not start.
        """
        worker, channel = self._acquire()
        try:
            reply: Reply = channel.request((jobs, epoch))
        except EOFError:
            worker.ended = True
            # A request in another thread may have received the reason and stopped the worker.
            if worker.start_failure is not None:
                raise _start_error(worker.start_failure)  # noqa: B904 - it already has a cause
            raise LoaderError(self._explain_end(worker, jobs)) from None
        finally:
            worker.free.append(channel)
        if reply.failure is None:
            return reply.results, None
        if reply.failure.start is not None:
            worker.start_failure, worker.ended = reply.failure, True
            raise _start_error(reply.failure)
        return reply.results, error_of(reply.failure)

    def _acquire(self) -> tuple[Worker, Channel]:
        """Return the least busy worker and a channel to it, after replacing ended workers."""
        with self._lock:
            if not self.close.alive:
                raise LoaderError(CLOSED)
            for at, worker in enumerate(self._workers):
                if worker.ended or not worker.is_alive():
                    worker.end(time.monotonic())
                    self._workers[at] = Worker(self._assignment)
            least_busy = max(self._workers, key=lambda worker: len(worker.free))
            return least_busy, least_busy.free.pop()

    def _explain_end(self, worker: Worker, jobs: Sequence[Job]) -> str:
        if not self.close.alive:
            return CLOSED
        rows = sum(job.rows for job in jobs)
        return (
            f"A worker process {worker.how_it_ended()} while it made a batch of "
            f"{pluralize(rows, 'row')}. If it ran out of memory, set a smaller num_workers or "
            "batch_size. If a transform, or a library that it calls, ends the process, set "
            "num_workers=0 to make batches in this process."
        )


class Worker:
    """One worker process and the channels to it."""

    def __init__(self, assignment: Assignment) -> None:
        pairs: list[tuple[socket.socket, socket.socket]] = []
        try:
            for _ in range(CHANNELS):
                pairs.append(socket.socketpair())  # noqa: PERF401 - if it fails, all are closed
            self._process = _start([theirs for _, theirs in pairs])
        except OSError as error:
            for ours, _ in pairs:
                ours.close()
            raise LoaderError(
                f"A worker process could not be started: {error}. Close files, free memory, or "
                "set a smaller num_workers, such as 0 to make batches in this process."
            ) from error
        finally:
            for _, theirs in pairs:
                theirs.close()
        self._channels = [Channel(pair[0], self.is_alive) for pair in pairs]
        self.free = list(self._channels)
        """Channels that are not in use."""
        self.ended = False
        """Whether the process is known to have ended."""
        self.start_failure: Failure | None = None
        """The reason why the process could not start, if it has sent one."""
        with suppress(EOFError):  # the next request raises the error
            self._channels[0].send(assignment)

    def is_alive(self) -> bool:
        """Return whether the process runs."""
        return self._process.poll() is None

    def how_it_ended(self) -> str:
        """Describe how the process ended, with a verb phrase such as "exited with code 1"."""
        try:
            code = self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return "closed its connection"
        if code >= 0:
            return f"exited with code {code}"
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
        return f"was ended by signal {-code}"

    def hang_up(self) -> None:
        """Ask the process to end by shutting down its channels."""
        for channel in self._channels:
            channel.hang_up()

    def end(self, until: float) -> None:
        """End the process. Kill a process that still runs when `time.monotonic` reaches `until`."""
        self.hang_up()
        try:
            self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for channel in self._channels:
            channel.close()


def _end(workers: list[Worker], pid: int) -> None:
    """End all worker processes. In a fork of the process with id `pid`, do nothing."""
    if os.getpid() != pid:
        return
    for worker in workers:
        worker.hang_up()
    until = time.monotonic() + GRACE
    for worker in workers:
        worker.end(until)


def _start(ends: list[socket.socket]) -> subprocess.Popen[bytes]:
    """Start a worker process that uses the given ends of its sockets."""
    command = [
        multiprocessing.spawn.get_executable(),
        *subprocess._args_from_interpreter_flags(),  # type: ignore[attr-defined]  # noqa: SLF001 # the same flags
        "-c",
        PROGRAM,
    ]
    posix = sys.platform != "win32"
    with _without_interrupts():
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            pass_fds=[end.fileno() for end in ends] if posix else (),
            env={**ONE_THREAD, **os.environ},
        )
    if sys.platform == "win32":
        names = [base64.b64encode(end.share(process.pid)).decode() for end in ends]
    else:
        names = [str(end.fileno()) for end in ends]
    assert process.stdin is not None
    with suppress(OSError):  # the process has already ended, and the next request will fail
        process.stdin.write(f"{json.dumps(sys.path)}\n{' '.join(names)}\n".encode())
        process.stdin.close()
    return process


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block SIGINT in this thread, and in processes that it starts, which unblock it themselves.

    Otherwise, Ctrl-C could interrupt a worker before it has installed its signal handler.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def check_functions(options: Options) -> None:
    """Raise LoaderError if a user's function cannot be sent to another process."""
    for name in ("transform", "batch_transform", "collate"):
        value = getattr(options, name)
        try:
            pickle_value(value)
        except Exception as error:
            reason = str(error).rstrip(".")
            raise LoaderError(
                "Functions for worker processes must be picklable, but pickling "
                f"{name}={value!r} failed: {reason}. Define the function at the top level of a "
                "module, install cloudpickle, or use workers='threads'."
            ) from error


def assignment_for(recipe: Recipe) -> Assignment:
    """Return the first message to a worker, with the recipe and the data to import its modules.

    Raises
    ------
    RuntimeError
        In a worker that is importing a main module without a guard.
    """
    preparation = multiprocessing.spawn.get_preparation_data("deeplake-lite-load")
    with spreading_credentials():
        data = pickle_value(recipe)
    if b"__main__" not in data:
        preparation = {k: v for k, v in preparation.items() if not k.startswith("init_main")}
    preparation.pop("authkey", None)  # a secret that is not needed
    return Assignment(preparation, data)


def _start_error(failure: Failure) -> LoaderError:
    """Return the error for a worker that could not start."""
    start, message = failure.start, failure.message.strip().partition("\n")[0].removesuffix(".")
    assert start is not None
    if start.main is None:
        where = f" at {start.last}" if start.last else ""
        error = LoaderError(
            "A worker process must import the modules that the transform needs, but that failed "
            f"with {message}{where}. Define the transform in a module that can be imported by "
            "itself, or use workers='threads'."
        )
    else:
        via = f", at {start.last}" if start.last else ""
        problem = (
            f"would itself start workers{via}" if start.starts_workers
            else f"fails{via}: {message}"
        )  # fmt: skip
        error = LoaderError(
            "A worker process imports the main module, where the transform is defined, and so "
            f"runs {start.main}, which {problem}. Put that line below `if __name__ == "
            '"__main__":`, define the transform in a separate module, or use '
            "workers='threads'."
        )
    error.__cause__ = RemoteTracebackError(failure.traceback)
    return error
