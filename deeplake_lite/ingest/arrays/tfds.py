"""Ingesting TensorFlow Datasets (TFDS) with their features and splits."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from deeplake_lite import checks
from deeplake_lite.codecs.limits import DEFAULT_LIMITS
from deeplake_lite.errors import InvalidValueError, LakeError, NotFoundError, OptionError
from deeplake_lite.htypes import Boxes, ClassLabel, Htype, Image, Sequence, Text
from deeplake_lite.ingest.arrays.attributes import json_value
from deeplake_lite.ingest.arrays.sample_source import BadSample, Sample, SampleSource, bad_sample
from deeplake_lite.ingest.arrays.tensor_values import Leaf, leaves, text_of
from deeplake_lite.ingest.arrays.tensorflow import (
    Elements,
    is_tf_dataset,
    select_leaves,
    tensorflow_source,
)
from deeplake_lite.ingest.files import fingerprint
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from collections.abc import Sequence as Names

    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset

SPLIT = "split"
"""Name of the column of splits."""

_FORMATS = {
    "XYXY": ("xyxy", "pixels"), "REL_XYXY": ("xyxy", "fraction"),
    "YXYX": ("xyxy", "pixels"), "REL_YXYX": ("xyxy", "fraction"),
    "XYWH": ("xywh", "pixels"), "REL_XYWH": ("xywh", "fraction"),
    "CENTER_XYWH": ("cxcywh", "pixels"), "REL_CENTER_XYWH": ("cxcywh", "fraction"),
}  # fmt: skip
"""Maps TFDS's name of each box format to this package's names of the format and its unit."""


@takes_options
def from_tfds(
    dataset: object,
    url: str,
    *,
    split: str | Names[str] | None = None,
    on: str | None = None,
    columns: Names[str] | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest a dataset of TensorFlow Datasets, with its classes, original image files and splits.

    Parameters
    ----------
    dataset : DatasetBuilder, str, Path or tf.data.Dataset
        A builder; the name of a dataset, such as ``"mnist"``, which is downloaded if it has not
        been prepared; or the folder of a prepared dataset, which has a ``features.json``. A
        ``tf.data.Dataset`` is ingested as in `from_tensorflow`.
    url : str
        URL of the lake, which is created if it does not exist.
    split : str or sequence of str, optional
        The splits to ingest, such as ``"train"``; by default all. If there are several splits,
        their names are stored in the column ``split``.
    on : str, optional
        The column that identifies rows. Rows that are already in the lake are updated if they
        differ. By default, all rows are appended, unless the same files were ingested before.
    columns : sequence of str, optional
        The columns to ingest. By default, all columns.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, whose attribute ``ingested`` summarizes the import. Images keep the
        bytes of their files, bounding boxes become `Boxes`, and sequences of classes become
        sequences. Nested features become columns such as ``"objects.bbox"``. The dataset's
        description is stored in ``ds.metadata["tfds"]``.

    Raises
    ------
    NotFoundError
        If the dataset, split or column does not exist.
    InvalidValueError
        If the dataset is damaged or has not been prepared.
    MissingPackageError
        If tensorflow-datasets is not installed.

    Examples
    --------
    ``dl.from_tfds("mnist", "mnist.lake")`` downloads MNIST if necessary, and
    ``dl.from_tfds("~/tensorflow_datasets/voc/2007/4.0.0", "voc.lake", split="train")`` reads files.

    >>> import tensorflow as tf
    >>> import deeplake_lite as dl
    >>> ds = dl.from_tfds(tf.data.Dataset.range(3), "memory://from-tfds")
    >>> ds["item"][:]
    array([0, 1, 2])
    """
    if is_tf_dataset(dataset):
        if split is not None:
            raise OptionError(
                "split must be None for a tf.data.Dataset, which has no splits. Leave split out."
            )
        return ingest(tensorflow_source(dataset, on, columns, options), url, **options)
    tfds = checks.package("tensorflow_datasets", "tfds", "from_tfds")
    builder = _builder(tfds, dataset)
    return ingest(_source(tfds, builder, split, on, columns, options), url, **options)


