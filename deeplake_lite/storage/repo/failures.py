"""Translate errors of Icechunk and the operating system into errors of this library."""

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
"""Class names of the exceptions that a panic in Icechunk raises in a call or a coroutine. No module
exports these classes."""

NOT_WRITABLE = (
    "The lake can be read here, but not changed. Copy it to a folder that you can write to, or "
    "ask for permission to write."
)
NOT_CREATABLE = (
    "No lake was created, because its folder cannot be written. Choose another folder, or ask for "
    "permission to write."
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
"""A dict that maps error numbers of the operating system to advice."""


class MissingError(DamagedError):
    """A stored object is missing. This is damage, unless the object was deleted on purpose."""


class LostChunksError(StorageError):
    """Chunks of an open transaction were deleted before its commit."""

    def __init__(self, message: str, keys: Sequence[str]) -> None:
        super().__init__(message)
        self.keys = keys
        """Keys of the deleted chunks."""


@contextlib.contextmanager
def translate_errors() -> Iterator[None]:
    """Raise errors of Icechunk as errors of this library.

    Raises
    ------
    VersionNotFoundError
        If there is no such branch, tag or commit id.
    ExistsError
        If a branch or tag with that name exists, or if a tag with that name has existed.
    DamagedError
        If an object that a version refers to is missing or cannot be read.
    StorageError
        If a request to the store fails: disk full, no permission, no network.
    ForkedError
        If this process was forked from a process that had used Icechunk.
    """
    use_engine()
    try:
        with translate_file_errors():
            yield
    except compiled.IcechunkError as error:
        raise _translate(_missing_key(str(error)) or _reason_with_reply(error)) from error
    except BaseException as error:
        if type(error).__name__ not in PANICS:
            raise
        raise StorageError(
            f"The storage engine failed: {_first_line(error)}. Check the permissions and the free "
            "space of the lake's folder, then try again. If it fails again, a file of the lake is "
            "damaged: run ds.verify()."
        ) from error


@contextlib.contextmanager
def translate_file_errors(*, creates: bool = False) -> Iterator[None]:
    """Raise errors of the operating system as StorageError, with the same `errno`.

    Parameters
    ----------
    creates : bool
        Whether a lake is being created. If so, the advice after a denied permission does not say
        that the lake can be read.

    Raises
    ------
    StorageError
        If the disk is full, is not writable, or fails.
    """
    try:
        yield
    except LakeError:
        raise
    except OSError as error:
        refused = StorageError(_explain(error, creates=creates))
        refused.errno, refused.filename = error.errno, error.filename
        raise refused from error


def _explain(error: OSError, *, creates: bool = False) -> str:
    """Return an error message with the operating system's reason and with advice.

    >>> print(_explain(OSError(errno.ENOSPC, "No space left on device", "a.lake/.writers/x")))
    No space left on device: 'a.lake/.writers/x'. Free some space, then try again.
    """
    reason = error.strerror or str(error) or type(error).__name__
    location = "" if error.filename is None else f": {str(error.filename)!r}"
    way_out = WAYS_OUT.get(error.errno or 0, DEFAULT_WAY_OUT)
    way_out = NOT_CREATABLE if creates and way_out is NOT_WRITABLE else way_out
    return f"{reason}{location}. {way_out}"


def _first_line(error: BaseException) -> str:
    """Return the first line of the message of a panic, without the dump of Icechunk's state.

    >>> _first_line(Exception('no client: ICError { kind: Other("Read-only file system"), x'))
    'no client: Read-only file system'
    """
    line = next(iter(str(error).splitlines()), "")
    kind = re.match(r'(.*?)ICError \{ kind: \w+\("(.*?)"\)', line)
    return kind[1] + kind[2] if kind else line[:200]


def reason_of(error: BaseException) -> str:
    """Extract the reason from the multi-line message of an Icechunk error.

    >>> reason_of(Exception("  x ref not found `fix` | | context: | 0: fetch_branch"))
    'ref not found `fix`'
    """
    first = re.split(r"\s*\|\s*(?:\|\s*)?context", str(error))[0]
    return re.sub(r"\s+", " ", first).strip(" x|")


def _reason_with_reply(error: BaseException) -> str:
    """Return the reason for an Icechunk error, followed by the object store's reply, if any.

    >>> reply = '-> { code: "Slow", message: "no" }'
    >>> _reason_with_reply(Exception(f"x service error | context: {reply}"))
    'service error, Slow: no'
    """
    reason = reason_of(error)
    reply = re.search(r'code: "([^"]*)", message: "([^"]*)"', str(error))
    return f"{reason}, {reply[1]}: {reply[2]}" if reply and "service error" in reason else reason


def _missing_key(text: str) -> str | None:
    """Return a reason with the object's key if an object store has no such object, otherwise None.

    >>> _missing_key('error getting object | | context: key="a/chunks/X" | |-> NoSuchKey: no key')
    'object not found: a/chunks/X'
    """
    if not re.search(
        r"->\s*(NoSuchKey|NotFound|BlobNotFound|Object at location .* not found)", text
    ):
        return None
    key = re.search(r'key="([^"]*)"', text)
    return f"object not found: {key[1] if key else 'unknown key'}"


def _translate(reason: str) -> LakeError:
    """Convert the reason that an Icechunk error gives to an error of this library.

    The class of the error is chosen by the text of the reason, because Icechunk has only one error
    class.
    """
    if reason.startswith(("ref not found", "invalid snapshot id")):
        return VersionNotFoundError(
            f"There is no such branch, tag or commit: {reason}. See ds.branches, ds.tags or "
            "ds.log()."
        )
    if "already exists" in reason or reason.startswith("branch update conflict"):
        return ExistsError(
            f"The name is already taken: {reason}. Choose a different name; the name of a tag "
            "cannot be reused, even after the tag has been deleted."
        )
    if "clean prefix" in reason:
        return ExistsError(
            "A lake must be created at an empty location, but there are objects below this URL. "
            "Choose another URL."
        )
    if "service error" in reason:
        return StorageError(
            f"A request to the store failed: {reason}. Check the bucket, the permissions and the "
            "network, then try again."
        )
    if "not found" in reason.lower():
        return MissingError(
            f"A stored object is missing: {reason}. Run ds.verify(), or open the lake again if a "
            "vacuum deleted the version or the lake was recreated."
        )
    if re.search("serialize|decompress|flatbuffer|invalid", reason):
        return DamagedError(
            f"A stored object cannot be read: {reason}. Restore the object from a backup."
        )
    return StorageError(
        f"A request to the store failed: {reason}. Check the free space, the permissions and the "
        "network, then try again."
    )
