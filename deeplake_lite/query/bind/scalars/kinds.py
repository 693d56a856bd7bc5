"""Kinds of scalars, and the forms in which two of them compare or share a column."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError, QueryTypeError
from deeplake_lite.query.bind.expressions.constants import constant, items_of
from deeplake_lite.query.bind.scalars import beside_floats
from deeplake_lite.query.bind.scalars.exact import parse_fraction, parse_number
from deeplake_lite.query.bind.scalars.json_values import json_key, json_order, json_text
from deeplake_lite.query.database.convert import json_document
from deeplake_lite.query.database.times import (
    check_microseconds,
    exact_timestamp,
    has_odd_zone,
    may_be_timestamp,
)
from deeplake_lite.query.parse.dialect import ITEM, as_list, each, func
from deeplake_lite.query.values import (
    ANY,
    BOOL,
    BYTES,
    JSON,
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
    from collections.abc import Iterable

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def kind_of(value: Value, *, plain: bool = False) -> Kind:
    """Return the kind of a scalar.

    With `plain`, the kind is that of a computed value, without the type of its column.
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
            if value.type.is_number:
                return REAL if np.dtype(value.type.dtype).kind == "f" else NUMBER
            if not value.is_scalar:
                return ANY
            return _OF_DTYPES.get(value.type.dtype, TIME if value.type.dtype[-1] == "]" else ANY)


_OF_DTYPES = {"str": TEXT, "bytes": BYTES, "object": JSON}
"""Kinds of scalars that are not numbers, by the dtype of a tensor."""


def kind_of_constant(value: Any) -> Kind:
    """Return the kind of a constant's value."""
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
        case dt.date() | dt.time() | dt.timedelta() | np.datetime64():
            return TIME
        case _:
            return ANY


def kind_of_two(left: Value, right: Value) -> Kind:
    """Return the kind of an arithmetic operation on two values."""
    kinds = (kind_of(left), kind_of(right))
    if any(k.name == "time" for k in kinds):
        return TIME
    return REAL if any(k.real for k in kinds) else NUMBER


def has_axes(value: Value) -> bool:
    """Return whether a value is a tensor with axes."""
    if isinstance(value, Tensor):
        return not value.is_scalar
    return isinstance(value, Constant) and isinstance(value.value, np.ndarray | list)


def is_numpys(value: Value) -> bool:
    """Return whether NumPy must compute with a value: it has axes or is a complex number."""
    if isinstance(value, Tensor) and value.type.is_number and value.type.dtype[0] == "c":
        return True
    if isinstance(value, Constant) and isinstance(value.value, complex):
        return True
    return has_axes(value)


def agree(value: Value, other: Value) -> Value:
    """Return a value in the form in which it compares with `other`.

    Constant strings become class numbers, times or numbers if the other value is one. Classes
    become their names if the other value is a string, or a class with other names.

    Raises
    ------
    QueryTypeError
        When the values do not compare, or a string is not the name of a class.
    """
    mine, theirs = kind_of(value), kind_of(other)
    check_bytes(value, other)
    _check_text(value, other)
    _check_text(other, value)
    if isinstance(value, Constant) and isinstance(value.value, dict):
        if theirs.name not in ("json", "any"):
            raise QueryTypeError(
                f"A dict compares only with JSON, but {_described(value)} is compared with "
                f"{WORDS[theirs.name]}."
            )
        return value
    if theirs.name == "class" and isinstance(value, Constant) and isinstance(value.value, str):
        return constant(class_number(value.value, theirs))
    if theirs.name == "time" and isinstance(value, Constant) and isinstance(value.value, str):
        dtype = theirs.time_dtype
        moment = exact_timestamp(value.value, dtype)
        if moment is None and (dtype.startswith("datetime64") or has_odd_zone(value.value)):
            _check_moment(value.value)
        elif moment is None:
            check_microseconds(value.value)
        return value if moment is None else constant(moment)
    if theirs.name == "number" and isinstance(value, Constant) and isinstance(value.value, str):
        return parse_number(value)
    check_pair(value, mine, theirs)
    is_other_list = theirs.name == "list" and mine.names != theirs.names
    if mine.name == "list" and (is_other_list or _lists_strings(other)):
        return by_name(value)
    if not isinstance(value, Sql):
        return value
    if mine.name == "class" and theirs.name == "class" and mine.names != theirs.names:
        return Sql(class_name(value.node, mine.names), TEXT)
    if mine.name == "class" and theirs.name == "text" and not isinstance(other, Constant):
        return Sql(class_name(value.node, mine.names), TEXT)
    return value


