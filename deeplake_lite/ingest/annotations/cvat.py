"""Ingesting CVAT's own XML formats, "CVAT for images 1.1" and "CVAT for video 1.1"."""

from __future__ import annotations

import zipfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Unpack

from deeplake_lite import checks
from deeplake_lite.dataset.export.annotations import cvat_meta, cvat_shapes
from deeplake_lite.dataset.export.annotations.objects import Object, Picture, check_masks, rest_of
from deeplake_lite.errors import InvalidValueError, NotFoundError
from deeplake_lite.htypes import Htype, Keypoints
from deeplake_lite.ingest.annotations import xml_tree
from deeplake_lite.ingest.annotations.cvat_tracks import Tracks, shape_of
from deeplake_lite.ingest.annotations.image_files import ImageFolder, ImageZip, open_zip
from deeplake_lite.ingest.annotations.source import AnnotationSource
from deeplake_lite.ingest.files import fingerprint
from deeplake_lite.ingest.options import takes_options
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Mapping
    from xml.etree.ElementTree import Element

    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset
    from deeplake_lite.ingest.source import Skipped


@takes_options
def from_cvat(
    path: str | os.PathLike[str],
    url: str,
    *,
    images: str | os.PathLike[str] | bool | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest a CVAT export in the format "CVAT for images 1.1" or "CVAT for video 1.1".

    Parameters
    ----------
    path : str or Path
        The ``annotations.xml``, its folder, or the ZIP file that CVAT exports.
    url : str
        URL of the lake, which is created if it does not exist.
    images : str, Path or False, optional
        Folder of the images, or of a video's frames (``frame_000000.png`` and so on). By default,
        the images are expected next to the XML file, or in the ZIP file. False ingests only the
        annotations.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, with one row per image or frame: ``image``, ``path`` (the key: subset
        and file name), ``split`` (the subset), ``width``, ``height``, ``boxes`` (xyxy; shapes other
        than boxes are stored with their bounding boxes), ``labels``, and, if there are any:
        ``segmentation`` (polygons and rotated boxes), ``polylines``, ``keypoints`` (points and
        skeletons), ``masks``, ``occluded``, and ``tags``. The dataset's attribute ``ingested``
        summarizes the import.

    Raises
    ------
    NotFoundError
        If the file or the folder of images does not exist.
    InvalidValueError
        If the file is not a CVAT export, a shape is invalid, or an image is missing; with
        ``on_error="skip"``, such images are skipped.

    Notes
    -----
    Attributes, ellipses, cuboids, angles, groups and layers are stored in the column ``cvat``. The
    task is stored with its labels and colours in ``ds.metadata["cvat"]``. `View.to_cvat` writes
    all of this back, except for cells that have been edited. If shapes between the keyframes of a
    track are missing, they are interpolated as in CVAT. All tracks of a file are held in memory.

    Examples
    --------
    >>> import tempfile
    >>> import deeplake_lite as dl
    >>> box = '<box label="cat" occluded="0" xtl="4" ytl="5" xbr="24" ybr="15" z_order="0"></box>'
    >>> image = f'<image id="0" name="a.jpg" width="64" height="48">{box}</image>'
    >>> path = Path(tempfile.mkdtemp(), "annotations.xml")
    >>> _ = path.write_text(f"<annotations><version>1.1</version>{image}</annotations>")
    >>> ds = dl.from_cvat(path, "memory://from-cvat", images=False)
    >>> ds["boxes"][0], ds["labels"].names
    (array([[ 4.,  5., 24., 15.]], dtype=float32), ('cat',))
    """
    return ingest(AnnotationSource(cvat_reader(path, images)), url, **options)


def cvat_reader(
    path: str | os.PathLike[str], images: str | os.PathLike[str] | bool | None = None
) -> CvatReader:
    """Return the reader of a CVAT export.

    Raises NotFoundError or InvalidValueError if there is no export or it cannot be read.
    """
    given = Path(checks.location("path", path)).expanduser()
    if given.is_dir():
        given = given / "annotations.xml"
    if not given.is_file():
        raise NotFoundError(
            f"There is no file {str(given)!r} (working directory: {Path.cwd()}). Check the path."
        )
    is_zip = zipfile.is_zipfile(given)
    if images is False:
        return CvatReader(given, None, is_zip=is_zip)
    if images is not None and images is not True:
        folder = Path(checks.location("images", images)).expanduser()
        if not folder.is_dir():
            raise NotFoundError(f"There is no folder {str(folder)!r}. Check the argument images.")
        return CvatReader(given, ImageFolder([folder, folder / "images"]), is_zip=is_zip)
    if is_zip:
        return CvatReader(given, ImageZip(given), is_zip=True)
    here = given.absolute().parent
    folders = [here / "images", here] if (here / "images").is_dir() else [here]
    return CvatReader(given, ImageFolder(folders), is_zip=False)


@dataclass(frozen=True)
class CvatReader:
    """The reader of a CVAT export, which yields its images and frames as pictures."""

    path: Path
    images: ImageFolder | ImageZip | None
    is_zip: bool
    name: str = "cvat"
    left_out: Collection[Skipped] = ()
    splits: Collection[str] = ()

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

    @cached_property
    def meta(self) -> dict[str, Any]:
        """The content of ``<meta>``, the header of the file, or an empty dict without a header."""
        for element in self._elements():
            if element.tag == "meta":
                tree = xml_tree.tree_of(element)
                return tree if isinstance(tree, dict) else {}
            if element.tag in ("image", "track"):
                break
        return {}

    @property
    def classes(self) -> Collection[str]:
        """The labels of objects that the header declares."""
        return cvat_meta.classes(self.meta)

    @property
    def tags(self) -> Collection[str]:
        """The labels of whole images that the header declares."""
        return cvat_meta.tags(self.meta)

    @cached_property
    def skeletons(self) -> dict[str, list[str]]:
        """Maps the label of each kind of skeleton to the names of its points."""
        return cvat_meta.skeletons(self.meta)

    @property
    def points(self) -> Keypoints:
        """Type of the column of keypoints. It has names if all keypoints belong to one skeleton."""
        return Keypoints(cvat_meta.only_skeleton(self.meta))

    @property
    def metadata(self) -> Mapping[str, object]:
        """The header of the file, as metadata of the dataset."""
        return {"meta": self.meta} if self.meta else {}

    def types(self) -> Mapping[str, Htype]:
        """Return an empty dict, because CVAT files need no additional columns."""
        return {}

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        """Open the annotation file, which may be in a ZIP file.

        Raises InvalidValueError if this fails.
        """
        if not self.is_zip:
            with self.path.open("rb") as file:
                yield file
            return
        with open_zip(self.path) as archive:
            pages = [n for n in archive.namelist() if n.rpartition("/")[2] == "annotations.xml"]
            if len(pages) != 1:
                raise InvalidValueError(
                    f"The ZIP file {self.path.name} must contain exactly one annotations.xml, but "
                    f"it contains {len(pages)}. Export the task from CVAT as "
                    '"CVAT for images 1.1".'
                )
            with archive.open(pages[0]) as file:
                yield file

    def _elements(self) -> Iterator[Element]:
        """Yield the child elements of the root.

        Raises InvalidValueError if the file is not valid XML.
        """
        try:
            with self._open() as file:
                elements = xml_tree.elements(file)
                root = next(elements)
                if root.tag != "annotations":
                    raise ValueError(  # noqa: TRY301
                        f"its root element must be <annotations>, but it is <{root.tag[:40]}>"
                    )
                yield from elements
        except InvalidValueError:
            raise
        except Exception as error:  # zipfile, zlib and expat raise many types of errors
            if isinstance(error, OSError) and not self.is_zip:
                raise
            raise InvalidValueError(
                f"{self.path.name} cannot be read as a CVAT export: {error}. Check the file."
            ) from None

    def pictures(self) -> Iterator[Picture]:
        """Yield a picture for each image, and then for each frame of the tracks."""
        tracks = Tracks(self)
        for element in self._elements():
            if element.tag == "image":
                yield self._picture_or_error(element)
            elif element.tag == "track":
                try:
                    tracks.add(element)
                except ValueError as error:
                    number = element.get("id", "?")[:20]
                    raise InvalidValueError(
                        f"{self.path.name}, track {number}: {error}. Correct the file."
                    ) from None
        yield from tracks.pictures()

    def _picture_or_error(self, element: Element) -> Picture:
        name = element.get("name") or ""
        key = f"{element.get('subset')}/{name}" if element.get("subset") else name
        try:
            return self._picture(element, key)
        except ValueError as error:
            return Picture(key, error=f"{error}.")

    def _picture(self, element: Element, key: str) -> Picture:
        """Convert an element ``<image>`` to a picture. Raises ValueError if it is invalid."""
        head = dict(element.attrib)
        name, subset = head.pop("name", ""), head.pop("subset", None)
        if not name:
            image_id = element.get("id", "?")[:20]
            raise ValueError(
                f"an image must have a name, but the image with id {image_id} has none"
            )
        number, size = head.pop("id", None), (_length(head, "width"), _length(head, "height"))
        objects, tags = list[Object](), list[dict[str, Any]]()
        for child in element:
            shape = shape_of(child)
            if child.tag == "tag":
                tags.append(shape)
            else:
                objects.append(self.object_of(shape, size))
        check_masks(objects)
        rest: dict[str, Any] = {"id": int(number or 0)} if _is_id(number) else {}
        if more := {k: v for k, v in head.items() if k not in ("width", "height")}:
            rest["attributes"] = more
        usual = [{"label": tag.get("label"), "source": "manual", "shape": "tag"} for tag in tags]
        if tags != usual:
            rest["tags"] = [{k: v for k, v in tag.items() if k != "shape"} for tag in tags]
        return Picture(
            key,
            objects,
            image=None if self.images is None else self.images.find([key, name, f"default/{name}"]),
            split=subset or None,
            width=size[0],
            height=size[1],
            tags=list(dict.fromkeys(str(tag.get("label")) for tag in tags)),
            rest=rest,
        )

    def object_of(self, shape: Mapping[str, Any], size: tuple[int | None, int | None]) -> Object:
        """Convert a shape to an object. Raises ValueError if it is invalid."""
        names = self.skeletons.get(str(shape.get("label")), [])
        obj = cvat_shapes.parse(shape, size, names)
        return replace(obj, rest=rest_of(shape, cvat_shapes.rebuild(obj, names)))


def _length(head: Mapping[str, str], key: str) -> int | None:
    """Return an image's width or height, or None if it is missing or not a positive integer."""
    text = head.get(key, "").strip()
    return int(text) or None if text.isascii() and text.isdigit() and len(text) < 10 else None


def _is_id(text: str | None) -> bool:
    return text is not None and text.isascii() and text.isdigit() and len(text) < 19
