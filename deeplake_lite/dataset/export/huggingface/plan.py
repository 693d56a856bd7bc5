"""Mapping of a lake's columns to the columns of an export for Hugging Face.

Columns that were imported from features or Arrow types, and whose types have not changed since, get
the original features and Arrow types back: time zones, decimals, structs, and file paths. An import
splits a struct into one column of the lake per field, so an exported column may have several parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deeplake_lite.dataset.arrow.casts import cast_exactly, is_risky
from deeplake_lite.dataset.arrow.cells import array_of
from deeplake_lite.dataset.arrow.features import (
    FILES,
    Feature,
    features_in,
    fields_of,
    item_of,
    kind_of,
    type_of,
)
from deeplake_lite.dataset.arrow.leaves import Leaf, leaves
from deeplake_lite.dataset.arrow.recorded import without_record
from deeplake_lite.dataset.arrow.structs import join_features, join_parts
from deeplake_lite.dataset.arrow.types import is_list
from deeplake_lite.dataset.export.huggingface.types import (
    array_for,
    as_files,
    could_become,
    feature_of,
    inferred_htype,
    narrow,
    recording_feature,
    with_paths,
)
from deeplake_lite.dataset.export.portable import is_file

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field


@dataclass(frozen=True)
class Part:
    """A column of the lake that becomes part of an exported column."""

    field: Field
    """The lake's column."""

    path: tuple[str, ...]
    """Names of the struct fields that lead to the part, or none if it is the whole column."""

    feature: Feature
    """Feature of the part, including the lists that contain the structs around it."""

    kind: pa.DataType | None = None
    """Arrow type of the part, or None for the default type of its cells."""

    paths: Field | None = None
    """The lake's column with the paths of the part's files, or None if there is none."""

    def array(self, cells: Mapping[str, Cells]) -> pa.Array:
        """Convert the part's cells, from a dict of all columns' cells, to an Arrow array.

        Raises Misfit if the cells do not fit `kind`.
        """
        array = array_for(self.field.htype, cells[self.field.name])
        if _innermost_type(self.feature) in FILES or self.paths is not None:
            array = as_files(array)
        if self.paths is not None:
            array = with_paths(array, narrow(array_of(self.paths.htype, cells[self.paths.name])))
        return array if self.kind is None else cast_exactly(array, self.kind)

    @property
    def is_risky(self) -> bool:
        """Whether some cells may not fit the Arrow type."""
        if self.kind is None:
            return False
        htype = self.field.htype
        in_lists = self.paths is not None and htype.item is not None
        return in_lists or is_risky(array_for(htype, htype.encode([])).type, self.kind)


@dataclass(frozen=True)
class ExportColumn:
    """A column of the export."""

    name: str
    """Name of the exported column."""

    feature: Feature
    """Feature of the exported column."""

    parts: tuple[Part, ...]
    """The lake's columns that the exported column combines."""

    kind: pa.DataType | None = None
    """Arrow type of the struct, possibly in lists, that has the parts, or None for one part."""

    def array(self, cells: Mapping[str, Cells]) -> pa.Array:
        """Convert cells, from a dict of all columns' cells, to the array of the exported column.

        Raises Misfit if the cells do not fit the Arrow type.
        """
        arrays = [part.array(cells) for part in self.parts]
        if self.kind is None:
            return arrays[0]
        return join_parts(self.kind, zip([part.path for part in self.parts], arrays, strict=True))

    @property
    def fields(self) -> list[Field]:
        """The lake's columns that are read for the exported column."""
        paths = [part.paths for part in self.parts if part.paths is not None]
        return [*(part.field for part in self.parts), *paths]

    @property
    def is_risky(self) -> bool:
        """Whether some rows may not fit the Arrow type."""
        in_lists = self.kind is not None and len(self.parts) > 1 and _has_lists(self.kind)
        return in_lists or any(part.is_risky for part in self.parts)


def plan(view: View, plain: frozenset[str] = frozenset()) -> tuple[ExportColumn, ...]:
    """Return the exported columns of a view, in the order of the first lake column of each.

    Parameters
    ----------
    view : View
        The rows.
    plain : set of str
        Names of the columns that get the lake's types, because rows do not fit the original
        types.
    """
    fields = {f.name: f for f in view.schema}
    restored = dict[str, ExportColumn]()
    for name, feature in imported_features(view.rows.table.metadata).items():
        column = None if name in plain else _restore_column(name, feature, fields)
        if column is not None:
            restored |= dict.fromkeys((f.name for f in column.fields), column)
    columns = {
        name: restored.get(name) or _plain(f, is_plain=name in plain) for name, f in fields.items()
    }
    return tuple({column.name: column for column in columns.values()}.values())


def imported_features(metadata: Mapping[str, Any]) -> dict[str, Feature]:
    """Return a dict from the names of columns to the features that a lake was imported from."""
    features = dict[str, Feature]()
    for key in ("arrow", "huggingface"):
        notes = metadata.get(key)
        features |= features_in({"info": notes}) if isinstance(notes, Mapping) else {}
    return features


