"""Names of folders: safe on any system, never hidden, made when first needed, one per value."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.repr.html.words import is_hidden

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_RULED = frozenset('<>:"/\\|?*')  # by some system, in a name of a file
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_END = re.compile(r"[\s.]+$")  # Windows leaves dots and spaces out there
_LONGEST = 100  # bytes of a folder's name


class Folders:
    """A folder for each value, such as a class; none for null, which is in the root itself.

    Parameters
    ----------
    root : Path
        Where they are made.
    taken : iterable of str
        Names that are in use there.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from pathlib import Path
    >>> folders = Folders(Path(mkdtemp()))
    >>> found = [folders.of(name) for name in ("rose", "../etc", "Rose", None)]
    >>> [folder.relative_to(folders.root).as_posix() for folder in found]
    ['rose', '_.._etc', 'Rose_2', '.']
    """

    def __init__(self, root: Path, taken: Iterable[str] = ()) -> None:
        self.root = root
        self._found: dict[str, Path] = {}
        self._taken = set(taken)

    def of(self, value: Any) -> Path:
        """Return the folder of a value."""
        if value is None:
            return self.root
        key = str(value)
        if key not in self._found:
            self._found[key] = self.root / self._unique(safe_name(key))
            self._found[key].mkdir(parents=True)
        return self._found[key]

    def _unique(self, name: str) -> str:
        number, wanted = 2, name
        while _folded(name) in self._taken:
            name, number = f"{wanted}_{number}", number + 1
        self._taken.add(_folded(name))
        return name


def safe_name(name: str) -> str:
    """Return a name that is one folder on any system, and neither a special nor a hidden one.

    >>> safe_name("a/b"), safe_name(".."), safe_name("CON"), safe_name("Grüne Iris. ")
    ('a_b', '_', '_CON', 'Grüne Iris')
    >>> safe_name(".net")
    '_.net'
    """
    safe = ("_" if char in _RULED or is_hidden(char) else char for char in _normal(name))
    name = "".join(safe).lstrip()[:_LONGEST]
    name = _END.sub("", name)
    if not name or name.startswith(".") or _RESERVED.fullmatch(name):
        name = f"_{name}"
    return _END.sub("", name.encode("utf-8", "ignore")[:_LONGEST].decode("utf-8", "ignore"))


def _folded(name: str) -> str:
    """Return what file systems that ignore case compare."""
    return _normal(name).casefold()


def _normal(name: str) -> str:
    return unicodedata.normalize("NFC", name)
