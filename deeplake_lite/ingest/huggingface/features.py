"""The column types of Hugging Face's features, which the metadata of their files describes.

A feature is the JSON that ``datasets`` writes: ``{"_type": "ClassLabel", "names": ["cat"]}``.

- ClassLabel becomes `ClassLabel`; -1, which stands for no label, becomes null.
- Image becomes `Image`, and Audio, Video and other files become `Bytes`.
- Array2D to Array5D become `Array` of that shape, and Json becomes `Json`.
- Lists of these become `Sequence`. Structs become `Json`, with the names of classes. A struct that
  holds files has a column for each of its fields instead, ``"pair.left"``.
- Anything else has the type that its Arrow type has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.objects import objects_in
from deeplake_lite.dataset.arrow.types import dtype_of, is_bytes, is_list, unwrapped
from deeplake_lite.dataset.arrow.values import arrow_values
from deeplake_lite.errors import InvalidValueError, LakeError
from deeplake_lite.htypes import Array, Bytes, ClassLabel, Htype, Image, Json, Sequence, Text
from deeplake_lite.ingest.tables.columns import htype_of

if TYPE_CHECKING:
    from collections.abc import Iterator

type Feature = Any
"""A feature as JSON: a dict with the key ``_type``, or a dict or list of features."""

KEY = b"huggingface"
"""Key in the metadata of a schema for the features, as JSON."""

LISTS = ("List", "LargeList", "Sequence")
ARRAYS = ("Array2D", "Array3D", "Array4D", "Array5D")


@dataclass(frozen=True)
class FeatureColumn:
    """A column of a lake that is read from an Arrow column, or from a part of it."""

    name: str
    """Name of the column."""

    path: tuple[str, ...]
    """The Arrow column, then the names of nested fields."""

    feature: Feature
    """Its feature."""

    htype: Htype
    """Its type, without nulls unless it is exact."""

    exact: bool = False
    """Whether the type is that of the lake from which the column was exported."""

    def type_of(self, *, nullable: bool) -> Htype:
        """Return the type of the column, which takes nulls if the type is not exact."""
        return self.htype if self.exact else replace(self.htype, nullable=nullable)

    def part(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the column's part of a batch."""
        array = batch.column(self.path[0])
        for name in self.path[1:]:
            array = _child(array, name)
        return array

    def values(self, array: pa.Array) -> object:
        """Return the values of the column for its type."""
        if not _is_special(self.feature) or _type(self.feature) in ARRAYS:
            return arrow_values(array, self.htype)
        is_parsed = _has_json(array.type)  # objects_in parses JSON
        return [_restored(value, self.feature, is_parsed) for value in objects_in(array)]


def read_metadata(schema: pa.Schema) -> dict[str, Any]:
    """Return the JSON that ``datasets`` adds to a schema; an empty dict if there is none.

    >>> text = '{"info": {"features": {"x": {"dtype": "int8", "_type": "Value"}}}}'
    >>> read_metadata(pa.schema([], {"huggingface": text}))["info"]
    {'features': {'x': {'dtype': 'int8', '_type': 'Value'}}}
    """
    try:
        content = json.loads((schema.metadata or {}).get(KEY, b"{}"))
    except (ValueError, RecursionError):
        return {}  # the Arrow types alone describe the columns
    return content if isinstance(content, dict) else {}


def features_in(metadata: Mapping[str, Any]) -> dict[str, Feature]:
    """Return the features by column that the metadata of a schema describes.

    >>> features_in({"info": {"features": {"x": {"_type": "Json"}}}})
    {'x': {'_type': 'Json'}}
    """
    info = metadata.get("info")
    features = info.get("features") if isinstance(info, dict) else None
    return features if isinstance(features, dict) else {}


