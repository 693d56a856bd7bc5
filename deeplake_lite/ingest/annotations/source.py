"""The source for annotated images, which turns pictures into columns.

A picture (`Picture`) is an image with its objects. The reader of a format yields all pictures
twice: first to find the columns and classes, then to read the rows. This way, only one block of
rows is in memory, even if a file is large.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from deeplake_lite.dataset.export.annotations.objects import FLAGS, Picture
from deeplake_lite.htypes import (
    Array,
    Boxes,
    ClassLabel,
    Htype,
    Image,
    Json,
    Keypoints,
    Mask,
    Polygons,
    Scalar,
    Sequence,
    Text,
)
from deeplake_lite.ingest.annotations.cached_pictures import CachedPictures
from deeplake_lite.ingest.folders.formats import format_of, formats_of
from deeplake_lite.ingest.source import Block

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.export.annotations.objects import Object
    from deeplake_lite.ingest.source import Skipped

BLOCK_ROWS = 256

MASK_BYTES = 64 * 2**20
"""Maximum size in bytes of the masks in a block, unless a single row has more."""

FORMATS = 100_000
"""Maximum number of image files whose formats are examined to choose the codec of the column."""


class Reader(Protocol):
    """A reader of the pictures of a dataset in one format."""

    @property
    def name(self) -> str:
        """Name of the format, and of the column and metadata for values without a column."""

    @property
    def title(self) -> str:
        """Name of the dataset in messages."""

    @property
    def fingerprint(self) -> str | None:
        """A string that changes when the files change, or None if rows are identified by keys."""

    @property
    def has_images(self) -> bool:
        """Whether pictures have image files."""

    @property
    def classes(self) -> Collection[str]:
        """Declared classes of objects, in their order. Further classes that occur are added."""

    @property
    def tags(self) -> Collection[str]:
        """Declared classes of whole images. Further classes that occur are added."""

    @property
    def splits(self) -> Collection[str]:
        """Splits that are known beforehand, in their order. Further splits that occur are added."""

    @property
    def points(self) -> Keypoints:
        """Type of the column of keypoints."""

    @property
    def metadata(self) -> Mapping[str, object]:
        """Metadata of the dataset."""

    @property
    def left_out(self) -> Collection[Skipped]:
        """Files and records that are not ingested, because they are not pictures."""

    def types(self) -> Mapping[str, Htype]:
        """Return a dict from the names of the format's additional columns to their types."""

    def pictures(self) -> Iterator[Picture]:
        """Yield the pictures, always in the same order."""


@dataclass
class Summary:
    """The facts about a dataset that the first reading collects, to choose columns and types."""

    rows: int = 0
    classes: dict[str, None] = field(default_factory=dict)
    splits: dict[str, None] = field(default_factory=dict)
    tags: dict[str, None] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)
    paths: list[Path] = field(default_factory=list)
    heads: set[str | None] = field(default_factory=set)
    has_sizes: bool = False
    has_scores: bool = False
    lacks_labels: bool = False
    lacks_splits: bool = False
    points: int = 0

    def add(self, picture: Picture) -> None:
        """Add a picture to the summary."""
        self.rows += 1
        if picture.error is not None:
            return
        if picture.split is not None:
            self.splits[picture.split] = None
        self.lacks_splits |= picture.split is None
        self.has_sizes |= picture.width is not None
        self.tags.update(dict.fromkeys(picture.tags))
        if isinstance(picture.image, bytes):
            self.heads.add(format_of(picture.image[:16]))
        elif picture.image is not None and len(self.paths) < FORMATS:
            self.paths.append(Path(picture.image))
        for obj in picture.objects:
            self._add_object(obj)

    def _add_object(self, obj: Object) -> None:
        if obj.label is None:
            self.lacks_labels = True
        else:
            self.classes[obj.label] = None
        self.flags.update(obj.flags)
        self.has_scores |= obj.score is not None
        parts: dict[str, Any] = {
            "outlines": obj.outlines, "lines": obj.lines, "points": obj.points,
            "mask": () if obj.mask is None else obj.mask,
        }  # fmt: skip
        self.kinds.update(name for name, part in parts.items() if len(part))
        self.points = max(self.points, len(obj.points))

    @property
    def codec(self) -> str:
        """The codec of all image files, or "auto" if they have several codecs."""
        formats = ({*formats_of(self.paths)} | self.heads) - {None}
        return str(formats.pop()) if len(formats) == 1 else "auto"


