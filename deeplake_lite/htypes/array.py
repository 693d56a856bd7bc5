"""One array per row, of one shape or of many."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np

from deeplake_lite import codecs
from deeplake_lite.errors import SchemaError
from deeplake_lite.htypes.arrays import Shape, as_array, as_block, as_buffer, each, from_buffer
from deeplake_lite.htypes.base import Check, Dense, Htype, Ragged
from deeplake_lite.htypes.cells import Cells, DenseCells, RaggedCells
from deeplake_lite.htypes.choices import ALIASES, choice
from deeplake_lite.htypes.scalar import as_stored, check_dtype, is_time, stored_dtype
from deeplake_lite.htypes.show import short_array

if TYPE_CHECKING:
    from collections.abc import Buffer, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.codecs.base import Codec

_LARGEST = 1 << 31  # bytes of one cell
_MOST_AXES = 32
_CODECS = ("zstd", "lz4", "blosc")


@dataclass(frozen=True, repr=False, eq=False)
class Array(Htype):
    """One array per row.

    Parameters
    ----------
    dtype : str
        As for `Scalar`.
    shape : tuple of int or None
        Size of each axis; None for an axis whose size varies from row to row.
    codec : {"zstd", "lz4", "blosc"}, optional
        Compresses each row's array by itself. Without one, arrays of varying shape are kept as raw
        bytes, and arrays of one shape as one Zarr array, whose chunks Zarr compresses.

    Examples
    --------
    >>> cells = Array("float32", (None, 3)).encode([[[1, 2, 3]], np.zeros((5, 3))])
    >>> cells.shapes.tolist()
    [[1, 3], [5, 3]]
    >>> Array("float32", (None, 3)).encode([[1, 2, 3]])
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: row 0: must have shape (…, 3), got (3,). ...
    """

    dtype: str
    """Name of the dtype that users see."""

    shape: Shape
    """Size of each axis, None where it varies."""

    codec: str | None = None
    """Name of the codec of each row's bytes."""

    name: ClassVar[str] = "array"

    @override
    def __post_init__(self) -> None:
        self._set(dtype=check_dtype(self.dtype))
        self._set(shape=check_shape(self.shape, self.dtype))
        if self.codec is not None:
            way = "Pictures are of type Image."
            self._set(codec=choice("codec of an array", self.codec, _CODECS, ALIASES, else_=way))
        super().__post_init__()

    @property
    @override
    def layout(self) -> Dense | Ragged:
        if self.codec is None and None not in self.shape:
            return Dense(stored_dtype(self.dtype), tuple(size for size in self.shape if size))
        return Ragged(stored_dtype(self.dtype), len(self.shape))

    @property
    @override
    def varying(self) -> int:
        """Axes up to the last whose size is not declared."""
        return max((i + 1 for i, size in enumerate(self.shape) if size is None), default=0)

    @property
    @override
    def blank(self) -> NDArray[Any]:
        return np.zeros([size or 0 for size in self.shape], self.dtype)

    @cached_property
    def _codec(self) -> Codec | None:
        return codecs.get(self.codec) if self.codec else None

    @override
    def _encode(self, values: Sequence[Any] | NDArray[Any], check: Check) -> Cells:
        if isinstance(self.layout, Dense):
            return DenseCells(as_stored(as_block(values, self.dtype, self.shape)))
        arrays = each(values, self._read)
        return RaggedCells(
            [self._to_buffer(array) for array in arrays], shapes_of(arrays, len(self.shape))
        )

    def _read(self, value: Any) -> NDArray[Any]:
        """Check one row's array."""
        return as_array(value, self.dtype, self.shape)

    def _to_buffer(self, array: NDArray[Any]) -> Buffer:
        """Return the stored bytes of one array."""
        return self._codec.encode(as_stored(array)) if self._codec else as_buffer(array)

    @override
    def decode(self, data: Any, shape: tuple[int, ...]) -> Any:
        if isinstance(data, np.ndarray) and isinstance(self.layout, Dense):
            array = data
        elif self._codec:
            array = self._codec.decode(data, shape, np.dtype(stored_dtype(self.dtype)))
        else:
            array = from_buffer(data, stored_dtype(self.dtype), shape)
        return array.view(self.dtype) if is_time(self.dtype) else array

    @override
    def preview(self, value: Any) -> str:
        return short_array(np.asarray(value))


def check_shape(shape: Any, dtype: str) -> Shape:
    """Return a shape as a tuple; SchemaError when cells cannot have it.

    >>> check_shape([None, 3], "float32"), check_shape(5, "int8")
    ((None, 3), (5,))
    """
    sizes = (
        (shape,)
        if isinstance(shape, int)
        else tuple(shape)
        if isinstance(shape, list | tuple)
        else ()
    )
    sized = [size for size in sizes if size is not None]
    if not 0 < len(sizes) <= _MOST_AXES or not all(
        type(size) is int and size > 0 for size in sized
    ):
        raise SchemaError(
            f"shape must be a tuple of 1 to {_MOST_AXES} positive sizes, None for an axis of any "
            f"size, got {shape!r:.80}. A column of single numbers is Scalar({dtype!r})."
        )
    nbytes = np.dtype(dtype).itemsize
    for size in sized:
        nbytes *= size
    if nbytes > _LARGEST:
        raise SchemaError(f"A cell may take up to 2 GiB, got shape {shape!r:.80} of {dtype}.")
    return sizes


def shapes_of(arrays: Sequence[NDArray[Any]], ndim: int) -> NDArray[np.int32]:
    """Return the shapes of arrays as (n, ndim) int32."""
    return np.array([array.shape for array in arrays], np.int32).reshape(len(arrays), ndim)
