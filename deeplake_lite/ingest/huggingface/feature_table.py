"""Tables of Hugging Face: Arrow batches, and the columns that their features describe.

A column of files has a second column with their paths, ``image_path``, if any file has a path.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deeplake_lite.dataset.arrow.cells import HTYPE
from deeplake_lite.dataset.write.tables import exported_htype
from deeplake_lite.ingest.huggingface.features import (
    FeatureColumn,
    columns_of,
    features_in,
    holds_files,
    path_column,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

type Read = Callable[[list[str]], Iterator[pa.RecordBatch]]

OWN = "deeplake_lite"
"""Key in the metadata for the types of the lake that the table was exported from."""


@dataclass(frozen=True)
class FeatureTable:
    """Batches whose columns are those of a lake."""

    schema: pa.Schema
    """A field for each column of the lake."""

    columns: Mapping[str, FeatureColumn]
    """The columns whose features add to their Arrow type."""

    read: Read
    """Reads the batches of columns of the lake."""

    @classmethod
    def of(
        cls,
        schema: pa.Schema,
        metadata: Mapping[str, Any],
        read: Read,
        has_paths: Callable[[str], bool] = lambda _: True,
    ) -> FeatureTable:
        """Return the table for batches that `read` reads by the names of their Arrow columns.

        Parameters
        ----------
        schema : pyarrow.Schema
            Schema of the batches.
        metadata : mapping
            The JSON that ``datasets`` adds to a schema; see `read_metadata`.
        read : callable
            Reads the batches of Arrow columns.
        has_paths : callable
            Returns whether a column of files has any paths.
        """
        features = features_in(metadata)
        own = _own_fields(schema, metadata, features)
        columns = {
            name: replace(column, htype=htype, exact=True)
            if (htype := exported_htype(own.get(name))) is not None
            else column
            for name, column in columns_of(schema, features).items()
        }
        fields, given = list[pa.Field](), dict[str, FeatureColumn]()
        empty = pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)
        for f in schema:
            parts = [column for column in columns.values() if column.path[0] == f.name]
            if not parts:
                fields.append(own.get(f.name, f))
            for column in parts:
                fields.append(_field(column, f, empty))
                given[column.name] = column
                if f.name in features and _needs_path(column, f, own, has_paths):
                    path = path_column(column)
                    if path.name not in schema.names:
                        fields.append(_field(path, f, empty))
                        given[path.name] = path
        return cls(pa.schema(fields, schema.metadata), given, _Reader(given, read))


DESCRIPTIONS = ("description", "citation", "homepage", "license")
"""Parts of the information on a dataset that are kept in the metadata of the lake."""


def lake_metadata(
    metadata: Mapping[str, Any], info: Mapping[str, Any] | None = None
) -> dict[str, dict[str, object]]:
    """Return the items of the lake's metadata for a table: its description and its features.

    A table that was exported from a lake has the metadata of that lake.

    >>> lake_metadata({"info": {"description": "Flowers", "citation": ""}})
    {'huggingface': {'description': 'Flowers'}}
    """
    own = metadata.get(OWN)
    if isinstance(own, dict) and isinstance(own.get("metadata"), dict):
        return {k: v for k, v in own["metadata"].items() if isinstance(v, dict)}
    noted = metadata.get("info")
    info = {**(noted if isinstance(noted, dict) else {}), **(info or {})}
    items = {key: info[key] for key in DESCRIPTIONS if isinstance(info.get(key), str)}
    items = {key: text for key, text in items.items() if text}
    if features := features_in(metadata):
        items["features"] = features
    return {"huggingface": items} if items else {}


@dataclass(frozen=True)
class _Reader:
    """Reads columns of the lake."""

    columns: Mapping[str, FeatureColumn]
    read: Read

    def __call__(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        sources = [self.columns[n].path[0] if n in self.columns else n for n in names]
        for batch in self.read(list(dict.fromkeys(sources))):
            yield pa.RecordBatch.from_arrays(
                [
                    self.columns[name].part(batch) if name in self.columns else batch.column(name)
                    for name in names
                ],
                names=names,
            )


def _field(column: FeatureColumn, f: pa.Field, empty: pa.RecordBatch) -> pa.Field:
    return pa.field(
        column.name, column.part(empty).type, nullable=f.nullable or len(column.path) > 1
    )


def _own_fields(
    schema: pa.Schema, metadata: Mapping[str, Any], features: Mapping[str, Any]
) -> dict[str, pa.Field]:
    """Return fields with the types of the lake that the table was exported from.

    A column whose feature has been changed since is not one of them.
    """
    own = metadata.get(OWN)
    columns = own.get("columns") if isinstance(own, dict) else None
    fields = dict[str, pa.Field]()
    for name, column in (columns if isinstance(columns, dict) else {}).items():
        if not isinstance(column, dict):
            continue
        noted = {HTYPE: json.dumps(column.get("htype"))}
        if name in schema.names and features.get(name) == column.get("feature"):
            fields[name] = schema.field(name).with_metadata(noted)
        elif column.get("path_of") in schema.names:
            fields[name] = pa.field(name, pa.string(), metadata=noted)
    return fields


def _needs_path(
    column: FeatureColumn,
    f: pa.Field,
    own: Mapping[str, pa.Field],
    has_paths: Callable[[str], bool],
) -> bool:
    if len(column.path) > 1 or not holds_files(column, f.type):
        return False
    return f"{column.name}_path" in own if column.exact else has_paths(column.name)
