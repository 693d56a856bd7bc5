"""The type of arrays with a fixed or varying shape."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np

from deeplake_lite import codecs
from deeplake_lite.brief import brief
from deeplake_lite.errors import DamagedError, InvalidValueError, SchemaError
from deeplake_lite.htypes.arrays import (
    Shape,
    as_array,
    as_block,
    as_buffer,
    as_recorded,
    check_recorded,
    each,
    from_buffer,
    show_shape,
)
from deeplake_lite.htypes.base import Check, Htype
from deeplake_lite.htypes.cells import Cells, DenseCells, RaggedCells
from deeplake_lite.htypes.choices import ALIASES, choice
from deeplake_lite.htypes.dtypes import ANY, Dtypes
from deeplake_lite.htypes.layouts import Dense, Ragged
from deeplake_lite.htypes.scalar import as_stored, check_dtype, is_time, stored_dtype
from deeplake_lite.htypes.show import short_array

if TYPE_CHECKING:
    from collections.abc import Buffer, Iterator, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.codecs.base import Codec
    from deeplake_lite.htypes.cells import Values
    from deeplake_lite.htypes.facets import Axes

_MAX_BYTES = 1 << 31  # maximum size of one cell
_MAX_AXES = 32
MAX_ANY_AXES = 8
"""Maximum number of axes in a column whose arrays differ in their number of axes."""


@dataclass(frozen=True, repr=False, eq=False)
class Array(Htype):
    """One array per row.

    Parameters
    ----------
    dtype : str
        Dtype of the elements. The same dtypes are allowed as for `Scalar`.
    shape : tuple of int or None
        Size of each axis; None for an axis whose size varies from row to row. Pass None instead of
        a tuple if the number of axes also varies, from 0 to 8.
    codec : {"raw", "zstd", "lz4", "blosc"}, optional
        Codec with which each row's array is stored separately, either as it is (``"raw"``) or
        compressed. Without a codec, arrays of varying shape are stored as raw bytes, and arrays of
        fixed shape as one Zarr array with compressed chunks.

    Examples
    --------
    >>> cells = Array("float32", (None, 3)).encode([[[1, 2, 3]], np.zeros((5, 3))])
    >>> cells.shapes.tolist()
    [[1, 3], [5, 3]]
    >>> Array("float32", (None, 3)).encode([[1, 2, 3]])
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: row 0: must have shape (…, 3), but it has (3,). ...
    """

    dtype: str
    """Name of the dtype that users see."""

    shape: Shape | None
    """Size of each axis, with None for an axis of varying size. `shape` is None if the number of
    axes varies."""

    codec: str | None = None
    """Name of the codec that stores each row's array."""

    name: ClassVar[str] = "array"
    _dtypes: ClassVar[Dtypes] = ANY

    @override
    def __post_init__(self) -> None:
        self._set(dtype=check_dtype(self.dtype))
        if self.shape is not None:
            self._set(shape=check_shape(self.shape, self.dtype))
        if self.codec is not None:
            hint = "Images have the type Image."
            known = codecs.NUMBERS
            if str(self.codec) not in known:
                known = codecs.number_codecs()  # includes codecs of other packages
            self._set(codec=choice("codec of an array", self.codec, known, ALIASES, else_=hint))
        super().__post_init__()

    @property
    @override
    def layout(self) -> Dense | Ragged:
        if self.codec is None and None not in self._sizes:
            return Dense(stored_dtype(self.dtype), tuple(size for size in self._sizes if size))
        return Ragged(stored_dtype(self.dtype), len(self._sizes))

    @property
    def _sizes(self) -> Shape:
        """Size of each stored axis, with None for an axis of varying size."""
        return (None,) * MAX_ANY_AXES if self.shape is None else self.shape

    @property
    @override
    def varying(self) -> int:
        """Number of axes up to and including the last axis of varying size."""
        return max((i + 1 for i, size in enumerate(self._sizes) if size is None), default=0)

    @property
    @override
    def is_array(self) -> bool:
        return True

    @property
    @override
    def is_plain(self) -> bool:
        return self.codec is None

    @property
    @override
    def axes(self) -> Axes | None:
        return self.shape

    @override
    def details(self) -> Iterator[str]:
        yield from filter(None, [self.codec])

    @override
    def values_from(self, of: Htype, values: Values) -> Values:
        """Return the values unchanged, as plain numbers without their meaning in the type `of`."""
        return values

    @property
    @override
    def blank(self) -> NDArray[Any]:
        return np.zeros([0] if self.shape is None else [n or 0 for n in self.shape], self.dtype)

    @cached_property
    def _codec(self) -> Codec | None:
        return codecs.get(self.codec) if self.codec else None

    @override
    def _encode(self, values: Values, check: Check) -> Cells:
        if isinstance(self.layout, Dense):
            return DenseCells(as_stored(as_block(values, self.dtype, self._sizes)))
        arrays = each(values, self._read)
        return RaggedCells(
            [self._to_buffer(array) for array in arrays], shapes_of(arrays, len(self._sizes))
        )

    def _read(self, value: object) -> NDArray[Any]:
        """Check the value of one row, and return it as an array."""
        if self.shape is not None:
            return as_array(value, self.dtype, self.shape, self._dtypes)
        try:
            axes = _axes_of(value)
        except (ValueError, RecursionError):  # badly nested lists, which `as_array` rejects
            axes = 1
        array = as_array(value, self.dtype, (None,) * axes, self._dtypes)
        if array.ndim > MAX_ANY_AXES:
            raise InvalidValueError(
                f"must have at most {MAX_ANY_AXES} axes, but its shape is {array.shape}. "
                "Reshape the array."
            )
        return array

    def _to_buffer(self, array: NDArray[Any]) -> Buffer:
        """Return the stored bytes of one array."""
        self._check_size(array.shape)
        return self._codec.encode(as_stored(array)) if self._codec else as_buffer(array)

    @override
    def check_shape(self, shape: tuple[int, ...]) -> None:
        if self.shape is None:
            return
        sizes = zip(self.shape, shape, strict=False)
        if len(shape) != len(self.shape) or any(n not in (None, m) for n, m in sizes):
            raise DamagedError(
                f"An array must have shape {show_shape(self.shape)}, but a cell has {shape}. "
                "Run ds.verify() to find all such cells."
            )

    @override
    def decode(self, data: Any, shape: tuple[int, ...]) -> Any:
        if isinstance(data, np.ndarray) and isinstance(self.layout, Dense):
            array = data
        elif self._codec:
            self._check_size(shape)
            array = self._codec.decode(data, shape, np.dtype(stored_dtype(self.dtype)))
        else:
            self.check_shape(shape)
            array = from_buffer(data, stored_dtype(self.dtype), shape)
        return array.view(self.dtype) if is_time(self.dtype) else array

    def _check_size(self, shape: tuple[int, ...]) -> None:
        """Check the shape of a compressed array against the memory limits, before decompression.

        A few bytes may decompress to gigabytes.
        """
        if self.shape is not None:
            check_recorded(shape, (len(self.shape),))
        if self.codec not in (None, "raw"):
            self._limits.check_bytes(shape, np.dtype(self.dtype).itemsize)

    @override
    def preview(self, value: object) -> str:
        return short_array(np.asarray(value))


