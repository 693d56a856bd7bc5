"""Converting Deep Lake's types to column types, and to metadata for details that these lack.

===================================  ==========================================================
Deep Lake                            deeplake_lite
===================================  ==========================================================
numbers, Bool, Serial                `Scalar`; 128-bit integers become `Text`
Text, Dict, Struct, Bytes            `Text`, `Json`, `Json`, `Bytes`
Array, Embedding, Point              `Array`, `Embedding`, `Array`
Image                                `Image`, with the bytes of the files
ClassLabel                           `ClassLabel` with the names of the metadata
BoundingBox                          `Boxes`; `Array` if its format is unknown
BinaryMask, SegmentMask, Polygon     `Mask`, `Mask`, `Polygons`
keypoints of version 3               `Keypoints`
Audio, Medical, Mesh                 `Bytes`, with the bytes of the files
Sequence, Link                       `Sequence`, `Link`
===================================  ==========================================================
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.arrow.cells import HTYPE, METADATA
from deeplake_lite.errors import LakeError
from deeplake_lite.htypes import (
    Array,
    Boxes,
    Bytes,
    ClassLabel,
    Embedding,
    Htype,
    Image,
    Json,
    Keypoints,
    Link,
    Mask,
    Polygons,
    Scalar,
    Sequence,
    Text,
)
from deeplake_lite.htypes.registry import from_config

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deeplake_lite.ingest.deeplake.kinds import Kind

NUMBERS = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64",
)  # fmt: skip
"""Dtypes that have the same name in Deep Lake and in this package."""

FORMATS = {"ltrb": "xyxy", "ltwh": "xywh", "ccwh": "cxcywh"}
"""Maps Deep Lake's names of box formats to the names in this package."""

UNITS = {"pixel": "pixels", "fractional": "fraction"}
"""Maps Deep Lake's names of units of boxes to the names in this package."""

_MASKS = {"bool": "uint8", "uint8": "uint8", "uint16": "uint16"}


@dataclass(frozen=True)
class DeepColumn:
    """A column in a version of a Deep Lake dataset."""

    name: str
    kind: Kind
    htype: Htype
    """Type of the column in the lake."""

    metadata: Mapping[str, object]
    """Metadata of the column, without the items that are part of its type."""

    is_exported: bool = False
    """Whether `View.to_deeplake` wrote the column, so that its values must be restored."""

    missing: str = ""
    """Reason why the values cannot be read, or an empty string if they can be read."""

    @classmethod
    def of(cls, name: str, kind: Kind, metadata: Mapping[str, Any]) -> DeepColumn:
        """Return the column with the given name, Deep Lake type and metadata."""
        metadata = decode_metadata(_without_defaults(metadata))
        recorded = _recorded_type(metadata.pop(HTYPE, None))
        reason = _unreadable(kind)
        if reason:
            return cls(name, kind, Bytes(nullable=True), metadata, missing=reason)
        if recorded is not None:
            metadata.pop("class_names", None)
            return cls(name, kind, recorded, metadata, is_exported=True)
        htype = _htype(kind, metadata)
        if htype.classes is not None or htype.is_mask:
            metadata.pop("class_names", None)
        if htype.coordinates is not None:
            for key in ("coords", "keypoints", "connections"):
                metadata.pop(key, None)
        if kind.name not in ("array", "text", "dict", "image", "class_label", "embedding"):
            metadata["deeplake"] = {
                "type": kind.name,
                **({"codec": kind.codec} if kind.codec else {}),
            }
        return cls(name, kind, htype, metadata)

    def with_nulls(self) -> DeepColumn:
        """Return a copy of the column whose type is nullable."""
        return replace(self, htype=replace(self.htype, nullable=True))


