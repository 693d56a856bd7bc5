"""Conversion of Arrow columns to values that column types accept, for appends and for ingestion.

First, chunks are joined, and dictionaries, run-end encodings and extension types are decoded. Then
numbers, times and tensors become arrays, with nulls masked, and all other values become Python
objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.decimals import as_floats
from deeplake_lite.dataset.arrow.objects import are_tensors, item_of, objects_in, tensors_in
from deeplake_lite.dataset.arrow.types import dtype_of, is_list, is_text, unwrap, without_views
from deeplake_lite.dataset.read.values import items_of, with_none
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes import Array
from deeplake_lite.htypes.times import spans_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.facets import Sql


def arrow_values(column: pa.Array | pa.ChunkedArray, of: Htype | None = None) -> Any:
    """Return a column's values in a form that the type `of` accepts: an array or a list.

    >>> from deeplake_lite.htypes import Scalar
    >>> arrow_values(pa.array([1, None]), Scalar("int64", nullable=True))
    masked_array(data=[1, --], mask=[False,  True], fill_value=999999)
    >>> arrow_values(pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2)), Scalar("complex64"))
    [np.complex64(1+2j)]
    """
    array = one_array(column)
    if isinstance(array.type, pa.JsonType) and _sql_of(of) == "json":
        return objects_in(array)
    values = _values(_plain(array), of)
    dtype = _accepted_dtype(of)
    if dtype.startswith("complex"):
        return complex_of(values, np.dtype(dtype))
    return spans_of(values, dtype)


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Join the chunks of a column and decode it, except for dictionaries of strings.

    Other dictionaries must be decoded before their chunks are joined, and Arrow can decode only a
    few run-end encodings itself.

    >>> one_array(pa.DictionaryArray.from_arrays([1, 0, None], pa.array([[1], [2, 3]]))).to_pylist()
    [[2, 3], [1], None]
    """
    if not isinstance(column, pa.ChunkedArray):
        return _expand(column)
    chunks = column.chunks or [pa.nulls(0, column.type)]
    return pa.chunked_array([_expand(chunk) for chunk in chunks]).combine_chunks()


def _expand(array: pa.Array) -> pa.Array:
    """Decode a run-end or dictionary-encoded array, except for a dictionary of strings."""
    kind = array.type
    if kinds.is_run_end_encoded(kind):
        rows = np.arange(array.offset, array.offset + len(array))
        runs = np.searchsorted(array.run_ends.to_numpy(), rows, side="right")
        return _expand(_take(array.values, pa.array(runs)))
    if kinds.is_dictionary(kind) and not is_text(kind.value_type):
        return _expand(_take(array.dictionary, array.indices))
    return array


def _take(values: pa.Array, indices: pa.Array) -> pa.Array:
    """Return the values at `indices`. Views, which Arrow cannot index, are cast first.

    >>> _take(pa.array(["a", "b"], pa.string_view()), pa.array([1, None])).to_pylist()
    ['b', None]
    """
    kind = without_views(values.type)
    return (values if kind == values.type else values.cast(kind)).take(indices)


def _plain(array: pa.Array) -> pa.Array:
    """Decode an array and remove its extension types, except for fixed-shape tensors.

    >>> _plain(pa.array(["a", "a"]).dictionary_encode()).to_pylist()
    ['a', 'a']
    """
    array = _expand(array)
    kind = array.type
    if kinds.is_dictionary(kind):
        return _take(array.dictionary, array.indices)
    if isinstance(kind, pa.Bool8Type):
        return array.storage.cast(pa.bool_())
    if isinstance(array, pa.ExtensionArray) and not isinstance(kind, pa.FixedShapeTensorType):
        return _plain(array.storage)
    return array


def _values(array: pa.Array, of: Htype | None) -> object:
    kind = array.type
    if isinstance(kind, pa.FixedShapeTensorType):
        return _tensors(array)
    if are_tensors(kind, of):
        return tensors_in(array)
    if kinds.is_decimal(kind):
        return _decimals(array, of)
    if dtype_of(kind) is not None:
        return _numbers(array)
    if is_list(kind):
        return _lists(array, of)
    if kinds.is_struct(kind) and of is not None and (of.is_image or of.sql == "bytes"):
        return [_file(item) for item in objects_in(array)]
    return objects_in(array)


def _sql_of(of: Htype | None) -> Sql | None:
    return None if of is None else of.sql


def _accepted_dtype(of: Htype | None) -> str:
    """Return the dtype of the numbers that a type accepts, or "" for classes and lists.

    >>> from deeplake_lite.htypes import Scalar, Sequence
    >>> _accepted_dtype(Scalar("complex64")), _accepted_dtype(Sequence("complex64"))
    ('complex64', '')
    """
    if of is None or of.item is not None or of.classes is not None:
        return ""
    return of.value_dtype


def _lists(array: pa.Array, of: Htype | None) -> object:
    """Return lists in the form that the type `of` accepts: arrays, sequences or objects."""
    is_array = of is not None and of.is_array
    is_fixed = kinds.is_fixed_size_list(array.type)
    if is_array and is_fixed and not array.null_count:
        return _block(array)
    if is_array:
        return [None if i is None else _array(i, has_nan=not is_fixed) for i in _items(array)]
    if (of is not None and items_of(of) is not None) or _has_tensors(array.type):
        return [_list(item, item_of(of), row) for row, item in enumerate(_items(array))]
    return objects_in(array)


def _list(items: pa.Array | None, of: Htype | None, row: int) -> Any:
    """Return the items of one list. If one is invalid, the error has the row of the list."""
    try:
        return None if items is None else with_none(arrow_values(items, of))
    except InvalidValueError as error:
        raise error.at(row=row) from None


