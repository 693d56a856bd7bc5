"""Where an open transaction puts chunks, and how writers keep out of each other's way.

A `Scratch` has the chunks that a transaction has written up to one of its edits, in a fork of the
version that it builds on. The next edit gets a scratch of its own, so that one that fails leaves no
chunk behind: nobody uses its scratch.

`Ranges` are free ranges of heap chunks, claimed by one transaction. On a local folder writers meet
in ``.writers/``: each open transaction keeps a file there with its start, the version that it
builds on and its claims, under a file lock that the operating system drops when the process dies.
On an object store a claim begins at a random chunk near the end; the commit checks that nobody else
took it. Either way some chunks are left free that nobody ever takes, fewer where fewer are left.
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
from deeplake_lite.storage.repo import in_thread, local_folder, run, translated_files
from deeplake_lite.storage.repo.locks import take_lock
from deeplake_lite.storage.state import MOST_CHUNKS, State

if TYPE_CHECKING:
    import secrets
    from collections.abc import Iterable
    from io import FileIO
    from pathlib import Path

    from deeplake_lite.storage.repo import Repository, Session
else:
    secrets = LazyModule("secrets")

ROOM = 16
"""Chunks left free behind another writer's claim, which still grows: what is left of the heap,
shifted right by this. At first 4,096 of them, 16 GiB of encoded samples. On an object store a claim
begins within as many chunks behind the last one taken."""

LEAST_ROOM = 2**6
"""Chunks left free at the least. A transaction that outgrows its room, and meets chunks of another,
is copied by its commit."""


class Scratch:
    """Chunks that an open transaction has written, up to one of its edits.

    Parameters
    ----------
    repository : Repository
        The lake.
    branch : str
        The branch that the transaction will commit to.
    version : str
        Snapshot id of the version that it started from.
    state : State
        That version's document.
    """

    def __init__(self, repository: Repository, branch: str, version: str, state: State) -> None:
        self._ranges = Ranges(repository, branch, version, state)
        self._collected: _Collected | None = None
        self._is_begun = False

    def forked(self) -> Scratch:
        """Return the scratch of one more edit; it writes behind this one's chunks."""
        fork = copy.copy(self)
        fork._is_begun = False
        return fork

    def collected(self) -> Session | None:
        """Return a session with the chunks that were written, and no others; None without any."""
        return None if self._collected is None else self._collected.session()

    async def fork(self) -> Session:
        """Return the session that collects chunks."""
        if not self._is_begun:
            before = self._collected
            session = await in_thread(self._ranges.fork) if before is None else before.hand_on()
            self._collected, self._is_begun = _Collected(session), True
        return cast("_Collected", self._collected).session()

    async def claim(self, path: str) -> int:
        """Return the first of a free range of heap chunks."""
        return await in_thread(self._ranges.claim, path)

    def release(self) -> None:
        """Give the place among the writers back, after a commit or a discard."""
        self._ranges.release()


