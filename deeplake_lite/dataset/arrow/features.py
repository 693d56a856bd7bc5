"""Hugging Face features, which describe columns as JSON, and their Arrow types.

A feature is JSON as the library ``datasets`` writes it, such as
``{"_type": "ClassLabel", "names": ["cat"]}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.types import is_bytes, is_list

type Feature = Any
"""A feature as JSON: a dict with the key ``_type``, or a dict or list of features."""

KEY = b"huggingface"
"""Key in an Arrow schema's metadata under which ``datasets`` stores the features, as JSON."""

LISTS = ("List", "LargeList", "Sequence")
ARRAYS = ("Array2D", "Array3D", "Array4D", "Array5D")
FILES = ("Image", "Audio", "Video", "Pdf", "Nifti", "Mesh")
"""Features whose values are structs of a file's bytes and path."""

FILE = pa.struct({"bytes": pa.binary(), "path": pa.string()})
"""Arrow type of files."""

MAX_LIST_LENGTH = 2**31 - 1
"""Maximum length of fixed-size lists."""

_NAMES = {
    "halffloat": "float16", "float": "float32", "double": "float64",
    "date32[day]": "date32", "date64[ms]": "date64",
}  # fmt: skip
"""Maps Arrow's names of types to the names in ``datasets``, where the two differ."""

_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns), ?tz=([^\[\]]{1,100})\]")
_DECIMAL = re.compile(r"decimal(128|256)\((\d{1,3}), ?(-?\d{1,3})\)")


def read_metadata(schema: pa.Schema) -> dict[str, Any]:
    """Return the dict that ``datasets`` stored in a schema's metadata, or {} if there is none.

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
    """Return a dict that maps columns to features, given the result of `read_metadata`.

    >>> features_in({"info": {"features": {"x": {"_type": "Json"}}}})
    {'x': {'_type': 'Json'}}
    """
    info = metadata.get("info")
    features = info.get("features") if isinstance(info, dict) else None
    return features if isinstance(features, dict) else {}


def type_of(feature: Feature) -> str:
    """Return the name of a feature's type, or an empty string for structs."""
    return str(feature.get("_type", "")) if isinstance(feature, Mapping) else ""


def item_of(feature: Feature) -> Feature:
    """Return the feature of a list's items, or None for other features."""
    if isinstance(feature, list):
        return feature[0] if len(feature) == 1 else None
    return feature.get("feature") if type_of(feature) in LISTS else None


def fields_of(feature: Feature) -> Mapping[str, Feature]:
    """Return a dict that maps a struct's fields to their features; {} for other features.

    This includes sequences of structs, which older releases of ``datasets`` write for structs of
    lists.

    >>> fields_of({"_type": "Sequence", "feature": {"x": {"_type": "Json"}}})
    {'x': {'_type': 'List', 'feature': {'_type': 'Json'}}}
    """
    if type_of(feature) == "Sequence" and (fields := fields_of(feature.get("feature"))):
        return {name: {"_type": "List", "feature": part} for name, part in fields.items()}
    if type_of(feature) == "Translation":
        languages = feature.get("languages")
        return dict.fromkeys(languages, _TEXT) if isinstance(languages, list) else {}
    is_struct = isinstance(feature, Mapping) and not isinstance(feature.get("_type"), str)
    return feature if is_struct else {}


_TEXT = {"dtype": "string", "_type": "Value"}


def is_special(feature: Feature) -> bool:
    """Return whether a feature says more about its values than their Arrow type does.

    >>> is_special({"_type": "List", "feature": {"_type": "Image"}}), is_special({"a": _TEXT})
    (True, False)
    """
    item = item_of(feature)
    if item is not None:
        return is_special(item)
    if type_of(feature) == "ClassLabel":
        return bool(feature.get("names"))
    if fields := fields_of(feature):
        return any(map(is_special, fields.values()))
    return type_of(feature) in (*FILES, "Json", "File", *ARRAYS)


def is_file(feature: Feature, kind: pa.DataType) -> bool:
    """Return whether values are structs of a file's bytes and path."""
    if not kinds.is_struct(kind) or {f.name for f in kind} != {"bytes", "path"}:
        return False
    return is_bytes(kind.field("bytes").type) and fields_of(feature) in ({}, feature)


def kind_of(feature: Feature) -> pa.DataType | None:
    """Return the Arrow type in which ``datasets`` stores a feature, or None for unknown features.

    >>> kind_of({"_type": "List", "feature": {"_type": "Value", "dtype": "time64[us]"}})
    ListType(list<item: time64[us]>)
    """
    try:
        return _kind(feature)
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError, pa.ArrowException):
        return None


