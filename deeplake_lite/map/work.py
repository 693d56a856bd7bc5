"""The work of workers: read the rows of a part, call the function, and write the results.

A worker writes to a fork of the job's branch, to chunks that no other attempt writes. It returns
the fork, which lists these chunks but does not contain their bytes::

    driver                        worker
    ─ Task: rows, chunks, fork ─► read a batch, call the function, encode ─┐
                                  write a segment ◄──── repeat ────────────┘
    ◄─ Done: the fork, counts ──
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset.read.reading import read_blocks
from deeplake_lite.dataset.selection import RowSelection
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import InvalidValueError, JobError, LoaderError, message_of
from deeplake_lite.htypes.cells import Cells, DenseCells, take
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.loader.make.recipe import Job as Rows
from deeplake_lite.loader.order.epoch import Rows as Places
from deeplake_lite.loader.read.samples import ROW_ID
from deeplake_lite.map.outputs import encode_output, encode_rows
from deeplake_lite.map.places import SEGMENTS, chunk_of, segment_bytes
from deeplake_lite.remote.segments import Block, SegmentWriter
from deeplake_lite.storage.repo import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.saved.pickles import Address
    from deeplake_lite.dataset.selection import Lake
    from deeplake_lite.loader.make.recipe import Recipe
    from deeplake_lite.schema import Field, Schema
    from deeplake_lite.storage.repo import Session
    from deeplake_lite.storage.table import Table

MAX_ERROR = 500
"""Maximum length of the stored error of a skipped row, in characters."""


@dataclass(frozen=True)
class Task:
    """One attempt at a part of a job."""

    part: int
    """Number of the part."""
    attempt: int
    """Number of the attempt, which determines to which chunks it writes. No other attempt has this
    number."""
    first: int
    """Number of the part's first row among the rows of the job."""
    slots: NDArray[np.int64]
    """Slots of the rows in the version that the job reads, (n,) int64."""
    fork: bytes
    """A serialized session on the job's branch."""


@dataclass(frozen=True)
class Done:
    """A finished attempt."""

    part: int
    """Number of the part."""
    attempt: int
    """Number of the attempt."""
    segments: int
    """Number of chunks that were written."""
    rows: int
    """Number of rows with results."""
    skipped: int
    """Number of rows that were skipped because of errors."""
    fork: bytes
    """The serialized session, which lists the chunks that were written."""


@dataclass(frozen=True)
class Opened:
    """The lakes of a job, opened in this process."""

    lake: Lake
    """The lake that the job reads."""
    table: Table
    """The version that it reads."""
    target: Session
    """A session of the lake with the journal, to which results are written."""


