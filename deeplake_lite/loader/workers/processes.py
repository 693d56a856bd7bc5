"""Worker processes of a loader: started once, asked for batches, and never outlived.

The loader's process reads; a worker gets the cells of a batch and gives the batch back. Workers are
new processes, no forks, and import the main module only if the recipe needs it.
"""

from __future__ import annotations

import base64
import json
import multiprocessing.spawn
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import LoaderError
from deeplake_lite.loader.read.readers import CLOSED
from deeplake_lite.loader.workers.channel import Channel
from deeplake_lite.loader.workers.worker import Assignment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deeplake_lite.loader.make.recipe import Job, BatchResult, Recipe
    from deeplake_lite.loader.options import Options
    from deeplake_lite.loader.workers.worker import Answer, Failure

CHANNELS = 2
"""Jobs that a worker has at a time: one that it does, one that waits."""

GRACE = 0.5
"""Seconds that a worker has to end by itself."""

PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.readline()); "
    "from deeplake_lite.loader.workers.worker import main; main()"
)
"""What a worker runs; it is told on stdin where modules are, and where to connect."""

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
"""Environment of a worker: libraries in it start no threads, unless the user has said how many."""


class RemoteTracebackError(Exception):
    """The traceback of an error in another process, as text: the cause of the one raised here."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}\n"""'


class WorkerPool:
    """The worker processes of one loader.

    Parameters
    ----------
    recipe : Recipe
        What they follow.
    count : int
        How many.
    """

    def __init__(self, recipe: Recipe, count: int) -> None:
        self._assignment = assignment_for(recipe)
        self._lock = threading.Lock()
        self._workers: list[Worker] = []
        self.close = weakref.finalize(self, _end, self._workers, os.getpid())
        """End the processes; called when the crew is collected, and when the interpreter exits."""
        for _ in range(count):
            self._workers.append(Worker(self._assignment))

    def make_all(self, jobs: Sequence[Job], epoch: int) -> tuple[Sequence[BatchResult], Exception | None]:
        """Have batches made, as `Recipe.make_all` makes them.

        Raises
        ------
        LoaderError
            When the worker ended before it answered, or could not start.
        """
        worker, lane = self._leased()
        try:
            answer: Answer = lane.ask((jobs, epoch))
        except EOFError:
            worker.ended = True
            if worker.refusal is not None:
                raise _not_started(worker.refusal)  # noqa: B904 - it has its cause
            raise LoaderError(self._epitaph(worker, jobs)) from None
        finally:
            worker.free.append(lane)
        if answer.failure is None:
            return answer.made, None
        if answer.failure.start is not None:
            worker.refusal, worker.ended = answer.failure, True
            raise _not_started(answer.failure)
        return answer.made, raised(answer.failure)

    def _leased(self) -> tuple[Worker, Channel]:
        """Return the worker with the least to do, and a lane to it; one that ended is replaced."""
        with self._lock:
            if not self.close.alive:
                raise LoaderError(CLOSED)
            for at, worker in enumerate(self._workers):
                if worker.ended or not worker.is_there():
                    worker.end(time.monotonic())
                    self._workers[at] = Worker(self._assignment)
            chosen = max(self._workers, key=lambda worker: len(worker.free))
            return chosen, chosen.free.pop()

    def _epitaph(self, worker: Worker, jobs: Sequence[Job]) -> str:
        if not self.close.alive:
            return CLOSED
        rows = sum(job.rows for job in jobs)
        return (
            "A worker process answers until it is told to end, got one that "
            f"{worker.how_it_ended()} while it made a batch of {rows} rows. Was memory short (take "
            "fewer num_workers, or a smaller batch_size), or does a transform, or a library that "
            "it calls, end the process? With num_workers=0 it runs in this one."
        )


class Worker:
    """One process, and the lanes to it."""

    def __init__(self, assignment: Assignment) -> None:
        pairs: list[tuple[socket.socket, socket.socket]] = []
        try:
            for _ in range(CHANNELS):
                pairs.append(socket.socketpair())  # noqa: PERF401 - those there are get closed
            self._process = _started([theirs for _, theirs in pairs])
        except OSError as error:
            for ours, _ in pairs:
                ours.close()
            raise LoaderError(
                f"A worker process could not be started: {error}. Close files, free memory, or "
                "take fewer num_workers; with 0, batches are made in this process."
            ) from error
        finally:
            for _, theirs in pairs:
                theirs.close()
        self._lanes = [Channel(pair[0], self.is_there) for pair in pairs]
        self.free = list(self._lanes)
        """Lanes that nobody uses."""
        self.ended = False
        """Whether it answers no more."""
        self.refusal: Failure | None = None
        """Why it did not start, once it has said so."""
        with suppress(EOFError):  # who asks it next is told
            self._lanes[0].send(assignment)

    def is_there(self) -> bool:
        """Tell whether the process runs."""
        return self._process.poll() is None

    def how_it_ended(self) -> str:
        """Return a few words on how the process ended."""
        try:
            code = self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return "hung up"
        if code >= 0:
            return f"exited with code {code}"
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
        return f"was ended by signal {-code}"

    def hang_up(self) -> None:
        """Tell the process to end."""
        for lane in self._lanes:
            lane.hang_up()

    def end(self, until: float) -> None:
        """End the process, by force if it is still there at a moment of the monotonic clock."""
        self.hang_up()
        try:
            self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for lane in self._lanes:
            lane.close()


