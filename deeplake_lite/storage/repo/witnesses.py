"""Notes on which version each branch and tag of a local lake named when it was last written.

The file of a branch or tag can be lost, or replaced by that of another or by an older one of its
own, and still reads well. So writers note beside it what they made it name: right after a commit,
so that a process killed in between leaves a note of the version before, and the branch has only
moved on from there. Notes are forgotten before a branch or tag is deleted.

A branch has an identity, random digits that its note and its commits carry: a file of an earlier
branch of the same name leads to commits of another identity.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

import xxhash

from deeplake_lite.errors import LakeError
from deeplake_lite.storage.chunk_files import read_file

if TYPE_CHECKING:
    from pathlib import Path

SUFFIX = ".ref"

MOST_BYTES = 4_096
"""Most bytes of a note."""


class Note(NamedTuple):
    """Where a writer left a branch or tag."""

    version: str
    """What it named."""
    identity: str = ""
    """What tells a branch from others of its name; empty for a tag, whose name is used once."""


def new_identity() -> str:
    """Return an identity for a new branch."""
    return uuid4().hex[:16]


class Witnesses:
    """Notes on what refs name, one small file each.

    Parameters
    ----------
    folder : Path
        Where they are; it need not be there.

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
        """Note what a ref names. A store that takes no note keeps an older one, or none."""
        draft = self._folder / f"{uuid4().hex}.draft"  # a vacuum clears those of killed processes
        with contextlib.suppress(OSError):
            try:
                draft.write_text(json.dumps(_sealed(ref, note)))
                draft.replace(self._path(ref))
            except OSError:
                draft.unlink(missing_ok=True)
                raise

    def forget(self, ref: str) -> None:
        """Remove the note on a ref. Raises OSError where it stays."""
        self._path(ref).unlink(missing_ok=True)

    def of(self, ref: str) -> Note | None:
        """Return the note on a ref; None where there is no note that reads."""
        found = _read(self._path(ref))
        return found[1] if found is not None and found[0] == ref else None

    def all(self) -> dict[str, Note]:
        """Return the notes there are, by ref."""
        try:
            paths = sorted(self._folder.glob(f"*{SUFFIX}"))
        except OSError:
            return {}
        return dict(found for found in map(_read, paths) if found is not None)

    def _path(self, ref: str) -> Path:
        """Return the file of a note: names of refs may be too long for a suffix."""
        name = ref.encode(errors="surrogatepass")  # whatever a user asks for
        return self._folder / f"{xxhash.xxh3_64_hexdigest(name)}{SUFFIX}"


def _sealed(ref: str, note: Note) -> dict[str, str]:
    digest = xxhash.xxh3_64_hexdigest(f"{ref} {note.version} {note.identity}".encode())
    return {"ref": ref, **note._asdict(), "digest": digest}


def _read(path: Path) -> tuple[str, Note] | None:
    """Return a ref and the note on it; None where the file is not there or no note."""
    try:
        found = json.loads(read_file(str(path), MOST_BYTES))
        ref, note = found["ref"], Note(found["version"], found["identity"])
        if all(isinstance(text, str) for text in (ref, *note)) and found == _sealed(ref, note):
            return ref, note
    except (OSError, LakeError, ValueError, LookupError, TypeError, RecursionError):
        pass
    return None
