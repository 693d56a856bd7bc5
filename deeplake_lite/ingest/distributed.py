"""The driver of an ingest whose rows are read and encoded by an executor.

The driver hands out blocks of paths, or parts of the source, and takes the encoded blocks in the
order of the source. So the lake, its commits and the first error are the same as with a single
process. The driver holds one segment at a time in memory; the others stay in the lake's store until
a vacuum deletes them.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.saved.pickles import Address
from deeplake_lite.errors import JobError, LakeError, OptionError
from deeplake_lite.ingest.encoding import Encoded, encode, read_ahead, select
from deeplake_lite.ingest.parts import Divisible
from deeplake_lite.ingest.remote_encoding import TASKS, VALUES, Task, Work, read_blocks
from deeplake_lite.ingest.run import Reading
from deeplake_lite.pickling import pickle_value
from deeplake_lite.remote.executor import LostError, Remote
from deeplake_lite.remote.processes import Processes
from deeplake_lite.storage.repo import local_folder, run, spreading_credentials
from deeplake_lite.storage.scratch import Registration
from deeplake_lite.storage.zarr_metadata import array_metadata

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.htypes.base import Check
    from deeplake_lite.ingest.encoding import OnError
    from deeplake_lite.ingest.remote_encoding import Done
    from deeplake_lite.ingest.run import Run

MAX_LOSSES = 5
"""Number of workers that may die while they encode the same rows."""

CHUNK = 2**25
"""Size of the chunks that the array of segments declares, in bytes; actual chunks differ."""

MAX_WAITING = 256 * 2**20
"""Maximum size of the blocks that wait for a worker, in bytes."""


@contextmanager
def encoding_elsewhere(
    work: Run, executor: Any, check: Check, on_error: OnError
) -> Iterator[Iterator[Encoded]]:
    """Return a context that provides the encoded blocks of a source, in the source's order.

    Parameters
    ----------
    work : Run
        The ingest.
    executor : int or object
        A number of processes, or an executor of another library.
    check, on_error
        See `Options`.

    Raises
    ------
    JobError
        If workers keep dying, or cannot reach the lake.
    """
    driver = _Driver(work, executor, check, on_error)
    try:
        yield driver.encode_blocks()
    finally:
        driver.close()


@dataclass
class _Waiting:
    """Rows that a worker encodes, or that this process encodes itself."""

    reading: Reading | None
    """The block that was read here, or None for a part of the source."""
    rows: bytes | None
    """The pickled block or part, or None if it cannot be pickled."""
    future: Any = None
    losses: int = 0


class _Driver:
    """Hands out tasks, and takes their results in order."""

    def __init__(self, work: Run, executor: Any, check: Check, on_error: OnError) -> None:
        self._run, self._check, self._on_error = work, check, on_error
        self._fields, self._start = work.fields, work.start
        lake = work.ds.rows.lake
        self._registration: Registration | None = None
        if local_folder(lake.repository.url) is not None:  # vacuums must spare the segments
            folder = lake.repository.writers_folder()
            self._registration = Registration.enter(folder, work.ds.version)
        self._session = lake.repository.writer(work.ds.current_branch or "main")
        values = array_metadata((2**28 * CHUNK,), (CHUNK,), "uint8", [], ["byte"])
        run(self._session.create_array(VALUES, values))
        self._executor = self._make_executor(executor)
        self._numbers = iter(range(TASKS))

    def _make_executor(self, executor: Any) -> Processes | Remote:
        ds, is_count = self._run.ds, isinstance(executor, int)
        with spreading_credentials() if is_count else nullcontext():
            address = Address.at(ds.rows.lake, ds.url, ds.version)
        base = self._session.saved()
        work = Work(address, base, self._fields, self._check, self._on_error)
        try:
            if is_count:
                return Processes(work, executor, JobError)
            return Remote(work, executor, JobError)
        except LakeError:
            raise
        except Exception as error:  # pickling types of other packages may raise anything
            raise OptionError(
                "The types of the columns cannot be sent to the workers of executor=, because "
                f"pickling failed: {str(error).rstrip('.')}. Define the types in a module, or "
                "leave out executor=."
            ) from error

    def close(self) -> None:
        """Stop the tasks, so that nothing is written to the folder of the lake any more."""
        if isinstance(self._executor, Remote):
            self._executor.close(wait=True)
        else:
            self._executor.close()
        if self._registration is not None:
            self._registration.leave()

    def encode_blocks(self) -> Iterator[Encoded]:
        """Yield the encoded blocks of the source, in order."""
        row = 0
        parts = self._parts()
        if parts is not None:
            row, parts = self._after_start(parts)
            for _, block in self._results(iter([_Waiting(None, rows) for rows, _ in parts])):
                begin, row = row, row + block.taken
                block = _without_first(block, min(max(self._start - begin, 0), block.taken))
                if block.taken:
                    yield self._run.finish_block(Reading.of_all(), block)
            return
        waiting = (_Waiting(r, self._pickle(r)) for r in self._run.readings())
        for reading, block in self._results(read_ahead(waiting)):
            assert reading is not None
            yield self._run.finish_block(reading, block)

    def _parts(self) -> list[tuple[bytes, int | None]] | None:
        """Return the pickled parts of the source, or None if blocks are read in this process."""
        source = self._run.source
        if not isinstance(source, Divisible) or not self._run.reads_everything:
            return None
        parts = source.divided()
        try:
            return [(pickle_value(p.source), p.rows) for p in parts] if len(parts) > 1 else None
        except Exception:  # features and types of other packages may raise anything
            return None

    def _after_start(
        self, parts: list[tuple[bytes, int | None]]
    ) -> tuple[int, list[tuple[bytes, int | None]]]:
        """Return the number of the first row that is read, and the parts from this row on."""
        row = 0
        for at, (_, rows) in enumerate(parts):
            if rows is None or row + rows > self._start:
                return row, parts[at:]
            row += rows
        return row, []

    def _pickle(self, reading: Reading) -> bytes | None:
        try:
            return pickle_value(reading.block)
        except Exception:  # values of other libraries may raise anything
            return None

    # ---- tasks

    def _results(self, todo: Iterator[_Waiting]) -> Iterator[tuple[Reading | None, Encoded]]:
        """Yield the encoded blocks of each item, in order. Further items are encoded meanwhile."""
        queue, size, is_left = deque[_Waiting](), 0, True
        while True:
            while is_left and len(queue) < self._executor.window and size < MAX_WAITING:
                if (item := next(todo, None)) is None:
                    is_left = False
                    break
                self._submit(item)
                queue.append(item)
                size += len(item.rows or b"")
            if not queue:
                return
            item = queue.popleft()
            size -= len(item.rows or b"")
            for block in self._encode_here(item) if item.rows is None else self._outcome(item):
                yield item.reading, block

    def _encode_here(self, item: _Waiting) -> Iterator[Encoded]:
        assert item.reading is not None
        yield encode(item.reading.block, self._fields, self._check, self._on_error)

    def _submit(self, item: _Waiting) -> None:
        if item.rows is None:
            return
        number = next(self._numbers, None)
        if number is None:
            raise JobError(
                f"An import with executor= may have at most {TASKS:,} blocks, but the source has "
                "more. Import it in several parts, or leave out executor=."
            )
        try:
            item.future = self._executor.submit(Task(number, item.rows))
        except LostError as error:
            raise JobError(
                f"The executor {self._executor.kind} did not accept a task: {error}. Run the "
                "import again with a working executor."
            ) from error

    def _outcome(self, item: _Waiting) -> Iterator[Encoded]:
        """Wait for a task, and yield its blocks. If its worker died, try the task again."""
        while True:
            try:
                done: Done = self._executor.outcome(item.future)
                break
            except LostError as error:
                item.losses += 1
                if item.losses == MAX_LOSSES:
                    raise JobError(
                        f"Workers died in {MAX_LOSSES} attempts at encoding {self._name(item)}; "
                        f"the last time, {error}. If they ran out of memory, use fewer workers."
                    ) from error
                self._submit(item)
        yield from read_blocks(self._session, done, self._fields)
        self._run.left_out += done.left_out

    def _name(self, item: _Waiting) -> str:
        title = self._run.source.title
        if item.reading is None or not len(item.reading.block.row_names):
            return f"a part of {title}"
        names = item.reading.block.row_names
        return f"the rows from {names[0]} to {names[len(names) - 1]} of {title}"


def _without_first(block: Encoded, count: int) -> Encoded:
    """Return a block without its first rows, which an earlier run has committed."""
    if not count:
        return block
    good = np.ones(block.taken, bool)
    good[block.bad] = False
    kept = block.bad >= count
    skipped = tuple(s for s, keep in zip(block.skipped, kept.tolist(), strict=True) if keep)
    rest = select(block, np.flatnonzero(good) >= count)
    return replace(rest, taken=block.taken - count, bad=block.bad[kept] - count, skipped=skipped)