def _recorded_type(config: object) -> Htype | None:
    """Return the type that `View.to_deeplake` recorded, or None if there is no valid record."""
    try:
        return from_config(json.loads(config)) if isinstance(config, str) else None
    except (LakeError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None


def decode_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata, decoding the item in which `View.to_deeplake` stored metadata as JSON.

    >>> decode_metadata({"a": 1, "deeplake_lite.metadata": '{"a": 1, "b": [1, "x"]}'})
    {'a': 1, 'b': [1, 'x']}
    """
    rest = {key: value for key, value in metadata.items() if key != METADATA}
    try:
        items = json.loads(str(metadata.get(METADATA, "{}")))
    except (ValueError, RecursionError):
        return rest
    return {**rest, **items} if isinstance(items, dict) else rest


def _without_defaults(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without the empty items that Deep Lake 3 adds."""
    return {key: value for key, value in metadata.items() if value is not None}


def _unreadable(kind: Kind) -> str:
    """Return the reason why values of a type cannot be read, or "" if they can be read."""
    if kind.name == "video":
        return "Deep Lake's API does not return the bytes of a video"
    if kind.name == "sequence" and kind.of is not None and kind.of.nullable:
        return "Deep Lake returns arbitrary numbers for a sequence of nullable values"
    if not kind.name or (kind.name == "array" and kind.dtype not in (*NUMBERS, *_OTHERS)):
        return f"its type {kind.dtype!r} is unknown" if kind.dtype else "its type is unknown"
    return ""


_OTHERS = ("int128", "bytes", "str", "text", "object")


def _htype(kind: Kind, metadata: Mapping[str, Any]) -> Htype:
    """Return the column type for a Deep Lake type."""
    maker = _MAKERS.get(kind.name, _array)
    htype = maker(kind, metadata)
    return replace(htype, nullable=True) if kind.nullable and not htype.nullable else htype


def _array(kind: Kind, metadata: Mapping[str, Any]) -> Htype:
    shape = kind.shape
    if kind.dtype in NUMBERS:
        if shape == ():
            return Scalar(kind.dtype)
        keypoints = _keypoints(kind, metadata)
        return keypoints if keypoints is not None else Array(kind.dtype, shape)
    if shape == ():
        plain: dict[str, Htype] = {
            "bytes": Bytes(),
            "str": Text(),
            "text": Text(),
            "int128": Text(),
        }
        return plain.get(kind.dtype, Json(nullable=True))
    is_text = kind.dtype in ("str", "text") and shape is not None and len(shape) == 1
    return Sequence(Text()) if is_text else Json(nullable=True)


def _embedding(kind: Kind, _: Mapping[str, Any]) -> Htype:
    size = kind.shape[0] if kind.shape else None
    try:
        return Embedding(size or 0, kind.dtype)
    except LakeError:  # embeddings do not support the dtype
        return Array(kind.dtype, kind.shape)


def _keypoints(kind: Kind, metadata: Mapping[str, Any]) -> Htype | None:
    """Return the column type for keypoints of Deep Lake 3, whose names are in the metadata.

    Return None if the column does not have keypoints.
    """
    names = metadata.get("keypoints")
    lines = metadata.get("connections")
    if kind.shape is None or len(kind.shape) != 2 or not isinstance(names, list):
        return None
    try:
        pairs = tuple((int(a), int(b)) for a, b in lines or ())
        return Keypoints(tuple(map(str, names)), pairs)
    except (LakeError, TypeError, ValueError):
        return None


def _classes(kind: Kind, metadata: Mapping[str, Any]) -> Htype:
    names = metadata.get("class_names")
    texts = tuple(map(str, names)) if isinstance(names, list) else ()
    is_one = kind.shape == () or kind.shape == (1,)
    try:
        return ClassLabel(texts, multiple=not is_one)
    except LakeError:  # a name that occurs twice, or is empty
        return Scalar(kind.dtype) if kind.shape == () else Array(kind.dtype, kind.shape)


def _boxes(kind: Kind, metadata: Mapping[str, Any]) -> Htype:
    recorded = metadata.get("coords")
    coords = {**(recorded if isinstance(recorded, dict) else {}), **kind.coordinates}
    mode = FORMATS.get(str(coords.get("mode", "")).lower())
    if mode is None:
        return Array(kind.dtype, (None, None))
    units = UNITS.get(str(coords.get("type", "pixel")).lower(), "pixels")
    try:
        return Boxes(mode, units, dtype=kind.dtype)
    except LakeError:  # boxes do not support the dtype
        return Array(kind.dtype, (None, None))


def _image(kind: Kind, _: Mapping[str, Any]) -> Htype:
    codec = "png" if kind.nullable else {"jpg": "jpeg"}.get(kind.codec or "", kind.codec or "auto")
    return Image(codec if codec in ("jpeg", "png") else "auto", nullable=True)


def _mask(kind: Kind, metadata: Mapping[str, Any]) -> Htype:
    names = metadata.get("class_names")
    texts = tuple(map(str, names)) if isinstance(names, list) else ()
    dtype = _MASKS.get(kind.dtype, "int32")
    try:
        return Mask("semantic", dtype=dtype, names=texts, nullable=True)
    except LakeError:  # a name that occurs twice
        return Mask("semantic", dtype=dtype, nullable=True)


def _sequence(kind: Kind, metadata: Mapping[str, Any]) -> Htype:
    assert kind.of is not None
    item = _htype(replace(kind.of, codec=kind.codec), metadata)
    if item.classes is not None and item.sql == "class":
        return ClassLabel(item.classes.names, multiple=True)
    if item.scalar is not None:
        return Array(item.scalar, (None,))
    return Sequence(item)


def _link(kind: Kind, metadata: Mapping[str, Any]) -> Htype:
    assert kind.of is not None
    item = _htype(kind.of, metadata)
    try:
        return Link(replace(item, nullable=False))
    except LakeError:  # links do not support the type of the files
        return Link(Bytes())


_MAKERS: Mapping[str, Callable[[Kind, Mapping[str, Any]], Htype]] = {
    "array": _array,
    "text": lambda *_: Text(),
    "dict": lambda *_: Json(nullable=True),
    "struct": lambda *_: Json(nullable=True),
    "embedding": _embedding,
    "image": _image,
    "class_label": _classes,
    "bbox": _boxes,
    "bmask": lambda *_: Mask("instance", nullable=True),
    "smask": _mask,
    "polygon": lambda *_: Polygons(),
    "point": lambda kind, _: Array(kind.dtype or "float32", (None, None)),
    "audio": lambda *_: Bytes(nullable=True),
    "medical": lambda *_: Bytes(nullable=True),
    "mesh": lambda *_: Bytes(nullable=True),
    "sequence": _sequence,
    "link": _link,
}
"""Maps the name of a Deep Lake type to a function that returns the column type.

The function takes the Deep Lake type and the metadata of a column."""