def columns_of(schema: pa.Schema, features: Mapping[str, Feature]) -> dict[str, FeatureColumn]:
    """Return the columns for the fields of a schema whose features add to their Arrow types.

    Raises
    ------
    InvalidValueError
        If the parts of a struct need a name that another column has.

    Examples
    --------
    >>> schema = pa.schema({"label": pa.int64(), "x": pa.int8()})
    >>> columns_of(schema, {"label": {"_type": "ClassLabel", "names": ["a"]}})["label"].htype
    ClassLabel(['a'])
    """
    columns: dict[str, FeatureColumn] = {}
    for f in schema:
        for column in _columns(f.name, (f.name,), features.get(f.name), f.type):
            if column.name in columns or (column.name != f.name and column.name in schema.names):
                raise InvalidValueError(
                    f"Column names must be unique, but a part of {f.name!r} needs the name "
                    f"{column.name!r} of another column. Rename one of them."
                )
            columns[column.name] = column
    return columns


def path_column(column: FeatureColumn) -> FeatureColumn:
    """Return the column with the paths of a column of files."""
    text = {"_type": "Value", "dtype": "string"}
    return FeatureColumn(f"{column.name}_path", (*column.path, "path"), text, Text())


def holds_files(column: FeatureColumn, kind: pa.DataType) -> bool:
    """Return whether the Arrow column of a column has structs of bytes and path."""
    for name in column.path[1:]:
        kind = kind.value_type if is_list(kind) else kind
        kind = kind.field(name).type
    return _is_file(column.feature, kind)


def _columns(
    name: str, path: tuple[str, ...], feature: Feature, kind: pa.DataType
) -> Iterator[FeatureColumn]:
    """Yield the columns for a field, if its feature adds to its Arrow type."""
    kind = unwrapped(kind)
    inner = unwrapped(kind.value_type) if is_list(kind) else kind
    of_items = _item(feature) if is_list(kind) else feature
    if kinds.is_struct(inner) and not _is_file(of_items, inner) and has_bytes(inner):
        for f in inner:
            part = of_items.get(f.name) if isinstance(of_items, dict) else None
            part = {"_type": "List", "feature": part} if inner is not kind else part
            part_kind = pa.list_(f.type) if inner is not kind else f.type
            columns = [*_columns(f"{name}.{f.name}", (*path, f.name), part, part_kind)]
            if not columns:
                plain = FeatureColumn(
                    f"{name}.{f.name}", (*path, f.name), None, htype_of(part_kind)
                )
                columns = [plain]
            yield from columns
    elif _is_special(feature) or _is_file(feature, kind):
        feature = feature if _is_special(feature) else {"_type": "File"}
        try:
            yield FeatureColumn(name, path, feature, _htype(feature, kind))
        except (LakeError, TypeError, ValueError, LookupError, AttributeError):
            return  # a feature that its Arrow type contradicts, or of a newer release


def _child(array: pa.Array, name: str) -> pa.Array:
    """Return a field of structs, or of the structs in lists, with the nulls of the structs.

    >>> _child(pa.array([[{"x": 1}, {"x": 2}], None, []]), "x").to_pylist()
    [[1, 2], None, []]
    """
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if kinds.is_struct(array.type):
        field = array.type.get_field_index(name)
        return array.flatten()[field]
    lengths = [None if item is None else len(item) for item in map(_items, array)]
    offsets = [0]
    for length in lengths:
        offsets.append(offsets[-1] + (length or 0))
    mask = pa.array([length is None for length in lengths], pa.bool_())
    items = _child(array.flatten(), name)
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), items, mask=mask)


def _items(item: pa.Scalar) -> pa.Array | None:
    return item.values if item.is_valid else None


def _type(feature: Feature) -> str:
    return str(feature.get("_type", "")) if isinstance(feature, Mapping) else ""


def _item(feature: Feature) -> Feature:
    """Return the feature of the items of lists, or None."""
    if isinstance(feature, list):
        return feature[0] if len(feature) == 1 else None
    return feature.get("feature") if _type(feature) in LISTS else None