def _end(workers: list[Worker], pid: int) -> None:
    """End all processes; in a fork of the process that started them, leave them alone."""
    if os.getpid() != pid:
        return
    for worker in workers:
        worker.hang_up()
    until = time.monotonic() + GRACE
    for worker in workers:
        worker.end(until)


def _started(ends: list[socket.socket]) -> subprocess.Popen[bytes]:
    """Start a process that listens at some sockets."""
    command = [
        multiprocessing.spawn.get_executable(),
        *subprocess._args_from_interpreter_flags(),  # type: ignore[attr-defined]  # as its like
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
    with suppress(OSError):  # it has ended already: who asks it is told
        process.stdin.write(f"{json.dumps(sys.path)}\n{' '.join(names)}\n".encode())
        process.stdin.close()
    return process


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block SIGINT in this thread, and in processes that it starts until they unblock it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def check_functions(options: Options) -> None:
    """Refuse functions of a user that cannot be sent to another process. Raises LoaderError."""
    for name in ("transform", "batch_transform", "collate"):
        value = getattr(options, name)
        try:
            _pickled(value)
        except Exception as error:
            raise LoaderError(
                f"What runs in worker processes is sent there, got {name}={value!r}: {error}. "
                "Define it at the top of a module, install cloudpickle, or take workers='threads'."
            ) from error


def assignment_for(recipe: Recipe) -> Assignment:
    """Return what a worker is told: the recipe, and where the modules are that it needs.

    Raises
    ------
    RuntimeError
        While a main module without a guard is imported by a worker itself.
    """
    known = multiprocessing.spawn.get_preparation_data("deeplake-lite-load")
    data = _pickled(recipe)
    if b"__main__" not in data:
        known = {key: value for key, value in known.items() if not key.startswith("init_main")}
    known.pop("authkey", None)  # a secret that is not needed
    return Assignment(known, data)


def _pickled(value: Any) -> bytes:
    """Pickle a value: with cloudpickle, if it is there, what pickle cannot.

    Functions of a notebook or a prompt are such: no other process can import them.
    """
    try:
        data = pickle.dumps(value, 5)
        problem: Exception = pickle.PicklingError("no process can import what a notebook defines")
    except Exception as error:
        data, problem = b"", error
    if data and (b"__main__" not in data or hasattr(sys.modules["__main__"], "__file__")):
        return data
    try:
        import cloudpickle
    except ImportError:
        raise problem from None
    by_value: bytes = cloudpickle.dumps(value, 5)
    return by_value


def raised(failure: Failure) -> Exception:
    """Return the error of a worker as it is raised here: from its cause, with its traceback."""
    found, cause = _unpickled(failure.error), _unpickled(failure.cause)
    remote = RemoteTracebackError(failure.traceback)
    error = (
        found if isinstance(found, Exception)
        else LoaderError(f"A worker process failed: {failure.said}")
    )  # fmt: skip
    if cause is not None:
        cause.__cause__ = remote
    error.__cause__ = cause or remote
    return error


def _not_started(failure: Failure) -> LoaderError:
    start, said = failure.start, failure.said.strip().partition("\n")[0].removesuffix(".")
    assert start is not None
    if start.main is None:
        where = f" in {start.last}" if start.last else ""
        error = LoaderError(
            f"A worker process imports what the transform needs, got {said}{where}. Define the "
            "transform in a module that imports alone, or take workers='threads'."
        )
    else:
        via = f", by way of {start.last}" if start.last else ""
        got = f"starts workers there, too{via}" if start.within else f"fails there{via}: {said}"
        error = LoaderError(
            "A worker process imports the main module, where the transform is defined, and so "
            f"comes to {start.main}: it {got}. Put that line below `if __name__ == "
            '"__main__":`, define the transform in a module of its own, or take '
            "workers='threads'."
        )
    error.__cause__ = RemoteTracebackError(failure.traceback)
    return error


def _unpickled(data: bytes | None) -> BaseException | None:
    with suppress(Exception):
        found = None if data is None else pickle.loads(data)
        return found if isinstance(found, BaseException) else None
    return None
