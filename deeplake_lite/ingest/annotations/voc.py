"""Ingesting PASCAL VOC: images with boxes in XML files, masks, and lists of images."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, Unpack

from deeplake_lite import checks
from deeplake_lite.dataset.export.annotations import voc_objects as voc
from deeplake_lite.dataset.export.annotations.objects import Picture, rest_of
from deeplake_lite.errors import OptionError
from deeplake_lite.htypes import Htype, Image, Keypoints, Mask
from deeplake_lite.ingest.annotations import voc_layout as layouts
from deeplake_lite.ingest.annotations import xml_tree
from deeplake_lite.ingest.annotations.cached_pictures import CachedPictures
from deeplake_lite.ingest.annotations.source import AnnotationSource
from deeplake_lite.ingest.annotations.voc_layout import Layout
from deeplake_lite.ingest.options import takes_options
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from deeplake_lite.ingest.annotations.voc_layout import Entry
    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset
    from deeplake_lite.ingest.source import Skipped

_COLOUR_TYPE, _PALETTE_OR_GREY = 25, (0, 3)
"""Offset of the colour type in a PNG file, and the colour types whose pixels are numbers."""


@takes_options
def from_voc(
    folder: str | os.PathLike[str],
    url: str,
    *,
    origin: Literal[1, 0] = 1,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest a PASCAL VOC dataset: images with boxes in XML files, masks and splits.

    Parameters
    ----------
    folder : str or Path
        The folder with ``JPEGImages`` and ``Annotations``, such as ``VOCdevkit/VOC2012``, or any
        folder with an XML file for each image, as written by labelImg and Roboflow.
    url : str
        URL of the lake, which is created if it does not exist.
    origin : {1, 0}
        Coordinate of the first pixel. VOC counts pixels from 1, and ``xmax`` and ``ymax`` are the
        last pixels inside the box. Some tools, such as CVAT, write the coordinates of the edges
        instead, which start at 0.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, with one row per image: ``image``, ``path`` (the key), ``split``
        (from the lists in ``ImageSets/Main``), ``width``, ``height``, ``boxes`` (xyxy, edges in
        pixels from 0), ``labels``, and, if there are any: ``difficult``, ``truncated``,
        ``occluded``, ``segmentation_class`` and ``segmentation_object`` (the PNG files, with 255
        for ignored pixels). Images without an XML file have no objects. The dataset's attribute
        ``ingested`` summarizes the import and lists XML files without an image.

    Raises
    ------
    NotFoundError
        If the folder does not exist, or has no images or no XML files.
    InvalidValueError
        If an XML file is not an annotation; with ``on_error="skip"``, its image is skipped.

    Notes
    -----
    Everything else in the XML files, such as poses, parts and sources, is stored in the column
    ``voc``, along with other lists that name the image. `View.to_voc` writes all of this back,
    except for cells that have been edited.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image as PillowImage
    >>> import deeplake_lite as dl
    >>> root = Path(tempfile.mkdtemp())
    >>> PillowImage.new("RGB", (64, 48)).save(root / "a.png")
    >>> box = "<xmin>1</xmin><ymin>1</ymin><xmax>64</xmax><ymax>24</ymax>"
    >>> text = f"<annotation><object><name>cat</name><bndbox>{box}</bndbox></object></annotation>"
    >>> _ = (root / "a.xml").write_text(text)
    >>> ds = dl.from_voc(root, "memory://from-voc")
    >>> ds["boxes"][0], ds["labels"].names
    (array([[ 0.,  0., 64., 24.]], dtype=float32), ('cat',))
    """
    if checks.integer("origin", origin, 0) > 1:
        raise OptionError(f"origin must be 1 or 0, but it is {origin}.")
    layout = Layout.of(Path(checks.location("folder", folder)).expanduser())
    return ingest(AnnotationSource(VocReader(layout, int(origin))), url, **options)


