"""Functions that stack, pad or concatenate the arrays of several rows."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import OptionError, RowIndexError
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.loader.memory import allocate_aligned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NUMBERS = "biufcmM"
"""Kind codes of the dtypes that can be stacked, padded and concatenated: numbers and times."""


@dataclass(frozen=True)
class RaggedBatch:
    """The concatenated values of several rows, which may differ in length along the first axis."""

    values: NDArray[Any]
    """Values of all rows, (total, ...)."""
    lengths: NDArray[np.int64]
    """Number of values in each row, (rows,)."""

    @property
    def nbytes(self) -> int:
        """Size of the values and their lengths in bytes."""
        return self.values.nbytes + self.lengths.nbytes

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, row: int) -> NDArray[Any]:
        """Return the values of a row. A negative `row` counts from the end.

        Raises RowIndexError if the row does not exist.

        >>> RaggedBatch(np.arange(5), np.array([2, 0, 3]))[-1]
        array([2, 3, 4])
        """
        if not -len(self) <= row < len(self):
            raise RowIndexError(
                f"A batch of {pluralize(len(self), 'row')} has no row {row}. Rows are numbered "
                "from 0; negative numbers count from the end."
            )
        start, end = self._ends[row % len(self) : row % len(self) + 2].tolist()
        return self.values[start:end]

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        """Offsets in `values` at which rows begin, and at which the last row ends, (rows + 1,)."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)


def stack(name: str, values: Any, how: str = "stack") -> NDArray[Any]:
    """Stack values of the same shape. Raises OptionError if their shapes differ.

    >>> stack("x", [np.zeros(2), np.ones(2)]).shape
    (2, 2)
    """
    if isinstance(values, np.ndarray):
        return values
    arrays = _arrays(name, values, how)
    shapes = {a.shape for a in arrays}
    if len(shapes) > 1:
        examples = ", ".join(map(str, sorted(shapes)[:3]))
        raise OptionError(
            f"collate='stack' needs values of the same shape, but the values of {name!r} have the "
            f"shapes {examples}. Use collate='pad', 'list' or 'ragged', size=(height, width) for "
            "images, or a transform that crops."
        )
    if not arrays:
        return np.empty(0)
    out = allocate_aligned((len(arrays), *arrays[0].shape), _dtype(arrays))
    return np.stack(arrays, out=out)


def pad(
    name: str, values: Sequence[object], varying: int, least: tuple[int, ...] | None = None
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Pad values with zeros, and stack them. Return the array, and a mask that is False at padding.

    Parameters
    ----------
    name : str
        Name of the column, for error messages.
    values : sequence of array_like
        Arrays with the same number of axes. Sizes may differ only along the first `varying` axes.
    varying : int
        Number of axes of a value that the mask covers.
    least : tuple of int, optional
        Minimum shape of padded values.

    Examples
    --------
    >>> pad("boxes", [np.ones((1, 4)), np.ones((2, 4))], 1)[1].tolist()
    [[True, False], [True, True]]
    """
    arrays = _arrays(name, values, "pad")
    if not arrays:
        return np.empty(0), np.empty(0, bool)
    ndim = max(a.ndim for a in arrays)
    if any(a.ndim != ndim for a in arrays):
        raise OptionError(
            "collate='pad' needs values with the same number of axes, but some values of "
            f"{name!r} have fewer axes. Use collate='list', or a transform that adds axes."
        )
    shapes = [a.shape for a in arrays] + ([] if least is None or len(least) != ndim else [least])
    if len(inner_shapes := sorted({shape[varying:] for shape in shapes})) > 1:
        raise OptionError(
            f"With collate='pad', rows of {name!r} must have the same shape from axis {varying} "
            f"on, but some have {inner_shapes[0]} and others {inner_shapes[1]}. Give images the "
            "same number of channels with mode='RGB' or mode='L', or use collate='list'."
        )
    most = tuple(np.array(shapes).reshape(-1, ndim).max(axis=0).tolist())
    out = allocate_aligned((len(arrays), *most), _dtype(arrays))
    out[...] = np.zeros((), out.dtype)
    mask = np.zeros((len(arrays), *most[:varying]), bool)
    for row, a in enumerate(arrays):
        out[row, ...][tuple(map(slice, a.shape))] = a
        mask[row, ...][tuple(map(slice, a.shape[:varying]))] = True
    return out, mask


def concatenate(name: str, values: Sequence[object]) -> RaggedBatch:
    """Concatenate values along their first axis.

    Raises OptionError if the shapes of the values differ in other axes.
    """
    arrays = _arrays(name, values, "ragged")
    if any(a.ndim == 0 for a in arrays):
        raise OptionError(
            f"collate='ragged' needs arrays, but the values of {name!r} are numbers. Use "
            "collate='stack'."
        )
    if len({a.shape[1:] for a in arrays}) > 1:
        shape = arrays[0].shape
        other = next(a.shape for a in arrays if a.shape[1:] != shape[1:])
        raise OptionError(
            "collate='ragged' needs values whose shapes differ only along the first axis, but "
            f"{name!r} has shapes such as {shape} and {other}. Use collate='pad' or 'list'."
        )
    lengths = np.array([len(a) for a in arrays], np.int64)
    return RaggedBatch(np.concatenate(arrays) if arrays else np.empty(0), lengths)


def _arrays(name: str, values: Any, how: str) -> list[NDArray[Any]]:
    """Return values as arrays of numbers or times. Raises OptionError for other values."""
    arrays = [as_array(name, value, how) for value in values]
    full = [a for a in arrays if a.size]
    if any(a.dtype.kind not in NUMBERS for a in full):
        raise _not_an_array(name, how)
    if not full:
        return arrays
    # NumPy converts an empty list to float64 of shape (0,), which does not fit other values.
    empty = np.empty((0, *full[0].shape[1:]), full[0].dtype)
    return [empty if a.shape == (0,) and a.dtype == float else a for a in arrays]


def as_array(name: str, value: object, how: str) -> NDArray[Any]:
    """Return a value as an array. Raises OptionError for a list whose items differ in shape.

    >>> as_array("x", [[1], [2]], "pad").shape
    (2, 1)
    """
    try:
        return np.asarray(value)
    except ValueError as error:
        raise _not_an_array(name, how) from error


def _not_an_array(name: str, how: str) -> OptionError:
    return OptionError(
        f"collate={how!r} needs an array of numbers in every row, but {name!r} has other "
        "values, or items that differ in shape. Use collate='list'."
    )


def _dtype(arrays: Sequence[NDArray[Any]]) -> np.dtype[Any]:
    return np.result_type(*{a.dtype for a in arrays})


def as_numpy(value: object) -> object:
    """Convert a tensor of PyTorch or JAX to a NumPy array that shares its memory.

    Other values are returned unchanged, and so are tensors on a device and tensors whose dtype does
    not exist in NumPy.
    """
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if torch is not None and isinstance(value, torch.Tensor):
        with suppress(RuntimeError, TypeError):  # on a device, with a gradient, or bfloat16
            return value.numpy()
    elif jax is not None and isinstance(value, jax.Array):
        return np.asarray(value)
    return value
