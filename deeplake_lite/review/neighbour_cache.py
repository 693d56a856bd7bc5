"""A cache of nearest neighbours, keyed by the hash of the vectors.

Finding neighbours takes seconds. Commits that fix labels do not change the vectors, so neighbours
found in an earlier version can be reused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xxhash

from deeplake_lite.query.run.cache import ColumnCache
from deeplake_lite.review.neighbours import nearest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.review.neighbours import Rows, Vectors

CACHE_BYTES = 2**27
"""Maximum size of the cache in bytes, enough for ten neighbours of half a million rows."""

CACHE = ColumnCache(CACHE_BYTES)


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest neighbours of each row, as `nearest` returns them."""

    rows: Rows
    """Rows of the neighbours, (n, k) int64."""
    cosines: NDArray[np.float32]
    """Cosine similarities, (n, k) float32."""

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return self.rows.nbytes + self.cosines.nbytes


def neighbours_of(vectors: Vectors, count: int) -> Neighbours:
    """Return the nearest neighbours of each row, from the cache if the vectors are the same.

    Examples
    --------
    >>> vectors = np.array([[1, 0], [0, 1], [2, 0.1], [0.1, 2]], np.float32)
    >>> neighbours = neighbours_of(vectors, 1)
    >>> neighbours.rows.tolist(), neighbours_of(vectors.copy(), 1) is neighbours
    ([[2], [3], [0], [1]], True)
    """
    digest = xxhash.xxh3_128_digest(np.ascontiguousarray(vectors))
    neighbours: Neighbours = CACHE.get_or_make(
        (digest, vectors.shape, count), lambda: Neighbours(*nearest(vectors, count))
    )
    return neighbours
