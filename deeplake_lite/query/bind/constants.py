"""Constants of a query: of its text, and parameters."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.dialect import text_of
from deeplake_lite.query.functions import Type
from deeplake_lite.query.values import (
    Constant,
)

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
    if isinstance(value, np.generic):
        value = value.item() if value.ndim == 0 else value
    if isinstance(value, np.ndarray):
        return Constant(value, exp.convert(value.tolist()))
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if value is None or isinstance(
        value, bool | int | float | str | dt.date | dt.datetime | dt.timedelta | list | tuple
    ):
        if isinstance(value, float) and not np.isfinite(value):
            return Constant(value, exp.cast(exp.Literal.string(str(value)), "DOUBLE"))
        return Constant(list(value) if isinstance(value, tuple) else value, exp.convert(value))
    raise QueryTypeError(
        f"A parameter is a number, a text, a truth value, a date, a list or an array, got "
        f"{type(value).__name__}."
    )


def as_array(value: Any) -> tuple[Any, Type]:
    """Return a constant as NumPy's, and its type."""
    if isinstance(value, str) or value is None:
        return value, Type("str")
    try:
        array = np.asarray(value)
    except ValueError:
        raise QueryTypeError(
            f"An array's lists are of one length at each depth, got {value!r:.80}."
        ) from None
    if array.dtype.kind == "U":
        return value, Type("str", array.shape)
    return array, Type(array.dtype.name, array.shape)


def option(low: Lowering, part: exp.Expr, scope: Scope) -> Any:
    """Return the value of a constant argument; lists are tuples. Raises QueryTypeError."""
    value = low.value(part, scope)
    if isinstance(value, Constant):
        return tuple(value.value) if isinstance(value.value, list) else value.value
    parts = part.expressions if isinstance(part, exp.Tuple) else ()
    if parts:
        return tuple(option(low, p, scope) for p in parts)
    raise QueryTypeError(f"An option is a constant, got {text_of(part)}.")
