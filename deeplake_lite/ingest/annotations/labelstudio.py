"""Ingesting JSON exports of Label Studio."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from deeplake_lite import checks
from deeplake_lite.dataset.export.annotations import labelstudio_regions as regions
from deeplake_lite.dataset.export.annotations import labelstudio_values as values
from deeplake_lite.dataset.export.annotations.objects import Object, Picture, check_masks, rest_of
from deeplake_lite.errors import NotFoundError
from deeplake_lite.htypes import ClassLabel, Htype, Json, Keypoints, Scalar, Sequence, Text
from deeplake_lite.ingest.annotations import labelstudio_tasks as tasks
from deeplake_lite.ingest.annotations.image_files import ImageFolder
from deeplake_lite.ingest.annotations.json_file import decode_item, read_list
from deeplake_lite.ingest.annotations.source import AnnotationSource
from deeplake_lite.ingest.files import fingerprint
from deeplake_lite.ingest.options import takes_options
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Mapping

    import msgspec

    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset
    from deeplake_lite.ingest.source import Skipped

_RESERVED = frozenset({
    "image", "path", "split", "width", "height", "boxes", "labels", "segmentation", "polylines",
    "keypoints", "masks", "scores", "tags", "data", "labelstudio", "difficult", "truncated",
    "occluded",
})  # fmt: skip


@takes_options
def from_labelstudio(
    path: str | os.PathLike[str],
    url: str,
    *,
    images: str | os.PathLike[str] | bool | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest Label Studio's tasks about images, exported as JSON or as JSON-MIN.

    Parameters
    ----------
    path : str or Path
        The JSON file.
    url : str
        URL of the lake, which is created if it does not exist.
    images : str, Path or False, optional
        Folder of the images. The path of an image in this folder may be the path in its URL or any
        trailing part of that path, with or without the digits that Label Studio adds to the names
        of uploads. By default, the folder is ``images`` next to the file, or else the file's own
        folder. False ingests only the annotations. Nothing is downloaded.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, with one row per task: ``image``, ``path`` (the key, from the URL of
        the image), ``width``, ``height``, ``boxes`` (xyxy, in pixels; shapes other than boxes are
        stored with their bounding boxes), ``labels``, ``data``, and, if there are any:
        ``segmentation`` (polygons and rotated rectangles), ``keypoints``, ``masks`` (of brushes),
        ``scores``. Each control for whole images becomes a column with its name: choices become
        classes, taxonomies become JSON, ratings and numbers become numbers, and text areas become
        lists of strings. The dataset's attribute ``ingested`` summarizes the import.

    Raises
    ------
    NotFoundError
        If the file or folder does not exist.
    InvalidValueError
        If the file is not a Label Studio export, a region is invalid, or an image is missing; with
        ``on_error="skip"``, such tasks are skipped.

    Notes
    -----
    If a task has several annotations, the ground truth is used or, if there is none, the one that
    was changed last; cancelled annotations are ignored. If the file has no annotations at all, the
    first prediction of each task is ingested. Other annotations and predictions, relations and ids
    are stored in the column ``labelstudio``, so that `View.to_labelstudio` can write them back,
    except for cells that have been edited. A region with several labels becomes one object per
    label, and `View.to_labelstudio` merges these objects again, unless their shapes have been
    edited.

    Examples
    --------
    >>> import json, tempfile
    >>> import deeplake_lite as dl
    >>> value = {"x": 25, "y": 50, "width": 50, "height": 25, "rectanglelabels": ["cat"]}
    >>> size = {"original_width": 64, "original_height": 48}
    >>> result = {"type": "rectanglelabels", "from_name": "label", "value": value, **size}
    >>> task = {"data": {"image": "a.jpg"}, "annotations": [{"result": [result]}]}
    >>> path = Path(tempfile.mkdtemp(), "tasks.json")
    >>> _ = path.write_text(json.dumps([task]))
    >>> ds = dl.from_labelstudio(path, "memory://from-labelstudio", images=False)
    >>> ds["boxes"][0], ds["labels"].names
    (array([[16., 24., 48., 36.]], dtype=float32), ('cat',))
    """
    return ingest(AnnotationSource(labelstudio_reader(path, images)), url, **options)


