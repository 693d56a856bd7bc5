"""Conversion of htype configurations to strict JSON and back.

Defaults may contain NaN, bytes and complex numbers, which JSON does not support. Each is written as
a JSON object with a single key that begins with ``$``, such as ``{"$float": "nan"}``. If a default
itself contains a dict with such a key, the dict is written as ``{"$object": …}``.
"""

from __future__ import annotations

import math
import os
from base64 import b64decode, b64encode
from copy import deepcopy
from datetime import date, timedelta
from typing import Any, NoReturn

import numpy as np

from deeplake_lite.errors import FormatError
from deeplake_lite.htypes.times import exact_span


def to_builtins(value: object) -> Any:
    """Convert a value to built-in types. Arrays and tuples become lists, and times become strings.

    >>> to_builtins((np.float64(0.5), np.array([1, 2]), np.datetime64("2026-01-02")))
    [0.5, [1, 2], '2026-01-02']
    """
    if isinstance(value, np.timedelta64 | np.datetime64):
        return _time_text(value)
    if isinstance(value, np.ndarray) and value.ndim and value.dtype.kind in "mM":
        return [to_builtins(item) for item in value]
    if isinstance(value, np.generic | np.ndarray):
        return to_builtins(value.tolist())
    if isinstance(value, float):
        return math.nan if math.isnan(value) else float(value)
    if isinstance(value, list | tuple):
        return [to_builtins(item) for item in value]
    if isinstance(value, dict):
        return {key: to_builtins(item) for key, item in value.items()}
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _time_text(exact_span(value))
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def freeze(value: object) -> Any:
    """Return a value with read-only lists and dicts. Deep copies of it can be edited.

    >>> freeze({"tags": ["new"]})["tags"].append("old")
    Traceback (most recent call last):
        ...
    TypeError: A schema is shared and cannot be edited in place. Set another default with ...
    """
    if isinstance(value, list):
        return FixedList(map(freeze, value))
    if isinstance(value, dict):
        return FixedDict({key: freeze(item) for key, item in value.items()})
    return value


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError(
        "A schema is shared and cannot be edited in place. Set another default with "
        "ds.set_default(name, value), or edit metadata with ds[name].metadata[key] = value."
    )


class FixedList(list[Any]):
    """A read-only list in a schema, which all handles of the lake share."""

    append = extend = insert = pop = remove = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> list[object]:
        return [deepcopy(item, memo) for item in self]

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (list(self),)


class FixedDict(dict[str, Any]):
    """A read-only JSON object in a schema, which all handles of the lake share."""

    update = setdefault = pop = popitem = clear = _refuse
    __setitem__ = __delitem__ = __ior__ = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, object]:
        return {key: deepcopy(item, memo) for key, item in self.items()}

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (dict(self),)


def to_json(value: object) -> Any:
    """Convert built-in types to strict JSON. Raises TypeError for keys that are not strings.

    >>> to_json([1.5, float("nan"), b"ab"])
    [1.5, {'$float': 'nan'}, {'$bytes': 'YWI='}]
    """
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    if isinstance(value, complex):
        return {"$complex": [to_json(value.real), to_json(value.imag)]}
    if isinstance(value, bytes):
        return {"$bytes": b64encode(value).decode("ascii")}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("keys of JSON objects must be strings")
        items = {key: to_json(item) for key, item in value.items()}
        return {"$object": items} if any(key.startswith("$") for key in items) else items
    return value


def from_json(value: object) -> Any:
    """Convert the result of `to_json` back to the original value.

    Raises
    ------
    FormatError
        For an unknown ``$`` key.

    >>> from_json([1.5, {"$bytes": "YWI="}])
    [1.5, b'ab']
    """
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"$float": "nan" | "inf" | "-inf" as text, **rest} if not rest:
            return math.nan if text == "nan" else float(text)
        case {"$complex": [real, imag], **rest} if not rest:
            return complex(from_json(real), from_json(imag))
        case {"$bytes": str(text), **rest} if not rest:
            return b64decode(text, validate=True)
        case {"$object": dict(items), **rest} if not rest:
            return {key: from_json(item) for key, item in items.items()}
    if any(key.startswith("$") for key in value):
        raise FormatError(
            f"A value is stored in the form {', '.join(value)}, which this release cannot read. "
            "Upgrade deeplake-lite."
        )
    return {key: from_json(item) for key, item in value.items()}


def _time_text(value: np.datetime64 | np.timedelta64) -> str:
    """Format a time as a string that time columns accept, such as ISO 8601 or ``"5 s"``."""
    if isinstance(value, np.datetime64):
        return str(value)
    return f"{int(value.astype(np.int64))} {np.datetime_data(value.dtype)[0]}"
