"""What kind of scalar a value is, and the form in which two of them compare."""

from __future__ import annotations

import datetime as dt
import re
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
from deeplake_lite.query.bind.scalars.exact import fraction, said
from deeplake_lite.query.bind.scalars.json_values import json_key, json_order, json_text
from deeplake_lite.query.database.convert import json_document
from deeplake_lite.query.database.times import exact_timestamp
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
    """Return the kind of a scalar; without the column's type where it is no longer the column."""
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
"""Kinds of scalars that are no numbers."""


def kind_of_constant(value: Any) -> Kind:
    """Return the kind of a constant."""
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
    """Return the kind of a sum of two."""
    kinds = (kind_of(left), kind_of(right))
    if any(k.name == "time" for k in kinds):
        return TIME
    return REAL if any(k.real for k in kinds) else NUMBER


def has_axes(value: Value) -> bool:
    """Tell whether a value is a tensor with axes."""
    if isinstance(value, Tensor):
        return not value.is_scalar
    return isinstance(value, Constant) and isinstance(value.value, np.ndarray | list)


def is_numpys(value: Value) -> bool:
    """Tell whether NumPy computes with a value: one with axes, or a complex number."""
    if isinstance(value, Tensor) and value.type.is_number and value.type.dtype[0] == "c":
        return True
    if isinstance(value, Constant) and isinstance(value.value, complex):
        return True
    return has_axes(value)


def agree(value: Value, other: Value) -> Value:
    """Return a value in the form in which it compares with another: classes by name.

    Raises
    ------
    QueryTypeError
        For the name of no class.
    """
    mine, theirs = kind_of(value), kind_of(other)
    check_bytes(value, other)
    _check_text(value, other)
    _check_text(other, value)
    if isinstance(value, Constant) and isinstance(value.value, dict):
        if theirs.name not in ("json", "any"):
            raise QueryTypeError(
                f"A JSON object compares with JSON, but it is {_shown(value)}, a dict, and the "
                f"other side is {WORDS[theirs.name]}."
            )
        return value
    if theirs.name == "class" and isinstance(value, Constant) and isinstance(value.value, str):
        return constant(class_number(value.value, theirs))
    if theirs.name == "time" and isinstance(value, Constant) and isinstance(value.value, str):
        dtype = theirs.time_dtype
        moment = exact_timestamp(value.value, dtype)
        if moment is None and dtype.startswith("datetime64"):
            _check_moment(value.value)
        return value if moment is None else constant(moment)
    if theirs.name == "number" and isinstance(value, Constant) and isinstance(value.value, str):
        return said(value)
    check_pair(value, mine, theirs)
    if mine.name == "list" and theirs.name == "list" and mine.names != theirs.names:
        return by_name(value)
    if not isinstance(value, Sql):
        return value
    if mine.name == "class" and theirs.name == "class" and mine.names != theirs.names:
        return Sql(class_name(value.node, mine.names), TEXT)
    if mine.name == "class" and theirs.name == "text" and not isinstance(other, Constant):
        return Sql(class_name(value.node, mine.names), TEXT)
    return value


_LIKE_A_MOMENT = re.compile(
    r"\s*[+-]?\d+[-/ ]\d+[-/ ]\d+.*|-?infinity|epoch", re.IGNORECASE | re.DOTALL
)
"""The beginning of texts that DuckDB reads as moments, if there is such a day."""


def _check_moment(text: str) -> None:
    """Refuse a text that is no moment beside moments. Raises QueryTypeError."""
    if not _LIKE_A_MOMENT.fullmatch(text):
        raise QueryTypeError(
            "A time beside times is written '2026-01-31' or '2026-01-31T12:00:00', but it is "
            f"{text!r:.60}."
        )


def fractions(values: list[Value]) -> list[Value]:
    """Return values that go together, with such texts as numbers where one of them is a number."""
    if not any(kind_of(v).name == "number" for v in values):
        return values
    return [fraction(v) for v in values]


def check_bytes(value: Value, other: Value) -> None:
    """Refuse bytes beside anything else, on either side. Raises QueryTypeError."""
    for side, beside in ((value, other), (other, value)):
        theirs = kind_of(beside).name
        if kind_of(side).name == "bytes" and theirs not in ("bytes", "any"):
            raise QueryTypeError(
                f"{_shown(side)} holds bytes, which go with bytes alone, but the other side is "
                f"{WORDS[theirs]}. Pass bytes as a parameter, or write ENCODE('text')."
            )


def check_column(values: Iterable[Value]) -> None:
    """Refuse values that no column or list holds together: bytes, or classes, and others.

    Raises
    ------
    QueryTypeError
        For bytes beside anything else, and for classes beside numbers.
    """
    of_kinds = {kind_of(value): value for value in values if not is_null_constant(value)}
    for (mine, value), (theirs, other) in combinations(of_kinds.items(), 2):
        check_bytes(value, other)
        check_classes(mine, theirs)
        check_pair(value, mine, theirs)


def check_classes(*kinds: Kind) -> None:
    """Refuse classes beside numbers in one column. Raises QueryTypeError."""
    names = {kind.name for kind in kinds}
    if "class" in names and names & {"number", "bool", "time"}:
        raise QueryTypeError(
            "A column of classes and numbers would have two meanings for a number. Take the "
            "numbers of the classes, CAST(label AS BIGINT), or the texts of both: NAME(label) and "
            "CAST(x AS TEXT)."
        )


def _check_text(value: Value, other: Value) -> None:
    """Refuse the text of a column beside a number, a time or a truth value.

    SQL would convert it to the type of the other side, rounding it, where `=` compares them.
    """
    theirs = kind_of(other).name
    if isinstance(value, Constant) or kind_of(value).name != "text" or theirs not in _NOT_TEXT:
        return
    raise QueryTypeError(
        f"{_shown(value)} is text, which compares with text alone, but the other side is "
        f"{WORDS[theirs]}. CAST one of them: CAST(x AS TEXT), or CAST(x AS {_NOT_TEXT[theirs]})."
    )


_NOT_TEXT = {"number": "DOUBLE", "time": "TIMESTAMP", "bool": "BOOLEAN"}
"""Kinds that do not compare with text, and the type that a text is cast to."""

WITHOUT_NAMES = (
    "Classes with names do not go with classes without, whose numbers may mean others. Declare the "
    "names in both lakes, or cast the numbers: CAST(x AS TEXT)."
)
"""Message for a column of classes with names beside one without."""


def check_pair(value: Value, mine: Kind, theirs: Kind) -> None:
    """Refuse what does not compare: months beside days, or texts beside numbers in two lists.

    Raises
    ------
    QueryTypeError
        For values that do not go into one column, nor compare.
    """
    if mine.name == theirs.name == "class" and bool(mine.names) != bool(theirs.names):
        raise QueryTypeError(WITHOUT_NAMES)
    if {mine.name, theirs.name} == {"class", "bool"} and len(mine.names + theirs.names) not in (
        0,
        2,
    ):
        other = "a truth value" if mine.name == "class" else "a class"
        raise QueryTypeError(
            f"{_shown(value)} is compared with {other}, but none of several classes is true or "
            "false. Compare classes with their names, or with their numbers, which begin at 0."
        )
    for pair in _parts_of_both(mine, theirs):
        _check_parts(*pair)
    items = [kind.item.name for kind in (mine, theirs) if kind.item is not None]
    if len(items) == 2 and (items[0] == "json") != (items[1] == "json") and "any" not in items:
        raise QueryTypeError(
            "Lists of JSON go with lists of JSON alone, but the other list holds values of another "
            "kind. Make JSON of those: [TO_JSON(x)]."
        )
    units = [unit_of_months(kind) for kind in (mine, theirs)]
    known = mine.htype is not None and theirs.htype is not None
    if units[0] != units[1] and mine.name == theirs.name == "time" and known:
        raise QueryTypeError(
            f"Months and years go with durations in the same unit alone, but {_shown(value)} "
            "stands beside a time of another unit. Keep both in one unit, or compare counts: "
            "CAST(x AS BIGINT)."
        )


def _parts_of_both(mine: Kind, theirs: Kind) -> list[tuple[Kind, Kind]]:
    """Return the kinds of what two lists, or two structs, hold in the same place."""
    if mine.name == theirs.name == "list":
        return [(mine.of_item, theirs.of_item)]
    if not mine.parts or not theirs.parts:
        return []
    named = dict(theirs.parts)
    if all(name and name in named for name, _ in mine.parts):
        return [(part, named[name]) for name, part in mine.parts]
    return [(a, b) for (_, a), (_, b) in zip(mine.parts, theirs.parts, strict=False)]


def _check_parts(mine: Kind, theirs: Kind) -> None:
    """Refuse two values of lists or structs that would not compare by themselves.

    Raises
    ------
    QueryTypeError
        SQL would make texts of both.
    """
    for one, other in ((mine, theirs), (theirs, mine)):
        is_text = one.name in ("text", "class")
        if (is_text and other.name in _NOT_TEXT) or (
            one.name == "bytes" and other.name not in ("bytes", "any")
        ):
            raise QueryTypeError(
                f"Lists and structs compare part by part, but a part is {WORDS[one.name]} on one "
                f"side, and {WORDS[other.name]} on the other. CAST the part, as in [CAST(x AS "
                "TEXT)]."
            )
    if beside_floats.are_mixed(mine, theirs):
        raise QueryTypeError(
            "Lists and structs go together part by part, and SQL would round the integers of one "
            "beside the floats of the other. CAST the part, as in [CAST(x AS DOUBLE)]."
        )
    for pair in _parts_of_both(mine, theirs):
        _check_parts(*pair)


