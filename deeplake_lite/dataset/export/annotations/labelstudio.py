"""Export of a view as Label Studio tasks."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
import numpy as np

from deeplake_lite import checks
from deeplake_lite.dataset.export.annotations import labelstudio_regions as regions
from deeplake_lite.dataset.export.annotations import labelstudio_values as values
from deeplake_lite.dataset.export.annotations.files import Unique, with_suffix, write_file
from deeplake_lite.dataset.export.annotations.objects import (
    BOXES_LOST,
    KEYPOINTS_LOST,
    OUTLINES_LOST,
    OUTLINES_SPLIT,
    bounds,
    restore_object,
)
from deeplake_lite.dataset.export.annotations.pictures import Pictures
from deeplake_lite.dataset.export.atomic_files import as_storage_errors, atomic_write
from deeplake_lite.dataset.export.folder import new_folder
from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deeplake_lite.dataset.export.annotations.objects import Object, Picture
    from deeplake_lite.dataset.view import View

NAME = "tasks.json"

MODEL = "deeplake_lite"
"""Name of the model version with which predictions are written."""

LOCAL = "/data/local-files/?d="
"""Prefix of the URL of a file in Label Studio's local storage."""

_ROLES = (
    "image", "path", "width", "height", "boxes", "labels", "segmentation", "keypoints", "masks",
    "scores", "tags",
)  # fmt: skip


def write_labelstudio(view: View, path: str | Path, predictions: bool) -> Path:
    """Write the rows of a view; see `View.to_labelstudio`."""
    target = Path(checks.location("path", path)).expanduser()
    as_predictions = checks.flag("predictions", predictions)
    metadata = view.rows.table.metadata.get("labelstudio")
    columns = metadata.get("columns") if isinstance(metadata, dict) else None
    controls = {
        name: dict(control) for name, control in (columns or {}).items()
        if name in view.columns and isinstance(control, dict)
        and control.get("type") in values.KINDS
    } if isinstance(columns, dict) else {}  # fmt: skip
    pictures = Pictures(view, "to_labelstudio", "labelstudio", (*controls, "data"))
    pictures.check()
    export = _Export(pictures, controls, as_predictions)
    export.warn()
    with contextlib.ExitStack() as stack:
        stack.enter_context(as_storage_errors(target))
        if target.suffix.lower() == ".json":
            draft = stack.enter_context(atomic_write(target))
            with draft.open("wb") as file:
                file.writelines(export.pieces(None))
        else:
            stack.enter_context(new_folder(target, "to_labelstudio"))
            with (target / NAME).open("wb") as file:
                file.writelines(
                    export.pieces(lambda name, data: write_file(target / "images" / name, data))
                )
    return target


