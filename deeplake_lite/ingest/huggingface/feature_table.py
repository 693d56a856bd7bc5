"""Tables of Hugging Face datasets: Arrow batches, and the columns that their features describe.

A *feature* is the type of a column in the package ``datasets``. An Arrow column of structs may be
divided into *parts*: fields that become columns of their own. A column that is not divided has one
part, the whole column. A `Leaf` describes a part.

If any file in a column has a path, a second column, such as ``image_path``, stores the paths.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.cells import HTYPE
from deeplake_lite.dataset.arrow.features import Feature, align_units, feature_of_kind, features_in
from deeplake_lite.dataset.arrow.leaves import Leaf, leaves
from deeplake_lite.dataset.arrow.types import dtype_of, is_list
from deeplake_lite.dataset.write.tables import exported_htype
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.ingest.huggingface.features import FeatureColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

    from deeplake_lite.htypes import Htype

type Read = Callable[[list[str]], Iterator[pa.RecordBatch]]

OWN = "deeplake_lite"
"""Key of the metadata under which an export from a lake stores the lake's types."""


@dataclass(frozen=True)
class FeatureTable:
    """Arrow batches that are divided into the columns of a lake."""

    schema: pa.Schema
    """Schema with a field for each column of the lake."""

    leaves: Mapping[str, Leaf]
    """Maps the name of each column of the lake to the part of an Arrow column that it stores."""

    columns: Mapping[str, FeatureColumn]
    """Maps the names of columns whose types depend on their features to the columns."""

    features: Mapping[str, Feature]
    """Maps Arrow columns to the features in the metadata, with the time units of the columns."""

    simplified: Mapping[str, Feature]
    """Features, by name, of other Arrow columns whose types have details that a lake does not
    store."""

    read: Read
    """Function that yields batches with the given columns of the lake."""

    @classmethod
    def of(
        cls,
        schema: pa.Schema,
        metadata: Mapping[str, Any],
        read: Read,
        has_paths: Callable[[Leaf], bool] = lambda _: True,
        has_nulls: Callable[[Leaf], bool] | None = None,
    ) -> FeatureTable:
        """Build the table for batches of Arrow columns.

        Parameters
        ----------
        schema : pyarrow.Schema
            Schema of the batches.
        metadata : mapping
            The JSON that ``datasets`` adds to a schema; see `read_metadata`.
        read : callable
            Function that yields batches with the given Arrow columns.
        has_paths : callable
            Function that returns whether any file in a column has a path.
        has_nulls : callable
            Function that returns whether lists of numbers contain nulls. By default, nulls are
            expected in lists that have one number for each struct in a list of structs.

        Raises
        ------
        InvalidValueError
            If a field of a struct would become a column with the name of another column, or if
            types are nested too deeply.
        """
        features, lake_types = features_in(metadata), _LakeTypes.of(metadata)
        try:
            parts = [
                (f, leaf)
                for f in schema
                for whole in _parts(f, features.get(f.name), lake_types)
                for leaf in lake_types.with_paths(whole, has_paths)
                if leaf is whole or leaf.name not in schema.names
            ]
        except UnicodeDecodeError as error:
            raise InvalidValueError(
                "The names of columns and fields must be UTF-8 text, but one of them is not. The "
                "file may be damaged; fetch it again."
            ) from error
        except RecursionError as error:
            raise InvalidValueError(
                "Types must be nested less than 1,000 levels deep, but one column is nested more "
                "deeply. Leave this column out: columns=[…]."
            ) from error
        _check_names(schema, [leaf for _, leaf in parts])
        empty = pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)
        fields, columns = list[pa.Field](), dict[str, FeatureColumn]()
        for f, leaf in parts:
            exact = lake_types.htype(leaf)
            asks = exact is None and _has_numbers(leaf) and exported_htype(f) is None
            column = FeatureColumn.of(
                leaf, has_null_items=asks and (has_nulls or _may_have_nulls)(leaf)
            )
            if column is not None:
                columns[leaf.name] = column if exact is None else column.with_exact_type(exact)
            fields.append(_field(leaf, f, empty, None if column is not None else exact))
        by_name = {leaf.name: leaf for _, leaf in parts}
        types = {f.name: f.type for f in schema}
        return cls(
            pa.schema(fields, schema.metadata),
            by_name,
            columns,
            {
                n: align_units(part, types[n]) if n in types else part
                for n, part in features.items()
            },
            simplified_features(schema, features),
            _Reader(by_name, read),
        )


def simplified_features(schema: pa.Schema, known: Container[str] = ()) -> dict[str, Feature]:
    """Return the features of the columns whose types a lake simplifies, except `known` columns.

    >>> simplified_features(pa.schema({"at": pa.timestamp("s", "UTC"), "n": pa.int8()}))
    {'at': {'dtype': 'timestamp[s, tz=UTC]', '_type': 'Value'}}
    """
    return {
        f.name: feature_of_kind(f.type)
        for f in schema
        if f.name not in known and exported_htype(f) is None and _has_details(f.type)
    }


DESCRIPTIONS = ("description", "citation", "homepage", "license")
"""Keys of a dataset's description that are stored in the metadata of the lake."""


def lake_metadata(
    table: FeatureTable, metadata: Mapping[str, Any], info: Mapping[str, Any] | None = None
) -> dict[str, object]:
    """Return the lake's metadata for a table: the description and the features of the table.

    If the table was exported from a lake, the metadata of that lake is returned. The key
    ``"arrow"`` has the features of Arrow types that the lake simplifies.
    """
    exported = metadata.get(OWN)
    if isinstance(exported, dict) and isinstance(exported.get("metadata"), dict):
        return dict(exported["metadata"])
    recorded = metadata.get("info")
    info = {**(recorded if isinstance(recorded, dict) else {}), **(info or {})}
    items = {key: info[key] for key in DESCRIPTIONS if isinstance(info.get(key), str)}
    items = {key: text for key, text in items.items() if text}
    if table.features:
        items["features"] = dict(table.features)
    content: dict[str, object] = {"huggingface": items} if items else {}
    return (
        {**content, "arrow": {"features": dict(table.simplified)}} if table.simplified else content
    )


