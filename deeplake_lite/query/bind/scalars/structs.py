"""Lower structs and maps, and record the kinds of their parts, on which comparisons depend."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.bind.expressions.constants import items_of
from deeplake_lite.query.bind.scalars import beside_floats
from deeplake_lite.query.bind.scalars.agreement import agree, check_times_beside_json
from deeplake_lite.query.bind.scalars.conversions import as_part, scalar_to_sql
from deeplake_lite.query.bind.scalars.kinds import kind_of
from deeplake_lite.query.values import ANY, Constant, Kind, Sql, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.bind.scope import Scope


def struct_of(low: Lowering, e: exp.Struct, scope: Scope) -> Sql:
    """Lower a struct, ``{'a': x}``, or the pairs of keys and values in a map."""
    pairs = [property_of(low, pair, scope) for pair in e.expressions]
    node = e.copy()
    node.set("expressions", [pair.node for pair in pairs])
    return Sql(node, kind_of_parts(pairs))


def property_of(low: Lowering, e: exp.PropertyEQ, scope: Scope) -> Sql:
    """Lower ``'a': x`` in a struct, or ``a := x`` in a call, as a struct with one field."""
    value = low.types.refine(as_part(scalar_to_sql(low.value(e.expression, scope), low, scope)))
    name = e.this.copy() if isinstance(e.this, exp.Identifier) else low.sql(e.this, scope)
    node = exp.PropertyEQ(this=name, expression=low.as_sql(value, scope))
    return Sql(node, Kind(parts=((e.this.name, _plain(value)),)))


def kind_of_parts(values: Iterable[Value]) -> Kind:
    """Return the kind of a struct or map that is built from the given values."""
    parts: list[tuple[str, Kind]] = []
    for value in values:
        is_named = isinstance(value, Sql) and isinstance(value.node, exp.PropertyEQ)
        parts += kind_of(value).parts if is_named else [("", _plain(value))]
    return Kind(parts=tuple(parts))


def kind_of_map(values: Sequence[Value]) -> Kind:
    """Return the kind of a map that is built from a list of keys and a list of values."""
    kind = kind_of_parts(values)
    keys = values[0] if len(values) == 2 else None
    if isinstance(keys, Constant) and isinstance(keys.value, list):
        kinds = {kind_of(item) for item in items_of(keys)}
        return replace(kind, key=kinds.pop() if len(kinds) == 1 else ANY)
    return kind if keys is None else replace(kind, key=kind_of(keys).item_kind)


_MAPS = {"ELEMENT_AT", "MAP_CONTAINS", "MAP_CONTAINS_ENTRY", "MAP_EXTRACT", "MAP_EXTRACT_VALUE"}
"""Functions that look up a key in a map."""

_MAP_VALUES = {"MAP_CONTAINS_ENTRY": 2, "MAP_CONTAINS_VALUE": 1}
"""Maps functions that search a map for a value to the position of the argument that is this
value."""

_STRUCTS = {"STRUCT_CONTAINS", "STRUCT_POSITION"}
"""Functions that search a struct whose fields have no names for a value."""

LOOKUPS = _MAPS | _MAP_VALUES.keys() | _STRUCTS
"""Functions that `check_lookup` checks."""


def check_sought(kind: Kind, sought: Value) -> None:
    """Check that values of a kind can be searched for the value `sought`.

    Raises
    ------
    QueryTypeError
        If integers are searched for a float or floats for an integer, so that DuckDB might round
        the integers, or if one of the two is JSON and the other a time.
    """
    check_times_beside_json(Sql(exp.null(), kind), sought)
    if beside_floats.are_mixed(kind, kind_of(sought)):
        raise QueryTypeError(
            "A float cannot be looked up among integers, nor an integer among floats, because SQL "
            "would round the integers. CAST the value that you look up: CAST(x AS BIGINT), or "
            "CAST(x AS DOUBLE)."
        )


def check_lookup(name: str, args: Sequence[Value]) -> None:
    """Call `check_sought` for all keys and values that a function looks for in a map or struct."""
    for at, kind in _sought_kinds(name, args):
        check_sought(kind, args[at])


def with_sought_times(name: str, args: Sequence[Value]) -> list[Value]:
    """Return the arguments of a lookup in a map or struct.

    A constant string that is looked for among times is parsed as a time.
    """
    args = list(args)
    for at, kind in _sought_kinds(name, args):
        value = args[at]
        if kind.name == "time" and isinstance(value, Constant) and isinstance(value.value, str):
            args[at] = agree(value, Sql(exp.null(), kind))
    return args


def _sought_kinds(name: str, args: Sequence[Value]) -> list[tuple[int, Kind]]:
    """Return which arguments a function looks for, and the kinds of the values that it searches.

    The result is a list of pairs of an argument's position and a kind.
    """
    if len(args) < 2:
        return []
    kind = kind_of(args[0])
    if name in _STRUCTS:
        return [(1, part) for _, part in kind.parts]
    if kind.key is None:
        return []
    sought = [(1, kind.key)] if name in _MAPS else []
    at = _MAP_VALUES.get(name)
    if at is not None and len(args) > at:
        sought.append((at, kind.parts[-1][1].item_kind))
    return sought


def kind_of_part(kind: Kind, name: str) -> Kind:
    """Return the kind of the field `name` of a struct, or `ANY` if it is unknown."""
    return next((part for key, part in kind.parts if key == name), ANY)


def _plain(value: Value) -> Kind:
    return kind_of(value).computed
