"""Ingesting COCO files: boxes, outlines, keypoints, captions and panoptic segmentations."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset.export.annotations import coco_annotations as coco
from deeplake_lite.errors import NotFoundError
from deeplake_lite.htypes import (
    Boxes,
    ClassLabel,
    Htype,
    Image,
    Json,
    Keypoints,
    Polygons,
    Scalar,
    Sequence,
    Text,
)
from deeplake_lite.ingest.coco.cells import cells_of
from deeplake_lite.ingest.coco.document import Document
from deeplake_lite.ingest.files import fingerprint
from deeplake_lite.ingest.folders.formats import formats_of
from deeplake_lite.ingest.options import takes_options
from deeplake_lite.ingest.source import Block, Skipped
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset

type Files = str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]]

BLOCK_ROWS = 1_024

MAX_FOLDERS = 100
"""Maximum number of folders near an annotation file that are searched for its images."""

_ONE = "an image must have at most one panoptic annotation, but this image has several."
_CLIMBS = "the file_name must be inside the folder of images, but it leads outside this folder."

BOXES = frozenset({"id", "category_id", "bbox", "area", "iscrowd"})
"""Keys that usual annotations of boxes have."""


@takes_options
def from_coco(
    annotations: Files,
    url: str,
    *,
    images: Files | bool | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest COCO annotations and their images, without loss.

    Parameters
    ----------
    annotations : str, Path or mapping
        A COCO file (instances, keypoints, captions or panoptic), or a mapping of splits to files:
        ``{"train": "instances_train2017.json", "val": "instances_val2017.json"}``.
    url : str
        URL of the lake, which is created if it does not exist.
    images : str, Path, mapping or False, optional
        Folder of the images, or a mapping of splits to folders. By default, the images are searched
        for near the file: in ``images`` or ``data``, in ``train2017`` for
        ``instances_train2017.json``, in the file's own folder, and in the folders next to the file.
        False ingests only the annotations.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, with one row per image: ``image``, ``path`` (the key: split and file
        name), ``split``, ``image_id``, ``width``, ``height``, and, if the files have them:
        ``boxes`` (xywh), ``labels``, ``segmentation`` (the outlines of each annotation),
        ``keypoints``, ``captions``, ``annotation_ids``, ``areas``, ``crowd``, and ``panoptic`` (the
        PNG files of the segments, from the folder with the name of the JSON file). The dataset's
        attribute ``ingested`` summarizes the import and lists skipped images.

    Raises
    ------
    NotFoundError
        If the file does not exist, or its images cannot be found.
    InvalidValueError
        If a file is not in COCO format, or an annotation is invalid; with ``on_error="skip"``, the
        image of an invalid annotation is skipped.

    Notes
    -----
    Other keys, run-length encodings, and numbers that float32 would round are stored in the column
    ``coco``. Licences, categories and other parts of the file are stored in
    ``ds.metadata["coco"]``. `View.to_coco` writes all of this back, except for annotations that
    have been edited.

    Examples
    --------
    >>> import json, tempfile
    >>> import deeplake_lite as dl
    >>> document = {
    ...     "images": [{"id": 7, "file_name": "a.jpg", "width": 64, "height": 48}],
    ...     "annotations": [{"id": 1, "image_id": 7, "category_id": 90, "bbox": [4, 5, 20, 10]}],
    ...     "categories": [{"id": 90, "name": "toothbrush"}],
    ... }
    >>> path = Path(tempfile.mkdtemp(), "instances.json")
    >>> _ = path.write_text(json.dumps(document))
    >>> ds = dl.from_coco(path, "memory://from-coco", images=False)
    >>> ds["boxes"][0], ds["labels"].names
    (array([[ 4.,  5., 20., 10.]], dtype=float32), ('toothbrush',))
    """
    return ingest(coco_source(annotations, images), url, **options)


def coco_source(annotations: Files, images: Files | bool | None = None) -> CocoSource:
    """Return the source for COCO files.

    Raises NotFoundError or InvalidValueError if a file does not exist or is invalid.
    """
    files = _by_split("annotations", annotations)
    folders = _by_split("images", images) if isinstance(images, str | os.PathLike | Mapping) else {}
    if unknown := folders.keys() - files.keys() - {""}:
        raise NotFoundError.named("split", min(unknown), files)
    parts = []
    for split, path in files.items():
        document = Document.read(path)
        folder = folders.get(split, folders.get(""))
        if images is not False:
            folder = _image_folder(document, folder)
        parts.append(Part(split, document, folder))
    return CocoSource(tuple(parts))


