"""The type of single numbers, booleans, times and durations."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import SchemaError
from deeplake_lite.htypes.arrays import as_block
from deeplake_lite.htypes.base import Check, Htype, is_null
from deeplake_lite.htypes.cells import DenseCells
from deeplake_lite.htypes.choices import dtype_name, suggest_nearest
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.htypes.times import UNITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Values
    from deeplake_lite.htypes.facets import Browser, Sql

DTYPES = (
    "bool",
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
"""Names of the dtypes that columns may have, apart from times."""

WORDS = {"str": "text", "string": "text", "bytes": "bytes", "int": "int64", "float": "float64"}
"""Maps each alias that users may write to the name of a type or dtype."""

_TIME = re.compile(rf"(datetime|timedelta)64\[({'|'.join(UNITS)})\]")


@dataclass(frozen=True, repr=False, eq=False)
class Scalar(Htype):
    """One number, boolean, time or duration per row.

    Parameters
    ----------
    dtype : str
        ``"bool"``, ``"int8"`` to ``"uint64"``, ``"float16"`` to ``"complex128"``, or a time with
        its unit, such as ``"datetime64[us]"`` or ``"timedelta64[s]"``.

    Notes
    -----
    Values are only cast if nothing is lost, with one exception: float columns round numbers to
    their precision. For example, float64 rounds integers beyond 2**53. Float columns reject numbers
    that would become infinite. Times may be datetimes, dates, ISO 8601 strings or datetime64, and
    are converted to UTC if they have a time zone. Times are stored as int64. NaT is null.

    Examples
    --------
    >>> Scalar("int8").encode([1, 2]).values
    array([1, 2], dtype=int8)
    >>> Scalar("int8").encode([1, 300])
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: row 1: int8 holds -128 to 127, but the value is 300. ...
    """

    dtype: str
    """Name of the dtype that users see."""

    name: ClassVar[str] = "scalar"

    @override
    def __post_init__(self) -> None:
        self._set(dtype=check_dtype(self.dtype))
        super().__post_init__()

    @property
    @override
    def layout(self) -> Dense:
        return Dense(stored_dtype(self.dtype))

    @property
    @override
    def scalar(self) -> str:
        return self.dtype

    @property
    @override
    def sql(self) -> Sql | None:
        if is_time(self.dtype):
            return "time"
        return None if self._is_complex else "bool" if self.dtype == "bool" else "number"

    @property
    @override
    def browser(self) -> Browser:
        return replace(super().browser, editable=not self._is_complex)

    @property
    def _is_complex(self) -> bool:
        return self.dtype.startswith("complex")

    @override
    def values_from(self, of: Htype, values: Values) -> Values:
        """Return the values unchanged, as plain numbers without their meaning in the type `of`."""
        return values

    @property
    @override
    def blank(self) -> Any:
        return np.zeros((), self.dtype)[()]

    @override
    def _validity(self, values: Values) -> NDArray[np.bool_] | None:
        if not is_time(self.dtype):
            return super()._validity(values)
        if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
            valid = ~np.ma.getmaskarray(values) & ~np.isnat(np.ma.getdata(values))
        elif isinstance(values, np.ndarray) and values.dtype != object:
            return super()._validity(values)
        else:
            valid = np.fromiter((not _is_nat(value) for value in values), bool, len(values))
        return None if valid.all() else valid.reshape(len(values), -1).all(axis=1)

    @override
    def _encode(self, values: Values, check: Check) -> DenseCells:
        return DenseCells(as_stored(as_block(values, self.dtype, ())))

    @override
    def decode(self, data: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        return data.view(self.dtype) if is_time(self.dtype) else data

    @override
    def preview(self, value: object) -> str:
        return str(value)


def check_dtype(dtype: object) -> str:
    """Return the name of a dtype. Raises SchemaError for a dtype that columns cannot have.

    >>> check_dtype(np.float32)
    'float32'
    """
    name = dtype_name(dtype)
    if name in DTYPES or _TIME.fullmatch(name):
        return name
    if isinstance(dtype, str) and (meant := WORDS.get(dtype.casefold())) in ("text", "bytes"):
        raise SchemaError(f"{dtype!r} is not a dtype. Declare the column as {meant!r}.")
    raise SchemaError(
        f"A column's dtype must be one of {', '.join(DTYPES)}, or datetime64[unit] or "
        f"timedelta64[unit] with a unit of {', '.join(UNITS)}, but it is {brief(name)}."
        f"{suggest_nearest(name, DTYPES)} Columns of strings have the type 'text'."
    )


def is_time(dtype: str) -> bool:
    """Return whether a dtype is that of times or durations, which are stored as int64."""
    return dtype.endswith("]")


def stored_dtype(dtype: str) -> str:
    """Return the dtype in which values are stored.

    >>> stored_dtype("datetime64[ns]"), stored_dtype("float32")
    ('int64', 'float32')
    """
    return "int64" if is_time(dtype) else dtype


def as_stored(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in its stored dtype, which is int64 for times."""
    return array.view(np.int64) if array.dtype.kind in "mM" else array


def _is_nat(value: object) -> bool:
    """Return whether a value is None, masked, or the NaT of NumPy or pandas."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    kind = type(value)
    return is_null(kind) or value is np.ma.masked or kind.__name__ == "NaTType"
