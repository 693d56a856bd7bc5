"""Constants of a query: of its text, and parameters."""

from __future__ import annotations

import datetime as dt
import decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deeplake_lite.checks import half_of_a_pair
from deeplake_lite.dataset.parameters import plain_value
from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.convert import json_document
from deeplake_lite.query.dialect import func, text_of
from deeplake_lite.query.functions import Type
from deeplake_lite.query.values import Constant, Given, Tensor

if TYPE_CHECKING:
    from deeplake_lite.query.bind.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def constant(value: Any) -> Constant:
    """Return a parameter's value.

    Raises
    ------
    QueryTypeError
        For a value that queries do not know.
    """
    value = plain_value(value)
    match value:
        case np.ndarray():
            return Constant(value, lambda: exp.Array(expressions=[constant(v).node for v in value]))
        case list():
            parts = [constant(v) for v in value]
            nodes = [p.node for p in parts]
            return Constant([p.value for p in parts], exp.Array(expressions=nodes))
        case float() if not np.isfinite(value):
            return Constant(value, exp.cast(exp.Literal.string(str(value)), "DOUBLE"))
        case decimal.Decimal():
            return Constant(float(value), exp.Literal.number(format(value, "f")))
        case str():
            return Constant(value, exp.convert(_encodable(value)))
        case complex():
            return Constant(value, partial(_no_sql, value))
        case bytes():
            return Constant(value, func("unhex", exp.Literal.string(value.hex())))
        case dict():
            return Constant(value, exp.Literal.string(_encodable(json_document(value))))
        case np.datetime64():
            text = np.datetime_as_string(value, unit="ns").replace("T", " ")
            return Constant(value, exp.cast(exp.Literal.string(text), exp.DType.TIMESTAMP_NS))
        case dt.timedelta():
            span = f"{value // dt.timedelta(microseconds=1)} microseconds"
            return Constant(value, exp.cast(exp.Literal.string(span), "INTERVAL"))
        case dt.time():
            return Constant(value, exp.cast(exp.Literal.string(value.isoformat()), "TIME"))
    return Constant(value, exp.convert(value))


def _no_sql(value: complex) -> exp.Expr:
    """Refuse a complex number where SQL computes. Raises QueryTypeError."""
    raise QueryTypeError(
        f"SQL computes with real numbers, but this is {value!r}. Compare complex columns with it "
        "by = or <>."
    )


def _encodable(text: str) -> str:
    """Return a text that UTF-8 can hold. Raises QueryTypeError for half a surrogate pair."""
    if (half := half_of_a_pair(text)) is not None:
        raise QueryTypeError(
            f"A text as a parameter is Unicode, but {text!a:.60} has half a surrogate pair at "
            f"position {half}. Decode it with errors='replace'."
        )
    return text


def as_array(value: Any) -> tuple[Any, Type]:
    """Return a constant as NumPy's, and its type."""
    if isinstance(value, str) or value is None:
        return value, Type("str")
    if isinstance(value, bytes | dict):
        return value, Type("bytes" if isinstance(value, bytes) else "object")
    if isinstance(value, list) and any(isinstance(v, bytes | dict | None) for v in value):
        return value, Type("bytes" if isinstance(value[0], bytes) else "object").listed()
    try:
        array = np.asarray(value)
    except ValueError:
        return value, Type("object").listed()
    if array.dtype == object and array.ndim:  # dates, and what else is no number
        return value, Type("object").listed()
    if array.dtype.kind == "U":
        return value, Type("str", array.shape)
    return array, Type(array.dtype.name, array.shape)


def null_tensor(type_: Type, text: str) -> Tensor:
    """Return a tensor that is null in all rows."""
    nothing = exp.cast(exp.null(), "BIGINT")
    return Tensor(Given("g_NULL", type_), {"g_NULL": nothing}, text)


def option(low: Lowering, part: exp.Expr, scope: Scope) -> Any:
    """Return the value of a constant argument; lists are tuples. Raises QueryTypeError."""
    value = low.value(part, scope)
    if isinstance(value, Constant):
        return tuple(value.value) if isinstance(value.value, list) else value.value
    parts = part.expressions if isinstance(part, exp.Tuple) else ()
    if parts:
        return tuple(option(low, p, scope) for p in parts)
    raise QueryTypeError(f"An option is a constant, got {text_of(part)}.")
