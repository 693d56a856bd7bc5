"""The folder or object store behind a URL."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from deeplake_lite.brief import brief
from deeplake_lite.errors import LakeNotFoundError, OptionError, ReadOnlyError
from deeplake_lite.lazy import LazyModule
from deeplake_lite.storage.repo.engine import compiled, package
from deeplake_lite.storage.repo.forks import use_engine
from deeplake_lite.storage.repo.hub import OWN as HUB_OPTIONS
from deeplake_lite.storage.repo.hub import SCHEME as HUB
from deeplake_lite.storage.repo.hub import Place, endpoint_of, is_hub
from deeplake_lite.storage.repo.store_options import OWN, Patience, engine_options

if TYPE_CHECKING:
    import tempfile
    from collections.abc import Callable, Mapping
else:
    tempfile = LazyModule("tempfile")

MEMORY = "memory://"

LAKE_FOLDERS = ("snapshots", "transactions")
"""Folders that every local lake has."""

WEB_SCHEMES = ("http", "https", HUB)
"""URL schemes of web servers, from which lakes can only be read."""

SCHEMES = ("s3", "gs", "gcs", "az", "azure")
"""URL schemes of object stores."""

_memory: dict[str, tempfile.TemporaryDirectory[str]] = {}
"""A dict from URL to folder, of this process's ``memory://`` lakes. The folders are deleted when
the process ends."""

_foreign: dict[str, str] = {}
"""A dict from URL to folder, of ``memory://`` lakes that belong to another process."""


def overlap(url: str, other: str) -> bool:
    """Return whether two URLs name the same place, or one is a folder in the other.

    Symbolic links are followed.

    >>> overlap("/data/a.lake", "/data/a.lake/b"), overlap("/data/a.lake", "/data/b.lake")
    (True, False)
    """
    if absolute_url(url).rstrip("/") == absolute_url(other).rstrip("/"):
        return True
    folders = [folder.resolve() for folder in map(local_folder, (url, other)) if folder]
    if len(folders) < 2:
        return False
    return any(a.is_relative_to(b) for a, b in (folders, folders[::-1]))


def local_folder(url: str) -> Path | None:
    """Return the folder of a local or ``memory://`` lake, or None for any other URL.

    >>> local_folder("file:///data/flowers.lake").name
    'flowers.lake'
    >>> local_folder("s3://bucket/flowers") is None
    True
    """
    if url in _memory:
        return Path(_memory[url].name)
    if url in _foreign:
        return Path(_foreign[url])
    if url.startswith("file://"):
        return Path(urlsplit(url).path)
    if "://" in url:
        return None
    return Path(url).expanduser()


def holds_lake(folder: Path) -> bool:
    """Return whether a folder has the subfolders of a lake, even if files in it are missing."""
    return all((folder / name).is_dir() for name in LAKE_FOLDERS)


def is_web(url: str) -> bool:
    """Return whether a URL points to a web server, from which lakes can only be read.

    >>> is_web("https://example.org/flowers"), is_web("hf://datasets/me/flowers")
    (True, True)
    >>> is_web("memory://flowers[0]")
    False
    """
    return url.partition("://")[0].lower() in WEB_SCHEMES


def check_creatable(url: str) -> None:
    """Reject places where lakes can only be read. Raises ReadOnlyError."""
    if is_web(url):
        raise ReadOnlyError(
            f"A lake must be created in a folder or on an object store, but {url!r} is on a web "
            "server. Create it in a folder, and upload the folder; see ds.publish."
        )


def absolute_url(url: str) -> str:
    """Return a URL that does not depend on the working directory, by making local paths absolute.

    >>> absolute_url("s3://bucket/flowers")
    's3://bucket/flowers'
    >>> absolute_url("flowers.lake") == str(Path.cwd() / "flowers.lake")
    True
    """
    return url if "://" in url else os.path.abspath(Path(url).expanduser())


