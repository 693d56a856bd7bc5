"""Arrays of several rows as one: stacked, padded, or back to back."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import OptionError, RowIndexError
from deeplake_lite.loader.memory import aligned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NUMBERS = "biufcmM"
"""Kinds of dtypes that make arrays: numbers and times."""


@dataclass(frozen=True)
class RaggedBatch:
    """Values of several rows that differ along their first axis, back to back."""

    values: NDArray[Any]
    """(total, ...): of all rows."""
    lengths: NDArray[np.int64]
    """(rows,): how many are of each row."""

    @property
    def nbytes(self) -> int:
        """Memory of the values and their lengths, bytes."""
        return self.values.nbytes + self.lengths.nbytes

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, row: int) -> NDArray[Any]:
        """Return the values of one row, from the end where it is below zero. Raises RowIndexError.

        >>> RaggedBatch(np.arange(5), np.array([2, 0, 3]))[-1]
        array([2, 3, 4])
        """
        if not -len(self) <= row < len(self):
            raise RowIndexError(f"A batch of {len(self)} rows has no row {row}.")
        start, end = self._ends[row % len(self) : row % len(self) + 2].tolist()
        return self.values[start:end]

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        """Where each row ends, and 0 before, (rows + 1,)."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)


def stacked(name: str, values: Any, how: str = "stack") -> NDArray[Any]:
    """Return values of one shape as one array. Raises OptionError for others.

    >>> stacked("x", [np.zeros(2), np.ones(2)]).shape
    (2, 2)
    """
    if isinstance(values, np.ndarray):
        return values
    arrays = _arrays(name, values, how)
    shapes = {a.shape for a in arrays}
    if len(shapes) > 1:
        shown = ", ".join(map(str, sorted(shapes)[:3]))
        raise OptionError(
            f"stack takes values of one shape, got {shown} in {name!r}. Choose collate='pad', "
            "'list' or 'ragged', size=(height, width) for pictures, or a transform that crops."
        )
    if not arrays:
        return np.empty(0)
    out = aligned((len(arrays), *arrays[0].shape), _dtype(arrays))
    return np.stack(arrays, out=out)


def padded(
    name: str, values: Sequence[Any], varying: int, least: tuple[int, ...] | None = None
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return values as one array, zeros behind the shorter ones, and where they are.

    Parameters
    ----------
    name : str
        Of the column, for errors.
    values : sequence of array_like
        With as many axes each, of the same lengths behind those that vary.
    varying : int
        Axes of a value that the mask has: those up to the last along which values may differ.
    least : tuple of int, optional
        Shape that is filled up to where values are smaller.

    Examples
    --------
    >>> padded("boxes", [np.ones((1, 4)), np.ones((2, 4))], 1)[1].tolist()
    [[True, False], [True, True]]
    """
    arrays = _arrays(name, values, "pad")
    if not arrays:
        return np.empty(0), np.empty(0, bool)
    ndim = max(a.ndim for a in arrays)
    if any(a.ndim != ndim for a in arrays):
        raise OptionError(
            f"pad takes values of as many axes, got some of fewer in {name!r}. Choose 'list', or a "
            "transform that adds the axis."
        )
    shapes = [a.shape for a in arrays] + ([] if least is None or len(least) != ndim else [least])
    if len(behind := sorted({shape[varying:] for shape in shapes})) > 1:
        raise OptionError(
            f"pad fills up the first {varying} axes of {name!r}, but rows differ in those behind: "
            f"{behind[0]} and {behind[1]}. Convert pictures to the same channels with mode='RGB' "
            "or mode='L', or choose 'list'."
        )
    most = tuple(np.array(shapes).reshape(-1, ndim).max(axis=0).tolist())
    out = aligned((len(arrays), *most), _dtype(arrays))
    out[...] = np.zeros((), out.dtype)
    mask = np.zeros((len(arrays), *most[:varying]), bool)
    for row, a in enumerate(arrays):
        out[row, ...][tuple(map(slice, a.shape))] = a
        mask[row, ...][tuple(map(slice, a.shape[:varying]))] = True
    return out, mask


def ragged(name: str, values: Sequence[Any]) -> RaggedBatch:
    """Return values back to back along their first axis."""
    arrays = _arrays(name, values, "ragged")
    if any(a.ndim == 0 for a in arrays):
        raise OptionError(f"ragged takes arrays, got numbers in {name!r}. Choose 'stack'.")
    if len({a.shape[1:] for a in arrays}) > 1:
        raise OptionError(
            f"ragged takes values that differ along their first axis alone, got "
            f"{arrays[0].shape} and others in {name!r}. Choose 'pad' or 'list'."
        )
    lengths = np.array([len(a) for a in arrays], np.int64)
    return RaggedBatch(np.concatenate(arrays) if arrays else np.empty(0), lengths)


def _arrays(name: str, values: Any, how: str) -> list[NDArray[Any]]:
    """Return values as arrays of numbers or times; an empty list has the others' axes and dtype."""
    arrays = [as_array(name, value, how) for value in values]
    full = [a for a in arrays if a.size]
    if any(a.dtype.kind not in NUMBERS for a in full):
        raise _no_array(name, how)
    if not full:
        return arrays
    empty = np.empty((0, *full[0].shape[1:]), full[0].dtype)
    return [empty if a.shape == (0,) and a.dtype == float else a for a in arrays]


def as_array(name: str, value: Any, how: str) -> NDArray[Any]:
    """Return a value as an array. Raises OptionError for lists whose items differ in shape.

    >>> as_array("x", [[1], [2]], "pad").shape
    (2, 1)
    """
    try:
        return np.asarray(value)
    except ValueError as error:
        raise _no_array(name, how) from error


def _no_array(name: str, how: str) -> OptionError:
    return OptionError(
        f"collate={how!r} needs an array of numbers from every row, but {name!r} has other "
        "values, or items that differ in shape. Choose collate='list'."
    )


def _dtype(arrays: Sequence[NDArray[Any]]) -> np.dtype[Any]:
    return np.result_type(*{a.dtype for a in arrays})


def as_numpy(value: Any) -> Any:
    """Return an array of another framework as NumPy's, which shares its memory; others as they are.

    What NumPy has no dtype for, or what is on a device, stays a tensor.
    """
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if torch is not None and isinstance(value, torch.Tensor):
        with suppress(RuntimeError, TypeError):  # on a device, with a gradient, of bfloat16
            return value.numpy()
    elif jax is not None and isinstance(value, jax.Array):
        return np.asarray(value)
    return value
