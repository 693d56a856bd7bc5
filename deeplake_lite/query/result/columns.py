"""The columns of a result. DuckDB has computed them, or NumPy computes them on access."""

from __future__ import annotations

import decimal
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
from deeplake_lite.dataset.read.virtual import NO_METADATA
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
from deeplake_lite.query.database.convert import GroupRows, concat_chunks, to_masked
from deeplake_lite.query.database.json_keys import read_json
from deeplake_lite.query.database.times import check_result, durations_of
from deeplake_lite.query.result.json_parts import parse_within
from deeplake_lite.query.result.types import htype_of_arrow, htype_of_tree
from deeplake_lite.query.tensors import evaluate
from deeplake_lite.storage.digests import NULL_DIGEST, digests_of, row_digests

if TYPE_CHECKING:
    from collections.abc import Buffer, Callable, Mapping
    from typing import Self

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.query.functions.value_type import Block
    from deeplake_lite.query.values import Kind, Tensor

type Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SqlColumn:
    """A column of scalars or lists that DuckDB has computed."""

    array: pa.Array
    htype: Htype
    locate: Callable[[LakeError], None]
    """A function that makes an error point to the expression of the column."""
    adds_up: bool = False
    """Whether the query has aggregates. If so, floats may depend on the order of additions."""
    computed = False
    metadata = NO_METADATA

    @classmethod
    def of(
        cls,
        column: pa.ChunkedArray,
        kind: Kind,
        locate: Callable[[LakeError], None],
        *,
        adds_up: bool = False,
    ) -> Self:
        """Return a column of DuckDB's result as a column of the query's result.

        `kind` is the kind of the values.
        """
        try:
            whole = concat_chunks(column)
            check_result(whole)
            array = to_storable(whole)
        except QueryTypeError as error:
            locate(error)
            raise
        return cls(array, htype_of_arrow(array, kind), locate, adds_up)

    def read(self, rows: Rows) -> Cells:
        """Return the cells of the given rows."""
        is_whole = len(rows) == len(self.array) and bool((np.diff(rows) == 1).all())
        array = self.array if is_whole else self.array.take(numbers_of(rows))
        try:
            return self.htype.encode(to_values(array, self.htype))
        except InvalidValueError as error:  # such as a struct with NaN, which JSON does not allow
            self.locate(error)
            raise

    def marks(self, rows: Rows) -> list[NDArray[np.uint64]]:
        """Return digests of the values, which are the same each time the query runs."""
        return [digests_of(self.htype.layout, _reproducible(self.read(rows), adds_up=self.adds_up))]


def _reproducible(cells: Cells, *, adds_up: bool) -> Cells:
    """Return cells without the digits of floats that may differ from run to run.

    If `adds_up` is true, floats become 0, because sums depend on the order in which threads finish.
    Otherwise, floats are rounded to float32, because machines may differ in the last bits.
    """
    if isinstance(cells, NestedCells):
        return replace(cells, items=_reproducible(cells.items, adds_up=adds_up))
    if isinstance(cells, DenseCells) and cells.values.dtype.kind == "f":
        return replace(cells, values=_reproducible_floats(cells.values, adds_up=adds_up))
    return cells


def _reproducible_floats(values: NDArray[Any], *, adds_up: bool) -> NDArray[Any]:
    with np.errstate(over="ignore"):
        return np.zeros_like(values) if adds_up else values.astype(np.float32)


