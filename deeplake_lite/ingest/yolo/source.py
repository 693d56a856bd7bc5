"""Ingesting YOLO datasets with boxes, outlines, poses or oriented boxes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from deeplake_lite import checks, codecs
from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError, LakeError
from deeplake_lite.htypes import (
    Boxes,
    ClassLabel,
    Htype,
    Image,
    Keypoints,
    Polygons,
    Sequence,
    Text,
)
from deeplake_lite.ingest.folders.folder import from_folder
from deeplake_lite.ingest.folders.formats import formats_of
from deeplake_lite.ingest.options import takes_options
from deeplake_lite.ingest.source import Block, Skipped
from deeplake_lite.ingest.writer import ingest
from deeplake_lite.ingest.yolo import labels as yolo_labels
from deeplake_lite.ingest.yolo.labels import TASKS, Labels
from deeplake_lite.ingest.yolo.layout import Layout, label_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset
    from deeplake_lite.ingest.yolo.labels import Task

BLOCK_ROWS = 256

_NO_SIZE = np.ones(2)
"""Placeholder for the size of an image whose size is not needed."""

SAMPLED = 1_000
"""Number of label files per split from which the task is inferred."""


@takes_options
def from_yolo(
    path: str | os.PathLike[str],
    url: str,
    *,
    task: Task | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    r"""Ingest a YOLO dataset: images with label files, as for Ultralytics' YOLO v5 to v11.

    Parameters
    ----------
    path : str or Path
        The data.yaml, or the folder of the dataset, with a data.yaml or with folders such as
        ``images/train`` and ``labels/train``, or ``train/images`` and ``train/labels``.
    url : str
        URL of the lake, which is created if it does not exist.
    task : {"detect", "segment", "pose", "obb", "classify"}, optional
        The meaning of the numbers after the class. By default, it is inferred: "pose" if the
        data.yaml has ``kpt_shape``; "obb" if all lines have 8 numbers, or 8 and a score; "segment"
        if any line has more than 5 numbers; "classify" for class folders without label files;
        otherwise "detect". A score is one more number at the end of a line, as in predictions saved
        by Ultralytics. Boxes without a score have NaN; for other tasks, all lines must have a
        score.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, with one row per image: ``image``, ``path`` (the key), ``split``,
        ``boxes`` (cxcywh, in fractions), ``labels``; ``segmentation`` for outlines and oriented
        boxes (for each object, a list of outlines in pixels), ``keypoints`` for poses (in pixels).
        Images without a label file have no objects. Empty folders of images and labels become a
        lake without rows. For "classify", the columns are those of
        `from_folder`. The dataset's attribute ``ingested`` summarizes the import and lists skipped
        images.

    Raises
    ------
    NotFoundError
        If the file, the folder or its images do not exist.
    InvalidValueError
        If the data.yaml or a label file cannot be read; with ``on_error="skip"``, images with
        invalid labels are skipped.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image as PillowImage
    >>> import deeplake_lite as dl
    >>> root = Path(tempfile.mkdtemp())
    >>> for folder in ("images", "labels"):
    ...     (root / folder).mkdir()
    >>> PillowImage.new("RGB", (8, 8)).save(root / "images" / "a.png")
    >>> _ = (root / "labels" / "a.txt").write_text("1 0.5 0.5 0.25 0.5")
    >>> _ = (root / "data.yaml").write_text("train: images\nnames: [cat, dog]")
    >>> ds = dl.from_yolo(root, "memory://from-yolo")
    >>> ds["boxes"][0], ds["labels"].names
    (array([[0.5 , 0.5 , 0.25, 0.5 ]], dtype=float32), ('cat', 'dog'))
    """
    if task is not None:
        checks.choice("task", task, TASKS)
    source = yolo_source(path, task) if task != "classify" else None
    if source is None or source.task == "classify":
        return from_folder(_folder(path), url, **options)
    return ingest(source, url, **options)


def yolo_source(path: str | os.PathLike[str], task: Task | None = None) -> YoloSource:
    """Return the source for a dataset, given its data.yaml or its folder.

    Raises NotFoundError or InvalidValueError if there are no images or no labels, or if the
    data.yaml is invalid.
    """
    given = Path(checks.location("path", path)).expanduser()
    layout = Layout.of(given)
    parts = [Part(split, images) for split, images in layout.images.items()]
    if task is None:
        samples = [*chain.from_iterable(part.samples() for part in parts)]
        has_labels = any(
            os.path.isfile(label_path(i)) for part in parts for i in part.images[:SAMPLED]
        )
        first = next((image for part in parts for image in part.images), None)
        if not has_labels and layout.config and first is not None:
            raise InvalidValueError(
                "A YOLO dataset must have label files, but none was found. The label file of "
                f"{first.name!r} would be {str(label_path(first))!r}. Correct the folders, or "
                'choose a task: task="detect" ingests images without objects, and task="classify" '
                "ingests class folders."
            )
        is_classify = not has_labels and first is not None
        task = "classify" if is_classify else yolo_labels.task_of(
            samples, layout.points, layout.task
        )  # fmt: skip
    return YoloSource(layout, tuple(parts), task)


def _folder(path: str | os.PathLike[str]) -> Path:
    """Return the folder of a classification dataset."""
    given = Path(checks.location("path", path)).expanduser()
    return given.parent if given.is_file() else given


@dataclass(frozen=True)
class Part:
    """The images of one split."""

    split: str
    """Name of the split, or "" if the dataset is not split."""

    images: tuple[Path, ...]
    """Paths of the images."""

    def samples(self) -> Iterator[Labels]:
        """Yield the labels of the first images, except for labels that cannot be read."""
        for image in islice(self.images, SAMPLED):
            try:
                yield yolo_labels.parse(read_labels(image))
            except ValueError:
                continue


def read_labels(image: Path) -> str:
    """Return the text of an image's label file, or "" if there is no such file.

    Raises ValueError if the file cannot be read.
    """
    path = label_path(image)
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise ValueError(f"the file must be text, but it cannot be read ({error})") from None


@dataclass(frozen=True)
class YoloSource:
    """The source for a YOLO dataset."""

    layout: Layout
    """The images of each split, and the content of the data.yaml."""

    parts: tuple[Part, ...]
    """Parts of the dataset, one for each split."""

    task: Task
    """The meaning of the numbers in label files."""

    key: str = "path"
    """Rows are identified by the path of the image."""

    fingerprint: None = None
    """None, because rows are identified by their paths."""

    @property
    def metadata(self) -> Mapping[str, object]:
        """Metadata of the dataset: the entries of the data.yaml that the import does not use."""
        return {"yolo": self.layout.rest} if self.layout.rest else {}

    @cached_property
    def left_out(self) -> Collection[Skipped]:
        """Images that also belong to an earlier split, and label files without an image."""
        return [*self.layout.repeated, *self.layout.orphaned_labels()]

    @cached_property
    def _has_scores(self) -> bool:
        """Whether the lines of label files end with a score."""
        samples = chain.from_iterable(part.samples() for part in self.parts)
        points = self._points if self.task == "pose" else None
        return yolo_labels.have_scores(samples, self.task, points)

    @property
    def title(self) -> str:
        """The folder's name."""
        return self.layout.root.resolve().name or str(self.layout.root)

    @property
    def rows(self) -> int:
        """Number of images."""
        return sum(len(part.images) for part in self.parts)

    @cached_property
    def columns(self) -> dict[str, Htype]:
        """Type of each column."""
        types: dict[str, Htype] = {"image": Image(self._codec()), "path": Text()}
        if splits := [part.split for part in self.parts if part.split]:
            types["split"] = ClassLabel(splits)
        types["boxes"] = Boxes("cxcywh", "fraction")
        types["labels"] = Sequence(ClassLabel(self._names))
        if self._has_scores:
            types["scores"] = Sequence("float32")
        if self.task in ("segment", "obb"):
            types["segmentation"] = Sequence(Polygons())
        if self.task == "pose":
            types["keypoints"] = Keypoints(self.layout.point_names, dims=self._points[1])
        return types

    def _codec(self) -> str:
        """Return the codec that all images have, or "auto" if they have different codecs."""
        formats = {*formats_of([image for part in self.parts for image in part.images])} - {None}
        return str(formats.pop()) if len(formats) == 1 else "auto"

    @cached_property
    def _names(self) -> list[str]:
        """Names of the classes, or their numbers if they have no names."""
        names = self.layout.names
        if names is not None:
            return names
        most = -1
        for image in chain.from_iterable(part.images for part in self.parts):
            try:
                most = max([most, *yolo_labels.parse(read_labels(image)).classes])
            except ValueError:
                continue
        return [str(number) for number in range(most + 1)]

    @property
    def _points(self) -> tuple[int, int]:
        if self.layout.points is None:
            raise InvalidValueError(
                'task="pose" requires kpt_shape in the data.yaml, but the data.yaml has none. Add '
                "a line such as kpt_shape: [number of keypoints, 2 or 3]."
            )
        return self.layout.points

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Accept all columns, because label files have only a few digits."""

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the rows from row `start` on, in blocks. Each image is a row."""
        ends = accumulate(len(part.images) for part in self.parts)
        for part, end in zip(self.parts, ends, strict=True):
            first = end - len(part.images)
            for at in range(max(start, first), end, BLOCK_ROWS):
                images = part.images[at - first : at - first + BLOCK_ROWS]
                yield self._block(part, images)

    def _block(self, part: Part, images: tuple[Path, ...]) -> Block:
        rows, errors = [], dict[int, str]()
        for i, image in enumerate(images):
            try:
                rows.append(self._row(image))
            except ValueError as error:
                errors[i] = f"{label_path(image).name}: {error}."
                rows.append(self._row_of(Labels([], []), _NO_SIZE))
        columns: dict[str, Any] = {key: [row[key] for row in rows] for key in rows[0]}
        keys = [self.layout.key(image) for image in images]
        columns |= {"image": [str(i.absolute()) for i in images], "path": keys}
        columns["split"] = [part.split] * len(images)
        return Block({name: columns[name] for name in self.columns}, keys, errors=errors)

    def _row(self, image: Path) -> dict[str, Any]:
        """Return a dict of the values in columns that describe an image's objects.

        Raises ValueError if the label file is invalid.
        """
        labels = yolo_labels.parse(read_labels(image))
        points = self._points if self.task == "pose" else None
        yolo_labels.check(labels, self.task, points, scores=self._has_scores)
        for number in labels.classes:
            if number >= len(self._names):
                raise ValueError(
                    f"a class number must be less than {len(self._names)}, the number of names in "
                    f"the data.yaml, but it is {number}"
                )
        needs_size = self.task != "detect" and labels.values
        return self._row_of(labels, _size(image) if needs_size else _NO_SIZE)

    def _row_of(self, labels: Labels, size: NDArray[np.float64]) -> dict[str, Any]:
        """Return a dict from columns to values for the objects of an image.

        `size` has the width and height of the image.
        """
        row: dict[str, Any] = {"labels": [self._names[number] for number in labels.classes]}
        numbers = labels.values
        if self._has_scores:
            numbers, row["scores"] = yolo_labels.split_scores(numbers, self.task)
        if self.task in ("segment", "obb"):
            row["segmentation"] = [
                [] if v.size == 4 else [(v.reshape(-1, 2) * size).astype(np.float32)]
                for v in numbers
            ]
            # Computed from the stored outlines, so that an export can be ingested unchanged.
            boxes = [
                yolo_labels.bounds(parts[0] / size) if parts else values
                for parts, values in zip(row["segmentation"], numbers, strict=True)
            ]
        else:
            boxes = [values[:4] for values in numbers]
        row["boxes"] = np.array(boxes, np.float32).reshape(-1, 4)
        if self.task == "pose":
            count, dims = self._points
            points = np.zeros((len(boxes), count, dims), np.float32)
            for row_points, values in zip(points, numbers, strict=True):
                row_points[:] = values[4:].reshape(count, dims)
                row_points[:, :2] *= size
            row["keypoints"] = points
        return row


def _size(image: Path) -> NDArray[np.float64]:
    """Return the width and height of an image when it is displayed upright.

    Raises ValueError if the file cannot be read.
    """
    try:
        data = image.read_bytes()
        shape = codecs.sniff(data).probe(data).shape
    except (OSError, ValueError, LakeError) as error:
        raise ValueError(f"the size of {brief(image.name, 60)} cannot be read ({error})") from None
    return np.array([shape[1], shape[0]], np.float64)
