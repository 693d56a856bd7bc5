"""Determine the kinds of values, and properties of kinds."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np

from deeplake_lite.query.values import (
    ANY,
    BOOL,
    BYTES,
    CLOCK,
    HALF,
    JSON,
    NUMBER,
    REAL,
    TEXT,
    TIME,
    Call,
    Choice,
    Constant,
    Kind,
    Meta,
    Sql,
    Tensor,
    Tree,
    Value,
)
from deeplake_lite.schema import Field


def kind_of(value: Value, *, plain: bool = False) -> Kind:
    """Return the kind of a value.

    If `plain` is true, the kind does not contain the type of a column from which the value is read.
    """
    match value:
        case Sql(_, kind):
            return kind.computed if plain else kind
        case Constant(constant):
            return kind_of_constant(constant)
        case Tensor():
            if value.type.names is not None:
                return Kind("class", names=value.type.names)
            if value.type.dtype == "bool":
                return BOOL
            if hashed := _hashed_by(value.tree):
                return replace(NUMBER, hashed=hashed)
            if value.is_scalar and value.type.dtype == "float16":
                return HALF
            if value.type.is_number:
                return REAL if np.dtype(value.type.dtype).kind == "f" else NUMBER
            if not value.is_scalar:
                return ANY
            return _OF_DTYPES.get(value.type.dtype, TIME if value.type.dtype[-1] == "]" else ANY)


def _hashed_by(tree: Tree) -> str:
    """Return the value of `Kind.hashed` for a tree, which is "" unless the tree is a hash."""
    match tree:
        case Meta(what=what, field=Field(htype=htype)) if what.startswith("hash"):
            return str(htype)
        case Call(name="HASH"):
            return "values"
        case Choice(options=options):
            forms = {_hashed_by(option) for option in options}
            return forms.pop() if len(forms) == 1 else "several types" if all(forms) else ""
    return ""


_OF_DTYPES = {"str": TEXT, "bytes": BYTES, "object": JSON}
"""Maps dtypes of scalars that are neither numbers nor times to kinds."""


def kind_of_constant(value: object) -> Kind:
    """Return the kind of a Python or NumPy value."""
    match value:
        case bool():
            return BOOL
        case int():
            return NUMBER
        case float():
            return REAL if np.isnan(value) else NUMBER
        case str():
            return TEXT
        case bytes():
            return BYTES
        case dict():
            return JSON
        case dt.time():
            return CLOCK
        case dt.date() | dt.timedelta() | np.datetime64():
            return TIME
        case _:
            return ANY


def kind_of_two(left: Value, right: Value) -> Kind:
    """Return the kind of the result of an arithmetic operation on two values."""
    kinds = (kind_of(left), kind_of(right))
    if any(k.name == "time" for k in kinds):
        return TIME
    return REAL if any(k.real for k in kinds) else NUMBER


def has_axes(value: Value) -> bool:
    """Return whether a value is a tensor with axes, or a constant list or array."""
    if isinstance(value, Tensor):
        return not value.is_scalar
    return isinstance(value, Constant) and isinstance(value.value, np.ndarray | list)


def needs_numpy(value: Value) -> bool:
    """Return whether NumPy must compute with a value, because it has axes or is complex."""
    if isinstance(value, Tensor) and value.type.is_number and value.type.dtype[0] == "c":
        return True
    if isinstance(value, Constant) and isinstance(value.value, complex):
        return True
    return has_axes(value)


def unit_of_months(kind: Kind) -> str:
    """Return "Y" or "M" for durations in years or months, and "" for other kinds.

    >>> from deeplake_lite.htypes import Scalar
    >>> unit_of_months(Kind("time", htype=Scalar("timedelta64[M]"))), unit_of_months(TIME)
    ('M', '')
    """
    dtype = kind.time_dtype
    unit = np.datetime_data(dtype)[0] if dtype.startswith("timedelta64") else ""
    return unit if unit in ("Y", "M") else ""


WORDS = {
    "number": "a number", "bool": "a boolean", "text": "a string", "class": "a class",
    "bytes": "bytes", "json": "JSON", "time": "a time", "list": "a list", "tensor": "a tensor",
}  # fmt: skip
"""Maps the names of kinds to words for them in messages."""


def is_null_constant(value: Value) -> bool:
    """Return whether a value is the constant NULL."""
    return isinstance(value, Constant) and value.value is None


def lists_json(kind: Kind) -> bool:
    """Return whether values of a kind are lists of JSON."""
    return kind.item is not None and kind.item.name == "json"


def lists_structs(kind: Kind) -> bool:
    """Return whether values of a kind are structs or maps, or lists of these at any depth."""
    while kind.name == "list" and kind.item is not None:
        kind = kind.item
    return bool(kind.parts)


def is_json(value: Value) -> bool:
    """Return whether a value is JSON."""
    return kind_of(value).name == "json"


def compares_as_json(value: Value, other: Value) -> bool:
    """Return whether two values are compared as JSON.

    This is the case if one of the values is JSON, or if both are lists or structs, and some part is
    JSON in only one of them. DuckDB would convert both values to strings.
    """
    return is_json(value) or is_json(other) or mixes_json(kind_of(value), kind_of(other))


def mixes_json(*kinds: Kind) -> bool:
    """Return whether some part is JSON in one of the kinds, and not JSON in another kind."""
    return any(kind.holds_json for kind in kinds) and len({_type_of(kind) for kind in kinds}) > 1


def _type_of(kind: Kind) -> Kind:
    """Return a kind that only has the name of a kind, and the names of its parts, at any depth."""
    item = None if kind.item is None else _type_of(kind.item)
    return Kind(kind.name, item=item, parts=tuple((n, _type_of(part)) for n, part in kind.parts))
