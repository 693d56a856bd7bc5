"""Export of a view as PASCAL VOC: images, XML files, masks, and lists of images."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from deeplake_lite import checks
from deeplake_lite.dataset.export.annotations import voc_objects as voc
from deeplake_lite.dataset.export.annotations.files import (
    Unique,
    split_name,
    stem_of,
    with_suffix,
    write_file,
)
from deeplake_lite.dataset.export.annotations.objects import (
    FLAGS,
    IMAGES_MISSING,
    restore_object,
    with_rest,
)
from deeplake_lite.dataset.export.annotations.pictures import Pictures
from deeplake_lite.dataset.export.annotations.xml_text import check_text, lines_of
from deeplake_lite.dataset.export.atomic_files import as_storage_errors
from deeplake_lite.dataset.export.folder import new_folder
from deeplake_lite.dataset.export.portable import is_file
from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.export.annotations.objects import Object, Picture
    from deeplake_lite.dataset.view import View

MASKS = {"segmentation_class": "SegmentationClass", "segmentation_object": "SegmentationObject"}
"""Maps each column of masks to the folder for its files."""

_ROLES = ("image", "path", "split", "width", "height", "boxes", "labels", *FLAGS)


def write_voc(view: View, path: str | Path) -> Path:
    """Write the rows of a view; see `View.to_voc`."""
    root = Path(checks.location("path", path)).expanduser()
    masks = [n for n in MASKS if n in view.columns and is_file(view.schema[n].htype)]
    pictures = Pictures(view, "to_voc", "voc", masks)
    pictures.check()
    export = _Export(pictures)
    export.warn()
    with as_storage_errors(root), new_folder(root, "to_voc"):
        export.write(root)
    return root


@dataclass
class _Export:
    """An export of a view to PASCAL VOC."""

    pictures: Pictures
    lines: dict[str, list[str]] = field(default_factory=dict)
    """Maps the name of each image list to its lines that have not been written to the file yet."""

    @cached_property
    def origin(self) -> int:
        """Coordinate of the first pixel: 1, or 0 if the imported files count from 0."""
        return 0 if self.pictures.metadata.get("origin") == 0 else 1

    @cached_property
    def main(self) -> str:
        """Name of the folder, within ``ImageSets``, that has a list of images for each split."""
        main = self.pictures.metadata.get("main", "Main")
        return main if main in ("Main", "Segmentation", "Layout", "Action") else "Main"

    @cached_property
    def sets(self) -> list[str]:
        """Names of the image lists that do not hold a single split, such as "Main/trainval"."""
        imported = self.pictures.metadata.get("sets")
        if isinstance(imported, list):
            return [name for name in imported if isinstance(name, str)]
        return ["Main/trainval", *(f"Segmentation/{s}" for s in ("train", "val", "trainval"))]

    @cached_property
    def class_lists(self) -> list[tuple[str, str]]:
        """Class and split of each image list that says which images of a split show the class."""
        imported = self.pictures.metadata.get("class_lists")
        names = [n for n in imported if isinstance(n, str)] if isinstance(imported, list) else []
        return [(name.rpartition("_")[0], name.rpartition("_")[2]) for name in names]

    def warn(self) -> None:
        """Check all rows, and warn about everything that is left out.

        Raises InvalidValueError if a row is invalid.
        """
        unique, losses = Unique("to_voc"), self.pictures.losses
        for picture in self.pictures:
            unique.add(stem_of(picture.path))
            for obj in picture.objects:
                self._check_label(obj)
            self._page(picture, picture.path)
            self._memberships(picture)
            if self.pictures.image is not None and picture.image is None:
                losses.add(IMAGES_MISSING)
        for name in self.pictures.classes:
            check_text(name)
        self.pictures.warn(self.pictures.left_out(_ROLES), losses)

    def _check_label(self, obj: Object) -> None:
        """Raise InvalidValueError if the label of an object is empty, or has spaces at its ends."""
        if not obj.label or obj.label != obj.label.strip():
            raise InvalidValueError(
                "VOC needs a name for each object, without spaces at either end, but one name is "
                f"{obj.label!r}. Rename the class, or correct the row."
            )

    def write(self, root: Path) -> None:
        """Write all files."""
        for folder in ("JPEGImages", "Annotations"):  # an import needs them, even if they are empty
            (root / folder).mkdir()
        for picture in self.pictures.read(files=True):
            name = with_suffix(picture.path, picture.image)
            if picture.image is not None:
                write_file(root / "JPEGImages" / name, picture.image)
            if picture.rest.get("xml", True) or picture.objects:
                page = "\n".join(lines_of("annotation", self._page(picture, name)))
                write_file(root / "Annotations" / f"{stem_of(name)}.xml", f"{page}\n".encode())
            for column, folder in MASKS.items():
                data = picture.columns.get(column)
                if isinstance(data, bytes):
                    write_file(root / folder / f"{stem_of(name)}.png", data)
            for list_name, texts in self._memberships(picture).items():
                stem = _quote(stem_of(name))
                lines = (f"{stem} {text}".rstrip() for text in texts)
                self.lines.setdefault(list_name, []).extend(lines)
            if sum(map(len, self.lines.values())) > 100_000:
                self._flush(root)
        self._flush(root)
        self._write_classes(root)

    def _flush(self, root: Path) -> None:
        """Append the collected lines to their image lists."""
        for list_name, lines in self.lines.items():
            path = root / "ImageSets" / f"{list_name}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{line}\n" for line in lines)
        self.lines.clear()

    def _write_classes(self, root: Path) -> None:
        """Write the classes to labelmap.txt, as CVAT does, unless these are VOC's own classes."""
        names = [name for name in self.pictures.classes if ":" not in name and "\n" not in name]
        column = self.pictures.view.schema["segmentation_class"] if (
            "segmentation_class" in self.pictures.view.columns
        ) else None  # fmt: skip
        pixels = None if column is None else column.htype.pixels
        of_masks = [] if pixels is None else [*pixels.names]
        if tuple(names) == voc.CLASSES and of_masks in ([], [voc.BACKGROUND, *voc.CLASSES]):
            return
        if column is not None and not of_masks:
            return  # mask values without names must stay unnamed
        names = [*dict.fromkeys([*(of_masks or [voc.BACKGROUND]), *names])]
        lines = ["# label:color_rgb:parts:actions"]
        lines += [f"{name}:{','.join(map(str, voc.colour(n)))}::" for n, name in enumerate(names)]
        (root / "labelmap.txt").write_text("\n".join(lines) + "\n", "utf-8")

    # ---- a row

    def _page(self, picture: Picture, name: str) -> dict[str, Any]:
        """Return the content of an image's XML file, as a dict from element names to content."""
        size = (picture.width, picture.height)
        has_mask = any(picture.columns.get(column) is not None for column in MASKS)
        page = voc.page(PurePosixPath(name).name, size, segmented=has_mask)
        page = _merge_page(page, picture.rest.get("page"))
        parse = partial(voc.parse, origin=self.origin)
        objects = [
            restore_object(obj, voc.rebuild(obj, self.origin), parse, voc.DERIVED)
            for obj in picture.objects
        ]
        return {**page, **({"object": objects} if objects else {})}

    def _memberships(self, picture: Picture) -> dict[str, list[str]]:
        """Return the image lists that contain an image.

        The result is a dict from the name of a list to the texts of the image's lines in it, after
        the image's name.
        """
        split = None if picture.split is None else split_name(picture.split, "to_voc")
        has_mask = any(picture.columns.get(column) is not None for column in MASKS)
        defaults = voc.default_sets(split, self.sets, self.main, has_mask=has_mask)
        rest = picture.rest.get("lists")
        lists = with_rest(defaults, rest if isinstance(rest, dict) else {})
        lists = {k: [str(line) for line in v] for k, v in lists.items()
                 if isinstance(v, list) and _is_safe_list_name(k)}  # fmt: skip
        for label, list_split in self.class_lists:
            name = f"Main/{label}_{list_split}"
            if f"Main/{list_split}" in lists and name not in lists and _is_safe_list_name(name):
                lists[name] = [voc.presence(picture.objects, label)]
        return lists


