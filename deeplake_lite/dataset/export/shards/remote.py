"""Writing of an export's files by the workers of another library's executor, such as Dask.

The workers write to the folder of the export, which they must share with this process. They stop
when the export's journal disappears, so that they write nothing after the export has ended.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import islice
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.export.shards.drafts import write_file
from deeplake_lite.dataset.export.shards.journal import NAME, has_size
from deeplake_lite.dataset.export.shards.plan import Shard, refuse_to_name
from deeplake_lite.errors import LakeError, OptionError, StorageError
from deeplake_lite.remote.executor import LostError, Remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from deeplake_lite.dataset.export.shards.journal import Written
    from deeplake_lite.dataset.export.shards.plan import Part

MAX_LOSSES = 5
"""Number of workers that may die while they write the same file."""

VISIBLE_SECONDS = 10.0
"""Seconds after which a file that a worker has written must be visible in a shared folder."""


@dataclass(frozen=True)
class Task:
    """A file to write."""

    part: int
    """Index of the file's part."""
    number: int
    """Number of the file within the part."""
    rows: range
    """Positions of the file's rows in the part's view."""
    path: str
    """Path relative to the folder of the export."""
    attempt: int = 0
    """Number of workers that died while they wrote this file."""


@dataclass(frozen=True)
class Work:
    """The parts of the export that workers need to know. This object is pickled."""

    root: Path
    """The folder of the export."""
    parts: Sequence[Part]
    """The parts of the export, without the names of files."""

    def run(self, task: Task) -> Written:
        """Write a file."""
        self._check_running(0)
        shard = Shard(self.parts[task.part], task.number, task.rows, task.path)
        return write_file(self.root, shard, self._check_running)

    def _check_running(self, _: int) -> None:
        """Raise StorageError if the export has ended, or if its folder is not shared."""
        if not (self.root / NAME).is_file():
            raise StorageError(
                f"A worker cannot find the unfinished export in the folder {str(self.root)!r}. "
                "Write to a folder that all workers of the executor share."
            )


def write_remotely(
    root: Path,
    parts: Sequence[Part],
    shards: Sequence[tuple[int, Shard]],
    executor: Any,
    add: Callable[[Written], None],
    progress: Callable[[int], Any],
) -> None:
    """Let an executor write the files of an export.

    Parameters
    ----------
    root : Path
        The folder of the export.
    parts : sequence of Part
        The parts of the export.
    shards : sequence of (int, Shard)
        The files to write, with the indices of their parts.
    executor : object
        Has a method ``submit``.
    add, progress : callable
        Functions that are called with each finished file, and with numbers of written rows.

    Raises
    ------
    OptionError
        If the rows cannot be read by other processes.
    StorageError
        If workers keep dying, or do not share the folder.
    """
    work = Work(root, [replace(part, name=refuse_to_name) for part in parts])
    try:
        remote = Remote(work, executor, StorageError)
    except LakeError:
        raise
    except Exception as error:  # pickling types and queries of other packages may raise anything
        raise OptionError(
            "The rows cannot be sent to the workers of executor=, because pickling failed: "
            f"{str(error).rstrip('.')}. Define types and functions in a module, or leave out "
            "executor=."
        ) from error
    try:
        tasks = (Task(n, shard.number, shard.rows, shard.path) for n, shard in shards)
        for written in _results(remote, tasks):
            _wait_until_visible(root, written)
            add(written)
            progress(written.rows)
    finally:
        remote.close()


def _results(remote: Remote, tasks: Iterator[Task]) -> Iterator[Written]:
    """Submit tasks, and yield each file when it is finished."""
    replies = SimpleQueue[tuple[Task, Any]]()

    def submit(task: Task) -> None:
        try:
            future = remote.submit(task)
        except LostError as error:
            raise StorageError(
                f"The executor {remote.kind} did not accept a task: {error}. Call the export again "
                "with a working executor; finished files are kept."
            ) from error
        future.add_done_callback(lambda done: replies.put((task, done)))

    running = 0
    for task in islice(tasks, remote.window):
        submit(task)
        running += 1
    while running:
        task, future = replies.get()
        try:
            written = remote.outcome(future)
        except LostError as error:
            if task.attempt + 1 == MAX_LOSSES:
                raise StorageError(
                    f"Workers died in {MAX_LOSSES} attempts at writing {task.path!r}; the last "
                    f"time, {error}. If they ran out of memory, write smaller files, or give the "
                    "workers more memory."
                ) from error
            submit(replace(task, attempt=task.attempt + 1))
            continue
        running -= 1
        for following in islice(tasks, 1):
            submit(following)
            running += 1
        yield written


def _wait_until_visible(root: Path, written: Written) -> None:
    """Wait for a file that a worker has written. Raises StorageError if it does not appear."""
    until = time.monotonic() + VISIBLE_SECONDS
    while not has_size(root / written.path, written.bytes):
        if time.monotonic() >= until:
            raise StorageError(
                f"A worker has written {written.path!r}, but the file is not in {str(root)!r} on "
                "this machine. Write to a folder that all workers of the executor share."
            )
        time.sleep(0.05)
