"""CAST: of scalars SQL's, of tensors NumPy's, by the names of types of either."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.expressions.constants import constant
from deeplake_lite.query.bind.scalars.json_values import json_text
from deeplake_lite.query.bind.scalars.kinds import as_text
from deeplake_lite.query.bind.scalars.moments import floor_to_microseconds
from deeplake_lite.query.database.spans import moment_beside
from deeplake_lite.query.parse.dialect import WRITTEN, text_of
from deeplake_lite.query.values import (
    ANY,
    BOOL,
    JSON,
    NANOSECONDS,
    NUMBER,
    REAL,
    TEXT,
    TIME,
    Constant,
    Kind,
    Sql,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def cast(low: Lowering, e: exp.Cast, scope: Scope) -> Value:
    """Return CAST: classes become their names, JSON its text; tensors are NumPy's.

    Raises
    ------
    QueryTypeError
        For a tensor as what is no number.
    """
    found = low.value(e.this, scope)
    to: exp.DataType = e.to
    if _is_list(found) and _name_of(to) is not None:  # SQL's, which it casts to lists alone
        found = low.as_tensor(found, text_of(e.this))
    if isinstance(found, Tensor) and not found.is_scalar:
        return low.call("CAST", [found], {"type": _dtype(to, found)}, e)
    is_text = to.this in exp.DataType.TEXT_TYPES
    if to.this in _MOMENTS and isinstance(found, Constant) and isinstance(found.value, str):
        moment = moment_beside(found.value, "datetime64[ns]")  # its offset, which SQL ignores
        found = found if moment is None else constant(moment)
    node = as_text(found, low, scope) if is_text else low.as_sql(found, scope)
    if to.this in _COARSE:
        node = floor_to_microseconds(node, found)
    if to.this == exp.DType.USERDEFINED:
        to = exp.DataType.build(_FLOATS.get(to.meta[WRITTEN].lower(), to))
    kind = TEXT if is_text else _kind_of_type(to)
    if isinstance(found, Sql) and found.kind.name == "json" and is_text:
        node = json_text(found.node)
    return Sql(type(e)(this=node, to=to.copy()), kind)


_MOMENTS = {
    exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.DATETIME,
    exp.DType.TIMESTAMP_S, exp.DType.TIMESTAMP_MS, exp.DType.TIMESTAMP_NS,
}  # fmt: skip
"""Types of moments without a zone."""


_COARSE = (_MOMENTS - {exp.DType.TIMESTAMP_NS}) | {exp.DType.TIME, exp.DType.TIMESTAMPTZ}
"""Types of moments, and of times of a day, in microseconds or coarser."""


def _is_list(value: Value) -> bool:
    """Tell whether a value is a list, or an array as a parameter."""
    if isinstance(value, Constant):
        return isinstance(value.value, list | np.ndarray)
    return isinstance(value, Sql) and value.kind.name == "list"


def _kind_of_type(to: exp.DataType) -> Kind:
    """Return the kind of a value of one of SQL's types."""
    if to.this in exp.DataType.REAL_TYPES:
        return REAL
    if to.this in exp.DataType.INTEGER_TYPES:
        return NUMBER
    if to.this == exp.DType.BOOLEAN:
        return BOOL
    if to.this in exp.DataType.TEXT_TYPES:
        return TEXT
    if to.this == exp.DType.JSON:
        return JSON
    if to.this in (exp.DType.ARRAY, exp.DType.LIST) and to.expressions:
        return Kind("list", item=_kind_of_type(to.expressions[0]))
    if to.this == exp.DType.TIMESTAMP_NS:
        return NANOSECONDS
    return TIME if to.this in exp.DataType.TEMPORAL_TYPES else ANY


_FLOATS = {"float16": "FLOAT", "float32": "FLOAT", "float64": "DOUBLE"}
"""NumPy's names of types that DuckDB has under others."""

_DTYPES = {
    "BOOLEAN": "bool", "TINYINT": "int8", "SMALLINT": "int16", "INT": "int32", "BIGINT": "int64",
    "UTINYINT": "uint8", "USMALLINT": "uint16", "UINT": "uint32", "UBIGINT": "uint64",
    "FLOAT": "float32", "DOUBLE": "float64",
}  # fmt: skip
"""NumPy's names of SQL's types."""


def _dtype(to: exp.DataType, tensor: Tensor) -> str:
    """Return NumPy's name of a type, written as NumPy's or as SQL's. Raises QueryTypeError."""
    name = _name_of(to)
    if name is None:
        raise QueryTypeError(
            "CAST makes numbers of a tensor, such as FLOAT or uint8, got "
            f"{to.meta[WRITTEN].upper()}: {tensor.text} is {tensor.type}. A text or a date is one "
            "value per row: take an element, or reduce it."
        )
    return name


def _name_of(to: exp.DataType) -> str | None:
    """Return NumPy's name of a type; None where NumPy has no such numbers."""
    written = to.meta[WRITTEN].lower()
    known = written in _DTYPES.values() or written == "float16"
    return written if known else _DTYPES.get(to.this.value)