@dataclass
class Work:
    """Everything that a worker needs to know about a job. It is pickled for other processes."""

    address: Address
    """The version that the job reads."""
    fields: tuple[Field, ...]
    """The columns that the function receives."""
    into: Schema
    """The columns that the function fills."""
    recipe: Recipe
    """How to make batches of stored cells."""
    function: Callable[..., object]
    """The user's function."""
    setup: Callable[[], object] | None
    """A function that is called once in each process. Its result is passed to the user's
    function."""
    batch: int
    """Number of rows in a batch."""
    read_rows: int
    """Number of rows that are read at a time, a multiple of `batch`."""
    skip: bool
    """Whether rows that fail are skipped."""
    name: str
    """Name of the function in messages."""
    target: Address | None = None
    """The lake for new rows, or None if the function fills columns of the lake that it reads."""
    keep: tuple[tuple[Field, str], ...] = ()
    """Columns of the input whose cells are copied to new rows, with the ids of the copies."""
    opened: Opened | None = field(default=None, repr=False)
    """The opened lakes, or None if they have not been opened in this process."""
    stopped: bool = False
    """Whether tasks in this process should end before their next batch."""
    _resource: list[object] = field(default_factory=list, repr=False)
    _guard: Lock = field(default_factory=Lock, repr=False)

    def __getstate__(self) -> dict[str, object]:
        own = ("opened", "_resource", "_guard")
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, opened=None, _resource=[], _guard=Lock())

    def open(self) -> Opened:
        """Open the version that the job reads, and the lake to which it writes."""
        with self._guard:
            if self.opened is None:
                lake, table = self.address.open()
                target = table if self.target is None else self.target.open()[1]
                self.opened = Opened(lake, table, target.session)
            return self.opened

    def prepare(self) -> None:
        """Call `setup`, unless this has been done in this process. Raises JobError."""
        with self._guard:
            if self.setup is None or self._resource:
                return
            try:
                self._resource.append(self.setup())
            except Exception as error:
                raise JobError(
                    f"The function setup={self.setup!r} failed: {type(error).__name__}: "
                    f"{message_of(error)}"
                ) from error

    def make_all(self, tasks: Sequence[Task], _: int) -> tuple[Sequence[Done], Exception | None]:
        """Run tasks until one fails. Return the finished tasks, and the error or None."""
        done: list[Done] = []
        for task in tasks:
            try:
                done.append(self.run(task))
            except Exception as error:
                return done, error
        return done, None

    def run(self, task: Task) -> Done:
        """Run a task.

        Raises
        ------
        JobError
            When the function fails, or returns something that the columns do not accept.
        """
        self.prepare()
        opened = self.open()
        writer = _Attempt(task, opened.target.at(task.fork))
        # Copied cells get new checksums, so the old checksums are verified here.
        table = opened.table.checked() if self.keep else opened.table
        view = View(RowSelection(opened.lake, table, task.slots), (), "")
        for start, cells in self._read(view, opened.table.ids(task.slots)):
            if self.stopped:
                raise JobError("The job was stopped.")
            self._compute(cells, start, writer)
        return writer.finish()

    def _read(
        self, view: View, ids: NDArray[np.int64]
    ) -> Iterator[tuple[int, Mapping[str, Cells]]]:
        """Yield, for each batch, its first position in the part and its cells."""
        fields = tuple(dict.fromkeys([*self.fields, *(f for f, _ in self.keep)]))
        for start in range(0, len(view), self.read_rows):
            rows = np.arange(start, min(start + self.read_rows, len(view)))
            block = dict(read_blocks(view, fields, rows)) | {ROW_ID: DenseCells(ids[rows])}
            for first in range(0, len(rows), self.batch):
                batch = np.arange(first, min(first + self.batch, len(rows)))
                if len(batch) == len(rows):
                    yield start, block
                else:
                    yield start + first, {name: take(c, batch) for name, c in block.items()}

    def _compute(self, cells: Mapping[str, Cells], start: int, writer: _Attempt) -> None:
        """Call the function with a batch, and add its results to the attempt.

        If the batch fails and failing rows are to be skipped, its rows are tried one by one.
        """
        count = len(cells[ROW_ID])
        try:
            writer.add(self._call(cells, start, count))
        except _Failure as failure:
            if not self.skip:
                raise self._error(failure, cells[ROW_ID]) from failure.__cause__
            if count == 1:
                writer.skip(start, failure)
                return
            for row in range(count):
                one = {name: take(c, np.array([row])) for name, c in cells.items()}
                self._compute(one, start + row, writer)

    def _call(self, cells: Mapping[str, Cells], start: int, count: int) -> Block:
        """Return the results that the function computes for a batch. Raises _Failure."""
        where = Places(np.arange(start, start + count))
        try:
            batch = self.recipe.make(Rows(cells, count, where), 0).batch
        except LoaderError as error:
            raise _Failure("decode", str(error), error.__cause__) from error
        try:
            output = self.function(batch, *self._resource)
        except Exception as error:
            raise _Failure("call", f"{type(error).__name__}: {message_of(error)}", error) from error
        rows = np.arange(start, start + count)
        try:
            if self.target is None:
                return Block(rows, encode_output(output, self.into, count))
            counts, columns = encode_rows(output, self.into, count)
        except InvalidValueError as error:
            raise _Failure("encode", str(error), error) from error
        origins = np.repeat(np.arange(count), counts)
        kept = {column: take(cells[f.name], origins) for f, column in self.keep}
        return Block(rows, {**columns, **kept}, counts)

    def _error(self, failure: _Failure, ids: Cells) -> JobError:
        assert isinstance(ids, DenseCells)
        row_ids = ids.values.tolist()
        rows = f"{pluralize(len(row_ids), 'row')} (row ids {row_ids[0]}"
        rows += ")" if len(row_ids) == 1 else f" to {row_ids[-1]})"
        what = {
            "decode": "cannot be decoded",
            "call": f"made {self.name} fail",
            "encode": f"got results from {self.name} that the lake does not accept",
        }[failure.stage]
        return JobError(
            f"A batch of {rows} {what}: {failure.reason.rstrip('.')}. Fix the function or the rows "
            "and run the job again, or leave such rows out with on_error='skip'.",
            row_ids=row_ids,
        )


class _Failure(Exception):
    """A batch without results.

    Parameters
    ----------
    stage : {"decode", "call", "encode"}
        What failed.
    reason : str
        The error's message.
    """

    def __init__(self, stage: str, reason: str, cause: BaseException | None) -> None:
        super().__init__(reason)
        self.stage, self.reason = stage, reason
        self.__cause__ = cause


class _Attempt:
    """The results of one attempt, which are written as segments."""

    def __init__(self, task: Task, fork: Session) -> None:
        self._task, self._fork = task, fork
        self._segment = SegmentWriter()
        self._segments = self._rows = self._skipped = 0

    def add(self, block: Block) -> None:
        """Add results. The rows of the block are positions in the part."""
        self._segment.add(replace(block, rows=block.rows + self._task.first))
        self._rows += len(block.rows)
        if self._segment.nbytes >= segment_bytes(self._segments):
            self._write()

    def skip(self, position: int, failure: _Failure) -> None:
        """Add a row that was skipped."""
        self._segment.skip(position + self._task.first, failure.reason[:MAX_ERROR])
        self._skipped += 1

    def finish(self) -> Done:
        """Write what remains, and return the finished attempt."""
        if self._segment:
            self._write()
        return Done(
            self._task.part,
            self._task.attempt,
            self._segments,
            self._rows,
            self._skipped,
            self._fork.saved(),
        )

    def _write(self) -> None:
        if self._segments == SEGMENTS:
            raise JobError(
                f"The results of a part may take at most {SEGMENTS} chunks, but part "
                f"{self._task.part} takes more. Pass a smaller batch=, which makes parts smaller."
            )
        run(self._fork.put(chunk_of(self._task.attempt, self._segments), self._segment.take()))
        self._segments += 1