def _by_split(name: str, value: object) -> dict[str, Path]:
    """Return a dict from names of splits to paths. If `value` is a path, its split is ""."""
    by_split = value if isinstance(value, Mapping) else {"": value}
    return {
        checks.text("a split name", split) if by_split is value else "": Path(
            checks.location(name, path)
        ).expanduser()
        for split, path in by_split.items()
    }


def _image_folder(document: Document, given: Path | None) -> Path:
    """Return the folder with the images of a COCO file, which is `given` or a folder near the file.

    Raises NotFoundError if the images are not there.
    """
    here, stem = document.path.absolute().parent, document.path.stem
    suffix = stem.rpartition("_")[2]
    near = [here.parent / suffix, here.parent / "images" / suffix, here.parent / "images",
            here / suffix, here / "images", here / "data", here]  # fmt: skip
    roots = [here, here.parent] if here.name.lower() in ("annotations", "labels") else [here]
    near += [*islice((folder for root in roots for folder in _folders_in(root)), MAX_FOLDERS)]
    names = [str(image.get("file_name")) for image in document.images[:100]]
    for folder in [given] if given is not None else near:
        if not names or any(os.path.isfile(_path_of(folder, name)) for name in names):
            return folder
    where = f"in {str(given)!r}" if given is not None else f"next to {str(document.path)!r}"
    raise NotFoundError(
        f"The images of {document.path.name}, such as {brief(names[0], 80)}, are not {where}. Pass "
        "the folder of the images as images=…, or pass images=False to ingest only the annotations."
    )


def _folders_in(folder: Path) -> list[Path]:
    """Return the subfolders of a folder, sorted by name."""
    try:
        return sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    except OSError:
        return []


@dataclass(frozen=True)
class Part:
    """A split of the dataset, with a COCO file and a folder of images."""

    split: str
    """Name of the split, or "" if there is only one split."""

    document: Document
    """The COCO file."""

    folder: Path | None
    """Folder of the images, or None if only the annotations are ingested."""

    @cached_property
    def segments(self) -> Path | None:
        """Folder of a panoptic file's PNG files, or None if there is no such folder.

        The folder is next to the COCO file, and has the file's name without suffix.
        """
        folder = self.document.path.absolute().with_suffix("")
        return folder if self.document.is_panoptic and folder.is_dir() else None

    def path(self, number: int) -> str:
        """Return the key of an image's row, which consists of the split and the file name."""
        image = self.document.images[number]
        name = image.get("file_name", image["id"])
        return f"{self.split}/{name}" if self.split else str(name)

    @cached_property
    def points(self) -> dict[Any, int]:
        """Maps the ids of categories with keypoints to the numbers of keypoints."""
        categories = self.document.categories
        lists = {c["id"]: c.get("keypoints") for c in categories}
        return {
            category: len(names)
            for category, names in lists.items()
            if isinstance(names, list) and names
        }

    @cached_property
    def class_names(self) -> dict[Any, str]:
        """Maps category ids to class names. If names are equal, they include the id."""
        categories = self.document.categories
        names = coco.class_names(categories)
        return {c["id"]: name for c, name in zip(categories, names, strict=True)}


