"""Projections of vectors to the plane by principal axes, or by UMAP if it is installed.

The axes are computed from a sample of the browsed rows, and are the same for all queries.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from deeplake_lite.dataset.read.reading import read_values
from deeplake_lite.errors import MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field

type Positions = NDArray[np.int64]
type Points = NDArray[np.float32]

MAX_POINTS = 200_000
"""Maximum number of rows on a map. If there are more, the map shows a sample."""

FITTED_ROWS = 20_000
"""Maximum number of rows from which to compute axes, or that UMAP projects."""

BLOCK_BYTES = 64 * 2**20
"""Maximum size of vectors to read at a time, in bytes."""

_GUESSES = 8  # dimension of the iterated subspace, of which two directions are used
_ROUNDS = 12
_MARGIN = 0.02  # width of the margin, as a fraction of the extent of all points
_FAR = np.float32(2**60)  # outliers are clipped, and shown at the edge of the map


def sample(count: int, most: int) -> Positions:
    """Return ascending positions of up to `most` rows. The same count gives the same positions.

    >>> len(sample(10, 20)), len(sample(1000, 20)), (sample(9, 5) == sample(9, 5)).all()
    (10, 20, np.True_)
    """
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))


def vectors(view: View, f: Field, positions: Positions) -> Iterator[tuple[Positions, Points]]:
    """Yield positions and vectors of rows in blocks, without null and infinite vectors."""
    width = max(1, int(np.prod(f.htype.layout.shape)))  # type: ignore[union-attr]
    step = max(1, BLOCK_BYTES // (8 * width))
    for start in range(0, len(positions), step):
        rows = positions[start : start + step]
        values = read_values(view, [f], rows)[f.name]
        usable = ~np.ma.getmaskarray(values).reshape(len(rows), -1).any(axis=1)
        with np.errstate(over="ignore"):  # a float64 beyond float32 becomes infinite
            plain = np.ma.getdata(values).reshape(-1, width).astype(np.float32)
        usable &= np.isfinite(plain).all(axis=1)  # a single infinite vector would spoil the mean
        yield rows[usable], plain[usable]


def read_vectors(view: View, f: Field, positions: Positions) -> tuple[Positions, Points]:
    """Return the positions of the rows that have a vector, and their vectors, (n, dim)."""
    parts = list(vectors(view, f, positions))
    if not parts:
        return np.empty(0, np.int64), np.empty((0, 1), np.float32)
    return np.concatenate([rows for rows, _ in parts]), np.concatenate([v for _, v in parts])


def exponent_of(numbers: Points) -> int:
    """Return the exponent of a power of two that is greater than all absolute values.

    >>> exponent_of(np.array([[3, -5]], np.float32)), exponent_of(np.zeros((0, 2), np.float32))
    (3, 0)
    """
    return int(np.frexp(np.abs(numbers).max(initial=0))[1])


def scale(numbers: Points, exponent: int) -> Points:
    """Divide numbers by a power of two exactly, and clip them so that their squares are finite.

    >>> scale(np.array([[1e38, -4]], np.float32), 2).tolist()
    [[1.152921504606847e+18, -1.0]]
    """
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(numbers, -exponent), -_FAR, _FAR)


@dataclass(frozen=True, eq=False)
class Axes:
    """The two principal axes of a set of vectors.

    Vectors are scaled first, so that the vectors of the sample are within ±1.

    Examples
    --------
    >>> line = np.outer([0, 1, 2, 3], [3, 4]).astype(np.float32)
    >>> Axes.of(line).axes[:, 0].round(3)
    array([0.6, 0.8], dtype=float32)
    """

    mean: NDArray[np.float32]
    """Mean of the scaled vectors, (dim,)."""
    axes: NDArray[np.float32]
    """The axes as unit vectors, (dim, 2)."""
    exponent: int = 0
    """Exponent of the power of two by which vectors are divided before they are projected."""

    @classmethod
    def of(cls, sample: Points) -> Self:
        """Compute the axes of the given vectors, (n, dim).

        Notes
        -----
        Uses subspace iteration with a fixed start, as in Halko, Martinsson, Tropp, Finding
        Structure with Randomness (SIAM Review 53, 2011). The largest component of each axis is
        positive, so that the map does not flip.
        """
        dim = sample.shape[1]
        if not len(sample):
            return cls(np.zeros(dim, np.float32), np.zeros((dim, 2), np.float32))
        exponent = exponent_of(sample)
        sample = scale(sample, exponent)
        mean = sample.mean(axis=0)
        centred = sample - mean
        # Vectors may be far from 0 but close together. Then, their products would underflow.
        centred = scale(centred, exponent_of(centred))
        guess = np.random.default_rng(0).standard_normal((dim, min(_GUESSES, dim)))
        for _ in range(_ROUNDS):
            spread = centred.T @ (centred @ guess.astype(np.float32))
            guess = np.linalg.qr(spread)[0]
        inner = centred @ guess.astype(np.float32)
        _, order = np.linalg.eigh(inner.T.astype(np.float64) @ inner)
        axes = guess @ order[:, ::-1][:, :2]
        axes = np.pad(axes, ((0, 0), (0, 2 - axes.shape[1])))
        largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[np.newaxis], axis=0)
        return cls(mean, (axes * np.where(largest < 0, -1, 1)).astype(np.float32), exponent)

    def project(self, vectors: Points) -> Points:
        """Project vectors, (n, dim), to points, (n, 2), in scaled units."""
        vectors = scale(vectors, self.exponent)
        return ((vectors - self.mean) @ self.axes).astype(np.float32, copy=False)


@dataclass(frozen=True, eq=False)
class Frame:
    """The square part of the plane that a map shows."""

    low: NDArray[np.float32]
    span: float

    @classmethod
    def of(cls, points: Points) -> Self:
        """Return the smallest square around the given points, with a margin."""
        if not len(points):
            return cls(np.zeros(2, np.float32), 1.0)
        low, high = points.min(axis=0), points.max(axis=0)
        span = float((high - low).max()) * (1 + 2 * _MARGIN) or 1.0
        middle = ((low + high) / 2).astype(np.float32)
        return cls(middle - np.float32(span / 2), span)

    def fit(self, points: Points) -> Points:
        """Map the square to [0, 1] in both directions, and move points outside to its edge.

        >>> points = np.array([[0, 0], [4, 2]], np.float32)
        >>> Frame.of(points).fit(points).round(2)
        array([[0.02, 0.26],
               [0.98, 0.74]], dtype=float32)
        """
        fitted: Points = np.clip((points - self.low) / np.float32(self.span), 0, 1)
        return fitted


def umap(vectors: Points) -> Points:
    """Project vectors, (n, dim), to points, (n, 2), with UMAP.

    Raises
    ------
    MissingPackageError
        When umap-learn is not installed.

    Notes
    -----
    McInnes, Healy, Melville, UMAP (2018), https://arxiv.org/abs/1802.03426.
    """
    if len(vectors) < 4:  # too few for UMAP
        return Axes.of(vectors).project(vectors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        umap_type = _load_umap()
        projection = umap_type(
            n_neighbors=min(15, len(vectors) - 1), random_state=0, metric="cosine"
        )
        points: object = projection.fit_transform(scale(vectors, exponent_of(vectors)))
    return np.asarray(points, np.float32)


def _load_umap() -> Any:
    """Import UMAP without TensorFlow, which UMAP only needs for a feature that is not used here.

    TensorFlow is hidden only during this import, because notebook cells may use TensorFlow.
    """
    is_hidden = "tensorflow" not in sys.modules
    if is_hidden:
        sys.modules["tensorflow"] = None  # type: ignore[assignment]
    try:
        from umap import UMAP
    except ImportError as error:
        raise MissingPackageError.needed("umap-learn", "umap", "A UMAP") from error
    finally:
        if is_hidden:
            sys.modules.pop("tensorflow", None)
    return UMAP