@dataclass(frozen=True, eq=False)
class ComputedColumn:
    """A column whose values NumPy computes from a tree on access."""

    tensor: Tensor
    env: Mapping[str, Any]
    """Maps each key of the tree to an array with one entry for each row of the result."""
    locate: Callable[[LakeError, str], None]
    """A function that makes an error point to an expression. This is the expression that the
    message quotes, or else the given expression."""
    adds_up: bool = False
    """Whether the query has aggregates; see `SqlColumn`."""
    computed = True
    metadata = NO_METADATA

    @property
    def htype(self) -> Htype:
        """Htype of the column. Raises QueryTypeError if the values are too large for a column."""
        try:
            return htype_of_tree(self.tensor.tree)
        except SchemaError as error:
            query_error = QueryTypeError(*error.args)
            self.locate(query_error, self.tensor.text)
            raise query_error from error

    def read(self, rows: Rows) -> Cells:
        """Compute and return the cells of the given rows."""
        try:
            return self._compute(rows)
        except (QueryError, InvalidValueError) as error:
            self.locate(error, self.tensor.text)
            raise

    def marks(self, rows: Rows) -> list[NDArray[np.uint64]]:
        """Return digests of the inputs of the tree, which are row positions, groups and scalars."""
        return [self._marks(np.ma.asarray(values[rows])) for values in self.env.values()]

    def _marks(self, values: np.ma.MaskedArray[Any, Any]) -> NDArray[np.uint64]:
        data = np.ma.getdata(values)
        if data.dtype.kind == "f":
            data = _reproducible_floats(data, adds_up=self.adds_up)
        digests = _object_digests(data) if data.dtype.hasobject else row_digests(data)
        digests[np.ma.getmaskarray(values)] = NULL_DIGEST
        return digests

    def _compute(self, rows: Rows) -> Cells:
        env = {key: values[rows] for key, values in self.env.items()}
        values = evaluate.evaluate(self.tensor.tree, env, len(rows))
        layout = self.htype.layout
        if isinstance(layout, Ragged) and layout.dtype not in ("bytes", "utf8", "json"):
            return _encode_unchecked(values, layout)
        return self.htype.encode(_for_htype(values))


