"""Reading of files from paths and URLs.

`read` opens local paths and ``file://`` URLs itself, http(s) URLs with urllib, and all other URLs
with fsspec. To read links from an untrusted source, pass a function as `permit`. It is called
before each redirect, and raises an error to reject the redirect.
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
)  # fsspec's chained URLs, such as zip://a.csv::s3://bucket/b.zip


def scheme_of(source: str) -> str | None:
    """Return the scheme of a URL in lower case, or None for a path.

    >>> scheme_of("S3://bucket/a.jpg"), scheme_of("photos/a.jpg")
    ('s3', None)
    """
    match = _SCHEME.match(source)
    return match[0].lower() if match else None


def is_file_struct(value: object) -> bool:
    """Return whether a value is a dict of bytes and path, the files of Hugging Face datasets.

    >>> is_file_struct({"bytes": b"...", "path": None}), is_file_struct({"bytes": None})
    (True, False)
    """
    return (
        isinstance(value, Mapping)
        and value.keys() == {"bytes", "path"}
        and not (value["bytes"] is None and value["path"] is None)
    )


def rebase_paths(value: Any, folder: str) -> Any:
    """Return a value with every relative file path in it joined to a folder.

    >>> [rebase_paths(path, "/data") for path in ("a.jpg", "/b.jpg", "s3://bucket/c.jpg")]
    ['/data/a.jpg', '/b.jpg', 's3://bucket/c.jpg']
    """
    if isinstance(value, str):
        return value if scheme_of(value) or not value else os.path.join(folder, value)
    if isinstance(value, list):
        return [rebase_paths(item, folder) for item in value]
    if is_file_struct(value) and value["bytes"] is None:
        return {**value, "path": rebase_paths(value["path"], folder)}
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
        Function that is called with the target of each redirect, and raises an error to reject it.

    Raises
    ------
    InvalidValueError
        If the file does not exist, cannot be read or is empty. The message names `source`.
    MissingPackageError
        If fsspec needs a package that is not installed to open URLs of this scheme.
    """
    text = os.fspath(source)
    scheme = scheme_of(text)
    try:
        if scheme is None:
            data = Path(text).read_bytes()
        elif scheme == "file":
            data = Path(local_path(text)).read_bytes()
        elif scheme in ("http", "https"):
            from deeplake_lite.htypes.web import read_web  # rarely needed, and slow to import

            data = read_web(text, permit)
        else:
            data = _read_store(text)
    except FileNotFoundError as error:
        folder = "" if scheme else f" (working directory: {Path.cwd()})"
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
    """Read a URL with fsspec."""
    import fsspec  # rarely needed, and slow to import

    try:
        with fsspec.open(url, "rb") as file:
            data: bytes = file.read()
    except ImportError as error:
        raise MissingPackageError(
            f"To read {brief(url, 120)}, fsspec needs a package that is not installed: "
            f"{str(error).rstrip('.')}. Install it with pip."
        ) from error
    return data
