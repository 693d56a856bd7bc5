"""Chunks of a few bytes, and lakes without a log, which trigger the edge cases of large data."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

if TYPE_CHECKING:
    from collections.abc import Iterator

TINY = {
    "storage.array_spec.INDEX_ROWS": 4,
    "storage.array_spec.DENSE_BYTES": 24,
    "storage.column.SPILL_BYTES": 40,
    "storage.heap.RAW_CHUNK": 64,
    "storage.heap.TEXT_CHUNK": 32,
    "storage.heap.TAIL_CHUNK": 24,
    "storage.heap.STRADDLE_BYTES": 16,
    "storage.heap.IN_FLIGHT": 2,
    "storage.heap.WRITES_IN_FLIGHT": 2,
    "storage.chunks.GAP_BYTES": 8,
    "storage.log.MAX_BYTES": 150,
    "storage.log.CHUNK_BYTES": 24,
    "storage.log.MIN_RATIO": 2,
    "storage.chunks.COPY_ROWS": 3,
    "storage.chunks.COPY_BYTES": 100,
    "dataset.write.blocks.FIRST_ROWS": 2,
    "dataset.write.blocks.MAX_ROWS": 5,
    "dataset.write.blocks.STREAMED_ROWS": 3,
    "dataset.read.reading.ITER_ROWS": 3,
}
"""Maps the path of each constant within the package to its tiny value."""


@contextmanager
def tiny_chunks() -> Iterator[None]:
    """Make chunks, and other units of reading and writing, tiny within a ``with`` block.

    Within the ``with`` block, do not write to a lake that was created outside of it.

    >>> from deeplake_lite.storage.array_spec import ArraySpec
    >>> with tiny_chunks():
    ...     ArraySpec("int64").chunk_rows
    3
    """
    with ExitStack() as stack:
        for path, value in TINY.items():
            stack.enter_context(patch(f"deeplake_lite.{path}", value))
        yield


@contextmanager
def only_arrays() -> Iterator[None]:
    """Write everything to arrays within a ``with`` block, and nothing to the log of a version."""
    with patch("deeplake_lite.storage.log.MAX_BYTES", -1):
        yield
