"""Convert the metadata of Arrow schemas and fields to metadata of a dataset and its columns.

Metadata that was exported from a lake is restored. Items from other programs are kept as strings,
except those that libraries write for their own use, such as ``pandas``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from deeplake_lite.dataset.arrow.cells import HTYPE, METADATA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

_LIBRARY_KEYS = frozenset({HTYPE, METADATA, "huggingface", "pandas"})
_LIBRARY_PREFIXES = ("ARROW:", "PARQUET:", "lance-", "lance:")


def schema_metadata(schema: pa.Schema, key: str) -> dict[str, object]:
    """Return the metadata of a dataset, in which items of other programs are stored under `key`.

    >>> import pyarrow as pa
    >>> schema_metadata(pa.schema([], {"license": "CC0", "pandas": "{}"}), "parquet")
    {'parquet': {'license': 'CC0'}}
    """
    exported, users = _split(schema.metadata)
    return {**exported, **({key: users} if users else {})}


def field_metadata(fields: Iterable[pa.Field]) -> dict[str, dict[str, object]]:
    """Return a dict from names of columns to metadata, for columns that have metadata.

    >>> import pyarrow as pa
    >>> field_metadata([pa.field("t", pa.int8(), metadata={"unit": "K"}), pa.field("n", pa.int8())])
    {'t': {'unit': 'K'}}
    """
    parts = {f.name: _split(f.metadata) for f in fields}
    return {
        name: {**users, **exported}
        for name, (exported, users) in parts.items()
        if users or exported
    }


def _split(
    metadata: Mapping[bytes, bytes] | None,
) -> tuple[dict[str, object], dict[str, object]]:
    """Return two dicts: items that were exported from a lake, and items of other programs."""
    texts = {
        key.decode(errors="replace"): value.decode(errors="replace")
        for key, value in (metadata or {}).items()
    }
    users: dict[str, object] = {
        key: text
        for key, text in texts.items()
        if key not in _LIBRARY_KEYS and not key.startswith(_LIBRARY_PREFIXES)
    }
    return _parse(texts.get(METADATA, "{}")), users


def _parse(text: str) -> dict[str, object]:
    """Parse a JSON object. If this fails, return an empty dict."""
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return items if isinstance(items, dict) else {}