def unit_of_months(kind: Kind) -> str:
    """Return "Y" or "M" for durations in years or months, else nothing.

    >>> from deeplake_lite.htypes import Scalar
    >>> unit_of_months(Kind("time", htype=Scalar("timedelta64[M]"))), unit_of_months(TIME)
    ('M', '')
    """
    dtype = kind.time_dtype
    unit = np.datetime_data(dtype)[0] if dtype.startswith("timedelta64") else ""
    return unit if unit in ("Y", "M") else ""


WORDS = {
    "number": "a number", "bool": "a truth value", "text": "a text", "class": "a class",
    "bytes": "bytes", "json": "JSON", "time": "a time", "list": "a list", "tensor": "a tensor",
}  # fmt: skip
"""Kinds of values as messages call them."""


def _shown(value: Value) -> str:
    """Return how messages call a value: its column, or a constant as it is."""
    if isinstance(value, Constant):
        return f"{brief(value.value)}"
    plain = value.plain
    return "A value" if plain is None else f"{plain.field.name} ({plain.field.htype})"


def class_number(name: str, kind: Kind) -> int:
    """Return the number of a class. Raises QueryTypeError, with the nearest names."""
    from deeplake_lite.htypes import ClassLabel

    try:
        return ClassLabel(list(kind.names)).index(name)
    except InvalidValueError as error:
        raise QueryTypeError(f"A class {error.args[0]}") from error


def settled(value: Value, low: Lowering, scope: Scope) -> Value:
    """Return a scalar that NumPy computes as DuckDB's, so that it is converted as those are."""
    if isinstance(value, Tensor) and not is_numpys(value):
        return Sql(low.as_sql(value, scope), kind_of(value))
    return value


