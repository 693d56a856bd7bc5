"""The metadata of a lake and of its columns, as recorded in an exported file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class ExportedMetadata:
    """The recorded metadata, which is empty if a file has no record."""

    of_dataset: Mapping[str, object] = field(default_factory=dict)
    """The metadata of the lake."""

    of_columns: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Maps the names of columns that have metadata to the metadata."""

    lineage: Mapping[str, object] = field(default_factory=dict)
    """The lineage of the exported rows, see `copied_lineage`."""

    @classmethod
    def of(cls, note: object) -> ExportedMetadata:
        """Return the metadata in a record, which `dataset.export.portable.metadata_of` has built.

        >>> ExportedMetadata.of({"metadata": {"license": "CC0"}, "column_metadata": 3})
        ExportedMetadata(of_dataset={'license': 'CC0'}, of_columns={}, lineage={})
        """
        content = note if isinstance(note, dict) else {}
        dataset, columns = content.get("metadata"), content.get("column_metadata")
        lineage = content.get("lineage")
        by_column = columns if isinstance(columns, dict) else {}
        return cls(
            dataset if isinstance(dataset, dict) else {},
            {name: items for name, items in by_column.items() if isinstance(items, dict)},
            lineage if isinstance(lineage, dict) else {},
        )
