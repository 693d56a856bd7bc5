"""Division of an Arrow column into columns of a lake, one for each field of its structs.

A struct of numbers, strings and lists becomes one column of JSON. If it has fields of other types,
such as classes, files or times, each field becomes a column, such as ``"objects.category"``.
Structs in lists become columns of lists. For files, a second column stores their paths, such as
``"image_path"``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.features import (
    ARRAYS,
    FILES,
    Feature,
    fields_of,
    is_file,
    item_of,
    type_of,
)
from deeplake_lite.dataset.arrow.htypes import htype_of
from deeplake_lite.dataset.arrow.recorded import is_recorded
from deeplake_lite.dataset.arrow.types import dtype_of, is_list, is_text, unwrap
from deeplake_lite.htypes import Array, Bytes, ClassLabel, Htype, Image, Json, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Leaf:
    """A part of an Arrow column that becomes a column of a lake."""

    name: str
    """Name of the column in the lake."""

    path: tuple[str, ...]
    """Name of the Arrow column, followed by the names of the nested fields that lead to the
    part."""

    feature: Feature
    """Feature of the part, including the lists around its structs, or None if it has no feature."""

    kind: pa.DataType
    """Arrow type of the part, including the lists around its structs."""

    def part(self, array: pa.Array) -> pa.Array:
        """Return the values of this part, given the whole Arrow column."""
        for name in self.path[1:]:
            array = child(array, name)
        return array

    @property
    def paths(self) -> Leaf | None:
        """The leaf with the paths of the files in this leaf, or None if it does not hold files."""
        feature, kind, depth = _innermost(self.feature, self.kind)
        if not is_file(feature, kind):
            return None
        return Leaf(
            f"{self.name}_path",
            (*self.path, "path"),
            _in_lists({"_type": "Value", "dtype": "string"}, depth),
            _list_of(pa.string(), depth),
        )

    @property
    def holds_files(self) -> bool:
        """Whether values are files, or lists of files."""
        return self.paths is not None


def leaves(name: str, feature: Feature, kind: pa.DataType) -> list[Leaf]:
    """Return the parts of an Arrow column that become columns of a lake.

    >>> kind = pa.list_(pa.struct({"day": pa.date32(), "n": pa.int8()}))
    >>> [(leaf.name, str(leaf.kind)) for leaf in leaves("x", None, kind)]
    [('x.day', 'list<item: date32[day]>'), ('x.n', 'list<item: int8>')]
    """
    return [*_leaves(Leaf(name, (name,), feature, kind))]


def _leaves(leaf: Leaf) -> Iterator[Leaf]:
    feature, kind, depth = _innermost(leaf.feature, leaf.kind)
    if not _is_split(feature, kind) or is_recorded(leaf.feature):
        yield leaf
        return
    for f in kind:
        part = fields_of(feature).get(f.name)
        yield from _leaves(
            Leaf(
                f"{leaf.name}.{f.name}",
                (*leaf.path, f.name),
                None if part is None else _in_lists(part, depth),
                _list_of(f.type, depth),
            )
        )


def _is_split(feature: Feature, kind: pa.DataType) -> bool:
    """Return whether a type is a struct whose fields become columns."""
    if not kinds.is_struct(kind) or is_file(feature, kind):
        return False
    is_unique = len({f.name for f in kind}) == kind.num_fields
    return is_unique and not _fits_json(feature, kind)


def _fits_json(feature: Feature, kind: pa.DataType) -> bool:
    """Return whether values consist only of numbers, strings, lists and structs."""
    if isinstance(kind, pa.JsonType) or type_of(feature) == "Json":
        return True
    if type_of(feature) in (*FILES, *ARRAYS) or (type_of(feature), bool(feature)) == ("File", True):
        return False
    if type_of(feature) == "ClassLabel" and feature.get("names"):
        return False
    kind = unwrap(kind)
    if is_list(kind):
        return _fits_json(item_of(feature), kind.value_type)
    if kinds.is_struct(kind):
        parts = fields_of(feature)
        return all(_fits_json(parts.get(f.name), f.type) for f in kind)
    if kinds.is_temporal(kind):
        return False
    return dtype_of(kind) is not None or is_text(kind) or kinds.is_null(kind) or (
        kinds.is_map(kind) or kinds.is_union(kind) or kinds.is_dictionary(kind)
    )  # fmt: skip


def _innermost(feature: Feature, kind: pa.DataType) -> tuple[Feature, pa.DataType, int]:
    """Return the feature and type of the innermost items of nested lists, and their depth."""
    kind, depth = unwrap(kind), 0
    while is_list(kind):
        feature, kind, depth = item_of(feature), unwrap(kind.value_type), depth + 1
    return feature, kind, depth


def _in_lists(feature: Feature, depth: int) -> Feature:
    for _ in range(depth):
        feature = {"_type": "List", "feature": feature}
    return feature


def _list_of(kind: pa.DataType, depth: int) -> pa.DataType:
    for _ in range(depth):
        kind = pa.list_(kind)
    return kind


def child(array: pa.Array, name: str) -> pa.Array:
    """Return a field's values in structs or lists of structs. The field of a null struct is null.

    >>> child(pa.array([[{"x": 1}, {"x": 2}], None, []]), "x").to_pylist()
    [[1, 2], None, []]
    """
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if kinds.is_struct(array.type):
        return array.flatten()[array.type.get_field_index(name)]
    lengths = pc.fill_null(pc.list_value_length(array), 0).cast(pa.int64())
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(lengths)])
    mask = array.is_null() if array.null_count else None
    return pa.LargeListArray.from_arrays(offsets, child(array.flatten(), name), mask=mask)


def special_htype(feature: Feature, kind: pa.DataType) -> Htype:
    """Return the column type for a feature that says more about its values than the Arrow type.

    Raises TypeError, ValueError, LookupError, AttributeError or a LakeError if the feature
    contradicts its Arrow type.

    >>> special_htype({"_type": "ClassLabel", "names": ["a"]}, pa.int64())
    ClassLabel(['a'])
    """
    kind = unwrap(kind)
    match type_of(feature):
        case "ClassLabel":
            if dtype_of(kind) is None:
                raise TypeError  # for example, class labels that are stored as strings
            return ClassLabel(feature["names"])
        case "Image":
            return Image("auto", mode=feature.get("mode"))
        case "Json":
            return Json()
        case name if name in ARRAYS:
            return Array(feature["dtype"], tuple(feature["shape"]))
        case name if name in (*FILES, "File"):
            return Bytes()
    if is_list(kind):
        item = special_htype(item_of(feature), kind.value_type)
        return Sequence(replace(item, nullable=True))
    if is_file(feature, kind):
        return Bytes()
    return Json() if kinds.is_struct(kind) else htype_of(kind)
