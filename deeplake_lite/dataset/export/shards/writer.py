"""Writer of sharded exports, which is parallel, resumable, and shows a progress bar.

The module of each format creates a `Part` for each series of files, such as the files of a split. A
part opens the files and writes rows to them. `write_shards` does everything else:

1. It plans the rows of each file (`plan`).
2. A thread writes the files that are not finished yet. If the export is large, and other processes
   can read the rows, worker processes join in as soon as they have started.
   Instead, the user can choose an executor of another library, which writes all files (`remote`).
3. The main thread records finished files in the `journal`, and writes the index at the end.
"""

from __future__ import annotations

import os
from collections import deque
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.export.atomic_files import as_storage_errors
from deeplake_lite.dataset.export.shards.drafts import write_file
from deeplake_lite.dataset.export.shards.journal import Written, resumable_folder
from deeplake_lite.dataset.export.shards.processes import Worker, pickle_assignment
from deeplake_lite.dataset.export.shards.remote import write_remotely
from deeplake_lite.dataset.repr import bars
from deeplake_lite.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from deeplake_lite.dataset.export.shards.plan import Part, Shard
    from deeplake_lite.pool import Job

MAX_WORKERS = 8
"""Maximum number of workers if the user does not choose a number."""

LARGE_BYTES = 2**30
LARGE_ROWS = 100_000
"""Number of rows of a large export. An export with fewer rows and fewer than `LARGE_BYTES` bytes
starts no processes, because starting a process takes a second."""

THREADS = 1
"""Number of workers of a large export that are threads of this process, and can begin immediately.
Tests set this number to 0, so that processes write all files."""

FORMAT = 1
"""Version of the written bytes. A release that writes different bytes for the same rows must raise
this number, so that the release does not continue exports that an older release began."""


def default_workers() -> int:
    """Return the number of workers if the user does not choose one: one per core, up to 8."""
    if hasattr(os, "sched_getaffinity"):
        return min(MAX_WORKERS, len(os.sched_getaffinity(0)))
    return min(MAX_WORKERS, os.cpu_count() or 1)


def write_shards(
    root: Path,
    parts: Sequence[Part],
    *,
    method: str,
    options: Mapping[str, object],
    executor: Any,
    finish: Callable[[Sequence[Sequence[Written]]], None] = lambda _: None,
) -> list[Path]:
    """Write the rows of parts to files in a folder.

    Parameters
    ----------
    root : Path
        A new or empty folder, or one where the same export was interrupted.
    parts : sequence of Part
        The rows, and the files to which they are written.
    method : str
        Name of the export, for messages.
    options : mapping
        JSON values of all options on which the files depend, apart from the rows.
    executor : int or object, optional
        Number of files to write at a time, or an executor of another library.
    finish : callable, optional
        Function that writes the index files, given the finished files of each part.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    ExistsError
        If the folder is not empty, unless the same export was interrupted there.
    StorageError
        If a file cannot be written.
    """
    root = root.absolute()
    shards = [part.shards() for part in parts]
    every = [(number, shard) for number, files in enumerate(shards) for shard in files]
    measures = [part.measure() for part in parts]
    header = {
        "export": method,
        "format": FORMAT,
        "files": len(every),
        "identity": [identity for identity, _ in measures],
        "options": dict(options),
    }
    with as_storage_errors(root), resumable_folder(root, header) as journal:
        missing = [(n, shard) for n, shard in every if shard.path not in journal.done]
        total = sum(len(shard.rows) for _, shard in every)
        done = total - sum(len(shard.rows) for _, shard in missing)
        is_large = total >= LARGE_ROWS or sum(size for _, size in measures) >= LARGE_BYTES
        with bars.bar(method, total, done=done) as bar:
            if executor is None or isinstance(executor, int):
                count = min(executor or default_workers(), len(missing)) if is_large else 1
                assignment = pickle_assignment(root, parts) if count > 1 else None
                workers = [None] if assignment is None else [None] * THREADS + [assignment] * count
                _Run(root, missing).run(workers[:count], journal.add, bar.update)
            else:
                write_remotely(root, parts, missing, executor, journal.add, bar.update)
        finish([[journal.done[shard.path] for shard in files] for files in shards])
    return [root / shard.path for _, shard in every]


class _StoppedError(Exception):
    """Raised to stop the writing of a file, because the writing of another file has failed."""


class _Run:
    """The writing of files by workers: threads that write, or that control a writing process."""

    def __init__(self, root: Path, shards: Sequence[tuple[int, Shard]]) -> None:
        self._root, self._shards = root, shards
        self._waiting = deque(shards)
        self._messages: SimpleQueue[int | Written | BaseException] = SimpleQueue()
        """Messages from the threads: a number of written rows, a finished file, or an error."""
        self._workers: list[Worker] = []
        self._stopped = False

    def run(
        self,
        workers: Sequence[bytes | None],
        add: Callable[[Written], None],
        progress: Callable[[int], Any],
    ) -> None:
        """Write the files.

        Parameters
        ----------
        workers : sequence of (bytes or None)
            The assignment of each worker: bytes for a process (see `processes`), None for a thread.
        add, progress : callable
            Functions that are called with each finished file, and with numbers of written rows.
        """
        unfinished = len(self._shards)
        with Pool(max(1, len(workers))) as pool:
            jobs: list[Job[None]] = []
            try:
                jobs.extend(pool.submit(self._work, assignment) for assignment in workers)
                while unfinished:
                    match self._messages.get():
                        case Written() as written:
                            add(written)
                            unfinished -= 1
                        case BaseException() as error:
                            raise error
                        case int(rows):
                            progress(rows)
            finally:
                self._stop()
                for job in jobs:  # nothing may be written after this returns
                    job.wait()

    def _stop(self) -> None:
        self._stopped = True
        for worker in self._workers:
            worker.kill()

    def _work(self, assignment: bytes | None) -> None:
        """Write files one after the other, in a thread or in the process that it controls."""
        try:
            if assignment is None:
                self._write_all(self._write_here)
                return
            with Worker(assignment) as worker:
                self._workers.append(worker)
                if self._stopped:  # `_stop` may have run before the worker was in the list
                    return
                if worker.start():
                    self._write_all(lambda n, shard: worker.write(n, shard, self._progress))
                    return
            self._write_all(self._write_here)
        except _StoppedError:
            pass
        except BaseException as error:
            self._messages.put(error)  # raised again in the main thread, unless it has stopped

    def _write_all(self, write: Callable[[int, Shard], Written]) -> None:
        while not self._stopped:
            try:
                number, shard = self._waiting.popleft()
            except IndexError:
                return
            self._messages.put(write(number, shard))

    def _write_here(self, _: int, shard: Shard) -> Written:
        return write_file(self._root, shard, self._progress)

    def _progress(self, rows: int) -> None:
        if self._stopped:
            raise _StoppedError
        self._messages.put(rows)
