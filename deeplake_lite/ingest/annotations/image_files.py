"""Look-up of the image files of an annotated dataset, in folders or in a ZIP file."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.ingest.folders.layout import SUFFIXES
from deeplake_lite.ingest.relative_paths import is_inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_BYTES = 2**31
"""Maximum size of an image in bytes, which is the maximum size of a cell."""


@dataclass(frozen=True)
class ImageFolder:
    """Folders in which the images of a dataset are looked up."""

    folders: Sequence[Path]
    """Folders, in the order in which they are searched."""

    def find(self, names: Iterable[str]) -> str:
        """Return the absolute path of the first file that exists under one of the names.

        Raises ValueError if there is no such file, or if a name leads out of the folder.
        """
        names = [name.replace("\\", "/") for name in names]
        for name in names:
            if not is_inside(name):
                raise ValueError(
                    "an image must be inside the folder of images, but its path is "
                    f"{brief(name, 80)}"
                )
        for folder in self.folders:
            for name in names:
                if os.path.isfile(folder / name):
                    return str((folder / name).absolute())
        where = str(self.folders[0]) if self.folders else "."
        raise ValueError(
            f"there is no image {brief(names[0], 80)} in {where!r}; pass the folder of the images "
            "as images=…"
        )

    def image_names(self) -> list[str]:
        """Return the sorted names of the images in the first folder that has any."""
        for folder in self.folders:
            names = sorted(p.name for p in folder.iterdir() if p.suffix.lower() in SUFFIXES)
            if names:
                return names
        return []


@dataclass(frozen=True)
class ImageZip:
    """A ZIP file in which the images of a dataset are looked up."""

    path: Path
    _open: list[zipfile.ZipFile] = field(default_factory=list)

    @cached_property
    def file(self) -> zipfile.ZipFile:
        """The ZIP file, opened for reading. Raises InvalidValueError if it cannot be opened."""
        return open_zip(self.path)

    @cached_property
    def names(self) -> dict[str, zipfile.ZipInfo]:
        """Maps names to the members of the ZIP file that are files."""
        return {info.filename: info for info in self.file.infolist() if not info.is_dir()}

    def find(self, names: Iterable[str]) -> bytes:
        """Return the content of the first member that has one of the names.

        Raises ValueError if this fails.
        """
        names = [*names]
        for name in names:
            for member in (f"images/{name}", name):
                if member in self.names:
                    return read_member(self.file, self.names[member])
        raise ValueError(
            f"there is no image {brief(names[0], 80)} in {self.path.name!r}; pass the folder of "
            "the images as images=…"
        )

    def image_names(self) -> list[str]:
        """Return the sorted names of images, relative to the folder ``images``."""
        names = [n for n in self.names if PurePosixPath(n).suffix.lower() in SUFFIXES]
        return sorted(name.removeprefix("images/") for name in names)


def open_zip(path: Path) -> zipfile.ZipFile:
    """Open a ZIP file. Raises InvalidValueError if this fails."""
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise InvalidValueError(
            f"{str(path)!r} must be a ZIP file, but it cannot be read: {error}. Check the file."
        ) from None


def read_member(file: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return the content of a member of a ZIP file. Raises ValueError if it cannot be read."""
    if info.file_size > MAX_BYTES:
        raise ValueError(
            f"{info.filename} may be at most {MAX_BYTES:,} bytes, but it has {info.file_size:,}"
        )
    try:
        with file.open(info) as member:
            data = member.read(info.file_size + 1)
    except Exception as error:  # zlib, lzma, bz2, zipfile and encryption raise many types of errors
        raise ValueError(f"{info.filename} cannot be read: {error}") from None
    if len(data) != info.file_size:
        raise ValueError(
            f"the size of {info.filename} must be {info.file_size:,} bytes, as recorded in the ZIP "
            "file, but its content has another size"
        )
    return data