def _builder(tfds: Any, dataset: Any) -> Any:
    """Return the TFDS builder for a name, a folder or a builder, whose dataset is prepared.

    Raises NotFoundError if there is no such dataset, InvalidValueError if it is not prepared, and
    OptionError if the object has another type.
    """
    if isinstance(dataset, str | os.PathLike):
        text = checks.location("dataset", dataset)
        folder = Path(text).expanduser()
        try:
            if folder.is_dir():
                return tfds.builder_from_directory(folder)
            dataset = tfds.builder(text)
        except Exception as error:  # TFDS raises many types of errors
            reason = bad_sample(error).reason.removeprefix("it cannot be read: ")
            raise NotFoundError(
                f"There is no TFDS dataset {text!r} that can be opened: {reason} Pass the name of "
                "a dataset, or the folder of a prepared dataset, which has a features.json."
            ) from error
        if not _is_prepared(dataset):
            dataset.download_and_prepare()
    if not hasattr(dataset, "as_dataset") or not hasattr(dataset, "info"):
        raise OptionError(
            "dataset must be a DatasetBuilder, a name, a folder or a tf.data.Dataset, but its type "
            f"is {type(dataset).__name__}."
        )
    if not _is_prepared(dataset):
        raise InvalidValueError(
            f"A dataset must be prepared, but {dataset.info.name!r} has no files. Call "
            "builder.download_and_prepare() first."
        )
    return dataset


def _is_prepared(builder: Any) -> bool:
    return bool(getattr(builder.info, "splits", None))


def _source(
    tfds: Any, builder: Any, split: Any, on: str | None, columns: Any, options: Options
) -> SampleSource:
    """Return the source for a TFDS builder.

    Raises NotFoundError if a split or column does not exist, and InvalidValueError if the dataset
    cannot be read.
    """
    known = list(builder.info.splits)
    splits = known if split is None else list(checks.names("split", split))
    names = None if columns is None else checks.names("columns", columns)
    for name in splits:
        if name.partition("[")[0] not in known:
            raise NotFoundError.named("split", name, known)
    limits = options.get("limits", DEFAULT_LIMITS)
    parts = dict[str, Elements]()
    for name in splits:
        title = f"{builder.info.name} {name}"
        try:
            data = builder.as_dataset(
                split=name, decoders=_decoders(tfds, builder.info.features), shuffle_files=False
            )
            selected = select_leaves(_typed_leaves(builder.info.features, data.element_spec), names)
        except LakeError:
            raise
        except Exception as error:  # from TFDS or TensorFlow
            raise InvalidValueError(f"{title}: {bad_sample(error).reason}") from error
        parts[name] = Elements(data, selected, limits, title, types_of(options.get("schema")))
    reader = _Splits(parts)
    data_dir = Path(builder.data_dir)
    files = sorted(str(path) for path in data_dir.rglob("*") if path.is_file())
    counts = [int(part.dataset.cardinality()) for part in parts.values()]
    return SampleSource(
        builder.info.name, reader.read, sum(counts) if min(counts) >= 0 else None, on,
        types_of(options.get("schema")), reader.types(),
        fingerprint(f"{data_dir}?{','.join(splits)}", files) if files else None,
        metadata={"tfds": _description(builder.info)},
    )  # fmt: skip


@dataclass(frozen=True)
class _Splits:
    """A reader of the splits of a dataset, one after another."""

    parts: Mapping[str, Elements]

    def types(self) -> dict[str, Htype]:
        """Return the type of each column, which is nullable if any split has nulls."""
        types = dict[str, Htype]()
        for part in self.parts.values():
            for name, htype in part.types.items():
                nullable = htype.nullable or (name in types and types[name].nullable)
                types[name] = replace(types.get(name, htype), nullable=nullable)
        if len(self.parts) > 1:
            if SPLIT in types:
                raise InvalidValueError(
                    f"The names of the splits are stored in the column {SPLIT!r}, but the dataset "
                    "has a feature with that name. Ingest one split at a time, such as "
                    f"split={next(iter(self.parts))!r}."
                )
            types[SPLIT] = ClassLabel(list(self.parts))
        return types

    def read(self, start: int) -> Iterator[Sample]:
        """Yield the samples from number `start` on."""
        for name, part in self.parts.items():
            count = int(part.dataset.cardinality())
            if 0 <= count <= start:
                start -= count
                continue
            for sample in part.read(start):
                if isinstance(sample, BadSample) or len(self.parts) == 1:
                    yield sample
                else:
                    yield {**sample, SPLIT: name}
            start = 0


