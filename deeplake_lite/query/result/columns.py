"""Columns of a result: values that DuckDB computed, and trees that are computed when looked at."""

from __future__ import annotations

import decimal
import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import xxhash

from deeplake_lite.brief import brief
from deeplake_lite.dataset.arrow.cells import numbers_in, numbers_of
from deeplake_lite.dataset.arrow.types import is_list, is_text
from deeplake_lite.dataset.read.values import with_none
from deeplake_lite.errors import (
    InvalidValueError,
    LakeError,
    QueryError,
    QueryTypeError,
    SchemaError,
)
from deeplake_lite.htypes.arrow_scalars import python_values
from deeplake_lite.htypes.cells import DenseCells, NestedCells, RaggedCells
from deeplake_lite.htypes.layouts import Ragged
from deeplake_lite.query.database.convert import GroupRows, in_one, masked
from deeplake_lite.query.database.times import durations_of
from deeplake_lite.query.result.json_parts import parsed
from deeplake_lite.query.result.types import htype_of_arrow, htype_of_tree
from deeplake_lite.query.tensors import evaluate
from deeplake_lite.storage.digests import NULL_DIGEST, digests_of, row_digests

if TYPE_CHECKING:
    from collections.abc import Buffer, Callable, Mapping
    from typing import Self

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.query.values import Kind, Tensor

type Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HeldColumn:
    """Values that DuckDB computed."""

    array: pa.Array
    htype: Htype
    locate: Callable[[LakeError], None]
    """Gives errors their place in the query."""
    adds_up: bool = False
    """Whether the query aggregates: its floats depend on the order in which they are added."""
    computed = False

    @classmethod
    def of(
        cls,
        column: pa.ChunkedArray,
        kind: Kind,
        locate: Callable[[LakeError], None],
        *,
        adds_up: bool = False,
    ) -> Self:
        """Return a column of DuckDB's result."""
        try:
            array = settled(in_one(column))
        except QueryTypeError as error:
            locate(error)
            raise
        return cls(array, htype_of_arrow(array, kind), locate, adds_up)

    def read(self, rows: Rows) -> Cells:
        """Return the cells of some rows."""
        every = len(rows) == len(self.array) and bool((np.diff(rows) == 1).all())
        taken = self.array if every else self.array.take(numbers_of(rows))
        try:
            return self.htype.encode(to_values(taken, self.htype))
        except InvalidValueError as error:  # such as a struct with NaN, which JSON lacks
            self.locate(error)
            raise

    def marks(self, rows: Rows) -> list[NDArray[np.uint64]]:
        """Return digests of the values."""
        return [digests_of(self.htype.layout, _steady(self.read(rows), adds_up=self.adds_up))]


def _steady(cells: Cells, *, adds_up: bool) -> Cells:
    """Return cells with floats as they come out whenever, and wherever, a query runs."""
    if isinstance(cells, NestedCells):
        return replace(cells, items=_steady(cells.items, adds_up=adds_up))
    if isinstance(cells, DenseCells) and cells.values.dtype.kind == "f":
        return replace(cells, values=_steady_floats(cells.values, adds_up=adds_up))
    return cells


def _steady_floats(values: NDArray[Any], *, adds_up: bool) -> NDArray[Any]:
    with np.errstate(over="ignore"):
        return np.zeros_like(values) if adds_up else values.astype(np.float32)


