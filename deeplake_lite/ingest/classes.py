"""Numbers that may be classes: their numbers, or their names."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.tensors import array_of, without_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.htypes import Htype

_WHOLE = re.compile(r"\s*[+-]?\d+\s*")
"""Matches names that are whole numbers."""


def takes_class_numbers(htype: Htype) -> bool:
    """Tell whether whole numbers in a file of texts are class numbers: no class is called like one.

    >>> from deeplake_lite.htypes import ClassLabel
    >>> [takes_class_numbers(ClassLabel(names)) for names in ([], ["cat", "dog"], ["7", "8"])]
    [True, True, False]
    """
    is_one = htype.classes is not None and htype.item is None
    return is_one and not _numbers_in_names(htype)


def check_class_numbers(values: Any, htype: Htype) -> None:
    """Refuse numbers that are a class's name and mean another class by its number.

    Raises
    ------
    InvalidValueError
        For the column: which of both its numbers are, nobody knows.

    Examples
    --------
    >>> from deeplake_lite.htypes import ClassLabel
    >>> check_class_numbers([0, 1], ClassLabel(["0", "1"]))
    >>> check_class_numbers([0, 1], ClassLabel(["1", "2"]))
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: numbers of classes must not be names of others, but 1...
    """
    named = {number for number, at in _numbers_in_names(htype).items() if number != at}
    found = _numbers_among(values, named) if named else set()
    if found:
        number = min(found)
        raise InvalidValueError(
            f"numbers of classes must not be names of others, but {number} may be class number "
            f"{number} or the class named '{number}'. Give the names, as texts."
        )


def _numbers_among(values: Any, wanted: set[int]) -> set[int]:
    """Return those of some numbers that are among values, at any depth of lists and arrays.

    >>> sorted(_numbers_among([[np.array(1)], [[2.0], "3"], None], {1, 2, 3}))
    [1, 2]
    """
    try:
        present = set(_numbers_in(without_tensors(values)))
    except RecursionError:  # a list within itself, which the type refuses
        return set()
    return {number for number in wanted if number in present}


def _numbers_in(values: Any) -> Iterator[Any]:
    """Yield the numbers among values, each of an array once."""
    if isinstance(values, int | float | np.number | np.bool_ | Decimal):
        yield values
    elif isinstance(values, np.ndarray) and values.dtype != object:
        if values.dtype.kind in "biuf":
            yield from np.unique(np.ma.compressed(values)).tolist()
    elif isinstance(values, list | tuple | np.ndarray):
        for value in np.ravel(values) if isinstance(values, np.ndarray) else values:
            yield from _numbers_in(value)
    elif hasattr(values, "__array__"):
        yield from _numbers_in(array_of(values))


def _numbers_in_names(htype: Htype) -> dict[int, int]:
    """Return the class number of each name that is a whole number, of a column or of its items.

    >>> from deeplake_lite.htypes import ClassLabel
    >>> _numbers_in_names(ClassLabel(["7", "cat", "03", "-1"]))
    {7: 0, 3: 2, -1: 3}
    """
    if htype.classes is not None:
        names = enumerate(htype.classes.names)
        return {int(name): at for at, name in names if _WHOLE.fullmatch(name)}
    return {} if htype.item is None else _numbers_in_names(htype.item)
