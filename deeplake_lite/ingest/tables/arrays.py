"""Ingesting arrays and lists, one for each column. DataFrames are ingested with the same source.

The type of a column is inferred from its values: from the dtype and shape of an array, or from the
common type of the items of a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa

from deeplake_lite.brief import brief
from deeplake_lite.dataset.column import Column
from deeplake_lite.dataset.write.series import is_arrow, is_series, series_values
from deeplake_lite.dataset.write.tables import Exported, column_values
from deeplake_lite.errors import InvalidValueError, LakeError, SchemaError
from deeplake_lite.htypes import (
    Array,
    Bytes,
    ClassLabel,
    Htype,
    Image,
    Json,
    Scalar,
    Sequence,
    Text,
    resolve,
)
from deeplake_lite.htypes.base import to_code
from deeplake_lite.htypes.foreign import without_arrow
from deeplake_lite.htypes.pillow import is_pillow
from deeplake_lite.htypes.tensors import array_of, object_in
from deeplake_lite.htypes.times import spans_of
from deeplake_lite.ingest.bad_values import read_column
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.source import BadValue, Block, RowNames, Skipped
from deeplake_lite.ingest.tables.columns import ArrowColumn
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deeplake_lite.ingest.options import Options, Types
    from deeplake_lite.ingest.result import IngestedDataset

BLOCK_ROWS = 4_096
BLOCK_BYTES = 32 * 2**20

LAKE_ROWS = 256
"""Number of rows of another lake that are read at once."""


@takes_options
def from_arrays(
    arrays: Mapping[str, object], url: str, *, on: str | None = None, **options: Unpack[Options]
) -> IngestedDataset:
    """Ingest arrays and lists, one for each column, into a lake.

    Parameters
    ----------
    arrays : mapping
        Values by column: an array whose first axis is the rows, a list with one value per row, an
        Arrow or pandas column, which is read as in `from_dataframe`, or a column of another lake,
        whose files are copied unchanged.
    url : str
        URL of the lake, which is created if it does not exist.
    on : str, optional
        The column that identifies rows. Rows that are already in the lake are updated if they
        differ. By default, all rows are appended.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, whose attribute ``ingested`` summarizes the import.

    Notes
    -----
    An inferred type never rounds numbers. If a column has floats and an integer that float64 cannot
    hold, an error is raised unless you declare a type. If you declare floats, such integers are
    rounded.

    Arrays of images become `Array` columns. To display and compress them as images, declare
    ``schema={"image": dl.Image("png")}``. ``schema={"label": "class_label"}`` turns strings into
    classes.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.from_arrays({"x": np.zeros((2, 3), "float32"), "name": ["a", "b"]}, "memory://from-arrays")
    >>> [f.htype for f in ds.schema]
    [Array('float32', (3,)), Text()]
    >>> ds.ingested.added
    2
    """
    return ingest(MemorySource.of(arrays, on, options.get("schema")), url, **options)


@dataclass(frozen=True)
class LakeColumn:
    """A column of a lake, used like an array. Its files are copied without decoding them."""

    column: Column
    """Column of a dataset or view."""

    def __len__(self) -> int:
        return len(self.column)

    @property
    def nbytes(self) -> int:
        """A nominal size in bytes, such that blocks have at most `LAKE_ROWS` rows."""
        return len(self.column) * (BLOCK_BYTES // LAKE_ROWS)

    def htype(self, *, classes: bool = False) -> Htype:  # noqa: ARG002 - as for ArrowColumn
        """Return the type of the column."""
        return self.column.htype

    def values(self, start: int, stop: int, htype: Htype) -> Column:  # noqa: ARG002 - as above
        """Return the given rows of the column, which are converted when they are encoded."""
        return Column(self.column.view[start:stop], self.column.name)


@dataclass(frozen=True)
class MemorySource:
    """The source for arrays and lists."""

    values: Mapping[str, Any]
    """Maps names of columns to arrays, lists and columns that are used like arrays."""

    key: str | None
    """Name of the column that identifies rows, or None if there is no such column."""

    schema: Mapping[str, Any]
    """Maps the names of columns to the types that the user declares."""

    title: str = "arrays"
    """Name of the source in messages."""

    fingerprint: None = None
    """None, because data in memory has no name by which a later ingest could recognise it."""

    left_out: tuple[Skipped, ...] = ()

    metadata: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, arrays: Any, key: str | None, schema: Types, title: str = "arrays") -> MemorySource:
        """Return the source for a dict of columns.

        Raises InvalidValueError if the columns differ in length, or are no arrays or lists.
        """
        if not isinstance(arrays, Mapping):
            raise InvalidValueError(
                "arrays must be a dict of arrays and lists by column, but its type is "
                f"{type(arrays).__name__}. Pass a DataFrame to dl.from_dataframe."
            )
        types = types_of(schema)
        values = {name: _sequence(name, value) for name, value in arrays.items()}
        values |= {n: _with_decimals(v) for n, v in values.items() if n not in types}
        values |= {  # pandas has no durations in months or years; its tables have integers instead
            n: spans_of(values[n], resolve(types[n]).value_dtype)
            for n, v in arrays.items()
            if n in types and is_series(v)
        }
        lengths = {name: len(value) for name, value in values.items()}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name!r}: {n:,}" for name, n in lengths.items())
            raise InvalidValueError(
                f"Columns must have the same length, but their lengths are {listed}. Truncate or "
                "pad some of them."
            )
        return cls(values, key, types, title)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.values.values()), ()))

    @cached_property
    def columns(self) -> dict[str, Htype]:
        """Type of each column."""
        return {name: self._htype(name, value) for name, value in self.values.items()}

    @staticmethod
    def _htype_of_column(name: str, values: ArrowColumn | LakeColumn, *, classes: bool) -> Htype:
        """Return the type of a column. Raises SchemaError if no type can store its values."""
        try:
            return values.htype(classes=classes)
        except InvalidValueError as error:
            raise error.at(column=name) from None
        except SchemaError as error:
            raise SchemaError(f"Column {name!r}: {error} {_advice(name, values)}") from error

    def _htype(self, name: str, values: Any) -> Htype:
        """Return the type that the user declares for a column, or else the inferred type."""
        declared = resolve(self.schema[name]) if name in self.schema else None
        inferred: Htype
        if declared is not None and declared != ClassLabel():
            return declared
        if isinstance(values, Exported):
            return values.of
        if hasattr(values, "htype"):  # an ArrowColumn or LakeColumn
            inferred = self._htype_of_column(name, values, classes=declared is not None)
            if declared is None or inferred.classes is not None:
                return inferred
            return replace(ClassLabel(), nullable=inferred.nullable)
        try:
            inferred = infer_htype(values)
        except SchemaError as error:
            raise SchemaError(f"Column {name!r}: {error} {_advice(name, values)}") from error
        if declared is not None and inferred.sql == "text":
            names = sorted({str(v) for v in _as_list(values) if v is not None})
            return ClassLabel(names, nullable=inferred.nullable)
        return inferred if declared is None else replace(declared, nullable=inferred.nullable)

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Raise SchemaError if float64 would round a decimal in one of the columns `names`."""
        for name in names:
            if isinstance(column := self.values[name], ArrowColumn):
                column.check_unrounded(name)

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the rows from row `start` on, in blocks."""
        sizes = [v.nbytes / max(len(v), 1) for v in self.values.values() if hasattr(v, "nbytes")]
        step = int(np.clip(BLOCK_BYTES / max(sum(sizes), 1), 1, BLOCK_ROWS))
        for at in range(start, self.rows, step):
            stop = min(at + step, self.rows)
            yield self.block(at, stop)

    def block(self, start: int, stop: int) -> Block:
        """Return the rows from `start` up to `stop` as a block."""
        row_names, errors = RowNames(self.title, start, stop - start), dict[int, BadValue]()
        columns = dict[str, Any]()
        for name, values in self.values.items():
            htype = self.columns[name]
            read = partial(_part, values, htype, start)
            columns[name], bad = read_column(name, row_names, read, htype.blank)
            errors = bad | errors
        return Block(columns, row_names, errors=errors)


def _part(values: Any, htype: Htype, at: int, first: int, last: int) -> Any:
    """Return the values of the rows from `at + first` up to `at + last`.

    They have a form that `htype` can encode.
    """
    start, stop = at + first, at + last
    if hasattr(values, "htype"):  # an ArrowColumn or LakeColumn
        return values.values(start, stop, htype)
    if isinstance(values, Exported):
        return Exported(values.values[start:stop], values.of)
    return values[start:stop]


def infer_htype(values: Any) -> Htype:
    """Infer the type of a column from its values.

    Raises
    ------
    SchemaError
        If the values have no common type.

    Examples
    --------
    >>> infer_htype(np.zeros((4, 28, 28), "uint8")), infer_htype([1.5, None])
    (Array('uint8', (28, 28)), Scalar('float64', nullable=True))
    >>> infer_htype([np.zeros((2, 4)), np.zeros((0, 4))]), infer_htype([["a"], []])
    (Array('float64', (None, 4)), Sequence(Text()))
    """
    if isinstance(values, np.ndarray) and values.dtype != object:
        htype = htype_of_array(values.dtype, values.shape[1:])
        nullable = bool(np.ma.getmaskarray(values).any()) or bool(
            values.dtype.kind in "mM" and np.isnat(np.ma.getdata(values)).any()
        )
        return replace(htype, nullable=True) if nullable else htype
    present = [v for v in _as_list(values) if not _is_null(v)]
    try:
        htype = _of_items(present)
    except RecursionError as error:
        raise SchemaError(
            f"values must not be nested as deeply as {brief(present)}. Flatten the values."
        ) from error
    return replace(htype, nullable=True) if len(present) < len(values) else htype


def _is_null(value: object) -> bool:
    if isinstance(value, np.ma.MaskedArray):
        return bool(value.size and np.ma.getmaskarray(value).all())
    return value is None or (isinstance(value, np.datetime64 | np.timedelta64) and np.isnat(value))


def htype_of_array(dtype: np.dtype[Any], shape: tuple[int | None, ...]) -> Htype:
    """Return the column type for rows that all have the same dtype and shape.

    Raises SchemaError if no type can store the dtype.

    >>> htype_of_array(np.dtype("uint8"), (28, 28))
    Array('uint8', (28, 28))
    """
    if dtype.kind in "US":
        text: Htype = Text() if dtype.kind == "U" else Bytes()
        return Sequence(text) if shape else text
    if dtype.kind not in "biufcmM":
        raise SchemaError(f"no column type can store dtype {dtype}.")
    return Array(dtype.name, shape) if shape else Scalar(dtype.name)


_KINDS: tuple[tuple[tuple[type, ...], Htype], ...] = (
    ((bool, np.bool_), Scalar("bool")),
    (
        (timedelta, time, np.timedelta64),
        Scalar("timedelta64[us]"),
    ),  # timedelta64 is also np.integer
    ((int, np.integer), Scalar("int64")),
    ((int, float, np.integer, np.floating), Scalar("float64")),
    ((int, float, complex, np.number), Scalar("complex128")),
    ((str, PathLike), Text()),
    ((bytes, bytearray, memoryview), Bytes()),
    ((datetime, np.datetime64), Scalar("datetime64[us]")),
    ((date,), Scalar("datetime64[D]")),
    ((Mapping,), Json()),
)


def _is_one(item: Any, types: tuple[type, ...]) -> bool:
    """Return whether an item is an instance of one of the types.

    Booleans and durations, whose classes inherit from integers, do not count as integers.
    """
    of_integers = [kind for kind in (bool, np.timedelta64) if isinstance(item, kind)]
    return isinstance(item, types) and all(kind in types for kind in of_integers)


def _of_items(items: list[Any]) -> Htype:
    """Return the column type for a list of Python objects, none of which is None.

    Raises SchemaError if no type can store all of them.
    """
    if not items:
        return Text(nullable=True)
    if any(isinstance(item, datetime) for item in items):  # dates mixed with them become timestamps
        items = [_as_timestamp(item) for item in items]
    for types, htype in _KINDS:
        if all(_is_one(item, types) for item in items):
            if htype in (Scalar("float64"), Scalar("complex128")):
                _check_unrounded(items)
            return htype
    objects = [object_in(item) for item in items]
    if all(content is not item for content, item in zip(objects, items, strict=True)):
        return _of_items(objects)
    if all(isinstance(item, np.ndarray) or hasattr(item, "__array__") for item in items):
        arrays = [array_of(item) for item in items]
        if any(array.dtype == object for array in arrays):  # strings, or numbers with nulls
            return _of_lists([array.tolist() for array in arrays])
        return _of_arrays(arrays)
    if all(is_pillow(item) for item in items):
        return Image()
    if all(isinstance(item, list | tuple) for item in items):
        return _of_lists(items)
    kinds = ", ".join(sorted({type(item).__name__ for item in items}))
    if any(isinstance(item, Decimal) for item in items):
        raise SchemaError(
            f"no column type can store {kinds} together. Convert the values: float(value) rounds a "
            "Decimal, and str(value) keeps its digits."
        )
    if "," not in kinds:
        raise SchemaError(f"no column type can store values of type {kinds}.")
    raise SchemaError(f"no column type can store {kinds} together.")


def _check_unrounded(items: list[Any]) -> None:
    """Raise SchemaError if float64 would round one of the integers and long floats."""
    for item in items:
        if isinstance(item, int | np.integer) and abs(int(item)) > _EXACT:
            try:
                is_exact = int(float(item)) == int(item)
            except OverflowError:
                is_exact = False
            if not is_exact:
                raise SchemaError(
                    "no column type can store floats together with the integer "
                    f"{brief(int(item))}, because float64 would round the integer. To keep its "
                    "digits, use str(value)."
                )
        elif isinstance(item, np.longdouble | np.clongdouble) and _is_rounded(item):
            raise SchemaError(
                f"no column type can store the {type(item).__name__} {item!s} exactly, because "
                "float64 would round it. To keep its digits, use str(value)."
            )


def _is_rounded(number: np.longdouble | np.clongdouble) -> bool:
    """Return whether float64 or complex128 would round a long float."""
    return bool(number == number and np.complex128(number) != number)


_EXACT = 2**53
"""The number up to which float64 can represent all integers exactly."""

_LONGEST = 63
"""Number of fraction bits of NumPy's longdouble on machines where it is longer than float64."""

