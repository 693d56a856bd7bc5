"""The record of copied columns in a commit, with the lineage that an export has recorded.

Copies by `materialize` and `publish` have the same record; see `map.copied`, which reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deeplake_lite.schema import Field

COPIED = "copied"
"""Key of the record in the metadata of a commit."""


def record_lineage(lineage: object, columns: Iterable[Field], how: str) -> dict[str, Any]:
    """Return the record of a commit that writes columns of an export, or an empty dict.

    Parameters
    ----------
    lineage : object
        The lineage in the export, as `map.lineage_of` returns it. If it is not valid, there is no
        record.
    columns : iterable of Field
        The columns of the new lake.
    how : str
        The call that writes the columns.

    Examples
    --------
    >>> record_lineage({"url": "a.lake"}, (), "ingest")
    {}
    """
    match lineage:
        case {
            "url": str(),
            "version": str(),
            "rows": int(),
            "columns": dict(read),
            "computed": list(computed),
        }:
            ids = {f.name: f.id for f in columns if f.name in read or f.name in computed}
            return {COPIED: {"how": how, "lineage": lineage, "ids": ids}} if ids else {}
    return {}
