"""Ingesting datasets that FiftyOne exports in its own format, ``FiftyOneDataset``."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from deeplake_lite import checks, codecs
from deeplake_lite.dataset.export.annotations import fiftyone_labels as labels
from deeplake_lite.dataset.export.annotations.fiftyone import ORDER
from deeplake_lite.dataset.export.annotations.objects import Object, Picture, check_masks, rest_of
from deeplake_lite.errors import InvalidValueError, LakeError, NotFoundError, OptionError
from deeplake_lite.htypes import Htype, Keypoints, Mask
from deeplake_lite.ingest.annotations.fiftyone_fields import OWN, Field, cell_of, kind_of
from deeplake_lite.ingest.annotations.image_files import ImageFolder
from deeplake_lite.ingest.annotations.json_file import decode_item, read_bytes, read_list
from deeplake_lite.ingest.annotations.labelstudio_tasks import names_of
from deeplake_lite.ingest.annotations.source import AnnotationSource
from deeplake_lite.ingest.files import fingerprint
from deeplake_lite.ingest.folders.layout import SPLITS
from deeplake_lite.ingest.options import takes_options
from deeplake_lite.ingest.relative_paths import is_inside
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset
    from deeplake_lite.ingest.source import Skipped

_RESERVED = frozenset({
    "image", "path", "split", "width", "height", "boxes", "labels", "segmentation", "polylines",
    "keypoints", "masks", "scores", "tags", "fiftyone", "difficult", "truncated", "occluded",
})  # fmt: skip

_DOCUMENT = (
    "tags", "description", "info", "app_config", "classes", "default_classes", "mask_targets",
    "default_mask_targets", "skeletons", "default_skeleton", "sample_fields",
)  # fmt: skip
"""Keys of ``metadata.json`` whose values are stored in the metadata of the lake."""


@takes_options
def from_fiftyone(
    path: str | os.PathLike[str],
    url: str,
    *,
    label_field: str | None = None,
    images: str | os.PathLike[str] | bool | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest a dataset exported by FiftyOne as ``FiftyOneDataset``.

    Parameters
    ----------
    path : str or Path
        The folder with ``metadata.json``, ``samples.json`` and ``data``.
    url : str
        URL of the lake, which is created if it does not exist.
    label_field : str, optional
        The field whose labels become objects. By default, each type of labels (detections,
        polylines, keypoints) is read from the only field of this type or, if there are several,
        from ``ground_truth``.
    images : str, Path or False, optional
        Folder of the images, if they are not in `path`. False ingests only the labels.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, with one row per sample: ``image``, ``path`` (the key), ``split``
        (from tags such as "train" and "val"), ``tags`` (all other tags), ``width``, ``height``,
        ``boxes`` (xyxy, in pixels), ``labels``, and, if there are any: ``segmentation`` (closed
        polylines), ``polylines``, ``keypoints``, ``masks``, ``scores``, and a column for each field
        of classifications, segmentations, regressions, numbers and strings. The dataset's attribute
        ``ingested`` summarizes the import.

    Raises
    ------
    NotFoundError
        If the folder or the field does not exist.
    OptionError
        If several fields have labels of the same type and none of them is ``ground_truth``.
    InvalidValueError
        If a file is not a FiftyOne export, a label is invalid, or an image is missing; with
        ``on_error="skip"``, such samples are skipped.

    Notes
    -----
    Everything else, such as attributes, ids and the labels of other fields, is stored in the column
    ``fiftyone``. The classes and descriptions of fields are stored in ``ds.metadata["fiftyone"]``.
    `View.to_fiftyone` writes all of this back, except for cells that have been edited. Saved views
    and the results of runs are not ingested.

    Examples
    --------
    >>> import json, tempfile
    >>> import deeplake_lite as dl
    >>> root = Path(tempfile.mkdtemp())
    >>> label = {"_cls": "Detection", "label": "cat", "bounding_box": [0.25, 0.5, 0.5, 0.25]}
    >>> sample = {
    ...     "filepath": "data/a.jpg",
    ...     "tags": ["train"],
    ...     "metadata": {"width": 64, "height": 48},
    ...     "ground_truth": {"_cls": "Detections", "detections": [label]},
    ... }
    >>> _ = (root / "metadata.json").write_text("{}")
    >>> _ = (root / "samples.json").write_text(json.dumps({"samples": [sample]}))
    >>> ds = dl.from_fiftyone(root, "memory://from-fiftyone", images=False)
    >>> ds["boxes"][0], ds["labels"].names, ds["split"].names
    (array([[16., 24., 48., 36.]], dtype=float32), ('cat',), ('train',))
    """
    field = checks.optional_text("label_field", label_field)
    return ingest(AnnotationSource(fiftyone_reader(path, field, images)), url, **options)


