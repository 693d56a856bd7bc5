"""Files that let TensorFlow Datasets (TFDS) read an export, with ``tfds.builder_from_directory``.

``features.json`` describes the columns that TFDS can read. TFDS supports nulls only in numbers, so
nullable columns of other types are left out. ``dataset_info.json`` lists the files of the export,
and ``x.labels.txt`` has the class names of the column ``x``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.cells import array_of
from deeplake_lite.dataset.export.shards.flat_arrays import PARTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.dataset.export.shards.journal import Written
    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype

    type Feature = dict[str, Any]

FEATURES, INFO = "features.json", "dataset_info.json"

DATASET, SPLIT = "data", "train"
"""Names of the dataset and of its split. All file names start with ``data-train``."""

_MODULE = "tensorflow_datasets.core.features"

_DTYPES = {"halffloat": "float16", "float": "float32", "double": "float64"}

MAX_NAME_LENGTH = 200
"""Maximum length of a column's name. Class names of columns with longer names are not written."""


def tfds_files(view: View, file_format: str, written: Sequence[Written]) -> dict[str, bytes]:
    """Return a dict from file names to contents, given the finished files of the export."""
    files, features = dict[str, bytes](), dict[str, dict[str, Any]]()
    for f in view.schema:
        if (feature := _feature(f.name, f.htype)) is None or not _add(features, f.name, feature):
            continue
        names = _classes(f.name, f.htype)
        if names:
            name = f"{f.name.replace('/', '-')}.labels.txt"
            files[name] = ("\n".join(names) + "\n").encode()
    split = {
        "name": SPLIT,
        "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
        "numBytes": str(sum(file.bytes for file in written)),
        "shardLengths": [str(file.rows) for file in written],
    }
    info = {"name": DATASET, "version": "1.0.0", "fileFormat": file_format, "splits": [split]}
    return files | {FEATURES: _json(_dict(features)), INFO: _json(info)}


def _json(content: object) -> bytes:
    return (json.dumps(content, indent=1) + "\n").encode()


def _add(features: dict[str, Feature], name: str, feature: Feature) -> bool:
    """Add a feature to the nested dict of features. Return False if its name is already in use.

    In ``a/b``, ``a`` names the group of features that has the feature ``b``.
    """
    group, slash, rest = name.partition("/")
    if not slash:
        return group not in features and features.setdefault(group, feature) is feature
    inner = features.setdefault(group, _dict({}))
    return "featuresDict" in inner and _add(inner["featuresDict"]["features"], rest, feature)


def _dict(features: dict[str, Feature]) -> Feature:
    return _named("features_dict.FeaturesDict", featuresDict={"features": features})


def _named(name: str, **content: object) -> Feature:
    return {"pythonClassName": f"{_MODULE}.{name}", **content}


def _feature(name: str, htype: Htype) -> Feature | None:
    """Return the feature of a column, or None if TFDS could not read the values correctly."""
    item = htype.item
    while item is not None:
        if item.nullable:
            return None
        item = item.item
    kind = array_of(htype, htype.encode([])).type
    if not htype.nullable:
        return _of_arrow(kind, htype, bool(_classes(name, htype)))
    feature = _of_arrow(kind, htype, has_classes=False)
    if feature is None or "tensor" not in feature or -1 in _dimensions(feature) or \
            feature["tensor"]["dtype"] == "string":  # fmt: skip
        return None
    feature["tensor"]["optional"] = True
    return feature


def _dimensions(feature: Feature) -> list[int]:
    return [int(size) for size in feature["tensor"]["shape"].get("dimensions", ())]


def _of_arrow(kind: pa.DataType, htype: Htype, has_classes: bool) -> Feature | None:
    """Return the feature for an Arrow type, or None if TFDS has no suitable feature."""
    if isinstance(kind, pa.FixedShapeTensorType):
        return _tensor(_dtype(kind.value_type), list(map(str, kind.shape)))
    if kinds.is_struct(kind):
        parts = {PARTS[f.name]: _of_arrow(f.type, htype, has_classes) for f in kind}
        present = {name: part for name, part in parts.items() if part is not None}
        return _dict(present) if len(present) == len(parts) else None
    if kinds.is_large_list(kind):
        inner = kind.value_type
        if kinds.is_struct(inner):  # TFDS stores one list per field
            lists = pa.struct([(f.name, pa.large_list(f.type)) for f in inner])
            return _of_arrow(lists, htype, has_classes)
        part = _of_arrow(inner, htype, has_classes)
        if part is None or "featuresDict" in part:
            return None
        return _named("sequence_feature.Sequence", sequence={"feature": part, "length": "-1"})
    sizes = []
    while kinds.is_fixed_size_list(kind):
        sizes.append(str(kind.list_size))
        kind = kind.value_type
    if sizes:
        return None if "0" in sizes else _tensor(_dtype(kind), sizes)
    return _single(kind, htype, has_classes)


def _single(kind: pa.DataType, htype: Htype, has_classes: bool) -> Feature:
    """Return the feature of a single number, string or file."""
    leaf = htype
    while leaf.item is not None:
        leaf = leaf.item
    if kinds.is_dictionary(kind) and has_classes and leaf.classes is not None:
        content = {"numClasses": str(len(leaf.classes.names))}
        return _named("class_label_feature.ClassLabel", classLabel=content)
    if kinds.is_large_string(kind):
        return _named("text_feature.Text", text={})
    if kinds.is_large_binary(kind) and htype.is_image:  # not in lists, where TFDS stacks images
        shape = {"dimensions": ["-1", "-1", "-1"]}
        return _named("image_feature.Image", image={"dtype": "uint8", "shape": shape})
    return _tensor("string" if kinds.is_large_binary(kind) else _dtype(kind), [])


def _tensor(dtype: str, sizes: list[str]) -> Feature:
    shape = {"dimensions": sizes} if sizes else {}
    content = {"dtype": dtype, "encoding": "none", "shape": shape}
    return _named("tensor_feature.Tensor", tensor=content)


def _dtype(kind: pa.DataType) -> str:
    """Return the TFDS dtype of an Arrow type. Times and classes are int64."""
    if kinds.is_boolean(kind) or kinds.is_integer(kind) or kinds.is_floating(kind):
        return _DTYPES.get(str(kind), str(kind))
    return "int64"


def _classes(name: str, htype: Htype) -> Sequence[str]:
    """Return a column's class names, or () if the names cannot be written to a file for TFDS."""
    leaf = htype
    while leaf.item is not None:
        leaf = leaf.item
    if leaf.classes is None or htype.nullable or len(name) > MAX_NAME_LENGTH:
        return ()
    names = leaf.classes.names
    return names if all(n and n == n.strip() and "\n" not in n for n in names) else ()
