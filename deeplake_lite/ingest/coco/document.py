"""Reading COCO files, whose annotations are decoded only when the row of their image is read.

A file with a million annotations has 450 MB, and would take 3 GB as Python objects. Therefore, the
file is mapped into memory, annotations are slices of the mapping, and only their image ids and keys
are read in advance.
"""

from __future__ import annotations

import codecs
import mmap
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.dataset.export.annotations.coco_annotations import SEGMENTS
from deeplake_lite.errors import InvalidValueError, NotFoundError
from deeplake_lite.ingest.source import Skipped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

type _Optional = msgspec.Raw | msgspec.UnsetType


class _Head(msgspec.Struct):
    """The keys of an annotation that determine the columns. A missing key is `msgspec.UNSET`."""

    image_id: int | str
    bbox: _Optional = msgspec.UNSET
    segmentation: _Optional = msgspec.UNSET
    area: _Optional = msgspec.UNSET
    iscrowd: _Optional = msgspec.UNSET
    keypoints: _Optional = msgspec.UNSET
    num_keypoints: _Optional = msgspec.UNSET
    caption: _Optional = msgspec.UNSET
    category_id: _Optional = msgspec.UNSET
    id: _Optional = msgspec.UNSET
    segments_info: _Optional = msgspec.UNSET


KEYS = tuple(name for name in _Head.__struct_fields__ if name not in ("image_id", SEGMENTS))
"""Keys of annotations. A key becomes a column if at least one annotation of the file has it."""

_heads = msgspec.json.Decoder(_Head)
_segments = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_values = msgspec.json.Decoder()