def fiftyone_reader(
    path: str | os.PathLike[str],
    label_field: str | None = None,
    images: str | os.PathLike[str] | bool | None = None,
) -> FiftyOneReader:
    """Return the reader of a dataset.

    Raises NotFoundError or InvalidValueError if a file is missing or invalid, and OptionError if
    the user must choose a field of objects.
    """
    root = Path(checks.location("path", path)).expanduser()
    if not (root / "metadata.json").is_file():
        raise NotFoundError(
            f"There is no file {str(root / 'metadata.json')!r}. Pass a folder that FiftyOne "
            'exported with dataset_type="FiftyOneDataset".'
        )
    folder: ImageFolder | None = ImageFolder([root])
    if images is False:
        folder = None
    elif images is not None and images is not True:
        given = Path(checks.location("images", images)).expanduser()
        if not given.is_dir():
            raise NotFoundError(f"There is no folder {str(given)!r}. Check the argument images.")
        folder = ImageFolder([given])
    document = _document(root / "metadata.json")
    reader = FiftyOneReader(root, document, _samples(root), folder, label_field)
    _ = reader.object_fields  # raises errors before any rows are written
    return reader


def _document(path: Path) -> dict[str, Any]:
    """Read ``metadata.json``, which describes the dataset.

    Raises InvalidValueError if it is invalid.
    """
    try:
        document = decode_item(msgspec.Raw(bytes(read_bytes(path))))
    except ValueError as error:
        raise InvalidValueError(f"{path.name}: {error}. Check the file.") from None
    kind = document.get("media_type")
    if kind not in (None, "image"):
        raise InvalidValueError(
            f"The media type of a dataset must be 'image', but the media type of "
            f"{path.parent.name!r} is {kind!r:.40}. Export its frames as a dataset of images."
        )
    return document


def _samples(root: Path) -> list[msgspec.Raw]:
    """Return the samples as undecoded JSON.

    Raises NotFoundError or InvalidValueError if their files are missing or invalid.
    """
    if (root / "samples.json").is_file():
        return read_list(root / "samples.json", "samples")
    if (root / "samples").is_dir():
        return [
            msgspec.Raw(bytes(read_bytes(p))) for p in sorted((root / "samples").glob("*.json"))
        ]
    raise NotFoundError(f"There is no file {str(root / 'samples.json')!r}. Check the path.")


