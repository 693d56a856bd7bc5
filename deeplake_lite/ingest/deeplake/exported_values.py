"""Restoring values that `View.to_deeplake` has converted, such as times written as integers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.htypes import Htype


def restore_values(values: list[Any], htype: Htype) -> list[Any]:
    """Convert values that `View.to_deeplake` wrote back to values of the column type `htype`."""
    convert = _converter(htype)
    return values if convert is None else [None if v is None else convert(v) for v in values]


def _converter(htype: Htype) -> Callable[[Any], Any] | None:
    """Return a function that restores a value of a type, or None if it needs no conversion."""
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
    """Parse JSON. Return other values, such as lists of images, unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _leaves(value: Any, dtype: np.dtype[Any]) -> Any:
    """Convert the items of nested lists: strings to complex numbers, or integers to durations."""
    if isinstance(value, list):
        return [_leaves(item, dtype) for item in value]
    if dtype.kind == "c" and isinstance(value, str):
        return complex(value)
    if dtype.kind == "m" and isinstance(value, int):
        return np.int64(value).view(dtype)
    return value


def _complex(pairs: Any, dtype: np.dtype[Any]) -> Any:
    """Convert pairs of real and imaginary parts to complex numbers."""
    parts = np.ascontiguousarray(pairs, f"f{dtype.itemsize // 2}")
    return parts.view(dtype)[..., 0]
