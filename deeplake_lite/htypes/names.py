"""Names of classes and points, which stand for their position in a list."""

from __future__ import annotations

from typing import Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.checks import half_of_a_pair
from deeplake_lite.errors import SchemaError


def check_names(names: Any, kind: str) -> tuple[str, ...]:
    """Return names as a tuple; SchemaError unless they are texts, not empty, each once.

    >>> check_names(["rose", "tulip"], "class")
    ('rose', 'tulip')
    """
    if isinstance(names, str | bytes | dict | set) or not np.iterable(names):
        raise SchemaError(
            f"names must be a list of {kind} names, got {brief(names)}. Put it in a list."
        )
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise SchemaError(
                f"{kind} names must be texts that are not empty, got {brief(name)} at {place}."
            )
        if name in seen:
            raise SchemaError(
                f"{kind} names must be unique, got {brief(name)} at {seen[name]} and {place}."
            )
        if (half := half_of_a_pair(name)) is not None:
            raise SchemaError(
                f"{kind} names must be Unicode text, but {brief(name)} at {place} has half a "
                f"surrogate pair at character {half}. Replace it."
            )
        seen[str(name)] = place
    return tuple(seen)
