"""Reading of files from paths and URLs.

`read` opens local paths and ``file://`` itself, http(s) through urllib and every other scheme
through fsspec. To follow links that you do not trust, pass `permit`, which is called before a
redirect is followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError, MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Callable

_SCHEME = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*(?=://|::[A-Za-z][A-Za-z0-9+.-]*:)"
)  # a::b:// is a chain of fsspec


def scheme_of(source: str) -> str | None:
    """Return the scheme of a URL in lower case; None for a path.

    >>> scheme_of("S3://bucket/a.jpg"), scheme_of("photos/a.jpg")
    ('s3', None)
    """
    match = _SCHEME.match(source)
    return match[0].lower() if match else None


def is_file_struct(value: object) -> bool:
    """Return whether a value is a file in the form of Hugging Face datasets: its bytes or its path.

    >>> is_file_struct({"bytes": b"...", "path": None}), is_file_struct({"bytes": None})
    (True, False)
    """
    return (
        isinstance(value, Mapping)
        and value.keys() == {"bytes", "path"}
        and not (value["bytes"] is None and value["path"] is None)
    )


def rebased(value: Any, folder: str) -> Any:
    """Return a value with the relative paths of its files joined to a folder.

    >>> rebased("a.jpg", "/data"), rebased("/b.jpg", "/data"), rebased("s3://bucket/c.jpg", "/data")
    ('/data/a.jpg', '/b.jpg', 's3://bucket/c.jpg')
    """
    if isinstance(value, str):
        return value if scheme_of(value) or not value else os.path.join(folder, value)
    if isinstance(value, list):
        return [rebased(item, folder) for item in value]
    if is_file_struct(value) and value["bytes"] is None:
        return {**value, "path": rebased(value["path"], folder)}
    return value


def local_path(url: str) -> str:
    """Return the path of a ``file://`` URL.

    >>> local_path("file:///data/a%20b.jpg")
    '/data/a b.jpg'
    """
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost"):
        raise InvalidValueError(
            f"a file:// URL must not have a host, but it is {brief(url, 120)}. Write "
            "file:///path, with three slashes."
        )
    path = unquote(parts.path)
    return path.lstrip("/") if os.name == "nt" else path


def read(source: str | os.PathLike[str], permit: Callable[[str], None] | None = None) -> bytes:
    """Return the bytes of a file.

    Parameters
    ----------
    source : str | PathLike
        Path or URL.
    permit : callable, optional
        Called with every URL that a web server redirects to; raises to reject it.

    Raises
    ------
    InvalidValueError
        When the file does not exist, cannot be read or is empty. The message names `source`.
    MissingPackageError
        When a package that fsspec needs for the scheme is not installed.
    """
    text = os.fspath(source)
    scheme = scheme_of(text)
    try:
        if scheme is None:
            data = Path(text).read_bytes()
        elif scheme == "file":
            data = Path(local_path(text)).read_bytes()
        elif scheme in ("http", "https"):
            from deeplake_lite.htypes.web import read_web  # takes 30 ms, and is rarely needed

            data = read_web(text, permit)
        else:
            data = _read_store(text)
    except FileNotFoundError as error:
        folder = "" if scheme else f" (from {Path.cwd()})"
        raise InvalidValueError(f"there is no file {text!r}{folder}. Check the path.") from error
    except InvalidValueError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidValueError(
            f"{brief(text, 200)} cannot be read: {reason}. Check the path and its permissions."
        ) from error
    if not data:
        raise InvalidValueError(
            f"{brief(text, 200)} is empty (0 bytes). Restore the file, or leave it out."
        )
    return data


def _read_store(url: str) -> bytes:
    """Read a URL through fsspec."""
    import fsspec  # takes 30 ms, and is rarely needed

    try:
        with fsspec.open(url, "rb") as file:
            data: bytes = file.read()
    except ImportError as error:
        raise MissingPackageError(
            f"A package that is needed to read {brief(url, 120)} is not installed: {error}."
        ) from error
    return data
