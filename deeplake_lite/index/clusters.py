"""K-means, which finds the centres of clusters of vectors, by NumPy's matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

type Vectors = NDArray[np.float32]

TRAINING_ROWS = 32
"""Average number of vectors per cluster that k-means uses."""

ROUNDS = 6
"""Number of iterations."""

_BLOCK_ENTRIES = 4 * 2**20
"""Maximum number of scores that are in memory at a time."""


def directions(vectors: NDArray[np.generic]) -> Vectors:
    """Return vectors scaled to length 1, (n, d). Zero vectors stay zero.

    Each vector is first divided by its largest element, so that no square overflows.

    >>> directions(np.array([[3.0, 4.0], [0, 0], [1e200, 0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0], [1.0, 0.0]]
    """
    values = vectors.astype(np.float64 if vectors.dtype.itemsize > 4 else np.float32)
    largest = np.abs(values).max(axis=1, initial=0, keepdims=True)
    np.divide(values, largest, out=values, where=largest > 0)
    lengths = np.sqrt(np.vecdot(values, values))[:, None]
    np.divide(values, lengths, out=values, where=lengths > 0)
    return values.astype(np.float32, copy=False)


def find_centres(sample: Vectors, count: int, *, spherical: bool) -> Vectors:
    """Return the centres of clusters, (count, d).

    Parameters
    ----------
    sample : ndarray, (n, d) float32
        Vectors; n must be at least `count`.
    count : int
        Number of clusters.
    spherical : bool
        Whether the vectors have length 1 and are compared by their angle. The centres then have
        length 1, too: Dhillon, Modha, Concept Decompositions for Large Sparse Text Data Using
        Clustering (Machine Learning 42, 2001).
    """
    random = np.random.default_rng(0)
    centres = sample[random.choice(len(sample), count, replace=False)]
    for _ in range(ROUNDS):
        nearest = nearest_centres(sample, centres)
        order = np.argsort(nearest, kind="stable")
        clusters, starts = np.unique(nearest[order], return_index=True)
        sums = np.add.reduceat(sample[order], starts, axis=0)
        sizes = np.diff(starts, append=len(order))[:, None]
        centres = centres.copy()  # empty clusters keep their centres
        centres[clusters] = directions(sums) if spherical else sums / sizes
    return centres


def nearest_centres(vectors: Vectors, centres: Vectors) -> NDArray[np.int32]:
    """Return the number of the centre that is nearest to each vector, by Euclidean distance.

    >>> nearest_centres(np.float32([[1, 0], [0, 3]]), np.float32([[0, 2], [1, 1]])).tolist()
    [1, 0]
    """
    out = np.empty(len(vectors), np.int32)
    halves = np.vecdot(centres, centres) / 2
    size = max(1, _BLOCK_ENTRIES // max(1, len(centres)))
    for start in range(0, len(vectors), size):
        products = vectors[start : start + size] @ centres.T
        products -= halves
        out[start : start + size] = products.argmax(axis=1)
    return out
