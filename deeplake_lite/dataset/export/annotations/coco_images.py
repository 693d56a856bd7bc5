"""Checks of the images in a COCO file, their sizes, and their panoptic annotations."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.export.annotations import coco_annotations as coco
from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def check_unique(image: Mapping[str, Any], seen: set[object]) -> None:
    """Raise InvalidValueError if the id or the file name of an image was seen before."""
    for key in ("id", "file_name"):
        if (key, image[key]) in seen:
            raise InvalidValueError(
                f"Each image of a COCO file must have a unique {key}, but two images have "
                f"{image[key]!r}. Export a view without repeated rows, or correct the column "
                f"{'image_id' if key == 'id' else 'path'!r}."
            )
        seen.add((key, image[key]))


def path_inside(name: str) -> PurePosixPath:
    """Return a name as a relative path. Raises InvalidValueError if it leads out of the folder."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
        raise InvalidValueError(
            f"The path of an image must be inside the folder of images, but it is {name!r}. "
            "Correct the column 'path'."
        )
    return path


def to_pixels(boxes: Any, image: Mapping[str, Any]) -> Any:
    """Convert boxes from fractions to pixels. Raises InvalidValueError if the size is unknown."""
    width, height = image.get("width"), image.get("height")
    if width is None or height is None:
        raise InvalidValueError(
            "to_coco needs the size of an image to convert its boxes from fractions to pixels, but "
            f"the size of {image['file_name']!r} is unknown. Add the columns 'width' and 'height'."
        )
    return np.asarray(boxes, np.float64).reshape(-1, 4) * (width, height, width, height)


def panoptic_annotation(
    segments: Sequence[Mapping[str, Any]], image: Mapping[str, Any], originals: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return a list with the panoptic annotation of an image, or an empty list without segments."""
    if not segments and not originals:
        return []
    plain_segments = [{k: v for k, v in segment.items() if k != "image_id"} for segment in segments]
    name = str(PurePosixPath(str(image["file_name"])).with_suffix(".png"))
    entry = {"file_name": name, **originals, "image_id": image["id"]}
    return [{**entry, coco.SEGMENTS: plain_segments}]
