"""Converting Hugging Face features, and the values of their columns, to column types.

A feature is the type of a column in the package ``datasets``, which stores it in the metadata of
files:

- ClassLabel becomes `ClassLabel`; -1, which means no label, becomes null.
- Image becomes `Image`, and Audio, Video, Pdf and other files become `Bytes`.
- Array2D to Array5D become `Array` with the same shape, and Json becomes `Json`.
- Lists of these features become `Sequence`. Structs of numbers and strings become `Json`. Each
  field of any other struct becomes a column of its own, such as ``"objects.category"``.
- For all other features, the Arrow type determines the column type.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.cells import HTYPE
from deeplake_lite.dataset.arrow.features import (
    ARRAYS,
    FILES,
    Feature,
    fields_of,
    is_special,
    item_of,
    type_of,
)
from deeplake_lite.dataset.arrow.htypes import htype_of
from deeplake_lite.dataset.arrow.leaves import child, special_htype
from deeplake_lite.dataset.arrow.objects import objects_in
from deeplake_lite.dataset.arrow.recorded import recorded_htype, without_record
from deeplake_lite.dataset.arrow.types import is_bytes, is_list, unwrap
from deeplake_lite.dataset.arrow.values import arrow_values
from deeplake_lite.dataset.export.huggingface.types import feature_of
from deeplake_lite.dataset.write.tables import as_exported
from deeplake_lite.errors import LakeError
from deeplake_lite.htypes import Htype, Json, Sequence
from deeplake_lite.ingest.tables.columns import values_of

if TYPE_CHECKING:
    from deeplake_lite.dataset.arrow.leaves import Leaf


@dataclass(frozen=True)
class FeatureColumn:
    """A column whose type or values are determined by its feature."""

    feature: Feature
    """Feature of the column."""

    htype: Htype
    """Type of the column. Unless `exact` is true, it is not nullable."""

    exact: bool = False
    """Whether `htype` is the type that the column had in the lake from which it was exported."""

    @classmethod
    def of(cls, leaf: Leaf, *, has_null_items: bool = False) -> FeatureColumn | None:
        """Return the column for a part, or None if the part's Arrow type determines its type.

        Parameters
        ----------
        leaf : Leaf
            A column, or a field of a struct that becomes a column.
        has_null_items : bool
            Whether lists of numbers may have nulls, which `Array` cannot hold.

        Examples
        --------
        >>> from deeplake_lite.dataset.arrow.leaves import leaves
        >>> label = {"_type": "ClassLabel", "names": ["a"]}
        >>> FeatureColumn.of(leaves("x", label, pa.int64())[0]).htype
        ClassLabel(['a'])
        """
        feature = leaf.feature
        if leaf.holds_files and not is_special(feature):
            feature = _as_files(leaf.kind)
        if (htype := _recorded(feature)) is not None:
            return cls(feature, htype)
        if not is_special(feature):
            return cls(feature, _sequences(leaf.kind)) if has_null_items else None
        try:
            return cls(feature, special_htype(feature, leaf.kind))
        except (LakeError, TypeError, ValueError, LookupError, AttributeError):
            return None  # the feature contradicts its Arrow type, or comes from a newer release

    def with_exact_type(self, htype: Htype) -> FeatureColumn:
        """Return a copy with the type that the column had in the lake it was exported from."""
        return replace(self, htype=htype, exact=True)

    def type_of(self, *, nullable: bool) -> Htype:
        """Return the column's type with the given nullability, or unchanged if it is exact."""
        return self.htype if self.exact else replace(self.htype, nullable=nullable)

    def values(self, array: pa.Array) -> object:
        """Convert an array to values of the column's type."""
        if type_of(self.feature) in ARRAYS:
            return arrow_values(array, self.htype)
        if not is_special(self.feature):  # for example, numbers that are boxes in the lake
            f = pa.field("", array.type, metadata={HTYPE: json.dumps(self.htype.get_config())})
            return as_exported(values_of(array, self.htype), f)
        if kinds.is_struct(array.type) and type_of(self.feature) in (*FILES, "File"):
            return _contents(array, self.feature)
        is_parsed = _has_json(array.type)  # objects_in parses JSON
        return [_restore(value, self.feature, is_parsed) for value in objects_in(array)]


