"""SQL's three-valued logic for conditions on lists, such as x > 1, whose items may be null.

A condition on a list is a boolean for each item, which is null if the item is null. The value of a
row with nulls is an array of objects, in which None means null. Otherwise, it is a boolean array.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.query.functions.value_type import Truths, Type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.query.functions.base import Arg, Compute


def has_null_items(value: object) -> bool:
    """Return whether the value of a row is an array of booleans some of which may be null."""
    return isinstance(value, np.ndarray) and value.dtype == object


def split(value: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | bool]:
    """Return booleans in which False replaces null, and a mask of the nulls.

    >>> split(np.array([True, None]))
    (array([ True, False]), array([False,  True]))
    """
    if not has_null_items(value):
        return np.asarray(value), False
    nulls = np.array([item is None for item in value.flat], bool).reshape(value.shape)
    return np.where(nulls, False, value).astype(bool), nulls


def join(truths: object, nulls: Any) -> NDArray[Any]:
    """Return booleans in which elements are null where a mask is true.

    >>> join(np.array([True, False]), np.array([False, True]))
    array([np.True_, None], dtype=object)
    """
    array = np.asarray(truths)
    if not np.any(nulls):
        return array
    out = np.empty(array.size, object)
    pairs = zip(array.flat, np.broadcast_to(nulls, array.shape).flat, strict=True)
    for at, (truth, null) in enumerate(pairs):
        out[at] = None if null else truth
    return out.reshape(array.shape)


def make_three_valued(compute: Compute) -> Compute:
    """Return an elementwise function whose result is null for each element that is null."""

    def of_items(*values: object, lead: int) -> object:
        if not any(map(has_null_items, values)):
            return compute(*values, lead=lead)
        truths, nulls = zip(*map(split, values), strict=True)
        result = compute(*truths, lead=lead)
        masks = [np.broadcast_to(mask, np.shape(result)) for mask in nulls]
        return join(result, np.logical_or.reduce(masks))

    return of_items


def with_truths(type_: Type, *args: Arg) -> Type:
    """Return the type of booleans that a function computes from arguments.

    These booleans may be null if an argument contains booleans that may be null.
    """
    is_nullable = type_.dtype == "bool" and type_.ndim != 0
    may_be_null = is_nullable and any(isinstance(a.type.meaning, Truths) for a in args)
    return replace(type_, meaning=Truths()) if may_be_null else type_


def may_hold_null(list_: Type) -> bool:
    """Return whether the items of lists with the given type may be null."""
    if list_.items is None:
        return False
    htype = list_.items.htype
    return htype is None or htype.item is None or htype.item.nullable


def way_around_nulls(type_: Type, text: str) -> str:
    """Return a hint for messages on how to compute with numbers of which some are null.

    Returns "" unless the type is a list of numbers whose items may be null.
    """
    if type_.items is None or not type_.items.of.is_number or not may_hold_null(type_):
        return ""
    return (
        f" Because of null items, {text} is not a tensor. Write FROM (SELECT UNNEST({text}) AS "
        "item FROM dataset) for one row per item; aggregates skip nulls."
    )
