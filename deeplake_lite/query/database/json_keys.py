"""Define the SQL function with which DuckDB compares JSON values, and read JSON from results.

The SQL function returns the canonical form of a JSON value, which is the same string for all equal
values.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deeplake_lite.brief import brief
from deeplake_lite.errors import DamagedError, QueryError
from deeplake_lite.htypes.json import parse_json
from deeplake_lite.htypes.json_values import canonical_json

if TYPE_CHECKING:
    import duckdb

JSON_KEY = "lake_json_key"
"""Name of the SQL function, which takes and returns JSON text."""

_IS_CANONICAL = re.compile(
    r'true|false|-?[1-9][0-9]*|0|"[^"\\\x00-\x1f\x7f-\U0010ffff]*"'
).fullmatch
"""Matches JSON text that is a simple value, such as a number, in canonical form."""


def keys_of(texts: pa.Array) -> pa.Array:
    """Return each JSON value in canonical form. A JSON null becomes null.

    >>> keys_of(pa.array(['{"b":1.0,"a":2}', '{"a":2,"b":1}', "null", None])).to_pylist()
    ['{"a": 2, "b": 1}', '{"a": 2, "b": 1}', None, None]
    """
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    encoded = texts.dictionary_encode()
    keys = pa.array([_key(text) for text in encoded.dictionary.to_pylist()], pa.string())
    return keys.take(encoded.indices)


def _key(text: str) -> str | None:
    if _IS_CANONICAL(text):
        return text
    try:
        value = parse_json(text)
        return None if value is None else canonical_json(value)
    except (DamagedError, ValueError, RecursionError):  # not JSON, so compare the text
        return text


def read_json(text: str) -> Any:
    """Parse a JSON document from the result of a query.

    >>> read_json("[1, null]")
    [1, None]

    Raises
    ------
    QueryError
        If the document is nested too deeply for Python.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise QueryError(
            f"JSON in results may be nested up to about {sys.getrecursionlimit():,} levels deep, "
            f"Python's recursion limit, but a value is nested more deeply: {brief(text)}. Return "
            "the value as a string with CAST(x AS TEXT), or select a part of it."
        ) from error


def create_json_key(connection: duckdb.DuckDBPyConnection) -> None:
    """Register the SQL function in a database."""
    from duckdb.func import FunctionNullHandling, PythonUDFType

    connection.create_function(
        JSON_KEY,
        keys_of,
        ["VARCHAR"],
        "VARCHAR",
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )
