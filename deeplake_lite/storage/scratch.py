"""Chunks that open transactions write before their commit, and the claims that reserve them.

A `Scratch` collects the chunks that a transaction has written up to one of its edits, in a fork of
the version that the transaction builds on. Each edit gets its own scratch. If the edit fails, its
scratch is dropped with all of its chunks, and the previous edit's scratch is unchanged::

    edit 1 ──► scratch 1 {10}
    edit 2 ──► scratch 2 {10, 11, 12}    fails: dropped
    edit 3 ──► scratch 3 {10, 11'}       built on scratch 1

`Ranges` claims ranges of heap chunks for one transaction. In a local lake, writers coordinate
through the folder ``.writers/``. Each open transaction has a file there, which records when it
started, the version that it builds on and its claims. It also holds a file lock, which the
operating system releases if the process dies. A claim has a start but no end, because it is not yet
known how much the transaction will write. So the next claim begins some distance after it, which
the code calls the room of the claim::

     taken             claim of A            claim of B
    ─────────────────►├─────────────────────┼─────────────────────►
                     end            end + room(end)

On an object store, a claim begins at a random chunk within that distance after the last chunk that
is taken in the transaction's version, and the commit checks that no other writer has taken the same
chunks. Locally and on
object stores, some chunk numbers are never used. The distance shrinks with the number of chunks
that are left.

If a process is killed, its lock becomes free. The next writer that looks at its file detects this
and removes the file, and thereby the claim. The chunks that the dead process has written belong to
no version, and a vacuum deletes them.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import re
import weakref
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypedDict, cast
from uuid import uuid4

from deeplake_lite.errors import DamagedError
from deeplake_lite.lazy import LazyModule
from deeplake_lite.storage.repo import in_thread, local_folder, run, translate_file_errors
from deeplake_lite.storage.repo.locks import take_lock
from deeplake_lite.storage.state import MAX_CHUNKS, State

if TYPE_CHECKING:
    import secrets
    from collections.abc import Iterable
    from io import FileIO
    from pathlib import Path

    from deeplake_lite.storage.repo import Repository, Session
else:
    secrets = LazyModule("secrets")

ROOM = 16
"""The room of a claim is the number of chunks that are left, shifted right by this many bits. In a
new heap, the room is 4,096 chunks, or 16 GiB of encoded samples."""

MIN_ROOM = 2**6
"""Smallest room of a claim, in chunks. If a transaction outgrows its room and collides with another
transaction's chunks, its commit copies the cells."""


class Scratch:
    """Chunks that an open transaction has written up to one of its edits.

    Parameters
    ----------
    repository : Repository
        The lake.
    branch : str
        The branch that the transaction will commit to.
    version : str
        Snapshot id of the version that the transaction started from.
    state : State
        The document of that version.
    """

    def __init__(self, repository: Repository, branch: str, version: str, state: State) -> None:
        self._ranges = Ranges(repository, branch, version, state)
        self._chunks: _Chunks | None = None
        self._has_own_chunks = False

    def forked(self) -> Scratch:
        """Return the scratch of the next edit, which starts with the chunks of this scratch."""
        fork = copy.copy(self)
        fork._has_own_chunks = False
        return fork

    def collected(self) -> Session | None:
        """Return a session with exactly the chunks of this scratch, or None if there are none."""
        return None if self._chunks is None else self._chunks.session()

    async def fork(self) -> Session:
        """Return the session to which chunks are written.

        The previous edit's session is only taken over when the first chunk is written, because most
        edits do not write chunks, and saving a session takes time.
        """
        if not self._has_own_chunks:
            earlier = self._chunks
            session = await in_thread(self._ranges.fork) if earlier is None else earlier.hand_over()
            self._chunks, self._has_own_chunks = _Chunks(session), True
        return cast("_Chunks", self._chunks).session()

    async def claim(self, path: str) -> int:
        """Claim a free range of chunks in the array at `path`; return its first chunk number."""
        return await in_thread(self._ranges.claim, path)

    def release(self) -> None:
        """Withdraw the claims, after a commit or a discard."""
        self._ranges.release()