def _decoders(tfds: Any, features: Any) -> Any:
    """Return a dict from features to TFDS decoders, which leave image files encoded."""
    decoders = {}
    for name, feature in features.items():
        inner = getattr(feature, "feature", None)
        if _is_files(feature) or (inner is not None and _is_files(inner)):
            decoders[name] = tfds.decode.SkipDecoding()
        else:
            nested = inner if _is_dict(inner) else feature
            if _is_dict(nested) and (more := _decoders(tfds, nested)):
                decoders[name] = more
    return decoders


def _kinds(feature: Any) -> set[str]:
    return {c.__name__ for c in type(feature).__mro__}


def _is_dict(feature: Any) -> bool:
    """Return whether a feature is a FeaturesDict, which contains other features by name."""
    return "FeaturesDict" in _kinds(feature)


def _is_files(feature: Any) -> bool:
    """Return whether a feature is stored as image files that this package can read."""
    return "Image" in _kinds(feature) and np.dtype(feature.np_dtype) in (np.uint8, np.uint16)


def _typed_leaves(features: Any, spec: Any) -> list[Leaf]:
    """Return a `Leaf` for each tensor in the elements of a dataset, with its column type."""
    return [_add_type(leaf, features) for leaf in leaves(spec, None)]


def _add_type(leaf: Leaf, features: Any) -> Leaf:
    """Return a leaf with its column type, or unchanged if its dtype determines the type."""
    feature, lists, path = features, 0, list(leaf.path)
    while True:
        if _is_dict(feature) and path:
            feature = feature[path.pop(0)]
        elif "Sequence" in _kinds(feature) and hasattr(feature, "feature"):
            feature, lists = feature.feature, lists + 1
        else:
            break
    declared = _type(feature, lists)
    return leaf if declared is None else replace(leaf, htype=declared[0], convert=declared[1])


def _type(feature: Any, lists: int) -> tuple[Htype, Callable[[Any], Any]] | None:
    """Return the column type for a feature within `lists` nested sequences, and a function.

    The function converts values of the feature to values of the column. The result is None if the
    dtype of the feature determines the column type.
    """
    kinds = _kinds(feature)
    if "BBoxFeature" in kinds and lists <= 1:
        name = getattr(feature.bbox_format, "name", "")
        if name not in _FORMATS:
            return None
        form, units = _FORMATS[name]
        return Boxes(form, units=units), partial(_boxes, swap=name.endswith("YXYX"))
    htype: Htype
    convert: Callable[[Any], Any]
    if "ClassLabel" in kinds and feature.num_classes:
        names = tuple(feature.names)
        htype, convert = ClassLabel(names), partial(_class_names, names)
        if lists:
            htype = replace(htype, nullable=True)
    elif _is_files(feature):
        htype, convert = Image("auto"), _to_list
    elif "Text" in kinds:
        htype, convert = Text(), text_of
    else:
        return None
    for _ in range(lists):
        htype = Sequence(htype)
    return htype, convert


def _boxes(value: Any, *, swap: bool) -> Any:
    """Return boxes as an array (n, 4). If `swap` is true, exchange x and y.

    >>> _boxes(np.array([0.1, 0.2, 0.3, 0.4]), swap=True).tolist()
    [[0.2, 0.1, 0.4, 0.3]]
    """
    boxes = np.reshape(value, (-1, 4))
    return boxes[:, [1, 0, 3, 2]] if swap else boxes


def _class_names(names: tuple[str, ...], value: Any) -> Any:
    """Convert class numbers to class names. The number -1, which means "no label", becomes None.

    >>> _class_names(("a", "b"), np.array([1, -1]))
    ['b', None]
    """
    if isinstance(value, list | np.ndarray) and np.ndim(value):
        return [_class_names(names, item) for item in value]
    number = int(value)
    return names[number] if 0 <= number < len(names) else None if number == -1 else number


def _to_list(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _description(info: Any) -> dict[str, object]:
    """Return the name, version, description and citation of a dataset, as metadata."""
    items: dict[str, Any] = {
        "name": info.name, "version": str(info.version), "description": info.description,
        "homepage": info.homepage, "citation": info.citation,
        "supervised_keys": info.supervised_keys,
    }  # fmt: skip
    return {name: json_value(item) for name, item in items.items() if item}
