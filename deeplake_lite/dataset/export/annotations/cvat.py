"""Export of a view as "CVAT for images 1.1": an annotation file, and the image files."""

from __future__ import annotations

import contextlib
import zipfile
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from deeplake_lite import checks
from deeplake_lite.dataset.export.annotations import cvat_meta, cvat_shapes
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
from deeplake_lite.dataset.export.annotations.xml_text import attributes, content, lines_of
from deeplake_lite.dataset.export.atomic_files import as_storage_errors, atomic_write
from deeplake_lite.dataset.export.folder import new_folder
from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deeplake_lite.dataset.export.annotations.objects import Object, Picture
    from deeplake_lite.dataset.view import View

NAME = "annotations.xml"

_ROLES = (
    "image", "path", "split", "width", "height", "boxes", "labels", "segmentation", "polylines",
    "keypoints", "masks", "occluded", "tags",
)  # fmt: skip

_CHILDREN = ("attribute", "skeleton")
_DATE = (1980, 1, 1, 0, 0, 0)


def write_cvat(view: View, path: str | Path) -> Path:
    """Write the rows of a view; see `View.to_cvat`."""
    target = Path(checks.location("path", path)).expanduser()
    pictures = Pictures(view, "to_cvat", "cvat")
    pictures.check()
    export = _Export(pictures)
    export.warn()
    with contextlib.ExitStack() as stack:
        stack.enter_context(as_storage_errors(target))
        match target.suffix.lower():
            case ".zip":
                draft = stack.enter_context(atomic_write(target))
                export.write_zip(draft)
            case ".xml":
                draft = stack.enter_context(atomic_write(target))
                with draft.open("wb") as file:
                    file.writelines(export.pieces(None))
            case _:
                stack.enter_context(new_folder(target, "to_cvat"))
                export.write_folder(target)
    return target