@dataclass(frozen=True)
class FiftyOneReader:
    """The reader of a FiftyOne dataset, which yields its samples as pictures."""

    root: Path
    document: Mapping[str, Any]
    raw: list[msgspec.Raw]
    images: ImageFolder | None
    label_field: str | None
    name: str = "fiftyone"
    left_out: Collection[Skipped] = ()
    splits: Collection[str] = ()
    tags: Collection[str] = ()

    @property
    def title(self) -> str:
        """Name of the folder."""
        return self.root.resolve().name or str(self.root)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the paths, sizes and modification times of the two JSON files."""
        names = [self.root / name for name in ("metadata.json", "samples.json")]
        return fingerprint(self.root, [str(name) for name in names if name.is_file()])

    @property
    def has_images(self) -> bool:
        """Whether image files are ingested."""
        return self.images is not None

    @cached_property
    def fields(self) -> dict[str, Field]:
        """Maps names to the fields of samples, except for the fields that every sample has."""
        fields: dict[str, Field] = {}
        for raw in self.raw:
            try:
                sample = decode_item(raw)
            except ValueError:
                continue
            for name in sample.keys() - OWN:
                fields.setdefault(name, Field()).add(sample[name])
        order = {f.get("name"): n for n, f in enumerate(_list(self.document.get("sample_fields")))
                 if isinstance(f, dict)}  # fmt: skip
        return {
            name: fields[name] for name in sorted(fields, key=lambda n: (order.get(n, 10**6), n))
        }

    @cached_property
    def object_fields(self) -> list[str]:
        """Names of the fields whose labels become objects.

        Raises NotFoundError if the field that the user chose does not exist, and OptionError if the
        user must choose one.
        """
        by_kind: dict[str, list[str]] = {}
        for name, field in self.fields.items():
            if field.kind in labels.LISTS:
                by_kind.setdefault(field.kind, []).append(name)
        every = [name for names in by_kind.values() for name in names]
        if self.label_field is not None:
            if self.label_field not in every:
                raise NotFoundError.named("field of objects", self.label_field, every)
            return [self.label_field]
        chosen = []
        for names in by_kind.values():
            if len(names) > 1 and "ground_truth" not in names:
                raise OptionError(
                    "The objects to ingest must be in one field, but they are in the fields "
                    f"{', '.join(map(repr, names))}. Choose one: label_field={names[0]!r}."
                )
            chosen.append("ground_truth" if len(names) > 1 else names[0])
        return [name for name in self.fields if name in chosen]

    @property
    def classes(self) -> Collection[str]:
        """Classes that the dataset's document declares for the fields of objects."""
        declared = _dict(self.document.get("classes"))
        names = [name for f in self.object_fields for name in _list(declared.get(f))]
        names = names or (_list(self.document.get("default_classes")) if self.object_fields else [])
        return [name for name in names if isinstance(name, str)]

    @property
    def points(self) -> Keypoints:
        """Type of the column of keypoints, with the skeleton's names and connections of points."""
        skeletons = _dict(self.document.get("skeletons"))
        field_skeletons = [skeletons[f] for f in self.object_fields if f in skeletons]
        skeleton = _dict(
            field_skeletons[0] if field_skeletons else self.document.get("default_skeleton")
        )
        names = [name for name in _list(skeleton.get("labels")) if isinstance(name, str) and name]
        if len({*names}) != len(_list(skeleton.get("labels"))):
            return Keypoints()
        pairs = [pair for edge in _list(skeleton.get("edges")) if isinstance(edge, list)
                 for pair in pairwise(edge)]  # fmt: skip
        count = len(names)
        return Keypoints(names, [(a, b) for a, b in pairs if type(a) is type(b) is int
                                 and 0 <= a < count and 0 <= b < count and a != b])  # fmt: skip

    @cached_property
    def columns(self) -> dict[str, str]:
        """Maps the name of each field that gets a column to the name of the column."""
        result, taken = dict[str, str](), set(_RESERVED)
        for name in self._types:
            column = name
            while column in taken:
                column += "_"
            taken.add(column)
            result[name] = column
        return result

    @cached_property
    def _types(self) -> dict[str, Htype]:
        targets = _dict(self.document.get("mask_targets"))
        usual = _dict(self.document.get("default_mask_targets"))
        types = {
            name: field.htype(_dict(targets.get(name)) or usual)
            for name, field in self.fields.items()
        }
        return {name: htype for name, htype in types.items() if htype is not None}

    def types(self) -> Mapping[str, Htype]:
        """Return a dict from the names of the fields' columns to the columns' types."""
        return {self.columns[name]: htype for name, htype in self._types.items()}

    @property
    def metadata(self) -> Mapping[str, object]:
        """Metadata of the lake: the dataset's document, and the fields of columns and objects."""
        document = {key: self.document[key] for key in _DOCUMENT if self.document.get(key)}
        if "info" in document:
            document["info"] = {k: v for k, v in _dict(document["info"]).items() if k != ORDER}
        columns = {column: {"field": name, "kind": self.fields[name].kind}
                   for name, column in self.columns.items()}  # fmt: skip
        objects = [[self.fields[name].kind, name] for name in self.object_fields]
        return {"document": document, "columns": columns, "objects": objects}

    def pictures(self) -> Iterator[Picture]:
        """Yield a picture for each sample."""
        for number, raw in enumerate(self.raw):
            try:
                yield self._picture(decode_item(raw))
            except (ValueError, LakeError, OSError) as error:
                yield Picture(f"samples.json, sample {number}", error=f"{str(error).rstrip('.')}.")

    def _picture(self, sample: Mapping[str, Any]) -> Picture:
        """Convert a sample to a picture. Raises ValueError if the sample is invalid."""
        filepath = sample.get("filepath")
        if not isinstance(filepath, str) or not filepath:
            raise ValueError("a sample must have a filepath, but this sample has none")
        filepath = filepath.replace("\\", "/")
        path = filepath.lstrip("/").removeprefix("data/")
        image = None if self.images is None else self.images.find(_candidate_names(filepath))
        size = _size(sample, image)
        objects = self._objects(sample, size)
        check_masks(objects)
        tags = [tag for tag in _list(sample.get("tags")) if isinstance(tag, str)]
        splits = [tag for tag in tags if tag.lower() in SPLITS]
        split = splits[0] if len(splits) == 1 else None
        rest_tags = list(dict.fromkeys(tag for tag in tags if tag != split))
        return Picture(
            path,
            objects,
            image=image,
            split=split,
            width=size[0],
            height=size[1],
            tags=rest_tags,
            columns=self._columns(sample),
            rest=self._rest(sample, tags, [*([split] if split else []), *rest_tags]),
        )

    def _objects(self, sample: Mapping[str, Any], size: labels.Size) -> list[Object]:
        """Return the objects of a sample. Raises ValueError if one is invalid."""
        objects = list[Object]()
        for field in self.object_fields:
            value = sample.get(field)
            if value is None:
                continue
            key = labels.LISTS[str(kind_of(value))]
            for number, label in enumerate(_list(value.get(key))):
                label_with_mask = self._inline_mask(label if isinstance(label, dict) else {})
                parsed = labels.parse(label_with_mask, size)
                assert size[0] is not None
                assert size[1] is not None
                rebuilt = labels.rebuild(parsed, (size[0], size[1]), f"{field}/{number}")
                objects.append(replace(parsed, rest=rest_of(label_with_mask, rebuilt)))
        return self._sort_objects(objects)

    def _sort_objects(self, objects: list[Object]) -> list[Object]:
        """Return the objects in the order that they had in the lake they were exported from.

        If no lake recorded an order, return the objects unchanged.
        """
        if _dict(self.document.get("info")).get(ORDER) is not True:
            return objects
        numbers = [obj.rest.get("index") for obj in objects]
        if not all(type(n) is int for n in numbers) or len({*numbers}) != len(numbers):
            return objects
        ordered = [obj for _, obj in sorted(zip(numbers, objects, strict=True),
                                            key=lambda pair: pair[0] or 0)]  # fmt: skip
        return [replace(obj, rest={k: v for k, v in obj.rest.items() if k != "index"})
                for obj in ordered]  # fmt: skip

    def _inline_mask(self, label: Mapping[str, Any]) -> dict[str, Any]:
        """Return a label whose mask is in the label, reading the mask's file.

        Raises ValueError if the file cannot be read.
        """
        path = label.get("mask_path")
        if path is None or label.get("mask") is not None:
            return dict(label)
        other_items = {k: v for k, v in label.items() if k not in ("mask", "mask_path")}
        mask = Mask().from_file(Path(self._media(path)).read_bytes())
        return {**other_items, "mask": labels.binary_of(mask != 0)}

    def _media(self, path: Any) -> str:
        """Return the absolute path of a file in the dataset.

        Raises ValueError if there is no such file.
        """
        name = str(path).replace("\\", "/")
        if not is_inside(name):
            raise ValueError(
                f"a mask must be inside the dataset's folder, but its path is {name[:80]!r}"
            )
        if not os.path.isfile(self.root / name):
            raise ValueError(f"there is no mask file {name[:80]!r} in the dataset's folder")
        return str((self.root / name).absolute())

    def _columns(self, sample: Mapping[str, Any]) -> dict[str, Any]:
        """Return a dict from column names to the sample's cells, except for the fields of objects.

        Raises ValueError if a mask is invalid.
        """
        cells: dict[str, Any] = {}
        for name, column in self.columns.items():
            value = sample.get(name)
            if not isinstance(value, dict) or kind_of(value) != "Segmentation":
                cells[column] = cell_of(value)
            elif value.get("mask") is not None:
                cells[column] = labels.array_of(value["mask"])
            elif value.get("mask_path") is not None:
                cells[column] = self._media(value["mask_path"])
        return cells

    def _rest(self, sample: Mapping[str, Any], tags: list[str], usual: list[str]) -> dict[str, Any]:
        """Return the values of a sample that no other column stores."""
        rest: dict[str, Any] = {}
        if "_id" in sample:
            rest["_id"] = sample["_id"]
        if tags != usual:
            rest["tags"] = tags
        metadata = _dict(sample.get("metadata"))
        if more := {k: v for k, v in metadata.items() if k not in ("_cls", "width", "height")}:
            rest["metadata"] = more
        other_fields = {
            name: sample[name] for name in sample.keys() - OWN
            if name not in self.object_fields and name not in self.columns
            and sample[name] is not None
        }  # fmt: skip
        for name in self.columns:
            value = sample.get(name)
            if isinstance(value, dict):
                items = {k: v for k, v in value.items() if k not in ("mask", "mask_path")}
                if items.keys() - {"_cls", "label"}:
                    rest.setdefault("labels", {})[name] = items
        return {**rest, **({"fields": other_fields} if other_fields else {})}


def _candidate_names(filepath: str) -> list[str]:
    """Return the names under which to look for an image in the folder of images."""
    if filepath.startswith("/") or ":" in filepath[:3]:
        return [*names_of(filepath.lstrip("/"))]
    return [filepath, filepath.removeprefix("data/")]


def _size(sample: Mapping[str, Any], image: str | None) -> labels.Size:
    """Return the width and height of an image, or (None, None) if its size is unknown.

    The size comes from the sample's metadata or the image file. Raises ValueError if the image
    file cannot be read.
    """
    metadata = _dict(sample.get("metadata"))
    sides = [metadata.get(key) for key in ("width", "height")]
    if all(type(side) is int and 0 < side < 10**9 for side in sides):
        return sides[0], sides[1]
    if image is None:
        return None, None
    data = Path(image).read_bytes()
    shape = codecs.sniff(data).probe(data).shape
    return shape[1], shape[0]


def _dict(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else []
