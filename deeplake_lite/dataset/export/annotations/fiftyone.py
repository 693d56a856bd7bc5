"""Export of a view in FiftyOne's own format: samples, their fields, images and masks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from deeplake_lite import checks
from deeplake_lite.dataset.export.annotations import fiftyone_labels as labels
from deeplake_lite.dataset.export.annotations.fiftyone_document import document
from deeplake_lite.dataset.export.annotations.files import (
    Unique,
    stem_of,
    with_suffix,
    write_file,
)
from deeplake_lite.dataset.export.annotations.objects import (
    BOXES_LOST,
    FLAGS,
    IMAGES_MISSING,
    KEYPOINTS_LOST,
    OUTLINES_LOST,
    restore_object,
)
from deeplake_lite.dataset.export.annotations.pictures import Pictures
from deeplake_lite.dataset.export.atomic_files import as_storage_errors
from deeplake_lite.dataset.export.folder import new_folder
from deeplake_lite.dataset.export.portable import is_file
from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.export.annotations.objects import Object, Picture
    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field

_ROLES = (
    "image", "path", "split", "width", "height", "boxes", "labels", "segmentation", "polylines",
    "keypoints", "masks", "scores", *FLAGS,
)  # fmt: skip

_FIELDS = {"Detections": "ground_truth", "Polylines": "polylines", "Keypoints": "keypoints"}
"""Maps each FiftyOne class of fields that hold objects to the field's default name."""

_RESERVED = frozenset({
    "id", "filepath", "tags", "metadata", "created_at", "last_modified_at", *_FIELDS.values(),
})  # fmt: skip

_NAME = re.compile(r"[A-Za-z]\w*")

ORDER = "deeplake_lite_order"
"""Key in the dataset's info. If its value is true, the objects of an image, which may be in several
fields, are in the order of their attribute ``index``."""


def write_fiftyone(view: View, path: str | Path) -> Path:
    """Write the rows of a view; see `View.to_fiftyone`."""
    root = Path(checks.location("path", path)).expanduser()
    columns = _columns(view)
    extra = (*columns, *(["tags"] if _has_tags(view) else []))
    pictures = Pictures(view, "to_fiftyone", "fiftyone", extra)
    if not columns or "labels" in pictures.columns:
        pictures.check()
    export = _Export(pictures, columns)
    export.warn()
    with as_storage_errors(root), new_folder(root, "to_fiftyone"):
        export.write(root)
    return root


def _has_tags(view: View) -> bool:
    """Return whether the view has a column of sample tags."""
    return "tags" in view.columns and view.schema["tags"].htype.classes is not None


def _columns(view: View) -> dict[str, str]:
    """Return a dict from the names of columns of whole images to the kinds of FiftyOne fields.

    Columns that describe objects, and columns that FiftyOne cannot represent, are left out.
    """
    recorded = view.rows.table.metadata.get("fiftyone")
    recorded = _dict(_dict(recorded).get("columns"))
    used = {f.name for role, f in Pictures(view, "to_fiftyone", "fiftyone").columns.items()
            if role in _ROLES} | {"tags", "fiftyone"}  # fmt: skip
    kinds = {f.name: _kind(f) for f in view.schema if f.name not in used}
    imported = _imported_fields(view)
    kinds |= {
        name: "Regression"
        for name, kind in kinds.items()
        if kind == "Float" and _dict(recorded.get(name)).get("kind") == "Regression"
    }
    fits = {n for n in kinds if n in imported or (_NAME.fullmatch(n) and n not in _RESERVED)}
    return {name: kind for name, kind in kinds.items() if kind and name in fits}


def _imported_fields(view: View) -> dict[str, str]:
    """Return a dict from the names of columns to the FiftyOne fields they were imported from."""
    metadata = view.rows.table.metadata.get("fiftyone")
    columns = metadata.get("columns") if isinstance(metadata, dict) else None
    columns = columns if isinstance(columns, dict) else {}
    return {name: str(column["field"]) for name, column in columns.items()
            if isinstance(column, dict) and isinstance(column.get("field"), str)}  # fmt: skip