@dataclass
class _Export:
    """An export of a view to CVAT."""

    pictures: Pictures
    ids: set[int] = field(default_factory=set)
    """Ids that the images had in the CVAT file from which they were imported."""

    @cached_property
    def meta(self) -> dict[str, Any]:
        """The header of the annotation file, which declares all labels."""
        imported = self.pictures.metadata.get("meta")
        names, tags = self.pictures.classes, self.pictures.tags
        return cvat_meta.declare_labels(
            imported if isinstance(imported, dict) else {}, names, tags, self.points
        )

    @cached_property
    def points(self) -> list[str]:
        """Names of the keypoints, or an empty list if the keypoints have no names."""
        f = self.pictures.columns.get("keypoints")
        coordinates = None if f is None else f.htype.coordinates
        return [] if coordinates is None else [*coordinates.names]

    @cached_property
    def skeletons(self) -> dict[str, list[str]]:
        """Maps the label of each kind of skeleton to the names of its points."""
        return {name: points for name, points in cvat_meta.skeletons(self.meta).items() if points}

    def warn(self) -> None:
        """Check all rows, and warn about everything that is left out.

        Raises InvalidValueError if a row is invalid.
        """
        unique = Unique("to_cvat")
        for picture in self.pictures:
            unique.add(picture.path)
            if isinstance(image_id := picture.rest.get("id"), int):
                self.ids.add(image_id)
            for obj in picture.objects:
                self._count_losses(obj, picture.path)
            for _ in self._lines(picture, picture.path, 0):
                pass
        self.pictures.warn(self.pictures.left_out(_ROLES), self.pictures.losses)

    def _count_losses(self, obj: Object, path: str) -> None:
        """Count the parts of an object that CVAT's format cannot hold.

        Raises InvalidValueError if the object has no label.
        """
        if obj.label is None:
            raise InvalidValueError(
                f"CVAT needs a label for each object, but an object in image {path!r} has none. "
                "Correct the row."
            )
        losses = self.pictures.losses
        if obj.kind not in ("box", "points") and len(obj.points):
            losses.add(KEYPOINTS_LOST)
        if len(obj.outlines) > 1 and obj.kind == "polygon":
            losses.add(OUTLINES_SPLIT)
        if len(obj.outlines) and obj.kind == "mask":
            losses.add(OUTLINES_LOST)
        if len(obj.lines) > 1:
            losses.add(
                "{} [object|objects] with several lines [is|are] split into one polyline per line"
            )
        if obj.has_own_box and not obj.rest:
            losses.add(BOXES_LOST)
        if "track" in obj.rest:
            losses.add("{} [object loses its|objects lose their] track number")

    # ---- the files

    def write_folder(self, root: Path) -> None:
        """Write all files to a folder."""
        with (root / NAME).open("wb") as file:
            for piece in self.pieces(lambda name, data: write_file(root / "images" / name, data)):
                file.write(piece)

    def write_zip(self, path: Path) -> None:
        """Write all files to a ZIP file, with images uncompressed."""
        with zipfile.ZipFile(path, "w") as archive:

            def write(name: str, data: bytes) -> None:
                archive.writestr(zipfile.ZipInfo(f"images/{name}", _DATE), data)

            draft = path.with_name(f"{path.name}.xml")
            try:
                with draft.open("wb") as text:
                    text.writelines(self.pieces(write))
                info = zipfile.ZipInfo(NAME, _DATE)
                info.compress_type = zipfile.ZIP_DEFLATED
                with draft.open("rb") as file, archive.open(info, "w", force_zip64=True) as member:
                    _copy(file, member)
            finally:
                draft.unlink(missing_ok=True)

    def pieces(self, write: Any) -> Iterator[bytes]:
        """Yield the annotation file in pieces, and call `write` with each image's name and data."""
        yield b'<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n  <version>1.1</version>\n'
        yield "".join(f"{line}\n" for line in lines_of("meta", self.meta, 1)).encode()
        new_ids = count(max(self.ids, default=-1) + 1)
        seen = set[int]()
        for picture in self.pictures.read(files=write is not None):
            image = picture.image if isinstance(picture.image, bytes) else None
            name = with_suffix(picture.path, image)
            if image is not None:
                write(name, image)
            number = picture.rest.get("id")
            if not isinstance(number, int) or number in seen:
                number = next(new_ids)
            seen.add(number)
            yield "".join(f"{line}\n" for line in self._lines(picture, name, number)).encode()
        yield b"</annotations>\n"

    # ---- a row

    def _lines(self, picture: Picture, name: str, number: int) -> Iterator[str]:
        """Yield the XML lines of an image."""
        values: dict[str, Any] = {"id": number, "name": _without_split(name, picture.split)}
        if picture.split is not None:
            values["subset"] = picture.split
        if picture.width is not None and picture.height is not None:
            values |= {"width": picture.width, "height": picture.height}
        imported = picture.rest.get("attributes")
        values = {**(imported if isinstance(imported, dict) else {}), **values}
        yield f"  <image{attributes(values)}>"
        for obj in picture.objects:
            for shape in self._shapes(obj, picture):
                yield from _element(shape)
        for tag in _tags(picture):
            yield from _element({**tag, "shape": "tag"})
        yield "  </image>"

    def _shapes(self, obj: Object, picture: Picture) -> list[dict[str, Any]]:
        """Return the CVAT shapes that represent an object.

        There is one shape for each outline or line, and a single shape for other objects.
        """
        names = self.skeletons.get(obj.label or "", self.points)
        size = (picture.width, picture.height)
        parse = partial(cvat_shapes.parse, size=size, names=names)
        obj = replace(obj, rest={k: v for k, v in obj.rest.items() if k != "track"})
        is_area = obj.kind == "polygon"
        parts = obj.outlines if is_area else obj.lines
        if len(parts) < 2:
            rebuilt = cvat_shapes.rebuild(obj, names)
            lose = self.pictures.losses.add
            return [restore_object(obj, rebuilt, parse, cvat_shapes.DERIVED, lose)]
        single = [
            replace(obj, box=bounds([part]), outlines=[part] if is_area else (),
                    lines=() if is_area else [part])
            for part in parts
        ]  # fmt: skip
        return [cvat_shapes.rebuild(part, names) for part in single]


def _without_split(name: str, split: str | None) -> str:
    return name if split is None else name.removeprefix(f"{split}/")


def _tags(picture: Picture) -> Iterator[dict[str, Any]]:
    """Yield the tags of an image as dicts, with the attributes that the imported file gave them."""
    imported = picture.rest.get("tags")
    items = imported if isinstance(imported, list) else []
    by_label = {str(tag.get("label")): tag for tag in items if isinstance(tag, dict)}
    for name in picture.tags:
        yield by_label.get(name, {"label": name, "source": "manual"})


def _element(shape: Mapping[str, Any], depth: int = 2) -> Iterator[str]:
    """Yield the XML lines of a shape."""
    tag, indent = str(shape.get("shape", "box")), "  " * depth
    values = {k: v for k, v in shape.items() if k != "shape" and k not in _CHILDREN}
    children = [child for key in _CHILDREN for child in shape.get(key) or () if
                isinstance(child, dict)]  # fmt: skip
    if not children:
        yield f"{indent}<{tag}{attributes(values)}></{tag}>"
        return
    yield f"{indent}<{tag}{attributes(values)}>"
    for child in children:
        if "text" in child:
            name = attributes({"name": child.get("name", "")})
            yield f"{indent}  <attribute{name}>{content(str(child['text']))}</attribute>"
        else:
            yield from _element({**child, "shape": "points"}, depth + 1)
    yield f"{indent}</{tag}>"


def _copy(source: IO[bytes], target: IO[bytes]) -> None:
    while data := source.read(1 << 20):
        target.write(data)
