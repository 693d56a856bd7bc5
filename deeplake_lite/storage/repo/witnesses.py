"""Notes on the branches and tags of a local lake, in which writers record their versions.

The file of a ref (a branch or tag) may get lost, or be replaced with another branch's file or with
an old copy, and the lake would still open. So writers also record the version in a second file, the
note. A process may be killed between any two steps, but the files that it leaves never look like
damage:

============================  =======================  =========================================
operation                     killed after             left behind
============================  =======================  =========================================
commit: branch, then note     the branch has moved     a note of an older version in the
                                                       history of the branch
create: ref, then note        the ref is created       a ref without a note, which is accepted
delete: note, then ref        the note is deleted      a ref without a note
============================  =======================  =========================================

Each branch has an identity, which consists of random digits in its note and in its commits. The
identity distinguishes the branch from an earlier branch of the same name: an old copy of the
earlier branch's file refers to commits with a different identity.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

import xxhash

from deeplake_lite.errors import LakeError
from deeplake_lite.storage.chunk_files import read_file

if TYPE_CHECKING:
    from pathlib import Path

SUFFIX = ".ref"

MAX_BYTES = 4_096
"""Maximum size of a note's file in bytes."""


class Note(NamedTuple):
    """The version that a writer has recorded for a branch or tag."""

    version: str
    """Snapshot id of the version."""
    identity: str = ""
    """Identity of a branch; empty for a tag, whose name can be used only once."""


def new_identity() -> str:
    """Return an identity for a new branch."""
    return uuid4().hex[:16]


class Witnesses:
    """The notes of a lake, stored in one small file for each ref.

    Parameters
    ----------
    folder : Path
        The folder for the files, which need not exist.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     witnesses = Witnesses(Path(folder))
    ...     witnesses.note("branch.main", Note("1CECHNKREP0F1RSTCMT0", "5b2d"))
    ...     witnesses.all()
    {'branch.main': Note(version='1CECHNKREP0F1RSTCMT0', identity='5b2d')}
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, ref: str, note: Note) -> None:
        """Write the note on a ref. If the folder is not writable, an old note stays unchanged."""
        draft = self._folder / f"{uuid4().hex}.draft"  # vacuums delete drafts of killed processes
        with contextlib.suppress(OSError):
            try:
                draft.write_text(json.dumps(_to_json(ref, note)))
                draft.replace(self._path(ref))
            except OSError:
                draft.unlink(missing_ok=True)
                raise

    def forget(self, ref: str) -> None:
        """Delete the note on a ref. Raises OSError if that fails."""
        self._path(ref).unlink(missing_ok=True)

    def of(self, ref: str) -> Note | None:
        """Return the note on a ref, or None if there is no note or it cannot be read."""
        entry = _read(self._path(ref))
        return entry[1] if entry is not None and entry[0] == ref else None

    def all(self) -> dict[str, Note]:
        """Return a dict from ref to note, of all notes that can be read."""
        try:
            names = sorted(name for name in os.listdir(self._folder) if name.endswith(SUFFIX))
        except OSError:
            return {}
        return dict(
            entry for entry in map(_read, map(self._folder.joinpath, names)) if entry is not None
        )

    def _path(self, ref: str) -> Path:
        """Return the path of the note on a ref.

        The file's name is a digest, because the ref's name may be too long for a file name.
        """
        name = ref.encode(errors="surrogatepass")  # users may pass any string
        return self._folder / f"{xxhash.xxh3_64_hexdigest(name)}{SUFFIX}"


def _to_json(ref: str, note: Note) -> dict[str, str]:
    """Return the JSON document of a note, which contains a digest to detect damage."""
    digest = xxhash.xxh3_64_hexdigest(f"{ref} {note.version} {note.identity}".encode())
    return {"ref": ref, **note._asdict(), "digest": digest}


def _read(path: Path) -> tuple[str, Note] | None:
    """Return a ref and the note on it, or None if the file is missing or invalid."""
    try:
        document = json.loads(read_file(str(path), MAX_BYTES))
        ref, note = document["ref"], Note(document["version"], document["identity"])
        if all(isinstance(text, str) for text in (ref, *note)) and document == _to_json(ref, note):
            return ref, note
    except (OSError, LakeError, ValueError, LookupError, TypeError, RecursionError):
        pass
    return None