@dataclass(frozen=True)
class CocoSource:
    """The source for COCO files."""

    parts: tuple[Part, ...]
    """The splits, at least one."""

    key: str = "path"
    """Rows are identified by the split and file name of the image."""

    @property
    def title(self) -> str:
        """Names of the files."""
        return ", ".join(part.document.path.name for part in self.parts)

    @property
    def rows(self) -> int:
        """Number of images."""
        return sum(len(part.document.images) for part in self.parts)

    @cached_property
    def fingerprint(self) -> str:
        """A string that changes when the files change."""
        paths = [str(part.document.path) for part in self.parts]
        return fingerprint(paths[0], paths)

    @cached_property
    def left_out(self) -> Collection[Skipped]:
        """Annotations whose image is not in the same file."""
        return [skipped for part in self.parts for skipped in part.document.orphans()]

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys that any annotation has, or the keys of boxes if there are no annotations."""
        return frozenset().union(*(part.document.keys for part in self.parts)) or BOXES

    @cached_property
    def classes(self) -> list[str]:
        """Names of all categories, in the order of the files."""
        return list(dict.fromkeys(chain.from_iterable(p.class_names.values() for p in self.parts)))

    @cached_property
    def columns(self) -> dict[str, Htype]:
        """Type of each column."""
        types: dict[str, Htype] = {}
        if any(part.folder is not None for part in self.parts):
            types["image"] = Image(self._codec())
        types["path"] = Text()
        if splits := [part.split for part in self.parts if part.split]:
            types["split"] = ClassLabel(splits)
        ids = chain.from_iterable(part.document.images for part in self.parts)
        has_numbers = all(coco.own_id(image["id"]) == image["id"] for image in ids)
        types["image_id"] = Scalar("int64") if has_numbers else Text()
        types |= {name: Scalar("int32", nullable=True) for name in ("width", "height")}
        known = {
            "bbox": Boxes("xywh"),
            "category_id": Sequence(ClassLabel(self.classes)),
            "segmentation": Sequence(Polygons()),
            "keypoints": self._keypoints,
            "caption": Sequence(Text()),
            "id": Sequence("int64"),
            "area": Sequence("float64"),
            "iscrowd": Sequence("bool"),
        }
        types |= {coco.COLUMNS[key]: htype for key, htype in known.items() if key in self.keys}
        if any(part.segments is not None for part in self.parts):
            types["panoptic"] = Image("png", nullable=True)
        return types | {"coco": Json(nullable=True)}

    def _codec(self) -> str:
        """Return the codec of all image files, or "auto" if they have several codecs."""
        paths = [
            Path(path)
            for part in self.parts
            if part.folder is not None
            for image in part.document.images
            if (path := _file(part.folder, image))
        ]
        formats = set(formats_of(paths)) - {None}
        return str(formats.pop()) if len(formats) == 1 else "auto"

    @cached_property
    def _keypoints(self) -> Keypoints:
        """Type of the column of keypoints.

        It has names and connections if all categories have the same keypoints.
        """
        categories = chain.from_iterable(part.document.categories for part in self.parts)
        kinds = [c for c in categories if c.get("keypoints")]
        if not kinds or any(c["keypoints"] != kinds[0]["keypoints"] for c in kinds):
            return Keypoints()
        count, pairs = len(kinds[0]["keypoints"]), kinds[0].get("skeleton") or []
        connections = [(a - 1, b - 1) for a, b in pairs if 0 < a <= count and 0 < b <= count]
        return Keypoints(kinds[0]["keypoints"], connections)

    @cached_property
    def _points(self) -> int:
        """Maximum number of keypoints in a category."""
        return max((n for part in self.parts for n in part.points.values()), default=0)

    @property
    def metadata(self) -> dict[str, dict[str, object]]:
        """Metadata of the dataset: the content of each split's file, except for its rows."""
        parts: dict[str, object] = {
            part.split: {
                **part.document.rest,
                "categories": part.document.categories,
                "keys": sorted(part.document.keys or BOXES),
            }
            for part in self.parts
        }
        return {"coco": parts}

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Accept all columns, because the column ``coco`` stores the exact numbers."""

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the images from number `start` on."""
        ends = [*accumulate(len(part.document.images) for part in self.parts)]
        for part, end in zip(self.parts, ends, strict=True):
            first = end - len(part.document.images)
            for at in range(max(start, first), end, BLOCK_ROWS):
                rows = range(at - first, min(at + BLOCK_ROWS, end) - first)
                values, errors = self._values(part, rows)
                row_names = [part.path(row) for row in rows]
                yield Block(values, row_names, errors=errors, linked=["coco"])

    def _values(self, part: Part, rows: range) -> tuple[dict[str, Any], dict[int, str]]:
        """Return dicts from column names to the cells of some rows, and from rows to errors."""
        images = [part.document.images[row] for row in rows]
        annotations = [part.document.annotations_of(row) for row in rows]
        panoptic: list[dict[str, Any]] = [{} for _ in rows]
        errors = dict[int, str]()
        if part.document.is_panoptic:
            errors = {i: _ONE for i, own in enumerate(annotations) if len(own) > 1}
            panoptic = [own[0] if own else {} for own in annotations]
            annotations = [list(own.get(coco.SEGMENTS, ())) for own in panoptic]
        ends = [*accumulate(map(len, annotations))]
        spans = [slice(end - len(a), end) for end, a in zip(ends, annotations, strict=True)]
        classes = {c: self.classes.index(name) for c, name in part.class_names.items()}
        flat = [*chain.from_iterable(annotations)]
        cells = cells_of(flat, self.keys - {coco.SEGMENTS}, classes, part.points)
        ids = cells.by_key.get("id") or [coco.NO_ID] * len(flat)
        values: dict[str, Any] = {
            "path": [part.path(row) for row in rows],
            "split": [part.split] * len(rows),
            "image_id": [image["id"] for image in images],
            "width": [image.get("width") for image in images],
            "height": [image.get("height") for image in images],
        }
        if self.columns["image_id"] == Text():
            values["image_id"] = list(map(str, values["image_id"]))
        values["coco"] = [
            {
                **_rest(image, own_id, ids[span], cells.originals[span], own),
                **_shapes(cells.by_key, span),
            }
            or None
            for image, own_id, span, own in zip(
                images, values["image_id"], spans, panoptic, strict=True
            )
        ]
        for name, folder, objects in (
            ("image", part.folder, images), ("panoptic", part.segments, panoptic),
        ):  # fmt: skip
            if folder is not None:
                files = [_file(folder, own) if own else None for own in objects]
                errors |= {i: _CLIMBS for i, file in enumerate(files) if file == ""}
                values[name] = files
        for key, items in cells.by_key.items():
            values[coco.COLUMNS[key]] = [_row(key, items[span], self._points) for span in spans]
        bad = sorted(cells.bad.items())
        errors |= {int(np.searchsorted(ends, i, "right")): why for i, why in bad}
        if "labels" in values:  # pass names, because a number might be the name of another class
            names = self.classes
            values["labels"] = [
                [] if row in errors else [names[n] for n in numbers]
                for row, numbers in enumerate(values["labels"])
            ]
        return {name: values[name] for name in self.columns}, errors


