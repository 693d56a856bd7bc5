"""Hashable stand-ins for values, by which arrays, NaN and nulls can be compared."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.htypes import Htype


def freeze(value: object) -> object:
    """Return a hashable stand-in for a decoded value. Two stand-ins are equal if the values are.

    >>> freeze([np.array([1.0, np.nan])]) == freeze([np.array([1.0, np.nan])])
    True
    >>> freeze(np.zeros((2, 3))) == freeze(np.zeros((3, 2)))
    False
    """
    if isinstance(value, np.ma.MaskedArray):  # a row of a masked block, or a masked scalar
        return None if value.mask.all() else freeze(value.data)
    match value:
        case np.ndarray():
            plain = np.where(np.isnan(value), np.nan, value) if value.dtype.kind in "fc" else value
            return ("array", value.dtype.str, value.shape, plain.astype(value.dtype).tobytes())
        case np.generic():
            return freeze(value.item())
        case bool():
            return ("bool", value)
        case float() if math.isnan(value):
            return "NaN"
        case float():
            return ("float", value.hex())
        case dict():
            return ("dict", tuple((k, freeze(v)) for k, v in value.items()))
        case list() | tuple():
            return ("list", tuple(map(freeze, value)))
        case memoryview() | bytearray():
            return bytes(value)
    return value


def stored(htype: Htype, values: Sequence[object]) -> list[Any]:
    """Return the frozen values that a correct column type returns after storing the given values.

    >>> from deeplake_lite.htypes import Scalar
    >>> stored(Scalar("int8", nullable=True), [1, None])
    [1, None]
    """
    return [freeze(value) for value in htype.decode_cells(htype.encode(values))]
