"""Which file a table means by a value, and which of its columns is the one that names files."""

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
"""Rows that are looked at to find the column of file names."""

_USUAL = re.compile(
    r"(?!name$|[_ ]*$)(image|img|picture|photo)?[_ ]?(file)?[_ ]?(name|path)?", re.IGNORECASE
)
"""Other names that such a column often has: file, path, filename, image, image_file, img_path…"""


class FileNames:
    """Position of a file by what a table calls it, where that means one file.

    A name alone, with or without its suffix, is that of a file in any folder. A path is one from
    the folder, or from the table's; or else its end is that of a file's path, by whole folders, as
    where files were moved. One that names a file elsewhere means none of these. A value is taken as
    it is written before it is taken without space around it, with slashes for backslashes, or with
    its accents composed.

    Parameters
    ----------
    files : sequence of str
        Paths below the folder, of which the first `pictures` come before the others.
    folder, table : Path
        Where they are, and the table that names them.
    """

    def __init__(self, files: Sequence[str], pictures: int, folder: Path, table: Path) -> None:
        self._files, self._pictures = files, pictures
        self._folder = Path(os.path.abspath(folder))
        self._base = Path(os.path.abspath(table)).parent
        self._real_folders: dict[str, str] = {}
        self._paths: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        for start, stop in ((pictures, len(files)), (0, pictures)):
            some = list(enumerate(files[start:stop], start))
            for known, forms in (
                (self._names, (_stem, _name)),
                (self._paths, (_without_suffix, str)),
            ):
                for form in forms:
                    known |= _unique([(form(path), at) for at, path in some])
            self._ends |= _unique([pair for at, path in some for pair in _ends(path, at)])

    def find(self, name: Any) -> int | None:
        """Return the position of the file that a value of the table means."""
        if is_empty(name):
            return None
        for text in _forms(str(name)):
            at = self._find(text)
            if at is not None or self._is_elsewhere(text):
                return at
        return None

    def is_whole(self, name: Any, at: int) -> bool:
        """Tell whether a value has a file's name with its suffix, which no number has."""
        ends = {PurePosixPath(text).name for text in _forms(str(name))}
        return isinstance(name, str) and not ends.isdisjoint(_both_forms(_name(self._files[at])))

    def are_all(self, values: Iterable[Any]) -> bool:
        """Tell whether each value names a file with its suffix, and no picture is without one."""
        given = [value for value in values if not is_empty(value)]
        files = [self.find(value) for value in given]
        if not {*range(self._pictures)}.issubset(files):
            return False
        pairs = zip(given, files, strict=True)
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
        """Positions by path without links to folders: those that lead here may be others."""
        return _unique([(self._real(self._folder / p), at) for at, p in enumerate(self._files)])

    def _real(self, path: Path) -> str:
        folder = str(path.parent)
        if folder not in self._real_folders:
            self._real_folders[folder] = os.path.realpath(folder)
        return f"{self._real_folders[folder]}/{path.name}"


def _forms(text: str) -> Iterator[str]:
    r"""Yield what a text may stand for, itself first.

    >>> list(_forms(" a\\b.png"))
    [' a\\b.png', 'a/b.png']
    """
    slashed = posixpath.normpath(text.strip().replace("\\", "/"))
    composed = (unicodedata.normalize("NFC", form) for form in (text, slashed))
    yield from dict.fromkeys((text, posixpath.normpath(text), slashed, *composed))


def _both_forms(text: str) -> tuple[str, str]:
    """Return a text as it is, and with its accents composed, as most tables have them."""
    return text, unicodedata.normalize("NFC", text)


def _unique(pairs: list[tuple[str, int]]) -> dict[str, int]:
    """Return the positions of texts that occur once; composed forms give way to what is there."""
    composed = [(_both_forms(text)[1], at) for text, at in pairs if not text.isascii()]
    return _once(composed) | _once(pairs)


def _once(pairs: list[tuple[str, int]]) -> dict[str, int]:
    counts = Counter(text for text, _ in pairs)
    return {text: at for text, at in pairs if counts[text] == 1}


def _ends(path: str, at: int) -> Iterator[tuple[str, int]]:
    """Yield the ends of a path that have a folder, but for the whole path.

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
    """A column that may name files."""

    column: str
    files: tuple[int | None, ...]
    """The position of the file that each value means."""

    whole: int
    """How many files it names with their suffixes."""

    @classmethod
    def of(cls, column: str, values: list[Any], names: FileNames) -> _Candidate:
        files = tuple(names.find(value) for value in values)
        pairs = zip(values, files, strict=True)
        whole = {at for value, at in pairs if at is not None and names.is_whole(value, at)}
        return cls(column, files, len(whole))

    @property
    def named(self) -> int:
        """How many files it names."""
        return len(set(self.files) - {None})

    def rank(self, most: int) -> tuple[bool, bool, bool, int]:
        """Return what the column is chosen by, where some column names as many files as `most`.

        A column that names less than half as many does so by chance. Whole names outrank those
        without suffix, which numbers may be, too.
        """
        is_own = self.column == FILE_NAMES and 2 * self.named >= most
        is_whole, is_usual = 2 * self.whole >= most, bool(_USUAL.fullmatch(self.column))
        return is_own, is_whole, is_usual and 2 * self.named >= most, self.named


def is_empty(name: Any) -> bool:
    """Tell whether a row of a table names no file.

    >>> is_empty(None), is_empty(" "), is_empty(0)
    (True, True, False)
    """
    return name is None or not str(name).strip()


def find_column(rows: pa.Table, names: FileNames, label: str, path: Path) -> str:
    """Return the column that names files; never that of the labels.

    Raises
    ------
    InvalidValueError
        When no column does, or several that name different files do so equally well.
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
            f"no column of {str(path)!r} names files of the folder: {listed}. "
            "Say which one is to: file_column=…."
        )
    best = max(c.rank(most) for c in candidates)
    tied = [c for c in candidates if c.rank(most) == best]
    if len({c.files for c in tied}) > 1:
        listed = " and ".join(repr(c.column) for c in tied)
        raise InvalidValueError(
            f"one column of a table must name the files, but columns {listed} of {str(path)!r} "
            f"name different files equally well. Choose one: file_column={tied[0].column!r}."
        )
    return tied[0].column
