"""What the engine raises, as errors of ours."""

from __future__ import annotations

import contextlib
import errno
import re
from typing import TYPE_CHECKING

from deeplake_lite.errors import (
    DamagedError,
    ExistsError,
    LakeError,
    StorageError,
    VersionNotFoundError,
)
from deeplake_lite.storage.repo.engine import compiled
from deeplake_lite.storage.repo.forks import use_engine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


PANICS = ("PanicException", "RustPanic")
"""Names of what a panic of the engine raises, in a call and in a coroutine: no module has them."""

NOT_WRITABLE = (
    "The lake can be read, but not changed here. Copy it to a folder that you may write to, or "
    "ask for write permission."
)
DEFAULT_WAY_OUT = "Check the disk and the permissions of the lake's folder, then try again."
WAYS_OUT = {
    errno.ENOSPC: "Free some space, then try again.",
    errno.EDQUOT: "Free some space, then try again.",
    errno.EROFS: NOT_WRITABLE,
    errno.EACCES: NOT_WRITABLE,
    errno.EPERM: NOT_WRITABLE,
    errno.EMFILE: "Close some files, or raise the limit of open files (ulimit -n).",
    errno.ENFILE: "Close some files, or raise the limit of open files (ulimit -n).",
}
"""What to do about an error of the operating system, by its number."""


class MissingError(DamagedError):
    """An object that is not there: damage, unless it was deleted on purpose."""


class LostChunksError(StorageError):
    """Chunks of an open transaction that were deleted before its commit."""

    def __init__(self, message: str, keys: Sequence[str]) -> None:
        super().__init__(message)
        self.keys = keys
        """Where they were."""


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
        with translated_files():
            yield
    except compiled.IcechunkError as error:
        raise _error_of_ours(_missing_key(str(error)) or _replied(error)) from error
    except BaseException as error:
        if type(error).__name__ not in PANICS:
            raise
        raise StorageError(
            f"The storage engine failed: {_first_line(error)}. Check the permissions and the free "
            "space of the lake's folder, then try again; if it fails again, a file of the lake is "
            "damaged."
        ) from error


@contextlib.contextmanager
def translated_files() -> Iterator[None]:
    """Raise errors of the operating system as StorageError, with the same `errno`.

    Raises
    ------
    StorageError
        When the disk is full, does not take writes, or fails.
    """
    try:
        yield
    except LakeError:
        raise
    except OSError as error:
        refused = StorageError(_explain(error))
        refused.errno, refused.filename = error.errno, error.filename
        raise refused from error


def _explain(error: OSError) -> str:
    """Say what the operating system refused, and the way out.

    >>> print(_explain(OSError(errno.ENOSPC, "No space left on device", "a.lake/.writers/x")))
    No space left on device: 'a.lake/.writers/x'. Free some space, then try again.
    """
    reason = error.strerror or str(error) or type(error).__name__
    place = "" if error.filename is None else f": {str(error.filename)!r}"
    return f"{reason}{place}. {WAYS_OUT.get(error.errno or 0, DEFAULT_WAY_OUT)}"


def _first_line(error: BaseException) -> str:
    """Return the reason of a panic: its first line, without the state that the engine dumps.

    >>> _first_line(Exception('no client: ICError { kind: Other("Read-only file system"), x'))
    'no client: Read-only file system'
    """
    line = next(iter(str(error).splitlines()), "")
    kind = re.match(r'(.*?)ICError \{ kind: \w+\("(.*?)"\)', line)
    return kind[1] + kind[2] if kind else line[:200]


def reason_of(error: BaseException) -> str:
    """Return the gist of one of the engine's errors, which explain themselves on many lines.

    >>> reason_of(Exception("  x ref not found `fix` | | context: | 0: fetch_branch"))
    'ref not found `fix`'
    """
    first = re.split(r"\s*\|\s*(?:\|\s*)?context", str(error))[0]
    return re.sub(r"\s+", " ", first).strip(" x|")


def _replied(error: BaseException) -> str:
    """Return the gist of one of the engine's errors; where an object store refused, what it said.

    >>> _replied(Exception('x service error | context: -> { code: "Slow", message: "no" }'))
    'service error, Slow: no'
    """
    reason = reason_of(error)
    reply = re.search(r'code: "([^"]*)", message: "([^"]*)"', str(error))
    return f"{reason}, {reply[1]}: {reply[2]}" if reply and "service error" in reason else reason


def _missing_key(text: str) -> str | None:
    """Return which object an error of the engine is about, if an object store has none like it.

    >>> _missing_key('error getting object | | context: key="a/chunks/X" | |-> NoSuchKey: no key')
    'object not found: a/chunks/X'
    """
    if not re.search(
        r"->\s*(NoSuchKey|NotFound|BlobNotFound|Object at location .* not found)", text
    ):
        return None
    key = re.search(r'key="([^"]*)"', text)
    return f"object not found: {key[1] if key else 'unknown key'}"


def _error_of_ours(reason: str) -> LakeError:
    if reason.startswith(("ref not found", "invalid snapshot id")):
        return VersionNotFoundError(
            f"There is no such branch, tag or commit: {reason}. See ds.branches, ds.tags, ds.log()."
        )
    if "already exists" in reason or reason.startswith("branch update conflict"):
        return ExistsError(
            f"The name is taken: {reason}. Choose another; that of a tag is never free again."
        )
    if "clean prefix" in reason:
        return ExistsError(
            "A lake is created where nothing is, and there are objects below this URL. Choose "
            "another."
        )
    if "service error" in reason:
        return StorageError(
            f"The store refused: {reason}. See to the bucket, permission and network, then try "
            "again."
        )
    if "not found" in reason.lower():
        return MissingError(
            f"A stored object is missing: {reason}. Run ds.verify(), or open the lake again if a "
            "vacuum deleted the version or the lake was created anew."
        )
    if re.search("serialize|decompress|flatbuffer|invalid", reason):
        return DamagedError(f"A stored object does not read: {reason}. Restore it from a copy.")
    return StorageError(
        f"The store refused: {reason}. See to free space, permission and network, then try again."
    )
