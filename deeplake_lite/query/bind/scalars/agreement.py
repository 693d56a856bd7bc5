"""Check whether scalars can be compared or be in one column, and convert them to a common form.

In this module, `mine` is the kind of a value, and `theirs` is the kind of the value with which it
is compared or combined.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError, QueryTypeError
from deeplake_lite.query.bind.expressions.constants import constant, items_of
from deeplake_lite.query.bind.scalars import beside_floats
from deeplake_lite.query.bind.scalars.conversions import (
    as_json,
    as_list_of_json,
    as_text,
    by_name,
    class_name,
    scalar_to_sql,
)
from deeplake_lite.query.bind.scalars.exact import parse_fraction, parse_number
from deeplake_lite.query.bind.scalars.kinds import (
    WORDS,
    is_null_constant,
    kind_of,
    lists_json,
    mixes_json,
    unit_of_months,
)
from deeplake_lite.query.database.convert import sql_type
from deeplake_lite.query.database.times import (
    advise_interval,
    check_microseconds,
    check_time_of_day,
    exact_timestamp,
    has_odd_zone,
    may_be_timestamp,
)
from deeplake_lite.query.values import ANY, JSON, REAL, TEXT, Constant, Kind, Sql, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def agree(value: Value, other: Value) -> Value:
    """Return a value, converted so that it can be compared with `other`.

    A constant string becomes a class number, a time or a number if `other` is a class, a time or a
    number. A class becomes its name if `other` is a string, or a class from a different list of
    names.

    Raises
    ------
    QueryTypeError
        If the values cannot be compared, or if a string is not the name of a class.
    """
    mine, theirs = kind_of(value), kind_of(other)
    check_bytes(value, other)
    check_hashes(mine, theirs)
    check_times_beside_json(value, other)
    _check_text(value, other)
    _check_text(other, value)
    if isinstance(value, Constant) and isinstance(value.value, dict):
        if theirs.name not in ("json", "any"):
            raise QueryTypeError(
                f"A dict can be compared only with JSON, but {_describe(value)} is compared with "
                f"{WORDS[theirs.name]}. Pass a single value instead of a dict."
            )
        return value
    if theirs.name == "class" and isinstance(value, Constant) and isinstance(value.value, str):
        return constant(class_number(value.value, theirs))
    if theirs.name == "time" and isinstance(value, Constant) and isinstance(value.value, str):
        if theirs.is_clock:
            check_time_of_day(value.value)
            return value
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


def check_hashes(mine: Kind, theirs: Kind) -> None:
    """Raise QueryTypeError if two values are hashes that may differ for equal tensors."""
    if mine.hashed and theirs.hashed and mine.hashed != theirs.hashed:
        raise QueryTypeError(
            "Hashes from a subquery can be compared only with hashes of the same type, but a hash "
            f"of {mine.hashed} is compared with a hash of {theirs.hashed}. Compute both hashes in "
            "the same query, which then hashes values: JOIN … ON HASH(a.x) = HASH(b.y)."
        )


def _lists_strings(value: Value) -> bool:
    """Return whether a value is a constant list that contains a string at any depth of lists."""
    if not isinstance(value, Constant) or not isinstance(value.value, list | np.ndarray):
        return False
    return any(isinstance(v.value, str) or _lists_strings(v) for v in items_of(value))


def _check_moment(text: str) -> None:
    """Raise QueryTypeError if a string that is compared with times is not a time."""
    if not may_be_timestamp(text):
        raise QueryTypeError(
            "A string compared with times must be a time, such as '2026-01-31' or "
            f"'2026-01-31T12:00:00', but it is {text!r:.60}.{advise_interval(text)}"
        )


def parse_fractions(values: list[Value]) -> list[Value]:
    """Return values to be combined. If one is a number, `parse_fraction` is applied to all."""
    if not any(kind_of(v).name == "number" for v in values):
        return values
    return [parse_fraction(v) for v in values]


def check_bytes(value: Value, other: Value) -> None:
    """Raise QueryTypeError if only one of two values is bytes."""
    for side, beside in ((value, other), (other, value)):
        theirs = kind_of(beside).name
        if kind_of(side).name == "bytes" and theirs not in ("bytes", "any"):
            raise QueryTypeError(
                f"{_describe(side)} contains bytes, which can be combined only with bytes, but it "
                f"is combined with {WORDS[theirs]}. Pass bytes as a parameter, or write "
                "ENCODE('text')."
            )


def check_column(values: Iterable[Value]) -> None:
    """Check that values can be in the same column or list.

    Raises
    ------
    QueryTypeError
        If they cannot, as with bytes and other values, or with classes and numbers.
    """
    of_kinds = {kind_of(value): value for value in values if not is_null_constant(value)}
    for (mine, value), (theirs, other) in combinations(of_kinds.items(), 2):
        check_bytes(value, other)
        check_classes(mine, theirs)
        check_pair(value, mine, theirs)


def check_classes(*kinds: Kind) -> None:
    """Raise QueryTypeError if some of the kinds are classes, and others numbers or times."""
    names = {kind.name for kind in kinds}
    if "class" in names and names & {"number", "bool", "time"}:
        raise QueryTypeError(
            "A column cannot contain both classes and numbers, because a number would be "
            "ambiguous. Convert the classes to numbers with CAST(label AS BIGINT), or convert both "
            "to strings with NAME(label) and CAST(x AS TEXT)."
        )


def _check_text(value: Value, other: Value) -> None:
    """Raise QueryTypeError if a non-constant string is compared with a number, time or boolean.

    DuckDB would convert the string to the type of the other value, and might round the number.
    """
    theirs = kind_of(other).name
    if isinstance(value, Constant) or kind_of(value).name != "text" or theirs not in _NOT_TEXT:
        return
    raise QueryTypeError(
        f"{_describe(value)} is a string, which can be compared only with strings, but it is "
        f"compared with {WORDS[theirs]}. CAST the string AS {_NOT_TEXT[theirs]}, or CAST the other "
        "value AS TEXT."
    )


_NOT_TEXT = {"number": "DOUBLE", "time": "TIMESTAMP", "bool": "BOOLEAN"}
"""Maps kinds that cannot be compared with strings to the type to which messages suggest to CAST the
string."""


def check_times_beside_json(value: Value, other: Value) -> None:
    """Check that two values, or two corresponding parts of them, are not a time and JSON.

    DuckDB would compare a time and JSON as strings.

    Raises
    ------
    QueryTypeError
        If two values, or two parts of lists or structs, are a time and JSON.
    """
    for mine, theirs in _matching_kinds(kind_of(value), kind_of(other)):
        if {mine.name, theirs.name} == {"time", "json"}:
            time = mine if mine.name == "time" else theirs
            type_ = "INTERVAL" if time.time_dtype.startswith("timedelta64") else "TIMESTAMP"
            raise QueryTypeError(
                "Times can be compared only with times, but a time is compared with JSON, which "
                f"has no type for times. Convert the JSON value: CAST(x AS {type_})."
            )


def _matching_kinds(mine: Kind, theirs: Kind) -> Iterator[tuple[Kind, Kind]]:
    """Yield two kinds, and then the pairs of the kinds of corresponding parts, at any depth."""
    yield mine, theirs
    for pair in _matching_parts(mine, theirs):
        yield from _matching_kinds(*pair)


WITHOUT_NAMES = (
    "Classes with names cannot be combined with classes without names, whose numbers may have "
    "other meanings. Declare the names in both lakes, or cast the numbers: CAST(x AS TEXT)."
)
"""Message for a combination of classes that have names with classes that have no names."""


def check_pair(value: Value, mine: Kind, theirs: Kind) -> None:
    """Check that two values can be compared or be in one column.

    Parameters
    ----------
    value : Value
        The first value, for messages.
    mine : Kind
        Kind of the first value.
    theirs : Kind
        Kind of the second value.

    Raises
    ------
    QueryTypeError
        If they cannot, as with durations in months and days, or with lists of strings and numbers.
    """
    if mine.name == theirs.name == "class" and bool(mine.names) != bool(theirs.names):
        raise QueryTypeError(WITHOUT_NAMES)
    if {mine.name, theirs.name} == {"class", "bool"} and len(mine.names + theirs.names) not in (
        0,
        2,
    ):
        other = "a boolean" if mine.name == "class" else "a class"
        raise QueryTypeError(
            "Classes can be compared with true and false only if the column has exactly two "
            f"classes, but {_describe(value)} is compared with {other}. Compare classes with "
            "their names, or with their numbers, which start at 0."
        )
    for pair in _matching_parts(mine, theirs):
        _check_parts(*pair)
    items = [kind.item.name for kind in (mine, theirs) if kind.item is not None]
    if len(items) == 2 and (items[0] == "json") != (items[1] == "json") and "any" not in items:
        raise QueryTypeError(
            "Lists of JSON can be combined only with lists of JSON, but a list of JSON is combined "
            "with a list of other values. Convert these values to JSON: [TO_JSON(x)]."
        )
    units = [unit_of_months(kind) for kind in (mine, theirs)]
    are_columns = mine.htype is not None and theirs.htype is not None
    if units[0] != units[1] and mine.name == theirs.name == "time" and are_columns:
        raise QueryTypeError(
            "Durations in months or years can be combined only with durations in the same unit, "
            f"but {_describe(value)} is combined with a time in another unit. Use one unit for "
            "both, or compare counts: CAST(x AS BIGINT)."
        )


def _matching_parts(mine: Kind, theirs: Kind) -> list[tuple[Kind, Kind]]:
    """Return the pairs of the kinds of corresponding parts in two lists or structs."""
    if mine.name == theirs.name == "list":
        return [(mine.item_kind, theirs.item_kind)]
    if not mine.parts or not theirs.parts:
        return []
    named = dict(theirs.parts)
    if all(name and name in named for name, _ in mine.parts):
        return [(part, named[name]) for name, part in mine.parts]
    return [(a, b) for (_, a), (_, b) in zip(mine.parts, theirs.parts, strict=False)]


def _check_parts(mine: Kind, theirs: Kind) -> None:
    """Check that two corresponding parts of lists or structs can be compared with each other.

    Parts of these parts are checked, too.

    Raises
    ------
    QueryTypeError
        If DuckDB would convert both parts to strings, or integers to floats.
    """
    for kind, other in ((mine, theirs), (theirs, mine)):
        is_text = kind.name in ("text", "class")
        if (is_text and other.name in _NOT_TEXT) or (
            kind.name == "bytes" and other.name not in ("bytes", "any")
        ):
            raise QueryTypeError(
                "Lists and structs are compared part by part, but a part that is "
                f"{WORDS[kind.name]} is compared with {WORDS[other.name]}. CAST one of the two "
                "parts, as in [CAST(x AS TEXT)]."
            )
    if beside_floats.are_mixed(mine, theirs):
        raise QueryTypeError(
            "Lists and structs are compared part by part, but SQL would round integers in one of "
            "them to compare them with floats in the other. CAST one of the two parts, as in "
            "[CAST(x AS DOUBLE)]."
        )
    for pair in _matching_parts(mine, theirs):
        _check_parts(*pair)


def _describe(value: Value) -> str:
    """Describe a value in a message, by the name and type of a column, or by the constant."""
    if isinstance(value, Constant):
        return f"{brief(value.value)}"
    plain = value.plain
    return "A value" if plain is None else f"{plain.field.name} ({plain.field.htype})"


def class_number(name: str, kind: Kind) -> int:
    """Return the number of the class `name`.

    Raises QueryTypeError if there is no such class. The message suggests similar names.
    """
    from deeplake_lite.htypes import ClassLabel

    try:
        return ClassLabel(list(kind.names)).index(name)
    except InvalidValueError as error:
        raise QueryTypeError(f"A class {error.args[0]}") from error


def unify(values: list[Value], low: Lowering, scope: Scope) -> tuple[list[Value], Kind]:
    """Return values, converted so that they can be in one column, and the kind of this column.

    Classes stay numbers if all classes have the same list of names, and become their names
    otherwise. A constant name of a class counts as this class.

    Raises
    ------
    QueryTypeError
        If the values do not fit in one column.
    """
    check_column(values)
    values = parse_fractions(parse_times([scalar_to_sql(v, low, scope) for v in values]))
    kinds = [kind_of(v) for v in values if not is_null_constant(v)]
    if len({k.names for k in kinds if k.name == "list"}) > 1:
        return [by_name(v) for v in values], Kind("list", item=TEXT)
    classes = {k.names for k in kinds if k.name == "class"}
    if len(classes) == 1:
        [names] = classes
        labels = {*names}
        if all(k.name == "class" or _names_class(v, labels) for v, k in _with_kinds(values)):
            numbers = Kind("class", names=names)
            return [agree(v, Sql(exp.null(), numbers)) for v in values], numbers
    present = [v for v in values if not is_null_constant(v)]
    if any(map(lists_json, kinds)) and all(map(_is_list, present)):
        listed = [v if is_null_constant(v) else as_list_of_json(v, low, scope) for v in values]
        return listed, JSON.as_list
    if any(k.name == "json" for k in kinds) or mixes_json(*kinds):
        return [
            v if is_null_constant(v) else Sql(as_json(v, low, scope), JSON) for v in values
        ], JSON
    if classes:
        return [
            v if is_null_constant(v) else Sql(as_text(v, low, scope), TEXT) for v in values
        ], TEXT
    values = [low.types.refine(v) for v in values]
    values = beside_floats.as_floats(values, [kind_of(v) for v in values])
    kind = reduce(Kind.combine, kinds, ANY)
    if kind.real and kind.name != "list" and not kind.parts:
        kind = replace(REAL, htype=kind.htype)
    return values, kind if kind.is_clock else replace(kind, dtype="")


def _is_list(value: Value) -> bool:
    """Return whether a value is a constant or computed list."""
    if isinstance(value, Constant):
        return isinstance(value.value, list)
    return kind_of(value).name == "list"


def parse_times(values: list[Value]) -> list[Value]:
    """Return values. If all others are times or null, constant strings become times."""
    times = [v for v in values if kind_of(v).name == "time"]
    texts = [isinstance(v, Constant) and isinstance(v.value, str) for v in values]
    if not times or len(times) + sum(texts) + sum(map(is_null_constant, values)) < len(values):
        return values
    return [_as_time(v, times[0]) if text else v for v, text in zip(values, texts, strict=True)]


def _as_time(value: Value, time: Value) -> Value:
    """Return a constant string as a time that can be combined with `time`."""
    agreed, kind = agree(value, time), kind_of(time)
    if not isinstance(agreed, Constant) or not isinstance(agreed.value, str):
        return agreed
    if not kind.time_dtype.startswith("datetime64"):
        return agreed
    type_ = exp.DataType.build(sql_type(kind.time_dtype), dialect="duckdb")
    return Sql(exp.cast(agreed.node, type_), kind.computed)


def _with_kinds(values: list[Value]) -> list[tuple[Value, Kind]]:
    return [(v, kind_of(v)) for v in values if not is_null_constant(v)]


def _names_class(value: Value, names: set[str]) -> bool:
    return isinstance(value, Constant) and isinstance(value.value, str) and value.value in names