def _has_tensors(kind: pa.DataType) -> bool:
    """Return whether the innermost items of nested lists are fixed-shape tensors."""
    inner = unwrap(kind.value_type)
    return isinstance(inner, pa.FixedShapeTensorType) or (is_list(inner) and _has_tensors(inner))


def _tensors(array: pa.ExtensionArray) -> object:
    """Return fixed-shape tensors as an array or, if there are nulls, as a list with None."""
    kind, storage = array.type, array.storage
    if not storage.null_count:
        return _to_logical_order(_array(storage.flatten(), has_nan=False), kind)
    rows = (None if item is None else _array(item, has_nan=False) for item in _items(storage))
    return [None if row is None else _to_logical_order(row, kind)[0] for row in rows]


def _to_logical_order(flat: object, kind: pa.FixedShapeTensorType) -> Any:
    """Return tensors, (n, *shape), with their axes in the order in which users see them.

    >>> kind = pa.fixed_shape_tensor(pa.int32(), [2, 3], permutation=[1, 0])
    >>> _to_logical_order(np.arange(6), kind).tolist()
    [[[0, 3], [1, 4], [2, 5]]]
    """
    stored = np.reshape(np.asarray(flat), (-1, *kind.shape))
    axes = kind.permutation or range(len(kind.shape))
    return stored.transpose(0, *(axis + 1 for axis in axes))


def _decimals(array: pa.Array, of: Htype | None) -> object:
    """Return decimals in the form that a type accepts, such as strings of digits for text.

    A number that an integer type cannot represent stays a decimal. The type then rejects it with an
    error that names the row.
    """
    if _sql_of(of) == "text":
        return [None if value is None else str(value) for value in array.to_pylist()]
    dtype = _accepted_dtype(of) or str(dtype_of(array.type))
    is_json = _sql_of(of) == "json"
    is_whole = np.dtype(dtype).kind in "iu" or (is_json and array.type.scale <= 0)
    if not is_whole:
        return _numbers(as_floats(array))
    try:
        return _numbers(array.cast(pa.uint64() if dtype == "uint64" else pa.int64()))
    except pa.ArrowInvalid:
        values = array.to_pylist()
        return [int(v) if v is not None and v == int(v) else v for v in values]


def _numbers(array: pa.Array) -> NDArray[Any]:
    """Return numbers, booleans or times as an array, with nulls masked."""
    kind, dtype = array.type, dtype_of(array.type)
    if kinds.is_time(kind):
        array = array.cast(pa.int32() if kinds.is_time32(kind) else pa.int64()).cast(pa.int64())
    if not array.null_count:
        return np.asarray(array.to_numpy(zero_copy_only=False)).astype(dtype, copy=False)
    mask = array.is_null().to_numpy(zero_copy_only=False)
    if dtype is not None and dtype.endswith("]"):
        return np.ma.MaskedArray(array.to_numpy(zero_copy_only=False).astype(dtype), mask)
    filled = array.fill_null(pa.scalar(0).cast(array.type)).to_numpy(zero_copy_only=False)
    return np.ma.MaskedArray(filled, mask)


def _array(item: pa.Array, *, has_nan: bool = True) -> object:
    """Return a list of numbers as an array. Null floats become NaN if `has_nan`, other nulls None.

    `has_nan` is false for fixed-size lists, which represent points and vectors, where a null is an
    error.
    """
    dtype = dtype_of(item.type)
    values = arrow_values(item, Array(dtype or "float64", (None,)))
    if not item.null_count or dtype is None:
        return values
    is_nan = has_nan and np.dtype(dtype).kind == "f"
    return np.ma.filled(values, np.nan) if is_nan else with_none(values)


def _block(array: pa.Array) -> Any:
    """Return fixed-size lists as one array, (n, *shape), or as objects if they contain nulls."""
    shape, flat = [len(array)], array
    while kinds.is_fixed_size_list(flat.type):
        shape.append(flat.type.list_size)
        flat = flat.flatten()
    is_time = str(dtype_of(flat.type)).endswith("]")
    if (flat.null_count and not is_time) or len(flat) != np.prod(shape):
        return objects_in(array)
    return np.reshape(np.asarray(_array(flat), object if flat.null_count else None), shape)


def _items(array: pa.Array) -> Iterable[object]:
    """Yield the items of each list as an Arrow array, and None for a null list."""
    return (item.values if item.is_valid else None for item in array)


def _file(item: object) -> object:
    """Return the bytes of a file from Hugging Face's datasets or, if there are none, its path."""
    if isinstance(item, dict) and set(item) <= {"bytes", "path"}:
        return item.get("bytes") or item.get("path")
    return item


def complex_of(values: Any, dtype: np.dtype[Any]) -> object:
    """Return complex numbers, or arrays of these, from the pairs of floats that `to_arrow` writes.

    >>> complex_of([[1.0, 2.0], None], np.dtype("complex64"))
    [np.complex64(1+2j), None]
    """
    return [None if v is None else _complex(v, dtype) for v in values]


def _complex(value: object, dtype: np.dtype[Any]) -> object:
    pairs = np.asarray(value)
    if pairs.dtype.kind not in "iuf":
        return value
    if not pairs.size and pairs.shape[-1:] != (2,):
        return pairs.astype(dtype)
    pairs = np.ascontiguousarray(pairs, np.empty(0, dtype).real.dtype)
    return pairs.view(dtype)[..., 0][()] if pairs.shape[-1:] == (2,) else value