def labelstudio_reader(
    path: str | os.PathLike[str], images: str | os.PathLike[str] | bool | None = None
) -> LabelStudioReader:
    """Return the reader of a JSON export.

    Raises NotFoundError or InvalidValueError if the file does not exist or is invalid.
    """
    given = Path(checks.location("path", path)).expanduser()
    if given.is_dir():
        raise NotFoundError(
            f"A Label Studio export must be a JSON file, but {str(given)!r} is a folder. Pass the "
            "file, or let dl.ingest find it in the folder."
        )
    if not given.is_file():
        raise NotFoundError(
            f"There is no file {str(given)!r} (working directory: {Path.cwd()}). Check the path."
        )
    raw = read_list(given)
    if images is False:
        return LabelStudioReader(given, raw, None)
    here = given.absolute().parent
    folders = [here / "images", here]
    if images is not None and images is not True:
        folders = [Path(checks.location("images", images)).expanduser()]
        if not folders[0].is_dir():
            raise NotFoundError(
                f"There is no folder {str(folders[0])!r}. Check the argument images."
            )
    return LabelStudioReader(given, raw, ImageFolder(folders))


@dataclass
class _Control:
    """A labelling control that applies to whole images."""

    kind: str
    names: dict[str, None] = field(default_factory=dict)
    """All choices that occur in the file, as the keys of a dict, which keeps their order."""
    is_single: bool = True

    @property
    def htype(self) -> Htype:
        """Type of the column that stores the control's values."""
        match self.kind:
            case "choices":
                names = [*self.names]
                if self.is_single:
                    return ClassLabel(names, nullable=True)
                return ClassLabel(names, multiple=True, nullable=True)
            case "rating":
                return Scalar("int64", nullable=True)
            case "number":
                return Scalar("float64", nullable=True)
            case "textarea":
                return Sequence(Text(), nullable=True)
        return Json(nullable=True)

    def cell(self, value: Any) -> Any:
        """Convert a value of the control to a cell of its column."""
        return value[0] if self.kind == "choices" and self.is_single else value


