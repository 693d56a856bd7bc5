"""Rows that are in memory: arrays and lists by column, or a DataFrame.

The type of a column is found in its values: an array's dtype and shape, what the items of a list
have in common.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
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
from deeplake_lite.htypes.base import pasted
from deeplake_lite.htypes.foreign import without_arrow
from deeplake_lite.htypes.pillow import is_pillow
from deeplake_lite.htypes.tensors import array_of
from deeplake_lite.htypes.times import spans_of
from deeplake_lite.ingest.columns import ArrowColumn
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.source import Block, Places, Skipped
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deeplake_lite.ingest.options import Options, Types
    from deeplake_lite.ingest.result import IngestedDataset

BLOCK_ROWS = 4_096
BLOCK_BYTES = 32 * 2**20

LAKE_ROWS = 256
"""Rows of another lake that are read at a time."""


@takes_options
def from_arrays(
    arrays: Mapping[str, Any], url: str, *, on: str | None = None, **options: Unpack[Options]
) -> IngestedDataset:
    """Take arrays and lists, one per column, into a lake.

    Parameters
    ----------
    arrays : mapping
        Values by column: an array (its first axis are the rows), a list with one value per row, a
        column of Arrow or pandas, read as `from_dataframe` does, or a column of another lake, whose
        files are kept as they are.
    url : str
        Where the lake is, or is to be.
    on : str, optional
        The column that tells rows apart: rows that are there are changed where they differ. Left
        out, all rows are appended.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        Committed; its ``ingested`` tells what was done.

    Notes
    -----
    Numbers are never rounded where a type is found: lists or arrays of floats with an integer that
    float64 does not hold are refused until a type is given. A column that is declared as floats
    rounds.

    Arrays of pictures become `Array` columns. For pictures that are shown and compressed as such
    say ``schema={"image": dl.Image("png")}``; ``schema={"label": "class_label"}`` makes classes of
    texts.

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
    """A column of a lake among arrays and lists: read in parts, its files are kept."""

    column: Column
    """The column."""

    def __len__(self) -> int:
        return len(self.column)

    @property
    def nbytes(self) -> int:
        """Size that makes blocks of `LAKE_ROWS` rows; what it takes in memory is not known."""
        return len(self.column) * (BLOCK_BYTES // LAKE_ROWS)

    def htype(self, *, classes: bool = False) -> Htype:  # noqa: ARG002 - as of an ArrowColumn
        """Return the column's own type."""
        return self.column.htype

    def values(self, start: int, stop: int, htype: Htype) -> Column:  # noqa: ARG002 - as above
        """Return the column of some rows, whose values the lake's type takes."""
        return Column(self.column.view[start:stop], self.column.name)


@dataclass(frozen=True)
class MemorySource:
    """Rows of arrays and lists."""

    values: Mapping[str, Any]
    """One sequence or array per column."""

    key: str | None
    """The column that tells rows apart."""

    schema: Mapping[str, Any]
    """Types that the user asked for."""

    title: str = "arrays"
    """What messages call the source."""

    fingerprint: None = None
    """It cannot be found again."""

    left_out: tuple[Skipped, ...] = ()
    """There is nothing else in it."""

    @classmethod
    def of(cls, arrays: Any, key: str | None, schema: Types, title: str = "arrays") -> MemorySource:
        """Check that the columns have one length. Raises InvalidValueError."""
        if not isinstance(arrays, Mapping):
            raise InvalidValueError(
                f"must be a dict of arrays and lists by column, got {type(arrays).__name__}. "
                "A DataFrame goes to dl.from_dataframe."
            )
        types = types_of(schema)
        values = {name: _sequence(name, value) for name, value in arrays.items()}
        values |= {n: _with_decimals(v) for n, v in values.items() if n not in types}
        values |= {  # pandas has no durations in months and years, and tables count them
            n: spans_of(values[n], resolve(types[n]).value_dtype)
            for n, v in arrays.items()
            if n in types and is_series(v)
        }
        lengths = {name: len(value) for name, value in values.items()}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name!r} {n}" for name, n in lengths.items())
            raise InvalidValueError(f"columns have one length, got {listed}. Cut or fill them.")
        return cls(values, key, types, title)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.values.values()), ()))

    @cached_property
    def columns(self) -> dict[str, Htype]:
        """Type of each column."""
        return {name: self._htype(name, value) for name, value in self.values.items()}

    @staticmethod
    def _noted_htype(name: str, values: ArrowColumn | LakeColumn, *, classes: bool) -> Htype:
        """Return the type of a column. Raises SchemaError for what are no names of classes."""
        try:
            return values.htype(classes=classes)
        except SchemaError as error:
            raise SchemaError(f"Column {name!r}: {error} {_advice(name, values)}") from error

    def _htype(self, name: str, values: Any) -> Htype:
        given = resolve(self.schema[name]) if name in self.schema else None
        found: Htype
        if given is not None and given != ClassLabel():
            return given
        if isinstance(values, Exported):
            return values.of
        if hasattr(values, "htype"):  # an ArrowColumn or LakeColumn
            found = self._noted_htype(name, values, classes=given is not None)
            numbered = replace(ClassLabel(), nullable=found.nullable)
            return found if given is None or found.classes is not None else numbered
        try:
            found = found_htype(values)
        except SchemaError as error:
            raise SchemaError(f"Column {name!r}: {error} {_advice(name, values)}") from error
        if given is not None and found.sql == "text":
            names = sorted({str(v) for v in _plain(values) if v is not None})
            return ClassLabel(names, nullable=found.nullable)
        return found if given is None else replace(given, nullable=found.nullable)

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Refuse decimals that float64 rounds in columns whose type was found."""
        for name in names:
            if isinstance(column := self.values[name], ArrowColumn):
                column.check_unrounded(name)

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the rows from `start` on."""
        sizes = [v.nbytes / max(len(v), 1) for v in self.values.values() if hasattr(v, "nbytes")]
        step = int(np.clip(BLOCK_BYTES / max(sum(sizes), 1), 1, BLOCK_ROWS))
        for at in range(start, self.rows, step):
            stop = min(at + step, self.rows)
            yield Block(self.slice(at, stop), Places(self.title, at, stop - at))

    def slice(self, start: int, stop: int) -> dict[str, Any]:
        """Return the values of some rows, by column."""
        return {
            name: _part(values, start, stop, self.columns[name])
            for name, values in self.values.items()
        }


