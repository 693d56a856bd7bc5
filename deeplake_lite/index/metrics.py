"""The measures by which vectors are compared, each with its function in the query language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.index.clusters import directions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.index.clusters import Vectors

LARGEST = 1e15
"""Squares of larger elements are not exact enough in 32-bit floats, so an index by distance or
product does not compress vectors with such elements."""


@dataclass(frozen=True)
class Metric:
    """A measure of similarity of two vectors."""

    name: str
    """Name in options."""
    function: str
    """Name of the function in the query language."""
    descends: bool
    """Whether the nearest vectors have the largest values of the function."""

    def working(self, vectors: NDArray[np.generic]) -> Vectors:
        """Return vectors as they are compared, (n, d) float32; cosine compares them at length 1."""
        if self.name == "cosine":
            return directions(vectors)
        return vectors.astype(np.float32)

    def fits(self, vectors: NDArray[np.generic]) -> NDArray[np.bool_]:
        """Return a mask, (n,), of the vectors that 32-bit floats can compare."""
        largest = np.abs(vectors.astype(np.float64)).max(axis=1, initial=0)
        return np.isfinite(largest) if self.name == "cosine" else largest <= LARGEST

    def precise(self, vectors: NDArray[np.generic]) -> NDArray[np.float64]:
        """Return vectors in 64 bits, scaled to length 1 for cosines, (n, d)."""
        values = vectors.astype(np.float64)
        if self.name == "cosine":
            largest = np.abs(values).max(axis=1, initial=0, keepdims=True)
            np.divide(values, largest, out=values, where=largest > 0)
            lengths = np.sqrt(np.vecdot(values, values))[:, None]
            np.divide(values, lengths, out=values, where=lengths > 0)
        return values

    def precise_scores(
        self,
        vectors: NDArray[np.float64],
        queries: NDArray[np.float64],
        origin: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return how near vectors are to queries, (queries, n), in the order of the function.

        All arguments are results of `precise`. Differences from `origin`, a mean of the vectors,
        keep the digits in which vectors differ that are close together and far from zero.
        """
        centred = vectors - origin
        if self.name == "dot":
            return np.asarray(queries @ centred.T)
        squares = np.vecdot(centred, centred)
        return np.asarray(2 * (queries - origin) @ centred.T - squares)

    def scores(self, products: Vectors, squares: Vectors) -> Vectors:
        """Return the score of each vector for a query; nearer vectors score higher.

        Parameters
        ----------
        products : ndarray
            Inner products of the vectors and the query.
        squares : ndarray
            Squared lengths of the vectors.
        """
        return 2 * products - squares if self.name == "l2" else products


METRICS = {
    metric.name: metric
    for metric in (
        Metric("cosine", "COSINE_SIMILARITY", True),
        Metric("l2", "L2_DISTANCE", False),
        Metric("dot", "DOT", True),
    )
}
"""Maps names to metrics."""
