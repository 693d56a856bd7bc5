"""Numbers that may be classes: their numbers, or their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes import ClassLabel

if TYPE_CHECKING:
    from deeplake_lite.htypes import Htype


def takes_class_numbers(htype: Htype) -> bool:
    """Tell whether whole numbers in a file of texts are class numbers: no class is called like one.

    >>> [takes_class_numbers(ClassLabel(names)) for names in ([], ["cat", "dog"], ["7", "8"])]
    [True, True, False]
    """
    is_one = isinstance(htype, ClassLabel) and not htype.multiple
    return is_one and not _numbers_in_names(htype)


def check_class_numbers(values: Any, htype: Htype) -> None:
    """Refuse numbers that are a class's name and mean another class by its number.

    Raises
    ------
    InvalidValueError
        For the column: which of both its numbers are, nobody knows.

    Examples
    --------
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
    """Return those of some numbers that are values, or items of lists of values."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        present = np.ma.compressed(values) if values.dtype.kind in "iuf" else np.empty(0)
        return wanted.intersection(np.unique(present).tolist())
    rows = (v if isinstance(v, list | tuple | np.ndarray) and np.ndim(v) else [v] for v in values)
    numbers = (item for row in rows for item in row if isinstance(item, int | float | np.number))
    return wanted.intersection(numbers)


def _numbers_in_names(htype: Htype) -> dict[int, int]:
    """Return the class number of each name that is a whole number.

    >>> _numbers_in_names(ClassLabel(["7", "cat", "03"]))
    {7: 0, 3: 2}
    """
    if not isinstance(htype, ClassLabel):
        return {}
    return {int(name): at for at, name in enumerate(htype.names) if name.isdecimal()}
