"""Building columns for the features of datasets written by TensorFlow Datasets (TFDS).

The file features.json determines how features are serialized. A feature in nested dicts is named
after its path. Nested lists are written as ``ragged_flat_values`` and ``ragged_row_lengths_0``, and
tensors with several axes of unknown size as ``value`` and ``shape``. Class names are in files such
as ``label.labels.txt``. For features of other kinds, column types are inferred from the values.

https://www.tensorflow.org/datasets/api_docs/python/tfds/features
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import InvalidValueError, LakeError
from deeplake_lite.htypes import (
    Array,
    Boxes,
    Bytes,
    ClassLabel,
    Htype,
    Image,
    Scalar,
    Sequence,
    Text,
)
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.ingest.shards.feature_columns import PlainColumn, raw_values, value_of
from deeplake_lite.ingest.shards.record_files import MAX_BYTES, name_of

if TYPE_CHECKING:
    import collections.abc as abc
    from collections.abc import Callable, Iterator, Mapping

    from deeplake_lite.ingest.shards.feature_columns import FeatureColumn

    type Names = Callable[[str], list[str] | None]
    type Leaf = tuple[Htype, Callable[[Any], Any] | None]

FEATURES = "features.json"
INFO = "dataset_info.json"

MAX_DEPTH = 32
"""Maximum depth of nested features."""

_FLAT, _LENGTHS = "ragged_flat_values", "ragged_row_lengths_"

_YXYX = {"REL_YXYX": "fraction", "YXYX": "pixels"}
"""Maps the box formats that become `Boxes` to units. Boxes of other formats become arrays."""


def tfds_columns(content: Mapping[str, Any], names: Names) -> dict[str, FeatureColumn]:
    """Return a dict from names to the columns that a features.json describes.

    Parameters
    ----------
    content : mapping
        Content of the file.
    names : callable
        Function that returns the names of a feature's classes, or None if they are unknown.

    Raises
    ------
    InvalidValueError
        If the content is not in TFDS's format, or was written before TFDS 4.4.

    Examples
    --------
    >>> label = {"classLabel": {"numClasses": "2"}}
    >>> content = {"pythonClassName": "", "featuresDict": {"features": {"label": label}}}
    >>> tfds_columns(content, lambda _: ["cat", "dog"])["label"].htype
    ClassLabel(['cat', 'dog'], nullable=True)
    """
    if content.keys() == {"type", "content"}:
        raise InvalidValueError(
            f"{FEATURES} must be written by TFDS 4.4 or later, but it is older. Move the records "
            "to another folder, and pass their features: features=…."
        )
    if "pythonClassName" not in content:
        return {}  # written by another tool
    try:
        return {column.name: column for column in _columns("", content, (), names)}
    except (LakeError, TypeError, ValueError, LookupError, AttributeError) as error:
        raise InvalidValueError(
            f"{FEATURES} must be in TFDS's format, but it cannot be read: {error}. Restore the "
            "file, or move the records to another folder."
        ) from error


def split_names(files: abc.Sequence[str], info: Mapping[str, Any]) -> dict[str, str]:
    """Return a dict from files to splits, sorted by split, or an empty dict for a single split.

    >>> files = ["/d/pets-test.tfrecord-00000-of-00001", "/d/pets-train.tfrecord-00000-of-00001"]
    >>> list(split_names(files, {"splits": [{"name": "train"}, {"name": "test"}]}).values())
    ['train', 'test']
    """
    listed = info.get("splits")
    splits = (
        [s.get("name") for s in listed if isinstance(s, dict)] if isinstance(listed, list) else []
    )
    split_by_file = dict[str, str]()
    for split in splits:
        pattern = re.compile(rf"(^|-){re.escape(str(split))}\.[^.]*$")
        split_by_file |= {
            f: str(split) for f in files if f not in split_by_file and pattern.search(name_of(f))
        }
    return (
        split_by_file
        if len(split_by_file) == len(files) and len(set(split_by_file.values())) > 1
        else {}
    )


def shard_lengths(files: abc.Sequence[str], info: Mapping[str, Any]) -> dict[str, int]:
    """Return a dict from files to their numbers of records, for files whose number is known.

    >>> info = {"splits": [{"name": "test", "shardLengths": ["2", "3"]}]}
    >>> shard_lengths(["/d/pets-test.tfrecord-00001-of-00002"], info)
    {'/d/pets-test.tfrecord-00001-of-00002': 3}
    """
    listed = info.get("splits")
    length_by_file = dict[str, int]()
    for split in listed if isinstance(listed, list) else []:
        lengths = split.get("shardLengths") if isinstance(split, dict) else None
        if not isinstance(lengths, list):
            continue
        name = re.escape(str(split.get("name")))
        pattern = re.compile(rf"(?:^|-){name}\.[^.]*-(\d{{5}})-of-{len(lengths):05}$")
        for file in files:
            match = pattern.search(name_of(file))
            text = str(lengths[int(match[1])]) if match and int(match[1]) < len(lengths) else ""
            if text.isascii() and text.isdecimal():
                length_by_file[file] = int(text)
    return length_by_file


def _columns(
    name: str, feature: Mapping[str, Any], lists: tuple[int | None, ...], names: Names
) -> Iterator[FeatureColumn]:
    """Yield the columns for a feature.

    `lists` has the length of each list that contains the feature, or None for a variable length.
    """
    if name.count("/") + len(lists) > MAX_DEPTH:
        raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
    if "featuresDict" in feature:
        for key, part in feature["featuresDict"].get("features", {}).items():
            yield from _columns(f"{name}/{key}" if name else key, part, lists, names)
    elif "sequence" in feature:
        length = int(feature["sequence"].get("length", -1))
        axis = None if length < 0 else length
        yield from _columns(name, feature["sequence"]["feature"], (*lists, axis), names)
    elif "translation" in feature:
        if not feature["translation"].get("variableLanguagesPerExample"):
            for language in feature["translation"]["languages"]:
                yield from _columns(f"{name}/{language}", {"text": {}}, lists, names)
    else:
        yield from _leaf_column(name, feature, lists, names)


def _leaf_column(
    name: str, feature: Mapping[str, Any], lists: tuple[int | None, ...], names: Names
) -> Iterator[FeatureColumn]:
    tensor = _tensor(feature)
    if tensor is not None and tensor.axes.count(None) > 1:
        if not lists and tensor.encoding != "none":
            yield _ShapedColumn(name, Array(tensor.dtype, tensor.axes), tensor)
        return
    leaf = _leaf(name, feature, lists[-1:], names)
    if leaf is None:
        return
    htype, arrange = leaf
    if len(lists) < 2:
        if tensor is not None and tensor.is_optional:
            htype = replace(htype, nullable=True)
        yield PlainColumn(name, htype, name, arrange=arrange)
        return
    inner = htype
    for _ in lists[1:]:
        htype = Sequence(htype)
    yield _RaggedColumn(name, htype, inner, arrange, len(lists) - 1)


@dataclass(frozen=True)
class _Tensor:
    """The description of a tensor in features.json."""

    dtype: str
    axes: tuple[int | None, ...]
    encoding: str
    is_optional: bool

    def decode(self, data: bytes, shape: abc.Sequence[int] | None = None) -> Any:
        """Decode the bytes of a tensor. Raises ValueError if they are invalid."""
        if self.encoding == "zlib":
            decoder = zlib.decompressobj()
            try:
                data = decoder.decompress(data, MAX_BYTES)
            except zlib.error as error:
                raise ValueError(
                    f"a value must be zlib data, but it cannot be decompressed: {error}"
                ) from None
            if not decoder.eof:
                raise ValueError("zlib data must be complete, but it is truncated or too large")
        values = value_of([data], Array(self.dtype, (None,)))
        if shape is None:
            htype = Array(self.dtype, self.axes) if self.axes else Scalar(self.dtype)
            return value_of(values, htype)
        if len(shape) != len(self.axes) or min(shape, default=0) < 0 or \
                _product(shape) != len(values):  # fmt: skip
            raise ValueError(
                f"a feature must fill the shape {shape}, but this feature has "
                f"{pluralize(len(values), 'value')}"
            )
        return values.reshape(shape)


def _product(shape: abc.Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _tensor(feature: Mapping[str, Any]) -> _Tensor | None:
    """Return the description of a tensor of numbers, or None for other features."""
    content = feature.get("tensor", feature.get("audio"))
    if not isinstance(content, dict) or content.get("lazyDecode"):
        return None
    dtype = str(content.get("dtype"))
    if dtype not in ("bool", "float16") and not re.fullmatch(r"u?int\d+|float(32|64)", dtype):
        return None  # strings, and dtypes that NumPy does not have
    dimensions = content.get("shape", {}).get("dimensions", ())
    axes = tuple(None if int(size) < 0 else int(size) for size in dimensions)
    encoding = str(content.get("encoding") or "none").lower()
    return _Tensor(dtype, axes, encoding, bool(content.get("optional")))


def _leaf(
    name: str, feature: Mapping[str, Any], lists: tuple[int | None, ...], names: Names
) -> Leaf | None:
    """Return the column type for a feature that is in at most one list, and a function or None.

    The function converts values of the feature to values of the column. None means that they need
    no conversion. If the feature is not supported, the whole result is None.
    """
    if (tensor := _tensor(feature)) is not None:
        return _tensor_leaf(tensor, lists)
    if "classLabel" in feature:
        known = names(name) or ()
        if lists:
            return ClassLabel(known, multiple=True), None
        return ClassLabel(known, nullable=True), _class
    if "image" in feature and str(feature["image"].get("dtype", "uint8")).startswith("uint"):
        return (Sequence(Image("auto")) if lists else Image("auto")), None
    if "video" in feature and not lists:
        return Sequence(Image("auto")), None
    if "image" in feature or "audio" in feature:  # a PNG file may store float32 pixels
        return (Sequence(Bytes()) if lists else Bytes()), None
    if "text" in feature:
        return (Sequence(Text()) if lists else Text()), None
    if "boundingBox" in feature:
        units = _YXYX.get(str(feature["boundingBox"].get("bboxFormat")))
        if units is None:
            return Array("float32", (*lists, 4)), None
        return Boxes("xyxy", units=units), _boxes
    return None


def _tensor_leaf(tensor: _Tensor, lists: tuple[int | None, ...]) -> Leaf | None:
    axes = (*lists, *tensor.axes)
    if tensor.encoding != "none":
        item = Array(tensor.dtype, tensor.axes) if tensor.axes else Scalar(tensor.dtype)
        if lists:
            return Sequence(item), lambda values: [tensor.decode(_one([v])) for v in values]
        return item, lambda values: tensor.decode(_one(values))
    if axes.count(None) > 1:
        return None
    htype: Htype = Array(tensor.dtype, axes) if axes else Scalar(tensor.dtype)
    if tensor.dtype == "uint64":  # written as int64 with the same bits
        return htype, lambda values: value_of(np.asarray(values).view("u8"), htype)
    return htype, None


def _one(values: Any) -> bytes:
    """Return the only value of a feature, which must be bytes. Raises ValueError if it is not."""
    if len(values) != 1 or not isinstance(values[0], bytes):
        noun = "byte string" if isinstance(values, list) else "number"
        raise ValueError(
            f"a feature must have one byte string, but this feature has "
            f"{pluralize(len(values), noun)}"
        )
    return values[0]


def _class(values: Any) -> int | None:
    """Return the class number, or None for -1, which means "no label"."""
    number = int(value_of(values, Scalar("int64")))
    return None if number == -1 else number


def _boxes(values: Any) -> Any:
    """Convert boxes in the order top, left, bottom, right to the order left, top, right, bottom.

    >>> _boxes(np.array([1, 2, 3, 4], "f4")).tolist()
    [[2.0, 1.0, 4.0, 3.0]]
    """
    return value_of(values, Array("float32", (None, 4)))[:, [1, 0, 3, 2]]


@dataclass(frozen=True)
class _ShapedColumn:
    """A column of tensors with several axes of unknown size, stored as two features.

    One feature has the values of a tensor, and the other its shape.
    """

    name: str
    htype: Htype
    tensor: _Tensor

    @property
    def features(self) -> tuple[str, ...]:
        return (f"{self.name}/value", f"{self.name}/shape")

    def read(self, message: Any) -> Any:
        value, shape = (message.features.feature.get(name) for name in self.features)
        if value is None or shape is None:
            return None
        sizes = [int(size) for size in raw_values(shape)]
        return self.tensor.decode(_one(raw_values(value)), sizes)

    def values(self, cells: abc.Sequence[Any]) -> tuple[Any, dict[int, str]]:
        return cells, {}


@dataclass(frozen=True)
class _RaggedColumn:
    """A column of nested lists, which are stored as one list of values and lists of lengths."""

    name: str
    htype: Htype

    inner: Htype
    """Column type for the innermost lists."""

    arrange: Callable[[Any], Any] | None
    levels: int

    @property
    def features(self) -> tuple[str, ...]:
        lengths = [f"{self.name}/{_LENGTHS}{level}" for level in range(self.levels)]
        return (f"{self.name}/{_FLAT}", *lengths)

    def read(self, message: Any) -> Any:
        flat, *lengths = (message.features.feature.get(name) for name in self.features)
        if flat is None or None in lengths:
            return None
        values = raw_values(flat)
        size = _product([n for n in (self.inner.axes or ())[1:] if n is not None])
        inner_first = reversed([raw_values(feature) for feature in lengths])
        for level, level_lengths in enumerate(inner_first):
            values = _split(values, [int(n) for n in level_lengths], size if level == 0 else 1)
            if level == 0:
                values = [self._inner(part) for part in values]
        return values

    def _inner(self, values: Any) -> Any:
        return value_of(values, self.inner) if self.arrange is None else self.arrange(values)

    def values(self, cells: abc.Sequence[Any]) -> tuple[Any, dict[int, str]]:
        return cells, {}


def _split(values: Any, lengths: list[int], size: int) -> list[Any]:
    """Split values into lists, given the number of items in each list.

    An item consists of `size` values. Raises ValueError if the numbers do not fit.
    """
    if min(lengths, default=0) < 0 or sum(lengths) * size != len(values):
        raise ValueError(
            f"the lists must have {sum(lengths) * size:,} values according to their lengths, but "
            f"they have {len(values):,}"
        )
    ends = np.cumsum([0, *lengths]) * size
    return [values[a:b] for a, b in pairwise(ends)]
