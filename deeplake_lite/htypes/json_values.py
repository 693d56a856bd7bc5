"""Equality and normalisation of JSON values: metadata, defaults and cells of JSON columns."""

from __future__ import annotations

import json
from decimal import Decimal
from math import copysign
from typing import Any

import numpy as np

from deeplake_lite.htypes.decimals import as_json_number


def same_json(a: object, b: object) -> bool:
    """Return whether two values are the same JSON. This comparison is stricter than ``==``.

    Numbers are compared by value, and objects regardless of key order. But true differs from 1, and
    0.0 from -0.0. Values that JSON does not support, such as bytes in a default, are compared with
    ``==``.

    Examples
    --------
    >>> same_json({"a": [1], "b": 2}, {"b": 2.0, "a": [1]})
    True
    >>> same_json([1], [True]), same_json(0.0, -0.0), same_json(0, 0.0)
    (False, False, True)
    """
    if a is b:
        return True
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_json(item, b[key]) for key, item in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_json, a, b))
    if isinstance(a, bool) or isinstance(b, bool):
        return False  # equal booleans are the same object, so `a is b` is true for them
    if isinstance(a, int | float) and isinstance(b, int | float) and a == 0 == b:
        return copysign(1, a) == copysign(1, b)
    return bool(a == b)


def canonical_json(value: object) -> str:
    """Return a string that two JSON values share only if queries consider them equal.

    Objects are equal regardless of key order. Numbers are compared by value, so -0.0 equals 0. The
    number 1, the string ``"1"`` and true are three different values.

    Raises
    ------
    TypeError, ValueError, RecursionError
        For a value that JSON does not support.

    Examples
    --------
    >>> canonical_json({"b": 1.0, "a": [True, -0.0]})
    '{"a": [true, 0], "b": 1}'
    """
    return json.dumps(_with_whole_numbers(value), sort_keys=True, default=built_in)


def check_keys(value: object) -> None:
    """Raise ValueError if two keys of a dict become the same string in JSON.

    Raises
    ------
    ValueError
        If two keys become the same string. The message names the string.

    Examples
    --------
    >>> check_keys([{1: "a", "1": "b"}])
    Traceback (most recent call last):
        ...
    ValueError: two keys of an object become the string '1', so one value would be lost
    """
    if isinstance(value, dict):
        if not all(type(key) is str for key in value):
            seen: set[str] = set()
            for key in value:
                text = _key_to_string(key)
                if text in seen:
                    raise ValueError(
                        f"two keys of an object become the string {text!r}, so one value would be "
                        "lost"
                    )
                seen.add(text)
        for item in value.values():
            check_keys(item)
    elif isinstance(value, list | tuple):
        for item in value:
            check_keys(item)
    elif isinstance(value, np.ndarray) and value.dtype == object:
        check_keys(value.tolist())


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build the dict of a JSON object, for ``json.loads(text, object_pairs_hook=object_of)``.

    Raises
    ------
    ValueError
        If a key occurs twice. Without the hook, Python silently keeps the last value.

    Examples
    --------
    >>> object_of([("a", 1), ("a", 2)])
    Traceback (most recent call last):
        ...
    ValueError: an object has the key 'a' twice, so one value would be lost
    """
    items = dict(pairs)
    if len(items) < len(pairs):
        keys = [key for key, _ in pairs]
        key = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"an object has the key {key!r} twice, so one value would be lost")
    return items


def built_in(value: object) -> Any:
    """Convert a NumPy value or a decimal to built-in types. Raises TypeError for anything else."""
    if isinstance(value, Decimal):
        return as_json_number(value)
    if isinstance(value, np.longdouble):  # its tolist() returns a longdouble
        if value == value and float(value) != value:
            raise TypeError(f"float64 would round the longdouble {value!s}")
        return float(value)
    if isinstance(value, np.generic | np.ndarray) and value.dtype.kind in "biufUO":
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be stored as JSON")


def _with_whole_numbers(value: object) -> object:
    """Return JSON with floats that are whole numbers as integers, and keys as strings."""
    if isinstance(value, np.generic | np.ndarray | Decimal):
        value = built_in(value)
    if isinstance(value, dict):
        return {_key_to_string(key): _with_whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _key_to_string(key: object) -> str:
    """Convert a key to a string as JSON does."""
    if isinstance(key, str):
        return key
    [text] = json.loads(json.dumps({key: None}))
    return str(text)
