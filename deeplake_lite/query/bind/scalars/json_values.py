"""Generate SQL that converts, sorts, slices, measures and searches JSON values.

Most functions take and return SQL. For them, "return a number" means "return SQL that computes a
number".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.query.database.json_keys import JSON_KEY
from deeplake_lite.query.parse.duckdb_nodes import build_error, func

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.query.values import KindName


def path_of_key(key: str) -> str:
    r"""Return the path of a key in a JSON object, as a JSON path or a JSON Pointer.

    This is a JSON path if possible, because in a JSON Pointer, '0' could also be a position in a
    list. The few keys that DuckDB's JSON paths cannot express are not numbers, so that a JSON
    Pointer is not ambiguous for them.

    >>> path_of_key("a.b"), path_of_key(""), path_of_key("a\\b")
    ('$."a.b"', '/', '/a\\b')
    """
    if not key or "\\" in key:
        return _pointer([key])
    escaped = key.replace('"', '\\"')
    return f'$."{escaped}"'


_STEP = re.compile(r'\."([^"\\*]*)"|\.([A-Za-z_]\w*)|\[(\d+)\]')
"""Matches one step of a JSON path: a key in quotes, a key without quotes, or a position."""


def readable_path(path: str) -> str:
    """Return a JSON path in a form that DuckDB can read.

    DuckDB rejects JSON paths with an empty key, so such a path becomes a JSON Pointer if possible.

    >>> readable_path('$.a."".b[0]'), readable_path("$.a"), readable_path('$[*].""')
    ('/a//b/0', '$.a', '$[*].""')
    """
    steps = list(_STEP.finditer(path))
    if '.""' not in path or "$" + "".join(step[0] for step in steps) != path:
        return path
    return _pointer([next(part for part in step.groups() if part is not None) for step in steps])


def _pointer(keys: Sequence[str]) -> str:
    """Return keys and positions as a JSON Pointer; see https://www.rfc-editor.org/rfc/rfc6901."""
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)


def json_text(node: exp.Expr) -> exp.Expr:
    """Return a JSON value as a string, or null for a JSON null. Strings lose their quotes."""
    return func("json_extract_string", node.copy(), exp.Literal.string("$"))


def as_number(node: exp.Expr) -> exp.Expr:
    """Return a JSON number, or a numeric JSON string, as a float. Other values become null."""
    return exp.TryCast(this=json_text(node), to=exp.DataType.build("DOUBLE"))


def as_exact_number(node: exp.Expr, text: str) -> exp.Expr:
    """Return a JSON value as a float or null, like `as_number`, but without rounding integers.

    If a float would round an integer, DuckDB raises an error.

    Parameters
    ----------
    node : exp.Expr
        The JSON value.
    text : str
        The expression that uses the number, for the message.
    """
    message = (
        f"In SQL, JSON numbers become floats, but {text} uses an integer that a float would round. "
        "CAST the JSON value AS BIGINT to compute with integers, or AS DOUBLE to round the integer."
    )
    number, whole = as_number(node), whole_number(node)
    is_rounded = exp.NEQ(this=whole, expression=exp.TryCast(this=number, to=whole_type()))
    return exp.Case(ifs=[exp.If(this=is_rounded, true=build_error(message))], default=number.copy())


def as_condition(node: exp.Expr) -> exp.Expr:
    """Return a JSON value as a condition in SQL.

    Booleans are unchanged, and a number is true unless it is 0. Other values are null.
    """
    is_true = exp.NEQ(this=as_number(node), expression=exp.convert(0))
    ifs = [
        exp.If(this=is_of_type(node, "BOOLEAN"), true=_as_bool(node)),
        exp.If(this=is_number(node), true=is_true),
    ]
    return exp.Case(ifs=ifs)


def as_exact_condition(node: exp.Expr, text: str) -> exp.Expr:
    """Return a JSON value as a condition, like `as_condition`.

    For a string, list or object, DuckDB raises an error. `text` is the expression that uses the
    condition, for the message.
    """
    message = f"A JSON condition must be true, false, null or a number, but a value in {text} is "
    way = exp.Literal.string(
        ". TRY_CAST(x AS BOOLEAN) returns null for other values; to convert strings, write "
        "CAST(CAST(x AS TEXT) AS BOOLEAN)."
    )
    start = exp.Left(this=exp.cast(node.copy(), "VARCHAR"), expression=exp.convert(_MOST))
    is_other = is_of_type(node, "VARCHAR", "ARRAY", "OBJECT")
    wrong = build_error(message, start, way)
    return exp.Case(ifs=[exp.If(this=is_other, true=wrong)], default=as_condition(node))


