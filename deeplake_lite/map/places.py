"""How the rows of a job are cut into parts, and to which chunks each attempt at a part writes.

Both depend only on the number of rows and the size of a batch, so that a job can be resumed with
any executor and any number of workers.
"""

from __future__ import annotations

from dataclasses import dataclass

PART_ROWS = 1_024
"""Number of rows in a part of a large job, unless a batch is larger. If the function takes one row,
a killed worker loses at most this many calls."""

MIN_PARTS = 64
"""A smaller job is cut into about this many parts, so that the work is shared evenly."""

VALUES = "job/values"
"""Path of the array of all results. Settings for heaps apply to it because of its name."""

SEGMENTS = 64
"""Number of chunks that belong to each attempt."""

ATTEMPTS = 2**28 // SEGMENTS
"""Maximum number of attempts at all parts of a job together."""

CHUNK_BYTES = 32 * 2**20
"""An attempt writes its first segment when the results have this size. Later segments are
larger."""


@dataclass(frozen=True)
class Cut:
    """How the rows of a job are cut into parts.

    >>> cut = Cut.of(1_000_000, 64)
    >>> len(cut), cut.span(1), cut.span(976)
    (977, slice(1024, 2048, None), slice(999424, 1000000, None))
    >>> Cut.of(100, 8).size, Cut.of(0, 8).size, Cut.of(10**6, 5000).size
    (8, 8, 5000)
    """

    rows: int
    """Number of rows of the job."""
    size: int
    """Number of rows in a part, except the last part."""

    @classmethod
    def of(cls, rows: int, batch: int) -> Cut:
        """Choose the size of the parts, which is a multiple of the size of a batch."""
        wanted = min(PART_ROWS, -(-rows // MIN_PARTS))
        return cls(rows, batch * max(1, wanted // batch))

    def __len__(self) -> int:
        return -(-self.rows // self.size)

    def span(self, part: int) -> slice:
        """Return the range of the rows of a part."""
        return slice(part * self.size, min((part + 1) * self.size, self.rows))

    def count(self, part: int) -> int:
        """Return the number of rows of a part."""
        span = self.span(part)
        return int(span.stop - span.start)


def chunk_of(attempt: int, segment: int) -> str:
    """Return the key of the chunk for a segment of an attempt.

    >>> chunk_of(0, 63), chunk_of(1, 0)
    ('job/values/c/63', 'job/values/c/64')
    """
    return f"{VALUES}/c/{attempt * SEGMENTS + segment}"


def segment_bytes(segment: int) -> int:
    """Return the size at which a segment is written.

    Segments of large parts grow, so that the chunks of an attempt suffice for 9 GB.
    """
    return CHUNK_BYTES if segment < SEGMENTS // 2 else 8 * CHUNK_BYTES