@dataclass(frozen=True)
class Document:
    """A COCO file."""

    path: Path
    """Path of the file."""

    images: list[dict[str, Any]]
    """Images in the order of the file."""

    categories: list[dict[str, Any]]
    """Categories in the order of the file."""

    rest: Mapping[str, Any]
    """Maps all other keys of the file, such as ``info`` and ``licenses``, to their values."""

    annotations: list[msgspec.Raw]
    """Annotations in the order of the file, as undecoded JSON."""

    @classmethod
    def read(cls, path: Path) -> Document:
        """Read a file.

        Raises NotFoundError or InvalidValueError if it does not exist or is invalid.
        """
        parts = _parts(path)
        images = _list_of_objects(path, parts, "images")
        annotations = _decode(path, parts.pop("annotations", msgspec.Raw(b"[]")), list[msgspec.Raw])
        categories = _list_of_objects(path, parts, "categories")
        rest = {name: _decode(path, raw, Any) for name, raw in parts.items()}
        return cls(path, images, categories, rest, annotations)

    @cached_property
    def _heads(self) -> tuple[NDArray[np.int64], frozenset[str]]:
        """The index of each annotation's image, or -1, and the keys that any annotation has."""
        numbers = {image["id"]: n for n, image in enumerate(self.images)}
        of, keys = np.empty(len(self.annotations), np.int64), set[str]()
        for i, raw in enumerate(self.annotations):
            try:
                head = _heads.decode(raw)
            except msgspec.DecodeError as error:
                raise InvalidValueError(
                    f"{self.name(i)} is not a valid annotation: {error}. Correct the file."
                ) from None
            of[i] = numbers.get(head.image_id, -1)
            if len(keys) < len(KEYS):
                keys |= {key for key in KEYS if getattr(head, key) is not msgspec.UNSET}
            if isinstance(head.segments_info, msgspec.Raw):
                keys |= {SEGMENTS, *self._keys_of_segments(i, head.segments_info)} & {
                    SEGMENTS, *KEYS
                }  # fmt: skip
        return of, frozenset(keys)

    def _keys_of_segments(self, annotation: int, raw: msgspec.Raw) -> set[str]:
        """Return all keys that segments of an annotation have.

        Raises InvalidValueError if segments are invalid.
        """
        try:
            return set[str]().union(*_segments.decode(raw))
        except msgspec.DecodeError as error:
            raise InvalidValueError(
                f"{self.name(annotation)}: {SEGMENTS} must be a list of objects, but it cannot be "
                f"read: {error}. Correct the file."
            ) from None

    @property
    def is_panoptic(self) -> bool:
        """Whether the annotations are panoptic, that is, have segments in separate PNG files."""
        return SEGMENTS in self.keys

    @property
    def keys(self) -> frozenset[str]:
        """Keys, among `KEYS` and `SEGMENTS`, that at least one annotation or segment has."""
        return self._heads[1]

    @cached_property
    def _order(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Indices of the annotations by image, and positions of each image's first annotation."""
        of = self._heads[0]
        order = np.argsort(of, kind="stable")
        return order, np.searchsorted(of[order], np.arange(len(self.images) + 1))

    def annotations_of(self, image: int) -> list[dict[str, Any]]:
        """Return the annotations of an image, in the order of the file."""
        order, starts = self._order
        numbers = order[starts[image] : starts[image + 1]]
        raw = self.annotations
        try:
            return [_values.decode(raw[i]) for i in numbers.tolist()]
        except (msgspec.DecodeError, RecursionError):
            return [self._decode(i) for i in numbers.tolist()]  # raises with the annotation's name

    def _decode(self, annotation: int) -> dict[str, Any]:
        try:
            result: dict[str, Any] = _values.decode(self.annotations[annotation])
        except (msgspec.DecodeError, RecursionError) as error:
            raise InvalidValueError(
                f"{self.name(annotation)} cannot be read: {error}. Correct the file."
            ) from None
        return result

    def orphans(self) -> list[Skipped]:
        """Return the annotations whose images are not in the file, as skipped items."""
        of = [(i, _heads.decode(self.annotations[i]).image_id)
              for i in np.flatnonzero(self._heads[0] < 0).tolist()]  # fmt: skip
        return [
            Skipped(self.name(i), f"its image {brief(image, 40)} is not in the file")
            for i, image in of
        ]

    def name(self, annotation: int) -> str:
        """Return the name of an annotation in messages."""
        return f"{self.path.name}, annotation {annotation}"


def _parts(path: Path) -> dict[str, msgspec.Raw]:
    """Return a dict from the keys of a COCO file to their values, as undecoded JSON."""
    if path.is_dir():
        raise NotFoundError(
            f"A COCO file must be a JSON file, but {str(path)!r} is a folder. Pass the file, such "
            "as annotations/instances_train2017.json, or let dl.ingest find the files in the "
            "folder."
        )
    if not path.is_file():
        raise NotFoundError(
            f"There is no COCO file {str(path)!r} (working directory: {Path.cwd()}). Check the "
            "path."
        )
    with path.open("rb") as file:
        if path.stat().st_size == 0:
            raise InvalidValueError(
                f"A COCO file must be JSON, but {str(path)!r} is empty. Check the file."
            )
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    data = data[3:] if bytes(data[:3]) == codecs.BOM_UTF8 else data
    parts: dict[str, msgspec.Raw] = _decode(path, data, dict[str, msgspec.Raw])
    if "images" not in parts:
        raise InvalidValueError(
            f"A COCO file must have the key 'images', but {str(path)!r} has "
            f"{brief(sorted(parts), 80)}. Pass an annotation file, such as "
            "instances_train2017.json."
        )
    return parts


def _decode(path: Path, data: Any, type_: Any) -> Any:
    try:
        return msgspec.json.decode(data, type=type_)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InvalidValueError(
            f"A COCO file must be a JSON object whose values are lists, but {str(path)!r} cannot "
            f"be read as such: {error}. Correct the file."
        ) from None


def _list_of_objects(path: Path, parts: dict[str, msgspec.Raw], key: str) -> list[dict[str, Any]]:
    """Return the list of objects at a key. Raises InvalidValueError unless all ids are unique."""
    raw = parts.pop(key, msgspec.Raw(b"[]"))
    objects: list[dict[str, Any]] = _decode(path, raw, list[dict[str, Any]])
    seen = set[Any]()
    for number, item in enumerate(objects):
        item_id = item.get("id")
        if not isinstance(item_id, int | str) or isinstance(item_id, bool) or item_id in seen:
            rule = "must have a unique id, which is a number or a string"
            raise InvalidValueError(
                f"{path.name}: each item of {key!r} {rule}, but the id of item {number} is "
                f"{brief(item_id, 40)}. Correct the file."
            )
        seen.add(item_id)
    return objects
