"""When two JSON values are the same: notes, defaults, documents, and the values of JSON columns."""

from __future__ import annotations

import json
from math import copysign
from typing import Any

import numpy as np


def same_json(a: Any, b: Any) -> bool:
    """Tell whether two values are the same as JSON has it, which ``==`` does not.

    Numbers are the same by value and objects whatever the order of their keys, but true is not 1,
    and 0.0 is not -0.0. Values that JSON lacks, such as bytes in a default, compare with ``==``.

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
        return False  # there is one true and one false
    if isinstance(a, int | float) and isinstance(b, int | float) and a == 0 == b:
        return copysign(1, a) == copysign(1, b)
    return bool(a == b)


def canonical_json(value: Any) -> str:
    """Return the text that all JSON values have that a query takes as equal to one.

    Objects are equal regardless of the order of their keys, and numbers by value, -0.0 and 0 among
    them, but the number 1, the text ``"1"`` and true are three values.

    Raises
    ------
    TypeError, ValueError, RecursionError
        For a value that JSON does not have.

    Examples
    --------
    >>> canonical_json({"b": 1.0, "a": [True, -0.0]})
    '{"a": [true, 0], "b": 1}'
    """
    return json.dumps(_with_whole_numbers(value), sort_keys=True, default=built_in)


def check_keys(value: Any) -> None:
    """Refuse a dict of which two keys are the same text in JSON, where one value would be lost.

    Raises
    ------
    ValueError
        With the text.

    Examples
    --------
    >>> check_keys([{1: "a", "1": "b"}])
    Traceback (most recent call last):
        ...
    ValueError: two keys of an object are '1' as text, of which one would be lost
    """
    if isinstance(value, dict):
        if not all(type(key) is str for key in value):
            texts: set[str] = set()
            for key in value:
                text = _key(key)
                if text in texts:
                    raise ValueError(
                        f"two keys of an object are {text!r} as text, of which one would be lost"
                    )
                texts.add(text)
        for item in value.values():
            check_keys(item)
    elif isinstance(value, list | tuple):
        for item in value:
            check_keys(item)
    elif isinstance(value, np.ndarray) and value.dtype == object:
        check_keys(value.tolist())


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of a JSON text, for ``json.loads(text, object_pairs_hook=object_of)``.

    Raises
    ------
    ValueError
        When two keys are the same, of which Python would keep the last value.

    Examples
    --------
    >>> object_of([("a", 1), ("a", 2)])
    Traceback (most recent call last):
        ...
    ValueError: two keys of an object are 'a', of which one would be lost
    """
    items = dict(pairs)
    if len(items) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"two keys of an object are {twice!r}, of which one would be lost")
    return items


def built_in(value: Any) -> Any:
    """Return a NumPy value in built-in types. Raises TypeError for what is none."""
    if isinstance(value, np.longdouble):  # whose tolist() is itself
        if value == value and float(value) != value:
            raise TypeError(f"a float64 rounds the longdouble {value!s}")
        return float(value)
    if isinstance(value, np.generic | np.ndarray) and value.dtype.kind in "biufUO":
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not JSON")


def _with_whole_numbers(value: Any) -> Any:
    """Return JSON with whole numbers as integers, and keys as texts."""
    if isinstance(value, np.generic | np.ndarray):
        value = built_in(value)
    if isinstance(value, dict):
        return {_key(key): _with_whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _key(key: Any) -> str:
    """Return a key as the text as which an object keeps it."""
    if isinstance(key, str):
        return key
    [text] = json.loads(json.dumps({key: None}))
    return str(text)