@dataclass(frozen=True)
class VocReader:
    """The reader of a PASCAL VOC dataset, which yields its images as pictures."""

    layout: Layout
    origin: int
    name: str = "voc"
    fingerprint: None = None
    """None, because rows are identified by their paths."""
    has_images: bool = True
    tags: Collection[str] = ()
    points: Keypoints = Keypoints()  # noqa: RUF009 (frozen)

    @property
    def title(self) -> str:
        """Name of the folder."""
        return self.layout.root.name or str(self.layout.root)

    @property
    def left_out(self) -> Collection[Skipped]:
        """XML files without an image."""
        return self.layout.left_out

    @property
    def splits(self) -> Collection[str]:
        """Splits with an image list, except ``trainval``, which is the union of train and val."""
        lists = self.layout.lists
        return [s for s in lists.splits if s != "trainval"]

    @cached_property
    def classes(self) -> Collection[str]:
        """Classes in the order of the label map or, without a label map, in alphabetical order.

        If there are masks but no label map, and all classes are among VOC's own, they are in VOC's
        order, because the masks probably have VOC's numbers.
        """
        if (names := self.layout.class_names) is not None:
            return [name for name in names if name != voc.BACKGROUND]
        used = {obj.label for picture in self.pictures() for obj in picture.objects}
        names = sorted(name for name in used if name is not None)
        has_masks = any("segmentation_class" in entry.masks for entry in self.layout.entries)
        return voc.CLASSES if has_masks and {*names} <= {*voc.CLASSES} else names

    @property
    def metadata(self) -> Mapping[str, object]:
        """Metadata of the lake: the names of the image lists, and the origin of coordinates."""
        lists = self.layout.lists
        return {"origin": self.origin, "main": lists.main, "sets": [*lists.names],
                "class_lists": [*lists.class_lists]}  # fmt: skip

    def types(self) -> Mapping[str, Htype]:
        """Return a dict from the names of the columns of masks to their types."""
        result: dict[str, Htype] = {}
        for column in layouts.MASKS:
            paths = [e.masks[column] for e in self.layout.entries if column in e.masks]
            if not paths:
                continue
            names: Sequence[str] = self._mask_names if column == "segmentation_class" else ()
            is_numbers = all(map(_has_numbers, paths[:100]))
            result[column] = (
                Mask(names=names, nullable=True) if is_numbers else Image("png", nullable=True)
            )
        return result

    @property
    def _mask_names(self) -> Sequence[str]:
        """Names of the classes in masks, in the order of their numbers, or none if unknown."""
        names = self.layout.class_names
        if names is None:
            is_voc = tuple(self.classes) == voc.CLASSES
            names = [voc.BACKGROUND, *voc.CLASSES] if is_voc else []
        return names

    def pictures(self) -> Iterator[Picture]:
        """Yield a picture for each image."""
        return iter(self._pictures)

    @cached_property
    def _pictures(self) -> CachedPictures:
        return CachedPictures(self._read)

    def _read(self) -> Iterator[Picture]:
        for entry in self.layout.entries:
            try:
                yield self._picture(entry)
            except ValueError as error:
                page = entry.annotation.name if entry.annotation is not None else entry.key
                yield Picture(entry.key, error=f"{page}: {error}.")

    def _picture(self, entry: Entry) -> Picture:
        """Return the picture of an image. Raises ValueError if the XML file is invalid."""
        page = self._page(entry)
        objects = []
        for original in _as_list(page.pop("object", [])):
            obj = voc.parse(original if isinstance(original, dict) else {}, self.origin)
            objects.append(voc.with_rest_of(obj, original, self.origin))
        width, height = _size(page.get("size"))
        split = self.layout.split(entry)
        rest: dict[str, Any] = {}
        if entry.annotation is None:
            rest["xml"] = False
        else:
            name = PurePosixPath(entry.key).name
            built = voc.page(name, (width, height), segmented=bool(entry.masks))
            rest |= {"page": differing} if (differing := rest_of(page, built)) else {}
        rest |= self._lines(entry, split, objects)
        return Picture(
            entry.key,
            objects,
            image=str(entry.image),
            split=split,
            width=width,
            height=height,
            columns={column: str(path) for column, path in entry.masks.items()},
            rest=rest,
        )

    def _page(self, entry: Entry) -> dict[str, Any]:
        """Return the content of an image's XML file as a dict.

        Raises ValueError if the file is invalid.
        """
        if entry.annotation is None:
            return {}
        root = xml_tree.parse(layouts.read_bytes(entry.annotation))
        if root.tag != "annotation":
            raise ValueError(
                f"the root element of an annotation must be <annotation>, but it is "
                f"<{root.tag[:40]}>"
            )
        page = xml_tree.tree_of(root)
        return page if isinstance(page, dict) else {}

    def _lines(self, entry: Entry, split: str | None, objects: Any) -> dict[str, Any]:
        """Return the image's lines in image lists that do not follow from its split and objects.

        The result is a dict with the key ``lists``, or an empty dict if all lines follow.
        """
        lists = self.layout.lists
        lines = dict(lists.lines.get(entry.stem, {}))
        for name in lists.class_lists:
            label, _, of = name.rpartition("_")
            if f"Main/{of}" in lines and lines.get(f"Main/{name}") == [
                voc.presence(objects, label)
            ]:
                del lines[f"Main/{name}"]
        has_mask = bool(entry.masks)
        usual = voc.default_sets(split, lists.names, lists.main, has_mask=has_mask)
        if not lists.names:
            usual = {}
        rest = rest_of(lines, usual)
        return {"lists": {k: [*v] for k, v in rest.items()}} if rest else {}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _size(size: Any) -> tuple[int | None, int | None]:
    """Return the width and height of an image, or (None, None) if either is unknown."""
    sizes = size if isinstance(size, dict) else {}
    numbers: list[int | None] = []
    for key in ("width", "height"):
        text = str(sizes.get(key, "")).strip()
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
        numbers.append(number or None)
    return (numbers[0], numbers[1]) if None not in numbers else (None, None)


def _has_numbers(path: Path) -> bool:
    """Return whether the pixels of a PNG file are numbers instead of colours."""
    try:
        with path.open("rb") as file:
            head = file.read(_COLOUR_TYPE + 1)
    except OSError:
        return True
    return len(head) <= _COLOUR_TYPE or head[_COLOUR_TYPE] in _PALETTE_OR_GREY