def as_text(value: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return a scalar as a text where it has one: a class's name."""
    value = settled(value, low, scope)
    if isinstance(value, Sql) and value.kind.name == "class":
        return class_name(value.node, value.kind.names)
    if isinstance(value, Sql) and value.kind.name == "list":
        return low.as_sql(as_part(value), scope)
    if isinstance(value, Sql) and value.kind.name == "json":
        return json_text(value.node)
    return low.as_sql(value, scope)


def as_json(value: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return a scalar as the text of a JSON value: a class as its name."""
    if isinstance(value, Constant) and isinstance(value.value, list | np.ndarray | dict):
        return exp.Literal.string(json_document(_in_full(value)))
    if isinstance(value, Constant) and (whole := _whole(value)) is not None:
        return exp.Literal.string(format(whole, "f"))  # whatever its size
    node = low.as_sql(value, scope)
    if is_json(value):
        return node
    if kind_of(value).names:
        node = as_text(value, low, scope)
    is_null = exp.Is(this=node.copy(), expression=exp.null())
    text = exp.cast(func("to_json", node), "VARCHAR")
    return exp.Case(ifs=[exp.If(this=exp.not_(is_null), true=text)])


_DIGITS = 40
"""Of whole numbers with a point: larger ones are floats."""


def _in_full(value: Constant) -> Any:
    """Return what a constant is, with all digits of its whole numbers."""
    if value.items:
        return [_in_full(item) for item in value.items]
    if (whole := _whole(value)) is not None:
        return int(whole)
    return value.value.tolist() if isinstance(value.value, np.ndarray) else value.value


def _whole(value: Constant) -> Decimal | None:
    """Return the whole number that a constant is, also one with a point; or None."""
    if type(value.value) is int:
        return Decimal(value.value)
    number = None if isinstance(value.value, str) else value.number
    if number is None or not number.is_finite() or number.adjusted() > _DIGITS:
        return None
    return number.to_integral_value() if number == number.to_integral_value() else None


def unified(values: list[Value], low: Lowering, scope: Scope) -> tuple[list[Value], Kind]:
    """Return values that one column is to hold, in one form, and its kind.

    Classes of the same names stay numbers, also beside the text of one; others become their names.
    """
    check_column(values)
    values = fractions(_with_moments([settled(v, low, scope) for v in values]))
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
    given = [v for v in values if not is_null_constant(v)]
    if any(map(lists_json, kinds)) and all(map(_is_list, given)):
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
    """Tell whether a value is a list of SQL's, or one that is written out."""
    if isinstance(value, Constant):
        return isinstance(value.value, list)
    return kind_of(value).name == "list"


def _with_moments(values: list[Value]) -> list[Value]:
    """Return values with texts as moments, where they are finer than those of the others."""
    times = [v for v in values if kind_of(v).name == "time"]
    texts = [isinstance(v, Constant) and isinstance(v.value, str) for v in values]
    if not times or len(times) + sum(texts) < len(values):
        return values
    return [agree(v, times[0]) if text else v for v, text in zip(values, texts, strict=True)]


def _with_kinds(values: list[Value]) -> list[tuple[Value, Kind]]:
    return [(v, kind_of(v)) for v in values if not is_null_constant(v)]


def is_null_constant(value: Value) -> bool:
    """Tell whether a value is NULL as it stands, or a parameter that is."""
    return isinstance(value, Constant) and value.value is None


def _names_class(value: Value, names: set[str]) -> bool:
    return isinstance(value, Constant) and isinstance(value.value, str) and value.value in names


def class_name(node: exp.Expr, names: tuple[str, ...]) -> exp.Expr:
    """Return the name of a class by its number; of classes without names the number as text."""
    if not names:
        return exp.cast(node.copy(), "VARCHAR")
    listed = exp.Array(expressions=[exp.Literal.string(name) for name in names])
    return func("list_extract", listed, exp.paren(node.copy()) + 1)


def class_names(node: exp.Expr, names: tuple[str, ...]) -> exp.Expr:
    """Return the names of a list of classes."""
    return each(node, class_name(ITEM, names))


def as_part(value: Value) -> Value:
    """Return a value as lists, structs and maps hold it: classes by name, JSON in its one form.

    The types of those in DuckDB have no place for a list of names, and numbers of two lists of
    names do not compare; nor do two texts of JSON that mean the same.
    """
    if isinstance(value, Sql) and value.kind.name == "json":
        return Sql(exp.cast(json_key(value.node), "JSON"), JSON)
    if isinstance(value, Sql) and value.kind.name == "list" and lists_json(value.kind):
        return Sql(each(value.node, exp.cast(json_key(ITEM.copy()), "JSON")), value.kind)
    return by_name(value)


def as_list_of_json(value: Value, low: Lowering, scope: Scope) -> Value:
    """Return a list with its items as JSON, in the form in which lists hold it."""
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
    """Tell whether a kind is that of a list of JSON."""
    return kind.item is not None and kind.item.name == "json"


def lists_structs(kind: Kind) -> bool:
    """Tell whether a kind is that of a list of structs or maps, or of lists of those."""
    while kind.name == "list" and kind.item is not None:
        kind = kind.item
    return bool(kind.parts)


def by_name(value: Value) -> Value:
    """Return a class, or a list of classes, by name; anything else as it is."""
    if not isinstance(value, Sql) or not value.kind.names:
        return value
    if value.kind.name == "list":
        return Sql(class_names(value.node, value.kind.names), Kind("list", item=TEXT))
    return Sql(class_name(value.node, value.kind.names), TEXT)


def is_json(value: Value) -> bool:
    """Tell whether a value is JSON."""
    return kind_of(value).name == "json"


def goes_as_json(value: Value, other: Value) -> bool:
    """Tell whether two values compare as JSON: one of them is JSON, or holds it where one may not.

    DuckDB would compare the texts of such JSON with those of the other's numbers.
    """
    return is_json(value) or is_json(other) or mixes_json(kind_of(value), kind_of(other))


def mixes_json(*kinds: Kind) -> bool:
    """Tell whether some of several kinds hold JSON where others hold something else."""
    return any(kind.holds_json for kind in kinds) and len({_within(kind) for kind in kinds}) > 1


def _within(kind: Kind) -> Kind:
    """Return a kind with what tells its type in DuckDB, where there is JSON in it."""
    item = None if kind.item is None else _within(kind.item)
    return Kind(kind.name, item=item, parts=tuple((n, _within(part)) for n, part in kind.parts))


def key_of(value: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return a scalar that is equal where values are: of JSON a text, of others themselves."""
    node = low.as_sql(value, scope)
    return json_key(node) if is_json(value) else node


def ordering(value: Value, low: Lowering, scope: Scope) -> exp.Expr:
    """Return what a scalar is sorted by, and compared for less and more: JSON by value.

    Raises
    ------
    QueryTypeError
        For JSON within something else.
    """
    check_ordered(value)
    node = low.as_sql(value, scope)
    return json_order(node) if is_json(value) else node


def check_ordered(*values: Value) -> None:
    """Refuse to order JSON within lists, structs and maps. Raises QueryTypeError."""
    if any(kind_of(value).holds_json for value in values):
        raise QueryTypeError(
            "JSON has an order by itself, but none within a list or a struct. Order by its parts, "
            "or CAST them: [CAST(meta['key'] AS DOUBLE), id]."
        )
