"""Folders named after values, with names that are unique, visible and valid on any system."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.repr.html.words import is_hidden

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# See https://learn.microsoft.com/windows/win32/fileio/naming-a-file for the rules of Windows.
_FORBIDDEN = frozenset('<>:"/\\|?*')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_END = re.compile(r"[\s.]+$")  # Windows strips dots and spaces at the end of a name
_MAX_LENGTH = 100  # maximum length of a folder's name, in bytes


class Folders:
    """A folder for each value, such as a class, created on first use. Nulls get the root folder.

    Parameters
    ----------
    root : Path
        The folder in which the folders are created.
    taken : iterable of str
        Names that are already in use in `root`.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from pathlib import Path
    >>> folders = Folders(Path(mkdtemp()))
    >>> paths = [folders.of(name) for name in ("rose", "../etc", "Rose", None)]
    >>> [path.relative_to(folders.root).as_posix() for path in paths]
    ['rose', '_.._etc', 'Rose_2', '.']
    """

    def __init__(self, root: Path, taken: Iterable[str] = ()) -> None:
        self.root = root
        self._paths: dict[str, Path] = {}
        self._taken = set(taken)

    def of(self, value: Any) -> Path:
        """Return the folder for a value, creating it if necessary. Nulls get the root folder."""
        if value is None:
            return self.root
        key = str(value)
        if key not in self._paths:
            self._paths[key] = self.root / self._unique(safe_name(key))
            self._paths[key].mkdir(parents=True)
        return self._paths[key]

    def _unique(self, name: str) -> str:
        """Return a name, with a number appended if the name is in use, and reserve the result."""
        number, stem = 2, name
        while _folded(name) in self._taken:
            name, number = f"{stem}_{number}", number + 1
        self._taken.add(_folded(name))
        return name


def safe_name(name: str) -> str:
    """Return a name similar to `name` that is valid on any system, and neither reserved nor hidden.

    >>> safe_name("a/b"), safe_name(".."), safe_name("CON"), safe_name("Grüne Iris. ")
    ('a_b', '_', '_CON', 'Grüne Iris')
    >>> safe_name(".net")
    '_.net'
    """
    safe = ("_" if char in _FORBIDDEN or is_hidden(char) else char for char in _normal(name))
    name = "".join(safe).lstrip()[:_MAX_LENGTH]
    name = _END.sub("", name)
    if not name or name.startswith(".") or _RESERVED.fullmatch(name):
        name = f"_{name}"
    return _END.sub("", name.encode("utf-8", "ignore")[:_MAX_LENGTH].decode("utf-8", "ignore"))


def _folded(name: str) -> str:
    """Return a key that is equal for names that are equal on a case-insensitive file system."""
    return _normal(name).casefold()


def _normal(name: str) -> str:
    return unicodedata.normalize("NFC", name)
