"""Classification of Arrow types as numbers, strings, bytes or lists, in all their layouts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.errors import InvalidValueError


def dtype_of(kind: pa.DataType) -> str | None:
    """Return the NumPy dtype for an Arrow type of numbers, booleans or times, otherwise None.

    >>> dtype_of(pa.date32()), dtype_of(pa.decimal128(10, 2)), dtype_of(pa.decimal128(20, 0))
    ('datetime64[D]', 'float64', 'int64')
    """
    if kinds.is_boolean(kind):
        return "bool"
    if kinds.is_integer(kind) or kinds.is_floating(kind):
        return str(np.dtype(kind.to_pandas_dtype()).name)
    if kinds.is_decimal(kind):
        return "float64" if kind.scale > 0 else "int64"
    if kinds.is_date32(kind):
        return "datetime64[D]"
    if kinds.is_date64(kind):
        return "datetime64[ms]"
    if kinds.is_timestamp(kind):
        return f"datetime64[{kind.unit}]"
    if kinds.is_duration(kind) or kinds.is_time(kind):
        return f"timedelta64[{kind.unit}]"
    return None


def has_fractions(kind: pa.DataType) -> bool:
    """Return whether a type is a decimal with fractional digits, or a list of such decimals.

    >>> has_fractions(pa.list_(pa.decimal128(10, 2))), has_fractions(pa.decimal128(20, 0))
    (True, False)
    """
    kind = unwrap(kind)
    if isinstance(kind, pa.FixedShapeTensorType) or kinds.is_dictionary(kind) or is_list(kind):
        return has_fractions(kind.value_type)
    return bool(kinds.is_decimal(kind) and kind.scale > 0)


def unwrap(kind: pa.DataType) -> pa.DataType:
    """Unwrap extension types and run-end encodings. Fixed-shape tensor types are not unwrapped.

    >>> unwrap(pa.bool8()), unwrap(pa.run_end_encoded(pa.int32(), pa.string()))
    (DataType(bool), DataType(string))

    Raises
    ------
    InvalidValueError
        For pandas' periods and intervals, because their storage does not convey their meaning.
    """
    if kinds.is_run_end_encoded(kind):
        return unwrap(kind.value_type)
    if isinstance(kind, pa.Bool8Type):
        return pa.bool_()
    if isinstance(kind, pa.BaseExtensionType) and not isinstance(kind, pa.FixedShapeTensorType):
        check_storable(kind.extension_name.removeprefix("pandas."), kind)
        return unwrap(kind.storage_type)
    return kind


def check_storable(name: str, kind: object) -> None:
    """Reject pandas' periods and intervals, which no column can store.

    Parameters
    ----------
    name : str
        Name of the dtype.
    kind : object
        The dtype, for messages.

    Raises
    ------
    InvalidValueError
        If the name begins with ``"period"`` or ``"interval"``.
    """
    if name.startswith("period"):
        raise InvalidValueError(
            f"periods cannot be stored, but the column's dtype is {kind}. Convert each period to "
            "its start time: series.dt.to_timestamp()."
        )
    if name.startswith("interval"):
        raise InvalidValueError(
            f"intervals cannot be stored, but the column's dtype is {kind}. Convert the intervals "
            "to strings with series.astype(str), or store their ends in two columns."
        )


def without_views(kind: pa.DataType) -> pa.DataType:
    """Return a type in which string and binary views, at any depth, are replaced by large types.

    >>> without_views(pa.list_(pa.string_view()))
    ListType(list<item: large_string>)
    """
    if kinds.is_string_view(kind):
        return pa.large_string()
    if kinds.is_binary_view(kind):
        return pa.large_binary()
    if kinds.is_struct(kind):
        return pa.struct([f.with_type(without_views(f.type)) for f in kind])
    if kinds.is_map(kind):
        return pa.map_(without_views(kind.key_type), without_views(kind.item_type))
    if kinds.is_fixed_size_list(kind):
        return pa.list_(without_views(kind.value_type), kind.list_size)
    for test, make in ((kinds.is_list, pa.list_), (kinds.is_large_list, pa.large_list)):
        if test(kind):
            return make(kind.value_field.with_type(without_views(kind.value_type)))
    return kind


def shape_of(kind: pa.FixedShapeTensorType) -> tuple[int, ...]:
    """Return the shape of tensors as users see it, which may not be the stored order of axes.

    >>> shape_of(pa.fixed_shape_tensor(pa.int32(), [2, 3], permutation=[1, 0]))
    (3, 2)
    """
    axes = kind.permutation or range(len(kind.shape))
    return tuple(kind.shape[axis] for axis in axes)


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is a string, in any layout."""
    return any(
        test(kind) for test in (kinds.is_string, kinds.is_large_string, kinds.is_string_view)
    )


def is_bytes(kind: pa.DataType) -> bool:
    """Return whether a type is binary, in any layout."""
    tests = (
        kinds.is_binary,
        kinds.is_large_binary,
        kinds.is_fixed_size_binary,
        kinds.is_binary_view,
    )
    return any(test(kind) for test in tests)


def is_list(kind: pa.DataType) -> bool:
    """Return whether a type is a list, in any layout."""
    tests = (kinds.is_list, kinds.is_large_list, kinds.is_fixed_size_list, kinds.is_list_view)
    return any(test(kind) for test in (*tests, kinds.is_large_list_view))
