"""Chunk arithmetic: find the chunks that contain given rows or bytes, without any I/O.

A chunk of a `SlotArray` has ``chunk_rows`` rows. A heap is a sequence of bytes, cut into chunks of
a fixed size; `plan_reads` combines the extents of cells into few byte ranges, each in one chunk.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import batched, pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

COPY_ROWS = 1_024
"""Maximum number of rows that are copied at a time from one table to another."""

COPY_BYTES = 64 * 2**20
"""Rows that are copied at a time from one lake to another take at most this many bytes, unless a
single row takes more."""

GAP_BYTES = 64 * 1024
"""Cells of one chunk are read in the same request if at most this many bytes separate them."""


_MAX_CACHED_INTEGERS = 4_194_304
"""Maximum number of integers that `count_up` caches, which take 32 MiB of memory."""

_cached = np.arange(0)


def count_up(count: int) -> NDArray[np.int64]:
    """Return the array 0, 1, …, `count` - 1, as a read-only view of a cached array if possible.

    Arrays that are too long for the cache are new and writable. The cache exists because creating
    an array of a million numbers takes longer than many queries on a million rows.

    >>> count_up(3)
    array([0, 1, 2])
    """
    global _cached
    if count > _MAX_CACHED_INTEGERS:
        return np.arange(count)
    numbers = _cached  # other threads may assign another array to `_cached` at any time
    if len(numbers) < count:
        numbers = np.arange(min(_MAX_CACHED_INTEGERS, 2 * count))
        numbers.flags.writeable = False
        _cached = numbers
    return numbers[:count]


def _is_cached(slots: NDArray[np.int64]) -> bool:
    """Return whether an array is a contiguous view of the cached array, without reading it."""
    return slots.base is _cached and slots.strides == _cached.strides


def contiguous(slots: NDArray[np.int64]) -> slice | None:
    """Return `slots` as a slice if each slot is the previous one plus 1, and None otherwise.

    >>> contiguous(np.array([4, 5, 6]))
    slice(4, 7, None)
    >>> contiguous(np.array([4, 6, 5])) is None
    True
    """
    if len(slots) == 0 or int(slots[-1]) - int(slots[0]) + 1 != len(slots):
        return None
    if not _is_cached(slots) and not _count_up_from(slots, int(slots[0])):
        return None
    return slice(int(slots[0]), int(slots[-1]) + 1)


def _count_up_from(slots: NDArray[np.int64], first: int, size: int = 65_536) -> bool:
    """Return whether slots count up from `first`, comparing `size` slots at a time."""
    base = count_up(min(size, len(slots)))
    runs = spans(len(slots), size)
    return all(bool((slots[s] - (first + s.start) == base[: s.stop - s.start]).all()) for s in runs)


def counts_up(slots: NDArray[np.int64], size: int = 65_536) -> bool:
    """Return whether the slots are 0, 1, 2, …, without allocating an array of the same length.

    >>> counts_up(np.array([0, 1, 2])), counts_up(np.array([1, 2, 0]))
    (True, False)
    """
    if not len(slots) or (_is_cached(slots) and slots[0] == 0):
        return True
    return _count_up_from(slots, 0, size)


def runs_of_equal(keys: NDArray[np.int64]) -> list[slice]:
    """Return the runs of equal adjacent values in `keys`.

    >>> runs_of_equal(np.array([3, 3, 5]))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    if len(keys) == 0:
        return []
    edges = [0, *(np.flatnonzero(np.diff(keys)) + 1).tolist(), len(keys)]
    return [slice(a, b) for a, b in pairwise(edges)]


def group(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[slice]]:
    """Return an order in which equal keys are adjacent, and the runs of equal keys in that order.

    >>> order, runs = group(np.array([7, 2, 7]))
    >>> order.tolist(), runs
    ([1, 0, 2], [slice(0, 1, None), slice(1, 3, None)])
    """
    order = np.argsort(keys, kind="stable")
    return order, runs_of_equal(keys[order])


