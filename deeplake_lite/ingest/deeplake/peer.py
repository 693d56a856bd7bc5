"""Opening datasets with Deep Lake's own package, and converting its errors to InvalidValueError."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeplake_lite.brief import brief
from deeplake_lite.dataset.export.lakes.package import load_deeplake
from deeplake_lite.errors import (
    InvalidValueError,
    LakeError,
    NotFoundError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LARGEST_FILE = 256 * 2**20
"""Maximum size of a log file in bytes."""


@dataclass(frozen=True)
class Peer:
    """A Deep Lake dataset, on this machine or in an object store."""

    url: str
    """URL of the dataset as Deep Lake writes it, or path of its folder."""

    creds: Mapping[str, str] | None = None
    token: str | None = None

    @classmethod
    def at(cls, location: str, creds: Mapping[str, str] | None, token: str | None) -> Peer:
        """Return the dataset at a path or URL.

        Raises NotFoundError if there is no such folder, and MissingPackageError if Deep Lake's
        package is not installed.
        """
        load_deeplake("from_deeplake")
        if "://" not in location:
            location = os.path.abspath(os.path.expanduser(location))
            if not Path(location).is_dir():
                raise NotFoundError(
                    f"There is no Deep Lake dataset at {location!r}. Check the path."
                )
        return cls(location, creds, token)

    @property
    def title(self) -> str:
        """Name of the dataset in messages."""
        return self.url.rstrip("/").rpartition("/")[2] or self.url

    @property
    def _access(self) -> dict[str, Any]:
        return {"creds": dict(self.creds) if self.creds else None, "token": self.token}

    def open(self) -> Any:
        """Open the latest version for reading.

        Raises NotFoundError or InvalidValueError if it does not exist or cannot be read.
        """
        import deeplake

        with self.translating():
            try:
                return deeplake.open_read_only(self.url, **self._access)
            except deeplake.LogNotexistsError:
                raise NotFoundError(
                    f"There is no Deep Lake dataset at {self.url!r}. Check the path."
                ) from None

    def query(self, version: str = "") -> Any:
        """Open a version of a Deep Lake 3 dataset, or the latest version of ``main`` for ""."""
        import deeplake

        address = f"{self.url}@{version}" if version else self.url
        if '"' in address or "\\" in address:
            raise InvalidValueError(
                "The path of a Deep Lake 3 dataset must not contain double quotes or backslashes, "
                f"but it is {address!r}. Rename the folder."
            )
        with self.translating():
            return deeplake.query(f'SELECT * FROM "{address}"', **_without_none(self._access))

    def reader(self) -> Any:
        """Return Deep Lake's reader for the files of the dataset."""
        from deeplake._deeplake import storage  # type: ignore[import-not-found]

        with self.translating():
            return storage.Reader(self.url, **self._access)

    def json_file(self, name: str) -> Any:
        """Read a JSON file of the dataset. Return None if the file does not exist."""
        reader = self.reader()
        with self.translating():
            try:
                data = read_file(reader, name)
            except (KeyError, RuntimeError):
                return None
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise InvalidValueError(
                f"{name!r} in {self.title!r} must be JSON, but it cannot be decoded. Check the "
                "dataset."
            ) from error

    def htype(self, tensor: str) -> str:
        """Return the htype of a tensor of Deep Lake 3, or an empty string for Deep Lake 4."""
        meta = self.json_file(f"{tensor}/tensor_meta.json")
        return str(meta.get("htype", "")) if isinstance(meta, dict) else ""

    @contextmanager
    def translating(self) -> Iterator[None]:
        """Convert Deep Lake's errors, which have many types, to InvalidValueError."""
        try:
            yield
        except (LakeError, MemoryError, AssertionError, NameError):
            raise
        except Exception as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise InvalidValueError(
                f"{self.title!r} cannot be read: {brief(lines[0].rstrip('.'), 300)}. Check the "
                "dataset."
            ) from error


def read_file(reader: Any, path: str) -> bytes:
    """Read a file of at most `LARGEST_FILE` bytes. Raises InvalidValueError if this fails."""
    if reader.length(path) > LARGEST_FILE:
        raise InvalidValueError(
            f"A log file may be at most {LARGEST_FILE:,} bytes, but {path!r} has "
            f"{reader.length(path):,}. To ingest only the last version, without the history, pass "
            "history=False."
        )
    return bytes(reader.get(path))


def _without_none(access: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in access.items() if value is not None}