_GENERAL = (
    *(Text(), Scalar("timedelta64[us]"), Scalar("float64"), Scalar("complex128")),
    *(Array("int64", None), Array("float64", None), Array("complex128", None), Json(), Bytes()),
)
"""Types that can store many kinds of values. One of them is suggested if no type was found."""

_TRIED = 1_000
"""Number of rows that a type must be able to store before it is suggested."""


def _advice(name: str, values: Any) -> str:
    """Return a sentence that suggests a type for a column, or else how to convert its values.

    >>> _advice("x", [1, "a", None])
    "Declare a type: schema={'x': dl.Json(nullable=True)}."
    """
    for nullable in (False, True):
        for htype in (replace(general, nullable=nullable) for general in _GENERAL):
            if _takes(htype, values):
                return f"Declare a type: schema={{{name!r}: {to_code(htype)}}}."
    return "Convert the values to numbers, strings, lists or dicts."


def _takes(htype: Htype, values: Any) -> bool:
    try:
        htype.encode(_part(values, htype, 0, 0, min(len(values), _TRIED)))
    except (LakeError, pa.ArrowException):
        return False
    return True


def _as_timestamp(item: object) -> object:
    """Convert a date to a timestamp, which is midnight. Return other values unchanged."""
    return datetime(item.year, item.month, item.day) if type(item) is date else item


