"""Vectors as points in a plane: by their principal axes, or by UMAP where it is installed.

Axes are found on some rows of all that are browsed, and stay while queries choose among them.
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

MOST_POINTS = 200_000
"""Rows that are drawn; of more, some."""

FITTED_ROWS = 20_000
"""Rows from which axes are found, and that UMAP lays out."""

BLOCK_BYTES = 64 * 2**20
"""Of vectors that are read at a time."""

_GUESSES = 8  # directions that are followed, of which two are kept
_ROUNDS = 12
_MARGIN = 0.02  # around the points
_FAR = np.float32(2**60)  # of a vector beside those that axes are from: at the edge of the map


def sample(count: int, most: int) -> Positions:
    """Return positions of up to `most` rows, ascending: the same ones every time.

    >>> len(sample(10, 20)), len(sample(1000, 20)), (sample(9, 5) == sample(9, 5)).all()
    (10, 20, np.True_)
    """
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))


def vectors(view: View, f: Field, positions: Positions) -> Iterator[tuple[Positions, Points]]:
    """Yield the vectors of some rows, some at a time, without rows that have none."""
    width = max(1, int(np.prod(f.htype.layout.shape)))  # type: ignore[union-attr]
    step = max(1, BLOCK_BYTES // (8 * width))
    for start in range(0, len(positions), step):
        rows = positions[start : start + step]
        found = read_values(view, [f], rows)[f.name]
        there = ~np.ma.getmaskarray(found).reshape(len(rows), -1).any(axis=1)
        with np.errstate(over="ignore"):  # of float64: beyond float32 it is not finite
            plain = np.ma.getdata(found).reshape(-1, width).astype(np.float32)
        there &= np.isfinite(plain).all(axis=1)  # one that is not would be the mean of all
        yield rows[there], plain[there]


def held(view: View, f: Field, positions: Positions) -> tuple[Positions, Points]:
    """Return the vectors of some rows, and which rows have one."""
    parts = list(vectors(view, f, positions))
    if not parts:
        return np.empty(0, np.int64), np.empty((0, 1), np.float32)
    return np.concatenate([rows for rows, _ in parts]), np.concatenate([v for _, v in parts])


def exponent_of(found: Points) -> int:
    """Return the power of two that all numbers are below: without it their products overflow.

    >>> exponent_of(np.array([[3, -5]], np.float32)), exponent_of(np.zeros((0, 2), np.float32))
    (3, 0)
    """
    return int(np.frexp(np.abs(found).max(initial=0))[1])


def scaled(found: Points, exponent: int) -> Points:
    """Return numbers divided by a power of two, which is exact; within what squares have room for.

    >>> scaled(np.array([[1e38, -4]], np.float32), 2).tolist()
    [[1.152921504606847e+18, -1.0]]
    """
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(found, -exponent), -_FAR, _FAR)


@dataclass(frozen=True, eq=False)
class Axes:
    """The two directions in which vectors spread most.

    Vectors are scaled first, so that all of the sample are within ±1 whatever their size.

    Examples
    --------
    >>> line = np.outer([0, 1, 2, 3], [3, 4]).astype(np.float32)
    >>> Axes.of(line).axes[:, 0].round(3)
    array([0.6, 0.8], dtype=float32)
    """

    mean: NDArray[np.float32]
    """(dim,)"""
    axes: NDArray[np.float32]
    """(dim, 2), each of length 1."""
    exponent: int = 0
    """Power of two that vectors are divided by before all else."""

    @classmethod
    def of(cls, found: Points) -> Self:
        """Find the axes.

        Notes
        -----
        Subspace iteration from a fixed start, after Halko, Martinsson, Tropp, Finding Structure
        with Randomness (SIAM Review 53, 2011). Of each axis the largest part is positive.
        """
        dim = found.shape[1]
        if not len(found):
            return cls(np.zeros(dim, np.float32), np.zeros((dim, 2), np.float32))
        exponent = exponent_of(found)
        found = scaled(found, exponent)
        mean = found.mean(axis=0)
        centred = found - mean
        centred = scaled(centred, exponent_of(centred))  # rows may be far from 0 and close together
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

    def place(self, found: Points) -> Points:
        """Return where vectors lie, (n, 2), in units of the scale."""
        found = scaled(found, self.exponent)
        return ((found - self.mean) @ self.axes).astype(np.float32, copy=False)


@dataclass(frozen=True, eq=False)
class Frame:
    """What part of the plane is drawn: all points of a kind fit into 0 to 1."""

    low: NDArray[np.float32]
    span: float

    @classmethod
    def of(cls, points: Points) -> Self:
        """Return the square that holds some points, with a margin."""
        if not len(points):
            return cls(np.zeros(2, np.float32), 1.0)
        low, high = points.min(axis=0), points.max(axis=0)
        span = float((high - low).max()) * (1 + 2 * _MARGIN) or 1.0
        middle = ((low + high) / 2).astype(np.float32)
        return cls(middle - np.float32(span / 2), span)

    def fit(self, points: Points) -> Points:
        """Return points in 0 to 1; what lies outside comes to the edge.

        >>> points = np.array([[0, 0], [4, 2]], np.float32)
        >>> Frame.of(points).fit(points).round(2)
        array([[0.02, 0.26],
               [0.98, 0.74]], dtype=float32)
        """
        fitted: Points = np.clip((points - self.low) / np.float32(self.span), 0, 1)
        return fitted


def umap(found: Points) -> Points:
    """Return where UMAP lays vectors out, (n, 2).

    Raises
    ------
    MissingPackageError
        Where umap-learn is not installed.

    Notes
    -----
    McInnes, Healy, Melville, UMAP (2018), https://arxiv.org/abs/1802.03426. Its package loads
    TensorFlow where it can, for something that is not used here, so it is told that it cannot.
    """
    if len(found) < 4:
        return Axes.of(found).place(found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make = _umap_type()
        made = make(n_neighbors=min(15, len(found) - 1), random_state=0, metric="cosine")
        points: Any = made.fit_transform(scaled(found, exponent_of(found)))
    return np.asarray(points, np.float32)


def _umap_type() -> Any:
    """Load UMAP; TensorFlow is away for no longer than that: cells of the notebook may want it."""
    absent = "tensorflow" not in sys.modules
    if absent:
        sys.modules["tensorflow"] = None  # type: ignore[assignment]
    try:
        from umap import UMAP
    except ImportError as error:
        raise MissingPackageError.needed("umap-learn", "umap", "A UMAP") from error
    finally:
        if absent:
            sys.modules.pop("tensorflow", None)
    return UMAP
