"""Deciding whether a pandas index becomes columns, and choosing their names.

An unnamed index of integers is left out, because it only numbers the rows, perhaps with gaps after
filtering. Any other index is data, and becomes columns as in ``df.reset_index()``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.dataset.write.tables import unnamed_indexes

if TYPE_CHECKING:
    from collections.abc import Container

    import pandas as pd


def is_kept(index: pd.Index) -> bool:
    """Return whether an index becomes columns.

    >>> import pandas as pd
    >>> is_kept(pd.Index([3, 1])), is_kept(pd.Index([3, 1], name="id")), is_kept(pd.Index(["a"]))
    (False, True, True)
    """
    if not len(index) and index.nlevels == 1 and index.dtype == object and index.name is None:
        return False  # the index of a frame without rows
    if any(name is not None for name in index.names):
        return True
    levels = [index.get_level_values(i) for i in range(index.nlevels)]
    return any(level.dtype.kind not in "iu" for level in levels)


def default_names(levels: int, taken: Container[str]) -> list[str]:
    """Return the names that pandas chooses for the levels of an unnamed index.

    >>> default_names(1, []), default_names(1, ["index"]), default_names(2, [])
    (['index'], ['level_0'], ['level_0', 'level_1'])
    """
    if levels == 1 and "index" not in taken:
        return ["index"]
    return [f"level_{i}" for i in range(levels)]


def kept_indexes(schema: pa.Schema) -> dict[str, str]:
    """Return a dict from the columns in an Arrow schema that hold a kept index to their new names.

    >>> import pandas as pd, pyarrow as pa
    >>> kept_indexes(pa.Table.from_pandas(pd.DataFrame({"a": [1]}, index=["x"])).schema)
    {'__index_level_0__': 'index'}
    """
    unnamed = unnamed_indexes(schema)
    has_names = bool({*_stored_indexes(schema)} - {*unnamed})
    if not has_names and all(kinds.is_integer(schema.field(name).type) for name in unnamed):
        return {}
    if not has_names and len(unnamed) == 1:
        names = default_names(1, schema.names)
    else:
        names = [f"level_{name.removeprefix('__index_level_')[:-2]}" for name in unnamed]
    pairs = zip(unnamed, names, strict=True)
    return {old: new for old, new in pairs if new not in schema.names}


def with_kept_indexes(schema: pa.Schema) -> pa.Schema:
    """Return an Arrow schema in which the columns of a kept index have their new names."""
    names = kept_indexes(schema)
    fields = [f.with_name(names.get(f.name, f.name)) for f in schema]
    return schema if not names else pa.schema(fields, schema.metadata)


def _stored_indexes(schema: pa.Schema) -> list[str]:
    """Return the names of the columns that hold an index, as listed in pandas' metadata."""
    try:
        content = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        return [name for name in content["index_columns"] if name in schema.names]
    except (ValueError, RecursionError, LookupError, TypeError):
        return []