def _of_arrays(arrays: list[np.ndarray[Any, Any]]) -> Htype:
    """Return the column type for one array per row. Axes with different sizes become variable."""
    ranks = {array.ndim for array in arrays}
    if len(ranks) > 1:
        raise SchemaError(
            f"arrays must have the same number of axes, but they have {sorted(ranks)}."
        )
    dtype = _common_dtype(arrays)
    sizes = zip(*(array.shape for array in arrays), strict=True)
    shape = tuple(s[0] if len(set(s)) == 1 and s[0] else None for s in sizes)
    return htype_of_array(dtype, shape)


_TOGETHER = ("b", "iufc", "m", "M", "U", "S")
"""Groups of kinds of NumPy dtypes. Only kinds of the same group have a common type. Booleans are
not numbers."""


def _common_dtype(arrays: list[np.ndarray[Any, Any]]) -> np.dtype[Any]:
    """Return a dtype that can hold the values of all arrays exactly.

    NumPy alone would turn numbers into durations, durations into timestamps, and integers into
    floats. Raises SchemaError if there is no such dtype.

    >>> _common_dtype([np.zeros(2, "int8"), np.ones(1, "uint64")])
    dtype('int64')
    """
    dtypes = {array.dtype for array in arrays}
    if len(dtypes) > 1 and not any({d.kind for d in dtypes} <= {*kinds} for kinds in _TOGETHER):
        raise SchemaError(
            f"no column type can store arrays of {_names_of_dtypes(dtypes)} together."
        )
    try:
        common = np.result_type(*dtypes)
    except TypeError as error:  # months and days have no common unit
        raise SchemaError(
            f"no column type can store arrays of {_names_of_dtypes(dtypes)} together."
        ) from error
    if common.kind == "f" and all(dtype.kind in "ui" for dtype in dtypes):
        return _common_integer(arrays)
    if common.kind in "fc" and np.finfo(common).nmant < _LONGEST:
        for array in arrays:
            if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
                _check_unrounded([*array[(array > _EXACT) | (array < -_EXACT)]])
    return common


