"""Marks in Arrow tables that tell which strings in DuckDB's result are JSON.

DuckDB exports JSON to Arrow as strings. Therefore, metadata is added to the fields of the Arrow
table that contain JSON, including fields within lists, structs and maps. A field with this metadata
is called marked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deeplake_lite.dataset.arrow.types import is_list
from deeplake_lite.query.database.json_keys import read_json

if TYPE_CHECKING:
    from duckdb.sqltypes import DuckDBPyType

_METADATA = {b"deeplake_lite.json": b""}


def mark_json(table: pa.Table, types: list[DuckDBPyType]) -> pa.Table:
    """Return a table whose JSON fields are marked.

    Parameters
    ----------
    table : pyarrow.Table
        The result from DuckDB.
    types : list
        DuckDB's types of the columns.
    """
    if not any("JSON" in str(type_) for type_ in types):
        return table
    fields = [_mark(f, type_) for f, type_ in zip(table.schema, types, strict=True)]
    columns = [c.cast(f.type) for c, f in zip(table.columns, fields, strict=True)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def is_json(field: pa.Field) -> bool:
    """Return whether a field is marked as JSON."""
    return field.metadata is not None and next(iter(_METADATA)) in field.metadata


def _mark(field: pa.Field, type_: Any) -> pa.Field:
    """Return a field in which JSON is marked, at any depth of nested types.

    `type_` is DuckDB's type of the field.
    """
    if str(type_) == "JSON":
        return field.with_metadata(_METADATA)
    kind = field.type
    if type_.id in ("struct", "tuple"):
        parts = zip(kind, type_.children, strict=True)
        return field.with_type(pa.struct([_mark(f, part) for f, (_, part) in parts]))
    if type_.id == "map":
        (_, key), (_, value) = type_.children
        items = _mark(kind.key_field, key), _mark(kind.item_field, value)
        return field.with_type(pa.map_(*items))
    if type_.id == "list":
        return field.with_type(pa.list_(_mark(kind.value_field, type_.children[0][1])))
    return field


def parse_within(value: Any, kind: pa.DataType) -> Any:
    """Return a Python value of a nested Arrow type. JSON in marked fields is parsed.

    >>> kind = pa.struct([pa.field("k", pa.string(), metadata=_METADATA)])
    >>> parse_within({"k": '{"a": 1}'}, kind)
    {'k': {'a': 1}}
    """
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {f.name: _parse_part(value[f.name], f) for f in kind}
    if pa.types.is_map(kind):
        return [
            (_parse_part(key, kind.key_field), _parse_part(item, kind.item_field))
            for key, item in value
        ]
    if is_list(kind):
        return [_parse_part(item, kind.value_field) for item in value]
    return value


def _parse_part(value: Any, field: pa.Field) -> object:
    if is_json(field):
        return None if value is None else read_json(value)
    return parse_within(value, field.type)