def _lists_strings(value: Value) -> bool:
    """Return whether a value is a constant list that has strings, perhaps in lists within it."""
    if not isinstance(value, Constant) or not isinstance(value.value, list | np.ndarray):
        return False
    return any(isinstance(v.value, str) or _lists_strings(v) for v in items_of(value))


def _check_moment(text: str) -> None:
    """Reject a string that is compared with times but is not a time. Raises QueryTypeError."""
    if not may_be_timestamp(text):
        raise QueryTypeError(
            "A string compared with times must be a time, such as '2026-01-31' or "
            f"'2026-01-31T12:00:00', but it is {text!r:.60}."
        )


def parse_fractions(values: list[Value]) -> list[Value]:
    """Apply `parse_fraction` to values that are combined, if one of them is a number."""
    if not any(kind_of(v).name == "number" for v in values):
        return values
    return [parse_fraction(v) for v in values]


def check_bytes(value: Value, other: Value) -> None:
    """Reject bytes on either side, unless both sides are bytes. Raises QueryTypeError."""
    for side, beside in ((value, other), (other, value)):
        theirs = kind_of(beside).name
        if kind_of(side).name == "bytes" and theirs not in ("bytes", "any"):
            raise QueryTypeError(
                f"{_described(side)} holds bytes, which can be combined only with bytes, but the "
                f"other side is {WORDS[theirs]}. Pass bytes as a parameter, or write "
                "ENCODE('text')."
            )


def check_column(values: Iterable[Value]) -> None:
    """Reject values that no column or list can hold together.

    Raises
    ------
    QueryTypeError
        For bytes mixed with anything else, and for classes mixed with numbers.
    """
    of_kinds = {kind_of(value): value for value in values if not is_null_constant(value)}
    for (mine, value), (theirs, other) in combinations(of_kinds.items(), 2):
        check_bytes(value, other)
        check_classes(mine, theirs)
        check_pair(value, mine, theirs)


def check_classes(*kinds: Kind) -> None:
    """Reject classes mixed with numbers in one column. Raises QueryTypeError."""
    names = {kind.name for kind in kinds}
    if "class" in names and names & {"number", "bool", "time"}:
        raise QueryTypeError(
            "A column cannot hold both classes and numbers, since a number would have two "
            "meanings. Use the numbers of the classes, CAST(label AS BIGINT), or the strings of "
            "both, NAME(label) and CAST(x AS TEXT)."
        )


def _check_text(value: Value, other: Value) -> None:
    """Reject a string that is not constant if it is compared with a number, time or boolean.

    DuckDB would convert it to the type of the other side and might round it.
    """
    theirs = kind_of(other).name
    if isinstance(value, Constant) or kind_of(value).name != "text" or theirs not in _NOT_TEXT:
        return
    raise QueryTypeError(
        f"{_described(value)} is a string, which compares only with strings, but the other side "
        f"is {WORDS[theirs]}. CAST one of them: CAST(x AS TEXT), or CAST(x AS "
        f"{_NOT_TEXT[theirs]})."
    )


_NOT_TEXT = {"number": "DOUBLE", "time": "TIMESTAMP", "bool": "BOOLEAN"}
"""Kinds that do not compare with strings, and the type to which messages suggest a CAST."""

WITHOUT_NAMES = (
    "Classes with names cannot be combined with classes without names, whose numbers may have "
    "other meanings. Declare the names in both lakes, or cast the numbers: CAST(x AS TEXT)."
)
"""Message for classes with names mixed with classes without names."""