@dataclass(frozen=True)
class _Reader:
    """A function that reads columns of the lake from Arrow columns."""

    leaves: Mapping[str, Leaf]
    read: Read

    def __call__(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        parts = [self.leaves[name] for name in names]
        for batch in self.read(list(dict.fromkeys(leaf.path[0] for leaf in parts))):
            arrays = [leaf.part(batch.column(leaf.path[0])) for leaf in parts]
            yield pa.RecordBatch.from_arrays(arrays, names=names)


@dataclass(frozen=True)
class _LakeTypes:
    """Types of columns in the lake from which a table was exported, if it was exported."""

    columns: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> _LakeTypes:
        own = metadata.get(OWN)
        columns = own.get("columns") if isinstance(own, dict) else None
        items = columns.items() if isinstance(columns, dict) else ()
        return cls({name: column for name, column in items if isinstance(column, dict)})

    def htype(self, leaf: Leaf) -> Htype | None:
        """Return the recorded type of a column, unless its feature was changed after the export."""
        column = self.columns.get(leaf.name)
        if column is None or ("path_of" not in column and column.get("feature") != leaf.feature):
            return None
        return _htype_in(column)

    def with_paths(self, leaf: Leaf, has_paths: Callable[[Leaf], bool]) -> Iterator[Leaf]:
        """Yield a part and, if its files have paths, the part with the paths."""
        yield leaf
        if (paths := leaf.paths) is None:
            return
        is_own = self.htype(leaf) is not None
        if paths.name in self.columns if is_own else has_paths(paths):
            yield paths


def _has_numbers(leaf: Leaf) -> bool:
    """Return whether a part has lists of numbers whose nulls must be kept.

    If there is no feature, nulls become NaN or are rejected, as for all Parquet files.
    """
    kind, is_list_of = leaf.kind, False
    while is_list(kind):
        kind, is_list_of = kind.value_type, True
    has_feature = leaf.feature is not None or len(leaf.path) > 1
    return is_list_of and has_feature and dtype_of(kind) is not None


def _may_have_nulls(leaf: Leaf) -> bool:
    """Return whether a part has a number for each struct in a list. These are often null."""
    return len(leaf.path) > 1 and is_list(leaf.kind) and not is_list(leaf.kind.value_type)


def _htype_in(column: Mapping[str, Any]) -> Htype | None:
    """Return the type that the metadata of a column records, or None if it cannot be read."""
    recorded = {HTYPE: json.dumps(column.get("htype"))}
    return exported_htype(pa.field("", pa.null(), metadata=recorded))


def _parts(f: pa.Field, feature: Feature, lake_types: _LakeTypes) -> list[Leaf]:
    """Split an Arrow column into parts, unless it was exported from a single column of a lake."""
    whole = Leaf(f.name, (f.name,), feature, f.type)
    if exported_htype(f) is not None or lake_types.htype(whole) is not None:
        return [whole]
    return leaves(f.name, feature, f.type)


def _field(leaf: Leaf, f: pa.Field, empty: pa.RecordBatch, exact: Htype | None) -> pa.Field:
    """Return the Arrow field for a column of the lake.

    `exact` is the column's type in the lake from which it was exported, if this must be recorded.
    """
    if len(leaf.path) > 1:
        f = pa.field(leaf.name, leaf.part(empty.column(leaf.path[0])).type)
    return f if exact is None else f.with_metadata({HTYPE: json.dumps(exact.get_config())})


def _check_names(schema: pa.Schema, parts: list[Leaf]) -> None:
    """Raise InvalidValueError if two columns have the same name."""
    counts = Counter([*schema.names, *(leaf.name for leaf in parts if len(leaf.path) > 1)])
    for leaf in parts:
        if len(leaf.path) > 1 and counts[leaf.name] > 1:
            raise InvalidValueError(
                f"Column names must be unique, but the field {leaf.name!r} of the struct "
                f"{leaf.path[0]!r} would have the name of another column. Rename one of them."
            )


def _has_details(kind: pa.DataType) -> bool:
    """Return whether an Arrow type has details, such as a time zone, that a lake does not store.

    >>> _has_details(pa.timestamp("s")), _has_details(pa.timestamp("s", "UTC"))
    (False, True)
    """
    if is_list(kind):  # lists of dates become arrays, which are exported as timestamps
        return kinds.is_date32(kind.value_type) or _has_details(kind.value_type)
    if kinds.is_timestamp(kind):
        return kind.tz is not None
    tests = (kinds.is_struct, kinds.is_decimal, kinds.is_time, kinds.is_date64)
    return any(test(kind) for test in tests)


def has_null_items(array: pa.Array) -> bool:
    """Return whether any list in an array of nested lists has a null item.

    >>> has_null_items(pa.array([[1], None])), has_null_items(pa.array([[1, None]]))
    (False, True)
    """
    while is_list(array.type):
        array = array.flatten()
    return bool(array.null_count)


def has_values(array: pa.Array) -> bool:
    """Return whether an array, or any list in it, has a value that is not null.

    >>> has_values(pa.array([[None], []])), has_values(pa.array([[None], ["a"]]))
    (False, True)
    """
    while is_list(array.type):
        array = array.flatten()
    return bool(array.null_count < len(array))