@dataclass
class _Export:
    """An export of a view to Label Studio."""

    pictures: Pictures
    controls: dict[str, dict[str, Any]]
    """Maps each column that describes whole images to the type and name of its control."""
    as_predictions: bool

    @cached_property
    def tag_name(self) -> str | None:
        """Name of the column of image classes that has no control yet, or None if there is none."""
        f = self.pictures.columns.get("tags")
        return None if f is None or f.name in self.controls else f.name

    def warn(self) -> None:
        """Check all rows, and warn about everything that is left out.

        Raises InvalidValueError if a row is invalid.
        """
        unique = Unique("to_labelstudio")
        for row, picture in enumerate(self.pictures):
            unique.add(picture.path)
            for obj in picture.objects:
                self._count_losses(obj)
            self._task(picture, picture.path, row)
        self.pictures.warn(self.pictures.left_out(_ROLES), self.pictures.losses)

    def _count_losses(self, obj: Object) -> None:
        """Count the parts of an object that Label Studio's format cannot hold."""
        losses, shape = self.pictures.losses, regions.shape_for(obj)
        if len(obj.points) > (shape == "keypoint"):
            if shape == "keypoint":
                losses.add(
                    "{} [object|objects] with several keypoints [is|are] split into one region per "
                    "keypoint"
                )
            else:
                losses.add(KEYPOINTS_LOST)
        if len(obj.outlines) > 1 and shape == "polygon":
            losses.add(OUTLINES_SPLIT)
        if len(obj.outlines) and shape == "brush":
            losses.add(OUTLINES_LOST)
        if shape in ("polygon", "brush") and obj.has_own_box and not obj.rest:
            losses.add(BOXES_LOST)
        if any(obj.flags.values()):
            losses.add("the flags of {} [object|objects] are left out")

    def pieces(self, write: Callable[[str, bytes], None] | None) -> Iterator[bytes]:
        """Yield the task file in pieces, and call `write` with the name and data of each image."""
        separator = b"[\n"
        for row, picture in enumerate(self.pictures.read(files=write is not None)):
            image = picture.image if isinstance(picture.image, bytes) else None
            name = with_suffix(picture.path, image)
            if image is not None and write is not None:
                write(name, image)
            yield separator + msgspec.json.encode(self._task(picture, name, row))
            separator = b",\n"
        yield b"\n]\n" if separator == b",\n" else b"[]\n"

    # ---- a row

    def _task(self, picture: Picture, name: str, row: int) -> dict[str, Any]:
        """Return the Label Studio task for a row.

        Raises InvalidValueError if this is impossible.
        """
        rest = picture.rest
        data = picture.columns.get("data")
        data = data if isinstance(data, dict) and data else {"image": LOCAL + quote(name)}
        task = {**_dict(rest.get("task")), "data": data}
        results = self._results(picture, row)
        scores = [obj.score for obj in picture.objects if obj.score is not None]
        others = {key: _list(rest.get(key)) for key in ("annotations", "predictions")}
        annotation = _dict(rest.get("annotation"))
        if self.as_predictions:
            prediction: dict[str, Any] = {"model_version": MODEL}
            if "score" in annotation:
                keys = [k for k in ("model_version", "id") if k in annotation]
                prediction |= {k: annotation[k] for k in keys}
            if scores:
                prediction["score"] = float(np.mean(scores))
            return {**task, "predictions": [{**prediction, "result": results}]}
        number = rest.get("number", 0)
        if not (rest.get("unlabelled") and not results):
            index = number if isinstance(number, int) and number >= 0 else 0
            others["annotations"].insert(index, {**annotation, "result": results})
        return {**task, **{k: v for k, v in others.items() if v or k == "annotations"}}

    def _results(self, picture: Picture, row: int) -> list[dict[str, Any]]:
        """Return the results (regions, choices etc.) of a row.

        Raises InvalidValueError if this is impossible.
        """
        joined: list[dict[str, Any]] = []  # regions with all of their labels
        number = 0
        for obj in picture.objects:
            size = self._size(picture, row)
            for part in _split_object(obj):
                rebuilt = regions.rebuild(part, size, number)
                lose = self.pictures.losses.add
                region = restore_object(part, rebuilt, regions.parse, regions.DERIVED, lose)
                _add_region(joined, region, rebuilt["id"])
                number += 1
        results = [result for region in joined for result in _split_region(region)]
        imported = [r for r in _list(picture.rest.get("results")) if isinstance(r, dict)]
        for column, control in self.controls.items():
            if (cell := picture.columns.get(column)) is not None:
                results.append(_control_result(control, cell, imported))
        if self.tag_name is not None and picture.tags:
            results.append(values.rebuild("choices", self.tag_name, [*picture.tags]))
        return [*results, *(r for r in imported if "-" not in r)]

    def _size(self, picture: Picture, row: int) -> tuple[int, int]:
        """Return the size of an image. Raises InvalidValueError if it is unknown."""
        if not picture.width or not picture.height:
            raise InvalidValueError(
                "to_labelstudio needs the size of each image, because coordinates are percentages "
                f"of the size, but the size is unknown in row {row:,}. Add the columns 'width' "
                "and 'height'.",
                row=row,
            )
        return picture.width, picture.height


def _split_object(obj: Object) -> list[Object]:
    """Split an object so that each part has one outline or keypoint, as Label Studio requires."""
    shape = regions.shape_for(obj)
    if shape == "polygon" and len(obj.outlines) > 1:
        return [replace(obj, outlines=[o], box=bounds([o]), rest={}) for o in obj.outlines]
    if shape == "keypoint" and len(obj.points) > 1:
        points = [p[None] for p in obj.points if p[2] > 0]
        return [replace(obj, points=p, box=bounds([p]), rest={}) for p in points]
    return [obj]


def _add_region(added: list[dict[str, Any]], region: dict[str, Any], new_id: str) -> None:
    """Append a region to `added`, or add its label to the last region.

    The label is added if the imported file had one region with both labels. `new_id` replaces the
    id of a region if another region already has this id.
    """
    if not region.pop(regions.ALSO, False):
        added.append(region)
        return
    joined = regions.join(added[-1], region) if added else None
    if joined is not None:
        added[-1] = joined
    elif any(other.get("id") == region.get("id") for other in added):
        added.append(regions.with_id(region, new_id))
    else:
        added.append(region)


def _split_region(region: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the result for a region, followed by further results that describe the same region."""
    others = _list(region.get("with"))
    if isinstance(region.get(regions.LABELS), dict):
        others = [region[regions.LABELS], *others]
    shape = {k: v for k, v in region.items() if k not in ("with", regions.LABELS)}
    return [regions.unflatten(shape), *others]


def _control_result(
    control: dict[str, Any], cell: Any, imported: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the result of a control for a cell, with the imported file's other values for it."""
    kind, name = str(control["type"]), str(control.get("from_name"))
    cell = [cell] if kind == "choices" and isinstance(cell, str) else _plain(cell)
    rebuilt = values.rebuild(kind, name, cell)
    for result in imported:
        if result.get("-") == name and isinstance(result.get("value"), dict):
            original = {k: v for k, v in result.items() if k != "-"}
            return {**rebuilt, **original, "value": {**original["value"], **rebuilt["value"]}}
    return rebuilt


def _plain(cell: Any) -> Any:
    """Return a cell as a JSON value."""
    return cell.tolist() if hasattr(cell, "tolist") else cell


def _dict(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else []
