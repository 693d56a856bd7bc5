"""The type of embeddings: one vector per row, for similarity search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes.array import check_shape
from deeplake_lite.htypes.arrays import as_block
from deeplake_lite.htypes.base import Check, Htype
from deeplake_lite.htypes.cells import DenseCells
from deeplake_lite.htypes.choices import dtype_choice
from deeplake_lite.htypes.dtypes import Dtypes
from deeplake_lite.htypes.facets import Browser
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.htypes.show import short_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Values

_DTYPES = ("float16", "float32", "float64", "int8", "uint8")


@dataclass(frozen=True, repr=False, eq=False)
class Embedding(Htype):
    """One vector per row.

    Parameters
    ----------
    dim : int
        Length of the vectors.
    dtype : {"float32", "float16", "float64", "int8", "uint8"}
        Dtype of the numbers.

    Notes
    -----
    NaN and infinity are rejected, since a single such vector would spoil every ranking.

    Examples
    --------
    >>> Embedding(3).encode([[0, 1, 2]]).values
    array([[0., 1., 2.]], dtype=float32)
    """

    dim: int
    """Length of the vectors."""

    dtype: str = "float32"
    """Dtype of the numbers."""

    name: ClassVar[str] = "embedding"

    @override
    def __post_init__(self) -> None:
        self._set(dtype=dtype_choice("dtype of an embedding", self.dtype, _DTYPES))
        if type(self.dim) is not int:
            raise SchemaError(f"dim must be a positive integer, but it is {brief(self.dim)}.")
        check_shape(self.dim, self.dtype)
        super().__post_init__()

    @property
    @override
    def layout(self) -> Dense:
        return Dense(self.dtype, (self.dim,))

    @property
    @override
    def blank(self) -> NDArray[Any]:
        return np.zeros(self.dim, self.dtype)

    @property
    @override
    def is_embedding(self) -> bool:
        return True

    @property
    @override
    def browser(self) -> Browser:
        return Browser("embedding")

    @override
    def _encode(self, values: Values, check: Check) -> DenseCells:
        vectors = as_block(values, self.dtype, (self.dim,), Dtypes(_DTYPES, self))
        finite = np.isfinite(vectors)
        if not finite.all():
            row, index = (int(i) for i in np.argwhere(~finite)[0])
            raise InvalidValueError(
                f"an embedding must be finite, but it is {vectors[row, index]} at index {index}. "
                "Leave the row out, or declare nullable=True and pass None.",
                row=row,
            )
        return DenseCells(vectors)

    @override
    def decode(self, data: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        return data

    @override
    def preview(self, value: object) -> str:
        return short_array(np.asarray(value))
