"""Fields of the page's messages, each checked where it is read.

A page that is older than the kernel, or a message that was cut short, may leave a field out or have
something else in it. That is refused in words, as a mistake in a query is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np

from deeplake_lite.errors import LakeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

REQUIRED: Final = object()
"""Stands for a default that there is none of."""


class MessageError(LakeError):
    """A message that lacks a field, or has one of another kind."""


def text(message: Mapping[str, Any], name: str, default: Any = REQUIRED) -> str:
    """Return a field with a text. Null counts as left out. Raises MessageError.

    >>> text({"op": "set"}, "op"), text({"op": None}, "op", "toggle")
    ('set', 'toggle')
    >>> text({"op": 3}, "op")
    Traceback (most recent call last):
    deeplake_lite.widget.fields.MessageError: 'op' of the page's message must be a text, but it is \
3. Reload the page.
    """
    value = _value(message, name, default)
    return value if isinstance(value, str) or value is default else _refuse(name, "a text", value)


def text_or_none(message: Mapping[str, Any], name: str) -> str | None:
    """Return a field with a text, None where it is left out. Raises MessageError."""
    return text(message, name, None)


def whole(message: Mapping[str, Any], name: str, default: Any = REQUIRED) -> int:
    """Return a field with a whole number. Raises MessageError.

    >>> whole({"p": 3.0}, "p"), whole({}, "size", 160)
    (3, 160)
    >>> whole({}, "p")
    Traceback (most recent call last):
    deeplake_lite.widget.fields.MessageError: The page's message lacks 'p'. Reload the page.
    """
    value = _number(message, name, default, "a whole number")
    return int(value) if float(value).is_integer() else _refuse(name, "a whole number", value)


def row(message: Mapping[str, Any], rows: int) -> int:
    """Return the field ``p``, the position of one of so many rows. Raises LakeError.

    >>> row({"p": 2}, 3)
    2
    >>> row({"p": -1}, 3)
    Traceback (most recent call last):
    deeplake_lite.errors.LakeError: Rows are 0 to 2, got -1. Ask again.
    """
    position = whole(message, "p")
    if not 0 <= position < rows:
        there = f"Rows are 0 to {rows - 1:,}" if rows else "No rows are shown"
        raise LakeError(f"{there}, got {position:,}. Ask again.")
    return position


def number(message: Mapping[str, Any], name: str, default: Any = REQUIRED) -> int | float:
    """Return a field with a finite number. Raises MessageError."""
    return _number(message, name, default, "a number")


def _number(message: Mapping[str, Any], name: str, default: Any, kind: str) -> int | float:
    value = _value(message, name, default)
    is_number = isinstance(value, int | float | np.integer) and not isinstance(value, bool)
    if not is_number or not abs(value) < 2**63:
        _refuse(name, kind, value)
    found: int | float = value
    return found


def items(message: Mapping[str, Any], name: str, default: Any = REQUIRED) -> list[Any]:
    """Return a field with a list. Raises MessageError."""
    value = _value(message, name, default)
    return list(value) if isinstance(value, list | tuple) else _refuse(name, "a list", value)


def names(message: Mapping[str, Any], name: str) -> list[str]:
    """Return a field with a list of names, an empty one where it is left out. Raises MessageError.

    >>> names({"columns": ["a", "b"]}, "columns"), names({}, "columns")
    (['a', 'b'], [])
    """
    found = items(message, name, [])
    if not all(isinstance(item, str) for item in found):
        _refuse(name, "a list of names", found)
    return found


def positions(message: Mapping[str, Any], name: str) -> NDArray[np.int64]:
    """Return a field with positions of rows, (n,) int64. Raises MessageError.

    >>> positions({"rows": [3, 1]}, "rows"), positions({"rows": []}, "rows")
    (array([3, 1]), array([], dtype=int64))
    """
    value = _value(message, name, REQUIRED)
    try:
        found = np.asarray(value)
    except ValueError:  # lists of lists, of several lengths
        found = np.empty(0, object)
    if not found.size and found.dtype != object:
        return np.empty(0, np.int64)
    if found.dtype.kind not in "iu" or int(found.max()) >= 2**63:
        _refuse(name, "a list of positions of rows", value)
    return found.reshape(-1).astype(np.int64)


def rows_of(message: Mapping[str, Any], name: str, width: int) -> NDArray[np.float64]:
    """Return a field with rows of so many numbers, (n, width) float64. Raises MessageError.

    >>> rows_of({"boxes": [[0, 0, 0.5, 1]]}, "boxes", 4).tolist()
    [[0.0, 0.0, 0.5, 1.0]]
    """
    value = items(message, name)
    try:
        found = np.array(value)
    except ValueError:  # rows of several lengths
        found = np.empty((1, 0), object)
    if not value:
        return np.empty((0, width))
    if found.dtype.kind not in "iuf" or found.shape[1:] != (width,):
        _refuse(name, f"a list of {width} numbers each", value)
    return found.astype(np.float64)


def runs(message: Mapping[str, Any], name: str) -> list[tuple[int, int]]:
    """Return a field with runs of rows, each from a row up to another. Raises MessageError.

    >>> runs({"runs": [[0, 2], [5, 6]]}, "runs")
    [(0, 2), (5, 6)]
    """
    found = positions(message, name)
    if any(np.shape(run) != (2,) for run in items(message, name)):
        _refuse(name, "a list of pairs of positions", message[name])
    return [(start, stop) for start, stop in found.reshape(-1, 2).tolist()]


def parts(message: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return a field with a list of messages within this one. Raises MessageError."""
    found = items(message, name)
    if not all(isinstance(item, dict) for item in found):
        _refuse(name, "a list of objects", found)
    return found


def part(message: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a field with a message within this one. Raises MessageError."""
    value = _value(message, name, REQUIRED)
    found: Mapping[str, Any] = value if isinstance(value, dict) else _refuse(name, "fields", value)
    return found


def _value(message: Mapping[str, Any], name: str, default: Any) -> Any:
    value = message.get(name)
    if value is not None:
        return value
    if default is REQUIRED:
        raise MessageError(f"The page's message lacks {name!r}. Reload the page.")
    return default


def _refuse(name: str, kind: str, value: Any) -> NoReturn:
    raise MessageError(
        f"{name!r} of the page's message must be {kind}, but it is {value!r:.60}. Reload the page."
    )
