"""Records of staged edits on disk, which survive a restart or crash of the kernel.

Each browser with staged edits writes a file in the user's state folder, in a subfolder for the
lake::

    {"format": 1, "url": …, "branch": …}                header
    {"do": "add", "edits": [{"ids": …, "value": …}]}    one line for each step
    {"do": "undo"}
    {"do": "drop", "id": 1, "also": [3]}                an edit, and edits that build on it
    {"do": "full"}                                      the file has reached its limit

The file is removed when its edits are committed or discarded. If it is left over, it is a draft,
which browsers of the same lake and branch offer to restore. If some rows no longer exist, their
edits stay in the draft. A lock distinguishes drafts, whose browsers have ended, from files that
browsers in other processes still write.
"""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np
import xxhash

from deeplake_lite.lazy import LazyModule
from deeplake_lite.storage.repo import MEMORY, local_folder
from deeplake_lite.widget.edits.staged import Edit, Staged, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import filelock
    from numpy.typing import NDArray
else:
    filelock = LazyModule("filelock")

FORMAT = 1

MAX_BYTES = 64 * 2**20
"""Maximum size of a file, in bytes. Edits that would exceed this size are not recorded."""

MAX_DRAFTS = 20
"""Maximum number of files that are read for a lake, the newest files first."""

_MISREAD = (
    ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError,
    SyntaxError, zlib.error,
)  # fmt: skip
"""Errors when reading a file that was truncated, or that another program has changed."""

_LIVE: WeakValueDictionary[Path, Journal] = WeakValueDictionary()
"""Maps the path of each file to the journal of a browser in this process."""

if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_LIVE.clear)


