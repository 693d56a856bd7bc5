"""Values that `View.to_deeplake` had to write in another form, such as times as integers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.htypes import Htype


def as_own(values: list[Any], htype: Htype) -> list[Any]:
    """Return values in the form that their type in the lake accepts."""
    convert = _converter(htype)
    return values if convert is None else [None if v is None else convert(v) for v in values]


def _converter(htype: Htype) -> Callable[[Any], Any] | None:
    """Return the function from a value of Deep Lake to one of a type; None if they agree."""
    if htype.item is not None:
        leaf = np.dtype(htype.value_dtype or "bool")
        return lambda value: _leaves(_json(value), leaf)
    if htype.sql == "json":
        return _json
    dtype = np.dtype(htype.value_dtype) if htype.value_dtype else np.dtype(bool)
    if dtype.kind in "mM":
        return lambda value: np.asarray(value, np.int64).astype(dtype)
    if dtype.kind == "c":
        return lambda value: _complex(value, dtype)
    return None


def _json(value: Any) -> Any:
    """Return the content of JSON; other values, such as lists of images, are not JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _leaves(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return nested lists, with strings as complex numbers, and counts as durations."""
    if isinstance(value, list):
        return [_leaves(item, dtype) for item in value]
    if dtype.kind == "c" and isinstance(value, str):
        return complex(value)
    if dtype.kind == "m" and isinstance(value, int):
        return np.int64(value).view(dtype)
    return value


def _complex(pairs: Any, dtype: np.dtype[Any]) -> Any:
    """Return complex numbers from pairs of real and imaginary parts."""
    parts = np.ascontiguousarray(pairs, f"f{dtype.itemsize // 2}")
    return parts.view(dtype)[..., 0]
