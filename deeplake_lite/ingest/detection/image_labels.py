"""Finding labels next to images: COCO and YOLO files, and text files that name images.

A folder of images may also contain files such as a licence or a list of classes. If it contains
labels, it is not ingested as a folder of images, because the labels would be lost.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from deeplake_lite.ingest.folders.layout import SPLITS, SUFFIXES
from deeplake_lite.ingest.yolo import labels as yolo_labels
from deeplake_lite.ingest.yolo.layout import NAMES, label_path

if TYPE_CHECKING:
    from deeplake_lite.ingest.detection.place import Place

IMAGES = frozenset(SUFFIXES)

NOTE = re.compile(r".*\.(md|txt|json|ya?ml|html?|lock|sha256|names|data|labels)|(.*/)?LICENSE")
"""Pattern of the names of files that may describe a dataset."""

MAX_OPENED_FILES = 50
"""Maximum number of files of one kind that are opened."""

TEXT_BYTES = 65_536
"""Number of bytes of a text file that are searched for the names of images."""

_ABOUT = re.compile(
    r"(readme|licen[cs]e|changelog|citation)\b.*|.*\.(md|html?|lock|sha256)", re.IGNORECASE
)
_BETWEEN = re.compile(r"[\s\"'<>|,;:\\/=()\[\]{}]+")
"""Pattern of separators between file names, and between the folders of a path."""


def is_coco(place: Place) -> bool:
    """Return whether a file is a COCO file."""
    keys = place.json_keys
    has_keys = "images" in keys and bool(keys & {"annotations", "categories"})
    return has_keys and not place.is_json_list


def coco_files(place: Place) -> list[str]:
    """Return the relative paths of the COCO files in a folder and its direct subfolders."""
    names = place.find(r"([^/]+/)?[^/]+\.json")[:MAX_OPENED_FILES]
    return [name for name in names if is_coco(place.at(name))]


def coco_by_split(place: Place) -> object:
    """Return a folder's only COCO file, or a dict from splits to COCO files.

    Return None if there are no COCO files, or if their names do not tell the splits.
    """
    names = coco_files(place)
    if len(names) == 1:
        return place.path / names[0]
    by_split = {split: place.path / name for name in names if (split := _split_in(name))}
    return by_split if names and len(by_split) == len(names) else None


def _split_in(name: str) -> str:
    """Return the split that the name of a file or one of its folders contains, or "".

    >>> _split_in("annotations/person_val.json"), _split_in("train/a.json"), _split_in("a.json")
    ('val', 'train', '')
    """
    path = PurePosixPath(name)
    words = [*re.split(r"[-_. ]", path.stem), *path.parts[:-1]]
    return next((word for word in words if word.lower() in SPLITS), "")


def has_yolo_labels(place: Place) -> bool:
    """Return whether images have YOLO labels.

    If all label files are empty, there must also be a file of class names.
    """
    labels = _text_files(place)[:MAX_OPENED_FILES]
    has_lines = False
    for name in labels:
        try:
            values = yolo_labels.parse((place.path / name).read_text("utf-8-sig")).values
        except (OSError, ValueError):
            return False
        if any(len(numbers) < 4 for numbers in values):
            return False
        has_lines = has_lines or bool(values)
    return has_lines or bool(labels and place.find(rf"(.*/)?({'|'.join(map(re.escape, NAMES))})"))


def _text_files(place: Place) -> list[str]:
    """Return the text files at the paths where YOLO stores the labels of images."""
    files = {*place.files}
    labels = [label_path(Path(name)).as_posix() for name in place.files if is_image(name)]
    return [name for name in labels if name in files]


def is_image(name: str) -> bool:
    """Return whether a file has the suffix of an image."""
    return PurePosixPath(name).suffix.lower() in IMAGES


def labels_in(place: Place) -> str | None:
    """Return the name of a file that seems to hold labels of the folder's images, or None."""
    images = {PurePosixPath(name).name for name in place.files if is_image(name)}
    stems = {PurePosixPath(name).stem for name in images}
    rest = [name for name in place.files if not is_image(name)]
    for name in rest:
        if PurePosixPath(name).stem in stems:
            return name
    texts = [name for name in rest if not _ABOUT.fullmatch(PurePosixPath(name).name)]
    for name in texts[:MAX_OPENED_FILES]:
        if _names_images(place.path / name, images, stems):
            return name
    return None


def _names_images(path: Path, images: set[str], stems: set[str]) -> bool:
    """Return whether a text file has names of images, or stems at the start of most lines."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            text = file.read(TEXT_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return False
    if not images.isdisjoint(_BETWEEN.split(text)):
        return True
    first = [re.split(r"[\s,;]", line, maxsplit=1)[0] for line in text.splitlines() if line.strip()]
    return bool(first) and 2 * sum(word in stems for word in first) > len(first)