def _part(values: Any, start: int, stop: int, htype: Htype) -> Any:
    """Return some of a column's values, as `htype` takes them."""
    if hasattr(values, "htype"):  # an ArrowColumn or LakeColumn
        return values.values(start, stop, htype)
    if isinstance(values, Exported):
        return Exported(values.values[start:stop], values.of)
    return values[start:stop]


def found_htype(values: Any) -> Htype:
    """Return the type that a column's values have.

    Raises
    ------
    SchemaError
        When they have none in common.

    Examples
    --------
    >>> found_htype(np.zeros((4, 28, 28), "uint8")), found_htype([1.5, None])
    (Array('uint8', (28, 28)), Scalar('float64', nullable=True))
    >>> found_htype([np.zeros((2, 4)), np.zeros((0, 4))]), found_htype([["a"], []])
    (Array('float64', (None, 4)), Sequence(Text()))
    """
    if isinstance(values, np.ndarray) and values.dtype != object:
        found = _of_array(values.dtype, values.shape[1:])
        nullable = bool(np.ma.getmaskarray(values).any()) or bool(
            values.dtype.kind in "mM" and np.isnat(np.ma.getdata(values)).any()
        )
        return replace(found, nullable=True) if nullable else found
    present = [v for v in _plain(values) if not _is_null(v)]
    try:
        found = _of_items(present)
    except RecursionError as error:
        raise SchemaError(
            f"values must be nested less deep, but there is {brief(present)}. Flatten them."
        ) from error
    return replace(found, nullable=True) if len(present) < len(values) else found


def _is_null(value: Any) -> bool:
    if isinstance(value, np.ma.MaskedArray):
        return bool(value.size and np.ma.getmaskarray(value).all())
    return value is None or (isinstance(value, np.datetime64 | np.timedelta64) and np.isnat(value))


def _of_array(dtype: np.dtype[Any], shape: tuple[int | None, ...]) -> Htype:
    """Return the type for rows of one dtype and shape."""
    if dtype.kind in "US":
        text: Htype = Text() if dtype.kind == "U" else Bytes()
        return Sequence(text) if shape else text
    if dtype.kind not in "biufcmM":
        raise SchemaError(f"there is no type for dtype {dtype}.")
    return Array(dtype.name, shape) if shape else Scalar(dtype.name)