_MOST = 60
"""Maximum length of a JSON value in a message, in characters."""


def _as_bool(node: exp.Expr) -> exp.Expr:
    """Return JSON's true or false as a boolean, and null for other values."""
    return exp.TryCast(this=json_text(node), to=exp.DataType.build("BOOLEAN"))


def json_key(node: exp.Expr) -> exp.Expr:
    """Return a string that is the same for equal JSON values, or null for a JSON null."""
    return func(JSON_KEY, exp.cast(node.copy(), "VARCHAR"))


def is_number(node: exp.Expr) -> exp.Expr:
    """Return whether a JSON value is a number, rather than a numeric string."""
    return is_of_type(node, *_WHOLE, "DOUBLE")


def whole_number(node: exp.Expr) -> exp.Expr:
    """Return a whole JSON number as an integer of up to 128 bits. Other values become null."""
    has_digits = func("regexp_full_match", json_text(node), exp.Literal.string("-?[0-9]+"))
    number = as_number(node)
    is_whole = exp.EQ(this=number, expression=func("trunc", number.copy()))
    ifs = [
        exp.If(this=has_digits, true=exp.TryCast(this=json_text(node), to=whole_type())),
        exp.If(this=is_whole, true=exp.TryCast(this=number.copy(), to=whole_type())),
    ]
    return exp.Case(ifs=ifs)


def whole_type() -> exp.DataType:
    """Return HUGEINT, DuckDB's type for integers of 128 bits."""
    return exp.DataType.build("HUGEINT")


def only_number(node: exp.Expr) -> exp.Expr:
    """Return a JSON number as a float. Other values, including strings, become null."""
    return exp.Case(ifs=[exp.If(this=is_number(node), true=as_number(node))])


def only_text(node: exp.Expr) -> exp.Expr:
    """Return a JSON string as a string. Other values become null."""
    return exp.Case(ifs=[exp.If(this=is_of_type(node, "VARCHAR"), true=json_text(node))])


def only_bool(node: exp.Expr) -> exp.Expr:
    """Return JSON's true or false as a boolean. Other values become null."""
    return exp.Case(ifs=[exp.If(this=is_of_type(node, "BOOLEAN"), true=_as_bool(node))])


def equals_text(node: exp.Expr, other: exp.Expr) -> exp.Expr:
    """Return whether a JSON value is a string that equals `other`, or null if either is null."""
    same = exp.If(this=is_of_type(node, "VARCHAR"), true=_equal(json_text(node), other))
    return exp.Case(ifs=[same, if_both(node, other)])


def equals_bool(node: exp.Expr, other: exp.Expr) -> exp.Expr:
    """Return whether a JSON value is a boolean that equals `other`, or null if either is null."""
    same = exp.If(this=is_of_type(node, "BOOLEAN"), true=_equal(_as_bool(node), other))
    return exp.Case(ifs=[same, if_both(node, other)])