def _common_integer(arrays: list[np.ndarray[Any, Any]]) -> np.dtype[Any]:
    """Return int64 as the common dtype of int64 and uint64 arrays.

    Raises SchemaError if a value is not less than 2**63.
    """
    sized = [array for array in arrays if array.size]
    least = min((int(np.ma.getdata(array).min()) for array in sized), default=0)
    most = max((int(np.ma.getdata(array).max()) for array in sized), default=0)
    if most >= 2**63:
        raise SchemaError(
            f"no column type can store both integers {least} and {most}. To keep their digits, "
            "convert the integers to strings: str(value)."
        )
    return np.dtype(np.int64)


def _names_of_dtypes(dtypes: set[np.dtype[Any]]) -> str:
    return ", ".join(sorted(dtype.name for dtype in dtypes))


def _of_lists(lists: list[Any]) -> Htype:
    """Return the column type for one list per row: `Array` for numbers, otherwise `Sequence`."""
    item = _of_items([v for items in lists for v in items if v is not None] or [""])
    nulls = any(v is None for items in lists for v in items)
    if item.scalar is not None and not nulls:
        return Array(item.scalar, (None,))
    if item.is_array and item.axes and None not in item.axes and not nulls:
        return Array(item.value_dtype, (None, *item.axes))
    return Sequence(replace(item, nullable=nulls))


