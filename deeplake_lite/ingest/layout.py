"""What a folder of pictures holds: the files in a fixed order, their classes and their splits.

Steps: `scan` walks the folder, past hidden files, what `View.to_folder` wrote of other columns, and
around loops of links, without opening a file; `Layout.of` tells class folders, split folders and
flat folders apart.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from deeplake_lite.dataset.export.folder import COLUMNS
from deeplake_lite.errors import InvalidValueError, NotFoundError
from deeplake_lite.ingest.source import Skipped
from deeplake_lite.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from deeplake_lite.ingest.options import Types

SUFFIXES = {
    ".jpg": "jpeg",
    ".jpeg": "jpeg",
    ".jpe": "jpeg",
    ".jfif": "jpeg",
    ".png": "png",
    ".webp": "webp",
    ".tif": "tiff",
    ".tiff": "tiff",
    ".bmp": "bmp",
}
"""Codec that the end of a file's name promises; what the file is, its first bytes tell."""

SPLITS = {
    "train": 0,
    "training": 0,
    "val": 1,
    "valid": 1,
    "validation": 1,
    "dev": 1,
    "test": 2,
    "testing": 2,
}
"""Names of folders that are no class but a split, and their order."""


@dataclass(frozen=True)
class Found:
    """One file."""

    path: str
    """Below the folder, parts joined by slashes."""

    size: int
    """Bytes."""


@dataclass(frozen=True)
class Layout:
    """What the folders mean."""

    splits: tuple[str, ...]
    """Names of the split folders; none where there are no such folders."""

    classes: tuple[str, ...]
    """Names of the class folders, sorted; none in a flat folder."""

    @classmethod
    def of(cls, files: Sequence[Found]) -> Layout:
        """Read the layout off the files' paths.

        >>> Layout.of([Found("train/rose/1.jpg", 9), Found("test/lily/1.jpg", 9)])
        Layout(splits=('train', 'test'), classes=('lily', 'rose'))
        >>> Layout.of([Found("rose/1.jpg", 9), Found("2.jpg", 9)])
        Layout(splits=(), classes=('rose',))
        """
        tops = {PurePosixPath(f.path).parts[:-1][:1] for f in files}
        names = {top[0] for top in tops if top}
        is_split = bool(names) and () not in tops and all(n.lower() in SPLITS for n in names)
        splits = sorted(names, key=lambda n: (SPLITS[n.lower()], n)) if is_split else []
        found = cls(tuple(splits), ())
        classes = {c for f in files if (c := found.class_of(f.path)) is not None}
        return cls(tuple(splits), tuple(sorted(classes)))

    def split_of(self, path: str) -> str | None:
        """Return the split folder of a file."""
        return PurePosixPath(path).parts[0] if self.splits else None

    def class_of(self, path: str) -> str | None:
        """Return the class folder of a file: the first below its split; None right in it."""
        folders = PurePosixPath(path).parts[1 if self.splits else 0 : -1]
        return folders[0] if folders else None


@dataclass(frozen=True)
class Scanned:
    """The files below a folder, each sorted by path."""

    pictures: list[Found]
    """Those whose names promise a picture."""

    others: list[Found]
    """All others, some of which may be pictures all the same."""

    odd: list[Skipped]
    """Pipes, sockets and devices, which nobody should open."""


def scan(folder: Path) -> Scanned:
    """Return the files below a folder, by their names.

    Raises
    ------
    NotFoundError
        When there is no such folder.
    InvalidValueError
        When it is a file.
    """
    if not folder.exists():
        raise NotFoundError(f"There is no folder {str(folder)!r} (from {Path.cwd()}). Check it.")
    if not folder.is_dir():
        raise InvalidValueError(f"{str(folder)!r} is a file. Give the folder that it is in.")
    found = Scanned([], [], [])
    for entry, path in _walk(folder, "", frozenset()):
        is_picture = os.path.splitext(entry.name)[1].lower() in SUFFIXES
        if os.path.isfile(entry.path) or not os.path.exists(
            entry.path
        ):  # a link that leads nowhere is bad
            (found.pictures if is_picture else found.others).append(Found(path, _size(entry)))
        else:
            found.odd.append(Skipped(path, "no regular file"))
    for files in (found.pictures, found.others, found.odd):
        files.sort(key=lambda f: f.path)
    return found


def picture_column(schema: Types, others: Collection[str]) -> str:
    """Return the name of the column of pictures: that of a lake's schema which is nowhere else.

    A folder that a lake wrote has all its other columns in a table.

    >>> picture_column(Schema.build({"photo": "image", "x": "int8"}), ["x"])
    'photo'
    >>> picture_column(None, ["x"])
    'image'
    """
    known = {*others, "path", "split"}
    fields = schema.fields if isinstance(schema, Schema) else ()
    files = [f.name for f in fields if f.name not in known and f.htype.takes_files]
    return files[0] if len(files) == 1 else "image"


def own_columns(image: str, files: Sequence[Found]) -> tuple[str, ...]:
    """Return the columns that a folder has by itself, whatever a table of its files has."""
    return (image, "path", "split")[: 2 + bool(Layout.of(files).splits)]


def no_pictures(folder: Path, others: list[Found]) -> InvalidValueError:
    """Return the error for a folder without pictures."""
    kinds = sorted({Path(o.path).suffix or "no suffix" for o in others})
    there = f", only {len(others)} other files ({', '.join(kinds[:5])})" if others else ""
    return InvalidValueError(
        f"there are no pictures (JPEG, PNG, WebP, TIFF, BMP) below {str(folder)!r}{there}. "
        "Check the folder."
    )


def _walk(
    folder: Path, below: str, above: frozenset[tuple[int, int]]
) -> Iterator[tuple[os.DirEntry[str], str]]:
    """Yield the files below a folder; links are followed, but never to a folder above them."""
    stat = folder.stat()
    above |= {(stat.st_dev, stat.st_ino)}
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        path = below + entry.name
        if entry.name.startswith(".") or path == COLUMNS:
            continue
        if not _is_folder(entry):
            yield entry, path
        elif (found := entry.stat()) and (found.st_dev, found.st_ino) not in above:
            yield from _walk(Path(entry.path), f"{path}/", above)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Tell folders from files; a link to itself is a file, found out when it is read."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _size(entry: os.DirEntry[str]) -> int:
    """Return the size of a file; 0 for a link that leads nowhere, found out when it is read."""
    try:
        return entry.stat().st_size
    except OSError:
        return 0
