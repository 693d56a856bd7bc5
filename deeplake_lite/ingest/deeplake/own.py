"""Values that `View.to_deeplake` had to write in another form, such as times as integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from deeplake_lite.htypes import Htype


def as_own(values: list[Any], htype: Htype) -> list[Any]:
    """Return values in the form that their type in the lake accepts."""
    convert = _converter(htype)
    return values if convert is None else [None if v is None else convert(v) for v in values]


def _converter(htype: Htype) -> Any:
    """Return the function from a value of Deep Lake to one of a type; None if they agree."""
    dtype = np.dtype(htype.value_dtype) if htype.value_dtype else None
    if htype.item is not None or dtype is None:
        return None
    if dtype.kind in "mM":
        return lambda value: np.asarray(value, np.int64).view(dtype)
    if dtype.kind == "c":
        return lambda value: _complex(value, dtype)
    return None


def _complex(pairs: Any, dtype: np.dtype[Any]) -> Any:
    """Return complex numbers from pairs of real and imaginary parts."""
    real = np.ascontiguousarray(pairs, f"f{dtype.itemsize // 2}")
    return real.view(dtype)[..., 0]