def _kind(f: Field) -> str | None:
    """Return the kind of FiftyOne field for a column, or None if FiftyOne cannot represent it."""
    htype = f.htype
    if htype.classes is not None:
        return "Classification" if htype.sql == "class" else "Classifications"
    if htype.pixels is not None:
        return "Segmentation" if htype.pixels.role == "class_mask" else None
    if htype.sql == "text":
        return "String"
    scalar = htype.scalar or ""
    kinds = {"int": "Int", "uint": "Int", "float": "Float", "bool": "Boolean"}
    return kinds.get(scalar.rstrip("0123456789"))


@dataclass
class _Export:
    """An export of a view to FiftyOne."""

    pictures: Pictures
    columns: dict[str, str]
    """Maps each column that describes whole images to the kind of its FiftyOne field."""
    is_mixed: bool = False
    """Whether the order of an image's objects cannot be read from the fields alone.

    This is the case if the image's objects are not sorted by the fields that hold them."""
    classes: set[str] = field(default_factory=set)
    """FiftyOne classes of the fields that hold the objects of at least one row."""

    @cached_property
    def objects(self) -> dict[str, str]:
        """Maps each FiftyOne class of fields that hold objects to the name of the field."""
        imported = self.pictures.metadata.get("objects")
        pairs = [pair for pair in imported if isinstance(pair, list) and len(pair) == 2
                 and pair[0] in _FIELDS] if isinstance(imported, list) else []  # fmt: skip
        names = {str(kind): str(name) for kind, name in pairs}
        names |= {kind: name for kind, name in _FIELDS.items() if kind not in names}
        return names if len({*names.values()}) == len(names) else dict(_FIELDS)

    @cached_property
    def fields(self) -> dict[str, str]:
        """Maps each column that describes whole images to the name of its FiftyOne field."""
        imported = _imported_fields(self.pictures.view)
        return {name: imported.get(name, name) for name in self.columns}

    @cached_property
    def order(self) -> list[str]:
        """FiftyOne classes of the fields that hold objects, in the order of their declarations."""
        return [*self.objects]

    @property
    def imported_document(self) -> dict[str, Any]:
        """The document of the dataset that the rows were imported from, or an empty dict."""
        return _dict(self.pictures.metadata.get("document"))

    def warn(self) -> None:
        """Check all rows, and warn about everything that is left out.

        Raises InvalidValueError if a row is invalid.
        """
        unique, stems = Unique("to_fiftyone"), Unique("to_fiftyone")
        has_masks = "Segmentation" in self.columns.values()
        for row, picture in enumerate(self.pictures):
            unique.add(picture.path)
            if has_masks:
                stems.add(stem_of(picture.path))
            for obj in picture.objects:
                self._count_losses(obj)
            kinds = [labels.CLASSES[labels.class_of(obj)] for obj in picture.objects]
            indices = [self.order.index(kind) for kind in kinds]
            self.classes.update(kinds)
            self.is_mixed |= indices != sorted(indices)
            self._labels(picture, row)
            if self.pictures.image is not None and picture.image is None:
                self.pictures.losses.add(IMAGES_MISSING)
        self.pictures.warn(self.pictures.left_out(_ROLES), self.pictures.losses)

    def _count_losses(self, obj: Object) -> None:
        """Count the parts of an object that FiftyOne's format cannot hold."""
        losses, kind = self.pictures.losses, labels.class_of(obj)
        if kind != "Keypoint" and len(obj.points):
            losses.add(KEYPOINTS_LOST)
        if kind == "Keypoint" and (obj.points[:, 2] == 1).any():
            losses.add("the hidden keypoints of {} [object|objects] become visible")
        if kind == "Detection" and len(obj.outlines):
            losses.add(OUTLINES_LOST)
        if kind != "Detection" and obj.has_own_box and not obj.rest:
            losses.add(BOXES_LOST)
        if not labels.is_within(obj):
            losses.add(
                "the [mask|masks] of {} [object is|objects are] cropped to [its box|their boxes]"
            )

    # ---- the files

    def write(self, root: Path) -> None:
        """Write all files."""
        encode = msgspec.json.encode
        with (root / "samples.json").open("wb") as file:
            separator = b'{"samples":[\n'
            for row, picture in enumerate(self.pictures.read(files=True)):
                image = picture.image if isinstance(picture.image, bytes) else None
                name = with_suffix(picture.path, image)
                if image is not None:
                    write_file(root / "data" / name, image)
                file.write(separator + encode(self._sample(picture, name, row, root)))
                separator = b",\n"
            file.write(b"\n]}\n" if separator == b",\n" else b'{"samples":[]}\n')
        (root / "metadata.json").write_bytes(encode(self._document()) + b"\n")

    def _document(self) -> dict[str, Any]:
        """Return the content of ``metadata.json``, which describes the dataset and its fields."""
        fields = {self.objects[kind]: kind for kind in self.order if kind in self.classes}
        fields |= {self.fields[column]: kind for column, kind in self.columns.items()}
        names = [*self.pictures.classes]
        classes = {self.objects[kind]: names for kind in self.classes}
        classes = classes or ({self.objects["Detections"]: names} if names else {})
        schema = self.pictures.view.schema
        targets, skeletons = dict[str, Any](), dict[str, Any]()
        for column, kind in self.columns.items():
            htype = schema[column].htype
            if kind == "Segmentation" and htype.pixels is not None and htype.pixels.names:
                named = {str(n): name for n, name in enumerate(htype.pixels.names)}
                targets[self.fields[column]] = named
            elif htype.classes is not None:
                classes[self.fields[column]] = [*htype.classes.names]
        points = self.pictures.columns.get("keypoints")
        coordinates = None if points is None else points.htype.coordinates
        if coordinates is not None and coordinates.names:
            edges = [[*pair] for pair in coordinates.connections]
            skeleton = {"labels": [*coordinates.names], "edges": edges}
            skeletons[self.objects["Keypoints"]] = skeleton
        imported = self.imported_document
        info = {k: v for k, v in _dict(imported.get("info")).items() if k != ORDER}
        imported["info"] = {**info, **({ORDER: True} if self.is_mixed else {})}
        return document(fields, classes, targets, skeletons, imported)

    # ---- a row

    def _sample(self, picture: Picture, name: str, row: int, root: Path) -> dict[str, Any]:
        """Return the FiftyOne sample for a row, after writing the row's mask files."""
        rest = picture.rest
        tags = [str(tag) for tag in picture.columns.get("tags") or ()]
        tags = [*([picture.split] if picture.split else []), *tags]
        imported_tags = rest.get("tags")
        if isinstance(imported_tags, list) and {*imported_tags} == {*tags}:
            tags = imported_tags
        metadata: dict[str, Any] = {"_cls": "ImageMetadata", **_dict(rest.get("metadata"))}
        metadata |= {"width": picture.width, "height": picture.height}
        identity = labels.identifier(picture.path)
        return {
            "_id": rest.get("_id", {"$oid": identity}),
            "filepath": f"data/{name}",
            "tags": tags,
            "metadata": metadata if picture.width else None,
            "_media_type": "image",
            "_rand": int(identity[:12], 16) / 2**48,
            **_dict(rest.get("fields")),
            **self._values(picture, name, root),
            **self._labels(picture, row),
        }

    def _labels(self, picture: Picture, row: int) -> dict[str, Any]:
        """Return a dict of the fields that hold a row's objects.

        Raises InvalidValueError if this is impossible.
        """
        labels_by_kind: dict[str, list[dict[str, Any]]] = {}
        for number, obj in enumerate(picture.objects):
            if not picture.width or not picture.height:
                raise InvalidValueError(
                    "to_fiftyone needs the size of each image, because coordinates are fractions "
                    f"of the size, but the size is unknown in row {row:,}. Add the columns "
                    "'width' and 'height'.",
                    row=row,
                )
            size = (picture.width, picture.height)
            rebuilt = labels.rebuild(obj, size, f"{picture.path}/{number}")
            parse, lose = partial(labels.parse, size=size), self.pictures.losses.add
            label = restore_object(obj, rebuilt, parse, labels.DERIVED, lose)
            if self.is_mixed:
                label["index"] = number
            labels_by_kind.setdefault(labels.CLASSES[str(rebuilt["_cls"])], []).append(label)
        return {
            self.objects[kind]: {"_cls": kind, labels.LISTS[kind]: labels_by_kind[kind]}
            for kind in self.order if kind in labels_by_kind
        }  # fmt: skip

    def _values(self, picture: Picture, name: str, root: Path) -> dict[str, Any]:
        """Return a dict of the fields that describe a row's whole image; write its mask files."""
        originals = _dict(picture.rest.get("labels"))
        result: dict[str, Any] = {}
        for column, kind in self.columns.items():
            value = picture.columns.get(column)
            if value is None or value is np.ma.masked:
                continue
            field_value = self._value(column, kind, value, name, root)
            original = originals.get(self.fields[column])
            if (
                isinstance(field_value, dict)
                and isinstance(original, dict)
                and _agree(field_value, original)
            ):
                field_value = {**field_value, **{k: v for k, v in original.items() if k != "_cls"}}
            result[self.fields[column]] = field_value
        return result

    def _value(self, column: str, kind: str, value: Any, name: str, root: Path) -> Any:
        """Convert a cell to the value of a FiftyOne field. If the cell is a mask file, write it."""
        identity = {"$oid": labels.identifier(f"{name}/{column}")}
        match kind:
            case "Classification":
                return {"_id": identity, "_cls": kind, "tags": [], "label": str(value)}
            case "Classifications":
                classifications = [
                    {"_id": {"$oid": labels.identifier(f"{name}/{column}/{n}")},
                     "_cls": "Classification", "tags": [], "label": str(label)}
                    for n, label in enumerate(value)
                ]  # fmt: skip
                return {"_cls": kind, "classifications": classifications}
            case "Regression":
                return {"_id": identity, "_cls": kind, "tags": [], "value": _plain(value)}
            case "Segmentation":
                base = {"_id": identity, "_cls": kind, "tags": []}
                if not is_file(self.pictures.view.schema[column].htype):
                    return {**base, "mask": labels.binary_of(np.asarray(value))}
                mask_path = f"fields/{self.fields[column]}.mask_path/{stem_of(name)}.png"
                write_file(root / mask_path, value)
                return {**base, "mask_path": mask_path}
        return _plain(value)


def _agree(rebuilt: Mapping[str, Any], original: Mapping[str, Any]) -> bool:
    """Return whether a label of the imported file still equals the label rebuilt from its cell."""
    if rebuilt.get("_cls") != original.get("_cls"):
        return False
    if "classifications" in rebuilt:
        items = original.get("classifications")
        items = items if isinstance(items, list) else []
        names = [c.get("label") for c in items if isinstance(c, dict)]
        return names == [c["label"] for c in rebuilt["classifications"]]
    return bool(
        rebuilt.get("label") == original.get("label")
        and rebuilt.get("value") == original.get("value")
    )


def _plain(value: Any) -> Any:
    """Convert a cell to a JSON value, with NaN and infinities in MongoDB's notation."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not np.isfinite(value):
        names = {np.inf: "Infinity", -np.inf: "-Infinity"}
        return {"$numberDouble": names.get(value, "NaN")}
    return value


def _dict(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}
