"""Access to the properties of a file or folder that tell its format: names, bytes and JSON keys."""

from __future__ import annotations

import codecs
import mmap
import os
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FILES = 20_000
"""Maximum number of files of a folder that are examined."""

HEAD_BYTES = 4_096

_ROOT_TAG = re.compile(rb"<([A-Za-z_][\w.-]*)")


@dataclass(frozen=True)
class Place:
    """A file or a folder on this machine, whose properties are read on demand."""

    path: Path

    _below: dict[Path, Place] = field(default_factory=dict, repr=False, compare=False)
    """Files and folders below this folder, cached so that each of them is read only once."""

    @property
    def name(self) -> str:
        """Name of the file or folder."""
        return self.path.name

    @property
    def is_folder(self) -> bool:
        """Whether the path is a folder."""
        return self.path.is_dir()

    def at(self, *parts: str) -> Place:
        """Return a file or folder below this folder."""
        path = self.path.joinpath(*parts)
        return self._below.setdefault(path, Place(path))

    def has(self, *names: str) -> bool:
        """Return whether all of these paths exist below the folder."""
        return self.is_folder and all((self.path / name).exists() for name in names)

    @cached_property
    def files(self) -> list[str]:
        """Sorted paths of the files below the folder, relative to the folder.

        Hidden files and folders are ignored.
        """
        return sorted(islice(self._walk(), MAX_FILES))

    def _walk(self) -> Iterator[str]:
        for root, folders, names in os.walk(self.path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            here = PurePosixPath(Path(root).relative_to(self.path).as_posix())
            yield from (str(here / name) for name in sorted(names) if not name.startswith("."))

    @cached_property
    def suffixes(self) -> Counter[str]:
        """Maps suffixes of files, in lower case, to the numbers of files."""
        return Counter(PurePosixPath(name).suffix.lower() for name in self.files)

    def find(self, pattern: str) -> list[str]:
        """Return the files whose whole relative path matches a regular expression."""
        regex = re.compile(pattern)
        return [name for name in self.files if regex.fullmatch(name)]

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the file, or no bytes if the file cannot be read."""
        if not self.path.is_file():  # a pipe would never end
            return b""
        try:
            with self.path.open("rb") as file:
                return file.read(HEAD_BYTES)
        except OSError:
            return b""

    @cached_property
    def root_tag(self) -> str:
        """Name of the first element of an XML file, or "" for other files."""
        head = re.sub(rb"<!--.*?-->|<\?.*?\?>|<!.*?>", b"", self.head, flags=re.DOTALL)
        tag = _ROOT_TAG.match(head.lstrip(b"\xef\xbb\xbf \t\r\n"))
        return tag[1].decode() if tag else ""

    @cached_property
    def json_keys(self) -> frozenset[str]:
        """Keys of the object in a JSON file, or of the first object in a list of objects.

        The set is empty for other files, and for JSON that cannot be read.
        """
        value = self._json()
        if isinstance(value, list):
            value = _decode(value[0]) if value else None
        return frozenset(value) if isinstance(value, dict) else frozenset()

    @property
    def is_json_list(self) -> bool:
        """Whether the file is a JSON list."""
        return self.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")

    @property
    def is_empty_json_list(self) -> bool:
        """Whether the file is a JSON list without items."""
        return self.is_json_list and self._json() == []

    def _json(self) -> Any:
        """Return the object or list in a JSON file with undecoded items, or None."""
        if not self.path.is_file():
            return None
        try:
            with self.path.open("rb") as file:
                data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError):  # mmap raises ValueError for an empty file
            return None
        return _decode(data[3:] if bytes(data[:3]) == codecs.BOM_UTF8 else data)


def _decode(data: Any) -> Any:
    """Decode a JSON object or list, but not its items. Return None for anything else."""
    for kind in (dict[str, msgspec.Raw], list[msgspec.Raw]):
        try:
            return msgspec.json.decode(data, type=kind)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            continue
    return None