@dataclass(frozen=True, eq=False)
class ComputedColumn:
    """A tree, computed when it is looked at."""

    tensor: Tensor
    env: Mapping[str, Any]
    """Per key one entry for each row of the result."""
    locate: Callable[[LakeError, str], None]
    """What gives errors their place in the query."""
    adds_up: bool = False
    """Whether the query aggregates, as for `HeldColumn`."""
    computed = True

    @property
    def htype(self) -> Htype:
        """What the tree gives. Raises QueryTypeError for cells that are too large for a column."""
        try:
            return htype_of_tree(self.tensor.tree)
        except SchemaError as error:
            ours = QueryTypeError(*error.args)
            self.locate(ours, self.tensor.text)
            raise ours from error

    def read(self, rows: Rows) -> Cells:
        """Compute the cells of some rows."""
        try:
            return self._computed(rows)
        except (QueryError, InvalidValueError) as error:
            self.locate(error, self.tensor.text)
            raise

    def marks(self, rows: Rows) -> list[NDArray[np.uint64]]:
        """Return digests of what the tree reads: rows of sources, groups, and scalars."""
        return [self._marks(np.ma.asarray(values[rows])) for values in self.env.values()]

    def _marks(self, values: np.ma.MaskedArray[Any, Any]) -> NDArray[np.uint64]:
        data = np.ma.getdata(values)
        if data.dtype.kind == "f":
            data = _steady_floats(data, adds_up=self.adds_up)
        found = _object_digests(data) if data.dtype.hasobject else row_digests(data)
        found[np.ma.getmaskarray(values)] = NULL_DIGEST
        return found

    def _computed(self, rows: Rows) -> Cells:
        env = {key: values[rows] for key, values in self.env.items()}
        values = evaluate.evaluate(self.tensor.tree, env, len(rows))
        layout = self.htype.layout
        if isinstance(layout, Ragged) and layout.dtype not in ("bytes", "utf8", "json"):
            return _as_they_are(values, layout)
        return self.htype.encode(_plain(values))


