"""From what DuckDB gave to a view: columns at rows of their sources, values, and trees.

A result that is rows and columns of one lake is a plain view of it. Any other is a view of a
virtual table, whose columns are read, or computed, when they are looked at.
"""

from __future__ import annotations

import decimal
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deeplake_lite.dataset.arrow import numbers_in
from deeplake_lite.dataset.values import with_none
from deeplake_lite.dataset.view import Lake, View
from deeplake_lite.dataset.virtual import TakenColumn, VirtualTable
from deeplake_lite.errors import QueryTypeError
from deeplake_lite.htypes import (
    Array,
    Boxes,
    Bytes,
    ClassLabel,
    Image,
    Json,
    Scalar,
    Sequence,
    Text,
)
from deeplake_lite.htypes.base import Ragged
from deeplake_lite.htypes.cells import RaggedCells
from deeplake_lite.query import evaluate
from deeplake_lite.query.convert import from_arrow
from deeplake_lite.query.values import Grouped

if TYPE_CHECKING:
    from collections.abc import Buffer, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.question import Question
    from deeplake_lite.dataset.virtual import VirtualColumn
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.query.functions import Type
    from deeplake_lite.query.plan import Output, Plan
    from deeplake_lite.query.values import Kind, Tensor

type Rows = NDArray[np.int64]

MOST_AXES = 4
"""Of computed arrays, where how many they have differs from row to row."""


@dataclass(frozen=True)
class Nowhere:
    """The place of a result that has no source: ``SELECT 1``."""

    url: str = "memory://query"


@dataclass(frozen=True, eq=False)
class HeldColumn:
    """Values that DuckDB computed."""

    array: pa.Array
    htype: Htype

    def read(self, rows: Rows) -> Cells:
        """Return the cells of some rows."""
        every = len(rows) == len(self.array) and bool((np.diff(rows) == 1).all())
        taken = self.array if every else self.array.take(pa.array(rows))
        return self.htype.encode(to_values(taken, self.htype))


@dataclass(frozen=True, eq=False)
class ComputedColumn:
    """A tree, computed when it is looked at."""

    tensor: Tensor
    env: Mapping[str, Any]
    """Per key one entry for each row of the result."""
    htype: Htype

    def read(self, rows: Rows) -> Cells:
        """Compute the cells of some rows."""
        env = {key: values[rows] for key, values in self.env.items()}
        values = evaluate.evaluate(self.tensor.tree, env, len(rows))
        layout = self.htype.layout
        if isinstance(layout, Ragged) and layout.dtype not in ("bytes", "utf8", "json"):
            return _as_they_are(values, layout)
        return self.htype.encode(plain_values(values))


def _as_they_are(values: Any, layout: Ragged) -> RaggedCells:
    """Return computed arrays without the checks of those that people hand in."""
    found = [None if v is None else np.asarray(v, layout.dtype) for v in with_none(values)]
    shapes = np.full((len(found), layout.ndim), -1, np.int32)
    for row, array in enumerate(found):
        if array is not None:
            shapes[row, : array.ndim] = array.shape
    valid = np.array([array is not None for array in found], bool)
    buffers: list[Buffer] = [b"" if array is None else array.tobytes() for array in found]
    return RaggedCells(buffers, shapes, None if valid.all() else valid)


def to_view(plan: Plan, table: pa.Table, rows: Rows, question: Question) -> View:
    """Return the result of a plan as a view.

    Parameters
    ----------
    plan : Plan
        What was run.
    table : pyarrow.Table
        What DuckDB gave.
    rows : ndarray, (n,) int64
        Which rows of it are the result, and in which order.
    question : Question
        What was asked, to ask it again.
    """
    if len(rows) != len(table) or (len(rows) and not (np.diff(rows) == 1).all()):
        table = table.take(pa.array(rows))
    same = _one_source(plan, table)
    if same is not None:
        return same
    columns = {o.name: _column(o, table) for o in plan.outputs}
    first = plan.instances[0].source.view if plan.instances else None
    lake = first._lake if first is not None else Lake(Nowhere(), {})  # type: ignore[arg-type]
    virtual = VirtualTable(
        columns,
        len(table),
        first.version if first is not None else "",
        ids=_ids(plan, table),
        uncommitted=any(bool(i.source.table.edits) for i in plan.instances),
        question=question,
    )
    names = tuple(columns)
    return View(lake, virtual, np.arange(len(table)), names, plan.text)  # type: ignore[arg-type]


