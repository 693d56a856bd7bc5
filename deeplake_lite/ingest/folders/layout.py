"""The layout of a folder of images: its sorted files, their classes and their splits.

`scan` walks the folder without opening files. It ignores hidden files and the table with all other
columns that `View.to_folder` writes, and it does not follow cyclic links. `Layout.of` distinguishes
class folders, split folders and flat folders.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deeplake_lite.dataset.export.folder import COLUMNS
from deeplake_lite.errors import InvalidValueError, NotFoundError
from deeplake_lite.htypes.words import pluralize
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
"""Maps suffixes of image files to names of codecs. The first bytes of a file take precedence."""

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
"""Names of folders that are splits instead of classes, with numbers by which splits are sorted."""


@dataclass(frozen=True)
class File:
    """A file below the folder."""

    path: str
    """Path relative to the folder, with slashes."""

    size: int
    """Size in bytes."""


@dataclass(frozen=True)
class Layout:
    """The splits and classes that the subfolders of a folder represent."""

    splits: tuple[str, ...]
    """Names of the split folders, or () if there are no split folders."""

    classes: tuple[str, ...]
    """Sorted names of the class folders, or () for a folder without class folders."""

    @classmethod
    def of(cls, files: Sequence[File]) -> Layout:
        """Infer the layout from the paths of the files.

        >>> Layout.of([File("train/rose/1.jpg", 9), File("test/lily/1.jpg", 9)])
        Layout(splits=('train', 'test'), classes=('lily', 'rose'))
        >>> Layout.of([File("rose/1.jpg", 9), File("2.jpg", 9)])
        Layout(splits=(), classes=('rose',))
        """
        tops = {tuple(f.path.split("/")[:-1][:1]) for f in files}
        names = {top[0] for top in tops if top}
        is_split = bool(names) and () not in tops and all(n.lower() in SPLITS for n in names)
        splits = sorted(names, key=lambda n: (SPLITS[n.lower()], n)) if is_split else []
        layout = cls(tuple(splits), ())
        classes = {c for f in files if (c := layout.class_of(f.path)) is not None}
        return cls(tuple(splits), tuple(sorted(classes)))

    def split_of(self, path: str) -> str | None:
        """Return the name of the split folder that contains a file, or None without splits."""
        return path.split("/")[0] if self.splits else None

    def class_of(self, path: str) -> str | None:
        """Return the name of the class folder that contains a file, or None.

        The class folder is the first folder of the path or, if there are splits, the second one.
        """
        folders = path.split("/")[1 if self.splits else 0 : -1]
        return folders[0] if folders else None


@dataclass(frozen=True)
class FolderScan:
    """The files below a folder, in three lists that are sorted by path."""

    images: list[File]
    """Files with the suffix of an image."""

    others: list[File]
    """All other files, some of which may be images."""

    irregular: list[Skipped]
    """Pipes, sockets and devices, which must not be opened."""


def scan(folder: Path) -> FolderScan:
    """Return the files below a folder, divided by their suffixes.

    Raises
    ------
    NotFoundError
        If there is no such folder.
    InvalidValueError
        If the path leads to a file.
    """
    if not folder.exists():
        raise NotFoundError(
            f"There is no folder {str(folder)!r} (working directory: {Path.cwd()}). Check the path."
        )
    if not folder.is_dir():
        raise InvalidValueError(
            f"path must be a folder, but {str(folder)!r} is a file. Pass the folder that contains "
            "the file."
        )
    scanned = FolderScan([], [], [])
    for entry, path in _walk(folder, "", frozenset()):
        is_image = os.path.splitext(entry.name)[1].lower() in SUFFIXES
        # A broken link counts as a file, so that reading it is an error.
        if os.path.isfile(entry.path) or not os.path.exists(entry.path):
            (scanned.images if is_image else scanned.others).append(File(path, _size(entry)))
        else:
            scanned.irregular.append(Skipped(path, "it is not a regular file"))
    for files in (scanned.images, scanned.others, scanned.irregular):
        files.sort(key=lambda f: f.path)
    return scanned


def image_column(schema: Types, others: Collection[str]) -> str:
    """Return the name of the column of images, which is "image" by default.

    If the schema declares exactly one column of images that is not in `others`, the name of this
    column is used. (`others` are the columns of a table. If a lake was exported to the folder, the
    table has all other columns of the lake.)

    >>> image_column(Schema.build({"photo": "image", "x": "int8"}), ["x"])
    'photo'
    >>> image_column(None, ["x"])
    'image'
    """
    known = {*others, "path", "split"}
    fields = schema.fields if isinstance(schema, Schema) else ()
    files = [f.name for f in fields if f.name not in known and f.htype.takes_files]
    return files[0] if len(files) == 1 else "image"


def own_columns(image: str, files: Sequence[File]) -> tuple[str, ...]:
    """Return the names of a folder's own columns: images, paths and, if there are any, splits."""
    return (image, "path", "split")[: 2 + bool(Layout.of(files).splits)]


def no_images_error(folder: Path, others: list[File]) -> InvalidValueError:
    """Return the error for a folder without images, which names the kinds of its other files."""
    kinds = sorted({Path(o.path).suffix or "no suffix" for o in others})
    rest = (
        f", only {pluralize(len(others), 'other file')} ({', '.join(kinds[:5])})" if others else ""
    )
    return InvalidValueError(
        f"There are no images (JPEG, PNG, WebP, TIFF, BMP) below {str(folder)!r}{rest}. "
        "Check the folder."
    )


def _walk(
    folder: Path, below: str, above: frozenset[tuple[int, int]]
) -> Iterator[tuple[os.DirEntry[str], str]]:
    """Yield each file below a folder with its relative path.

    Links are followed, except for links to a folder that contains them.
    """
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
        elif (target := entry.stat()) and (target.st_dev, target.st_ino) not in above:
            yield from _walk(Path(entry.path), f"{path}/", above)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder.

    A symbolic link that points to itself counts as a file, so that reading it is an error.
    """
    try:
        return entry.is_dir()
    except OSError:
        return False


def _size(entry: os.DirEntry[str]) -> int:
    """Return the size of a file, or 0 for a broken link, which fails only when it is read."""
    try:
        return entry.stat().st_size
    except OSError:
        return 0
