"""The work of workers: read and encode rows of a source, and write the cells to a fork of the lake.

A worker gets a block, usually of paths, or a part of the source, and returns references::

    driver                             worker
    ─ Task: number, block or part ───► read, check, encode ─┐
                                       write a segment ◄────┘
    ◄─ Done: the fork, names of rows, bad rows ──
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.errors import JobError
from deeplake_lite.ingest.encoding import Encoded, encode, pause_collector
from deeplake_lite.ingest.source import Block
from deeplake_lite.remote import segments
from deeplake_lite.storage.repo import local_folder, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from deeplake_lite.dataset.saved.pickles import Address
    from deeplake_lite.htypes.base import Check
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.ingest.encoding import OnError
    from deeplake_lite.ingest.source import Skipped, Source
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.repo import Session

VALUES = "ingest/values"
"""Path of the array of all segments. Settings for heaps apply to it because of its name."""

SEGMENTS = 256
"""Number of chunks that belong to each task."""

TASKS = 2**28 // SEGMENTS
"""Maximum number of tasks of an ingest."""

SEGMENT_BYTES = 32 * 2**20
"""A worker writes its first segment when the cells have this size. Later segments of large parts
are larger."""

KEYS = ""
"""Name under which a segment has the keys of all rows, if some rows are bad."""

_ADVICE = "Run the import again."


@dataclass(frozen=True)
class Task:
    """Rows to encode."""

    number: int
    """Number of the task, which determines its chunks. No other task has this number."""
    rows: bytes
    """A pickled block, or the pickled source of a part."""


@dataclass(frozen=True)
class Done:
    """A finished task."""

    number: int
    """Number of the task."""
    blocks: Sequence[Encoded]
    """The encoded blocks, without their cells."""
    segments: int
    """Number of chunks that were written."""
    left_out: Sequence[Skipped]
    """Files and records of a part that are not rows."""
    fork: bytes
    """The serialized session, which lists the chunks that were written."""


@dataclass
class Work:
    """Everything that a worker needs to know about an ingest. This object is pickled."""

    address: Address
    """The version of the lake with which the ingest began."""
    base: bytes
    """A serialized session with the array of segments."""
    fields: Sequence[Field]
    """The columns of the source, starting with the key."""
    check: Check
    """How to check files."""
    on_error: OnError
    """How to handle bad rows."""
    _opened: list[Session] = field(default_factory=list, repr=False)
    _guard: Lock = field(default_factory=Lock, repr=False)

    def __getstate__(self) -> dict[str, object]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_opened", "_guard")}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _opened=[], _guard=Lock())

    def run(self, task: Task) -> Done:
        """Read and encode rows. Raises InvalidValueError for a bad row, unless it is skipped."""
        rows: Block | Source = pickle.loads(task.rows)
        writer = _Writer(self._fork(), task.number, local_folder(self.address.url))
        with pause_collector():
            for block in [rows] if isinstance(rows, Block) else rows.blocks():
                writer.add(encode(block, self.fields, self.check, self.on_error))
        return writer.finish(() if isinstance(rows, Block) else tuple(rows.left_out))

    def _fork(self) -> Session:
        with self._guard:
            if not self._opened:
                self._opened.append(self.address.open()[1].session)
        return self._opened[0].at(self.base)


class _Writer:
    """Writes encoded blocks to the chunks of a task."""

    def __init__(self, fork: Session, number: int, folder: Path | None) -> None:
        self._fork, self._number, self._folder = fork, number, folder
        self._segment, self._segments = segments.SegmentWriter(), 0
        self._blocks = list[Encoded]()

    def add(self, block: Encoded) -> None:
        cells = dict(block.cells)
        if block.keys is not None and len(block.bad):
            cells[KEYS] = block.keys
        self._segment.add(segments.Block(np.array([len(self._blocks)]), cells))
        self._blocks.append(replace(block, cells={}, keys=None))
        growth = 1 if self._segments < SEGMENTS // 2 else 8
        if self._segment.nbytes >= growth * SEGMENT_BYTES:
            self._write()

    def finish(self, left_out: Sequence[Skipped]) -> Done:
        if self._segment:
            self._write()
        return Done(self._number, self._blocks, self._segments, left_out, self._fork.saved())

    def _write(self) -> None:
        if self._segments == SEGMENTS:
            raise JobError(
                f"The cells of one part of a source may take at most {SEGMENTS} chunks, but a part "
                "takes more. Divide the source into smaller files, or leave out executor=."
            )
        if self._folder is not None and not self._folder.is_dir():
            raise JobError(
                f"A worker cannot find the lake in {str(self._folder)!r}. Use a folder that all "
                "workers share, or an object store."
            )
        run(self._fork.put(_key(self._number, self._segments), self._segment.take()))
        self._segments += 1


def _key(number: int, segment: int) -> str:
    return f"{VALUES}/c/{number * SEGMENTS + segment}"


def read_blocks(session: Session, done: Done, fields: Sequence[Field]) -> Iterator[Encoded]:
    """Yield the blocks that a worker has encoded, with their cells.

    Raises
    ------
    DamagedError
        When a segment is damaged.
    JobError
        When a segment is missing.
    """
    fork, blocks = session.returned(done.fork), iter(done.blocks)
    for segment in range(done.segments):
        data = run(fork.get(key := _key(done.number, segment)))
        if data is None:
            raise JobError(
                f"A worker has written chunk {key}, but this process cannot find it. Use a "
                "folder that all workers share, or an object store."
            )
        for part, block in zip(segments.read_segment(data, _ADVICE)[0], blocks, strict=False):
            yield _with_cells(block, dict(part.cells), fields)


def _with_cells(block: Encoded, cells: dict[str, Cells], fields: Sequence[Field]) -> Encoded:
    """Return a block with the cells of its good rows, and the keys of all rows."""
    keys = cells.pop(KEYS, None)
    return replace(block, cells=cells, keys=cells[fields[0].id] if keys is None else keys)
