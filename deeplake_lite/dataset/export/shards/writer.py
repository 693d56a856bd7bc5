"""The writer of sharded exports: several files at a time, with a progress bar, resumable.

A format is a module that returns a `Part` for each series of files: how a file is opened, and how
rows are written to it. `write_shards` does the rest:

1. The rows of each file are planned (`plan`).
2. Threads write files that are not finished yet, each under another name until it is complete.
3. The main thread records them in the `journal`, and writes the index at the end.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from deeplake_lite import checks
from deeplake_lite.dataset.export.atomic_files import as_storage_errors
from deeplake_lite.dataset.export.shards.journal import Written, resumable_folder
from deeplake_lite.dataset.repr import bars
from deeplake_lite.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from deeplake_lite.dataset.export.shards.plan import Part, Shard
    from deeplake_lite.pool import Job

MOST_WORKERS = 8
"""Maximum number of workers by default."""

FORMAT = 1
"""Raised whenever a release writes other bytes for the same rows, so that it does not continue an
export that an older release has begun."""


def workers_of(num_workers: object) -> int:
    """Return the number of workers: the given one, or one per core. Raises OptionError.

    >>> workers_of(3)
    3
    """
    if num_workers is not None:
        return checks.integer("num_workers", num_workers, 1)
    if hasattr(os, "sched_getaffinity"):
        return min(MOST_WORKERS, len(os.sched_getaffinity(0)))
    return min(MOST_WORKERS, os.cpu_count() or 1)


def write_shards(
    root: Path,
    parts: Sequence[Part],
    *,
    method: str,
    options: Mapping[str, object],
    num_workers: int,
    finish: Callable[[Sequence[Sequence[Written]]], None] = lambda _: None,
) -> list[Path]:
    """Write the rows of parts to files in a folder.

    Parameters
    ----------
    root : Path
        A folder that is new or empty, or that of the same export, which was interrupted.
    parts : sequence of Part
        The rows and their files.
    method : str
        Name of the export, for messages.
    options : mapping
        JSON values of all options that the files depend on, apart from the rows.
    num_workers : int
        Number of files that are written at a time.
    finish : callable, optional
        Writes the index files, given the finished files of each part.

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
    shards = [part.shards() for part in parts]
    every = [shard for own in shards for shard in own]
    header = {
        "export": method,
        "format": FORMAT,
        "files": len(every),
        "identity": [part.identity() for part in parts],
        "options": dict(options),
    }
    with as_storage_errors(root), resumable_folder(root, header) as journal:
        rest = [shard for shard in every if shard.path not in journal.done]
        total = sum(len(shard.rows) for shard in every)
        done = total - sum(len(shard.rows) for shard in rest)
        with bars.bar(method, total, done=done) as bar:
            _Run(root, rest).run(num_workers, journal.add, bar.update)
        finish([[journal.done[shard.path] for shard in own] for own in shards])
    return [root / shard.path for shard in every]


class _StoppedError(Exception):
    """Another file has failed, so this one is abandoned."""


@dataclass
class _Run:
    """Files that are being written."""

    root: Path
    shards: Sequence[Shard]

    _messages: SimpleQueue[int | Written | BaseException] = field(default_factory=SimpleQueue)
    """From the threads: a number of rows, a finished file, or an error."""

    _stopped: bool = False

    def run(
        self, threads: int, add: Callable[[Written], None], progress: Callable[[int], Any]
    ) -> None:
        """Write the files; call `add` for each finished one, and `progress` with rows."""
        unfinished = len(self.shards)
        with Pool(min(threads, max(1, unfinished))) as pool:
            jobs: list[Job[None]] = []
            try:
                jobs.extend(pool.submit(self._work, shard) for shard in self.shards)
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
                self._stopped = True  # before waiting: nothing may be written after this returns
                for job in jobs:
                    job.wait()

    def _work(self, shard: Shard) -> None:
        """Write a file in a thread."""
        try:
            self._messages.put(self._write(shard))
        except _StoppedError:
            pass
        except BaseException as error:
            self._messages.put(error)  # raised again in the main thread

    def _write(self, shard: Shard) -> Written:
        if self._stopped:
            raise _StoppedError
        path = self.root / shard.path
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.part")
        try:
            with shard.part.open(draft, shard) as sink:
                for first, cells in shard.blocks():
                    if self._stopped:
                        raise _StoppedError
                    sink.write(cells, first)
                    self._messages.put(len(next(iter(cells.values()))))
                info = sink.finish()
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        return Written(shard.path, len(shard.rows), path.stat().st_size, info)
