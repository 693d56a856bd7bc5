"""Conversion of values to cells of a text table such as CSV, and to plain JSON values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.export.portable import is_file

if TYPE_CHECKING:
    from deeplake_lite.htypes import Htype


def fits_table(htype: Htype) -> bool:
    """Return whether values of a type fit in a text table. Files, pixels and arrays do not fit.

    >>> from deeplake_lite.htypes import Boxes, Image, Sequence
    >>> fits_table(Boxes()), fits_table(Image()), fits_table(Sequence("bytes"))
    (True, False, False)
    """
    if htype.item is not None:
        return fits_table(htype.item)
    return not is_file(htype) and htype.pixels is None and not htype.is_array


def table_cell(value: object, htype: Htype | None = None) -> object:
    """Convert a value to a cell of a table: a number, a string, or None for null.

    Arrays and lists become JSON.

    >>> table_cell(np.array([[0.1, 2]], "float32")), table_cell([None, "a"])
    ('[[0.1, 2.0]]', '[null, "a"]')
    >>> from deeplake_lite.htypes import Json
    >>> table_cell(np.float32(0.1)), table_cell("a"), table_cell("a", Json())  # the last is JSON
    (0.1, 'a', '"a"')
    """
    is_json = htype is not None and htype.sql == "json" and value is not None
    if is_json or isinstance(value, list | Mapping | np.ndarray):
        return json.dumps(to_json_value(value), ensure_ascii=False)
    return to_json_value(value)


def to_json_value(value: Any) -> object:
    """Convert a value to a JSON type. Times become ISO 8601 text, and durations become integers.

    >>> to_json_value(np.datetime64("2026-01-02")), to_json_value(np.timedelta64(5, "M"))
    ('2026-01-02', 5)
    >>> to_json_value(np.complex64(1j))
    '1j'
    """
    match value:
        case list():
            return [to_json_value(item) for item in value]
        case np.ndarray():
            return _numbers(value)
        case np.timedelta64():
            return int(value.astype(np.int64))
        case np.datetime64() | np.complexfloating():
            return str(value)
        case np.floating():
            return float(str(value))  # 0.1 in float32 becomes 0.1, not 0.10000000149011612
        case np.generic():
            return value.item()
    return value


def with_shapes(value: Any) -> object:
    """Convert a value to a JSON type. Empty arrays become dicts with their shapes.

    >>> with_shapes([np.zeros((1, 2)), np.zeros((0, 2))])
    [[[0.0, 0.0]], {'shape': [0, 2]}]
    """
    if isinstance(value, list):
        return [with_shapes(item) for item in value]
    if isinstance(value, np.ndarray) and not value.size and value.ndim > 1:
        return {"shape": list(value.shape)}
    return to_json_value(value)


def _numbers(values: np.ndarray[Any, Any]) -> object:
    """Return an array as nested lists."""
    if values.dtype.kind == "f":
        # The conversion to strings rounds float32 to its shortest decimals, as in `to_json_value`.
        return values.astype("U").astype(np.float64).tolist()
    if values.dtype.kind in "mMc":
        items = [values[i] for i in range(len(values))] if values.ndim else values[()]
        return to_json_value(items)
    return values.tolist()