def check_shape(shape: object, dtype: str) -> Shape:
    """Return a shape as a tuple. Raises SchemaError for a shape that cells cannot have.

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
    if not 0 < len(sizes) <= _MAX_AXES or not all(type(size) is int and size > 0 for size in sized):
        raise SchemaError(
            f"shape must be a tuple of 1 to {_MAX_AXES} positive sizes, with None for an axis of "
            f"any size, but it is {brief(shape, 80)}. For a column of single numbers, declare "
            f"Scalar({dtype!r})."
        )
    nbytes = np.dtype(dtype).itemsize
    for size in sized:
        nbytes *= size
    if nbytes > _MAX_BYTES:
        raise SchemaError(
            f"A cell must take at most 2 GiB, but {dtype} of shape {brief(shape, 80)} takes more. "
            "Choose a smaller shape."
        )
    return sizes


def _axes_of(value: Any) -> int:
    """Return the number of axes of an array or list. A list has one more axis than its first item.

    >>> _axes_of([np.zeros((2, 3))]), _axes_of([]), _axes_of(5)
    (3, 1, 0)
    """
    if isinstance(value, list | tuple):
        return 1 + (_axes_of(value[0]) if value else 0)
    return int(np.ndim(value))


def shapes_of(arrays: Sequence[NDArray[Any]], ndim: int) -> NDArray[np.int32]:
    """Return the shapes of n arrays as an array (n, ndim) int32, with -1 for missing axes."""
    return as_recorded([array.shape for array in arrays], ndim)