class Journal:
    """The file of a browser's staged edits, which is created at the first edit.

    Parameters
    ----------
    folder : Path
        Folder of the lake's drafts.
    url : str
        URL of the lake.
    branch : str
        The edited branch.
    release : callable
        Function that drops the browser's staged edits. It is called when another browser in this
        process restores the edits.
    """

    def __init__(self, folder: Path, url: str, branch: str, release: Callable[[], None]) -> None:
        self.path = folder / f"{token_hex(8)}.jsonl"
        self.release = release
        self._process = os.getpid()
        self._lock = filelock.FileLock(self.path.with_suffix(".lock"), thread_local=False)
        self._left = MAX_BYTES
        self._header = _header(url, branch)

    def write(self, line: dict[str, object]) -> bool:
        """Append a line unless the file would become too large, and return whether it was appended.

        Raises OSError if the file cannot be written, and TypeError for values that JSON cannot
        represent.
        """
        if self._is_inherited:
            raise OSError("this process was forked from the one that records the edits")
        text = json.dumps(line)
        if not self._lock.is_locked:  # the first edit; a browser without edits leaves no file
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock.acquire(timeout=0)
            _LIVE[self.path] = self
            text = f"{json.dumps(self._header)}\n{text}"
        if full := len(text) > self._left:
            text = json.dumps({"do": "full"})
        self._left = 0 if full else self._left - len(text)
        with open(os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a") as file:
            file.write(f"{text}\n")
        return not full

    def remove(self) -> None:
        """Remove the file, after its edits have been committed or discarded."""
        if self._is_inherited:
            return
        _LIVE.pop(self.path, None)
        _unlink(self.path)
        self._lock.release()
        _unlink(self.path.with_suffix(".lock"))

    @property
    def _is_inherited(self) -> bool:
        """Whether the file and its lock belong to the parent of this forked process."""
        return self._process != os.getpid()


@dataclass(frozen=True, eq=False)
class Draft:
    """Uncommitted edits that an earlier browser has recorded on disk."""

    path: Path
    url: str
    branch: str
    edits: list[Edit]
    complete: bool
    """Whether all edits were recorded. The last edits may have exceeded the maximum file size."""
    changed: str
    """Time of the last edit (ISO 8601, UTC)."""

    @property
    def id(self) -> str:
        """The id by which messages name the draft."""
        return self.path.stem

    @property
    def about(self) -> dict[str, object]:
        """The description of the draft for the page."""
        return {
            "id": self.id,
            "edits": len(self.edits),
            "rows": len(rows_of(self.edits)),
            "complete": self.complete,
            "changed": self.changed,
        }

    def remove(self) -> None:
        """Remove the file. If a browser in this process still has the edits, it drops them."""
        self._release()
        _unlink(self.path)
        _unlink(self.path.with_suffix(".lock"))

    def _release(self) -> None:
        if live := _LIVE.get(self.path):
            live.release()

    def reduce_to(self, edits: list[Edit]) -> None:
        """Keep only the given edits in the file. If there are none, remove the file.

        If the new file cannot be written, the old file is kept with all edits.
        """
        if not edits:
            return self.remove()
        part = self.path.with_suffix(".part")
        lines = [_header(self.url, self.branch), add_line(edits)]
        if not self.complete:
            lines.append({"do": "full"})
        try:
            with open(os.open(part, os.O_WRONLY | os.O_TRUNC | os.O_CREAT, 0o600), "w") as file:
                file.write("".join(f"{json.dumps(line)}\n" for line in lines))
            self._release()  # this removes the old file
            part.replace(self.path)
        except OSError:
            _unlink(part)
        return None


def _header(url: str, branch: str) -> dict[str, object]:
    return {"format": FORMAT, "url": url, "branch": branch}


def folder_of(url: str) -> Path | None:
    """Return the folder of a lake's drafts, or None for a lake in memory."""
    if url.startswith(MEMORY):
        return None
    local = local_folder(url)
    location = url if local is None else os.path.abspath(local)
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "deeplake_lite" / "drafts" / xxhash.xxh3_64_hexdigest(location.encode())


def drafts_in(folder: Path, branch: str, excluded: Journal | None) -> Iterator[Draft]:
    """Yield the drafts for a branch, the newest first, without the journal `excluded`."""
    files = sorted(folder.glob("*.jsonl"), key=_modified, reverse=True)
    for path in files[:MAX_DRAFTS]:
        is_excluded = excluded is not None and path == excluded.path
        if not is_excluded and not _is_written_elsewhere(path):
            draft = _read(path)
            if draft is not None and draft.branch == branch and draft.edits:
                yield draft


def _is_written_elsewhere(path: Path) -> bool:
    """Return whether a browser in another process has locked a file."""
    if path in _LIVE:
        return False
    lock = filelock.FileLock(path.with_suffix(".lock"))
    try:
        with lock.acquire(timeout=0):
            return False
    except (filelock.Timeout, OSError):
        return True


def _read(path: Path) -> Draft | None:
    """Read a draft. Return None if the file is not a draft or has another format."""
    staged, complete = Staged(), True
    if not path.is_file():  # opening a pipe would block
        return None
    try:
        with path.open(encoding="utf-8") as lines:
            header = json.loads(next(lines))
            if header["format"] != FORMAT:
                return None
            url, branch = str(header.get("url", "")), str(header["branch"])
            for line in lines:
                complete = line.endswith("\n") and _replay(line, staged)
                if not complete:
                    break
    except (OSError, StopIteration, *_MISREAD):
        return None
    changed = dt.datetime.fromtimestamp(_modified(path), dt.UTC)
    return Draft(path, url, branch, staged.edits, complete, changed.isoformat())


def _replay(line: str, staged: Staged) -> bool:
    """Replay the step in a line, and return whether the line could be read."""
    try:
        match json.loads(line):
            case {"do": "add", "edits": edits}:
                staged.add([_edit_from_json(document) for document in edits])
            case {"do": "undo"}:
                staged.undo()
            case {"do": "redo"}:
                staged.redo()
            case {"do": "drop", "id": number, "also": [*also]}:
                staged.drop(number, also)
            case {"do": "drop", "id": number}:
                staged.drop(number)
            case _:
                return False
    except _MISREAD:
        return False
    return True


# ---- edits as JSON


def add_line(edits: list[Edit]) -> dict[str, object]:
    """Return the line that records that edits were added, as a dict for JSON."""
    return {"do": "add", "edits": [_edit_to_json(edit) for edit in edits]}


def _edit_to_json(edit: Edit) -> dict[str, object]:
    return {
        "id": edit.id,
        "column": edit.column,
        "field": edit.field_id,
        "op": edit.op,
        "ids": _pack(edit.ids.astype("<i8")),
        "value": _value_to_json(edit.value),
        "seen": None if edit.seen is None else _pack(edit.seen.astype("<u8")),
        "what": edit.what,
        "with_next": edit.with_next,
    }


def _edit_from_json(document: dict[str, Any]) -> Edit:
    ids, seen = _unpack(document["ids"], "<i8"), document["seen"]
    digests = None if seen is None else _unpack(seen, "<u8").astype(np.uint64)
    if document["op"] not in ("set", "add_tag", "remove_tag") or not (np.diff(ids) > 0).all():
        raise ValueError("the rows of an edit must be in ascending order")
    if digests is not None and len(digests) != len(ids):
        raise ValueError("an edit must have a digest for each row")
    return Edit(
        int(document["id"]),
        str(document["column"]),
        str(document["field"]),
        document["op"],
        ids.astype(np.int64),
        _value_from_json(document["value"]),
        digests,
        str(document["what"]),
        document.get("with_next") is True,
    )


def _pack(numbers: NDArray[Any]) -> str:
    return base64.b64encode(zlib.compress(numbers.tobytes(), 1)).decode("ascii")


def _unpack(text: str, dtype: str) -> NDArray[Any]:
    decompressor = zlib.decompressobj()
    data = decompressor.decompress(base64.b64decode(text), MAX_BYTES)
    if not decompressor.eof:
        raise ValueError("an edit has more rows than fit into a file")
    return np.frombuffer(data, dtype)


def _value_to_json(value: object) -> object:
    """Convert a cell to JSON. Dicts, arrays and times become tagged objects.

    >>> _value_to_json({"a": [1, None]})
    {'json': {'a': [1, None]}}
    >>> _value_from_json(_value_to_json(np.zeros((1, 2), "uint8")))
    array([[0, 0]], dtype=uint8)
    """
    match value:
        case dict():
            return {"json": value}
        case np.ndarray():
            plain = np.ascontiguousarray(value)
            data = base64.b64encode(plain.tobytes()).decode("ascii")
            return {"array": data, "dtype": plain.dtype.str, "shape": list(plain.shape)}
        case np.datetime64() | np.timedelta64():
            return {"number": int(value.astype("int64")), "dtype": value.dtype.str}
        case np.generic():
            return value.item()
        case list() | tuple():
            return [_value_to_json(part) for part in value]
    return value


def _value_from_json(value: object) -> object:
    match value:
        case {"json": document}:
            return document
        case {"array": data, "dtype": dtype, "shape": shape}:
            return np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()
        case {"number": number, "dtype": dtype}:
            return np.int64(number).view(dtype)
        case list():
            return [_value_from_json(part) for part in value]
    return value


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # another browser has removed it
        return 0.0


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
