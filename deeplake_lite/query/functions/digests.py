"""The function HASH, whose results can be compared to test whether values of any type are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import xxhash

from deeplake_lite.htypes.json_values import canonical_json
from deeplake_lite.query.database.calculator import calculator
from deeplake_lite.query.functions.base import Arg, Bound, function
from deeplake_lite.query.functions.times import as_numpy_time
from deeplake_lite.query.functions.value_type import Type
from deeplake_lite.storage.digests import row_digests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@function("HASH(x)", group="Contents")
def hash_(x: Arg) -> Bound:
    """Hash of 64 bits, the same for equal values of any dtype; classes are hashed by name."""

    def compute(value: Any, *, lead: int) -> object:  # noqa: ARG001 one row at a time
        if x.type.is_number and not np.ndim(value) and not np.iscomplexobj(value):
            return np.uint64(_hash_number(np.asarray(value).item()))
        plain = np.asarray(value) if x.type.is_number else _convert_booleans(value, x.type)
        return np.uint64(_digest(plain))

    return Bound(Type("uint64"), compute, stacks=False, null_items=True)


def _convert_booleans(value: object, type_: Type) -> object:
    """In lists from DuckDB, convert Python booleans to NumPy booleans, except in JSON.

    >>> from deeplake_lite.query.functions.value_type import Items
    >>> _convert_booleans([True, None], Type("object", (None,), Items(Type("bool"))))
    [np.True_, None]
    """
    if _is_list(value):
        item = type_ if type_.items is None else type_.items.of
        return [_convert_booleans(part, item) for part in value]
    return np.bool_(value) if isinstance(value, bool) and type_.dtype == "bool" else value


def _hash_number(number: float) -> int:
    """Return the hash that DuckDB computes for a number in `bind.scalars.hashes`."""
    value: float | str
    form = ""
    is_whole = isinstance(number, int) or number.is_integer()
    if not is_whole or not -(2**127) <= number < 2**127:
        value, type_, form = float(number), "DOUBLE", ", 'fraction'"
    elif -(2**63) <= number < 2**63:
        value, type_ = int(number), "BIGINT"
    else:
        value, type_ = str(int(number)), "VARCHAR"
    with calculator() as cursor:
        row = cursor.execute(f"SELECT hash(CAST(? AS {type_}){form})", [value]).fetchone()
    assert row is not None
    return int(row[0])


def _digest(value: object) -> int:
    """Return the digest of a value of any type.

    The digest of a list is computed from the digests of its items, which may be Python, NumPy or
    JSON numbers. NumPy booleans count as the numbers 0 and 1, but JSON booleans do not.
    """
    value = _to_numpy_scalar(value)
    if isinstance(value, np.ndarray) and value.dtype == object and not value.ndim:
        return _digest(value[()])
    if _is_list(value):
        if (stack := _stack(value)) is not None:
            return _digest(stack)
        parts = np.array([_digest(item) for item in value], np.uint64)
        return xxhash.xxh3_64_intdigest(parts.tobytes(), len(parts))
    if isinstance(value, np.ndarray | np.generic):
        array = _canonical(np.asarray(value))
        seed = xxhash.xxh3_64_intdigest(f"{array.dtype}:{array.shape}".encode())
        data = row_digests(array.reshape(1, -1)).tobytes() if array.size else b""
        return xxhash.xxh3_64_intdigest(data, seed)
    if isinstance(value, dict | bool | int | float | None):  # a JSON value
        return xxhash.xxh3_64_intdigest(canonical_json(value).encode())
    return xxhash.xxh3_64_intdigest(repr(value).encode())


def _canonical(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of numbers or times with a dtype that depends only on the values.

    >>> [_canonical(np.array([2, 0], dtype)).dtype.name for dtype in ("uint8", "float16", "bool")]
    ['int64', 'int64', 'int64']
    >>> _canonical(np.array([-0.0, 0.5], "float32"))
    array([0. , 0.5])
    """
    if array.dtype.kind in "mM":
        return _canonical_times(array)
    if array.dtype.kind == "c":
        # Equal values must have equal bits: `+ 0` turns -0.0 into 0.0, and all NaNs become equal.
        array = np.where(np.isnan(array), np.nan, array.astype(np.complex128) + 0)
        return array if array.imag.any() else _canonical(array.real)
    if array.dtype.kind == "f":
        wide = np.where(np.isnan(array), np.nan, array.astype(np.float64) + 0.0)
        low, high = _INT64 if not (wide >= 2.0**63).any() else (0, 2.0**64)
        whole = (wide == np.trunc(wide)) & (wide >= low) & (wide < high)
        return wide.astype(np.uint64 if low == 0 else np.int64) if whole.all() else wide
    if array.dtype.kind in "bi" or (array.dtype.kind == "u" and not (array >> 63).any()):
        return array.astype(np.int64)
    return array


