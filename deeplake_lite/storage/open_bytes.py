"""The bytes of an open transaction that do not fill a chunk yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Buffer, Sequence

    from numpy.typing import NDArray


class OpenBytes:
    """The bytes after the last full chunk, as a list of pieces that are joined when needed."""

    def __init__(self, pieces: Sequence[bytes] = ()) -> None:
        self._pieces: list[Any] = list(pieces)
        self._size = sum(map(len, pieces))

    def __len__(self) -> int:
        return self._size

    def add(self, pieces: Sequence[Buffer], size: int) -> None:
        """Append pieces of `size` bytes in total. Do not change them before `own` or `take`."""
        self._pieces += pieces
        self._size += size

    def own(self) -> None:
        """Copy the pieces that are views of the caller's memory."""
        self._pieces = [p if isinstance(p, bytes) else bytes(p) for p in self._pieces]

    def data(self) -> bytes:
        """Return all bytes."""
        if len(self._pieces) != 1:
            self._pieces = [b"".join(self._pieces)]
        return cast("bytes", self._pieces[0])

    def take(self) -> bytes:
        """Return all bytes, and empty the buffer."""
        data = self.data()
        self._pieces, self._size = [], 0
        return data

    def pieces(self) -> tuple[bytes, ...]:
        """Return the pieces, copying those that are views of the caller's memory."""
        self.own()
        return tuple(self._pieces)


def slice_cells(
    buffers: Sequence[Buffer],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    start: int,
    stop: int,
) -> list[Buffer]:
    """Return bytes `start` to `stop` of concatenated cells, as a list of views.

    Cell i has the bytes ``starts[i]`` to ``ends[i]``.
    """
    if start == stop:
        return []
    first = int(np.searchsorted(ends, start, side="right"))
    last = int(np.searchsorted(ends, stop))
    skip, upto = start - int(starts[first]), stop - int(starts[last])
    if first == last:
        return [memoryview(buffers[first]).cast("B")[skip:upto]]
    head = memoryview(buffers[first]).cast("B")[skip:] if skip else buffers[first]
    tail = memoryview(buffers[last]).cast("B")[:upto] if ends[last] > stop else buffers[last]
    return [head, *buffers[first + 1 : last], tail]


def nbytes_of(buffer: Buffer) -> int:
    """Return the size of a buffer in bytes."""
    return len(buffer) if isinstance(buffer, bytes) else memoryview(buffer).nbytes
