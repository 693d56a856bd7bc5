"""Integers in a column of classes. An integer may be a class number or the name of a class.

A class number is the position of a class among all classes, counted from 0.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.tensors import array_of, without_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.htypes import Htype

_WHOLE = re.compile(r"\s*[+-]?\d+\s*")
"""Pattern of class names that are integers."""


def takes_class_numbers(htype: Htype) -> bool:
    """Return whether integers in a text file are class numbers of a type's classes.

    This is the case unless the name of a class is itself an integer.

    >>> from deeplake_lite.htypes import ClassLabel
    >>> [takes_class_numbers(ClassLabel(names)) for names in ([], ["cat", "dog"], ["7", "8"])]
    [True, True, False]
    """
    is_one = htype.classes is not None and htype.item is None
    return is_one and not _numbers_in_names(htype)


def check_class_numbers(values: object, htype: Htype) -> None:
    """Raise an error for a number that is the name of one class and the class number of another.

    Raises
    ------
    InvalidValueError
        If there is such a number. The error does not name the row.

    Examples
    --------
    >>> from deeplake_lite.htypes import ClassLabel
    >>> check_class_numbers([0, 1], ClassLabel(["0", "1"]))
    >>> check_class_numbers([0, 1], ClassLabel(["1", "2"]))
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: 1 is ambiguous: it could mean class number 1 or ...
    """
    named = {number for number, at in _numbers_in_names(htype).items() if number != at}
    ambiguous = _numbers_among(values, named) if named else set()
    if ambiguous:
        number = min(ambiguous)
        raise InvalidValueError(
            f"{number} is ambiguous: it could mean class number {number} or the class named "
            f"'{number}'. Pass class names as strings."
        )


def _numbers_among(values: object, wanted: set[int]) -> set[int]:
    """Return those numbers of `wanted` that occur in values, which may be nested lists or arrays.

    >>> sorted(_numbers_among([[np.array(1)], [[2.0], "3"], None], {1, 2, 3}))
    [1, 2]
    """
    try:
        present = set(_numbers_in(without_tensors(values)))
    except RecursionError:  # a list that contains itself; the type rejects it later
        return set()
    return {number for number in wanted if number in present}


def _numbers_in(values: object) -> Iterator[object]:
    """Yield the numbers in nested values. Repeated numbers of an array are yielded once."""
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
    """Return a dict from integers that are class names to the numbers of these classes.

    >>> from deeplake_lite.htypes import ClassLabel
    >>> _numbers_in_names(ClassLabel(["7", "cat", "03", "-1"]))
    {7: 0, 3: 2, -1: 3}
    """
    if htype.classes is not None:
        names = enumerate(htype.classes.names)
        return {int(name): at for at, name in names if _WHOLE.fullmatch(name)}
    return {} if htype.item is None else _numbers_in_names(htype.item)