class _Collected:
    """The chunks of a session that were there when an edit was done.

    The next edit that writes takes the session over. Should that edit fail, its chunks are in the
    session, too: then there is another one, made of what was saved before.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._saved: bytes | None = None

    def session(self) -> Session:
        """Return a session that has these chunks, and no others."""
        if self._saved is not None:
            self._session, self._saved = self._session.at(self._saved), None
        return self._session

    def hand_on(self) -> Session:
        """Return that session, for another edit to write to."""
        session = self.session()
        self._saved = session.saved()
        return session


class Ranges:
    """Free ranges of heap chunks, and the place among the writers by which they are claimed.

    Its parameters are those of a `Scratch`.
    """

    def __init__(self, repository: Repository, branch: str, version: str, state: State) -> None:
        self._repository, self._branch = repository, branch
        self._version, self._state = version, state
        local = local_folder(repository.url) is not None
        self._desk = Desk.take(repository.writers_folder(), version) if local else None
        self._leave = None if self._desk is None else weakref.finalize(self, self._desk.leave)
        """Is called at the latest where a handle is just dropped, which nobody releases."""
        self._claims: dict[str, int] = {}

    def fork(self) -> Session:
        """Return a session that collects chunks on top of the version."""
        return self._repository.fork(self._branch, self._version)

    def release(self) -> None:
        """Give the place among the writers back."""
        if self._leave is not None:
            self._leave()

    def claim(self, path: str) -> int:
        """Return the first of a free range of the chunks of the array at `path`."""
        if self._desk is None:
            end = self._end(path)
            return min(MOST_CHUNKS, end + secrets.randbelow(room(end)))
        with self._repository.lock("claims"):
            others = [claims[path] for claims in self._desk.others() if path in claims]
            self._claims[path] = first_free(self._end(path), others)
            self._desk.write(self._claims)
        return self._claims[path]

    def _end(self, path: str) -> int:
        """Return the chunk behind the last one taken, in our version and on the branch now.

        Asked after the claims of others: a writer that commits gives its claim back only then.
        """
        tip = State.from_json(run(self._repository.writer(self._branch).attributes()))
        return max(self._state.heaps.get(path, 0), tip.heaps.get(path, 0))


def room(end: int) -> int:
    """Return how many chunks a claim behind `end` gets before the next may begin.

    So 350,000 transactions that overlap fit into a heap, twice as many on an object store.

    >>> room(0), room(2**27), room(2**28)
    (4096, 2048, 64)
    """
    return max(LEAST_ROOM, (MOST_CHUNKS - end) >> ROOM)


def first_free(end: int, claims: Iterable[int]) -> int:
    """Return the first chunk at or behind `end` with room before the next of others' claims.

    >>> first_free(0, []), first_free(0, [0]), first_free(0, [0, 4096]), first_free(0, [8192])
    (0, 4096, 8192, 0)
    """
    size, start = room(end), end
    for claim in sorted(claims):
        if start + size <= claim:
            break
        start = max(start, claim + size)
    return min(start, MOST_CHUNKS)


class Direct:
    """Claims of a writer that has the lake to itself: chunks go straight into its session."""

    def __init__(self, session: Session, ends: dict[str, int]) -> None:
        self._session, self._ends = session, ends

    def forked(self) -> Direct:
        """Return this: a writer of its own either commits all edits or none."""
        return self

    def collected(self) -> None:
        """Return no session to be merged."""

    async def fork(self) -> Session:
        """Return the writer's own session."""
        return self._session

    async def claim(self, path: str) -> int:
        """Return the chunk behind the last one taken."""
        return self._ends.get(path, 0)

    def release(self) -> None:
        """Do nothing: no place was taken."""


class Desk:
    """The place of one writer in ``.writers/``.

    Parameters
    ----------
    folder : Path
        The folder.
    name : str
        Name of this writer's files.
    version : str
        Snapshot id of the version that it builds on.
    """

    def __init__(self, folder: Path, name: str, version: str) -> None:
        self._folder, self._name, self._version = folder, name, version
        self._lock: FileIO | None = None
        self._started = datetime.now(UTC)
        self._process, self._left = os.getpid(), False

    @classmethod
    def take(cls, folder: Path, version: str) -> Desk:
        """Take a place."""
        desk = cls(folder, uuid4().hex, version)
        try:
            with translated_files():
                desk._lock = take_lock(folder / f"{desk._name}.lock")
            desk.write({})
        except BaseException:
            desk.leave()
            raise
        return desk

    def write(self, claims: dict[str, int]) -> None:
        """Note the claims, for others to keep clear of."""
        note = Note(started=self._started.isoformat(), version=self._version, claims=claims)
        draft = self._folder / f"{self._name}.draft"
        with translated_files():
            draft.write_text(json.dumps(note))
            draft.replace(self._folder / f"{self._name}.json")

    def others(self) -> list[dict[str, int]]:
        """Return the claims of the writers that are alive."""
        return [note["claims"] for note in open_transactions(self._folder, but=self._name)]

    def leave(self) -> None:
        """Give the place back, if it is this process's and still taken.

        A forked process that drops its copy of a handle leaves the place to the first.
        """
        if self._left or os.getpid() != self._process:
            return
        self._left = True
        try:
            for kind in ("draft", "json"):
                self._remove(kind)
        finally:
            if self._lock is not None:
                self._lock.close()
        self._remove("lock")

    def _remove(self, kind: str) -> None:
        """Remove a file of ours; one that stays is cleared away by the next writer."""
        with contextlib.suppress(OSError):
            (self._folder / f"{self._name}.{kind}").unlink()


