"""The texts by which SQL compares JSON values, as a function that DuckDB calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from deeplake_lite.errors import DamagedError
from deeplake_lite.htypes.json import parse_json
from deeplake_lite.htypes.json_values import canonical_json

if TYPE_CHECKING:
    import duckdb

JSON_KEY = "lake_json_key"
"""Name of the function: from the text of a JSON value to the one that equal values share."""

_IS_CANONICAL = re.compile(
    r'true|false|-?[1-9][0-9]*|0|"[^"\\\x00-\x1f\x7f-\U0010ffff]*"'
).fullmatch
"""Matches texts that are their own keys."""


def keys_of(texts: pa.Array) -> pa.Array:
    """Return the key of each JSON value, by which equal ones are found; JSON's null is null.

    >>> keys_of(pa.array(['{"b":1.0,"a":2}', '{"a":2,"b":1}', "null", None])).to_pylist()
    ['{"a": 2, "b": 1}', '{"a": 2, "b": 1}', None, None]
    """
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    known = texts.dictionary_encode()
    keys = pa.array([_key(text) for text in known.dictionary.to_pylist()], pa.string())
    return keys.take(known.indices)


def _key(text: str) -> str | None:
    if _IS_CANONICAL(text):
        return text
    try:
        value = parse_json(text)
        return None if value is None else canonical_json(value)
    except (DamagedError, ValueError, RecursionError):  # what no reader of JSON takes
        return text


def create_json_key(connection: duckdb.DuckDBPyConnection) -> None:
    """Let queries of a database call the function."""
    from duckdb.func import FunctionNullHandling, PythonUDFType

    connection.create_function(
        JSON_KEY,
        keys_of,
        ["VARCHAR"],
        "VARCHAR",
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )
