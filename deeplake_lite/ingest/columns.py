"""What a column of Arrow data is in a lake, and its values as htypes take them.

- integers, floats, truth values: `Scalar` of the same dtype; decimals become float64, whole ones
  int64
- timestamps, dates, times, durations: `Scalar` datetime64, timedelta64; time zones become UTC
- strings: `Text`; a dictionary of strings: `ClassLabel`; binary: `Bytes`
- fixed-size lists of numbers: `Array` of that shape; lists of numbers: `Array` of any length
- lists of anything else: `Sequence`; structs, maps, unions: `Json`; null: `Text`, nullable
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow_objects import are_tensors, objects_in, tensors_in
from deeplake_lite.dataset.arrow_types import dtype_of, is_bytes, is_list, is_text
from deeplake_lite.dataset.tables import complex_of, noted_htype, parsed
from deeplake_lite.dataset.values import with_none
from deeplake_lite.errors import SchemaError
from deeplake_lite.htypes import (
    Array,
    Bytes,
    ClassLabel,
    Htype,
    Json,
    Link,
    Scalar,
    Sequence,
    Text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


def htype_of(kind: pa.DataType, *, nullable: bool = False, names: Iterable[str] = ()) -> Htype:
    """Return the htype for an Arrow type.

    Parameters
    ----------
    kind : pyarrow.DataType
        The type.
    nullable : bool
        Whether there are nulls.
    names : iterable of str
        Names of the classes, for a dictionary of strings.

    Examples
    --------
    >>> htype_of(pa.list_(pa.float32(), 3)), htype_of(pa.timestamp("ms", tz="UTC"), nullable=True)
    (Array('float32', (3,)), Scalar('datetime64[ms]', nullable=True))
    """
    found = _plain_htype(kind, tuple(names))
    if kinds.is_null(kind):
        nullable = True
    return replace(found, nullable=nullable) if nullable else found


def _plain_htype(kind: pa.DataType, names: tuple[str, ...]) -> Htype:
    if isinstance(kind, pa.FixedShapeTensorType):
        return Array(str(dtype_of(kind.value_type)), tuple(kind.shape))
    kind = _unwrapped(kind)
    if kinds.is_struct(kind) and len({f.name for f in kind}) < kind.num_fields:
        raise SchemaError(f"A struct has fields of different names, but it is {kind}. Rename one.")
    if kinds.is_dictionary(kind):
        return ClassLabel(names) if is_text(kind.value_type) else _plain_htype(kind.value_type, ())
    if (dtype := dtype_of(kind)) is not None:
        return Scalar(dtype)
    if is_text(kind) or kinds.is_null(kind):
        return Text()
    if is_bytes(kind):
        return Bytes()
    if is_list(kind):
        return _list_htype(kind)
    if kinds.is_nested(kind):  # struct, map, union
        return Json()
    raise SchemaError(f"There is no column type for Arrow's {kind}. Cast it first.")


def _list_htype(kind: pa.DataType) -> Htype:
    """Return the htype for lists: arrays of numbers, sequences of anything else."""
    shape, item = [], kind
    while kinds.is_fixed_size_list(item):
        shape.append(item.list_size)
        item = _unwrapped(item.value_type)
    if shape and dtype_of(item) is not None and all(shape):
        return Array(str(dtype_of(item)), tuple(shape))
    item = _unwrapped(kind.value_type)
    if dtype_of(item) is not None:
        return Array(str(dtype_of(item)), (None,))
    if kinds.is_dictionary(item):
        item = item.value_type
    return Sequence(replace(_plain_htype(item, ()), nullable=True))


@dataclass(frozen=True)
class ArrowColumn:
    """A column of Arrow data in memory, among arrays and lists."""

    array: pa.Array
    """All its values, in one piece."""

    field: pa.Field | None = None
    """What is known of it, if it comes from a table."""

    @classmethod
    def of(cls, array: pa.Array | pa.ChunkedArray, field: pa.Field | None = None) -> Self:
        """Join the chunks of a column."""
        whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        return cls(whole, field)

    def __len__(self) -> int:
        return len(self.array)

    @property
    def nbytes(self) -> int:
        """Size in memory, bytes."""
        return int(self.array.nbytes)

    def htype(self, *, classes: bool = False) -> Htype:
        """Return the column's type; `classes` makes a ClassLabel of texts."""
        kind, nullable = self.array.type, bool(self.array.null_count)
        if not classes and (noted := noted_htype(self.field)) is not None:
            return noted
        if kinds.is_dictionary(kind) and is_text(kind.value_type):
            return htype_of(kind, nullable=nullable, names=self.array.dictionary.to_pylist())
        if classes and is_text(kind):
            return class_label(set(self.array.unique().to_pylist()))
        return htype_of(kind, nullable=nullable)

    def values(self, start: int, stop: int, htype: Htype) -> Any:
        """Return some of the values as `htype` takes them."""
        values = values_of(self.array.slice(start, stop - start), noted_htype(self.field) or htype)
        return values if self.field is None else parsed(values, self.field)


