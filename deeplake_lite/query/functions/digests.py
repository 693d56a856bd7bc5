"""HASH: hashes by which values of any type can be compared for equality."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.json_values import canonical_json
from deeplake_lite.htypes.times import cast_time
from deeplake_lite.query.database.calculator import calculator
from deeplake_lite.query.functions.base import Arg, Bound, function
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
        return np.uint64(_digest(np.asarray(value) if x.type.is_number else _typed(value, x.type)))

    return Bound(Type("uint64"), compute, stacks=False, null_items=True)


def _typed(value: object, type_: Type) -> object:
    """Return lists, perhaps nested, with the truth values of DuckDB as NumPy's, but not JSON's.

    >>> from deeplake_lite.query.functions.value_type import Items
    >>> _typed([True, None], Type("object", (None,), Items(Type("bool"))))
    [np.True_, None]
    """
    if isinstance(value, list) or (isinstance(value, np.ndarray) and value.dtype == object):
        item = type_ if type_.items is None else type_.items.of
        return [_typed(part, item) for part in value]
    return np.bool_(value) if isinstance(value, bool) and type_.dtype == "bool" else value


def _hash_number(number: float) -> int:
    """Return the hash of a single number, computed by DuckDB in the same way as for scalars."""
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
    """Return the digest of an array or another value; that of a list depends on its items'.

    The items of a list may be numbers of Python, NumPy or JSON. The truth values of JSON are not
    numbers, but those of NumPy are.
    """
    if isinstance(value, np.datetime64 | np.timedelta64 | dt.date | dt.timedelta):
        return xxhash.xxh3_64_intdigest(_time_text(value).encode())
    if isinstance(value, np.ndarray) and value.dtype.kind in "OmM" and not value.ndim:
        return _digest(value[()])
    if isinstance(value, list) or (isinstance(value, np.ndarray) and value.dtype == object):
        if (stack := _stack(value)) is not None:
            return _digest(stack)
        parts = np.array([_digest(item) for item in value], np.uint64)
        return xxhash.xxh3_64_intdigest(parts.tobytes(), len(parts))
    if isinstance(value, np.ndarray | np.generic):
        array = _by_value(np.asarray(value))
        seed = xxhash.xxh3_64_intdigest(f"{array.dtype}:{array.shape}".encode())
        data = row_digests(array.reshape(1, -1)).tobytes() if array.size else b""
        return xxhash.xxh3_64_intdigest(data, seed)
    if (number := _as_number(value)) is not value:
        return _digest(number)
    if isinstance(value, dict | bool | int | float | None):  # a JSON value
        return xxhash.xxh3_64_intdigest(canonical_json(value).encode())
    return xxhash.xxh3_64_intdigest(repr(value).encode())


def _by_value(array: NDArray[Any]) -> NDArray[Any]:
    """Return numbers in a dtype that is the same for all arrays of equal numbers.

    >>> [_by_value(np.array([2, 0], dtype)).dtype.name for dtype in ("uint8", "float16", "bool")]
    ['int64', 'int64', 'int64']
    >>> _by_value(np.array([-0.0, 0.5], "float32"))
    array([0. , 0.5])
    """
    if array.dtype.kind == "c":
        # Equal values must have equal bits: `+ 0` turns -0.0 into 0.0, and all NaN become one.
        array = np.where(np.isnan(array), np.nan, array.astype(np.complex128) + 0)
        return array if array.imag.any() else _by_value(array.real)
    if array.dtype.kind == "f":
        wide = np.where(np.isnan(array), np.nan, array.astype(np.float64) + 0.0)
        low, high = _INT64 if not (wide >= 2.0**63).any() else (0, 2.0**64)
        whole = (wide == np.trunc(wide)) & (wide >= low) & (wide < high)
        return wide.astype(np.uint64 if low == 0 else np.int64) if whole.all() else wide
    if array.dtype.kind in "bi" or (array.dtype.kind == "u" and not (array >> 63).any()):
        return array.astype(np.int64)
    return array


_INT64 = (-(2.0**63), 2.0**63)


def _as_number(value: object) -> Any:
    """Return a number of Python's as NumPy's, if one of its types holds it; else the value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, float) or -(2**63) <= value < 2**64:
        return np.asarray(value)[()]
    is_float = abs(value) < 2**1023 and int(float(value)) == value
    return np.float64(value) if is_float else value


def _stack(items: Sequence[object] | NDArray[Any]) -> NDArray[Any] | None:
    """Return a list of numbers, or of arrays of one shape, as the array that it equals; else None.

    >>> _stack([1, np.float32(0.5)]), _stack([1, None])
    (array([1. , 0.5]), None)
    """
    numbers = [_as_number(item) for item in items]
    if not numbers:
        return np.empty(0, np.int64)
    if not all(isinstance(n, np.ndarray | np.generic) and n.dtype.kind in "biufc" for n in numbers):
        return None
    if len({n.shape for n in numbers}) > 1:
        return None
    if len({n.dtype for n in numbers}) > 1:
        numbers = [_by_value(np.asarray(n)) for n in numbers]
    dtypes = {n.dtype for n in numbers}
    for dtype in dtypes if len(dtypes) == 1 else map(np.dtype, (np.uint64, np.float64, complex)):
        if all(n.dtype == dtype or _holds(dtype, n) for n in numbers):
            return np.stack([n.astype(dtype) for n in numbers])
    return None


def _holds(dtype: np.dtype[Any], array: NDArray[Any]) -> bool:
    """Return whether a dtype holds the numbers of an array exactly."""
    if dtype.kind == "u" and not (array.dtype.kind == "i" and (array >= 0).all()):
        return False
    with np.errstate(all="ignore"):
        back = array.astype(dtype).real.astype(array.dtype)
    return bool(((back == array) | (array != array)).all())


def _time_text(value: object) -> str:
    """Return a timestamp or duration as a string that does not depend on its unit."""
    kind = "m8" if isinstance(value, np.timedelta64 | dt.timedelta) else "M8"
    time = np.asarray(value, None if isinstance(value, np.generic) else f"{kind}[us]")
    for unit in ("us", "ns", "s"):  # the first exact one is the same for equal times
        try:
            exact = cast_time(time, np.dtype(f"{kind}[{unit}]"))
        except InvalidValueError:
            continue
        return f"{exact.astype(np.int64)} {unit}" if kind == "m8" else str(exact)
    return f"{time.astype(np.int64)} {time.dtype}"
