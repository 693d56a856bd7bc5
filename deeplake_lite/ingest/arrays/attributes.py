"""Conversion of attributes of files and variables to JSON, for the metadata of a dataset."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.checks import find_lone_surrogate
from deeplake_lite.dataset.export.strings import to_json_value

if TYPE_CHECKING:
    from collections.abc import Iterable

DEEPEST = 32
"""Maximum nesting depth of attributes. Values that are nested more deeply become strings."""

MAX_ITEMS = 100_000
"""Maximum number of items of an array. Of larger arrays, only the type and shape are recorded."""


def json_attributes(items: Iterable[tuple[str, Any]]) -> dict[str, object]:
    """Convert attributes to a dict of JSON values. Values that JSON cannot hold become strings.

    >>> json_attributes([("scale", np.float32(0.5)), ("fill", np.nan), ("unit", b"m")])
    {'scale': 0.5, 'fill': 'nan', 'unit': 'm'}
    """
    return {_text(name): json_value(value) for name, value in items}


def json_value(value: Any, depth: int = 0) -> object:
    """Convert a value to JSON.

    Arrays become lists. NaN, infinity and complex numbers become strings.

    >>> json_value([np.int8(1), {"a": 1j}])
    [1, {'a': '1j'}]
    """
    if depth > DEEPEST or (isinstance(value, np.ndarray) and value.size > MAX_ITEMS):
        return _text(f"{type(value).__name__} {getattr(value, 'shape', '')}".strip())
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "mMV":
            return json_value(value.tolist(), depth + 1)
        return json_value(list(value) if value.ndim else value[()], depth + 1)
    if isinstance(value, Mapping):
        return {_text(str(key)): json_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item, depth + 1) for item in value]
    value = to_json_value(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return _text(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))


def attribute_dtypes(items: Iterable[tuple[str, Any]]) -> dict[str, str]:
    """Return a dict from the names of attributes to their types, where JSON would lose the type.

    A type is "tuple", "bytes" (for bytes that are UTF-8 text), or the dtype of NumPy values and of
    numbers that JSON does not have, such as NaN.

    >>> attribute_dtypes([("scale", np.float32(0.1)), ("fill", float("nan")), ("n", 3)])
    {'scale': 'float32', 'fill': 'float64'}
    >>> attribute_dtypes([("range", (0, 1)), ("unit", b"m")])
    {'range': 'tuple', 'unit': 'bytes'}
    """
    dtypes = dict[str, str]()
    for name, value in items:
        if isinstance(value, tuple):
            dtypes[_text(name)] = "tuple"
        if isinstance(value, bytes) and value.decode("utf-8", "replace").encode() == value:
            dtypes[_text(name)] = "bytes"
        is_numpy = isinstance(value, np.ndarray | np.generic)
        is_number = isinstance(value, complex) or (
            isinstance(value, float) and not math.isfinite(value)
        )
        if (is_numpy or is_number) and np.asarray(value).dtype.kind in "biufcmM":
            dtypes[_text(name)] = np.asarray(value).dtype.name
    return dtypes


def _text(value: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return value if find_lone_surrogate(value) is None else value.encode(errors="replace").decode()