def batches[T](items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    """Return an iterator over `items`, `size` at a time."""
    return batched(items, size)


def spans(length: int, size: int) -> Iterator[slice]:
    """Cut ``range(length)`` into slices of `size`.

    >>> list(spans(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return (slice(a, min(a + size, length)) for a in range(0, length, size))


def spans_within(sizes: NDArray[np.int64], most: int) -> Iterator[slice]:
    """Cut ``range(len(sizes))`` into slices whose sizes add up to at most `most`, if possible.

    >>> list(spans_within(np.array([1, 1, 9, 1, 1]), 3))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 5, None)]
    """
    ends, start = np.cumsum(sizes), 0
    while start < len(sizes):
        before = int(ends[start - 1]) if start else 0
        stop = int(np.searchsorted(ends, before + most, side="right"))
        stop = max(stop, start + 1)
        yield slice(start, stop)
        start = stop


@dataclass(frozen=True)
class ChunkRead:
    """One request: a byte range in one chunk, and the cells in this range."""

    chunk: int
    """Number of the chunk."""
    start: int
    """First byte of the range, counted from the start of the chunk."""
    stop: int
    """End of the range (exclusive), counted from the start of the chunk."""
    cells: NDArray[np.int64]
    """Indices, (n,) int64, of the cells in the range."""


def plan_reads(
    starts: NDArray[np.int64], lengths: NDArray[np.int64], chunk_bytes: int, *, gap: int = GAP_BYTES
) -> tuple[list[ChunkRead], list[int]]:
    """Plan reads for cells that begin at the bytes `starts` and have `lengths` bytes.

    Cells in the same chunk are read together if there are at most `gap` bytes between them::

        bytes  0       8       16
               │aa    bb:bb    │
               ├──┤   ├───┤        a: a read of bytes 0–2 of chunk 0
                                   b: spans chunks 0 and 1, to be read in pieces

    Returns
    -------
    reads : list of ChunkRead
        Reads that together contain each non-empty cell that lies in a single chunk, exactly once.
    spanning : list of int
        Indices of the cells that cross the end of a chunk.

    Examples
    --------
    >>> reads, spanning = plan_reads(np.array([0, 6, 8]), np.array([2, 4, 1]), 8)
    >>> [(r.chunk, r.start, r.stop, r.cells.tolist()) for r in reads], spanning
    ([(0, 0, 2, [0]), (1, 0, 1, [2])], [1])
    """
    first, last = starts // chunk_bytes, (starts + np.maximum(lengths, 1) - 1) // chunk_bytes
    spanning = np.flatnonzero((first != last) & (lengths > 0))
    single = np.flatnonzero((first == last) & (lengths > 0))
    single = single[np.argsort(starts[single], kind="stable")]
    begin, chunk = starts[single], first[single]
    end = np.maximum.accumulate(begin + lengths[single]) if len(single) else begin
    far = (np.diff(chunk) != 0) | (begin[1:] - end[:-1] > gap)
    edges = [0, *(np.flatnonzero(far) + 1).tolist(), len(single)] if len(single) else []
    reads = [
        ChunkRead(
            int(chunk[a]),
            int(begin[a] - chunk[a] * chunk_bytes),
            int(end[b - 1] - chunk[a] * chunk_bytes),
            single[a:b],
        )
        for a, b in pairwise(edges)
    ]
    return reads, spanning.tolist()


def plan_copies(
    starts: NDArray[np.int64], lengths: NDArray[np.int64], to: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Combine copies of non-empty byte ranges into fewer copies, each from a single chunk.

    Copies that are adjacent in both source and target are joined. The results are cut at the ends
    of chunks, which have `size` bytes.

    Returns
    -------
    starts, lengths, to : ndarray, (m,) int64
        Position in the source, number of bytes and position in the target of each copy.

    Examples
    --------
    >>> plan_copies(np.array([6, 10, 1]), np.array([4, 8, 2]), np.array([0, 4, 12]), 8)
    (array([ 6,  8, 16,  1]), array([2, 8, 2, 2]), array([ 0,  2, 10, 12]))
    """
    if not len(starts):
        return starts, lengths, to
    breaks = (starts[1:] != starts[:-1] + lengths[:-1]) | (to[1:] != to[:-1] + lengths[:-1])
    first = np.flatnonzero(np.append(True, breaks))
    starts, to, lengths = starts[first], to[first], np.add.reduceat(lengths, first)
    chunk, ends = starts // size, starts + lengths
    counts = (ends - 1) // size - chunk + 1  # number of chunks that each copy touches
    # For all pieces of all copies, the index of the piece within its copy: 0, 1, 2, 0, 0, 1, …
    nth = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    edge = (np.repeat(chunk, counts) + nth) * size
    begin = np.maximum(edge, np.repeat(starts, counts))
    upto = np.minimum(edge + size, np.repeat(ends, counts))
    return begin, upto - begin, begin + np.repeat(to - starts, counts)


def pieces(start: int, length: int, chunk_bytes: int) -> Sequence[tuple[int, int, int]]:
    """Cut a byte range at the ends of chunks; return (chunk, start, stop) for each piece.

    >>> pieces(6, 12, 8)
    [(0, 6, 8), (1, 0, 8), (2, 0, 2)]
    """
    parts, at, end = [], start, start + length
    while at < end:
        chunk = at // chunk_bytes
        upto = min(end, (chunk + 1) * chunk_bytes)
        parts.append((chunk, at - chunk * chunk_bytes, upto - chunk * chunk_bytes))
        at = upto
    return parts