@dataclass(frozen=True)
class AnnotationSource:
    """The source for a dataset of annotated images."""

    reader: Reader
    """The reader of the pictures."""

    key: str = "path"
    """Rows are identified by the paths of images."""

    @property
    def title(self) -> str:
        """Name of the dataset in messages."""
        return self.reader.title

    @property
    def fingerprint(self) -> str | None:
        """A string that changes when the files change, or None if rows are identified by keys."""
        return self.reader.fingerprint

    @property
    def rows(self) -> int:
        """Number of pictures."""
        return self.summary.rows

    @property
    def left_out(self) -> Collection[Skipped]:
        """Files and records that are not ingested, because they are not pictures."""
        return self.reader.left_out

    @property
    def metadata(self) -> Mapping[str, object]:
        """Metadata of the dataset, under the name of the format."""
        items = self.reader.metadata
        return {self.reader.name: items} if items else {}

    @cached_property
    def summary(self) -> Summary:
        """The classes, number of rows and other facts that the first reading has collected."""
        summary = Summary()
        summary.classes.update(dict.fromkeys(self.reader.classes))
        summary.splits.update(dict.fromkeys(self.reader.splits))
        summary.tags.update(dict.fromkeys(self.reader.tags))
        for picture in self._pictures:
            summary.add(picture)
        return summary

    @cached_property
    def _pictures(self) -> CachedPictures:
        """The pictures, which are needed for the summary and then for the rows."""
        return CachedPictures(self._read)

    def _read(self) -> Iterator[Picture]:
        """Yield the pictures. If several have the same path, all but the first are errors."""
        seen = set[str]()
        for picture in self.reader.pictures():
            if picture.path in seen and picture.error is None:
                reason = "paths must be unique, but there is another image with this path."
                yield Picture(picture.path, error=reason)
            else:
                yield picture
            seen.add(picture.path)

    @cached_property
    def columns(self) -> dict[str, Htype]:
        """Type of each column."""
        summary = self.summary
        types: dict[str, Htype] = {}
        if self.reader.has_images:
            types["image"] = Image(summary.codec)
        types["path"] = Text()
        if summary.splits:
            types["split"] = ClassLabel([*summary.splits], nullable=summary.lacks_splits)
        if summary.has_sizes:
            types |= {name: Scalar("int32", nullable=True) for name in ("width", "height")}
        types["boxes"] = Boxes("xyxy")
        types["labels"] = Sequence(ClassLabel([*summary.classes], nullable=summary.lacks_labels))
        parts: dict[str, tuple[str, Htype]] = {
            "outlines": ("segmentation", Sequence(Polygons())),
            "lines": ("polylines", Sequence(Sequence(Array("float32", (None, 2))))),
            "points": ("keypoints", self._points_type),
            "mask": ("masks", Mask("instance")),
        }
        types |= dict(parts[kind] for kind in parts if kind in summary.kinds)
        if summary.has_scores:
            types["scores"] = Sequence("float32")
        types |= {flag: Sequence("bool") for flag in FLAGS if flag in summary.flags}
        if summary.tags:
            types["tags"] = ClassLabel([*summary.tags], multiple=True)
        types |= self.reader.types()
        return types | {self.reader.name: Json(nullable=True)}

    @cached_property
    def _points_type(self) -> Keypoints:
        declared = self.reader.points
        return declared if len(declared.names) == self.summary.points else Keypoints()

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Accept all columns, because the format's column of JSON stores the exact numbers."""

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the pictures from number `start` on."""
        rows, size = list[Any](), 0
        for picture in islice(self._pictures, start, None):
            rows.append(picture)
            size += sum(obj.mask.nbytes for obj in picture.objects if obj.mask is not None)
            if len(rows) == BLOCK_ROWS or size >= MASK_BYTES:
                yield self._block(rows)
                rows, size = [], 0
        if rows:
            yield self._block(rows)

    def _block(self, pictures: list[Picture]) -> Block:
        errors = {i: p.error for i, p in enumerate(pictures) if p.error is not None}
        columns = {name: [self._cell(name, p) for p in pictures] for name in self.columns}
        for name, values in columns.items():
            for i in errors:
                values[i] = pictures[i].path if name == "path" else self.columns[name].blank
        return Block(columns, [p.path for p in pictures], errors=errors)

    def _cell(self, name: str, picture: Picture) -> Any:
        """Return the cell of a column for a picture."""
        match name:
            case "image" | "path" | "split" | "width" | "height":
                return getattr(picture, name)
            case "tags":
                return list(picture.tags)
        if name == "keypoints":
            return _keypoints(picture, len(self._points_type.names))
        if name in _OBJECTS:
            return _OBJECTS[name](picture)
        if name in FLAGS:
            return [bool(obj.flags.get(name)) for obj in picture.objects]
        if name == self.reader.name:
            return rest_of_picture(picture)
        return picture.columns.get(name)


def rest_of_picture(picture: Picture) -> dict[str, Any] | None:
    """Return the values of a picture that no other column stores, or None if there are none."""
    rest: dict[str, Any] = {"image": dict(picture.rest)} if picture.rest else {}
    if any(obj.rest for obj in picture.objects):
        rest["objects"] = [dict(obj.rest) for obj in picture.objects]
    return rest or None


def _keypoints(picture: Picture, least: int) -> NDArray[np.float32]:
    """Return the keypoints of a picture as an array, in which missing points are zeros.

    `least` is the minimum number of points per object.
    """
    most = max([least, *(len(obj.points) for obj in picture.objects)])
    cell = np.zeros((len(picture.objects), most, 3), np.float32)
    for row, obj in zip(cell, picture.objects, strict=True):
        row[: len(obj.points)] = obj.points
    return cell


def _masks(picture: Picture) -> NDArray[np.bool_]:
    """Return the masks of a picture as an array. Objects without a mask get an empty mask."""
    shapes = {obj.mask.shape for obj in picture.objects if obj.mask is not None}
    shape = shapes.pop() if shapes else (1, 1)
    cell = np.zeros((len(picture.objects), *shape), bool)
    for row, obj in zip(cell, picture.objects, strict=True):
        if obj.mask is not None:
            row[:] = obj.mask
    return cell


_OBJECTS: dict[str, Callable[[Any], Any]] = {
    "boxes": lambda p: np.array([own.box for own in p.objects], np.float32).reshape(-1, 4),
    "labels": lambda p: [own.label for own in p.objects],
    "segmentation": lambda p: [list(own.outlines) for own in p.objects],
    "polylines": lambda p: [list(own.lines) for own in p.objects],
    "masks": _masks,
    "scores": lambda p: [np.nan if own.score is None else own.score for own in p.objects],
}
"""Maps each column of objects to the function that returns the column's cell for a picture."""