def _sequences(kind: pa.DataType) -> Htype:
    """Return the column type for nested lists whose items may be null.

    >>> _sequences(pa.list_(pa.int8()))
    Sequence(Scalar('int8', nullable=True))
    """
    kind = unwrap(kind)
    if not is_list(kind):
        return htype_of(kind)
    return Sequence(replace(_sequences(kind.value_type), nullable=True))


def _recorded(feature: Feature) -> Htype | None:
    """Return the column type that an export recorded in a feature.

    Return None if there is no record, or if the feature was changed after the export.
    """
    htype = recorded_htype(feature)
    if htype is None or without_record(feature) != feature_of(htype):
        return None
    return htype.bare


def _as_files(kind: pa.DataType) -> Feature:
    kind = unwrap(kind)
    if is_list(kind):
        return {"_type": "List", "feature": _as_files(kind.value_type)}
    return {"_type": "File"}


def has_bytes(kind: pa.DataType) -> bool:
    """Return whether a type contains bytes, which may be files.

    >>> has_bytes(pa.list_(pa.struct({"image": pa.binary()})))
    True
    """
    kind = unwrap(kind)
    if kinds.is_struct(kind):
        return any(has_bytes(f.type) for f in kind)
    if is_list(kind):
        return has_bytes(kind.value_type)
    return is_bytes(kind)


def _has_json(kind: pa.DataType) -> bool:
    """Return whether a type contains Arrow's JSON type instead of strings."""
    if isinstance(kind, pa.JsonType):
        return True
    if kinds.is_struct(kind):
        return any(_has_json(f.type) for f in kind)
    return is_list(kind) and _has_json(kind.value_type)


def _contents(array: pa.Array, feature: Feature) -> list[object]:
    """Return the bytes of files. A file without bytes remains a struct, whose path is read later.

    >>> files = pa.array([{"bytes": b"x", "path": "a"}, None])
    >>> _contents(files, {"_type": "Image"})
    [b'x', None]
    """
    values = objects_in(child(array, "bytes"))
    for row in (i for i, value in enumerate(values) if value is None):
        values[row] = _restore(array[row].as_py(), feature, False)
    return values


def _content(file: dict[str, Any]) -> object:
    """Return the bytes of a file, or a struct with its path if there are no bytes."""
    data, path = file.get("bytes"), file.get("path")
    return {"bytes": None, "path": path} if data is None and path is not None else data


def _restore(value: Any, feature: Feature, is_parsed: bool) -> Any:
    """Return a value with names for class numbers, None for files without content, and parsed JSON.

    >>> feature = {"_type": "List", "feature": {"_type": "ClassLabel", "names": ["a", "b"]}}
    >>> _restore([1, -1, 7], feature, False)
    ['b', None, 7]
    """
    item = item_of(feature)
    if value is None:
        return None
    if item is not None and isinstance(value, list):
        return [_restore(v, item, is_parsed) for v in value]
    if (fields := fields_of(feature)) and isinstance(value, dict):
        return {name: _restore(v, fields.get(name), is_parsed) for name, v in value.items()}
    match type_of(feature):
        case "ClassLabel" if isinstance(value, int):
            names = feature["names"]
            return names[value] if 0 <= value < len(names) else None if value < 0 else value
        case "Image" if isinstance(value, dict):
            return None if value.get("bytes") is None and value.get("path") is None else value
        case name if name in (*FILES, "File") and isinstance(value, dict):
            return _content(value)
        case "Json" if isinstance(value, str | bytes) and not is_parsed:
            return Json().from_file(value)
    return value
