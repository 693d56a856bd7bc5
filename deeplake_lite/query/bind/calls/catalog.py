"""DuckDB's catalog of functions, limited to those that queries may call."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from deeplake_lite.query.bind.calls.allowed import ALLOWED, GRAMMAR
from deeplake_lite.query.database.connect import connect
from deeplake_lite.query.values import ANY, BOOL, BYTES, NANOSECONDS, NUMBER, REAL, TEXT, TIME, Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_QUERY = """
    SELECT function_name, list(DISTINCT return_type),
        bool_and(function_type <> 'macro' AND NOT list_has_any(
            parameter_types, ['VARCHAR', 'ANY', 'T', 'K', 'V', 'JSON', 'ANY[]', 'T[]'])),
        bool_or(list_contains(parameter_types, 'TIMESTAMP_NS'))
            AND NOT bool_or(list_contains(parameter_types, 'TIMESTAMP_S')),
        bool_and(function_type = 'scalar')
            AND bool_or(list_contains(parameter_types, 'TIMESTAMP'))
            AND NOT bool_or(list_contains(parameter_types, 'TIMESTAMP_NS'))
    FROM duckdb_functions() GROUP BY ALL
"""

_INTEGERS = {
    f"{sign}{size}" for sign in ("", "U")
    for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
} | {"BIGNUM"}  # fmt: skip

_KINDS = {
    TEXT: {"VARCHAR"},
    BOOL: {"BOOLEAN"},
    BYTES: {"BLOB"},
    TIME: {"DATE", "TIMESTAMP", "TIMESTAMP_NS"},
    NUMBER: _INTEGERS | {"DECIMAL"},
    REAL: _INTEGERS | {"DECIMAL", "FLOAT", "DOUBLE"},
}
"""Maps each kind to the DuckDB types of this kind. The kind of a function's results is the first
kind that includes all return types of the function."""


class Function(NamedTuple):
    """Facts about all overloads of a function in the catalog."""

    types: frozenset[str | None]
    """The return types of the overloads. None stands for a return type that is not known."""
    takes_no_text: bool
    """Whether no overload accepts strings or values of any type."""
    takes_nanoseconds: bool
    """Whether an overload accepts timestamps in nanoseconds, and none accepts seconds."""
    casts_moments: bool
    """Whether DuckDB casts timestamps in nanoseconds to microseconds to call the function."""


@cache
def catalog() -> Mapping[str, Function]:
    """Return a dict that maps the lowercase names of functions that queries may call to facts."""
    with connect() as connection:
        rows = connection.sql(_QUERY).fetchall()
    listed = {name.lower(): Function(frozenset(types), *facts) for name, types, *facts in rows}
    unlisted = Function(
        frozenset([None]), takes_no_text=False, takes_nanoseconds=False, casts_moments=False
    )
    return {name: listed.get(name, unlisted) for name in GRAMMAR | ALLOWED & listed.keys()}


def catalog_kind(name: str) -> Kind:
    """Return the kind of a function's results, or `ANY` if the kind depends on the arguments.

    >>> [catalog_kind(name).name for name in ("UPPER", "MAKE_DATE", "YEAR", "GREATEST")]
    ['text', 'time', 'number', 'any']
    >>> catalog_kind("STRING_SPLIT").item_kind.name
    'text'
    """
    types = catalog()[name.lower()].types
    if types == {"TIMESTAMP_NS"}:
        return NANOSECONDS
    of_lists = {type_[:-2] for type_ in types if type_ is not None and type_.endswith("[]")}
    if len(of_lists) == len(types):
        item = _kind_of(of_lists)
        return ANY if item == ANY else item.as_list
    return _kind_of(types)


def _kind_of(types: Collection[str | None]) -> Kind:
    """Return the first kind that includes all of the given types, or `ANY` if no kind does."""
    return next((kind for kind, covered in _KINDS.items() if {*types} <= covered), ANY)


def takes_no_text(name: str) -> bool:
    """Return whether no overload of a function accepts strings or values of any type.

    >>> takes_no_text("MOD"), takes_no_text("CONCAT"), takes_no_text("LEFT")
    (True, False, False)
    """
    return catalog()[name.lower()].takes_no_text


def takes_nanoseconds(name: str) -> bool:
    """Return whether an overload accepts timestamps in nanoseconds, and none accepts seconds."""
    return catalog()[name.lower()].takes_nanoseconds


def casts_moments(name: str) -> bool:
    """Return whether a function accepts timestamps in microseconds but not in nanoseconds.

    >>> casts_moments("YEAR"), casts_moments("STRFTIME"), casts_moments("MAX")
    (True, False, False)
    """
    return catalog()[name.lower()].casts_moments
