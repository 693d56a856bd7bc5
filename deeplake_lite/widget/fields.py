"""Functions that read and check the fields of messages that the page sends.

If the page is older than the kernel or a message was truncated, a field may be missing or have a
value of another type. The error is shown to users like an error in a query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from deeplake_lite.errors import LakeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


class MessageError(LakeError):
    """A message lacks a field, or the field has a value of another type."""


def text(message: Mapping[str, object], name: str, default: str | None = None) -> str:
    """Return a string field. Null counts as missing. Raises MessageError.

    >>> text({"op": "set"}, "op"), text({"op": None}, "op", "toggle")
    ('set', 'toggle')
    >>> text({"op": 3}, "op")
    Traceback (most recent call last):
    deeplake_lite.widget.fields.MessageError: Field 'op' of the page's message must be a string, \
but it is 3. Reload the page.
    """
    value = _value(message, name, default)
    return value if isinstance(value, str) else _refuse(name, "a string", value)


def text_or_none(message: Mapping[str, object], name: str) -> str | None:
    """Return a string field, or None if the field is missing. Raises MessageError."""
    return None if message.get(name) is None else text(message, name)


def whole(message: Mapping[str, object], name: str, default: int | None = None) -> int:
    """Return an integer field. Raises MessageError.

    >>> whole({"p": 3.0}, "p"), whole({}, "size", 160)
    (3, 160)
    >>> whole({}, "p")
    Traceback (most recent call last):
    deeplake_lite.widget.fields.MessageError: The page's message has no field 'p'. Reload ...
    """
    value = _number(message, name, default, "a whole number")
    return int(value) if float(value).is_integer() else _refuse(name, "a whole number", value)


def row(message: Mapping[str, object], rows: int) -> int:
    """Return the field ``p``, the position of a row. Raises LakeError if there is no such row.

    >>> row({"p": 2}, 3)
    2
    >>> row({"p": -1}, 3)
    Traceback (most recent call last):
    deeplake_lite.errors.LakeError: The row position must be 0 to 2, but it is -1. Refresh \
the dataset browser.
    """
    position = whole(message, "p")
    if not rows:
        raise LakeError(
            f"No rows are shown, so there is no row {position:,}. Refresh the dataset browser."
        )
    if not 0 <= position < rows:
        raise LakeError(
            f"The row position must be 0 to {rows - 1:,}, but it is {position:,}. Refresh the "
            "dataset browser."
        )
    return position


def number(message: Mapping[str, object], name: str, default: float | None = None) -> int | float:
    """Return a field with a finite number. Raises MessageError."""
    return _number(message, name, default, "a number")


def _number(
    message: Mapping[str, object], name: str, default: float | None, kind: str
) -> int | float:
    value = _value(message, name, default)
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**63:
        _refuse(name, kind, value)
    return value


def items(
    message: Mapping[str, object], name: str, default: list[object] | None = None
) -> list[Any]:
    """Return a list field. Raises MessageError."""
    value = _value(message, name, default)
    return list(value) if isinstance(value, list | tuple) else _refuse(name, "a list", value)


def names(message: Mapping[str, object], name: str) -> list[str]:
    """Return a field with a list of names, or an empty list if the field is missing.

    Raises MessageError.

    >>> names({"columns": ["a", "b"]}, "columns"), names({}, "columns")
    (['a', 'b'], [])
    """
    values = items(message, name, [])
    if not all(isinstance(value, str) for value in values):
        _refuse(name, "a list of names", values)
    return values


def positions(message: Mapping[str, object], name: str) -> NDArray[np.int64]:
    """Return a field with a list of row positions, (n,) int64. Raises MessageError.

    >>> positions({"rows": [3, 1]}, "rows"), positions({"rows": []}, "rows")
    (array([3, 1]), array([], dtype=int64))
    """
    value = _value(message, name)
    try:
        array = np.asarray(value)
    except ValueError:  # nested lists of different lengths
        array = np.empty(0, object)
    if not array.size and array.dtype != object:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu" or int(array.max()) >= 2**63:
        _refuse(name, "a list of row positions", value)
    return array.reshape(-1).astype(np.int64)


def rows_of(message: Mapping[str, object], name: str, width: int) -> NDArray[np.float64]:
    """Return a field with rows of `width` numbers, (n, width) float64. Raises MessageError.

    >>> rows_of({"boxes": [[0, 0, 0.5, 1]]}, "boxes", 4).tolist()
    [[0.0, 0.0, 0.5, 1.0]]
    """
    value = items(message, name)
    try:
        array = np.array(value)
    except ValueError:  # rows of different lengths
        array = np.empty((1, 0), object)
    if not value:
        return np.empty((0, width))
    if array.dtype.kind not in "iuf" or array.shape[1:] != (width,):
        _refuse(name, f"a list of lists of {width} numbers each", value)
    return array.astype(np.float64)


def runs(message: Mapping[str, object], name: str) -> list[tuple[int, int]]:
    """Return a field with runs of rows, as a list of pairs (start, stop). Raises MessageError.

    >>> runs({"runs": [[0, 2], [5, 6]]}, "runs")
    [(0, 2), (5, 6)]
    """
    ends = positions(message, name)
    if any(np.shape(run) != (2,) for run in items(message, name)):
        _refuse(name, "a list of pairs of positions", message[name])
    return [(start, stop) for start, stop in ends.reshape(-1, 2).tolist()]


def parts(message: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    """Return a field with a list of JSON objects. Raises MessageError."""
    values = items(message, name)
    if not all(isinstance(value, dict) for value in values):
        _refuse(name, "a list of objects", values)
    return values


def part(message: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return a field with a JSON object. Raises MessageError."""
    value = _value(message, name)
    return value if isinstance(value, dict) else _refuse(name, "an object", value)


def _value(message: Mapping[str, object], name: str, default: object = None) -> object:
    value = message.get(name)
    if value is not None:
        return value
    if default is None:
        raise MessageError(f"The page's message has no field {name!r}. Reload the page.")
    return default


def _refuse(name: str, kind: str, value: object) -> NoReturn:
    raise MessageError(
        f"Field {name!r} of the page's message must be {kind}, but it is {value!r:.60}. Reload the "
        "page."
    )