def _object_digests(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return digests of groups, by their rows, and of texts and lists."""
    parts = (str(v.digest) if isinstance(v, GroupRows) else repr(v) for v in values)
    digests = (xxhash.xxh3_64_intdigest(part.encode(errors="replace")) for part in parts)
    return np.fromiter(digests, np.uint64, len(values))


def _as_they_are(values: Any, layout: Ragged) -> RaggedCells:
    """Return computed arrays without the checks of those that people hand in."""
    found = [
        None if v is None else _exactly(np.asarray(v), layout.dtype) for v in with_none(values)
    ]
    shapes = np.full((len(found), layout.ndim), -1, np.int32)
    for row, array in enumerate(found):
        if array is not None:
            shapes[row, : array.ndim] = array.shape
    valid = np.array([array is not None for array in found], bool)
    buffers: list[Buffer] = [b"" if array is None else array.tobytes() for array in found]
    return RaggedCells(buffers, shapes, None if valid.all() else valid)


def _exactly(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return an array in a dtype. Raises QueryError for integers that it does not hold."""
    cast = array.astype(dtype, copy=False)
    if array.dtype.kind in "iu" and not np.can_cast(array.dtype, dtype) and (cast != array).any():
        raise QueryError(
            f"A column of {dtype} does not hold numbers of {array.dtype} that were computed. CAST "
            f"them: CAST(x AS {array.dtype})."
        )
    return cast


def _plain(values: Any) -> Any:
    """Return computed values as an htype takes them."""
    if isinstance(values, np.ndarray):
        return values
    rows = (None if v is np.ma.masked else v for v in values)
    return [v.tolist() if isinstance(v, np.ndarray) and v.dtype == object else v for v in rows]


# ---- values of DuckDB's


def settled(array: pa.Array) -> pa.Array:
    """Return values of types that columns have, in lists too.

    Wide integers and decimals become int64, uint64 or float64, spans of time microseconds, times
    of day texts.

    >>> import datetime as dt
    >>> settled(pa.array([[decimal.Decimal(3)], None])).to_pylist()
    [[3], None]
    >>> settled(pa.array([dt.time(9, 30)])).to_pylist()
    ['09:30:00']
    """
    kind = array.type
    if is_list(kind):
        items = settled(array.flatten())
        return array if items.type == kind.value_type else _lists(array, items)
    if pa.types.is_decimal(kind):
        return _numbers(array)
    if kind == pa.month_day_nano_interval():
        return durations_of(array)
    if pa.types.is_time(kind):
        return pa.array([None if v is None else str(v) for v in array.to_pylist()], pa.string())
    return array


def _lists(array: pa.Array, items: pa.Array) -> pa.Array:
    """Return lists with other items in the place of theirs."""
    import pyarrow.compute as pc  # 0.1 s, for columns of lists alone

    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    return pa.LargeListArray.from_arrays(numbers_of(offsets), items, mask=array.is_null())


def _numbers(array: pa.Array) -> pa.Array:
    """Return decimals as int64 or uint64 where they are such, else as float64.

    Raises
    ------
    QueryTypeError
        For whole numbers that none of the three holds.
    """
    values = array.to_pylist()
    whole = array.type.scale == 0
    for type_, low, high in ((pa.int64(), -(2**63), 2**63), (pa.uint64(), 0, 2**64)):
        if whole and all(v is None or low <= v < high for v in values):
            return pa.array([None if v is None else int(v) for v in values], type_)
    if whole and (rounded := next((v for v in values if v is not None and float(v) != v), None)):
        numbers = [v for v in values if v is not None]
        raise QueryTypeError(
            f"Neither int64 nor uint64 holds all values of a column from {min(numbers)} to "
            f"{max(numbers)}, and float64 does not hold {rounded} exactly. CAST an operand AS "
            "DOUBLE for rounded values, or AS TEXT for the digits."
        )
    return pa.array([None if v is None else float(v) for v in values], pa.float64())


def to_values(array: pa.Array, htype: Htype) -> Any:
    """Return Arrow values as an htype takes them.

    >>> from deeplake_lite.htypes import Json
    >>> to_values(pa.array(['{"a": 1}', None]), Json(nullable=True))
    [{'a': 1}, None]
    """
    if htype.scalar is not None:
        return _scalars(array, htype.scalar)
    if htype.sql == "json":
        parse = json.loads if is_text(array.type) else _jsonable
        values = (parsed(v, array.type) for v in python_values(array))
        return [None if v is None else parse(v) for v in values]
    if htype.item is not None and is_list(array.type):
        return _split(array, to_values(array.flatten(), htype.item))
    if htype.sql == "text" and not is_text(array.type):
        return [None if v is None else str(v) for v in array.to_pylist()]
    return array.to_pylist()


def _split(array: pa.Array, items: Any) -> list[Any]:
    """Return a list's items row by row, None where there is no list."""
    import pyarrow.compute as pc

    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths).tolist()
    rows = zip(array.is_valid().to_pylist(), [0, *ends], ends, strict=False)
    found = with_none(items)
    return [found[start:end] if valid else None for valid, start, end in rows]


def _scalars(array: pa.Array, dtype: str) -> Any:
    if pa.types.is_null(array.type):
        return [None] * len(array)
    if array.null_count and not dtype.endswith("]"):  # of times, null is NaT
        return masked(array)
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return numbers_in(array).astype(dtype, copy=False)  # `to_numpy` would import pandas
    return array.to_numpy(zero_copy_only=False).astype(dtype, copy=False)


def _jsonable(value: Any) -> Any:
    match value:
        case dict():
            return {str(k): _jsonable(v) for k, v in value.items()}
        case list() | tuple():
            return [_jsonable(v) for v in value]
        case bytes():
            raise InvalidValueError(
                "Structs and maps are given as JSON, which holds no bytes, but one has "
                f"{brief(value)}. Select them as a column of their own, or as text: BASE64(x)."
            )
        case decimal.Decimal():
            is_whole = value.as_tuple().exponent == 0
            return int(value) if is_whole else float(value)
        case None | bool() | int() | float() | str():
            return value
        case np.datetime64():  # in a year that Python's dates lack
            return re.sub(r"\.0+$", "", str(value)).replace("T", " ")
    return str(value)