def check_pair(value: Value, mine: Kind, theirs: Kind) -> None:
    """Reject two values that neither compare nor share a column.

    Parameters
    ----------
    value : Value
        One of them, for messages.
    mine : Kind
        Its kind.
    theirs : Kind
        Kind of the other value.

    Raises
    ------
    QueryTypeError
        For example, for months mixed with days, or for lists of strings and of numbers.
    """
    if mine.name == theirs.name == "class" and bool(mine.names) != bool(theirs.names):
        raise QueryTypeError(WITHOUT_NAMES)
    if {mine.name, theirs.name} == {"class", "bool"} and len(mine.names + theirs.names) not in (
        0,
        2,
    ):
        other = "a boolean" if mine.name == "class" else "a class"
        raise QueryTypeError(
            f"{_described(value)} is compared with {other}, but only one of two classes can be "
            "true or false. Compare classes with their names, or with their numbers, which start "
            "at 0."
        )
    for pair in _parts_of_both(mine, theirs):
        _check_parts(*pair)
    items = [kind.item.name for kind in (mine, theirs) if kind.item is not None]
    if len(items) == 2 and (items[0] == "json") != (items[1] == "json") and "any" not in items:
        raise QueryTypeError(
            "Lists of JSON can be combined only with lists of JSON, but the other list holds "
            "values of another kind. Convert those to JSON: [TO_JSON(x)]."
        )
    units = [unit_of_months(kind) for kind in (mine, theirs)]
    known = mine.htype is not None and theirs.htype is not None
    if units[0] != units[1] and mine.name == theirs.name == "time" and known:
        raise QueryTypeError(
            "Months and years can be combined only with durations in the same unit, but "
            f"{_described(value)} is combined with a time in another unit. Use one unit for both, "
            "or compare counts: CAST(x AS BIGINT)."
        )


def _parts_of_both(mine: Kind, theirs: Kind) -> list[tuple[Kind, Kind]]:
    """Return the pairs of kinds that two lists, or two structs, have in the same place."""
    if mine.name == theirs.name == "list":
        return [(mine.of_item, theirs.of_item)]
    if not mine.parts or not theirs.parts:
        return []
    named = dict(theirs.parts)
    if all(name and name in named for name, _ in mine.parts):
        return [(part, named[name]) for name, part in mine.parts]
    return [(a, b) for (_, a), (_, b) in zip(mine.parts, theirs.parts, strict=False)]


def _check_parts(mine: Kind, theirs: Kind) -> None:
    """Reject parts of lists or structs that do not compare, nor do their own parts.

    DuckDB would convert both parts to strings, or integers to floats.

    Raises
    ------
    QueryTypeError
        For such parts.
    """
    for one, other in ((mine, theirs), (theirs, mine)):
        is_text = one.name in ("text", "class")
        if (is_text and other.name in _NOT_TEXT) or (
            one.name == "bytes" and other.name not in ("bytes", "any")
        ):
            raise QueryTypeError(
                f"Lists and structs compare part by part, but a part is {WORDS[one.name]} on one "
                f"side and {WORDS[other.name]} on the other. CAST the part, as in [CAST(x AS "
                "TEXT)]."
            )
    if beside_floats.are_mixed(mine, theirs):
        raise QueryTypeError(
            "Lists and structs compare part by part, but SQL would round the integers of one to "
            "compare them with the floats of the other. CAST the part, as in [CAST(x AS DOUBLE)]."
        )
    for pair in _parts_of_both(mine, theirs):
        _check_parts(*pair)


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
"""Kinds of values as messages call them."""


def _described(value: Value) -> str:
    """Return a value as messages name it: by its column, or as a constant."""
    if isinstance(value, Constant):
        return f"{brief(value.value)}"
    plain = value.plain
    return "A value" if plain is None else f"{plain.field.name} ({plain.field.htype})"


def class_number(name: str, kind: Kind) -> int:
    """Return the number of the class `name`. Raises QueryTypeError with the closest names."""
    from deeplake_lite.htypes import ClassLabel

    try:
        return ClassLabel(list(kind.names)).index(name)
    except InvalidValueError as error:
        raise QueryTypeError(f"A class {error.args[0]}") from error


def settled(value: Value, low: Lowering, scope: Scope) -> Value:
    """Return a scalar that NumPy computes as SQL, so that it is converted like other scalars."""
    if isinstance(value, Tensor) and not is_numpys(value):
        return Sql(low.as_sql(value, scope), kind_of(value))
    return value


