"""Compare JSON values in lists with numbers, strings and booleans.

The results are the same as for JSON columns, which DuckDB compares.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.htypes.json_values import canonical_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.query.functions.base import Arg

type Comparison = Callable[[Any, Any], bool]
"""An operator that compares two Python values, such as `operator.lt`."""


def check_beside_json(name: str, items: Arg, other: Arg) -> None:
    """Raise QueryTypeError if JSON items are compared with times or bytes."""
    if other.type.is_time or other.type.dtype == "bytes":
        raise QueryTypeError(
            f"{name} compares JSON with numbers, strings and booleans, but {items.text} is "
            f"{items.type} and {other.text} is {other.type}. Write CAST({other.text} AS TEXT)."
        )


def compare_json_item(compare: Comparison, item: object, other: object) -> bool | None:
    """Return the result of comparing two JSON values, or None if it is null.

    The result is null if one of the values is null. Unless the values are tested for equality, it
    is also null if they are not both numbers, both strings or both booleans.

    >>> compare_json_item(operator.eq, True, 1), compare_json_item(operator.lt, "a", 1)
    (False, None)
    """
    if item is None or other is None:
        return None
    if isinstance(other, float) and other != other:
        return compare is operator.ne
    if compare in (operator.eq, operator.ne):
        return bool(compare(canonical_json(item), canonical_json(other)))
    kind = _kind(other)
    return bool(compare(item, other)) if kind and kind == _kind(item) else None


def _kind(value: object) -> str:
    """Return "truth", "number" or "string", or "" for lists and objects, which have no order."""
    match value:
        case bool():
            return "truth"
        case int() | float():
            return "number"
        case str():
            return "string"
    return ""


def is_json_item(items: Any, wanted: object) -> bool:
    """Return whether a list of JSON values contains a value.

    >>> is_json_item([True, [1]], 1), is_json_item([1.0], 1)
    (False, True)
    """
    return any(compare_json_item(operator.eq, item, wanted) for item in items)


def built_in_value(value: object) -> object:
    """Return a NumPy number or array as a JSON value. Return other values unchanged."""
    return value.tolist() if hasattr(value, "tolist") else value