@dataclass(frozen=True)
class LabelStudioReader:
    """The reader of a Label Studio export, which yields its tasks as pictures."""

    path: Path
    raw: list[msgspec.Raw]
    images: ImageFolder | None
    name: str = "labelstudio"
    left_out: Collection[Skipped] = ()
    splits: Collection[str] = ()
    classes: Collection[str] = ()
    tags: Collection[str] = ()
    points: Keypoints = Keypoints()  # noqa: RUF009 (frozen)

    @property
    def title(self) -> str:
        """Name of the file."""
        return self.path.name

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the file's path, size and modification time."""
        return fingerprint(self.path, [str(self.path)])

    @property
    def has_images(self) -> bool:
        """Whether image files are ingested."""
        return self.images is not None

    @property
    def metadata(self) -> Mapping[str, object]:
        """Metadata of the dataset, with the type and name of each column's control."""
        return {"columns": {c: {"type": self.controls[n].kind, "from_name": n}
                            for n, c in self.columns.items()}}  # fmt: skip

    @cached_property
    def key(self) -> str:
        """The key of a task to read: ``annotations``, or ``predictions`` without annotations."""
        for raw in self.raw:
            try:
                task = tasks.expand_task(decode_item(raw))
                if tasks.choose_annotation(tasks.annotations_of(task, "annotations")) is not None:
                    return "annotations"
            except ValueError:
                continue
        return "predictions"

    @cached_property
    def controls(self) -> dict[str, _Control]:
        """Maps the names of controls for whole images to the controls.

        A control whose results have different types is left out.
        """
        controls: dict[str, _Control] = {}
        mixed = set[str]()
        for raw in self.raw:
            try:
                _, whole, _ = tasks.sort_results(self._annotation(self._task(raw))["result"])
                results = [
                    (str(r.get("from_name")), str(r["type"]), values.parse(r)) for r in whole
                ]
            except (ValueError, TypeError):
                continue
            for name, kind, value in results:
                control = controls.setdefault(name, _Control(kind))
                if control.kind != kind:
                    mixed.add(name)
                elif kind == "choices":
                    control.names.update(dict.fromkeys(value))
                    control.is_single &= len(value) == 1
        return {name: control for name, control in controls.items() if name not in mixed}

    @cached_property
    def columns(self) -> dict[str, str]:
        """Maps the name of each control to the name of its column."""
        result, taken = dict[str, str](), set(_RESERVED)
        for name in self.controls:
            column = name or "control"
            while column in taken:
                column += "_"
            taken.add(column)
            result[name] = column
        return result

    def types(self) -> Mapping[str, Htype]:
        """Return a dict from the names of the additional columns to their types."""
        control_types = {
            self.columns[name]: control.htype for name, control in self.controls.items()
        }
        return {**control_types, "data": Json()}

    def pictures(self) -> Iterator[Picture]:
        """Yield a picture for each task."""
        for number, raw in enumerate(self.raw):
            title = f"{self.path.name}, task {number}"
            try:
                task = self._task(raw)
                yield self._picture(task)
            except ValueError as error:
                yield Picture(title, error=f"{error}.")

    def _task(self, raw: msgspec.Raw) -> dict[str, Any]:
        """Decode a task in Label Studio's format JSON or JSON-MIN.

        Raises ValueError if it is invalid.
        """
        task = tasks.expand_task(decode_item(raw))
        if not isinstance(task.get("data"), dict):
            raise ValueError("a task must have an object 'data', but this one has none")  # noqa: TRY004
        return task

    def _annotation(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """Return the annotation to ingest, with its index under the key "-".

        If the task has no annotation, the result is an annotation without results. Raises
        ValueError if it is invalid.
        """
        annotations = tasks.annotations_of(task, self.key)
        number = (
            tasks.choose_annotation(annotations)
            if self.key == "annotations"
            else (0 if annotations else None)
        )
        if number is None:
            return {"result": []}
        annotation = dict(annotations[number])
        annotation["result"] = annotation.get("result") or []
        if not isinstance(annotation["result"], list):
            raise ValueError(  # noqa: TRY004
                "the result of an annotation must be a list, but it is "
                f"{annotation['result']!r:.40}"
            )
        return {**annotation, "-": number}

    def _picture(self, task: Mapping[str, Any]) -> Picture:
        """Convert a task to a picture. Raises ValueError if the task is invalid."""
        data = task["data"]
        address = data[tasks.image_key(data)]
        path = tasks.path_of(address)
        names = [*tasks.names_of(path)]
        if not names:
            raise ValueError(f"the URL of an image must have a path, but it is {address[:80]!r}")
        annotation = self._annotation(task)
        shapes, whole, others = tasks.sort_results(annotation["result"])
        parts = [part for region in shapes for part in regions.parts_by_label(region)]
        objects = [self._object(region, number) for number, region in enumerate(parts)]
        check_masks(objects)
        sizes = [regions.size_of(region) for region in parts]
        width, height = sizes[0] if sizes else _size(whole)
        columns, further = self._columns(whole)
        return Picture(
            path,
            objects,
            image=None if self.images is None else self.images.find(names),
            width=width,
            height=height,
            columns={**columns, "data": dict(data)},
            rest=self._rest(task, annotation, [*further, *others]),
        )

    def _object(self, region: Mapping[str, Any], number: int) -> Object:
        """Convert a region to an object. Raises ValueError if the region is invalid."""
        obj = regions.parse(region)
        return replace(
            obj, rest=rest_of(region, regions.rebuild(obj, regions.size_of(region), number))
        )

    def _columns(self, whole: list[dict[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return a dict from column names to cells, and the results that no cell can store.

        Raises ValueError if a result is invalid.
        """
        cells, rest = dict[str, Any](), []
        for result in whole:
            name = str(result.get("from_name"))
            if name not in self.columns or self.columns[name] in cells:
                rest.append(result)
                continue
            control = self.controls[name]
            value = values.parse(result)
            cells[self.columns[name]] = control.cell(value)
            if result != values.rebuild(control.kind, name, value):
                rest.append({**result, "-": name})
        return cells, rest

    def _rest(
        self, task: Mapping[str, Any], annotation: Mapping[str, Any], results: list[dict[str, Any]]
    ) -> dict[str, Any]:
        """Return the values of a task that no other column stores."""
        number = annotation.get("-")
        rest: dict[str, Any] = {
            "task": {k: v for k, v in task.items()
                     if k not in ("data", "annotations", "predictions")},
            "annotation": {k: v for k, v in annotation.items() if k not in ("result", "-")},
            "results": results,
        }  # fmt: skip
        for key in ("annotations", "predictions"):
            annotations = tasks.annotations_of(task, key)
            rest[key] = [a for i, a in enumerate(annotations) if key != self.key or i != number]
        filled = {key: value for key, value in rest.items() if value}
        return {**filled, "number": number} if number else {**filled, **_unlabelled_mark(number)}


def _unlabelled_mark(number: int | None) -> dict[str, Any]:
    """Return a dict that marks a task without annotation as unlabelled, or an empty dict.

    `number` is the index of the task's annotation, or None without an annotation.
    """
    return {"unlabelled": True} if number is None else {}


def _size(results: list[dict[str, Any]]) -> tuple[int | None, int | None]:
    """Return the width and height recorded in one of the results, or None for both."""
    for result in results:
        try:
            return regions.size_of(result)
        except ValueError:
            continue
    return None, None
