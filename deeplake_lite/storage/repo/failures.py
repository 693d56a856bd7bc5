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


NOT_FOUND = {
    "branch-not-found",
    "invalid-snapshot-id",
    "ref-not-found",
    "tag-not-found",
}
TAKEN = {
    "branch-already-exists",
    "branch-update-conflict",
    "tag-already-exists",
    "tag-previously-deleted",
}
LOST = {"chunk-not-found", "node-not-found", "object-not-found", "repository-not-found"}
UNREADABLE = {
    "config-deserialization",
    "deserialization",
    "duplicate-snapshot-id",
    "invalid-file-format",
    "invalid-object-size",
    "manifest-info-not-found",
    "serialization",
    "snapshot-timestamp",
    "unsupported-spec-version",
}
"""Kinds of Icechunk's errors, by their meaning for a lake."""

DECOMPRESSION = (
    r"corruption|Src size|frame|decompress|checksum|early EOF|flatbuffer|Destination buffer|"
    r"Source buffer|output buffer|workSpace buffer|Dictionary|Literals' block|tableLog|"
    r"max ?Symbol ?Value|parameter|Version not supported|no progress|not authorized|"
    r"sequences? |Error \(generic\)|failed to fill whole buffer"
)
"""Pattern of messages of kind "io" that come from decompressing an object, including those of
Zstandard (https://github.com/facebook/zstd/blob/dev/lib/common/error_private.c), ignoring case."""

TOO_SHORT = r"Requested range was invalid|InvalidRange|range .*not satisfiable"
"""Pattern of messages about an object that is shorter than the lake says, ignoring case."""


class MissingError(DamagedError):
    """A stored object is missing. This is damage, unless the object was deleted on purpose."""


class RefusedError(StorageError):
    """A web server asks for credentials, denies access, or limits the rate of requests."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status
        """Status of the reply: 401, 403 or 429."""


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
        raise _translate(error) from error
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
    r"""Extract the reason from the multi-line message of an Icechunk error.

    >>> reason_of(Exception("ref not found `fix`\n\ncontext:\n   0: fetch_branch"))
    'ref not found `fix`'
    """
    first = re.split(r"\s*context:", str(error))[0]
    return re.sub(r"\s+", " ", first).strip()


ACCESS = (
    "Check the address. If the lake is private, pass credentials in storage_options: "
    "headers={'Authorization': …} for a web server; token=… or the variable HF_TOKEN for the "
    "Hugging Face hub, where a dataset may also ask you to accept its terms on its page."
)
REFUSALS = {
    401: f"asks for credentials. {ACCESS}",
    403: f"denies access. {ACCESS}",
    429: "limits the rate of requests. Wait a few minutes, then try again, or allow more time with "
    "retries=… in storage_options. The Hugging Face hub allows more requests with a token, in "
    "storage_options or the variable HF_TOKEN.",
}
"""A dict from the status of a web server's reply to its meaning and advice."""


def _refusal(reason: str) -> RefusedError | None:
    """Return the error for a reply of a web server that refuses a request, or None.

    >>> str(_refusal("GET https://a.org/x in 2ms - status code: 403 Forbidden: <html>"))[:68]
    'The server of the lake replied 403 Forbidden to https://a.org/x: it '
    """
    reply = re.search(r"status code: (401|403|429)((?: [A-Z][A-Za-z]*)*)", reason)
    if reply is None:
        return None
    address = re.search(r"(?:GET|HEAD) (https?://\S+)", reason)
    where = f" to {address[1]}" if address else ""
    status = int(reply[1])
    return RefusedError(
        f"The server of the lake replied {status}{reply[2]}{where}: it {REFUSALS[status]}", status
    )


def _without_queries(text: str) -> str:
    """Return a text without the queries of the URLs in it, which may contain signatures.

    >>> _without_queries("sending https://a.org/x?sig=1 (https://a.org/y?z) failed?")
    'sending https://a.org/x (https://a.org/y) failed?'
    """
    return re.sub(r"(https?://[^\s?)]+)\?[^\s)]*", r"\1", text)


def _reason_with_reply(error: BaseException) -> str:
    r"""Return the reason for an Icechunk error, followed by the object store's reply, if any.

    >>> reply = 'code: "Slow", message: "no"'
    >>> _reason_with_reply(Exception(f"object store error service error {reply}\n\ncontext:"))
    'object store error service error, Slow: no'
    """
    reason = _without_queries(reason_of(error))
    notes = "\n".join(getattr(error, "__notes__", ()))
    reply = re.search(r'code: "([^"]*)", message: "([^"]*)"', f"{error}\n{notes}")
    if reply is None:
        return reason
    return f"{reason.partition(' code: ')[0]}, {reply[1]}: {reply[2]}"


def _missing_object(error: BaseException) -> str:
    r"""Return the reason with the object's name if Icechunk reported a missing object.

    >>> _missing_object(Exception('object not found\n\ncontext:\n  with path="chunks/X"'))
    'object not found: chunks/X'
    """
    reason = reason_of(error)
    path = re.search(r'(?:path|key)="([^"]*)"', str(error))
    return f"{reason}: {path[1]}" if path and reason.endswith("object not found") else reason


def _translate(error: compiled.IcechunkError) -> LakeError:
    """Convert an Icechunk error to an error of this library, by the kind of the error."""
    kind, reason = error.kind, _reason_with_reply(error)
    if kind == "snapshot-not-found":
        return VersionNotFoundError(
            f"A version no longer exists: {reason}. A vacuum deleted it, or the lake was "
            "recreated. Open the lake again."
        )
    if kind in NOT_FOUND:
        return VersionNotFoundError(
            f"There is no such branch, tag or commit: {reason}. See ds.branches, ds.tags or "
            "ds.log()."
        )
    if kind in TAKEN:
        return ExistsError(
            f"The name is already taken: {reason}. Choose a different name; the name of a tag "
            "cannot be reused, even after the tag has been deleted."
        )
    if kind == "parent-directory-not-clean":
        return ExistsError(
            "A lake must be created at an empty location, but there are objects below this URL. "
            "Choose another URL."
        )
    if kind in LOST:
        return MissingError(
            f"A stored object is missing: {_missing_object(error)}. Run ds.verify(), or open the "
            "lake again if a vacuum deleted the version or the lake was recreated."
        )
    is_garbled = kind == "io" and re.search(DECOMPRESSION, reason, re.IGNORECASE)
    if kind in UNREADABLE or is_garbled or re.search(TOO_SHORT, reason, re.IGNORECASE):
        return DamagedError(
            f"A stored object cannot be read: {reason}. Restore the object from a backup."
        )
    if (refusal := _refusal(reason)) is not None:
        return refusal
    if "service error" in reason:
        return StorageError(
            f"A request to the store failed: {reason}. Check the bucket, the permissions and the "
            "network, then try again."
        )
    return StorageError(
        f"A request to the store failed: {reason}. Check the free space, the permissions and the "
        "network, then try again."
    )