class _Chunks:
    """The chunks that were in a session when an edit ended.

    Copying a session is expensive, so the next edit writes to the same session. If that edit fails,
    the session contains the chunks of both edits. A session with only the earlier chunks is then
    recreated from the serialized form, which was saved before the session was handed over.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._saved: bytes | None = None
        """The serialized session, or None while no later edit has written to it."""

    def session(self) -> Session:
        """Return a session that contains exactly these chunks."""
        if self._saved is not None:
            self._session, self._saved = self._session.at(self._saved), None
        return self._session

    def hand_over(self) -> Session:
        """Return the session for the next edit to write to."""
        session = self.session()
        self._saved = session.saved()
        return session


class Ranges:
    """The ranges of heap chunks that a transaction has claimed.

    The parameters are those of `Scratch`.
    """

    def __init__(self, repository: Repository, branch: str, version: str, state: State) -> None:
        self._repository, self._branch = repository, branch
        self._version, self._state = version, state
        local = local_folder(repository.url) is not None
        folder = repository.writers_folder() if local else None
        self._registration = None if folder is None else Registration.enter(folder, version)
        # Nothing calls `release` if a handle is garbage-collected without a commit or discard. In
        # this case, the finalizer calls `leave`.
        entry = self._registration
        self._leave = None if entry is None else weakref.finalize(self, entry.leave)
        self._claims: dict[str, int] = {}

    def fork(self) -> Session:
        """Return a session that collects chunks on top of the transaction's version."""
        return self._repository.fork(self._branch, self._version)

    def release(self) -> None:
        """Withdraw the claims."""
        if self._leave is not None:
            self._leave()

    def claim(self, path: str) -> int:
        """Claim a free range of chunks in the array at `path`; return its first chunk number."""
        if self._registration is None:  # looking at the branch's tip would take several requests
            end = self._state.heaps.get(path, 0)
            return min(MAX_CHUNKS, end + secrets.randbelow(room(end)))
        with self._repository.lock("claims"):
            # Read the claims of other writers before the end of the heap. A writer that commits
            # moves the end and then withdraws its claim, so at least one of our two reads sees its
            # chunks. If we read in the opposite order, that writer could commit and withdraw its
            # claim between our reads.
            others = [claims[path] for claims in self._registration.others() if path in claims]
            self._claims[path] = first_free(self._end(path), others)
            self._registration.write(self._claims)
        return self._claims[path]

    def _end(self, path: str) -> int:
        """Return the first chunk that is unused both in our version and at the branch's tip."""
        tip = State.from_json(run(self._repository.writer(self._branch).attributes()))
        return max(self._state.heaps.get(path, 0), tip.heaps.get(path, 0))


def room(end: int) -> int:
    """Return the number of chunks from a claim at `end` to the start of the next claim.

    With this formula, a heap has space for 350,000 overlapping transactions, and for twice as many
    on an object store.

    >>> room(0), room(2**27), room(2**28)
    (4096, 2048, 64)
    """
    return max(MIN_ROOM, (MAX_CHUNKS - end) >> ROOM)


def first_free(end: int, claims: Iterable[int]) -> int:
    """Return the first chunk, from `end` on, that is at least `room(end)` chunks from all claims.

    >>> first_free(0, []), first_free(0, [0]), first_free(0, [0, 4096]), first_free(0, [8192])
    (0, 4096, 8192, 0)
    """
    size, start = room(end), end
    for claim in sorted(claims):
        if start + size <= claim:
            break
        start = max(start, claim + size)
    return min(start, MAX_CHUNKS)


class Direct:
    """The scratch of a writer that holds the lock and writes chunks directly to its session."""

    def __init__(self, session: Session, ends: dict[str, int]) -> None:
        self._session, self._ends = session, ends

    def forked(self) -> Direct:
        """Return this object, since such a writer commits all of its edits or none."""
        return self

    def collected(self) -> None:
        """Return None, since there is no session to merge."""

    async def fork(self) -> Session:
        """Return the writer's own session."""
        return self._session

    async def claim(self, path: str) -> int:
        """Return the first unused chunk number of the array at `path`."""
        return self._ends.get(path, 0)

    def release(self) -> None:
        """Do nothing, since nothing was claimed."""


class Registration:
    """The entry of one writer in the registry ``.writers/`` of a local lake.

    The entry consists of two files with the same random name: ``<name>.lock``, which the process
    keeps locked, and ``<name>.json`` with a `Note`. The lock is taken before the note is written,
    and is released after the note is removed, so a note without a locked file belongs to a dead
    writer.

    Parameters
    ----------
    folder : Path
        The folder ``.writers/``.
    name : str
        Name of this writer's files, without the suffix.
    version : str
        Snapshot id of the version that the writer builds on.
    """

    def __init__(self, folder: Path, name: str, version: str) -> None:
        self._folder, self._name, self._version = folder, name, version
        self._lock: FileIO | None = None
        self._started = datetime.now(UTC)
        self._process, self._left = os.getpid(), False

    @classmethod
    def enter(cls, folder: Path, version: str) -> Registration:
        """Register a writer."""
        registration = cls(folder, uuid4().hex, version)
        try:
            with translate_file_errors():
                registration._lock = take_lock(folder / f"{registration._name}.lock")
            registration.write({})
        except BaseException:
            registration.leave()
            raise
        return registration

    def write(self, claims: dict[str, int]) -> None:
        """Publish the claims, so that other writers do not write to the claimed chunks."""
        note = Note(started=self._started.isoformat(), version=self._version, claims=claims)
        draft = self._folder / f"{self._name}.draft"
        with translate_file_errors():
            draft.write_text(json.dumps(note))
            draft.replace(self._folder / f"{self._name}.json")

    def others(self) -> list[dict[str, int]]:
        """Return the claims of all other live writers, one dict per writer."""
        return [note["claims"] for note in open_transactions(self._folder, but=self._name)]

    def leave(self) -> None:
        """Remove the entry, unless it has been removed already.

        A forked process has copies of its parent's handles. There, this method does nothing,
        because the entry belongs to the parent process.
        """
        if self._left or os.getpid() != self._process:
            return
        self._left = True
        try:
            for kind in ("draft", "json"):
                self._remove(kind)
        finally:  # after an interrupt, this process must not hold the lock until it ends
            if self._lock is not None:
                self._lock.close()
        self._remove("lock")

    def _remove(self, kind: str) -> None:
        """Remove one of our files. If that fails, the next writer removes it."""
        with contextlib.suppress(OSError):
            (self._folder / f"{self._name}.{kind}").unlink()


