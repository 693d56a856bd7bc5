"""The plan of a sharded export, which assigns rows to files before anything is written.

The sizes of cells, which are known without reading the cells, determine the first row of each file.
So the files depend only on the rows, and not on the number of workers or on interruptions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import xxhash

from deeplake_lite.dataset.read.virtual import VirtualTable
from deeplake_lite.htypes.layouts import Ragged
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field

    type Sizes = NDArray[np.int64]

PLANNED_ROWS = 2**18
"""Number of rows whose cell sizes are held in memory at a time."""

BLOCK_ROWS = 256
BLOCK_BYTES = 32 * 2**20
"""Maximum size of the cells that a worker reads at a time, unless a single row is larger."""


class Sink(Protocol):
    """A file of an export that is open for writing."""

    def write(self, cells: Mapping[str, Cells], first: int) -> None:
        """Write rows, given as a dict from columns to cells. The first row has position `first`."""

    def finish(self) -> Mapping[str, Any]:
        """Complete the file. Return JSON values about the file for the index of the export."""


def refuse_to_name(number: int, count: int) -> str:
    """Replace `Part.name` in worker processes, which get the names of files and never call it."""
    raise NotImplementedError(number, count)


def _total(sizes: Mapping[str, Sizes]) -> Sizes:
    return np.sum(list(sizes.values()), axis=0, dtype=np.int64)


@dataclass(frozen=True)
class Part:
    """Rows to write to one series of files, such as the rows of a split."""

    view: View
    """The rows."""

    fields: Sequence[Field]
    """The columns to read, at least one."""

    name: Callable[[int, int], str]
    """Function that returns the path of a file, given the file's number and the number of files."""

    open: Callable[[Path, Shard], AbstractContextManager[Sink]]
    """Function that opens the file at a path, for the rows of a shard. The function may be sent to
    another process, so both it and `row_bytes` must be module-level functions, or a `partial` of
    such a function.
    """

    max_bytes: int | None = None
    """Maximum size of a file according to `row_bytes`, unless a single row is larger."""

    max_rows: int | None = None
    """Maximum number of rows of a file."""

    row_bytes: Callable[[Mapping[str, Sizes]], Sizes] = _total
    """Function that returns the size that each row will have in a file, given a dict from the names
    of columns to the sizes of their cells.
    """

    block_rows: int = BLOCK_ROWS
    """Maximum number of rows that a worker reads at a time."""

    min_files: int = 0
    """Minimum number of files, even if there are no rows: 0 or 1."""

    def sizes(self, first: int, stop: int) -> Sizes:
        """Return the sizes that the rows from `first` up to `stop` (exclusive) will have in a file.

        Their cells are not read.
        """
        table, slots = self.view.rows.locate(np.arange(first, stop))
        return self.row_bytes({f.name: _cell_bytes(table, f, slots) for f in self.local_fields})

    @property
    def local_fields(self) -> list[Field]:
        """The columns `fields`, with the ids that they have in this process.

        Computed columns have different ids in different processes.
        """
        return [self.view.field(f.name) for f in self.fields]

    def shards(self) -> list[Shard]:
        """Return the planned files, in the order of their rows."""
        starts = self._starts()
        ends = [*starts[1:], len(self.view)] if starts else []
        return [
            Shard(self, number, range(first, stop), self.name(number, len(starts)))
            for number, (first, stop) in enumerate(zip(starts, ends, strict=True))
        ]

    def measure(self) -> tuple[str, int]:
        """Return a digest of the rows and their version, and the total size of the files."""
        view = self.view
        table, slots = view.rows.locate()
        digest, total = xxhash.xxh3_128(), 0
        for f in self.fields:
            digest.update(repr((f.name, f.htype.get_config())).encode())
        digest.update(f"{view.url} {table.snapshot_id}".encode())
        if isinstance(table, VirtualTable):
            digest.update(table.fingerprint(slots).encode())
        else:
            digest.update(table.ids(slots).tobytes())
        for span in chunks.spans(len(slots), PLANNED_ROWS):
            sizes = self.sizes(span.start, span.stop)
            digest.update(sizes.tobytes())
            total += int(sizes.sum())
        if view.rows.uncommitted:  # the version does not identify uncommitted cells
            for f in self.fields:
                for span in chunks.spans(len(slots), BLOCK_ROWS):
                    digest.update(table.digests(f.id, slots[span]).tobytes())
        return digest.hexdigest(), total

    def _starts(self) -> list[int]:
        """Return the first row of each file."""
        count = len(self.view)
        if self.max_bytes is None:
            step = self.max_rows or max(count, 1)
            return list(range(0, count, step)) or [0] * self.min_files
        splitter = _Splitter(self.max_bytes, self.max_rows or max(count, 1))
        for span in chunks.spans(count, PLANNED_ROWS):
            splitter.append(self.sizes(span.start, span.stop))
        return splitter.starts or [0] * self.min_files