def _fields(feature: Feature) -> Mapping[str, Feature]:
    """Return the features of the fields of a struct; empty for other features."""
    is_struct = isinstance(feature, Mapping) and not isinstance(feature.get("_type"), str)
    return feature if is_struct else {}


def _is_special(feature: Feature) -> bool:
    """Return whether a feature says more than its Arrow type."""
    item = _item(feature)
    if item is not None:
        return _is_special(item)
    if _type(feature) == "ClassLabel":
        return bool(feature.get("names"))
    if _fields(feature):
        return any(map(_is_special, _fields(feature).values()))
    return _type(feature) in ("Image", "Audio", "Video", "Json", "File", *ARRAYS)


def _is_file(feature: Feature, kind: pa.DataType) -> bool:
    """Return whether values are structs of a file's bytes and path."""
    if not kinds.is_struct(kind) or {f.name for f in kind} != {"bytes", "path"}:
        return False
    return is_bytes(kind.field("bytes").type) and _fields(feature) in ({}, feature)


def has_bytes(kind: pa.DataType) -> bool:
    """Return whether a type contains bytes, which JSON cannot hold.

    >>> has_bytes(pa.list_(pa.struct({"image": pa.binary()})))
    True
    """
    kind = unwrapped(kind)
    if kinds.is_struct(kind):
        return any(has_bytes(f.type) for f in kind)
    if is_list(kind):
        return has_bytes(kind.value_type)
    return is_bytes(kind)


def _htype(feature: Feature, kind: pa.DataType) -> Htype:
    """Return the type for a feature."""
    kind = unwrapped(kind)
    match _type(feature):
        case "ClassLabel":
            if dtype_of(kind) is None:
                raise TypeError  # strings, say
            return ClassLabel(feature["names"])
        case "Image":
            return Image("auto", mode=feature.get("mode"))
        case "Json":
            return Json()
        case name if name in ARRAYS:
            return Array(feature["dtype"], tuple(feature["shape"]))
        case "Audio" | "Video" | "File":
            return Bytes()
    if is_list(kind):
        item = _htype(_item(feature), kind.value_type)
        return Sequence(replace(item, nullable=True))
    return Json() if kinds.is_struct(kind) else htype_of(kind)


def _has_json(kind: pa.DataType) -> bool:
    """Return whether a type contains Arrow's JSON, rather than strings."""
    if isinstance(kind, pa.JsonType):
        return True
    if kinds.is_struct(kind):
        return any(_has_json(f.type) for f in kind)
    return is_list(kind) and _has_json(kind.value_type)


def _content(file: dict[str, Any]) -> object:
    """Return the bytes of a file; its path if it cannot be read, which is then reported."""
    data, path = file.get("bytes"), file.get("path")
    if data is None and path is not None:
        try:
            return Path(path).read_bytes()
        except (OSError, ValueError):
            return path
    return data


def _restored(value: Any, feature: Feature, is_parsed: bool) -> Any:
    """Return a value with names for classes, None for files without content, and parsed JSON.

    >>> feature = {"_type": "List", "feature": {"_type": "ClassLabel", "names": ["a", "b"]}}
    >>> _restored([1, -1, 7], feature, False)
    ['b', None, 7]
    """
    item = _item(feature)
    if value is None:
        return None
    if item is not None and isinstance(value, list):
        return [_restored(v, item, is_parsed) for v in value]
    if (fields := _fields(feature)) and isinstance(value, dict):
        return {name: _restored(v, fields.get(name), is_parsed) for name, v in value.items()}
    match _type(feature):
        case "ClassLabel" if isinstance(value, int):
            names = feature["names"]
            return names[value] if 0 <= value < len(names) else None if value < 0 else value
        case "Image" if isinstance(value, dict):
            return None if value.get("bytes") is None and value.get("path") is None else value
        case "Audio" | "Video" | "File" if isinstance(value, dict):
            return _content(value)
        case "Json" if isinstance(value, str | bytes) and not is_parsed:
            return Json().from_file(value)
    return value