class Note(TypedDict):
    """The record of an open transaction that other writers read."""

    started: str
    """When the transaction began (ISO 8601, UTC), or the time of its files if that is earlier."""
    version: str
    """Snapshot id of the version that the transaction builds on."""
    claims: dict[str, int]
    """A dict that maps the path of each array ``values`` in which the transaction has claimed a
    range to the first chunk of this range."""


def open_transactions(folder: Path, *, but: str = "") -> list[Note]:
    """Return the notes of live writers, and remove the notes of dead ones.

    Raises
    ------
    DamagedError
        When a note cannot be read, which leaves its writer's claims unknown.
    StorageError
        When the folder is not writable.
    """
    notes = []
    with translate_file_errors():
        for path in map(folder.joinpath, os.listdir(folder) if folder.exists() else ()):
            if path.suffix != ".json" or path.stem == but:
                continue
            try:
                # If the lock can be acquired, the writer is dead.
                with take_lock(path.with_suffix(".lock"), timeout=0):
                    path.unlink(missing_ok=True)
                path.with_suffix(".lock").unlink(missing_ok=True)
            except TimeoutError:
                with contextlib.suppress(FileNotFoundError):  # the writer has ended in the meantime
                    notes.append(_with_time_of_files(_read_note(path), path))
    return notes


def clear_dead(folder: Path) -> None:
    """Remove the files of killed writers: notes, drafts of notes, locks and tickets.

    Raises
    ------
    DamagedError
        When the note of a live writer cannot be read.
    StorageError
        When the folder is not writable.
    """
    open_transactions(folder)
    with translate_file_errors():
        for path in list(folder.iterdir()):
            of_writer = re.fullmatch(r"[0-9a-f]{32}", path.stem) is not None
            if path.suffix == ".ticket" or (of_writer and path.suffix in (".lock", ".draft")):
                lock = path if path.suffix == ".ticket" else path.with_suffix(".lock")
                with contextlib.suppress(TimeoutError), take_lock(lock, timeout=0):
                    path.unlink(missing_ok=True)
                    lock.unlink(missing_ok=True)


def _read_note(path: Path) -> Note:
    """Read the note of a live writer. Raises DamagedError."""
    try:
        return _parse_note(json.loads(path.read_bytes()))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedError(
            "A file in which another writer of this lake records its chunks cannot be read: "
            f"{str(path)!r}. Wait until the writer has committed or ended, then try again."
        ) from error


def _with_time_of_files(note: Note, path: Path) -> Note:
    """Return the note, with the time of its files as its start if that is earlier.

    A vacuum compares the start with the times of chunk files, which come from the file system's
    clock. That clock may be behind the writer's, or the writer's clock may have been set back.
    """
    files = (path, path.with_suffix(".lock"))
    made = datetime.fromtimestamp(min(file.stat().st_mtime for file in files), UTC)
    started = min(made, datetime.fromisoformat(note["started"]))
    return Note(started=started.isoformat(), version=note["version"], claims=note["claims"])


def _parse_note(document: Any) -> Note:
    """Check the fields of a note. Raises ValueError, LookupError, TypeError or AttributeError.

    >>> _parse_note({"started": "2026-01-31T00:00:00+00:00", "version": "X", "claims": {"v": -1}})
    Traceback (most recent call last):
    ValueError: a claim begins before the first chunk
    """
    claims = {str(heap): int(start) for heap, start in document["claims"].items()}
    if min(claims.values(), default=0) < 0:
        raise ValueError("a claim begins before the first chunk")
    if datetime.fromisoformat(document["started"]).tzinfo is None:
        raise ValueError("the start has no time zone")
    return Note(started=document["started"], version=str(document["version"]), claims=claims)