def public_url(url: str) -> str:
    """Return a URL without passwords, tokens and other parameters, for records that others read.

    >>> public_url("https://me:secret@example.org/a.lake?token=123")
    'https://example.org/a.lake'
    >>> public_url("s3://bucket/a.lake"), public_url("/data/a?b.lake")
    ('s3://bucket/a.lake', '/data/a?b.lake')
    """
    if "://" not in url or url.startswith((MEMORY, "file://")):
        return url
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def register_foreign_memory(url: str, folder: str) -> None:
    """Make another process's ``memory://`` lake available under its URL.

    Raises
    ------
    LakeNotFoundError
        When the lake's process has ended, or this process has another lake of that name.
    """
    here = local_folder(url)
    if here is not None and here != Path(folder):
        raise LakeNotFoundError(
            f"{url!r} refers to a different lake in this process than in the process that pickled "
            "it. Use a folder for a lake that several processes share."
        )
    if not Path(folder).is_dir():
        raise LakeNotFoundError(
            f"{url!r} was deleted when the process that created it ended. "
            "Use a folder for a lake that several processes share."
        )
    if url not in _memory:
        _foreign[url] = folder


def forget(url: str) -> None:
    """Delete a ``memory://`` lake of this process. Other lakes are not deleted."""
    if url in _memory:
        _memory.pop(url).cleanup()


def storage_at(url: str, options: Mapping[str, object] | None) -> compiled.Storage:
    """Return the object store behind `url`.

    Raises
    ------
    LakeNotFoundError
        When the URL has an unknown scheme, or does not name a bucket.
    OptionError
        When the store does not accept the options.
    """
    use_engine()
    if url.startswith(MEMORY) and local_folder(url) is None:
        _memory[url] = tempfile.TemporaryDirectory(prefix="deeplake-lite-")
    folder = local_folder(url)
    if folder is not None:
        return compiled.Storage.new_local_filesystem(str(folder))
    if is_hub(url):
        given, place = options or {}, Place.of(url)
        address, arguments = place.address(endpoint_of(given)), engine_options(HUB, given)
        return _store(package().http_storage, arguments, HUB_OPTIONS, base_url=address)
    try:
        parts, engine = urlsplit(url), package()
    except ValueError as error:
        raise LakeNotFoundError(f"{url!r} is not a valid URL: {error}. Check it.") from error
    bucket, prefix = parts.netloc, parts.path.strip("/") or None
    if parts.scheme in SCHEMES and not bucket:
        raise LakeNotFoundError(
            "The URL of an object store must name a bucket, for example 's3://bucket/flowers', but "
            f"it is {url!r}."
        )
    if "@" in bucket:
        raise OptionError(
            "The URL of an object store must not contain credentials, because URLs are shown and "
            "stored, but there is an '@' in it. Pass them in storage_options, or in environment "
            "variables."
        )
    arguments = engine_options(parts.scheme, options or {})
    if parts.scheme in WEB_SCHEMES:
        return _store(engine.http_storage, arguments, ("allow_http",), base_url=url.rstrip("/"))
    match parts.scheme:
        case "s3":
            return _store(engine.s3_storage, arguments, bucket=bucket, prefix=prefix)
        case "gs" | "gcs":
            return _store(engine.gcs_storage, arguments, bucket=bucket, prefix=prefix)
        case "az" | "azure":
            container, _, path = (prefix or "").partition("/")
            return _store(
                engine.azure_storage, arguments, account=bucket, container=container, prefix=path
            )
    raise LakeNotFoundError(
        "The URL of a lake must be a folder, memory://, s3://, gs://, az://, https:// or hf://, "
        f"but it is {url!r}."
    )


def patience_at(url: str, options: Mapping[str, object] | None) -> Patience | None:
    """Return the time-outs and retries of an object store, or None for a folder."""
    return Patience.of(options or {}) if local_folder(url) is None else None


def _store(
    open_store: Callable[..., object],
    options: Mapping[str, object],
    others: tuple[str, ...] = (),
    **location: str | None,
) -> compiled.Storage:
    """Return a store with the user's options. Raises OptionError for invalid options."""
    allowed = [name for name in inspect.signature(open_store).parameters if name not in location]
    own = [name for name in OWN if name != "profile" or open_store.__name__ == "s3_storage"]
    for name in options:
        if name not in allowed:
            raise OptionError(
                f"storage_options must be arguments of {open_store.__name__}, but {brief(name)} is "
                f"not one of them. The arguments are {', '.join([*own, *others, *allowed])}."
            )
    try:
        return cast("compiled.Storage", open_store(**location, **options))
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"storage_options must be valid arguments of {open_store.__name__}: {error}. See "
            "https://icechunk.io/en/stable/storage/."
        ) from error
