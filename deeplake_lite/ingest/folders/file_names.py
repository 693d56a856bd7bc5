"""Matching the file names in a table to files, and finding the table's column of file names."""

from __future__ import annotations

import os
import posixpath
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.types import is_text
from deeplake_lite.dataset.export.folder import FILE_NAMES, header_of
from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

PROBED = 1_000
"""Number of rows of a table that are examined to find the column of file names."""

_USUAL = re.compile(
    r"(?!name$|[_ ]*$)(image|img|picture|photo)?[_ ]?(file)?[_ ]?(name|path)?", re.IGNORECASE
)
"""Common names of columns of file names: file, path, filename, image, image_file, img_path…"""


class FileNames:
    """A look-up of the files that the values of a table name, if the names are unambiguous.

    A name without a folder, with or without suffix, can match a file in any folder. A path is
    relative to the folder or to the table's folder. If no file has this path, its last components
    may match the end of a file's path, in case files were moved. A path to an existing file outside
    the folder matches nothing. Each value is tried unchanged, then without surrounding whitespace,
    with slashes instead of backslashes, and with composed accents (Unicode's NFC).

    Parameters
    ----------
    files : sequence of str
        Paths relative to the folder.
    images : int
        Number of files that are images. Images are the first files, and take precedence over
        other files.
    folder, table : Path
        The folder of the files, and the table that names them.
    """

    def __init__(self, files: Sequence[str], images: int, folder: Path, table: Path) -> None:
        self._files, self._images = files, images
        self._folder = Path(os.path.abspath(folder))
        self._base = Path(os.path.abspath(table)).parent
        self._real_folders: dict[str, str] = {}
        self._paths: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        # Later entries replace earlier ones: images replace other files, full names replace stems.
        for start, stop in ((images, len(files)), (0, images)):
            part = list(enumerate(files[start:stop], start))
            for known, forms in (
                (self._names, (_stem, _name)),
                (self._paths, (_without_suffix, str)),
            ):
                for form in forms:
                    known |= _unique([(form(path), at) for at, path in part])
            self._ends |= _unique([pair for at, path in part for pair in _ends(path, at)])

    def find(self, name: object) -> int | None:
        """Return the position of the file that a value names, or None if there is no such file."""
        if is_empty(name):
            return None
        for text in _forms(str(name)):
            at = self._find(text)
            if at is not None or self._is_elsewhere(text):
                return at
        return None

    def is_whole(self, name: object, at: int) -> bool:
        """Return whether a value is a string with the full name of the file at position `at`.

        The full name includes the suffix.
        """
        ends = {PurePosixPath(text).name for text in _forms(str(name))}
        return isinstance(name, str) and not ends.isdisjoint(_both_forms(_name(self._files[at])))

    def are_all(self, values: Iterable[object]) -> bool:
        """Return whether every value is a full file name, and every image has a value."""
        names = [value for value in values if not is_empty(value)]
        files = [self.find(value) for value in names]
        if not {*range(self._images)}.issubset(files):
            return False
        pairs = zip(names, files, strict=True)
        return all(at is not None and self.is_whole(value, at) for value, at in pairs)

    def _find(self, text: str) -> int | None:
        if text in self._paths:
            return self._paths[text]
        if "/" not in text:
            return self._names.get(text)
        path = Path(os.path.normpath(self._base / text))
        if path.is_relative_to(self._folder):
            below = path.relative_to(self._folder).as_posix()
            if below in self._paths:
                return self._paths[below]
        if os.path.lexists(path):
            return self._real_paths.get(self._real(path))
        parts = text.split("/")
        for start in range(1, len(parts)):
            end = "/".join(parts[start:])
            if end in self._paths and ("/" in end or parts[start - 1] == self._folder.name):
                return self._paths[end]
        return self._ends.get(text)

    def _is_elsewhere(self, text: str) -> bool:
        return "/" in text and os.path.lexists(self._base / text)

    @cached_property
    def _real_paths(self) -> dict[str, int]:
        """Maps real paths to the positions of files, for tables that name files through links."""
        return _unique([(self._real(self._folder / p), at) for at, p in enumerate(self._files)])

    def _real(self, path: Path) -> str:
        folder = str(path.parent)
        if folder not in self._real_folders:
            self._real_folders[folder] = os.path.realpath(folder)
        return f"{self._real_folders[folder]}/{path.name}"


