"""Exact casts of Arrow arrays back to the Arrow types from which their columns were imported.

A cast that would change a value raises `Misfit`, so that the caller can choose another type.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.types import is_bytes, is_list, is_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

DAY = 86_400
"""Seconds per day."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class Misfit(Exception):
    """Raised if a value does not fit a type exactly. The message can follow the word "because"."""


def cast_exactly(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast an array to another type. Raises Misfit if that would change a value.

    >>> cast_exactly(pa.array([1, 90_000_000], pa.duration("ms")), pa.time32("ms"))
    Traceback (most recent call last):
        ...
    deeplake_lite.dataset.arrow.casts.Misfit: time32[ms] holds only times of less than 24 hours
    """
    if array.type == kind:
        return array
    try:
        return _cast(array, kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise Misfit(f"{kind} cannot hold all of its values") from error


def is_risky(source: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether a cast with `cast_exactly` may fail, depending on the values of the array.

    >>> is_risky(pa.timestamp("s"), pa.timestamp("s", "UTC")), is_risky(pa.float64(), pa.date32())
    (False, True)
    """
    if source == kind:
        return False
    if is_list(source) and is_list(kind):
        is_cut = kinds.is_fixed_size_list(kind) and not kinds.is_fixed_size_list(source)
        return is_cut or is_risky(source.value_type, kind.value_type)
    if kinds.is_timestamp(source) and kinds.is_timestamp(kind):
        return bool(source.unit != kind.unit)
    return not any(test(source) and test(kind) for test in (is_text, is_bytes))


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    source = array.type
    if isinstance(source, pa.JsonType):
        return _parse_json(array, kind)
    if is_list(source) and is_list(kind):
        return _cast_lists(array, kind)
    if kinds.is_struct(source) and kinds.is_struct(kind):
        parts = [cast_exactly(array.field(f.name), f.type) for f in kind]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(parts, fields=[*kind], mask=mask)
    if kinds.is_timestamp(source) and kinds.is_timestamp(kind) and source.unit == kind.unit:
        return array.view(kind)  # only the time zone differs, not the points in time
    if kinds.is_timestamp(source) and kinds.is_date(kind):
        return _to_dates(array, kind)
    if kinds.is_duration(source) and kinds.is_time(kind):
        return _to_times_of_day(array, kind)
    if kinds.is_decimal(kind):
        return _to_decimals(array, kind)
    if kinds.is_null(kind):
        if array.null_count < len(array):
            raise Misfit("it now has values")
        return pa.nulls(len(array))
    return array.cast(kind)


def _cast_lists(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast lists to another item type or list layout."""
    if kinds.is_fixed_size_list(kind) and not kinds.is_fixed_size_list(array.type):
        array = array.cast(pa.list_(array.type.value_type, kind.list_size))
    elif kinds.is_fixed_size_list(array.type) and not kinds.is_fixed_size_list(kind):
        array = array.cast(pa.list_(array.type.value_type))
    mask = array.is_null() if array.null_count else None
    if kinds.is_fixed_size_list(array.type):
        first = array.offset * kind.list_size
        values = array.values.slice(first, len(array) * kind.list_size)
        items = cast_exactly(values, kind.value_type)
        return pa.FixedSizeListArray.from_arrays(items, type=kind, mask=mask)
    start, stop = array.offsets[0].as_py(), array.offsets[-1].as_py()
    items = cast_exactly(array.values.slice(start, stop - start), kind.value_type)
    offsets = pc.subtract(array.offsets, array.offsets[0])
    if kinds.is_large_list(kind):
        return pa.LargeListArray.from_arrays(offsets.cast(pa.int64()), items, mask=mask)
    return pa.ListArray.from_arrays(offsets.cast(pa.int32()), items, mask=mask)


def _to_dates(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert timestamps, each of which must be at midnight, to dates."""
    size = DAY * _PER_SECOND[array.type.unit]
    numbers, mask = _integers(array)
    if (numbers % size).any():
        raise Misfit(f"{kind} holds only whole days")
    days = numbers // size
    counts = days if kinds.is_date32(kind) else days * (DAY * 1000)
    dtype = np.int32 if kinds.is_date32(kind) else np.int64
    limits = np.iinfo(np.int32)
    if days.size and not (limits.min <= days.min() and days.max() <= limits.max):
        raise Misfit(f"{kind} holds only years up to 5,881,580")
    return pa.array(counts.astype(dtype), mask=mask).view(kind)


def _to_times_of_day(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert durations since midnight to times of day."""
    if array.type.unit != kind.unit:
        raise Misfit(f"{kind} has a different unit")
    numbers, mask = _integers(array)
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < DAY * _PER_SECOND[kind.unit]):
        raise Misfit(f"{kind} holds only times of less than 24 hours")
    dtype = np.int32 if kinds.is_time32(kind) else np.int64
    return pa.array(numbers.astype(dtype), mask=mask).view(kind)


def _integers(array: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """Return times as int64, with 0 for nulls, and a mask of the nulls."""
    numbers = pc.fill_null(array.view(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return numbers, array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None


def _to_decimals(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert numbers to decimals.

    A float becomes the shortest decimal that rounds to it, and NaN becomes null.

    >>> _to_decimals(pa.array([0.7, 0.1 + 0.2, None]), pa.decimal128(20, 17)).to_pylist()
    [Decimal('0.70000000000000000'), Decimal('0.30000000000000004'), None]
    """
    if kinds.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), None, array)
    return array.cast(pa.string()).cast(kind)


def _parse_json(array: pa.ExtensionArray, kind: pa.DataType) -> pa.Array:
    """Parse JSON strings into values of the type `kind`, which may contain JSON strings itself."""
    texts = array.storage.to_pylist()
    values = [None if text is None else _convert_parts(json.loads(text), kind) for text in texts]
    parsed = pa.array(values, _replace_json(kind))
    if parsed.to_pylist() != values:
        raise Misfit("the fields or values in the JSON differ from those of the original struct")
    return with_extensions(parsed, kind)


def _convert_parts(value: Any, kind: pa.DataType) -> Any:
    """Convert a parsed JSON value to `kind`: nested JSON to strings, decimals to Decimal."""
    if value is None:
        return None
    if isinstance(kind, pa.JsonType):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if is_list(kind) and isinstance(value, list):
        return [_convert_parts(item, kind.value_type) for item in value]
    if kinds.is_struct(kind) and isinstance(value, dict):
        types = {f.name: f.type for f in kind}
        return {n: _convert_parts(v, types.get(n, pa.null())) for n, v in value.items()}
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return Decimal(repr(value)) if is_number and kinds.is_decimal(kind) else value


def _replace_json(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.JsonType):
        return pa.string()
    if kinds.is_struct(kind):
        return pa.struct([pa.field(f.name, _replace_json(f.type)) for f in kind])
    if kinds.is_fixed_size_list(kind):
        return pa.list_(_replace_json(kind.value_type), kind.list_size)
    if kinds.is_large_list(kind):
        return pa.large_list(_replace_json(kind.value_type))
    return pa.list_(_replace_json(kind.value_type)) if kinds.is_list(kind) else kind


def with_extensions(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert an array to a type that differs only in extension types, also within lists.

    >>> with_extensions(pa.array([["1"]]), pa.list_(pa.json_())).type
    ListType(list<item: extension<arrow.json>>)
    """
    if array.type == kind:
        return array
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, array)
    mask = array.is_null() if array.null_count else None
    if kinds.is_struct(kind):
        parts = [with_extensions(array.field(f.name), f.type) for f in kind]
        return pa.StructArray.from_arrays(parts, [f.name for f in kind], mask=mask)
    if kinds.is_fixed_size_list(kind):
        first = array.offset * kind.list_size
        values = array.values.slice(first, len(array) * kind.list_size)
        items = with_extensions(values, kind.value_type)
        return pa.FixedSizeListArray.from_arrays(items, type=kind, mask=mask)
    if is_list(kind):
        make = pa.LargeListArray if kinds.is_large_list(kind) else pa.ListArray
        items = with_extensions(array.values, kind.value_type)
        return make.from_arrays(array.offsets, items, mask=mask)
    return array.cast(kind)
