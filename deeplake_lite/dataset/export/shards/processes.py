"""Worker processes of an export, which write one file after the other.

Python code writes most formats, and threads cannot run Python code in parallel. A worker is a new
process that imports only this package, so scripts need no ``if __name__ == "__main__"``. A worker
reads the parts of the export from standard input, and then the files to write, until the input
ends. On standard output, it replies whether it can read the rows, and then sends the numbers of
written rows, the finished files, and errors.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from deeplake_lite.dataset.export.shards.drafts import write_file
from deeplake_lite.dataset.export.shards.journal import Written
from deeplake_lite.dataset.export.shards.plan import Part, Shard, refuse_to_name
from deeplake_lite.errors import StorageError
from deeplake_lite.storage.repo import spreading_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

READY = True
"""The first reply of a worker that can read the rows."""

PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from deeplake_lite.dataset.export.shards.processes import main; main()"
)
"""Code of a worker. It reads the import path from standard input."""


def pickle_assignment(root: Path, parts: Sequence[Part]) -> bytes | None:
    """Pickle the folder and parts of an export for workers. Return None if that is impossible."""
    try:
        with spreading_credentials():
            return pickle.dumps((root, [replace(part, name=refuse_to_name) for part in parts]))
    except Exception:  # pickling types and queries of other packages may raise anything
        return None


class Worker:
    """A worker process.

    Parameters
    ----------
    assignment : bytes
        The result of `pickle_assignment`.
    """

    def __init__(self, assignment: bytes) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # A terminal sends Ctrl-C to a whole group; this process stops its workers itself.
            process_group=0 if os.name == "posix" else None,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._replies = self._process.stdin, self._process.stdout
        self._assignment = assignment

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()
        self._process.wait()
        for pipe in (self._requests, self._replies):
            with suppress(OSError):  # buffered data cannot be sent any more
                pipe.close()

    def kill(self) -> None:
        """Kill the process. Any thread may call this method."""
        self._process.kill()

    def start(self) -> bool:
        """Wait until the process has started, and return whether the process can read the rows.

        The process cannot read the rows if, for example, a column type is defined in a notebook.

        Raises
        ------
        StorageError
            If the process has exited.
        """
        with self._as_storage_error("should have written files"):
            self._requests.write(json.dumps(sys.path).encode() + b"\n" + self._assignment)
            self._requests.flush()
            return pickle.load(self._replies) is READY

    def write(self, number: int, shard: Shard, progress: Callable[[int], None]) -> Written:
        """Let the process write a file; see `write_file`. `number` is the index of the file's part.

        Raises
        ------
        StorageError
            If the process has exited.
        """
        with self._as_storage_error(f"wrote {shard.path!r}"):
            pickle.dump((number, shard.number, shard.rows, shard.path), self._requests)
            self._requests.flush()
            while True:
                match pickle.load(self._replies):
                    case int(rows):
                        progress(rows)
                    case Written() as written:
                        return written
                    case error:
                        raise error

    @contextmanager
    def _as_storage_error(self, task: str) -> Iterator[None]:
        """Raise StorageError if the process exits during the ``with`` block."""
        try:
            yield
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            raise StorageError(
                f"The process that {task} exited with code {self._process.wait()}. If it ran out "
                "of memory, pass fewer processes as executor=, or write smaller files."
            ) from None


def main() -> None:
    """Run a worker, which writes files until its standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with replies

    def reply(message: Any) -> None:
        replies.write(message if isinstance(message, bytes) else pickle.dumps(message))
        replies.flush()

    try:
        root, parts = pickle.load(requests)
        for part in parts:
            part.view.rows.locate()  # views are opened on first use, which may fail
    except Exception:  # a user's types and functions may raise anything
        reply(None)
        return
    reply(READY)
    try:
        while True:
            number, shard_number, rows, path = pickle.load(requests)
            shard = Shard(parts[number], shard_number, rows, path)
            reply(write_file(root, shard, reply))
    except (EOFError, BrokenPipeError):
        return
    except Exception as error:
        reply(_pickle_error(error))


def _pickle_error(error: Exception) -> bytes:
    """Pickle an error or, if that fails, a RuntimeError with the same message."""
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:  # the class of the error may raise anything
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return data