def _one_source(plan: Plan, table: pa.Table) -> View | None:
    """Return the result as a view of its source, if it is rows and columns of one."""
    rows = {o.plain.row.name for o in plan.outputs if o.plain is not None}
    sources = {id(o.plain.source) for o in plan.outputs if o.plain is not None}
    if len(rows) != 1 or len(sources) != 1 or any(o.plain is None for o in plan.outputs):
        return None
    if any(o.plain.field.name != o.name for o in plan.outputs if o.plain):
        return None
    positions = _numbers(table[rows.pop()])
    if (positions < 0).any():
        return None
    assert plan.outputs[0].plain is not None
    source = plan.outputs[0].plain.source
    names = tuple(o.name for o in plan.outputs)
    return View(source.view._lake, source.table, source.at(positions), names, plan.text)


def _ids(plan: Plan, table: pa.Table) -> Rows | None:
    """Return the ids of the rows where all that is read is rows of one source."""
    if len(plan.instances) != 1:
        return None
    rows = {o.plain.row.name for o in plan.outputs if o.plain is not None}
    if len(rows) != 1:
        return None
    positions = _numbers(table[rows.pop()])
    source = plan.instances[0].source
    return source.table.ids(source.at(positions)) if (positions >= 0).all() else None


def _numbers(column: pa.ChunkedArray) -> Rows:
    """Return positions, -1 where null."""
    filled = column.fill_null(-1) if column.null_count else column  # filling imports pandas
    return np.asarray(numbers_in(filled), np.int64)


def _column(output: Output, table: pa.Table) -> VirtualColumn:
    if output.plain is not None:
        positions = _numbers(table[output.plain.row.name])
        return TakenColumn(output.plain.source.view, output.plain.field, positions)
    if output.tensor is not None:
        env = {key: from_arrow(table[node.name]) for key, node in output.tensor.env.items()}
        return ComputedColumn(output.tensor, env, htype_of_tree(output.tensor.tree))
    assert output.column is not None
    assert output.kind is not None
    array = table[output.column].combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    array = _settled(array)
    return HeldColumn(array, htype_of_arrow(array, output.kind))


# ---- types


def htype_of_tree(tree: Any) -> Htype:
    """Return the type of a computed column."""
    if isinstance(tree, Grouped) and tree.aggregate == "LIST":
        return Sequence(htype_of_tree(tree.inner))
    return htype_of_type(tree.type)


def htype_of_type(type_: Type) -> Htype:
    """Return the type of a column of computed values."""
    meaning = type_.meaning
    if type_.shape is None and isinstance(meaning, Image) and type_.dtype == "uint8":
        return Image("raw", nullable=True)
    shape = (None,) * MOST_AXES if type_.shape is None else tuple(n or None for n in type_.shape)
    if isinstance(meaning, Boxes) and shape[1:] == (4,) and type_.dtype == "float32":
        return Boxes(meaning.format, meaning.units, nullable=True)
    if isinstance(meaning, ClassLabel) and len(shape) <= 1:
        return ClassLabel(list(meaning.names), multiple=len(shape) == 1, nullable=True)
    if isinstance(meaning, Image) and len(shape) == 3 and type_.dtype == "uint8":
        return Image("raw", nullable=True)
    if type_.dtype == "str":
        return Sequence(Text(), nullable=True) if shape else Text(nullable=True)
    if type_.dtype == "object":
        return Json(nullable=True)
    if not shape:
        return Scalar(type_.dtype, nullable=True)
    return Array(type_.dtype, tuple(n or None for n in shape), nullable=True)