def _forms(text: str) -> Iterator[str]:
    r"""Yield the forms of a name under which a file is looked up, starting with the original form.

    >>> list(_forms(" a\\b.png"))
    [' a\\b.png', 'a/b.png']
    """
    slashed = posixpath.normpath(text.strip().replace("\\", "/"))
    composed = (unicodedata.normalize("NFC", form) for form in (text, slashed))
    yield from dict.fromkeys((text, posixpath.normpath(text), slashed, *composed))


def _both_forms(text: str) -> tuple[str, str]:
    """Return two forms of a name: unchanged, and with composed accents, which most tables have."""
    return text, unicodedata.normalize("NFC", text)


def _unique(pairs: list[tuple[str, int]]) -> dict[str, int]:
    """Return a dict of the names that occur only once. Exact names override composed forms."""
    composed = [(_both_forms(text)[1], at) for text, at in pairs if not text.isascii()]
    return _once(composed) | _once(pairs)


def _once(pairs: list[tuple[str, int]]) -> dict[str, int]:
    counts = Counter(text for text, _ in pairs)
    return {text: at for text, at in pairs if counts[text] == 1}


def _ends(path: str, at: int) -> Iterator[tuple[str, int]]:
    """Yield all endings of a path, except the path itself, that include a folder.

    >>> list(_ends("a/b/c.png", 0))
    [('b/c.png', 0)]
    """
    parts = path.split("/")
    for first in range(1, len(parts) - 1):
        yield "/".join(parts[first:]), at


def _name(path: str) -> str:
    return PurePosixPath(path).name


def _stem(path: str) -> str:
    return PurePosixPath(path).stem


def _without_suffix(path: str) -> str:
    return PurePosixPath(path).with_suffix("").as_posix()


# ---- the column


@dataclass(frozen=True)
class _Candidate:
    """A column of a table that may contain file names."""

    column: str
    files: tuple[int | None, ...]
    """Position of the file that each value of the column names, or None."""

    whole: int
    """Number of files whose full names, including the suffix, are in the column."""

    @classmethod
    def of(cls, column: str, values: list[Any], names: FileNames) -> _Candidate:
        files = tuple(names.find(value) for value in values)
        pairs = zip(values, files, strict=True)
        whole = {at for value, at in pairs if at is not None and names.is_whole(value, at)}
        return cls(column, files, len(whole))

    @property
    def named(self) -> int:
        """Number of files whose names are in the column, with or without suffix."""
        return len(set(self.files) - {None})

    def rank(self, most: int) -> tuple[bool, bool, bool, int]:
        """Return the rank of the column. The column with the highest rank has the file names.

        `most` is the highest number of files that any column names. A column that names less than
        half as many files probably names them by chance. Names with suffixes rank above names
        without suffixes, which may be mere numbers.
        """
        is_own = self.column == FILE_NAMES and 2 * self.named >= most
        is_whole, is_usual = 2 * self.whole >= most, bool(_USUAL.fullmatch(self.column))
        return is_own, is_whole, is_usual and 2 * self.named >= most, self.named


def is_empty(name: object) -> bool:
    """Return whether the value of a row names no file, because it is null or blank.

    >>> is_empty(None), is_empty(" "), is_empty(0)
    (True, True, False)
    """
    return name is None or not str(name).strip()


def find_column(rows: pa.Table, names: FileNames, label: str, path: Path) -> str:
    """Return the name of the column of file names, which is never the column of labels.

    Raises
    ------
    InvalidValueError
        If no column names files, or if several columns are equally likely and name different files.
    """
    if FILE_NAMES in rows.schema.names and names.are_all(rows.column(FILE_NAMES).to_pylist()):
        return FILE_NAMES
    candidates = [
        _Candidate.of(f.name, rows.column(f.name)[:PROBED].to_pylist(), names)
        for f in rows.schema
        if f.name != header_of(label) and (is_text(f.type) or kinds.is_integer(f.type))
    ]
    most = max((c.named for c in candidates), default=0)
    if not most:
        listed = ", ".join(map(repr, rows.schema.names))
        raise InvalidValueError(
            f"One column of a table must name the files, but no column of {str(path)!r} does. "
            f"Choose one with file_column=…; the columns are {listed}."
        )
    best = max(c.rank(most) for c in candidates)
    tied = [c for c in candidates if c.rank(most) == best]
    if len({c.files for c in tied}) > 1:
        listed = " and ".join(repr(c.column) for c in tied)
        raise InvalidValueError(
            f"One column of a table must name the files, but columns {listed} of {str(path)!r} "
            f"name different files equally well. Choose one: file_column={tied[0].column!r}."
        )
    return tied[0].column
