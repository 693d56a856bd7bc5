"""Where there is JSON in a result: DuckDB's types say it, and Arrow's call it text.

The types of the Arrow fields are noted with it, also of those within lists, structs and maps.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from deeplake_lite.dataset.arrow.types import is_list

_NOTE = {b"deeplake_lite.json": b""}


def note_json(table: pa.Table, types: list[Any]) -> pa.Table:
    """Return a table whose fields of JSON are noted.

    Parameters
    ----------
    table : pyarrow.Table
        What DuckDB gave.
    types : list
        DuckDB's types of its columns.
    """
    if not any("JSON" in str(type_) for type_ in types):
        return table
    fields = [_noted(f, type_) for f, type_ in zip(table.schema, types, strict=True)]
    columns = [c.cast(f.type) for c, f in zip(table.columns, fields, strict=True)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def is_json(field: pa.Field) -> bool:
    """Tell whether a field is noted as JSON."""
    return field.metadata is not None and next(iter(_NOTE)) in field.metadata


def _noted(field: pa.Field, type_: Any) -> pa.Field:
    """Return a field with notes on itself and on what is within it."""
    if str(type_) == "JSON":
        return field.with_metadata(_NOTE)
    kind = field.type
    if type_.id in ("struct", "tuple"):
        parts = zip(kind, type_.children, strict=True)
        return field.with_type(pa.struct([_noted(f, part) for f, (_, part) in parts]))
    if type_.id == "map":
        (_, key), (_, value) = type_.children
        items = _noted(kind.key_field, key), _noted(kind.item_field, value)
        return field.with_type(pa.map_(*items))
    if type_.id == "list":
        return field.with_type(pa.list_(_noted(kind.value_field, type_.children[0][1])))
    return field


def parsed(value: Any, kind: pa.DataType) -> Any:
    """Return a value of nested type, from Arrow as Python's, with JSON for its text.

    >>> parsed({"k": '{"a": 1}'}, pa.struct([pa.field("k", pa.string(), metadata=_NOTE)]))
    {'k': {'a': 1}}
    """
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {f.name: _parsed_part(value[f.name], f) for f in kind}
    if pa.types.is_map(kind):
        return [
            (_parsed_part(key, kind.key_field), _parsed_part(item, kind.item_field))
            for key, item in value
        ]
    if is_list(kind):
        return [_parsed_part(item, kind.value_field) for item in value]
    return value


def _parsed_part(value: Any, field: pa.Field) -> Any:
    if is_json(field):
        return None if value is None else json.loads(value)
    return parsed(value, field.type)