def _equal(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.EQ(this=left, expression=exp.paren(right.copy()))


def if_both(node: exp.Expr, other: exp.Expr) -> exp.If:
    """Return a branch of a CASE that gives false, and applies if neither of two values is null."""
    present = [
        exp.not_(exp.Is(this=exp.paren(side, copy=False), expression=exp.null()), copy=False)
        for side in (json_text(node), other.copy())
    ]
    return exp.If(this=exp.and_(*present, copy=False), true=exp.false())


_WHOLE = ("BIGINT", "UBIGINT", "HUGEINT")
"""DuckDB's names for the JSON types of whole numbers."""


def json_order(node: exp.Expr) -> exp.Expr:
    """Return a struct by which JSON values are sorted: numbers by value, then other values."""
    text = json_text(node)
    ifs = [
        exp.If(this=is_number(node), true=exp.null()),
        exp.If(this=is_of_type(node, "ARRAY", "OBJECT"), true=json_key(node)),
    ]
    parts = [
        exp.PropertyEQ(this=exp.to_identifier(name), expression=part)
        for name, part in (
            ("number", only_number(node)),
            ("exact", _only_whole(node)),
            ("other", exp.Case(ifs=ifs, default=text)),
            ("type", exp.Case(ifs=[ifs[0].copy()], default=func("json_type", node.copy()))),
        )
    ]
    present = exp.not_(exp.Is(this=text.copy(), expression=exp.null()))
    return exp.Case(ifs=[exp.If(this=present, true=func("struct_pack", *parts))])


def _only_whole(node: exp.Expr) -> exp.Expr:
    """Return a whole JSON number as an integer. Other values, including strings, become null."""
    return exp.Case(ifs=[exp.If(this=is_number(node), true=whole_number(node))])


def json_length(node: exp.Expr) -> exp.Expr:
    """Return the length of a JSON value, which is null for numbers and booleans.

    The length is the number of items in a list, of keys in an object, or of characters in a string.
    """
    ifs = [
        exp.If(this=is_of_type(node, "ARRAY"), true=func("json_array_length", node.copy())),
        exp.If(this=is_of_type(node, "OBJECT"), true=func("len", func("json_keys", node.copy()))),
        exp.If(this=is_of_type(node, "VARCHAR"), true=func("length", json_text(node))),
    ]
    return exp.Case(ifs=ifs)


def json_slice(node: exp.Expr, start: exp.Expr, stop: exp.Expr) -> exp.Expr:
    """Return the slice of a JSON list or string from position `start` to position `stop`.

    Both positions are inclusive. They count from 1, or from -1 at the end.
    """
    items = exp.TryCast(this=node.copy(), to=exp.DataType.build("JSON[]"))
    part = func("to_json", func("array_slice", items, start, stop))
    text = func("to_json", func("array_slice", json_text(node), start.copy(), stop.copy()))
    ifs = [exp.If(this=is_of_type(node, "VARCHAR"), true=text)]
    return exp.Case(ifs=ifs, default=part)


def json_contains(node: exp.Expr, value: exp.Expr, kind: KindName) -> exp.Expr:
    """Return whether a JSON value contains a scalar of the given kind.

    A list contains its items, and an object contains its keys. If the scalar is a string, a JSON
    string contains its substrings.
    """
    document = exp.cast(func("to_json", value.copy()), "VARCHAR")
    listed = func("json_extract", node.copy(), exp.Literal.string("$[*]"))
    items: exp.Expr = exp.cast(listed, "VARCHAR[]")
    has_item: exp.Expr = func("list_contains", items, document)
    if kind in ("number", "any"):
        has_item = _has_number(items, value)
    ifs = [exp.If(this=is_of_type(node, "ARRAY"), true=has_item)]
    if kind == "text":
        keys = func("json_keys", node.copy())
        part = func("contains", json_text(node), value.copy())
        ifs += [
            exp.If(this=is_of_type(node, "OBJECT"), true=func("list_contains", keys, value.copy())),
            exp.If(this=is_of_type(node, "VARCHAR"), true=part),
        ]
    return exp.Case(ifs=[*ifs, if_both(node, value)])


def _has_number(items: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Return whether a number is among the strings of a list, which are read as numbers.

    Numbers of at least 2**53, where floats round integers, are compared as integers.
    """
    number = exp.cast(value.copy(), "DOUBLE")
    size = exp.Abs(this=number)
    is_large = exp.and_(size >= exp.convert(2**53), size.copy() < exp.convert(2.0**127))
    whole = exp.TryCast(this=exp.paren(value.copy()), to=whole_type())
    ifs = [exp.If(this=is_large, true=func("list_contains", _each(items, "HUGEINT"), whole))]
    return exp.Case(ifs=ifs, default=func("list_contains", _each(items, "DOUBLE"), number.copy()))


def _each(items: exp.Expr, dtype: str) -> exp.Expr:
    """Return a list of strings as a list of numbers. Strings that are not numbers become null."""
    number = exp.TryCast(this=exp.column("lake_item"), to=exp.DataType.build(dtype))
    item = exp.to_identifier("lake_item")
    of = exp.Comprehension(this=number, expression=item, iterator=items.copy())
    return exp.Array(expressions=[of])


def is_of_type(node: exp.Expr, *names: str) -> exp.Expr:
    """Return whether ``json_type`` of a JSON value is one of the given names."""
    types = [exp.Literal.string(name) for name in names]
    return exp.In(this=func("json_type", node.copy()), expressions=types)