_INT64 = (-(2.0**63), 2.0**63)


def _canonical_times(times: NDArray[Any]) -> NDArray[Any]:
    """Return times in any unit as structs of whole days and remaining nanoseconds.

    Durations in months or years become structs of months, because months differ in length. Empty
    arrays of times become empty arrays of integers, as all other empty arrays do.

    >>> _canonical_times(np.array(["1970-01-02T00:00:01", "NaT"], "M8[s]")).tolist()
    [(1, 1000000000), (-9223372036854775808, 0)]
    >>> _canonical_times(np.array([2], "m8[Y]")).dtype.names
    ('months',)
    """
    if not times.size:
        return times.astype(np.int64)
    unit, is_timestamp = np.datetime_data(times.dtype)[0], times.dtype.kind == "M"
    if unit in ("Y", "M") and not is_timestamp:
        return times.astype("m8[M]").astype(np.int64).astype([("months", np.int64)])
    if unit in ("Y", "M", "W", "D"):
        days = times.astype(f"{times.dtype.kind}8[D]").astype(np.int64)
        nanoseconds = np.int64(0)
    else:
        per_day = np.array(1, "m8[D]") // np.array(1, f"m8[{unit}]")
        counts = times.astype(np.int64)
        days, nanoseconds = counts // per_day, counts % per_day * (_DAY // per_day)
    whole = "day" if is_timestamp else "days"
    result = np.zeros(times.shape, [(whole, np.int64), ("ns", np.int64)])
    null = np.isnat(times)
    result[whole] = np.where(null, _INT64[0], days)
    result["ns"] = np.where(null, 0, nanoseconds)
    return result


_DAY = 86_400 * 10**9
"""Number of nanoseconds in a day."""


def _to_numpy_scalar(value: Any) -> Any:
    """Return a Python number or time as a NumPy scalar, if a NumPy dtype can represent it."""
    match value:
        case np.generic() | bool():
            return value
        case int() if not -(2**63) <= value < 2**64:
            is_float = abs(value) < 2**1023 and int(float(value)) == value
            return np.float64(value) if is_float else value
        case int() | float() | complex():
            return np.asarray(value)[()]
    return as_numpy_time(value)


def _stack(items: Sequence[Any] | NDArray[Any]) -> NDArray[Any] | None:
    """Return a list as an array, if its items are numbers or times, or arrays of the same shape.

    Returns None for any other list.

    >>> _stack([1, np.float32(0.5)]), _stack([1, None])
    (array([1. , 0.5]), None)
    >>> _stack([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    values: list[Any] = [
        _stack(item) if _is_list(item) else _to_numpy_scalar(item) for item in items
    ]
    if not values:
        return np.empty(0, np.int64)
    if not all(isinstance(v, np.ndarray | np.generic) and v.dtype.kind in _KINDS for v in values):
        return None
    if len({v.shape for v in values}) > 1:
        return None
    if len({v.dtype for v in values}) > 1:
        values = [_canonical(np.asarray(v)) for v in values]
    dtypes = {v.dtype for v in values}
    # True if times are mixed with other values.
    if len(dtypes) > 1 and any(dtype.kind == "V" for dtype in dtypes):
        return None
    for dtype in dtypes if len(dtypes) == 1 else map(np.dtype, (np.uint64, np.float64, complex)):
        if all(v.dtype == dtype or _holds(dtype, v) for v in values):
            return np.stack([v.astype(dtype) for v in values])
    return None


_KINDS = "biufcmMV"
"""Dtype kinds of numbers and times; V stands for the structs that `_canonical_times` returns."""


def _is_list(value: object) -> TypeGuard[list[Any] | NDArray[Any]]:
    """Return whether a value is a list, or an array of dtype object, which stands for a list."""
    return isinstance(value, list) or (isinstance(value, np.ndarray) and value.dtype == object)


def _holds(dtype: np.dtype[Any], array: NDArray[Any]) -> bool:
    """Return whether a dtype can represent the numbers of an array exactly."""
    if dtype.kind == "u" and not (array.dtype.kind == "i" and (array >= 0).all()):
        return False
    if array.dtype.kind == "c" and dtype.kind != "c":
        return False
    with np.errstate(all="ignore"):
        back = array.astype(dtype).real.astype(array.dtype)
    return bool(((back == array) | (array != array)).all())
