"""Choice of the column type for an Arrow type, as listed in `ingest.tables.columns`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.types import (
    dtype_of,
    is_bytes,
    is_list,
    is_text,
    shape_of,
    unwrap,
)
from deeplake_lite.errors import SchemaError
from deeplake_lite.htypes import Array, Bytes, ClassLabel, Htype, Json, Scalar, Sequence, Text

if TYPE_CHECKING:
    from collections.abc import Iterable


def htype_of(kind: pa.DataType, *, nullable: bool = False, names: Iterable[str] = ()) -> Htype:
    """Return the htype for an Arrow type.

    Parameters
    ----------
    kind : pyarrow.DataType
        The type.
    nullable : bool
        Whether the column may contain nulls.
    names : iterable of str
        Class names, if the Arrow type is a dictionary of strings.

    Examples
    --------
    >>> htype_of(pa.list_(pa.float32(), 3)), htype_of(pa.timestamp("ms", tz="UTC"), nullable=True)
    (Array('float32', (3,)), Scalar('datetime64[ms]', nullable=True))
    """
    htype = _plain_htype(kind, tuple(names))
    if kinds.is_null(kind):
        nullable = True
    return replace(htype, nullable=nullable) if nullable else htype


def _plain_htype(kind: pa.DataType, names: tuple[str, ...]) -> Htype:
    kind = unwrap(kind)
    if isinstance(kind, pa.FixedShapeTensorType):
        return Array(str(dtype_of(kind.value_type)), shape_of(kind))
    if kinds.is_struct(kind) and len({f.name for f in kind}) < kind.num_fields:
        raise SchemaError(
            f"The field names of a struct must be unique, but the type is {kind}. Rename one of "
            "the fields."
        )
    if kinds.is_dictionary(kind):
        return ClassLabel(names) if is_text(kind.value_type) else _plain_htype(kind.value_type, ())
    if (dtype := dtype_of(kind)) is not None:
        return Scalar(dtype)
    if is_text(kind) or kinds.is_null(kind):
        return Text()
    if is_bytes(kind):
        return Bytes()
    if is_list(kind):
        return _list_htype(kind)
    if kinds.is_nested(kind):  # a struct, map or union
        return Json()
    raise SchemaError(
        f"There is no column type for Arrow's type {kind}. Cast the column to another type."
    )


def _list_htype(kind: pa.DataType) -> Htype:
    """Return the htype for lists: arrays for numbers, sequences for other items."""
    shape, item = [], kind
    while kinds.is_fixed_size_list(item):
        shape.append(item.list_size)
        item = unwrap(item.value_type)
    if shape and dtype_of(item) is not None and all(shape):
        return Array(str(dtype_of(item)), tuple(shape))
    item = unwrap(kind.value_type)
    if dtype_of(item) is not None:
        return Array(str(dtype_of(item)), (None,))
    if kinds.is_dictionary(item):
        item = item.value_type
    return Sequence(replace(_plain_htype(item, ()), nullable=True))
