"""Reading of linked files, restricted to the roots that the reader of a lake allows.

A root is a folder or a URL prefix. Links may only point to files under one of the roots.

The reason is that a lake from a stranger may contain links to your private files. Symbolic links
and ``..`` are resolved before a local path is compared with the roots. URLs are compared by scheme,
host and path, and rejected if servers could interpret them in different ways.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.files import local_path, read, scheme_of

_AMBIGUOUS = re.compile(r"[\x00-\x20\x7f\\]|::|%(2e|2f|5c|00)|/\.{1,2}(/|$)", re.IGNORECASE)


def resolve_link(url: str, allow: tuple[str, ...]) -> bytes:
    """Return the bytes of a linked file.

    Parameters
    ----------
    url : str
        Path or URL. A relative path is looked up under each local root.
    allow : tuple of str
        Roots: folders, or URL prefixes such as ``"https://example.org/photos"``.

    Raises
    ------
    InvalidValueError
        If the link points outside the roots, or not to a regular file.

    >>> resolve_link("/etc/hostname", ("/data/photos",))
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: the link '/etc/hostname' is outside the allowed ...
    """
    scheme = scheme_of(url)
    if scheme in (None, "file"):
        return read(_permitted_path(url, allow))

    def permit(address: str) -> None:
        if not any(_is_under(address, root) for root in allow):
            raise _outside_error(address, allow)

    permit(url)
    return read(url, permit)


def _permitted_path(url: str, allow: tuple[str, ...]) -> Path:
    """Return the real path of a local link under one of the roots."""
    path = local_path(url) if scheme_of(url) else url
    real_paths = [] if "\0" in path else [_real_path(path, root) for root in allow]
    permitted = [real_path for real_path in real_paths if real_path]
    if not permitted:
        raise _outside_error(url, allow)
    for real_path in permitted:
        if os.path.isfile(real_path):  # false for names that the operating system rejects
            return real_path
    raise InvalidValueError(
        f"there is no file for the link {brief(url, 200)} under the allowed roots "
        f"({', '.join(map(repr, allow))}). Restore the file, or fix the link."
    )


def _real_path(path: str, root: str) -> Path | None:
    """Resolve `path` relative to a root. Returns None if the result is outside the root."""
    scheme = scheme_of(root)
    if scheme not in (None, "file"):
        return None
    base = Path(os.path.realpath(local_path(root) if scheme else root))
    real = Path(os.path.realpath(base / path))
    return real if real.is_relative_to(base) else None


def _is_under(url: str, root: str) -> bool:
    """Return whether a URL has the scheme and host of a root, and a path under it.

    >>> _is_under("https://a.org/x/1.jpg", "https://a.org/x"), _is_under("https://a.org/xy", "https://a.org/x")
    (True, False)
    """
    if _AMBIGUOUS.search(url):
        return False
    try:
        link, base = urlsplit(url), urlsplit(root)
    except ValueError:
        return False
    folder = base.path.rstrip("/")
    return (
        base.scheme != ""
        and link.scheme == base.scheme
        and link.netloc.lower() == base.netloc.lower()
        and (link.path == folder or link.path.startswith(f"{folder}/"))
    )


def _outside_error(url: str, allow: tuple[str, ...]) -> InvalidValueError:
    """Build the error for a link that points outside the roots."""
    roots = ", ".join(map(repr, allow)) or "none"
    return InvalidValueError(
        f"the link {brief(url, 200)} is outside the allowed roots ({roots}). If you trust the "
        f"lake, allow the folder with its files: dl.open(url, allow=[…])."
    )