def _object_digests(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return digests of objects, which are strings, lists or `GroupRows`."""
    parts = (str(v.digest) if isinstance(v, GroupRows) else repr(v) for v in values)
    digests = (xxhash.xxh3_64_intdigest(part.encode(errors="replace")) for part in parts)
    return np.fromiter(digests, np.uint64, len(values))


def _encode_unchecked(values: Any, layout: Ragged) -> RaggedCells:
    """Return computed arrays as cells, without the checks that values from users need."""
    arrays = [
        None if v is None else _cast_exactly(np.asarray(v), layout.dtype) for v in with_none(values)
    ]
    shapes = np.full((len(arrays), layout.ndim), -1, np.int32)
    for row, array in enumerate(arrays):
        if array is not None:
            shapes[row, : array.ndim] = array.shape
    valid = np.array([array is not None for array in arrays], bool)
    buffers: list[Buffer] = [b"" if array is None else array.tobytes() for array in arrays]
    return RaggedCells(buffers, shapes, None if valid.all() else valid)


def _cast_exactly(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return an array cast to a dtype. Raises QueryError if integers do not fit in the dtype."""
    cast = array.astype(dtype, copy=False)
    if array.dtype.kind in "iu" and not np.can_cast(array.dtype, dtype) and (cast != array).any():
        raise QueryError(
            f"The result column is {dtype}, but some {array.dtype} values do not fit in that type. "
            f"CAST the column: CAST(x AS {array.dtype})."
        )
    return cast


def _for_htype(values: Any) -> Block:
    """Return computed values in the form that `Htype.encode` accepts.

    Nulls become None, and arrays of objects become lists.
    """
    if isinstance(values, np.ndarray):
        return values
    rows = (None if v is np.ma.masked else v for v in values)
    return [v.tolist() if isinstance(v, np.ndarray) and v.dtype == object else v for v in rows]


# ---- values from DuckDB


def to_storable(array: pa.Array) -> pa.Array:
    """Return DuckDB's values with a type that columns support.

    Integers of 128 bits and decimals become int64, uint64 or float64, INTERVALs become durations in
    microseconds, and times of day become strings. Items of lists are converted in the same way.

    >>> import datetime as dt
    >>> to_storable(pa.array([[decimal.Decimal(3)], None])).to_pylist()
    [[3], None]
    >>> to_storable(pa.array([dt.time(9, 30)])).to_pylist()
    ['09:30:00']
    """
    kind = array.type
    if is_list(kind):
        items = to_storable(array.flatten())
        return array if items.type == kind.value_type else _with_items(array, items)
    if pa.types.is_decimal(kind):
        return _from_decimals(array)
    if kind == pa.month_day_nano_interval():
        return durations_of(array)
    if pa.types.is_time(kind):
        return pa.array([None if v is None else str(v) for v in array.to_pylist()], pa.string())
    return array


def _with_items(array: pa.Array, items: pa.Array) -> pa.Array:
    """Return an array of lists. The items of all lists are replaced with `items`, in this order."""
    import pyarrow.compute as pc  # takes 0.1 s, and only columns of lists need it

    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    return pa.LargeListArray.from_arrays(numbers_of(offsets), items, mask=array.is_null())


def _from_decimals(array: pa.Array) -> pa.Array:
    """Return decimals as int64 or uint64 if all values fit in that type, or else as float64.

    Raises
    ------
    QueryTypeError
        If the values are integers that none of the three types can represent exactly.
    """
    values = array.to_pylist()
    whole = array.type.scale == 0
    for type_, low, high in ((pa.int64(), -(2**63), 2**63), (pa.uint64(), 0, 2**64)):
        if whole and all(v is None or low <= v < high for v in values):
            return pa.array([None if v is None else int(v) for v in values], type_)
    if whole and (rounded := next((v for v in values if v is not None and float(v) != v), None)):
        numbers = [v for v in values if v is not None]
        raise QueryTypeError(
            "Integers in a result must fit in int64 or uint64, but a column has values from "
            f"{min(numbers)} to {max(numbers)}, and float64 would round {rounded}. CAST an operand "
            "AS DOUBLE to round the values, or AS TEXT to keep all digits."
        )
    return pa.array([None if v is None else float(v) for v in values], pa.float64())


def to_values(array: pa.Array, htype: Htype) -> Any:
    """Return Arrow values in the form that the method `encode` of an htype accepts.

    >>> from deeplake_lite.htypes import Json
    >>> to_values(pa.array(['{"a": 1}', None]), Json(nullable=True))
    [{'a': 1}, None]
    """
    if htype.scalar is not None:
        return _scalars(array, htype.scalar)
    if htype.sql == "json":
        parse = read_json if is_text(array.type) else _jsonable
        values = (parse_within(v, array.type) for v in python_values(array))
        return [None if v is None else parse(v) for v in values]
    if htype.item is not None and is_list(array.type):
        return _split(array, to_values(array.flatten(), htype.item))
    if htype.sql == "text" and not is_text(array.type):
        return [None if v is None else str(v) for v in array.to_pylist()]
    return array.to_pylist()


def _split(array: pa.Array, items: Any) -> list[Any]:
    """Return the converted items of all lists as one list per row, or None for a null list."""
    import pyarrow.compute as pc

    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths).tolist()
    rows = zip(array.is_valid().to_pylist(), [0, *ends], ends, strict=False)
    values = with_none(items)
    return [values[start:end] if valid else None for valid, start, end in rows]


def _scalars(array: pa.Array, dtype: str) -> Any:
    if pa.types.is_null(array.type):
        return [None] * len(array)
    if array.null_count and not dtype.endswith("]"):  # the nulls of times become NaT instead
        return to_masked(array)
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return numbers_in(array).astype(dtype, copy=False)  # Arrow's `to_numpy` would import pandas
    return array.to_numpy(zero_copy_only=False).astype(dtype, copy=False)


def _jsonable(value: object) -> Any:
    match value:
        case dict():
            return {str(k): _jsonable(v) for k, v in value.items()}
        case list() | tuple():
            return [_jsonable(v) for v in value]
        case bytes():
            raise InvalidValueError(
                "Structs and maps are returned as JSON, which does not support bytes, but a struct "
                f"or map contains {brief(value)}. Select the bytes as a separate column, or as a "
                "string: BASE64(x)."
            )
        case decimal.Decimal():
            is_whole = value.as_tuple().exponent == 0
            return int(value) if is_whole else float(value)
        case None | bool() | int() | float() | str():
            return value
        case np.datetime64():  # its year is one that Python's datetime does not support
            return re.sub(r"\.0+$", "", str(value)).replace("T", " ")
    return str(value)
