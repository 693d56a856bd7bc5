"""Conversion of a view's rows to `Picture` and `Object`, for the exports of annotated images."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.export.annotations.coco_annotations import exact
from deeplake_lite.dataset.export.annotations.columns import (
    SHAPES,
    class_names,
    columns_with_nulls,
    named_columns,
)
from deeplake_lite.dataset.export.annotations.objects import (
    FLAGS,
    NO_POINTS,
    Object,
    Picture,
    box_of,
    trim_keypoints,
)
from deeplake_lite.dataset.export.portable import (
    agree,
    describe_lost_metadata,
    is_file,
    read_blocks,
    values_of,
)
from deeplake_lite.errors import ExportWarning, InvalidValueError, SchemaError
from deeplake_lite.htypes.boxes import convert_boxes
from deeplake_lite.htypes.cells import take

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field

BLOCK_ROWS = 256


@dataclass
class Losses:
    """Counts of the objects or rows that an export cannot write unchanged.

    Each kind of loss has its own count, under the sentence that describes the loss.
    """

    counts: Counter[str] = field(default_factory=Counter)

    def add(self, sentence: str, number: int = 1) -> None:
        """Add `number` to the count of a kind of loss, given as a sentence template for `agree`."""
        self.counts[sentence] += number

    def sentences(self) -> Iterator[str]:
        """Yield a sentence about each kind of loss."""
        for sentence, number in sorted(self.counts.items()):
            if number:
                yield agree(sentence, number)


@dataclass(frozen=True)
class Pictures:
    """The rows of a view, converted to pictures when they are read."""

    view: View

    method: str
    """Name of the export, for messages."""

    rest: str
    """Name of the column for values of the imported file that have no column of their own."""

    extra_columns: Sequence[str] = ()
    """Names of other columns that the export reads."""

    losses: Losses = field(default_factory=Losses)
    """Losses in the rows that have been read so far."""

    @cached_property
    def columns(self) -> Mapping[str, Field]:
        """Maps roles, such as "boxes", to columns. Raises SchemaError if several fit one role."""
        return named_columns(self.view, self.method)

    @cached_property
    def image(self) -> Field | None:
        """The column of image files, or None if there is none."""
        f = self.columns.get("image")
        return f if f is not None and is_file(f.htype) else None

    def check(self, *, needs_image: bool = False) -> None:
        """Check that the view has the columns that an export needs.

        Raises SchemaError if one is missing.
        """
        roles = self.columns
        shapes = [role for role in SHAPES if role in roles]
        listing = ", ".join(f"{f.name!r} ({f.htype})" for f in self.view.schema)
        if (shapes or "tags" not in roles) and "labels" not in roles:
            raise SchemaError(
                f"{self.method} needs a column of labels (a sequence of classes), but this view "
                f"has only {listing}. Add a column of labels, or select only the images and their "
                "classes."
            )
        if "labels" in roles and not shapes:
            raise SchemaError(
                f"{self.method} needs a column of boxes, outlines, keypoints or masks besides "
                f"{roles['labels'].name!r}, but this view has only {listing}. Add a column of "
                f"shapes, or leave {roles['labels'].name!r} out."
            )
        if needs_image and self.image is None:
            raise SchemaError(
                f"{self.method} needs a column of image files, but this view has only {listing}. "
                "Store the images as files, for example with dl.Image('jpeg')."
            )

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes of objects."""
        return class_names(self.columns.get("labels"))

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """Names of the classes of images."""
        f = self.columns.get("tags")
        return () if f is None or f.htype.classes is None else tuple(f.htype.classes.names)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The dataset's metadata from the imported files, or an empty mapping."""
        metadata = self.view.rows.table.metadata.get(self.rest)
        return metadata if isinstance(metadata, dict) else {}

    def left_out(self, roles: Sequence[str]) -> list[str]:
        """Return the names of the columns that an export does not use.

        Parameters
        ----------
        roles : sequence of str
            The roles of the columns that the export uses.
        """
        used = {f.name for role, f in self.columns.items() if role in roles}
        used |= {self.rest, *self.extra_columns}
        if self.image is None and "image" in self.columns:  # stored as pixels, not as files
            used.discard(self.columns["image"].name)
        return [f.name for f in self.view.schema if f.name not in used]

    def warn(self, names: Sequence[str], losses: Losses) -> None:
        """Warn about columns that are left out, and about other losses."""
        of_objects = [f for role, f in self.columns.items() if role in (*SHAPES, "labels", "tags")]
        sentences = [*losses.sentences()]
        if nulls := columns_with_nulls(self.view, [f for f in of_objects if f.name not in names]):
            sentences.append(f"the nulls of {nulls} become empty lists")
        if lost := [*map(repr, names), *describe_lost_metadata(self.view, self.rest)]:
            verb = "is" if len(lost) == 1 else "are"
            sentences.insert(0, f"{', '.join(lost)} {verb} left out")
        if sentences:
            text = f"{self.method}: {'; '.join(sentences)}."
            warnings.warn(text, ExportWarning, stacklevel=6)

    # ---- rows

    def __iter__(self) -> Iterator[Picture]:
        return self.read(files=False)

    def read(self, *, files: bool) -> Iterator[Picture]:
        """Yield the pictures, with image files if `files` is true.

        Raises InvalidValueError if a row is invalid.
        """
        fields = {f.name: f for role, f in self.columns.items() if role != "image"}
        for name in (self.rest, *self.extra_columns):
            if name in self.view.columns:
                fields[name] = self.view.schema[name]
        if files and self.image is not None:
            fields[self.image.name] = self.image
        fields = fields or {f.name: f for f in self.view.schema}
        row, masks = 0, self.columns["masks"].name if "masks" in self.columns else None
        for block in read_blocks(self.view, [*fields.values()], self.method, BLOCK_ROWS):
            count = len(next(iter(block.values())))
            sizes = self._sizes(row, count)
            lists = {n: values_of(f.htype, block[n]) for n, f in fields.items() if n != masks}
            for i in range(count):
                values = {name: cells[i] for name, cells in lists.items()}
                if masks is not None:  # decode one row at a time, which may have gigabytes of masks
                    cell = take(block[masks], np.array([i]))
                    values[masks] = values_of(fields[masks].htype, cell)[0]
                yield self._picture(values, row + i, sizes[i], files=files)
            row += count

    def _sizes(self, row: int, count: int) -> list[tuple[int, int] | None]:
        """Return a list of the width and height of each image, or None for unknown sizes.

        The images are those of `count` rows from position `row`.
        """
        f = self.columns.get("image")
        if f is None:
            return [None] * count
        shapes = self.view[row : row + count][f.name].shapes.tolist()
        return [None if min(shape[:2]) < 0 else (shape[1], shape[0]) for shape in shapes]

    def _picture(
        self, values: Mapping[str, Any], row: int, size: tuple[int, int] | None, *, files: bool
    ) -> Picture:
        by_role = {role: values.get(f.name) for role, f in self.columns.items()}
        width, height = _integer(by_role.get("width")), _integer(by_role.get("height"))
        if size is not None and (width is None or height is None):
            width, height = size
        split = by_role.get("split")
        tags = by_role.get("tags")
        if not isinstance(tags, list | tuple | np.ndarray):
            tags = [] if tags is None else [tags]
        rest = values.get(self.rest)
        rest = rest if isinstance(rest, dict) else {}
        image = by_role.get("image") if self.image is not None and files else None
        image_rest = rest.get("image")
        return Picture(
            path=self._path(by_role, row),
            objects=self._objects(by_role, row, (width, height), rest),
            image=image if files else (size is not None or None),
            split=None if split is None else str(split),
            width=width,
            height=height,
            tags=[str(tag) for tag in tags],
            columns={name: values.get(name) for name in self.extra_columns if name in values},
            rest=image_rest if isinstance(image_rest, dict) else {},
        )

    def _path(self, by_role: Mapping[str, Any], row: int) -> str:
        """Return the path of an image, relative to the folder of images."""
        path = by_role.get("path")
        if not path:
            f = self.columns.get("image")
            codec = getattr(f.htype, "codec", "") if f is not None else ""
            suffix = {"jpeg": "jpg", "tiff": "tif"}.get(codec, codec)
            return f"{row:012d}.{suffix if suffix in _SUFFIXES else 'jpg'}"
        inside = PurePosixPath(str(path).replace("\\", "/"))
        if inside.is_absolute() or ".." in inside.parts or not inside.parts or "\0" in str(path):
            raise InvalidValueError(
                "The path of an image must be inside the folder of images, but in row "
                f"{row:,} it is {str(path)[:200]!r}. Correct the column 'path'.",
                row=row,
            )
        return str(inside)

    def _objects(
        self,
        by_role: Mapping[str, Any],
        row: int,
        size: tuple[int | None, int | None],
        rest: Mapping[str, Any],
    ) -> list[Object]:
        """Return the objects of a row. Raises InvalidValueError if cells differ in length."""
        cells = {role: _or_empty(by_role[role]) for role in _PER_OBJECT if role in by_role}
        if "labels" not in cells:
            return []
        count = len(cells["labels"])
        for role, cell in cells.items():
            if len(cell) != count:
                raise InvalidValueError(
                    f"must have as many values in {self.columns[role].name!r} as in "
                    f"{self.columns['labels'].name!r}, one per object, but it has {len(cell)} and "
                    f"{count}. Correct the row, or leave one of the two columns out of the view.",
                    row=row,
                )
        if "boxes" in cells:
            cells["boxes"] = self._boxes(cells["boxes"], row, size)
        if "keypoints" in cells:
            cells["keypoints"] = _with_visibility(cells["keypoints"])
        originals = rest.get("objects")
        matches = isinstance(originals, list) and len(originals) == count
        if isinstance(originals, list) and not matches:
            self.losses.add(_ADDED, 1)
        rests = originals if isinstance(originals, list) and matches else [{}] * count
        return [
            _object({role: cell[n] for role, cell in cells.items()},
                    rests[n] if isinstance(rests[n], dict) else {})
            for n in range(count)
        ]  # fmt: skip

    def _boxes(self, boxes: Any, row: int, size: tuple[int | None, int | None]) -> Any:
        """Convert boxes to xyxy, in pixels. Raises InvalidValueError without the image's size."""
        coordinates = self.columns["boxes"].htype.coordinates
        assert coordinates is not None
        array = np.asarray(boxes).reshape(-1, 4)
        if coordinates.format == "xyxy" and coordinates.units == "pixels":
            return array.astype(np.float32)
        result = convert_boxes(exact(array), coordinates.format, "xyxy")
        if coordinates.units == "fraction" and len(result):
            if size[0] is None or size[1] is None:
                raise InvalidValueError(
                    f"{self.method} needs the size of an image to convert its boxes from fractions "
                    f"to pixels, but the size is unknown in row {row:,}. Add the columns 'width' "
                    "and 'height'.",
                    row=row,
                )
            result = result * np.tile(np.array(size, np.float64), 2)
        return result.astype(np.float32)