def class_label(texts: set[str | None]) -> ClassLabel:
    """Return the classes that texts name, sorted; an empty text, as a CSV has it, names none.

    >>> class_label({"rose", "lily", ""})
    ClassLabel(['lily', 'rose'], nullable=True)
    """
    names = sorted(text for text in texts if text)
    return ClassLabel(names, nullable=len(names) < len(texts))


def values_of(array: pa.Array, htype: Htype) -> Any:
    """Return a column's values as `htype` takes them: an array where possible, masked where null.

    >>> values_of(pa.array([1, None]), Scalar("int64", nullable=True))
    masked_array(data=[1, --], mask=[False,  True], fill_value=999999)
    >>> values_of(pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2)), Scalar("complex64"))
    [np.complex64(1+2j)]
    """
    values = _values_of(array, htype)
    dtype = str(getattr(htype, "dtype", ""))
    return complex_of(values, np.dtype(dtype)) if dtype.startswith("complex") else values


def _values_of(array: pa.Array, htype: Htype) -> Any:
    if isinstance(array.type, pa.FixedShapeTensorType):
        return _tensors(array)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    kind = array.type
    if are_tensors(kind, htype):
        return tensors_in(array)
    if kinds.is_dictionary(kind):
        return values_of(array.cast(kind.value_type), htype)
    if is_text(kind) and (isinstance(htype, ClassLabel | Link) or htype.takes_files):
        return [text or None for text in array.to_pylist()]
    if kinds.is_decimal(kind):
        return _decimals(array, htype)
    if dtype_of(kind) is not None:
        return _numbers(array)
    if kinds.is_fixed_size_list(kind) and isinstance(htype, Array) and not array.null_count:
        return _block(array)
    if is_list(kind) and isinstance(htype, Array):
        return [None if item is None else _array(item) for item in _items(array)]
    if is_list(kind) and isinstance(htype, Sequence):
        items = _items(array)
        return [None if item is None else with_none(values_of(item, htype.of)) for item in items]
    if kinds.is_struct(kind) and htype.name in ("image", "bytes"):
        return [_file(item) for item in array.to_pylist()]
    return objects_in(array)


def _tensors(array: pa.ExtensionArray) -> list[Any]:
    """Return tensors of one shape, None where null."""
    shape, flat = array.type.shape, array.storage
    return [
        None if item is None else _numbers(item).reshape(shape)
        for item in (item.values if item.is_valid else None for item in flat)
    ]


def _decimals(array: pa.Array, htype: Htype) -> Any:
    """Return decimals as a type takes them: the digits where it holds texts.

    What an integer type does not hold stays a decimal, which the type refuses by row.
    """
    if isinstance(htype, Text):
        return [None if value is None else str(value) for value in array.to_pylist()]
    dtype = str(getattr(htype, "dtype", dtype_of(array.type)))
    is_whole = np.dtype(dtype).kind in "iu" or (isinstance(htype, Json) and array.type.scale <= 0)
    if not is_whole:
        return _numbers(array.cast(pa.float64()))
    try:
        return _numbers(array.cast(pa.uint64() if dtype == "uint64" else pa.int64()))
    except pa.ArrowInvalid:
        values = array.to_pylist()
        return [int(v) if v is not None and v == int(v) else v for v in values]


def _numbers(array: pa.Array) -> NDArray[Any]:
    """Return numbers, truth values or times."""
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


def _array(item: pa.Array) -> Any:
    """Return one list of numbers; a null in it is NaN or NaT, or stays None where there is none."""
    dtype = dtype_of(item.type)
    values = values_of(item, Array(dtype or "float64", (None,)))
    if not item.null_count or dtype is None:
        return values
    if np.dtype(dtype).kind not in "fmM":
        return item.to_pylist()
    blank: Any = np.array("NaT" if dtype.endswith("]") else np.nan, dtype)
    return np.ma.filled(values, blank)


def _block(array: pa.Array) -> Any:
    """Return lists of one size as one array, (n, *shape)."""
    shape, flat = [len(array)], array
    while kinds.is_fixed_size_list(flat.type):
        shape.append(flat.type.list_size)
        flat = flat.flatten()
    is_time = str(dtype_of(flat.type)).endswith("]")
    if (flat.null_count and not is_time) or len(flat) != np.prod(shape):
        return array.to_pylist()
    return np.reshape(_array(flat), shape)


def _items(array: pa.Array) -> Iterable[Any]:
    """Yield the items of each list as an Arrow array; None where null."""
    return (item.values if item.is_valid else None for item in array)


def _file(item: Any) -> Any:
    """Return a file from a struct of bytes and path, as Hugging Face writes pictures."""
    if isinstance(item, dict) and set(item) <= {"bytes", "path"}:
        return item.get("bytes") or item.get("path")
    return item


def _unwrapped(kind: pa.DataType) -> pa.DataType:
    return _unwrapped(kind.storage_type) if isinstance(kind, pa.BaseExtensionType) else kind
