"""Compressed vectors: one byte per element, and a scale per vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xxhash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deeplake_lite.index.clusters import Vectors

_BLOCK_ROWS = 2_048
"""Number of vectors that are decompressed at a time, so that they stay in the CPU's cache."""


@dataclass(frozen=True, eq=False)
class Codes:
    """Some compressed vectors.

    Examples
    --------
    >>> codes = Codes.of(np.float32([[1, -0.5], [0, 0], [0.25, 0.125]]))
    >>> codes.products(np.float32([1, 2])).round(2)
    array([-0.01,  0.  ,  0.5 ], dtype=float32)
    >>> codes = Codes.from_bytes(codes.to_bytes(), 2)
    >>> codes.values.tolist()
    [[127, -64], [0, 0], [127, 64]]
    """

    values: NDArray[np.int8]
    """The elements, divided by the scale and rounded, (n, d) int8."""
    scales: NDArray[np.float32]
    """Scale of each vector, (n,) float32."""
    squares: NDArray[np.float32]
    """Squared length of each vector, (n,) float32."""

    @classmethod
    def of(cls, vectors: Vectors) -> Codes:
        """Compress vectors, (n, d) float32."""
        scales = (np.abs(vectors).max(axis=1, initial=0) / 127).astype(np.float32)
        safe = np.where(scales > 0, scales, np.float32(1))
        values = np.rint(vectors / safe[:, None]).astype(np.int8)
        return cls(values, scales, np.vecdot(vectors, vectors))

    @classmethod
    def join(cls, parts: Sequence[Codes]) -> Codes:
        """Return the vectors of several codes together. There must be at least one."""
        return cls(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.scales for part in parts]),
            np.concatenate([part.squares for part in parts]),
        )

    @property
    def nbytes(self) -> int:
        """Size in memory."""
        return self.values.nbytes + self.scales.nbytes + self.squares.nbytes

    @property
    def digest(self) -> int:
        """A digest of the codes."""
        return xxhash.xxh3_64_intdigest(self.to_bytes())

    def __len__(self) -> int:
        return len(self.values)

    def products(self, query: Vectors) -> Vectors:
        """Return the inner products of the vectors and a query, (n,), approximately."""
        out = np.empty(len(self), np.float32)
        for start in range(0, len(self), _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            out[part] = self.values[part].astype(np.float32) @ query
        out *= self.scales
        return out

    def to_bytes(self) -> bytes:
        """Return the codes as bytes."""
        tail = np.stack([self.scales, self.squares]).astype("<f4").tobytes()
        return self.values.tobytes() + tail

    @classmethod
    def from_bytes(cls, data: bytes | memoryview, dim: int) -> Codes:
        """Return codes from bytes. Raises ValueError if their number is not valid."""
        count, rest = divmod(memoryview(data).nbytes, row_bytes(dim))
        if rest:
            raise ValueError("the size of a list is not valid")
        values = np.frombuffer(data, np.int8, count * dim).reshape(count, dim)
        scales, squares = np.frombuffer(data, "<f4", 2 * count, count * dim).reshape(2, count)
        return cls(values, scales, squares)


def row_bytes(dim: int) -> int:
    """Return the size of a compressed vector of `dim` elements."""
    return dim + 8
