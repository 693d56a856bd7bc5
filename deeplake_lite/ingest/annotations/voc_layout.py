"""Finding the files of a PASCAL VOC dataset: images, annotations, masks and lists of images."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from deeplake_lite.errors import InvalidValueError, NotFoundError
from deeplake_lite.ingest.folders.layout import SPLITS, scan
from deeplake_lite.ingest.source import Skipped

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

IMAGES, ANNOTATIONS, SETS = "JPEGImages", "Annotations", "ImageSets"
MASKS = {"segmentation_class": "SegmentationClass", "segmentation_object": "SegmentationObject"}
"""Maps each column of masks to the name of the folder with its PNG files."""

MAINS = ("Main", "Segmentation", "Layout", "Action")
"""Folders in ``ImageSets``. The first of them that has lists of images determines the splits."""

MAX_BYTES = 64 * 2**20
"""Maximum size in bytes of an XML file or an image list."""

_ORDER = {"train": 0, "val": 1, "trainval": 2, "test": 3}
_VALUES = ("-1", "0", "1")


@dataclass(frozen=True)
class Entry:
    """The files of an image."""

    key: str
    """Path of the image, relative to the folder of images."""

    image: Path
    annotation: Path | None
    masks: Mapping[str, Path] = field(default_factory=dict)
    """Maps the names of columns of masks to the image's mask files."""

    @property
    def stem(self) -> str:
        """The name by which lists and annotations refer to the image."""
        return str(PurePosixPath(self.key).with_suffix(""))


@dataclass(frozen=True)
class Lists:
    """The lists of images in the folder ``ImageSets``."""

    lines: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """Maps the name of each image to a dict from the names of lists to the image's lines in the
    list, without the image's name."""

    names: Sequence[str] = ()
    """Names of the lists that contain only the names of images, such as ``Main/train``."""

    class_lists: Sequence[str] = ()
    """Names of lists in ``Main`` that say whether images show a class, such as ``cat_train``."""

    main: str = "Main"
    """Name of the folder whose lists determine the splits."""

    @property
    def splits(self) -> list[str]:
        """Names of the splits: train, val, trainval and test first, then others alphabetically."""
        names = [n.partition("/")[2] for n in self.names if n.startswith(f"{self.main}/")]
        return sorted(names, key=lambda name: (_ORDER.get(name, 4), name))

    def split(self, stem: str) -> str | None:
        """Return the name of an image's split, or None if no list contains the image."""
        lines = self.lines.get(stem, {})
        splits = [split for split in self.splits if f"{self.main}/{split}" in lines]
        return next((s for s in splits if s != "trainval"), splits[0] if splits else None)

    @classmethod
    def read(cls, folder: Path, stems: Collection[str] = ()) -> Lists:
        """Read the lists in a folder. Raises InvalidValueError if a list is invalid.

        Parameters
        ----------
        folder : Path
            The folder ``ImageSets``.
        stems : collection of str
            Names of the dataset's images, without suffixes.
        """
        lines: dict[str, dict[str, list[str]]] = {}
        plain, classes = list[str](), list[str]()
        for path in sorted(folder.glob("*/*.txt")):
            name = f"{path.parent.name}/{path.stem}"
            texts = [line.strip() for line in read_text(path).splitlines() if line.strip()]
            entries = [(text, "") if text in stems else _line(text) for text in texts]
            are_values = bool(entries) and all(rest in _VALUES for _, rest in entries)
            if are_values and path.parent.name == "Main":
                classes.append(path.stem)
            elif all(not rest for _, rest in entries):
                plain.append(name)
            for stem, rest in entries:
                lines.setdefault(stem, {}).setdefault(name, []).append(rest)
        mains = [m for m in MAINS if any(n.startswith(f"{m}/") for n in plain)]
        return cls(lines, plain, classes, mains[0] if mains else "Main")


def _line(line: str) -> tuple[str, str]:
    """Split a line of an image list into the name of an image and the words after the name.

    The name may contain blanks or be in double quotes.

    >>> _line("2008_000002 -1"), _line("a b"), _line('"my cat" 1'), _line("x 1  1")
    (('2008_000002', '-1'), ('a b', ''), ('my cat', '1'), ('x', '1 1'))
    """
    text = line.strip()
    if match := re.fullmatch(r'"([^"]*)"\s*(.*)', text):
        return match[1], " ".join(match[2].split())
    words = text.split()
    count = 0
    while count < len(words) - 1 and re.fullmatch(r"-?\d+", words[-1 - count]):
        count += 1
    if not count:
        return text, ""
    return text.rsplit(maxsplit=count)[0], " ".join(words[-count:])