def _kind(feature: Feature) -> pa.DataType:
    name = type_of(feature)
    if name == "Sequence" and fields_of(feature):
        return _struct(fields_of(feature))
    if (item := item_of(feature)) is not None:
        length = feature.get("length", -1) if isinstance(feature, Mapping) else -1
        inner = _kind(item)
        if name == "LargeList":
            return pa.large_list(inner)
        is_fixed = isinstance(length, int) and 0 <= length <= MAX_LIST_LENGTH
        return pa.list_(inner, length) if is_fixed else pa.list_(inner)
    if fields := fields_of(feature):
        return _struct(fields)
    match name:
        case "Value":
            return _named_kind(feature["dtype"])
        case "ClassLabel":
            return pa.int64()
        case "Json":
            return pa.json_()
        case "TranslationVariableLanguages":
            texts = pa.list_(pa.string())
            return pa.struct({"language": texts, "translation": texts})
        case _ if name in FILES:
            return FILE
        case _ if name in ARRAYS:
            kind = _named_kind(feature["dtype"])
            for _ in range(int(name[5])):
                kind = pa.list_(kind)
            return kind
    raise LookupError(name)


def _struct(fields: Mapping[str, Feature]) -> pa.DataType:
    return pa.struct([pa.field(str(name), _kind(part)) for name, part in fields.items()])


def _named_kind(dtype: str) -> pa.DataType:
    """Return the Arrow type that has the given name in ``datasets``.

    >>> _named_kind("timestamp[us, tz=Europe/Berlin]"), _named_kind("decimal128(10, 2)")
    (TimestampType(timestamp[us, tz=Europe/Berlin]), Decimal128Type(decimal128(10, 2)))
    """
    if match := _TIMESTAMP.fullmatch(dtype):
        return pa.timestamp(match[1], match[2])
    if match := _DECIMAL.fullmatch(dtype):
        make = pa.decimal128 if match[1] == "128" else pa.decimal256
        return make(int(match[2]), int(match[3]))
    return pa.type_for_alias(_VIEWS.get(dtype, dtype))


_VIEWS = {"string_view": "string", "binary_view": "binary"}
"""Replacements for view types, because pyarrow's Parquet writer crashes on slices of views."""


def align_units(feature: Feature, kind: pa.DataType) -> Feature:
    """Return a feature whose time units match an Arrow type.

    The units may differ, because Parquet stores seconds as milliseconds and has only one date type.

    >>> align_units({"dtype": "time32[s]", "_type": "Value"}, pa.time32("ms"))
    {'dtype': 'time32[ms]', '_type': 'Value'}
    """
    if is_list(kind) and item_of(feature) is not None and isinstance(feature, dict):
        return {**feature, "feature": align_units(feature["feature"], kind.value_type)}
    fields = fields_of(feature)
    if kinds.is_struct(kind) and fields and fields is feature:
        types = {f.name: f.type for f in kind}
        return {
            n: align_units(part, types[n]) if n in types else part for n, part in fields.items()
        }
    is_time = type_of(feature) == "Value" and kinds.is_temporal(kind)
    return {**feature, **feature_of_kind(kind)} if is_time else feature


def feature_of_kind(kind: pa.DataType, names: list[str] | None = None) -> Feature:
    """Return the feature for an Arrow type. If there are class names, int64 becomes ClassLabel.

    >>> feature_of_kind(pa.list_(pa.date32()))
    {'feature': {'dtype': 'date32', '_type': 'Value'}, '_type': 'List'}
    """
    if kinds.is_struct(kind):  # the struct is a tensor, whose class numbers are in `data`
        return {f.name: feature_of_kind(f.type, names if f.name == "data" else None) for f in kind}
    if kinds.is_fixed_size_list(kind):
        item = feature_of_kind(kind.value_type, names)
        return {"feature": item, "length": kind.list_size, "_type": "List"}
    if is_list(kind):
        name = "LargeList" if kinds.is_large_list(kind) else "List"
        return {"feature": feature_of_kind(kind.value_type, names), "_type": name}
    if names and kinds.is_int64(kind):
        return {"names": names, "_type": "ClassLabel"}
    if isinstance(kind, pa.JsonType):
        return {"_type": "Json"}
    return {"dtype": _NAMES.get(str(kind), str(kind)), "_type": "Value"}
