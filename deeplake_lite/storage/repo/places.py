"""Which folder or object store a URL stands for."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from deeplake_lite.brief import brief
from deeplake_lite.errors import LakeNotFoundError, OptionError
from deeplake_lite.lazy import LazyModule
from deeplake_lite.storage.repo.engine import compiled, package
from deeplake_lite.storage.repo.forks import use_engine

if TYPE_CHECKING:
    import tempfile
    from collections.abc import Callable, Mapping
else:
    tempfile = LazyModule("tempfile")

MEMORY = "memory://"

SCHEMES = ("s3", "gs", "gcs", "az", "azure")
"""Of the URLs of object stores."""

_memory: dict[str, tempfile.TemporaryDirectory[str]] = {}
"""Folders of the ``memory://`` lakes of this process; they vanish with it."""

_guests: dict[str, str] = {}
"""Folders of ``memory://`` lakes of the process that this one comes from."""


def local_folder(url: str) -> Path | None:
    """Return the folder of a local or ``memory://`` lake, None for any other kind of URL.

    >>> local_folder("file:///data/flowers.lake").name
    'flowers.lake'
    >>> local_folder("s3://bucket/flowers") is None
    True
    """
    if url in _memory:
        return Path(_memory[url].name)
    if url in _guests:
        return Path(_guests[url])
    if url.startswith("file://"):
        return Path(urlsplit(url).path)
    if "://" in url:
        return None
    return Path(url).expanduser()


def settled(url: str) -> str:
    """Return a URL that means the same wherever the process goes: a local path is made absolute.

    >>> settled("s3://bucket/flowers")
    's3://bucket/flowers'
    >>> settled("flowers.lake") == str(Path.cwd() / "flowers.lake")
    True
    """
    return url if "://" in url else os.path.abspath(Path(url).expanduser())


def welcome(url: str, folder: str) -> None:
    """Let a ``memory://`` lake of the process that this one comes from be opened by its URL.

    Raises
    ------
    LakeNotFoundError
        When that process has ended and its lakes are gone, or has another lake of the name.
    """
    here = local_folder(url)
    if here is not None and here != Path(folder):
        raise LakeNotFoundError(
            f"{url!r} is another lake in this process than where it was pickled. "
            "Use a folder for what several processes share."
        )
    if not Path(folder).is_dir():
        raise LakeNotFoundError(
            f"{url!r} went with the process that made it. "
            "Use a folder for what several processes share."
        )
    if url not in _memory:
        _guests[url] = folder


def forget(url: str) -> None:
    """Take away a ``memory://`` lake of this process; anything else stays."""
    if url in _memory:
        _memory.pop(url).cleanup()


def storage_at(url: str, options: Mapping[str, Any] | None) -> compiled.Storage:
    """Return the object store behind `url`.

    Raises
    ------
    LakeNotFoundError
        For any other kind of URL, and one that names no bucket.
    OptionError
        For options that the store does not take.
    """
    use_engine()
    if url.startswith(MEMORY) and local_folder(url) is None:
        _memory[url] = tempfile.TemporaryDirectory(prefix="deeplake-lite-")
    folder, given = local_folder(url), dict(options or {})
    if folder is not None:
        return compiled.Storage.new_local_filesystem(str(folder))
    parts, engine = urlsplit(url), package()
    where, prefix = parts.netloc, parts.path.strip("/") or None
    if parts.scheme in SCHEMES and not where:
        raise LakeNotFoundError(
            f"The URL of an object store must name a bucket, as 's3://bucket/flowers' does, but it "
            f"is {url!r}."
        )
    match parts.scheme:
        case "s3":
            given.setdefault("from_env", not given.keys() & {"access_key_id", "anonymous"} or None)
            return _store(engine.s3_storage, given, bucket=where, prefix=prefix)
        case "gs" | "gcs":
            given.setdefault("from_env", True)
            return _store(engine.gcs_storage, given, bucket=where, prefix=prefix)
        case "az" | "azure":
            container, _, rest = (prefix or "").partition("/")
            given.setdefault("from_env", True)
            return _store(
                engine.azure_storage, given, account=where, container=container, prefix=rest
            )
    raise LakeNotFoundError(
        f"A lake is in a folder, memory://, s3://, gs:// or az://; got {url!r}."
    )


def _store(
    open_store: Callable[..., Any], options: Mapping[str, Any], **place: str | None
) -> compiled.Storage:
    """Return a store with a user's options. Raises OptionError for those that it does not take."""
    known = [name for name in inspect.signature(open_store).parameters if name not in place]
    for name in options:
        if name not in known:
            raise OptionError(
                f"storage_options must have options of {open_store.__name__}, but {brief(name)} is "
                f"none. Known: {', '.join(known)}."
            )
    try:
        return cast("compiled.Storage", open_store(**place, **options))
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"storage_options must be as {open_store.__name__} takes them, but {error}. See its "
            "documentation, https://icechunk.io/en/stable/storage/."
        ) from error