def _merge_page(page: Mapping[str, Any], rest: object) -> dict[str, Any]:
    """Merge elements rebuilt from cells with elements of the imported file that are still valid."""
    if not isinstance(rest, dict):
        return dict(page)
    rest = dict(rest)
    size = page.get("size")
    if size is not None and not _agrees(rest.get("size"), size):
        rest.pop("size", None)
    if "filename" in rest and stem_of(str(rest["filename"])) != stem_of(page["filename"]):
        stem = PurePosixPath(str(rest["filename"])).stem
        if stem == str(rest["filename"]) and stem != PurePosixPath(page["filename"]).stem:
            del rest["filename"]
    return with_rest(page, rest)


def _agrees(imported: object, size: Mapping[str, str]) -> bool:
    """Return whether the size in an imported file, which may be any value, matches the image."""
    sides = imported if isinstance(imported, dict) else {}
    return all(str(sides.get(key, "")).strip() == size[key] for key in ("width", "height"))


def _quote(stem: str) -> str:
    """Return an image's name for image lists, in quotes if it has spaces, as CVAT writes it."""
    return f'"{stem}"' if any(c.isspace() for c in stem) else stem


def _is_safe_list_name(name: str) -> bool:
    """Return whether the name of an image list is safe, that is, one folder and one file name."""
    parts = name.split("/")
    return len(parts) == 2 and all(p and not p.startswith(".") and "\\" not in p and "\0" not in p
                                   for p in parts)  # fmt: skip
