"""The common schema of several Parquet files, and the columns in names of folders.

A column is null in files that do not have it. Types are widened: int32 and int64 become int64, and
integers and floats become float64 if no value is rounded.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as arrow_dataset
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.features import features_in, read_metadata
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NULL = "__HIVE_DEFAULT_PARTITION__"
"""Value in the name of a folder that stands for null."""


def open_files(
    files: Sequence[str], root: str | None, declared: Mapping[str, Any]
) -> arrow_dataset.Dataset:
    """Return an Arrow dataset of files, whose schema has the columns of all files.

    Parameters
    ----------
    files : sequence of str
        The files.
    root : str, optional
        The folder in which subfolders with names such as ``year=2020`` add columns.
    declared : mapping
        Maps the names of columns to the types that the user declares. If the types of a column do
            not fit together, its values are converted to the declared type.

    Raises
    ------
    InvalidValueError
        If the types of a column do not fit together. The error names the file and the column.
    """
    first = arrow_dataset.dataset(files, format="parquet")
    schemas = {f.path: f.physical_schema for f in first.get_fragments()}
    schema = first.schema
    if any(file_schema.metadata != schema.metadata for file_schema in schemas.values()):
        _check_features(schemas)
    if any(not file_schema.equals(schema) for file_schema in schemas.values()):
        schema = _unify(schemas, declared).with_metadata(schema.metadata)
        _check_exact(schemas, schema)
    keys = [] if root is None else _keys(root, files, schema.names)
    if not keys:
        if schema.equals(first.schema):
            return first
        return arrow_dataset.dataset(files, schema=schema, format="parquet")
    return arrow_dataset.dataset(
        files,
        schema=pa.schema([*schema, *keys], schema.metadata),
        format="parquet",
        partitioning=arrow_dataset.partitioning(pa.schema(keys), flavor="hive"),
        partition_base_dir=root,
    )


def _unify(schemas: Mapping[str, pa.Schema], declared: Mapping[str, Any]) -> pa.Schema:
    """Return a schema with the columns of all files.

    Raises InvalidValueError if the types of a column do not fit together.
    """
    columns: dict[str, pa.Field] = {}
    for at, (file, schema) in enumerate(schemas.items()):
        for f in schema:
            known = columns.get(f.name)
            if known is None:
                columns[f.name] = f.with_nullable(f.nullable or at > 0)
            elif not known.equals(f):
                columns[f.name] = _join_fields(known, f, file, declared)
        for name in columns.keys() - {*schema.names}:
            columns[name] = columns[name].with_nullable(True)
    return pa.schema(list(columns.values()))


def _join_fields(a: pa.Field, b: pa.Field, file: str, declared: Mapping[str, Any]) -> pa.Field:
    """Return a field that can hold the values of both fields.

    Raises InvalidValueError if there is no such field.
    """
    nullable = a.nullable or b.nullable
    if kinds.is_dictionary(a.type) != kinds.is_dictionary(b.type):
        a, b = (f.with_type(_without_dictionary(f.type)) for f in (a, b))
    kind = _declared_kind(declared.get(a.name))
    if a.type != b.type and kind == pa.string():
        return a.with_type(kind).with_nullable(nullable)
    try:
        pair = [pa.schema([f.with_nullable(nullable)]) for f in (a, b)]
        joined = pa.unify_schemas(pair, promote_options="permissive").field(0)
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        if kind is None:
            raise _mixed_types_error(a, b, file) from None
        return a.with_type(kind).with_nullable(nullable)
    if kinds.is_binary(joined.type) and not (kinds.is_binary(a.type) and kinds.is_binary(b.type)):
        raise _mixed_types_error(a, b, file)
    return joined


def _mixed_types_error(a: pa.Field, b: pa.Field, file: str) -> InvalidValueError:
    return InvalidValueError(
        f"A column must have compatible types in all files, but column {a.name!r} has the type "
        f"{b.type} in {file!r}, and {a.type} in earlier files. Declare a type that can hold all "
        f"values: schema={{{a.name!r}: dl.Text()}}. Or leave the column out: columns=[…]."
    )


def _without_dictionary(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if kinds.is_dictionary(kind) else kind


def _declared_kind(declared: Any) -> pa.DataType | None:
    """Return the Arrow type for a declared type, or None if Arrow cannot convert values to it.

    >>> _declared_kind("text"), _declared_kind("int8"), _declared_kind("image")
    (DataType(string), DataType(int8), None)
    """
    if declared is None:
        return None
    htype = resolve(declared)
    if htype.sql == "text" or htype.classes is not None:
        return pa.string()
    try:
        return None if htype.scalar is None else pa.from_numpy_dtype(htype.scalar)
    except (pa.ArrowException, TypeError):
        return None


def _check_features(schemas: Mapping[str, pa.Schema]) -> None:
    """Raise InvalidValueError if the metadata of files describes a column in different ways.

    For example, class numbers may have different meanings.
    """
    known: dict[str, object] = {}
    for file, schema in schemas.items():
        for name, feature in features_in(read_metadata(schema)).items():
            if name in schema.names and known.setdefault(name, feature) != feature:
                raise InvalidValueError(
                    f"All files must describe a column in the same way, but {file!r} describes "
                    f"column {name!r} differently from earlier files, for example with other "
                    "classes. Ingest the files one by one."
                )


def _check_exact(schemas: Mapping[str, pa.Schema], schema: pa.Schema) -> None:
    """Raise InvalidValueError if an integer does not fit into its type in the common schema."""
    for file, file_schema in schemas.items():
        names = [f.name for f in file_schema if _may_round(f.type, schema.field(f.name).type)]
        if not names:
            continue
        for batch in arrow_dataset.dataset(file, format="parquet").to_batches(columns=names):
            for name, column in zip(names, batch.columns, strict=True):
                if not _is_exact(column, schema.field(name).type):
                    raise InvalidValueError(
                        "A column must have compatible types in all files, but column "
                        f"{name!r} of {file!r} has integers that the common type "
                        f"{schema.field(name).type} cannot hold. Declare a type that can hold all "
                        f"values: schema={{{name!r}: dl.Text()}}. Or leave the column out: "
                        "columns=[…]."
                    )


def _may_round(kind: pa.DataType, to: pa.DataType) -> bool:
    """Return whether the type `kind` has integers that the type `to` cannot represent exactly.

    >>> _may_round(pa.int64(), pa.float64()), _may_round(pa.int32(), pa.int64())
    (True, False)
    """
    if not kinds.is_integer(kind):
        return False
    return bool(kinds.is_floating(to) or (kinds.is_uint64(kind) and kinds.is_signed_integer(to)))


def _is_exact(column: pa.Array, kind: pa.DataType) -> bool:
    try:
        return bool(pc.cast(column, kind).null_count == column.null_count)
    except pa.ArrowInvalid:
        return False


def _keys(root: str, files: Iterable[str], known: Iterable[str]) -> list[pa.Field]:
    """Return the fields of the columns that the names of folders in `root` add.

    >>> _keys("d", ["d/y=2020/a.parquet", "d/y=2021/b.parquet"], [])
    [pyarrow.Field<y: int64>]
    """
    values: dict[str, list[str]] = {}
    for file in files:
        for part in Path(os.path.relpath(file, root)).parent.parts:
            name, is_key, value = part.partition("=")
            if is_key and name and name not in known:
                values.setdefault(name, []).append(unquote(value))
    return [pa.field(name, _kind_of(texts)) for name, texts in values.items()]


def _kind_of(values: Iterable[str]) -> pa.DataType:
    """Return int64 if all values are integers without leading zeros, and otherwise string."""
    given = [value for value in values if value != NULL]
    return pa.int64() if given and all(map(_INTEGER.fullmatch, given)) else pa.string()


_INTEGER = re.compile("0|-?[1-9][0-9]{0,17}")
