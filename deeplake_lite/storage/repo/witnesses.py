"""Notes on which version each branch and tag of a local lake named when it was last written.

The file of a branch or tag can be lost, or replaced by that of another or by an older one of its
own, and still reads well. So writers note beside it what they made it name: right after a commit,
so that a process killed in between leaves a note of the version before, and the branch has only
moved on from there. Notes are forgotten before a branch or tag is deleted.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING
from uuid import uuid4

import xxhash

from deeplake_lite.errors import LakeError
from deeplake_lite.storage.chunk_files import read_file

if TYPE_CHECKING:
    from pathlib import Path

SUFFIX = ".ref"

MOST_BYTES = 4_096
"""Most bytes of a note."""


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
    ...     witnesses.note("branch.main", "1CECHNKREP0F1RSTCMT0")
    ...     witnesses.all()
    {'branch.main': '1CECHNKREP0F1RSTCMT0'}
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, ref: str, version: str) -> None:
        """Note what a ref names. A store that takes no note keeps an older one, or none."""
        draft = self._folder / f"{uuid4().hex}.draft"  # a vacuum clears those of killed processes
        with contextlib.suppress(OSError):
            try:
                draft.write_text(json.dumps(_sealed(ref, version)))
                draft.replace(self._path(ref))
            except OSError:
                draft.unlink(missing_ok=True)
                raise

    def forget(self, ref: str) -> None:
        """Remove the note on a ref. Raises OSError where it stays."""
        self._path(ref).unlink(missing_ok=True)

    def of(self, ref: str) -> str | None:
        """Return what a ref named; None where there is no note that reads."""
        found = _read(self._path(ref))
        return found[1] if found is not None and found[0] == ref else None

    def all(self) -> dict[str, str]:
        """Return what each ref named of which there is a note."""
        try:
            paths = sorted(self._folder.glob(f"*{SUFFIX}"))
        except OSError:
            return {}
        return dict(note for note in map(_read, paths) if note is not None)

    def _path(self, ref: str) -> Path:
        """Return the file of a note: names of refs may be too long for a suffix."""
        name = ref.encode(errors="surrogatepass")  # whatever a user asks for
        return self._folder / f"{xxhash.xxh3_64_hexdigest(name)}{SUFFIX}"


def _sealed(ref: str, version: str) -> dict[str, str]:
    digest = xxhash.xxh3_64_hexdigest(f"{ref} {version}".encode())
    return {"ref": ref, "version": version, "digest": digest}


def _read(path: Path) -> tuple[str, str] | None:
    """Return a ref and what it named; None where the file is not there or no note."""
    try:
        found = json.loads(read_file(str(path), MOST_BYTES))
        ref, version = found["ref"], found["version"]
        if isinstance(ref, str) and isinstance(version, str) and found == _sealed(ref, version):
            return ref, version
    except (OSError, LakeError, ValueError, LookupError, TypeError, RecursionError):
        pass
    return None
