"""Determine the kinds of the results of DuckDB's functions."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from deeplake_lite.query.bind.calls import function_names
from deeplake_lite.query.bind.calls.catalog import catalog_kind
from deeplake_lite.query.bind.expressions.constants import items_of
from deeplake_lite.query.bind.scalars.conversions import by_name
from deeplake_lite.query.bind.scalars.kinds import has_axes, kind_of, lists_json
from deeplake_lite.query.bind.scalars.structs import kind_of_map, kind_of_parts
from deeplake_lite.query.values import (
    ANY,
    JSON,
    NUMBER,
    REAL,
    TEXT,
    TIME,
    Constant,
    Kind,
    Sql,
    Value,
)


def items_in(name: str, at: int, value: Value) -> list[Value]:
    """Return values that have the kinds of the items that an argument adds to a list.

    Parameters
    ----------
    name : str
        The function, such as LIST_APPEND.
    at : int
        Position of the argument.
    value : Value
        The argument: a list, a value to add to a list, or a value to look for in a list.

    Returns
    -------
    list of Value
        The items of a constant list; otherwise one value with the kind of the items, or none if the
        argument adds no items.
    """
    if name in function_names.RESIZES and at == 1:
        return []
    if isinstance(value, Constant) and isinstance(value.value, list):
        return list(items_of(value))
    kind = kind_of(value)
    if kind.name != "list":
        return [] if has_axes(value) else [by_name(value)]
    return [by_name(Sql(exp.null(), kind.item_kind))]


def result_kind(name: str, duckdb_name: str, args: list[Value]) -> Kind:
    """Return the kind of the result of a function that DuckDB computes.

    `name` is the name of the function in the query language, and `duckdb_name` its name in DuckDB.
    """
    first = args[0] if args else None
    if name in function_names.LISTS and first is not None:
        return kind_of(first).as_list
    if name in function_names.GIVES_JSON:
        return JSON
    if name in function_names.HOLDS_PARTS:
        return kind_of_map(args) if name == "MAP" else kind_of_parts(args)
    if name in function_names.EXTENDS_LISTS and any(lists_json(kind_of(a)) for a in args):
        return JSON.as_list
    if name in function_names.JOINS:
        return TEXT
    if name in function_names.COUNTS:
        return NUMBER
    if name in ("RANGE", "GENERATE_SERIES"):  # `growth` rejects times
        return NUMBER.as_list
    if (
        name in function_names.EXTENDS_LISTS
        and (extended := _extended_kind(name, args)) is not None
    ):
        return extended
    if name in function_names.REAL:
        return ANY if first is not None and kind_of(first).name in ("time", "text") else REAL
    if name in function_names.SAME and first is not None:
        kind = kind_of(first)
        if kind.name == "class" and name in function_names.KEEPS_CLASS:
            return kind
        keeps = name in function_names.KEEPS_CLASS and kind.name in ("number", "time")
        htype = kind.htype if keeps else None
        kind_name = kind.name if kind.name != "class" else "number"
        names = () if kind.name == "class" else kind.names
        dtype = kind.dtype if kind.is_clock else ""
        return replace(kind, name=kind_name, names=names, htype=htype, dtype=dtype)
    if name in function_names.LIKE_ARGUMENT and len(args) > function_names.LIKE_ARGUMENT[name]:
        like = args[function_names.LIKE_ARGUMENT[name]]
        kind = kind_of(by_name(like) if kind_of(like).name == "list" else like, plain=True)
        if kind.name in ("json", "class"):  # these become strings
            return TEXT
        if kind.name == "time":  # the result is in microseconds
            return TIME
        return kind.item_kind if name in function_names.ELEMENTS and kind.name == "list" else kind
    if name == "CONCAT" and not {"list", "any", "tensor"} & {kind_of(a).name for a in args}:
        return TEXT
    return TEXT if name in function_names.GIVES_TEXT else catalog_kind(duckdb_name)


def _extended_kind(name: str, args: list[Value]) -> Kind | None:
    """Return the kind of the list that a function such as LIST_APPEND returns.

    Returns None if the items may have different kinds.
    """
    items = {kind_of(item) for at, a in enumerate(args) for item in items_in(name, at, a)}
    if {kind.name for kind in items} == {"number"}:
        return (REAL if any(kind.real for kind in items) else NUMBER).as_list
    items = {replace(kind, htype=None) for kind in items}
    return items.pop().as_list if len(items) == 1 and ANY not in items else None
