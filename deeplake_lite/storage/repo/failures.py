"""What the engine raises, as errors of ours."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

import icechunk

from deeplake_lite.errors import (
    DamagedError,
    ExistsError,
    LakeError,
    StorageError,
    VersionNotFoundError,
)
from deeplake_lite.storage.repo.forks import use_engine

if TYPE_CHECKING:
    from collections.abc import Iterator


class MissingError(DamagedError):
    """An object that is not there: damage, unless it was deleted on purpose."""


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Make what the engine raises an error of ours.

    Raises
    ------
    VersionNotFoundError
        When there is no such branch, tag or commit id.
    ExistsError
        When a branch or tag of that name is there, or a tag was.
    DamagedError
        When an object that a version refers to is not there, or does not read.
    StorageError
        When the store refuses: disk full, no permission, no network.
    ForkedError
        When this process is a fork of one that had used the engine.
    """
    use_engine()
    try:
        yield
    except icechunk.IcechunkError as error:
        raise _error_of_ours(reason_of(error)) from error


def reason_of(error: BaseException) -> str:
    """Return the gist of one of the engine's errors, which explain themselves on many lines.

    >>> reason_of(Exception("  x ref not found `fix` | | context: | 0: fetch_branch"))
    'ref not found `fix`'
    """
    first = re.split(r"\s*\|\s*(?:\|\s*)?context", str(error))[0]
    return re.sub(r"\s+", " ", first).strip(" x|")


def _error_of_ours(reason: str) -> LakeError:
    if reason.startswith(("ref not found", "invalid snapshot id")):
        return VersionNotFoundError(
            f"There is no such branch, tag or commit: {reason}. See ds.branches, ds.tags, ds.log()."
        )
    if "already exists" in reason or reason.startswith("branch update conflict"):
        return ExistsError(
            f"The name is taken: {reason}. Choose another; that of a tag is never free again."
        )
    if "not found" in reason.lower():
        return MissingError(f"A stored object is missing: {reason}. Run ds.verify().")
    if re.search("serialize|decompress|flatbuffer|invalid", reason):
        return DamagedError(f"A stored object does not read: {reason}. Restore it from a copy.")
    return StorageError(
        f"The store refused: {reason}. See to free space, permission and network, then try again."
    )
