"""The journal of an export, which lists finished files so that the export can be resumed.

The journal is a file in the folder of the export. Its first line describes the export, and each
further line describes a finished file, all as JSON. The journal is removed at the end::

    {"export": "to_webdataset", "identity": "5f0c…", "files": 12}
    {"path": "000000.tar", "rows": 1000, "bytes": 536870912, "info": {}}
"""

from __future__ import annotations

import contextlib
import json
import shutil
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import ExistsError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

NAME = ".unfinished-export.jsonl"
"""File name of the journal."""

DRAFT = ".part"
"""Suffix of the name of a file that is being written."""


@dataclass(frozen=True)
class Written:
    """A finished file of an export."""

    path: str
    """Path relative to the folder of the export."""

    rows: int
    """Number of rows in the file."""

    bytes: int
    """Size of the file, in bytes."""

    info: Mapping[str, Any]
    """JSON values about the file, for the index of the export."""


_KEYS = {f.name for f in fields(Written)}


class Journal:
    """The journal of an export in a folder."""

    def __init__(self, root: Path, header: Mapping[str, Any], done: Mapping[str, Written]) -> None:
        self.done = dict(done)
        """Maps paths to the finished files."""

        self._path = root / NAME
        lines = [header, *map(asdict, done.values())]
        draft = root / f"{NAME}{DRAFT}"  # renamed, so that a kill cannot leave half a journal
        draft.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
        draft.replace(self._path)

    def add(self, written: Written) -> None:
        """Record a finished file."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(asdict(written))}\n")
        self.done[written.path] = written

    def remove(self) -> None:
        """Remove the journal, because the export is complete."""
        self._path.unlink()


@contextlib.contextmanager
def resumable_folder(root: Path, header: Mapping[str, Any]) -> Iterator[Journal]:
    """Create the folder of an export, or continue an interrupted export.

    After an error that may be temporary (a full disk, a failing store, Ctrl-C), finished files
    stay, and a note added to the error says so. After any other error, the folder is emptied, or
    removed if it is new.

    Parameters
    ----------
    root : Path
        The folder.
    header : mapping
        JSON values that identify the export: the name of the method under the key ``export``, the
        number of files under the key ``files``, and everything else that the files depend on.

    Raises
    ------
    ExistsError
        If the folder is not empty, and does not hold the same export.
    """
    is_new = not root.exists()
    done = {} if is_new else _finished(root, header)
    root.mkdir(parents=True, exist_ok=True)
    remove_drafts(root)
    journal = Journal(root, header, done)
    try:
        yield journal
        remove_drafts(root)
        journal.remove()
    except BaseException as error:
        if journal.done and isinstance(error, KeyboardInterrupt | StorageError | OSError):
            remove_drafts(root)
            error.add_note(
                f"The export has written {len(journal.done):,} of {header['files']:,} files. Call "
                f"{header['export']} again with the same arguments to resume, or delete "
                f"{str(root)!r}."
            )
        else:
            _clear(root, remove=is_new)
        raise


def remove_drafts(root: Path) -> None:
    """Remove incomplete files of killed processes."""
    for draft in root.rglob(f".*{DRAFT}"):
        draft.unlink(missing_ok=True)


def _finished(root: Path, header: Mapping[str, Any]) -> dict[str, Written]:
    """Return a dict from paths to the files that the same export has already finished.

    Raises ExistsError if the folder holds anything but the same export.
    """
    method = header["export"]
    if not root.is_dir():
        raise ExistsError(
            f"{method} writes to a new or empty folder, but {str(root)!r} is a file. Choose "
            "another path."
        )
    if all(path.name == f"{NAME}{DRAFT}" for path in root.iterdir()):
        return {}
    if not (root / NAME).is_file():
        raise ExistsError(
            f"{method} writes to a new or empty folder, but {str(root)!r} is not empty. Choose "
            "another path."
        )
    lines = _lines(root / NAME)
    if not lines or lines[0] != json.loads(json.dumps(header)):
        raise ExistsError(
            f"{method} cannot continue the unfinished export in {str(root)!r}, because its rows or "
            "options are different. Delete the folder, or choose another path."
        )
    written = [Written(**line) for line in lines[1:] if line.keys() == _KEYS]
    return {w.path: w for w in written if has_size(root / w.path, w.bytes)}


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a journal as a list of dicts, up to the first incomplete line."""
    lines = []
    for text in path.read_text("utf-8", errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            break
        if isinstance(line, dict):
            lines.append(line)
    return lines


def has_size(path: Path, size: int) -> bool:
    """Return whether a file exists and has a size in bytes."""
    return path.is_file() and path.stat().st_size == size


def _clear(root: Path, *, remove: bool) -> None:
    """Empty a folder, or remove it."""
    for part in [root] if remove else list(root.iterdir()):
        shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink()
