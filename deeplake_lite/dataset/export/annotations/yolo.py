"""Export of a view as a YOLO dataset: images, label files and a data.yaml."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import yaml

from deeplake_lite import checks
from deeplake_lite.dataset.export.annotations.coco_annotations import exact
from deeplake_lite.dataset.export.annotations.columns import (
    class_names,
    columns_with_nulls,
    is_boxes,
    is_keypoints,
    is_labels,
    is_segmentation,
    split_names,
)
from deeplake_lite.dataset.export.annotations.outlines import join_outlines, rotated_rectangle
from deeplake_lite.dataset.export.atomic_files import as_storage_errors
from deeplake_lite.dataset.export.folder import extension, new_folder
from deeplake_lite.dataset.export.portable import (
    agree,
    describe_lost_metadata,
    is_file,
    read_blocks,
    values_of,
)
from deeplake_lite.errors import ExportWarning, InvalidValueError, SchemaError
from deeplake_lite.htypes.boxes import convert_boxes
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes.facets import Coordinates
    from deeplake_lite.schema import Field

type Task = Literal["detect", "segment", "pose", "obb"]

TASKS = ("detect", "segment", "pose", "obb")

DEFAULT_SPLIT = "train"
"""Name of the split to which rows without a split are written."""

BLOCK_ROWS = 256

_VALIDATION = ("val", "valid", "validation", "dev")

_DIGITS = 10
"""Significant digits of a fraction: enough to read float32 pixels back exactly."""


def write_yolo(view: View, path: str | Path, task: Task | None) -> Path:
    """Write the rows of a view; see `View.to_yolo`."""
    root = Path(checks.location("path", path)).expanduser()
    export = _Export.of(view, task)
    export.warn()
    with as_storage_errors(root), new_folder(root, "to_yolo"):
        export.write(root)
    return root


@dataclass
class _Losses:
    """Counts of objects and rows that a YOLO dataset cannot hold unchanged."""

    joined: int = 0
    """Number of objects whose several outlines are joined into one."""

    boxes: int = 0
    """Number of objects without an outline, which get their box as an outline."""

    turned: int = 0
    """Number of objects whose outline becomes a rotated rectangle."""

    moved: int = 0
    """Number of objects whose box is not, to within a pixel, the bounding box of their outline."""

    clipped: int = 0
    """Number of objects that extend beyond their image."""

    outside: int = 0
    """Number of objects that lie entirely outside their image."""

    images: int = 0
    """Number of rows without an image."""

    splits: int = 0
    """Number of rows whose split is null."""

    def sentences(self) -> Iterator[str]:
        """Yield a sentence about each kind of loss."""
        for name, sentence in _SENTENCES.items():
            if number := getattr(self, name):
                yield agree(sentence, number)


_SENTENCES = {
    "joined": "{} [object|objects] with several outlines [becomes|become] one outline",
    "boxes": "{} [object|objects] without an outline [gets|get] a rectangular outline",
    "turned": (
        "{} [object|objects] with fewer or more than four corners [becomes|become] the smallest "
        "enclosing [rectangle|rectangles]"
    ),
    "moved": (
        "the [box|boxes] of {} [object does not fit its outline and is|"
        "objects do not fit their outlines and are] left out"
    ),
    "clipped": (
        "{} [object extends beyond its image and is|objects extend beyond their image and are] "
        "clipped"
    ),
    "outside": (
        "{} [object lies outside its image and is|objects lie outside their image and are] left out"
    ),
    "images": "{} [row without an image is|rows without an image are] left out",
    "splits": (
        f"{{}} [row without a split is|rows without a split are] written to {DEFAULT_SPLIT!r}"
    ),
}
"""Sentence about each kind of loss, in the form that `agree` expects."""


@dataclass
class _Export:
    """An export of a view to YOLO: its task and the columns that it uses."""

    view: View
    task: Task
    image: Field
    boxes: Field | None
    labels: Field
    segmentation: Field | None
    keypoints: Field | None
    losses: _Losses = field(default_factory=_Losses)

    @classmethod
    def of(cls, view: View, task: Task | None) -> _Export:
        """Choose the columns. Raises SchemaError if the task needs a column that is missing."""
        image = _only(view, "image", "image files", lambda f: f.htype.is_image and is_file(f.htype))
        labels = _only(view, "labels", "classes, a sequence of class labels", is_labels)
        if image is None or labels is None:
            columns = ", ".join(f"{f.name!r} ({f.htype})" for f in view.schema)
            raise SchemaError(
                "to_yolo needs a column of image files and one of labels (a sequence of classes), "
                f"but this view has only {columns}. Add the missing column."
            )
        boxes = _only(view, "boxes", "boxes", is_boxes)
        outlines = _only(view, "segmentation", "outlines, a sequence of polygons", is_segmentation)
        points = _only(view, "keypoints", "keypoints", is_keypoints)
        fields = {"detect": boxes, "segment": outlines, "obb": outlines, "pose": points}
        if task is None:
            task = "pose" if points else "segment" if outlines else "detect"
        checks.choice("task", task, TASKS)
        if fields[task] is None or (task == "pose" and boxes is None):
            needs = {"detect": "boxes", "pose": "boxes and keypoints"}.get(task, "outlines")
            others = ", ".join(repr(name) for name, f in fields.items() if f)
            hint = f"Choose another task: {others}." if others else "Add the missing column."
            raise SchemaError(
                f"task={task!r} needs a column of {needs}, but this view has none. {hint}"
            )
        return cls(view, task, image, boxes, labels, outlines, points)

    @property
    def _fields(self) -> list[Field]:
        """The columns that describe objects and that the task needs."""
        wanted = {
            "detect": [self.boxes],
            "segment": [self.boxes, self.segmentation],
            "obb": [self.segmentation],
            "pose": [self.boxes, self.keypoints],
        }[self.task]
        return [self.labels, *(f for f in wanted if f is not None)]

    def warn(self) -> None:
        """Warn about everything that is left out or changed.

        Raises InvalidValueError if a row is invalid.
        """
        used = {f.name for f in [*self._fields, self.image]} | {"path"}
        if self._split is not None:
            used.add("split")
        if self.boxes is not None:  # boxes follow from outlines
            used.add(self.boxes.name)
        unused = [f.name for f in self.view.schema if f.name not in used]
        self.losses = _Losses()
        for _ in self._rows():
            pass
        sentences = [*self.losses.sentences()]
        if nulls := columns_with_nulls(self.view, self._fields):
            sentences.append(f"the nulls of {nulls} become images without objects")
        if lost := [*map(repr, unused), *describe_lost_metadata(self.view, "yolo")]:
            verb = "is" if len(lost) == 1 else "are"
            sentences.insert(0, f"{', '.join(lost)} {verb} left out")
        if sentences:
            warnings.warn(f"to_yolo: {'; '.join(sentences)}.", ExportWarning, stacklevel=5)

    def write(self, root: Path) -> None:
        """Write all files."""
        splits = dict[str, None]()
        rows = self._rows()
        seen = set[Path]()
        for block in read_blocks(self.view, [self.image], "to_yolo", BLOCK_ROWS):
            for data in values_of(self.image.htype, block[self.image.name]):
                name, split, lines = next(rows)
                if not isinstance(data, bytes):  # null
                    continue
                splits[split] = None
                image = root / "images" / split / f"{name}.{extension(data)}"
                label = root / "labels" / split / f"{name}.txt"
                if label in seen:
                    raise InvalidValueError(
                        "Each image of a split must have a unique name, but two images in split "
                        f"{split!r} are named {name!r}. Correct the column 'path'."
                    )
                seen.add(label)
                for file, content in ((image, data), (label, "\n".join(lines).encode())):
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(content)
        for split in splits or {DEFAULT_SPLIT: None}:
            for kind in ("images", "labels"):  # an import needs the folders, even if they are empty
                (root / kind / split).mkdir(parents=True, exist_ok=True)
        config = self._config([*splits])
        (root / "data.yaml").write_text(
            yaml.safe_dump(config, allow_unicode=True, sort_keys=False), "utf-8"
        )

    def _config(self, splits: Sequence[str]) -> dict[str, Any]:
        """Return the content of data.yaml."""
        config: dict[str, Any] = {}
        for split in splits:
            config["val" if split in _VALIDATION else split] = f"images/{split}"
        first = next(iter(config.values()), f"images/{DEFAULT_SPLIT}")
        # Ultralytics needs both keys.
        config = {"train": first, "val": config.get("train", first), **config}
        config["names"] = dict(enumerate(self._names))
        config["task"] = self.task
        extra = self.view.rows.table.metadata.get("yolo")
        config = {**(extra if isinstance(extra, dict) else {}), **config}
        flips = config.pop("flip_idx", None)
        if self.task == "pose" and self.keypoints is not None:
            shapes = self.view[self.keypoints.name].shapes
            count = int(shapes[:, 1].max(initial=0)) or len(self._point_names)
            config["kpt_shape"] = [count, self._dims]
            if len(self._point_names) == count:
                config["kpt_names"] = {n: [*self._point_names] for n in range(len(self._names))}
            if isinstance(flips, list) and sorted(flips) == [*range(count)]:
                config["flip_idx"] = flips
        return config

    @cached_property
    def _split(self) -> Callable[[Any], str | None] | None:
        return split_names(self.view)

    @property
    def _names(self) -> tuple[str, ...]:
        return class_names(self.labels)

    # ---- rows

    def _rows(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yield the name, split and label lines of each row."""
        names = [self.view.schema[n] for n in ("path", "split") if n in self.view.columns]
        fields, row = [*self._fields, *names], 0
        for block in read_blocks(self.view, fields, "to_yolo", BLOCK_ROWS):
            values = {f.name: f.htype.decode_cells(block[f.name]) for f in fields}
            count = len(block[self.labels.name])
            shapes = self.view[row : row + count][self.image.name].shapes.tolist()
            for i, shape in enumerate(shapes):
                name, split = self._name(values, i, row + i)
                if min(shape[:2]) < 0:
                    self.losses.images += 1
                    yield name, split, []
                    continue
                size = np.array([shape[1], shape[0]], np.float64)
                yield name, split, self._lines(values, i, row + i, size)
            row += count

    def _name(self, values: Mapping[str, Any], i: int, row: int) -> tuple[str, str]:
        """Return the name of an image, without its suffix, and the name of its split."""
        split = self._split(values["split"][i]) if self._split is not None else DEFAULT_SPLIT
        if split is None:
            self.losses.splits += 1
            split = DEFAULT_SPLIT
        if "path" not in values or values["path"][i] is None:
            return f"{row:012d}", _safe(split)
        parts = [p for p in PurePosixPath(str(values["path"][i]).replace("\\", "/")).parts
                 if p not in ("/", ".", "..")]  # fmt: skip
        while len(parts) > 1 and parts[0] in ("images", split):
            parts.pop(0)
        parts = [_safe(part) for part in parts] or [f"{row:012d}"]
        return str(PurePosixPath(*parts).with_suffix("")), _safe(split)

    def _lines(
        self, values: Mapping[str, Any], i: int, row: int, size: NDArray[np.float64]
    ) -> list[str]:
        """Return the label lines of a row. Raises InvalidValueError if its cells do not match."""
        labels = values[self.labels.name][i] or []
        objects = self._objects(values, i, row, size)
        if len(objects) != len(labels):
            raise InvalidValueError(
                "must have a label for each object, but it has "
                f"{pluralize(len(labels), 'label')} and {pluralize(len(objects), 'object')}. "
                "Correct the row.",
                row=row,
            )
        lines = []
        for label, numbers in zip(labels, objects, strict=True):
            clipped = self._clip(numbers)
            if clipped is None:
                self.losses.outside += 1
                continue
            self.losses.clipped += bool(np.any(np.abs(clipped - numbers) > 1e-6))
            lines.append(" ".join([str(int(label)), *(f"{x:.{_DIGITS}g}" for x in clipped)]))
        return lines

    def _clip(self, numbers: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Clip an object's numbers to its image. Return None if the object is outside the image."""
        limits = self._limits(len(numbers))
        result = np.where(limits, np.clip(numbers, 0, 1), numbers)
        if self.task in ("detect", "pose") and (result[:4] != numbers[:4]).any():
            corners = np.clip(convert_boxes(numbers[None, :4], "cxcywh", "xyxy"), 0, 1)
            result[:4] = convert_boxes(corners, "xyxy", "cxcywh")[0]
            return result if (result[2:4] > 0).all() else None
        if self.task in ("segment", "obb") and (result != numbers).any():
            points = result.reshape(-1, 2)
            return result if (np.ptp(points, 0) > 0).all() else None
        return result

    def _limits(self, count: int) -> NDArray[np.bool_]:
        """Return a mask of the numbers of an object that must be fractions from 0 to 1."""
        limits = np.ones(count, bool)
        if self.task == "pose" and self._dims == 3:
            limits[4 + 2 :: 3] = False  # visibility
        return limits

    @property
    def _dims(self) -> int:
        """Number of values per keypoint."""
        return len(self._points.parts)

    @property
    def _point_names(self) -> tuple[str, ...]:
        return tuple(self._points.names)

    @property
    def _points(self) -> Coordinates:
        assert self.keypoints is not None
        points = self.keypoints.htype.coordinates
        assert points is not None
        return points

    def _objects(
        self, values: Mapping[str, Any], i: int, row: int, size: NDArray[np.float64]
    ) -> list[NDArray[np.float64]]:
        """Return each object of a row as an array of coordinates, as fractions of the image."""
        boxes = [] if self.boxes is None or self.boxes.name not in values else [
            *self._in_fractions(values[self.boxes.name][i], size)
        ]  # fmt: skip
        if self.task == "detect":
            return boxes
        if self.task == "pose":
            assert self.keypoints is not None
            points = values[self.keypoints.name][i]
            points = np.zeros((0, 0, 2)) if points is None else np.array(points, np.float64)
            points[..., :2] /= size
            if len(points) != len(boxes):
                raise InvalidValueError(
                    "must have keypoints for each box, but the number of boxes is "
                    f"{len(boxes)}, and keypoints are given for "
                    f"{pluralize(len(points), 'object')}. Correct the row.",
                    row=row,
                )
            return [np.concatenate([b, p.ravel()]) for b, p in zip(boxes, points, strict=True)]
        assert self.segmentation is not None
        outlines = values[self.segmentation.name][i] or []
        return [self._outline(parts, boxes, n, size, row) for n, parts in enumerate(outlines)]

    def _in_fractions(self, boxes: Any, size: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert boxes to centre, width and height, as fractions of the image's size."""
        assert self.boxes is not None
        coordinates = self.boxes.htype.coordinates
        assert coordinates is not None
        array = np.zeros((0, 4), np.float32) if boxes is None else np.asarray(boxes)
        converted = convert_boxes(exact(array).reshape(-1, 4), coordinates.format, "cxcywh")
        is_fraction = coordinates.units == "fraction"
        return np.asarray(converted if is_fraction else converted / np.tile(size, 2), np.float64)

    def _outline(
        self,
        parts: Sequence[NDArray[Any]],
        boxes: Sequence[NDArray[np.float64]],
        number: int,
        size: NDArray[np.float64],
        row: int,
    ) -> NDArray[np.float64]:
        """Return the outline of object `number`, (2 k,), as fractions.

        Raises InvalidValueError if this is impossible.
        """
        if not len(parts):
            self.losses.boxes += 1
            if number >= len(boxes):
                raise InvalidValueError(
                    "Each object must have an outline or a box, but an object has neither. Correct "
                    "the row.",
                    row=row,
                )
            corners = convert_boxes(boxes[number][None], "cxcywh", "xyxy")[0]
            return np.asarray(corners, np.float64)[[0, 1, 2, 1, 2, 3, 0, 3]]
        if len(parts) > 1:
            self.losses.joined += 1
        joined = join_outlines(parts)
        if self.task == "obb" and len(joined) != 4:
            self.losses.turned += 1
            joined = rotated_rectangle(joined)
        outline = np.asarray(joined / size, np.float64)
        if number < len(boxes):
            corners = convert_boxes(boxes[number][None], "cxcywh", "xyxy")[0]
            gap = corners - np.concatenate([outline.min(0), outline.max(0)])
            self.losses.moved += bool((np.abs(gap) * np.tile(size, 2) > 1).any())
        return outline.ravel()


def _only(view: View, name: str, kind: str, fits: Any) -> Field | None:
    """Return the column that fits and has the given name, or else the only one that fits, or None.

    Raises SchemaError if several columns fit.
    """
    fitting = [f for f in view.schema if fits(f)]
    named = [f for f in fitting if f.name == name] or fitting
    if len(named) > 1:
        raise SchemaError(
            f"to_yolo accepts one column of {kind}, but this view has "
            f"{', '.join(repr(f.name) for f in named)}. Leave out all but one, or rename one to "
            f"{name!r}."
        )
    return named[0] if named else None


def _safe(part: str) -> str:
    """Replace the characters with which a file name could lead out of the folder.

    >>> _safe("../a:b")
    '__a_b'
    """
    safe = "".join("_" if c in '/\\:*?"<>|' or ord(c) < 32 else c for c in part)
    return safe.replace("..", "_") or "_"