class Note(TypedDict):
    """What an open transaction tells the others."""

    started: str
    """When it began, ISO 8601, UTC; as it is read, no later than by the clock of the files."""
    version: str
    """Snapshot id of the version that it builds on."""
    claims: dict[str, int]
    """First chunk that it has taken, by path of the heap."""


def open_transactions(folder: Path, *, but: str = "") -> list[Note]:
    """Return the notes of the writers that are alive; those of dead ones are removed.

    Raises
    ------
    DamagedError
        When a note does not read: its writer's claims are unknown.
    StorageError
        When the folder does not take writes.
    """
    notes = []
    with translated_files():
        for path in folder.glob("*.json"):
            if path.stem == but:
                continue
            try:
                with take_lock(path.with_suffix(".lock"), timeout=0):
                    path.unlink(missing_ok=True)
                path.with_suffix(".lock").unlink(missing_ok=True)
            except TimeoutError:
                with contextlib.suppress(FileNotFoundError):  # it has just left
                    notes.append(_with_time_of_files(_read_note(path), path))
    return notes


def clear_dead(folder: Path) -> None:
    """Remove what killed writers left: notes, drafts of notes, locks and tickets.

    Raises
    ------
    DamagedError
        When the note of a writer that is alive does not read.
    StorageError
        When the folder does not take writes.
    """
    open_transactions(folder)
    with translated_files():
        for path in list(folder.iterdir()):
            of_writer = re.fullmatch(r"[0-9a-f]{32}", path.stem) is not None
            if path.suffix == ".ticket" or (of_writer and path.suffix in (".lock", ".draft")):
                lock = path if path.suffix == ".ticket" else path.with_suffix(".lock")
                with contextlib.suppress(TimeoutError), take_lock(lock, timeout=0):
                    path.unlink(missing_ok=True)
                    lock.unlink(missing_ok=True)


def _read_note(path: Path) -> Note:
    """Read the note of a writer that is alive. Raises DamagedError."""
    try:
        return _parse_note(json.loads(path.read_bytes()))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedError(
            f"The note of another writer of this lake does not read: {str(path)!r}. Nobody can "
            "tell which chunks it uses: wait until that writer has committed or ended, then try "
            "again."
        ) from error


def _with_time_of_files(note: Note, path: Path) -> Note:
    """Return a note that began no later than its files, whose times are those of chunks.

    The clock of a file system elsewhere may be behind the writer's, or the writer's was set back.
    """
    files = (path, path.with_suffix(".lock"))
    made = datetime.fromtimestamp(min(file.stat().st_mtime for file in files), UTC)
    started = min(made, datetime.fromisoformat(note["started"]))
    return Note(started=started.isoformat(), version=note["version"], claims=note["claims"])


def _parse_note(document: Any) -> Note:
    """Check the fields of a note. Raises ValueError, LookupError, TypeError or AttributeError.

    >>> _parse_note({"started": "2026-01-31T00:00:00+00:00", "version": "X", "claims": {"v": -1}})
    Traceback (most recent call last):
    ValueError: a claim before the first chunk
    """
    claims = {str(heap): int(start) for heap, start in document["claims"].items()}
    if min(claims.values(), default=0) < 0:
        raise ValueError("a claim before the first chunk")
    if datetime.fromisoformat(document["started"]).tzinfo is None:
        raise ValueError("a time without a time zone")
    return Note(started=document["started"], version=str(document["version"]), claims=claims)