def _row(key: str, items: list[Any], points: int) -> object:
    """Return an image's cell for a key, given the cells of the image's annotations."""
    if key == "bbox":
        return np.array(items, np.float32).reshape(-1, 4)
    if key != "keypoints":
        return items
    most = max([points, *map(len, items)])
    result = np.zeros((len(items), most, 3), np.float32)
    for row, item in zip(result, items, strict=True):
        row[: len(item)] = item
    return result


def _file(folder: Path, entry: Mapping[str, Any]) -> str:
    """Return the path of an image or a PNG file of segments, or "" if it is outside `folder`."""
    path = os.path.normpath(_path_of(folder.absolute(), str(entry.get("file_name"))))
    return path if Path(path).is_relative_to(folder.absolute()) else ""


def _path_of(folder: Path, name: str) -> Path:
    """Return the path of an image. Its name may have the separators of Windows."""
    path = folder / name
    return path if "\\" not in name or path.is_file() else folder / name.replace("\\", "/")


def _shapes(cells: Mapping[str, list[Any]], span: slice) -> dict[str, Any]:
    """Return a dict with digests of an image's shapes and areas, by which exports detect edits.

    The dict is empty if there are no annotations or areas.
    """
    if span.start == span.stop or "area" not in cells:
        return {}
    keys = ("bbox", "segmentation")
    boxes, outlines = (cells[key][span] if key in cells else None for key in keys)
    return {coco.DIGESTS: coco.digests(boxes, outlines, cells["area"][span])}


def _rest(
    image: Mapping[str, Any],
    image_id: int | str,
    ids: list[int],
    originals: list[dict[str, Any]],
    panoptic: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the values of a row that no other column stores, as a cell of the column ``coco``.

    `image_id` is the row's cell of the column ``image_id``.
    """
    name = str(image.get("file_name", image["id"]))
    rebuilt = coco.image_of(image_id, name, image.get("width"), image.get("height"))
    rest: dict[str, Any] = {
        "image": coco.originals_of(image, rebuilt),
        "annotations": {k: v for k, v in zip(coco.original_keys(ids), originals, strict=True) if v},
        "panoptic": {k: v for k, v in panoptic.items() if k not in ("image_id", coco.SEGMENTS)},
    }
    if rest["annotations"] and coco.NO_ID in ids:
        rest[coco.COUNT] = len(ids)
    return {key: value for key, value in rest.items() if value}
