"""Determine the htypes of the columns of a result that NumPy or DuckDB computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from deeplake_lite.dataset.arrow.types import dtype_of, is_bytes, is_list, is_text
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
from deeplake_lite.query.functions.value_type import Truths
from deeplake_lite.query.result.json_parts import is_json
from deeplake_lite.query.values import Grouped

if TYPE_CHECKING:
    from deeplake_lite.htypes import Htype
    from deeplake_lite.query.functions import Type
    from deeplake_lite.query.functions.value_type import Shape
    from deeplake_lite.query.values import Kind, Tree


def htype_of_tree(tree: Tree) -> Htype:
    """Return the htype of a column that a tree computes."""
    if isinstance(tree, Grouped) and tree.aggregate == "LIST":
        return Sequence(htype_of_tree(tree.inner), nullable=True)
    return htype_of_type(tree.type)


def htype_of_type(type_: Type) -> Htype:
    """Return the htype of a column of computed values, given their type.

    >>> from deeplake_lite.query.functions import Type
    >>> htype_of_type(Type("float32", (None, 4))), htype_of_type(Type("str"))
    (Array('float32', (None, 4), nullable=True), Text(nullable=True))
    """
    if type_.items is not None:
        whole = type_.items.htype
        of = type_.items.of
        return Sequence(htype_of_type(of), nullable=True) if whole is None else whole.computed()
    if type_.dtype == "bytes":
        return Bytes(nullable=True)
    if isinstance(type_.meaning, Truths):
        item: Htype = Scalar("bool", nullable=True)
        for _ in type_.shape or ():
            item = Sequence(item, nullable=True)
        return item
    shape = None if type_.shape is None else tuple(n or None for n in type_.shape)
    if type_.list_of is not None:
        return Sequence(htype_of_type(type_.list_of), nullable=True)
    if (htype := _with_meaning(type_, shape)) is not None:
        return htype
    if type_.dtype == "str":
        return Text(nullable=True) if shape == () else Sequence(Text(), nullable=True)
    if type_.dtype == "object":
        return Json(nullable=True)
    if shape == ():
        return Scalar(type_.dtype, nullable=True)
    return Array(type_.dtype, shape, nullable=True)


def _with_meaning(type_: Type, shape: Shape | None) -> Htype | None:
    """Return the htype of images, boxes or classes, or None for values of other types."""
    boxes, classes = type_.boxes, type_.classes
    if type_.is_image and type_.dtype == "uint8" and (shape is None or len(shape) == 3):
        return Image("raw", nullable=True)
    if shape is None:
        return None
    if boxes is not None and type_.dtype == "float32" and shape[1:] == (4,):
        return Boxes(boxes.format, boxes.units, nullable=True)
    if classes is not None and len(shape) <= 1:
        return ClassLabel(list(classes.names), multiple=len(shape) == 1, nullable=True)
    return None


def htype_of_arrow(array: pa.Array, kind: Kind) -> Htype:
    """Return the htype of a column that DuckDB has computed, given the kind of the values.

    >>> from deeplake_lite.query.values import ANY, Kind
    >>> htype_of_arrow(pa.array([1, None]), ANY)
    Scalar('int64', nullable=True)
    >>> htype_of_arrow(pa.array([1]), Kind("class", names=("cat", "dog")))
    ClassLabel(['cat', 'dog'])
    """
    names, nullable = list(kind.names), bool(array.null_count)
    if (unchanged := _unchanged(array.type, kind)) is not None:
        return Scalar(unchanged, nullable=nullable)
    if is_list(array.type):
        item = array.type.value_type
        if is_json(array.type.value_field):
            return Sequence(Json(nullable=True), nullable=True)
        if is_list(item):
            nested = htype_of_arrow(pa.array([], item), kind.item_kind)
            return Sequence(nested, nullable=True)
        inner = _item(item, kind)
        return Sequence(ClassLabel(names, nullable=True) if names else inner, nullable=True)
    if kind.name == "class" and pa.types.is_integer(array.type):
        return ClassLabel(names, nullable=nullable)
    return _scalar(array.type, kind, nullable=nullable)


def _item(type_: pa.DataType, kind: Kind) -> Htype:
    """Return the htype of the items of lists, given their Arrow type and the kind of the lists."""
    unchanged = None if kind.item is None else _unchanged(type_, kind.item)
    if unchanged is not None:
        return Scalar(unchanged, nullable=True)
    return _scalar(type_, kind.item_kind, nullable=True)


def _unchanged(type_: pa.DataType, kind: Kind) -> str | None:
    """Return the dtype of the column from which values are unchanged, if DuckDB's dtype differs.

    DuckDB has no float16, and has other units of times. Returns None if the dtypes are the same, or
    if the values are computed.
    """
    dtype, sql_dtype = kind.column_dtype, dtype_of(type_)
    if not dtype or sql_dtype is None or sql_dtype == dtype:
        return None
    if dtype == "float16":
        return dtype if sql_dtype == "float32" else None
    if not dtype.endswith("]"):
        return None
    is_count = sql_dtype == "int64" and dtype.startswith("timedelta64")
    return dtype if is_count or sql_dtype.split("[")[0] == dtype.split("[")[0] else None


def _scalar(type_: pa.DataType, kind: Kind, *, nullable: bool) -> Htype:
    """Return the htype of values of an Arrow type other than a list."""
    if kind.name == "json" and is_text(type_):
        return Json(nullable=True)  # nullable, because a document may be a JSON null
    if pa.types.is_null(type_):
        return Scalar("int32", nullable=True)
    if (dtype := dtype_of(type_)) is not None:
        return Scalar(dtype, nullable=nullable)
    if is_bytes(type_):
        return Bytes(nullable=nullable)
    return Json(nullable=nullable) if pa.types.is_nested(type_) else Text(nullable=nullable)
