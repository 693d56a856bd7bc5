"""Conversion of Arrow structs, maps and JSON to Python objects, or to tensors.

`to_arrow` writes tensors in which several axes vary as structs of data and shape.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.brief import brief
from deeplake_lite.dataset.arrow.types import dtype_of, is_list
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.arrow_scalars import python_value, python_values
from deeplake_lite.htypes.json_values import object_of
from deeplake_lite.htypes.layouts import Nested

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype


def are_tensors(kind: pa.DataType, of: Htype | None) -> bool:
    """Return whether structs are tensors with several varying axes, written by `to_arrow`.

    The answer depends on `of`, the type in the field's metadata or of the target column. Unless
    `of` is an array type, the structs are objects, even if the field names match.

    >>> from deeplake_lite.htypes import Array, Json
    >>> kind = pa.struct({"data": pa.list_(pa.int64()), "shape": pa.list_(pa.int64())})
    >>> are_tensors(kind, Array("int64", (None, None))), are_tensors(kind, Json())
    (True, False)
    """
    if not kinds.is_struct(kind) or {f.name for f in kind} != {"data", "shape"}:
        return False
    return of is not None and isinstance(of.blank, np.ndarray)


def item_of(of: Htype | None) -> Htype | None:
    """Return the type of the items if `of` is a list type, and None otherwise."""
    return of.layout.item if of is not None and isinstance(of.layout, Nested) else None


def tensors_in(column: pa.Array | pa.ChunkedArray) -> list[object]:
    """Convert structs of data and shape to arrays, or to dicts where the data do not fit the shape.

    Array types reject these dicts with an error that names the row.

    >>> tensors_in(pa.array([{"data": [1, 2], "shape": [2, 1]}, None]))
    [array([[1],
           [2]]), None]
    >>> tensors_in(pa.array([{"data": [1, 2, 3], "shape": [2]}]))
    [{'data': [1, 2, 3], 'shape': [2]}]
    """
    return [_tensor(item) if item.is_valid else None for item in column]


def _tensor(item: pa.StructScalar) -> object:
    data, shape = item["data"], item["shape"]
    if not (data.is_valid and shape.is_valid):
        return None
    if not (is_list(data.type) and is_list(shape.type) and kinds.is_integer(shape.type.value_type)):
        return python_value(item)
    sizes, numbers = shape.as_py(), data.values
    if kinds.is_fixed_size_list(numbers.type):  # complex numbers, stored as pairs of floats
        sizes, numbers = [*sizes, numbers.type.list_size], numbers.flatten()
    if dtype_of(numbers.type) is None or not _fits(sizes, len(numbers)):
        return python_value(item)
    flat: NDArray[Any] = np.asarray(numbers.to_numpy(zero_copy_only=False))
    if numbers.null_count and flat.dtype.kind in "mM":  # the htype accepts NaT, but not None
        flat = np.array([None if np.isnat(time) else time for time in flat], object)
    return flat.reshape(sizes)


def _fits(sizes: list[int | None], count: int) -> bool:
    """Return whether an array of the given shape has `count` numbers."""
    valid = [size for size in sizes if size is not None and size >= 0]
    return len(valid) == len(sizes) and int(np.prod(valid, dtype=object)) == count


def objects_in(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return values as Python objects, with maps as dicts and with JSON parsed, at any depth.

    Raises
    ------
    InvalidValueError
        If a map has a duplicate key or JSON is invalid (the error names the row), or if a struct
        has two fields with the same name.

    Examples
    --------
    >>> objects_in(pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())))
    [{'a': 1}, None]
    """
    values = python_values(column)
    if not _has_objects(column.type):
        return values
    for row, value in enumerate(values):
        try:
            values[row] = _with_objects(value, column.type)
        except InvalidValueError as error:
            raise error.at(row=row) from None
    return values


def _has_objects(kind: pa.DataType) -> bool:
    """Return whether a type contains maps or JSON, which Arrow returns as pairs and as strings."""
    if isinstance(kind, pa.JsonType):
        return True
    if isinstance(kind, pa.BaseExtensionType):
        return _has_objects(kind.storage_type)
    if kinds.is_map(kind):
        return True
    if is_list(kind):
        return _has_objects(kind.value_type)
    return kinds.is_struct(kind) and any(_has_objects(f.type) for f in kind)


def _with_objects(value: Any, kind: pa.DataType) -> object:
    """Return a Python value of an Arrow type with its maps as dicts and its JSON parsed."""
    if value is None or not _has_objects(kind):
        return value
    if isinstance(kind, pa.JsonType):
        return _parse_json(value)
    if isinstance(kind, pa.BaseExtensionType):
        return _with_objects(value, kind.storage_type)
    if kinds.is_map(kind):
        return _dict([(key, _with_objects(item, kind.item_type)) for key, item in value])
    if kinds.is_struct(kind):
        return {f.name: _with_objects(value[f.name], f.type) for f in kind}
    return [_with_objects(item, kind.value_type) for item in value]


def _parse_json(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=object_of)
    except (ValueError, RecursionError) as error:
        raise InvalidValueError(
            f"must be JSON, but {brief(text)} cannot be parsed: {error}. To store it as a string, "
            "cast the column: column.cast(pa.string())."
        ) from error


def _dict(pairs: list[tuple[object, object]]) -> dict[object, object]:
    keys = [key for key, _ in pairs]
    if any(isinstance(key, dict | list) for key in keys):
        rule = "the keys of a map must be strings or numbers"
    elif len(set(keys)) < len(keys):
        rule = "the keys of a map must be unique"
    else:
        return dict(pairs)
    raise InvalidValueError(
        f"{rule}, but this map is {brief(pairs)}. Convert it to a list of structs."
    )
