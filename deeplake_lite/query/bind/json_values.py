"""JSON values in SQL: as numbers and texts, in order, their parts, how many they have."""

from __future__ import annotations

from sqlglot import exp

from deeplake_lite.query.dialect import func


def json_text(node: exp.Expr) -> exp.Expr:
    """Return the text of a JSON value: a string without its quotes."""
    return func("json_extract_string", node.copy(), exp.Literal.string("$"))


def as_number(node: exp.Expr) -> exp.Expr:
    """Return the number that a JSON value is, or null."""
    return exp.TryCast(this=json_text(node), to=exp.DataType.build("DOUBLE"))


def as_bool(node: exp.Expr) -> exp.Expr:
    """Return the truth value that a JSON value is, or null."""
    return exp.TryCast(this=json_text(node), to=exp.DataType.build("BOOLEAN"))


def json_order(node: exp.Expr) -> exp.Expr:
    """Return what JSON values are sorted by: numbers by size, and behind them texts."""
    text = json_text(node)
    is_number = _is_of_type(node, "BIGINT", "UBIGINT", "HUGEINT", "DOUBLE")
    number = exp.Case(ifs=[exp.If(this=is_number, true=as_number(node))])
    other = exp.Case(ifs=[exp.If(this=exp.not_(exp.paren(is_number.copy())), true=text)])
    parts = [
        exp.PropertyEQ(this=exp.to_identifier(name), expression=part)
        for name, part in (("number", number), ("other", other))
    ]
    present = exp.not_(exp.Is(this=text.copy(), expression=exp.null()))
    return exp.Case(ifs=[exp.If(this=present, true=func("struct_pack", *parts))])


def json_length(node: exp.Expr) -> exp.Expr:
    """Return how many items a JSON list has, or characters its text."""
    items = exp.If(this=_is_of_type(node, "ARRAY"), true=func("json_array_length", node.copy()))
    return exp.Case(ifs=[items], default=func("length", json_text(node)))


def json_slice(node: exp.Expr, start: exp.Expr, stop: exp.Expr) -> exp.Expr:
    """Return a part of a JSON list, or of its text; positions are DuckDB's."""
    items = exp.TryCast(this=node.copy(), to=exp.DataType.build("JSON[]"))
    part = func("to_json", func("array_slice", items, start, stop))
    text = func("to_json", func("array_slice", json_text(node), start.copy(), stop.copy()))
    ifs = [exp.If(this=_is_of_type(node, "VARCHAR"), true=text)]
    return exp.Case(ifs=ifs, default=part)


def json_contains(node: exp.Expr, value: exp.Expr) -> exp.Expr:
    """Return whether a JSON list has an item, an object a key, a text a part."""
    wanted = exp.cast(value.copy(), "VARCHAR")
    items = func("json_extract_string", node.copy(), exp.Literal.string("$[*]"))
    ifs = [
        exp.If(this=_is_of_type(node, name), true=test)
        for name, test in (
            ("ARRAY", func("list_contains", items, wanted)),
            ("OBJECT", func("list_contains", func("json_keys", node.copy()), wanted.copy())),
        )
    ]
    return exp.Case(ifs=ifs, default=func("contains", json_text(node), wanted.copy()))


def _is_of_type(node: exp.Expr, *names: str) -> exp.Expr:
    types = [exp.Literal.string(name) for name in names]
    return exp.In(this=func("json_type", node.copy()), expressions=types)
