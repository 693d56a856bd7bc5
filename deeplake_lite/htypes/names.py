"""Checks on the names of classes and keypoints."""

from __future__ import annotations

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.checks import find_lone_surrogate
from deeplake_lite.errors import SchemaError


def check_names(names: object, kind: str) -> tuple[str, ...]:
    """Return names as a tuple. Raises SchemaError unless they are non-empty, unique strings.

    >>> check_names(["rose", "tulip"], "class")
    ('rose', 'tulip')
    """
    if isinstance(names, str | bytes | dict | set) or not np.iterable(names):
        raise SchemaError(
            f"names must be a list of {kind} names, but it is {brief(names)}. Put it in a list."
        )
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise SchemaError(
                f"{kind} names must be non-empty strings, but name {index} is {brief(name)}."
            )
        if name in seen:
            raise SchemaError(
                f"{kind} names must be unique, but names {seen[name]} and {index} are both "
                f"{brief(name)}. Rename or remove one of them."
            )
        if (at := find_lone_surrogate(name)) is not None:
            raise SchemaError(
                f"{kind} names must be valid Unicode, but name {index}, {brief(name)}, has a lone "
                f"surrogate at character {at}. Replace it."
            )
        seen[str(name)] = index
    return tuple(seen)
