"""Worker processes of an export, which write one file after the other.

Python code writes most formats, and threads cannot run Python code in parallel. A worker is a
`Child`. It reads the parts of the export from standard input, and then the files to write, until
the input ends. On standard output, it replies whether it can read the rows, and then sends the
numbers of written rows, the finished files, and errors.
"""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from deeplake_lite.dataset.export.shards.drafts import write_file
from deeplake_lite.dataset.export.shards.journal import Written
from deeplake_lite.dataset.export.shards.plan import Part, Shard, refuse_to_name
from deeplake_lite.errors import StorageError
from deeplake_lite.remote.child import Child, open_pipes
from deeplake_lite.storage.repo import spreading_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

READY = True
"""The first reply of a worker that can read the rows."""


def pickle_assignment(root: Path, parts: Sequence[Part]) -> bytes | None:
    """Pickle the folder and parts of an export for workers. Return None if that is impossible."""
    try:
        with spreading_credentials():
            return pickle.dumps((root, [replace(part, name=refuse_to_name) for part in parts]))
    except Exception:  # pickling types and queries of other packages may raise anything
        return None


class Worker(Child):
    """A worker process.

    Parameters
    ----------
    assignment : bytes
        The result of `pickle_assignment`.
    """

    def __init__(self, assignment: bytes) -> None:
        super().__init__(__name__)
        self._assignment = assignment

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def start(self) -> bool:
        """Wait until the process has started, and return whether the process can read the rows.

        The process cannot read the rows if, for example, a column type is defined in a notebook.

        Raises
        ------
        StorageError
            If the process has exited.
        """
        with self._as_storage_error("should have written files"):
            self.greet(self._assignment)
            self.requests.flush()
            return pickle.load(self.replies) is READY

    def write(self, number: int, shard: Shard, progress: Callable[[int], None]) -> Written:
        """Let the process write a file; see `write_file`. `number` is the index of the file's part.

        Raises
        ------
        StorageError
            If the process has exited.
        """
        with self._as_storage_error(f"wrote {shard.path!r}"):
            pickle.dump((number, shard.number, shard.rows, shard.path), self.requests)
            self.requests.flush()
            while True:
                match pickle.load(self.replies):
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
                f"The process that {task} exited with code {self.wait()}. If it ran out "
                "of memory, pass fewer processes as executor=, or write smaller files."
            ) from None


def main() -> None:
    """Run a worker, which writes files until its standard input ends."""
    requests, replies = open_pipes()

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