def _sequence(name: str, values: Any) -> Any:
    """Convert a column's values to an array, a list or a column that is used like an array.

    Raises InvalidValueError if the values are of another kind.
    """
    if isinstance(values, Column):
        return LakeColumn(values)
    if hasattr(values, "to_dataset"):  # an xarray DataArray
        return column_values(values)
    if is_series(values):
        values = _series(name, values)
    if is_arrow(values):
        return ArrowColumn.of(values)
    single = isinstance(values, str | bytes | Mapping) or getattr(values, "ndim", 1) == 0
    if single or not hasattr(values, "__len__"):
        raise InvalidValueError(
            "must be an array or a list with one value per row, but it is "
            f"{type(values).__name__} {brief(values)}.",
            column=name,
        )
    if isinstance(values, list | tuple):
        return without_arrow(list(values))
    if hasattr(values, "htype"):
        return values
    if not hasattr(values, "__array__"):
        return list(values)
    array = array_of(values)
    is_list = array.dtype == object and array.ndim == 1 and not np.ma.isMaskedArray(array)
    return without_arrow(list(array)) if is_list else array


def _with_decimals(values: Any) -> Any:
    """Convert decimals, or lists of decimals, to an ArrowColumn. Return other values unchanged."""
    if not isinstance(values, list) or not values:
        return values
    is_nested = all(isinstance(value, list | None) for value in values)
    items = [v for value in values for v in value or ()] if is_nested else values
    kinds = {type(item) for item in items if item is not None}
    if kinds != {Decimal}:
        return values
    try:
        return ArrowColumn.of(pa.array(values))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return values  # NaN, or more digits than Arrow's decimals have


def _series(name: str, values: object) -> object:
    """Convert a Series of a DataFrame library to a NumPy or Arrow array, or to a list."""
    try:
        return series_values(values)
    except InvalidValueError as error:
        raise error.at(column=name) from None


def _as_list(values: object) -> Any:
    """Convert an array to a list. Return other sequences unchanged."""
    return values.tolist() if isinstance(values, np.ndarray) else values
