"""Building columns for features that were exported from a lake, with the types of the lake."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deeplake_lite.dataset.arrow.cells import array_of, field_of
from deeplake_lite.dataset.arrow.values import arrow_values
from deeplake_lite.dataset.export.shards.example_columns import SIDECAR
from deeplake_lite.dataset.write.tables import as_exported
from deeplake_lite.errors import InvalidValueError, LakeError
from deeplake_lite.htypes import from_config
from deeplake_lite.ingest.exported_metadata import ExportedMetadata
from deeplake_lite.ingest.shards.feature_columns import raw_values
from deeplake_lite.ingest.shards.flat_columns import FlatRows, feature_names, unflatten
from deeplake_lite.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deeplake_lite.htypes import Htype
    from deeplake_lite.ingest.shards.feature_columns import FeatureColumn
    from deeplake_lite.schema import Field


def lake_columns(
    content: Mapping[str, Any], file: str
) -> tuple[dict[str, FeatureColumn], ExportedMetadata]:
    """Return the columns and the metadata that a file next to the records describes.

    Parameters
    ----------
    content : mapping
        Content of the file that describes the records, ``deeplake_lite.json``.
    file : str
        A record file in the same folder, for messages.

    Raises
    ------
    InvalidValueError
        If the content is not in the form that an export writes.
    """
    try:
        schema = Schema.build({n: from_config(c) for n, c in content["columns"].items()})
    except (LakeError, TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        raise InvalidValueError(
            f"{SIDECAR} next to {file!r} must describe the types of the columns, but it cannot be "
            f"read: {error}. Restore the file, or move the records to another folder."
        ) from error
    return {f.name: _LakeColumn(f) for f in schema}, ExportedMetadata.of(content)


@dataclass(frozen=True)
class _LakeColumn:
    """A column that was exported from a lake."""

    field: Field

    @property
    def name(self) -> str:
        return self.field.name

    @property
    def htype(self) -> Htype:
        return self.field.htype

    @cached_property
    def _empty(self) -> pa.Array:
        return array_of(self.htype, self.htype.encode([]))

    @cached_property
    def features(self) -> tuple[str, ...]:
        return feature_names(self._empty, self.name)

    def read(self, message: Any) -> dict[str, Any] | None:
        """Return a dict from names of features to their values, or None for a null row."""
        features = message.features.feature
        lists = {
            name: raw_values(feature)
            for name in self.features
            if (feature := features.get(name)) is not None
            and feature.WhichOneof("kind") is not None
        }
        return lists or None

    def values(self, cells: Sequence[dict[str, Any] | None]) -> tuple[Any, dict[int, str]]:
        """Return the values of a block, and a dict from positions of invalid rows to reasons."""
        try:
            return self._values(cells), {}
        except ValueError:
            return self._values_by_row(cells)

    def _values_by_row(self, cells: Sequence[dict[str, Any] | None]) -> tuple[Any, dict[int, str]]:
        """Convert rows one by one.

        Returns
        -------
        (values with nulls for invalid rows, dict from positions of invalid rows to error messages)
        """
        bad, valid_cells = dict[int, str](), list(cells)
        for i, cell in enumerate(cells):
            try:
                self._values([cell])
            except ValueError as error:
                bad[i], valid_cells[i] = str(error), None
        return self._values(valid_cells), bad

    def _values(self, cells: Sequence[dict[str, Any] | None]) -> Any:
        present = [i for i, cell in enumerate(cells) if cell is not None]
        rows = FlatRows([cell for cell in cells if cell is not None])
        classes = self.htype.classes.names if self.htype.classes is not None else self._item_classes
        array = unflatten(self._empty.type, self.name, rows, classes)
        if len(present) < len(cells):
            at = np.full(len(cells), -1)
            at[present] = np.arange(len(present))
            array = array.take(pa.array(at, mask=at < 0))
        return as_exported(arrow_values(array, self.htype), field_of(self.field))

    @cached_property
    def _item_classes(self) -> Sequence[str]:
        item = self.htype.item
        while item is not None:
            if item.classes is not None:
                return item.classes.names
            item = item.item
        return ()