@dataclass(frozen=True)
class Shard:
    """A file of an export, and the rows that it holds."""

    part: Part
    """The part of the export to which the file belongs."""

    number: int
    """Number of the file within the part."""

    rows: range
    """Positions of the file's rows in the part's view."""

    path: str
    """Path relative to the folder of the export."""

    def blocks(self) -> Iterator[tuple[int, dict[str, Cells]]]:
        """Yield the first row and the cells of each block of rows.

        The first row is a position in the part's view, and the cells are a dict from column names.
        """
        part, fields = self.part, self.part.local_fields
        table, slots = part.view.rows.locate(np.arange(self.rows.start, self.rows.stop))
        for rows in chunks.spans(len(slots), PLANNED_ROWS):
            first = self.rows.start + rows.start
            splitter = _Splitter(BLOCK_BYTES, part.block_rows)
            splitter.append(part.sizes(first, self.rows.start + rows.stop))
            ends = [*splitter.starts[1:], rows.stop - rows.start]
            for start, stop in zip(splitter.starts, ends, strict=True):
                span = slice(rows.start + start, rows.start + stop)
                cells = table.read([f.id for f in fields], slots[span])
                yield first + start, {f.name: cells[f.id] for f in fields}


@dataclass
class _Splitter:
    """Splits consecutive rows into runs that are as long as the maximum size allows.

    >>> splitter = _Splitter(max_bytes=10, max_rows=3)
    >>> splitter.append(np.array([4, 4, 4, 25]))
    >>> splitter.append(np.array([1, 1, 1, 1]))
    >>> splitter.starts
    [0, 2, 3, 4, 7]
    """

    max_bytes: int
    max_rows: int
    starts: list[int] = field(default_factory=list)
    """First row of each run."""

    _count: int = 0
    _used: int = 0

    def append(self, sizes: Sizes) -> None:
        """Append rows with the given sizes, in bytes."""
        totals = np.concatenate([[0], np.cumsum(sizes)])
        start, first = 0, self._count
        while start < len(sizes):
            if not self.starts:
                self._begin(first)
            max_end = self.starts[-1] + self.max_rows - first
            limit = int(totals[start]) + self.max_bytes - self._used
            end = min(int(np.searchsorted(totals, limit, side="right")) - 1, max_end)
            if end <= start:
                if self.starts[-1] < first + start:
                    self._begin(first + start)
                    continue
                end = start + 1  # a run has at least one row
            self._used += int(totals[end] - totals[start])
            start = end
        self._count += len(sizes)

    def _begin(self, row: int) -> None:
        self.starts.append(row)
        self._used = 0


def _cell_bytes(table: Any, f: Field, slots: NDArray[np.int64]) -> Sizes:
    """Return the size of each cell in bytes: the stored size, or for arrays the decoded size."""
    layout = f.htype.layout
    if not isinstance(layout, Ragged) or layout.dtype in ("bytes", "utf8", "json"):
        return np.asarray(table.sizes(f.id, slots), np.int64)
    shapes = np.maximum(table.shapes(f.id, slots), 0).astype(np.int64)
    if not shapes.shape[1]:
        return np.asarray(table.sizes(f.id, slots), np.int64)
    return np.asarray(shapes.prod(axis=1) * np.dtype(layout.dtype).itemsize, np.int64)