_KINDS: tuple[tuple[tuple[type, ...], Htype], ...] = (
    ((bool, np.bool_), Scalar("bool")),
    ((timedelta, time, np.timedelta64), Scalar("timedelta64[us]")),  # NumPy's is an np.integer, too
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
    """Tell whether an item is of one of some types; truth values and durations are no integers."""
    of_integers = [kind for kind in (bool, np.timedelta64) if isinstance(item, kind)]
    return isinstance(item, types) and all(kind in types for kind in of_integers)


def _of_items(items: list[Any]) -> Htype:
    """Return the type for values that are Python objects, none of them None."""
    if not items:
        return Text(nullable=True)
    if any(isinstance(item, datetime) for item in items):  # which is a date, too
        items = [_moment(item) for item in items]
    for types, htype in _KINDS:
        if all(_is_one(item, types) for item in items):
            if htype in (Scalar("float64"), Scalar("complex128")):
                _check_unrounded(items)
            return htype
    if all(isinstance(item, np.ndarray) or hasattr(item, "__array__") for item in items):
        arrays = [array_of(item) for item in items]
        if any(array.dtype == object for array in arrays):  # texts, or numbers with nulls
            return _of_lists([array.tolist() for array in arrays])
        return _of_arrays(arrays)
    if all(is_pillow(item) for item in items):
        return Image()
    if all(isinstance(item, list | tuple) for item in items):
        return _of_lists(items)
    kinds = ", ".join(sorted({type(item).__name__ for item in items}))
    if any(isinstance(item, Decimal) for item in items):
        raise SchemaError(
            f"there is no one type for {kinds}; float(value) rounds a Decimal, and str(value) "
            "keeps its digits."
        )
    raise SchemaError(f"there is no one type for {kinds}.")


def _check_unrounded(items: list[Any]) -> None:
    """Refuse integers and long floats that a float64 does not hold. Raises SchemaError."""
    for item in items:
        if isinstance(item, int | np.integer) and abs(int(item)) > _EXACT:
            try:
                is_exact = int(float(item)) == int(item)
            except OverflowError:
                is_exact = False
            if not is_exact:
                raise SchemaError(
                    f"there is no one type for floats and the integer {brief(int(item))}, which "
                    "float64 rounds; texts keep it, str(value)."
                )
        elif isinstance(item, np.longdouble | np.clongdouble) and _is_rounded(item):
            raise SchemaError(
                f"there is no type for the {type(item).__name__} {item!s}, which float64 "
                "rounds; texts keep it, str(value)."
            )


def _is_rounded(number: np.longdouble | np.clongdouble) -> bool:
    """Tell whether a long float is another number in 64 bits a part."""
    return bool(number == number and np.complex128(number) != number)


_EXACT = 2**53
"""A float64 holds all integers up to here."""

_LONGEST = 63
"""Bits of the fraction of a longdouble, where that has more than a float64."""

_GENERAL = (
    *(Text(), Scalar("timedelta64[us]"), Scalar("float64"), Scalar("complex128")),
    *(Array("int64", None), Array("float64", None), Array("complex128", None), Json(), Bytes()),
)
"""Types that may take values in which none is found."""

_TRIED = 1_000
"""Rows on which they are tried."""


def _advice(name: str, values: Any) -> str:
    """Return which types take the values of a column, as a sentence.

    >>> _advice("x", [1, "a", None])
    "Give it a type: schema={'x': dl.Json(nullable=True)}."
    """
    for nullable in (False, True):
        for htype in (replace(general, nullable=nullable) for general in _GENERAL):
            if _takes(htype, values):
                return f"Give it a type: schema={{{name!r}: {pasted(htype)}}}."
    return "No type takes them: convert them to numbers, texts, lists or dicts."


def _takes(htype: Htype, values: Any) -> bool:
    try:
        htype.encode(_part(values, 0, min(len(values), _TRIED), htype))
    except (LakeError, pa.ArrowException):
        return False
    return True


def _moment(item: Any) -> Any:
    """Return a day as its first moment, anything else as it is."""
    return datetime(item.year, item.month, item.day) if type(item) is date else item


def _of_arrays(arrays: list[np.ndarray[Any, Any]]) -> Htype:
    """Return the type for an array per row: axes that differ are ragged."""
    ranks = {array.ndim for array in arrays}
    if len(ranks) > 1:
        raise SchemaError(f"arrays must have one rank, but they have {sorted(ranks)}.")
    dtype = _common_dtype(arrays)
    sizes = zip(*(array.shape for array in arrays), strict=True)
    shape = tuple(s[0] if len(set(s)) == 1 and s[0] else None for s in sizes)
    return _of_array(dtype, shape)


_TOGETHER = ("b", "iufc", "m", "M", "U", "S")
"""Kinds of dtypes that have a type in common; truth values are no numbers."""


def _common_dtype(arrays: list[np.ndarray[Any, Any]]) -> np.dtype[Any]:
    """Return the dtype that holds the values of all arrays as they are. Raises SchemaError.

    NumPy would make durations of numbers, moments of durations, and floats of some integers.

    >>> _common_dtype([np.zeros(2, "int8"), np.ones(1, "uint64")])
    dtype('int64')
    """
    dtypes = {array.dtype for array in arrays}
    if len(dtypes) > 1 and not any({d.kind for d in dtypes} <= {*kinds} for kinds in _TOGETHER):
        raise SchemaError(f"there is no one type for arrays of {_listed(dtypes)}.")
    try:
        common = np.result_type(*dtypes)
    except TypeError as error:  # months beside days, which have no length in common
        raise SchemaError(f"there is no one type for arrays of {_listed(dtypes)}.") from error
    if common.kind == "f" and all(dtype.kind in "ui" for dtype in dtypes):
        return _common_integer(arrays)
    if common.kind in "fc" and np.finfo(common).nmant < _LONGEST:
        for array in arrays:
            if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
                _check_unrounded([*array[(array > _EXACT) | (array < -_EXACT)]])
    return common


def _common_integer(arrays: list[np.ndarray[Any, Any]]) -> np.dtype[Any]:
    """Return int64 for integers, uint64 among them, that it holds. Raises SchemaError."""
    sized = [array for array in arrays if array.size]
    least = min((int(np.ma.getdata(array).min()) for array in sized), default=0)
    most = max((int(np.ma.getdata(array).max()) for array in sized), default=0)
    if most >= 2**63:
        raise SchemaError(
            f"there is no one type for the integers {least} and {most}; texts keep them, "
            "str(value)."
        )
    return np.dtype(np.int64)


def _listed(dtypes: set[np.dtype[Any]]) -> str:
    return ", ".join(sorted(dtype.name for dtype in dtypes))


def _of_lists(lists: list[Any]) -> Htype:
    """Return the type for a list per row: ragged arrays of numbers, else a sequence."""
    item = _of_items([v for items in lists for v in items if v is not None] or [""])
    nulls = any(v is None for items in lists for v in items)
    if item.scalar is not None and not nulls:
        return Array(item.scalar, (None,))
    if item.is_array and item.axes and None not in item.axes and not nulls:
        return Array(item.value_dtype, (None, *item.axes))
    return Sequence(replace(item, nullable=nulls))


def _sequence(name: str, values: Any) -> Any:
    """Return a column's values as an array or a list."""
    if isinstance(values, Column):
        return LakeColumn(values)
    if hasattr(values, "to_dataset"):  # xarray's
        return column_values(values)
    if is_series(values):
        values = _series(name, values)
    if is_arrow(values):
        return ArrowColumn.of(values)
    single = isinstance(values, str | bytes | Mapping) or getattr(values, "ndim", 1) == 0
    if single or not hasattr(values, "__len__"):
        raise InvalidValueError(
            f"must be an array or a list with one value per row, got {type(values).__name__} "
            f"{brief(values)}.",
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
    """Return a list of decimals, or of lists of decimals, as a column of Arrow; others as is."""
    if not isinstance(values, list) or not values:
        return values
    lists = all(isinstance(value, list | None) for value in values)
    items = [v for value in values for v in value or ()] if lists else values
    kinds = {type(item) for item in items if item is not None}
    if kinds != {Decimal}:
        return values
    try:
        return ArrowColumn.of(pa.array(values))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return values  # NaN, or more digits than Arrow has


def _series(name: str, values: Any) -> Any:
    """Return a column of pandas as an array of NumPy or Arrow, or as a list."""
    try:
        return series_values(values)
    except InvalidValueError as error:
        raise error.at(column=name) from None


def _plain(values: Any) -> Any:
    """Return values as something to go through: an array of text as a list."""
    return values.tolist() if isinstance(values, np.ndarray) else values
