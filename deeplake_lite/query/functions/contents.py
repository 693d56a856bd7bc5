"""The functions CONTAINS and KEYS, which look for an item or a key in a value."""

from __future__ import annotations

from typing import Any

import numpy as np

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.functions.base import Arg, Bound, function
from deeplake_lite.query.functions.binding import (
    adapt_to_floats,
    align,
    class_number,
    keep_exact,
    numbers,
    weak,
)
from deeplake_lite.query.functions.json_items import (
    built_in_value,
    check_beside_json,
    is_json_item,
)
from deeplake_lite.query.functions.times import as_times, check_times, compare_times
from deeplake_lite.query.functions.value_type import Type

GROUP = "Contents"


@function("CONTAINS(x, value)", group=GROUP)
def _contains(x: Arg, value: Arg) -> Bound:
    """Whether an array has a number or class, a string a substring, or JSON a key or item."""
    if x.type.dtype == "str":
        if value.type.dtype != "str":
            raise QueryTypeError(
                f"CONTAINS searches a string for a string, but {value.text} is {value.type}. Write "
                f"CAST({value.text} AS TEXT)."
            )
        return Bound(Type("bool"), _in_string, stacks=False)
    if x.type.items is not None:
        if x.type.items.of.ndim != 0:
            raise QueryTypeError(
                f"CONTAINS searches for a single value, but {x.text} is {x.type}, whose items have "
                f"axes. Compare HASH({x.text}[0]) with HASH(…)."
            )
        if x.type.items.of.dtype == "object":
            check_beside_json("CONTAINS", x, value)
            return Bound(Type("bool"), _in_list_of_json, stacks=False)
        if x.type.items.of.is_time or value.type.is_time:
            return _in_list_of_times(x, as_times(value, x))
        if not x.type.items.of.is_like(value.type):
            raise QueryTypeError(
                "CONTAINS searches numbers for a number, and strings for a string, but "
                f"{x.text} is {x.type} and {value.text} is {value.type}."
            )
        return Bound(Type("bool"), _in_list, stacks=False)
    if x.type.dtype == "object":
        return Bound(Type("bool"), _in_json, stacks=False)
    if x.type.is_time or value.type.is_time:
        return _contains_time(x, as_times(value, x))
    wanted: Any = None
    if x.type.names is not None and value.is_constant and isinstance(value.value, str):
        wanted = class_number(value, x)
    else:
        numbers("CONTAINS", value)
        if value.type.shape not in ((), None):
            raise ValueError(f"value must be one number, but {value.text} is {value.type}")

    def compute(values: object, single: Any, *, lead: int) -> object:
        if value.is_constant:  # compare exactly with floats, without widening the array
            single = weak(value.value if wanted is None else wanted)
            _, single = adapt_to_floats(np.equal, single, x.type.dtype, is_first=False)
        if np.ndim(single) > (0 if value.is_constant else lead):
            raise ValueError(f"value must be one number, but {value.text} has axes")
        array, single = align([np.asarray(values), single], (x, value), lead)
        equal = np.equal(array, single)
        return np.any(equal, axis=tuple(range(lead, equal.ndim)))

    return Bound(Type("bool"), compute)


def _contains_time(x: Arg, value: Arg) -> Bound:
    """Return CONTAINS, bound to an array of times and a time."""
    check_times("CONTAINS", x, value)
    if value.type.ndim != 0:
        raise QueryTypeError(
            f"CONTAINS can only search for one time, but {value.text} is {value.type}. Select one "
            "of its elements, as in x[0]."
        )

    def compute(times: object, single: object, *, lead: int) -> object:
        single = value.value if value.is_constant else single
        equal = compare_times(np.equal, *align([np.asarray(times), single], (x, value), lead))
        return np.any(equal, axis=tuple(range(lead, equal.ndim)))

    return Bound(Type("bool"), compute)


def _in_list_of_times(x: Arg, value: Arg) -> Bound:
    """Return CONTAINS, bound to a list of times, which may contain nulls, and a time."""
    assert x.type.items is not None
    check_times("CONTAINS", Arg(x.text, x.type.items.of), value)

    def compute(times: Any, single: object, *, lead: int) -> object:  # noqa: ARG001
        single = value.value if value.is_constant else single
        present = (time for time in times if time is not None)
        return np.bool_(any(bool(compare_times(np.equal, time, single)) for time in present))

    return Bound(Type("bool"), compute, stacks=False)


def _in_string(text: Any, part: Any, *, lead: int) -> object:  # noqa: ARG001
    if isinstance(text, str):
        return np.bool_(part in text)
    return np.bool_(any(part == item for item in text))


def _in_list(items: Any, wanted: object, *, lead: int) -> object:  # noqa: ARG001
    whole = weak(wanted) if isinstance(wanted, int | float) else wanted
    present = (keep_exact(item, whole) for item in items if item is not None)
    return np.bool_(any(item == wanted for item in present))


def _in_list_of_json(items: object, wanted: object, *, lead: int) -> object:  # noqa: ARG001
    return np.bool_(is_json_item(items, built_in_value(wanted)))


def _in_json(value: object, member: object, *, lead: int) -> object:  # noqa: ARG001
    if isinstance(value, str):
        return np.bool_(isinstance(member, str) and member in value)
    if isinstance(value, dict):
        return np.bool_(isinstance(member, str) and member in value)
    return np.bool_(isinstance(value, list) and is_json_item(value, built_in_value(member)))


@function("KEYS(x)", group=GROUP)
def _keys(x: Arg) -> Bound:
    """Keys of a JSON object; null for anything else."""
    if x.type.dtype != "object":
        raise QueryTypeError(f"KEYS takes JSON, but {x.text} is {x.type}.")

    def compute(value: object, *, lead: int) -> object:  # noqa: ARG001
        return list(value) if isinstance(value, dict) else None

    return Bound(Type("str", (None,)), compute, stacks=False)