def _plain(f: Field, *, is_plain: bool = False) -> ExportColumn:
    """Return the exported column for a lake column whose original type is not restored.

    `is_plain` tells whether the original type is known, but some rows do not fit it.
    """
    feature = recording_feature(f.htype)
    bare = without_record(feature)
    is_date = type_of(bare) == "Value" and bare["dtype"] == "date32"
    if is_date and is_plain:
        kind: pa.DataType | None = array_for(f.htype, f.htype.encode([])).type
        feature = {"dtype": str(kind), "_type": "Value"}
    else:
        kind = pa.date32() if is_date else None
    return ExportColumn(f.name, feature, (Part(f, (), feature, kind),))


def _restore_column(
    name: str, feature: Feature, fields: Mapping[str, Field]
) -> ExportColumn | None:
    """Return the column that restores an imported feature, or None if that is impossible."""
    kind = kind_of(feature)
    if kind is None:
        return None
    if name in fields:
        part = _part(Leaf(name, (name,), feature, kind), fields)
        return None if part is None else ExportColumn(name, part.feature, (part,))
    parts = [
        _part(leaf, fields) or Part(fields[leaf.name], leaf.path[1:], None)
        for leaf in leaves(name, feature, kind)
        if len(leaf.path) > 1 and leaf.name in fields
    ]
    parts = [_with_default(part) for part in parts]
    if not parts or any(_depth(part.feature) < _depth_of(kind) for part in parts):
        return None
    joined = join_features(feature, [(part.path, part.feature) for part in parts])
    joined_kind = kind_of(joined)
    split = [] if joined_kind is None else leaves(name, joined, joined_kind)
    if [leaf.name for leaf in split] != [part.field.name for part in parts]:
        return None  # without its other fields, the struct would be imported as JSON
    parts = [replace(part, feature=leaf.feature) for part, leaf in zip(parts, split, strict=True)]
    return ExportColumn(name, joined, tuple(parts), joined_kind)


def _part(leaf: Leaf, fields: Mapping[str, Field]) -> Part | None:
    """Return the part for a field of an imported feature, with the imported feature and Arrow type.

    Return None if the type of the lake's column has changed since the import.
    """
    f = fields[leaf.name]
    paths = fields.get(leaf.paths.name) if leaf.paths is not None else None
    paths = paths if paths is not None and _is_paths(paths.htype, f.htype) else None
    feature = _update_feature(leaf.feature, f.htype)
    if leaf.holds_files and feature is not None and _holds_bytes(f.htype):
        return Part(f, leaf.path[1:], feature, kind_of(feature), paths)
    inferred = None if feature is None else inferred_htype(feature, kind_of(feature))
    if inferred is None or leaf.holds_files or not could_become(inferred, f.htype):
        return None
    return Part(f, leaf.path[1:], feature, kind_of(feature))


def _with_default(part: Part) -> Part:
    """Return a part unchanged if it has a feature, or else with the feature for its column type."""
    return part if part.feature is not None else replace(
        part, feature=recording_feature(part.field.htype)
    )  # fmt: skip


def _update_feature(feature: Feature, htype: Htype) -> Feature:
    """Return a feature with a column's current classes or image mode, or None if they do not fit.

    >>> from deeplake_lite.htypes import ClassLabel
    >>> _update_feature({"names": ["a"], "_type": "ClassLabel"}, ClassLabel(["a", "b"]))
    {'names': ['a', 'b'], '_type': 'ClassLabel'}
    """
    if (item := item_of(feature)) is not None and not fields_of(feature):
        if htype.item is None:
            return feature if htype.labels is None else None
        inner = _update_feature(item, htype.item)
        return None if inner is None else {**_as_dict(feature), "feature": inner}
    if type_of(feature) == "ClassLabel" and htype.classes is not None:
        names = list(htype.classes.names)
        return {**feature, "names": names} if names else None
    if htype.is_image:
        mode = None if htype.pixels is None else htype.pixels.mode
        is_same = type_of(feature) == "Image" and feature.get("mode") == mode
        return feature if is_same else feature_of(htype)
    return feature


def _as_dict(feature: Feature) -> dict[str, Any]:
    return feature if isinstance(feature, dict) else {"_type": "List"}


def _innermost_type(feature: Feature) -> str:
    while (item := item_of(feature)) is not None:
        feature = item
    return type_of(feature)


def _innermost(htype: Htype) -> tuple[Htype, int]:
    depth = 0
    while htype.item is not None:
        htype, depth = htype.item, depth + 1
    return htype, depth


def _holds_bytes(htype: Htype) -> bool:
    inner, _ = _innermost(htype)
    return is_file(inner) and not inner.is_mask


def _is_paths(paths: Htype, files: Htype) -> bool:
    inner, depth = _innermost(paths)
    return inner.sql == "text" and depth == _innermost(files)[1]


def _depth(feature: Feature) -> int:
    depth = 0
    while (item := item_of(feature)) is not None:
        feature, depth = item, depth + 1
    return depth


def _depth_of(kind: pa.DataType) -> int:
    depth = 0
    while is_list(kind):
        kind, depth = kind.value_type, depth + 1
    return depth


def _has_lists(kind: pa.DataType) -> bool:
    if is_list(kind):
        return True
    return isinstance(kind, pa.StructType) and any(_has_lists(f.type) for f in kind)