def as_text(value: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return a scalar as SQL, with classes as their names and JSON as strings."""
    value = settled(value, low, scope)
    if isinstance(value, Sql) and value.kind.name == "class":
        return class_name(value.node, value.kind.names)
    if isinstance(value, Sql) and value.kind.name == "list":
        return low.as_sql(as_part(value), scope)
    if isinstance(value, Sql) and value.kind.name == "json":
        return json_text(value.node)
    return low.as_sql(value, scope)


def as_json(value: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return a scalar as a JSON document, with classes as their names."""
    if isinstance(value, Constant) and isinstance(value.value, list | np.ndarray | dict):
        return exp.Literal.string(json_document(_full_value(value)))
    if isinstance(value, Constant) and (whole := _whole(value)) is not None:
        return exp.Literal.string(format(whole, "f"))  # also if it exceeds SQL's integers
    node = low.as_sql(value, scope)
    if is_json(value):
        return node
    if kind_of(value).names:
        node = as_text(value, low, scope)
    is_null = exp.Is(this=node.copy(), expression=exp.null())
    text = exp.cast(func("to_json", node), "VARCHAR")
    return exp.Case(ifs=[exp.If(this=exp.not_(is_null), true=text)])


_DIGITS = 40
"""Maximum number of digits of a whole number; larger ones written with a point are floats."""


def _full_value(value: Constant) -> Any:
    """Return the value of a constant, with all digits of its whole numbers."""
    if value.items:
        return [_full_value(item) for item in value.items]
    if (whole := _whole(value)) is not None:
        return int(whole)
    return value.value.tolist() if isinstance(value.value, np.ndarray) else value.value


def _whole(value: Constant) -> Decimal | None:
    """Return the whole number of a constant, also for 2.0; None for other constants."""
    if type(value.value) is int:
        return Decimal(value.value)
    number = None if isinstance(value.value, str) else value.number
    if number is None or not number.is_finite() or number.adjusted() > _DIGITS:
        return None
    return number.to_integral_value() if number == number.to_integral_value() else None


def unified(values: list[Value], low: Lowering, scope: Scope) -> tuple[list[Value], Kind]:
    """Convert values to a form that one column can hold, and return them and its kind.

    Classes with the same names stay numbers, also when mixed with a constant name; others become
    their names.

    Raises
    ------
    QueryTypeError
        When no column can hold them all.
    """
    check_column(values)
    values = parse_fractions(_parse_times([settled(v, low, scope) for v in values]))
    kinds = [kind_of(v) for v in values if not is_null_constant(v)]
    if len({k.names for k in kinds if k.name == "list"}) > 1:
        return [by_name(v) for v in values], Kind("list", item=TEXT)
    classes = {k.names for k in kinds if k.name == "class"}
    if len(classes) == 1:
        [names] = classes
        known = {*names}
        if all(k.name == "class" or _names_class(v, known) for v, k in _with_kinds(values)):
            numbers = Kind("class", names=names)
            return [agree(v, Sql(exp.null(), numbers)) for v in values], numbers
    present = [v for v in values if not is_null_constant(v)]
    if any(map(lists_json, kinds)) and all(map(_is_list, present)):
        listed = [v if is_null_constant(v) else as_list_of_json(v, low, scope) for v in values]
        return listed, JSON.listed
    if any(k.name == "json" for k in kinds) or mixes_json(*kinds):
        return [
            v if is_null_constant(v) else Sql(as_json(v, low, scope), JSON) for v in values
        ], JSON
    if classes:
        return [
            v if is_null_constant(v) else Sql(as_text(v, low, scope), TEXT) for v in values
        ], TEXT
    values = [low.types.refined(v) for v in values]
    values = beside_floats.as_floats(values, [kind_of(v) for v in values])
    kind = reduce(Kind.beside, kinds, ANY)
    if kind.real and kind.name != "list" and not kind.parts:
        kind = replace(REAL, htype=kind.htype)
    return values, replace(kind, dtype="")


def _is_list(value: Value) -> bool:
    """Return whether a value is a list, constant or not."""
    if isinstance(value, Constant):
        return isinstance(value.value, list)
    return kind_of(value).name == "list"


def _parse_times(values: list[Value]) -> list[Value]:
    """Convert constant strings to times, if all other values are times."""
    times = [v for v in values if kind_of(v).name == "time"]
    texts = [isinstance(v, Constant) and isinstance(v.value, str) for v in values]
    if not times or len(times) + sum(texts) < len(values):
        return values
    return [agree(v, times[0]) if text else v for v, text in zip(values, texts, strict=True)]


def _with_kinds(values: list[Value]) -> list[tuple[Value, Kind]]:
    return [(v, kind_of(v)) for v in values if not is_null_constant(v)]


def is_null_constant(value: Value) -> bool:
    """Return whether a value is the constant NULL."""
    return isinstance(value, Constant) and value.value is None


def _names_class(value: Value, names: set[str]) -> bool:
    return isinstance(value, Constant) and isinstance(value.value, str) and value.value in names


def class_name(node: exp.Expr, names: tuple[str, ...]) -> exp.Expr:
    """Return the name of a class by its number; without names, the number as a string."""
    if not names:
        return exp.cast(node.copy(), "VARCHAR")
    listed = exp.Array(expressions=[exp.Literal.string(name) for name in names])
    return func("list_extract", listed, exp.paren(node.copy()) + 1)


def class_names(node: exp.Expr, names: tuple[str, ...]) -> exp.Expr:
    """Convert a list of classes to a list of their names."""
    return each(node, class_name(ITEM, names))


def as_part(value: Value) -> Value:
    """Return a value as lists, structs and maps hold it: classes by name, and JSON canonical.

    DuckDB compares the parts of two lists or structs directly. It would find equal JSON values in
    different spellings to differ, and classes with different names to be equal.
    """
    if isinstance(value, Sql) and value.kind.name == "json":
        return Sql(exp.cast(json_key(value.node), "JSON"), JSON)
    if isinstance(value, Sql) and value.kind.name == "list" and lists_json(value.kind):
        return Sql(each(value.node, exp.cast(json_key(ITEM.copy()), "JSON")), value.kind)
    return by_name(value)


def as_list_of_json(value: Value, low: Lowering, scope: Scope) -> Value:
    """Convert the items of a list to canonical JSON."""
    if isinstance(value, Constant):
        parts = [as_part(Sql(as_json(item, low, scope), JSON)) for item in items_of(value)]
        node: exp.Expr = as_list(*(low.as_sql(part, scope) for part in parts))
        return Sql(node, JSON.listed)
    named = as_part(value)
    if lists_json(kind_of(named)):
        return named
    item = as_part(Sql(as_json(Sql(ITEM.copy(), kind_of(named).of_item), low, scope), JSON))
    return Sql(each(low.as_sql(named, scope), low.as_sql(item, scope)), JSON.listed)


def lists_json(kind: Kind) -> bool:
    """Return whether values of a kind are lists of JSON."""
    return kind.item is not None and kind.item.name == "json"


def lists_structs(kind: Kind) -> bool:
    """Return whether values of a kind are lists, perhaps nested, of structs or maps."""
    while kind.name == "list" and kind.item is not None:
        kind = kind.item
    return bool(kind.parts)


def by_name(value: Value) -> Value:
    """Convert a class, or a list of classes, to names; return anything else as it is."""
    if not isinstance(value, Sql) or not value.kind.names:
        return value
    if value.kind.name == "list":
        return Sql(class_names(value.node, value.kind.names), Kind("list", item=TEXT))
    return Sql(class_name(value.node, value.kind.names), TEXT)


def is_json(value: Value) -> bool:
    """Return whether a value is JSON."""
    return kind_of(value).name == "json"


def goes_as_json(value: Value, other: Value) -> bool:
    """Return whether two values compare as JSON.

    They do if one of them is JSON, or if one holds JSON where the other holds something else.
    DuckDB would convert both to strings.
    """
    return is_json(value) or is_json(other) or mixes_json(kind_of(value), kind_of(other))


def mixes_json(*kinds: Kind) -> bool:
    """Return whether some kinds hold JSON where others hold something else."""
    return any(kind.holds_json for kind in kinds) and len({_type_of(kind) for kind in kinds}) > 1


def _type_of(kind: Kind) -> Kind:
    """Return a kind reduced to its name and the names of its parts."""
    item = None if kind.item is None else _type_of(kind.item)
    return Kind(kind.name, item=item, parts=tuple((n, _type_of(part)) for n, part in kind.parts))


def key_of(value: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return a scalar that is equal where values are equal: for JSON, a canonical string."""
    node = low.as_sql(value, scope)
    return json_key(node) if is_json(value) else node


def ordering(value: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return the sort key of a scalar; JSON is sorted by value.

    Raises
    ------
    QueryTypeError
        For lists, structs and maps that hold JSON.
    """
    check_ordered(value)
    node = low.as_sql(value, scope)
    return json_order(node) if is_json(value) else node


def check_ordered(*values: Value) -> None:
    """Refuse to order JSON within lists, structs and maps. Raises QueryTypeError."""
    if any(kind_of(value).holds_json for value in values):
        raise QueryTypeError(
            "Lists and structs that hold JSON cannot be ordered; only JSON on its own can. Order "
            "by their parts, or CAST them: [CAST(meta['key'] AS DOUBLE), id]."
        )