def htype_of_arrow(array: pa.Array, kind: Kind) -> Htype:
    """Return the type of a column of values that DuckDB computed."""
    is_class = kind.name == "class" or (kind.name == "list" and kind.names)
    if kind.name == "list" or pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        values = array.flatten()
        if is_class:
            return Sequence(ClassLabel(list(kind.names), nullable=True), nullable=True)
        return Sequence(_scalar_type(values.type, kind), nullable=True)
    if is_class and pa.types.is_integer(array.type):
        return ClassLabel(list(kind.names), nullable=bool(array.null_count))
    return _scalar_type(array.type, kind, nullable=bool(array.null_count))


def _scalar_type(type_: pa.DataType, kind: Kind, *, nullable: bool = True) -> Htype:
    if kind.name == "json" and (pa.types.is_string(type_) or pa.types.is_large_string(type_)):
        return Json(nullable=True)  # JSON's own null, too
    if (
        pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
        or pa.types.is_string_view(type_)
    ):
        return Text(nullable=nullable)
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return Bytes(nullable=nullable)
    if pa.types.is_timestamp(type_):
        return Scalar(f"datetime64[{type_.unit}]", nullable=nullable)
    if pa.types.is_date(type_):
        return Scalar("datetime64[D]", nullable=nullable)
    if pa.types.is_duration(type_):
        return Scalar(f"timedelta64[{type_.unit}]", nullable=nullable)
    if pa.types.is_null(type_):
        return Scalar("int32", nullable=True)
    if pa.types.is_struct(type_) or pa.types.is_map(type_) or pa.types.is_nested(type_):
        return Json(nullable=nullable)
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_):
        return Scalar(np.dtype(type_.to_pandas_dtype()).name, nullable=nullable)
    return Text(nullable=nullable)


def _settled(array: pa.Array) -> pa.Array:
    """Return wide integers and decimals as int64 or float64."""
    if array.type == pa.month_day_nano_interval():
        spans = [None if v is None else _microseconds(v) for v in array.to_pylist()]
        return pa.array(spans, pa.duration("us"))
    if not pa.types.is_decimal(array.type):
        return array
    values = array.to_pylist()
    whole = array.type.scale == 0
    if whole and all(v is None or -(2**63) <= v < 2**63 for v in values):
        return pa.array([None if v is None else int(v) for v in values], pa.int64())
    return pa.array([None if v is None else float(v) for v in values], pa.float64())


def _microseconds(span: Any) -> int:
    """Return the length of a span of time; a month has 30 days, as in DuckDB's comparisons."""
    days = 30 * span.months + span.days
    return int(days * 86_400_000_000 + span.nanoseconds // 1000)


def to_values(array: pa.Array, htype: Htype) -> Any:
    """Return Arrow values as what the type takes."""
    type_ = array.type
    if isinstance(htype, Json):
        texts = pa.types.is_string(type_) or pa.types.is_large_string(type_)
        return [
            None if v is None else (json.loads(v) if texts else _jsonable(v))
            for v in array.to_pylist()
        ]
    if isinstance(htype, Scalar) and not array.null_count:
        if pa.types.is_null(type_):
            return [None] * len(array)
        values = array.to_numpy(zero_copy_only=False)
        return values.astype(htype.dtype) if values.dtype != htype.dtype else values
    if isinstance(htype, Scalar) and not pa.types.is_null(type_):
        null = array.is_null().to_numpy(zero_copy_only=False)
        if htype.dtype.endswith("]"):
            return array.to_numpy(zero_copy_only=False).astype(htype.dtype)
        filler = pa.scalar(False if pa.types.is_boolean(type_) else 0, type_)
        return np.ma.MaskedArray(array.fill_null(filler).to_numpy(zero_copy_only=False), null)
    if isinstance(htype, Text) and not (
        pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
        or pa.types.is_string_view(type_)
    ):
        return [None if v is None else str(v) for v in array.to_pylist()]
    return array.to_pylist()


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(v) for v in value]
    if isinstance(value, decimal.Decimal):
        return float(value)
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def plain_values(values: Any) -> Any:
    """Return computed values as an htype takes them."""
    if isinstance(values, np.ndarray):
        return values
    rows: list[Any] = [None if v is np.ma.masked else v for v in values]
    return [v.tolist() if _holds_objects(v) else v for v in rows]


def _holds_objects(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "O"


__all__ = ["ComputedColumn", "HeldColumn", "QueryTypeError", "to_view"]
