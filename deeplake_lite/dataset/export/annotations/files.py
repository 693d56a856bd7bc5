"""Functions that write the files of exported images, and check or derive the files' names."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from deeplake_lite.dataset.export.atomic_files import as_storage_errors
from deeplake_lite.dataset.export.folder import extension
from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from pathlib import Path


def write_file(path: Path, data: bytes) -> None:
    """Write a file, creating its folder if necessary. Raises StorageError if this fails."""
    with as_storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def with_suffix(path: str, data: bytes | None) -> str:
    """Return the path of an image file, adding a suffix for the format of `data` if it has none.

    >>> with_suffix("a/b", b"BM"), with_suffix("a/b.jpg", b"BM")
    ('a/b.bmp', 'a/b.jpg')
    """
    if PurePosixPath(path).suffix or data is None:
        return path
    return f"{path}.{extension(data)}"


def stem_of(path: str) -> str:
    """Return a path without its suffix.

    >>> stem_of("train/a.b.jpg")
    'train/a.b'
    """
    return str(PurePosixPath(path).with_suffix(""))


class Unique:
    """A set of names. Adding a name for a second time is an error."""

    def __init__(self, method: str) -> None:
        self._method = method
        self._seen = set[str]()

    def add(self, name: str) -> None:
        """Add a name. Raises InvalidValueError if the same name was added before."""
        if name in self._seen:
            raise InvalidValueError(
                f"{self._method} needs a different path for each image, but two images have "
                f"{name[:200]!r}. Export a view without repeated rows, or correct the column "
                "'path'."
            )
        self._seen.add(name)


def split_name(split: str, method: str) -> str:
    """Return a split's name unchanged. Raises InvalidValueError unless it is a valid file name."""
    if not split or split.startswith(".") or any(c in '/\\:*?"<>|' or ord(c) < 33 for c in split):
        raise InvalidValueError(
            f"{method} names a file after each split, but {split[:100]!r} is not a valid file "
            "name. Rename the class in the column 'split'."
        )
    return split