def read_text(path: Path) -> str:
    """Read a text file of at most `MAX_BYTES` bytes. Raises InvalidValueError if this fails."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except (UnicodeDecodeError, ValueError) as error:
        raise InvalidValueError(
            f"{path.name} must be a text file, but it cannot be read: {error}. Correct the file."
        ) from None


def read_bytes(path: Path) -> bytes:
    """Read a file of at most `MAX_BYTES` bytes.

    Raises ValueError if the file is larger or cannot be read.
    """
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise ValueError(f"it may be at most {MAX_BYTES:,} bytes, but it has {size:,}")
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"it cannot be read ({error.strerror or error})") from None


@dataclass(frozen=True)
class Layout:
    """The files of a PASCAL VOC dataset, grouped by image."""

    root: Path
    entries: Sequence[Entry]
    lists: Lists
    left_out: Sequence[Skipped]
    folder_splits: bool = False
    """Whether the first folder in an image's path is the name of its split."""

    @classmethod
    def of(cls, folder: Path) -> Layout:
        """Find the files of a dataset.

        Raises NotFoundError or InvalidValueError if they are missing or invalid.
        """
        root = _root(folder)
        if (root / ANNOTATIONS).is_dir() and (root / IMAGES).is_dir():
            return cls._of_voc(root)
        return cls._of_flat(root)

    @classmethod
    def _of_voc(cls, root: Path) -> Layout:
        images = {f.path: root / IMAGES / f.path for f in scan(root / IMAGES).images}
        pages = {_stem(f.path): root / ANNOTATIONS / f.path for f in scan(root / ANNOTATIONS).others
                 if f.path.lower().endswith(".xml")}  # fmt: skip
        masks = {
            column: {_stem(f.path): root / name / f.path for f in scan(root / name).images}
            for column, name in MASKS.items()
            if (root / name).is_dir()
        }
        entries = [
            Entry(
                key, path, pages.get(_stem(key)),
                {column: by_stem[_stem(key)] for column, by_stem in masks.items()
                 if _stem(key) in by_stem},
            )
            for key, path in sorted(images.items())
        ]  # fmt: skip
        _check_unique(entries)
        used = {entry.stem for entry in entries}
        alone = [Skipped(str(path), "there is no image for this annotation")
                 for stem, path in sorted(pages.items()) if stem not in used]  # fmt: skip
        if not entries and pages:
            raise NotFoundError(f"There are no images in {str(root / IMAGES)!r}. Check the path.")
        return cls(root, entries, Lists.read(root / SETS, used), alone)

    @classmethod
    def _of_flat(cls, root: Path) -> Layout:
        scanned = scan(root)
        pages = {f.path: root / f.path for f in scanned.others if f.path.lower().endswith(".xml")}
        if not pages:
            raise NotFoundError(
                f"There are no annotations (XML files) below {str(root)!r}, and no folders "
                f"{ANNOTATIONS!r} and {IMAGES!r}. Check the path."
            )
        images = sorted(f.path for f in scanned.images)
        if not images:
            raise NotFoundError(f"There are no images below {str(root)!r}. Check the path.")
        by_image = _match_annotations(images, pages)
        entries = [Entry(key, root / key, by_image.get(key)) for key in images]
        used = set(by_image.values())
        alone = [Skipped(str(path), "there is no image for this annotation")
                 for path in pages.values() if path not in used]  # fmt: skip
        tops = {PurePosixPath(key).parts[0].lower() if "/" in key else "" for key in images}
        return cls(root, entries, Lists(), alone, folder_splits=tops <= SPLITS.keys())

    def split(self, entry: Entry) -> str | None:
        """Return the name of an image's split, or None if the split is unknown."""
        if self.folder_splits:
            return PurePosixPath(entry.key).parts[0]
        return self.lists.split(entry.stem)

    @property
    def class_names(self) -> list[str] | None:
        """Class names in ``labelmap.txt``, including the background, in the order of their numbers.

        None if there is no label map.
        """
        path = self.root / "labelmap.txt"
        if not path.is_file():
            return None
        lines = [line for line in read_text(path).splitlines() if line.strip()]
        names = [line.split(":")[0].strip() for line in lines if not line.startswith("#")]
        return [*dict.fromkeys(name for name in names if name)]


def _root(folder: Path) -> Path:
    """Return the dataset's folder, which is `folder` or a folder up to two levels below it.

    Raises InvalidValueError if there are several datasets.
    """
    if not folder.is_dir():
        raise NotFoundError(
            f"There is no folder {str(folder)!r} (working directory: {Path.cwd()}). Check the path."
        )
    if (folder / ANNOTATIONS).is_dir():
        return folder.absolute()
    inner = sorted(path.parent for pattern in (f"*/{ANNOTATIONS}", f"*/*/{ANNOTATIONS}")
                   for path in folder.glob(pattern) if (path.parent / IMAGES).is_dir())  # fmt: skip
    if len(inner) > 1:
        raise InvalidValueError(
            f"{str(folder)!r} must contain one dataset, but it contains "
            f"{', '.join(str(path.relative_to(folder)) for path in inner[:5])}. Pass one of these "
            "folders. To ingest several datasets into the same lake, call from_voc for each."
        )
    return inner[0].absolute() if inner else folder.absolute()


def _stem(path: str) -> str:
    return str(PurePosixPath(path).with_suffix(""))


def _check_unique(entries: Sequence[Entry]) -> None:
    """Raise InvalidValueError if images have the same name, and would share an annotation."""
    seen = dict[str, str]()
    for entry in entries:
        if entry.stem in seen:
            raise InvalidValueError(
                "Image names must be unique without their suffix, but there are the images "
                f"{seen[entry.stem]!r} and {entry.key!r}. Rename one of them."
            )
        seen[entry.stem] = entry.key


def _match_annotations(images: Sequence[str], pages: Mapping[str, Path]) -> dict[str, Path]:
    """Return a dict from the paths of images to their XML files.

    The XML file of an image is next to the image, or is the only XML file with the image's name.
    """
    by_stem: dict[str, list[str]] = {}
    for path in pages:
        by_stem.setdefault(PurePosixPath(path).stem, []).append(path)
    names: dict[str, int] = {}
    for image in images:
        stem = PurePosixPath(image).stem
        names[stem] = names.get(stem, 0) + 1
    near = {_stem(path): path for path in pages}
    result = dict[str, Path]()
    for image in images:
        stem = PurePosixPath(image).stem
        page: str | None = near.get(_stem(image))
        if page is None and names[stem] == 1 and len(by_stem.get(stem, ())) == 1:
            page = by_stem[stem][0]
        if page is not None:
            result[image] = pages[page]
    return result