_ADDED = (
    "{} [row loses|rows lose] values of the imported file that no column holds, because objects "
    "were added or removed"
)

_SUFFIXES = ("jpg", "png", "webp", "tif", "bmp")

_PER_OBJECT = ("labels", *SHAPES, "scores", *FLAGS)
"""Roles of the columns whose cells have one value per object."""


def _or_empty(value: Any) -> Any:
    return () if value is None else value


def _integer(value: Any) -> int | None:
    return None if value is None or np.ma.is_masked(value) else int(value)


def _with_visibility(points: Any) -> NDArray[np.float32]:
    """Return keypoints as an array (n, k, 3), marked as visible if they have no visibility."""
    array = np.asarray(points, np.float32)
    if array.ndim != 3:
        return np.zeros((0, 0, 3), np.float32)
    if array.shape[2] == 3:
        return array
    return np.concatenate([array, np.full((*array.shape[:2], 1), 2, np.float32)], axis=2)


def _object(cells: Mapping[str, Any], rest: Mapping[str, Any]) -> Object:
    """Build an object from a dict that maps roles, such as "boxes", to the object's values."""
    label, score, mask = cells["labels"], cells.get("scores"), cells.get("masks")
    obj = Object(
        label=None if label is None else str(label),
        outlines=[np.asarray(part, np.float32) for part in _or_empty(cells.get("segmentation"))],
        lines=[np.asarray(part, np.float32) for part in _or_empty(cells.get("polylines"))],
        points=trim_keypoints(cells["keypoints"]) if "keypoints" in cells else NO_POINTS,
        mask=mask if mask is not None and mask.any() else None,
        score=None if score is None or not np.isfinite(score) else float(score),
        flags={flag: bool(cells[flag]) for flag in FLAGS if flag in cells},
        rest=rest,
    )
    box = cells["boxes"] if "boxes" in cells else box_of(obj)
    return Object(**{**vars(obj), "box": box})
