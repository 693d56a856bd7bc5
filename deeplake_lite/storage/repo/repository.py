"""Versions of a lake behind a URL: sessions at one of them, branches, tags, history, upkeep."""

from __future__ import annotations

import contextlib
import json
import re
import time
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from deeplake_lite.codecs.limits import DEFAULT_LIMITS, Limits
from deeplake_lite.errors import (
    ConflictError,
    DamagedError,
    ExistsError,
    LakeError,
    LakeNotFoundError,
    StorageError,
    VersionNotFoundError,
)
from deeplake_lite.storage.chunk_files import ChunkFiles, check_regular
from deeplake_lite.storage.garbage import count, files_of
from deeplake_lite.storage.repo.engine import compiled, package
from deeplake_lite.storage.repo.failures import (
    LostChunksError,
    MissingError,
    translated,
    translated_files,
)
from deeplake_lite.storage.repo.names import from_engine, to_engine
from deeplake_lite.storage.repo.places import MEMORY, forget, local_folder, settled, storage_at
from deeplake_lite.storage.repo.session import BRANCH, Session, without_digest
from deeplake_lite.storage.repo.staging import (
    check_replaceable,
    clear_staged,
    finish_replacement,
    staging,
)
from deeplake_lite.storage.repo.turns import lock_in_turn
from deeplake_lite.storage.repo.witnesses import Witnesses

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

INDEX_SPLIT = 64
"""Index chunks per manifest: a commit of one row rewrites the last manifest of each array only."""

PIN = "_pin-"
"""Begin of the branches that `Repository.pinned` makes."""

VACUUM = "_vacuum-"
"""Begin of the branches that `Repository.announced` makes."""

ANNOUNCED_AGE = timedelta(hours=24)
"""On an object store, pins and announced vacuums that are older than this count as dead."""

SKEW = timedelta(minutes=1)
"""By how much the clocks of writers and of an object store may differ."""

POLLS, POLL_SECONDS = 600, 1.0
"""How often a writer looks whether a vacuum is done, and how long it sleeps in between."""

LINK = "_base-"
"""Begin of the branches that `Repository.set_links` makes."""

ROOT = "1CECHNKREP0F1RSTCMT0"
"""The engine's own first snapshot, the same in every lake: no vacuum deletes it."""

TRANSACTION = "transaction"
"""Key of a commit's metadata under which the writer finds it again."""

REF_WAY_OUT = (
    "Restore its file in the lake's refs/ from a copy. If it is meant to be so, delete the "
    "files *.ref in the lake's .writers/, which note where writers left the branches and tags."
)
"""What to do about a branch or tag that names another version than it should."""

HEAP_SPLIT = 16_384
"""Heap chunks per manifest: the address space of a heap is 2**28 chunks, and its splits are
enumerated."""


@dataclass(frozen=True)
class Commit:
    """One version of a lake."""

    id: str
    """Snapshot id."""
    parent: str | None
    """Snapshot id of the version before, None for the first."""
    message: str
    time: datetime
    """When it was written, UTC."""
    metadata: Mapping[str, Any]
    """What the writer noted: a merge commit has the merged snapshot's id under ``"merge"``."""
    transaction: str | None = None
    """What the open transaction was called, so that a commit whose reply was lost is found."""
    branch: str | None = None
    """The branch that it was written to; None where that is not noted."""


class Repository:
    """Versions of one lake at one URL.

    Parameters
    ----------
    url : str
        A folder, ``file://…``, ``memory://name``, ``s3://bucket/prefix``, ``gs://…`` or
        ``az://account/container/…``.
    repository : PyRepository
        The engine's handle.
    limits : Limits
        How much memory a value that is read or written may take.
    """

    def __init__(
        self, url: str, repository: compiled.PyRepository, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self.url, self.limits = settled(url), limits
        self._repository = repository
        self.checks_reads = False
        """Whether every read is compared with checksums and hashes."""
        self._newest_files: tuple[str, ChunkFiles] | None = None

    @classmethod
    @contextlib.contextmanager
    def creating(
        cls, url: str, options: Mapping[str, Any] | None = None, *, overwrite: bool = False
    ) -> Iterator[Repository]:
        """Give an empty repository to write the first version into.

        On a local folder it is put in its place when that is done, so that nobody sees half a lake;
        in memory it is gone when that fails.
        With `overwrite` that may be the place of a lake, which goes then.

        Raises
        ------
        ExistsError
            Where there is a lake already, or anything else.
        """
        folder = local_folder(url)
        if folder is None or (url.startswith(MEMORY) and not (overwrite and cls.exists(url))):
            made = cls._create(url, options)
            try:
                yield made
            except BaseException:
                forget(url)
                raise
            return
        finish_replacement(folder)
        with translated_files():
            folder = folder.resolve()
            if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                check_replaceable(folder, overwrite=overwrite)
        with staging(folder) as staged:
            yield cls._create(str(staged), options)

    @classmethod
    def _create(cls, url: str, options: Mapping[str, Any] | None) -> Repository:
        storage = storage_at(url, options)
        with translated():
            if compiled.PyRepository.exists(storage):
                way_out = ", or replace it with overwrite=True" if url.startswith(MEMORY) else ""
                raise ExistsError(
                    f"There is a lake at {url!r} already. Choose another name, or dl.open "
                    f"it{way_out}."
                )
            repository = compiled.PyRepository.create(storage, config=_config())
            repository.save_config()
        return cls(url, repository)

    @classmethod
    def open(
        cls,
        url: str,
        options: Mapping[str, Any] | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> Repository:
        """Open the repository at `url`. Raises LakeNotFoundError where there is none."""
        if not cls.exists(url, options):
            folder = local_folder(url)
            if (
                folder is not None
                and folder.exists()
                and (folder.is_file() or any(folder.iterdir()))
            ):
                raise LakeNotFoundError(f"There is no lake at {url!r}: it holds other files.")
            raise LakeNotFoundError(
                f"There is no lake at {url!r}. "
                f"Check the path, or make one with dl.create({url!r}, schema)."
            )
        if (folder := local_folder(url)) is not None:
            for name in ("config.yaml", "refs/branch.main/ref.json"):
                check_regular(folder / name)
        storage = storage_at(url, options)
        with translated():
            return cls(url, compiled.PyRepository.open(storage), limits)

    @classmethod
    def exists(cls, url: str, options: Mapping[str, Any] | None = None) -> bool:
        """Tell whether there is a repository at `url`, making nothing."""
        folder = local_folder(url)
        if folder is not None:
            finish_replacement(folder)
            return (folder / "refs").is_dir()
        if url.startswith(MEMORY):
            return False
        with translated():
            return bool(compiled.PyRepository.exists(storage_at(url, options)))

    def checking(self) -> Repository:
        """Return a handle to the same versions that compares every read with checksums."""
        other = copy(self)
        other.checks_reads = True
        return other

    def reader(self, snapshot_id: str) -> Session:
        """Return a session that reads one version."""
        self._check_files(snapshot_id)
        with translated():
            session = self._repository.readonly_session(snapshot_id=snapshot_id)
        return Session(session, self._files_of(snapshot_id))

    def _files_of(self, snapshot_id: str) -> ChunkFiles | None:
        """Return the chunk files of a version of a local lake, shared by its next readers."""
        folder = local_folder(self.url)
        if folder is None:
            return None
        version, files = self._newest_files or ("", None)
        if files is None or version != snapshot_id:
            files = ChunkFiles(folder, lambda: self._inspect(snapshot_id))
            self._newest_files = snapshot_id, files
        return files

    def _check_files(self, snapshot_id: str = "", *, refs: Iterable[str] = ()) -> None:
        """Refuse pipes and the like in the place of files that the engine would wait for.

        Raises
        ------
        DamagedError
        """
        if (folder := local_folder(self.url)) is not None:
            if snapshot_id:
                check_regular(folder / "snapshots" / snapshot_id)
            for ref in refs:
                check_regular(folder / "refs" / ref / "ref.json")

    def _inspect(self, snapshot_id: str) -> dict[str, Any]:
        with translated():
            return dict(json.loads(self._repository.inspect_snapshot(snapshot_id)))

    def writer(self, branch: str) -> Session:
        """Return a session that writes on top of a branch's tip."""
        if local_folder(self.url) is not None:
            self._check_files(self.tip(branch))
        with translated():
            session = self._repository.writable_session(to_engine(branch))
        files = self._files_of(str(session.snapshot_id))
        land = self._land if local_folder(self.url) is None else None
        return Session(session, files, committed=self._note_commit, land=land)

    def _land(
        self, branch: str, before: str, done: str, begun: datetime, keys: Collection[str]
    ) -> None:
        """Move a branch on to a version that has no name yet, if all of its chunks are there.

        The version is kept from vacuums before it is looked at. Nobody sees it if it is refused.

        Raises
        ------
        ConflictError
            When the branch is not at `before` any more.
        LostChunksError
            When a vacuum has deleted some of the chunks.
        StorageError
            When a vacuum that may delete them goes on for too long.
        """
        with contextlib.ExitStack() as held:
            try:
                fresh = held.enter_context(self.kept(done, begun))
                fresh.reader(done).check_chunks(keys)
                parent = next(fresh.ancestry(done)).parent
            except (MissingError, VersionNotFoundError) as error:
                raise LostChunksError(
                    "The version that was written was not there any more: a vacuum that spares "
                    "nothing deleted it. Nothing was committed; write the rows again.",
                    sorted(keys),
                ) from error
            if parent != before:
                raise ConflictError(
                    f"A commit follows the branch's tip {before}, but a vacuum has just cut the "
                    "history behind this one. Nothing was committed; commit again."
                )
            try:
                with translated():
                    self._repository.reset_branch(to_engine(branch), done, before)
            except ExistsError as error:
                raise ConflictError(
                    f"The branch moved while this commit was written: {error}"
                ) from error

    def fork(self, branch: str, snapshot_id: str) -> Session:
        """Return a session that collects chunks on top of a version that was the branch's tip."""
        writer = self.writer(branch)
        if writer.snapshot_id != snapshot_id:
            with self.lock("pins"), self.pinned([snapshot_id]) as [pin]:
                writer = self.writer(pin)
        return writer.fork()

    @contextlib.contextmanager
    def pinned(self, snapshot_ids: Iterable[str]) -> Iterator[list[str]]:
        """Name versions by branches of the lake's own for a while, so that they do not expire."""
        names = {pin_name(datetime.now(UTC)): i for i in snapshot_ids}
        try:
            for name, snapshot_id in names.items():
                self.create_branch(name, snapshot_id)
            yield list(names)
        finally:
            for name in names.keys() & set(self._branch_names()):
                self.delete_branch(name)

    @contextlib.contextmanager
    def kept(self, snapshot_id: str, begun: datetime | None = None) -> Iterator[Repository]:
        """Keep a version while it gets a name, and give a handle that sees what is there of it.

        On a local folder the caller holds the writers' lock, and no vacuum is at work. On an object
        store the version is pinned. A vacuum that starts later sees that; one that is at work
        already may not, and is waited for. What it has deleted, the handle does not find.

        Parameters
        ----------
        snapshot_id : str
            The version.
        begun : datetime, optional
            When its first object was written. Vacuums that spare what is younger are not waited
            for.

        Raises
        ------
        NotFoundError
            When the version is not there.
        StorageError
            When a vacuum goes on for too long.
        """
        if local_folder(self.url) is not None:
            yield self._reopened()
            return
        pin = pin_name(datetime.now(UTC))
        try:
            try:
                self.create_branch(pin, snapshot_id)
            except MissingError as error:
                raise VersionNotFoundError(f"There is no version {snapshot_id!r}.") from error
            if begun is not None or snapshot_id not in self._tips():
                self._await_vacuums(begun)
            yield self._reopened()
        finally:
            with contextlib.suppress(LakeError):  # it is forgotten when it is old
                self.delete_branch(pin)

    def _reopened(self) -> Repository:
        """Return a handle that remembers nothing of what it has read."""
        other = copy(self)
        with translated():
            other._repository = self._repository.reopen()
        other._newest_files = None
        return other

    def _tips(self) -> set[str]:
        """Return the versions that branches and tags name: no vacuum deletes these."""
        return {*self.branches().values(), *self.tags().values()}

    @contextlib.contextmanager
    def announced(self, limit: datetime) -> Iterator[None]:
        """Tell writers of an object store of a vacuum, before it reads which versions have names.

        Parameters
        ----------
        limit : datetime
            Younger objects are spared.
        """
        if local_folder(self.url) is not None:
            yield
            return
        milliseconds = max(0, int(limit.timestamp() * 1000))
        name = f"{VACUUM}{_uuid7(datetime.now(UTC))}-{milliseconds:012x}"
        self.create_branch(name, ROOT)
        try:
            yield
        finally:
            with contextlib.suppress(LakeError):  # it counts as dead when it is old
                self.delete_branch(name)

    def _await_vacuums(self, begun: datetime | None) -> None:
        """Wait until no vacuum is at work that may delete objects written since `begun`.

        Raises
        ------
        StorageError
        """
        for _ in range(POLLS):
            names = self._branch_names()
            if not (at_work := [name for name in names if _may_delete(name, begun)]):
                return
            time.sleep(POLL_SECONDS)
        raise StorageError(
            f"Old transactions and versions wait for vacuums, but one that began at "
            f"{_made_at(at_work[0]):%Y-%m-%d %H:%M:%S} UTC is still at work. Nothing was changed: "
            "try again later. If it was killed, delete the file "
            f"refs/branch.{at_work[0]}/ref.json in the lake, or wait until the next day."
        )

    def unpin(self, older_than: datetime) -> None:
        """Forget the pins of processes that died. The caller holds the writers' lock.

        On a local folder whoever needs one holds a lock. On an object store nobody can tell whose
        they are, and those made before `older_than` go.
        """
        local = local_folder(self.url) is not None
        with self.lock("pins"):
            for name in self._branch_names():
                made = _made_at(name)
                if is_pin(name) and (local or (made and made < older_than)):
                    self.delete_branch(name)

    def branches(self) -> dict[str, str]:
        """Return the snapshot id of each branch's tip, but for pins, vacuums and links."""
        found = {}
        for name in self._branch_names():
            if not is_pin(name) and not name.startswith(LINK):
                with contextlib.suppress(VersionNotFoundError):  # it has just been deleted
                    found[name] = self.tip(name)
        return found

    def links(self) -> dict[str, set[str]]:
        """Return versions that come from others although the history between them was cut.

        By the later version, what it comes from.
        """
        found: dict[str, set[str]] = {}
        for name in self._branch_names():
            if ends := _link_ends(name):
                found.setdefault(ends[1], set()).add(ends[0])
        return found

    def add_links(self, links: Iterable[tuple[str, str]]) -> None:
        """Remember that versions come from older ones, which stay from now on."""
        known = set(self._branch_names())
        for older, later in links:
            name = f"{LINK}{older}-{later}"
            if name not in known:
                self.create_branch(name, older)

    def drop_links(self, but: Iterable[tuple[str, str]]) -> None:
        """Forget all links but some."""
        kept = {f"{LINK}{older}-{later}" for older, later in but}
        for name in self._branch_names():
            if name.startswith(LINK) and name not in kept:
                self.delete_branch(name)

    def _branch_names(self) -> list[str]:
        """Return the names of all branches, pins too."""
        with translated():
            return sorted(map(from_engine, self._repository.list_branches()))

    def tip(self, branch: str) -> str:
        """Return the snapshot id of a branch's tip, as it is now."""
        name = to_engine(branch)
        self._check_files(refs=[f"branch.{name}"])
        with translated():
            return str(self._repository.lookup_branch(name))

    def tags(self) -> dict[str, str]:
        """Return the snapshot id of each tag."""
        r = self._repository
        with translated():
            names = sorted(map(from_engine, r.list_tags()))
            self._check_files(refs=(f"tag.{to_engine(name)}" for name in names))
            return {name: str(r.lookup_tag(to_engine(name))) for name in names}

    def create_branch(self, name: str, snapshot_id: str) -> None:
        """Start a branch at a version.

        On an object store the engine asks again when a reply is lost, and is told that the name is
        taken: by itself, where the branch is at that very version.

        Raises
        ------
        ExistsError
            When there is a branch of that name; on an object store, at another version.
        """
        try:
            with translated():
                self._repository.create_branch(to_engine(name), snapshot_id)
        except ExistsError:
            if local_folder(self.url) is not None or self.tip(name) != snapshot_id:
                raise
        self._note_ref(branch_ref(name), snapshot_id)

    def delete_branch(self, name: str) -> None:
        """Forget a branch; its versions stay until they are vacuumed."""
        self._forget_ref(branch_ref(name))
        with translated():
            self._repository.delete_branch(to_engine(name))
        with contextlib.suppress(VersionNotFoundError):
            self.tip(name)  # the engine only logs that a store refused
            raise StorageError(
                f"The store did not delete the branch {name!r}. Check the permission to delete "
                "files in the lake's refs/, then try again."
            )

    def create_tag(self, name: str, snapshot_id: str) -> None:
        """Name a version for good; a lost reply is made up for as by `create_branch`.

        Raises
        ------
        ExistsError
            When there is, or was, a tag of that name; on an object store, at another version.
        """
        try:
            with translated():
                self._repository.create_tag(to_engine(name), snapshot_id)
        except ExistsError:
            if local_folder(self.url) is not None or self.tags().get(name) != snapshot_id:
                raise
        self._note_ref(tag_ref(name), snapshot_id)

    def delete_tag(self, name: str) -> None:
        """Forget a tag. Its name can never be used again: the engine keeps a tombstone."""
        self._forget_ref(tag_ref(name))
        with translated():
            self._repository.delete_tag(to_engine(name))

    def doubtful_refs(self) -> dict[str, str]:
        """Return what is wrong with branches and tags, by what they are called.

        On a local folder they are compared with what their writers have noted; a ref of which there
        is no note counts as right. On an object store only names that say so themselves are.
        """
        noted = self._witnesses.all() if self._witnesses else {}  # first: refs only move on
        found, named = dict[str, str](), self._named_by_refs()
        for ref, tip in named.items():
            if isinstance(tip, LakeError):
                found[ref] = tip.finding
            elif (reason := self._doubt(ref, tip, noted.get(ref))) and (
                self._witnesses is None or self._witnesses.of(ref) == noted.get(ref)
            ):  # the name was not given anew meanwhile
                found[ref] = reason
        for ref in noted.keys() - named.keys():
            if self._witnesses and self._witnesses.of(ref) is not None:  # it is not just deleted
                found[ref] = f"is not there; it named version {noted[ref]}"
        return {_in_words(ref): reason for ref, reason in found.items()}

    def _named_by_refs(self) -> dict[str, str | LakeError]:
        """Return what each branch and tag but pins names, or why that does not read."""
        with translated():
            tags = list(map(from_engine, self._repository.list_tags()))
        found: dict[str, str | LakeError] = {}
        for ref, look_up in [
            *((branch_ref(n), self.tip) for n in self._branch_names() if not is_pin(n)),
            *((tag_ref(n), self._tagged) for n in tags),
        ]:
            with contextlib.suppress(VersionNotFoundError):  # it has just been deleted
                try:
                    found[ref] = look_up(ref.partition(".")[2])
                except VersionNotFoundError:
                    raise
                except LakeError as error:
                    found[ref] = error
        return found

    def _tagged(self, name: str) -> str:
        """Return the snapshot id of a tag."""
        self._check_files(refs=[f"tag.{to_engine(name)}"])
        with translated():
            return str(self._repository.lookup_tag(to_engine(name)))

    def check_ref(self, ref: str) -> None:
        """Refuse a branch or tag that names another version than its writer made it name.

        Raises
        ------
        DamagedError
        """
        kind, _, name = ref.partition(".")
        witness = self._witnesses.of(ref) if self._witnesses else None
        if witness is None:
            return
        try:
            tip = self.tip(name) if kind == "branch" else self._tagged(name)
        except VersionNotFoundError:
            reason: str | None = f"is not there; it named version {witness}"
        else:
            reason = self._doubt(ref, tip, witness)
        if reason:
            raise DamagedError(f"The {_in_words(ref)} {reason}. {REF_WAY_OUT}")

    def renew_witnesses(self) -> None:
        """Note what refs name that have no note, or an older one. The caller holds the lock.

        Raises
        ------
        DamagedError
            When one names another version than its writer made it name.
        """
        if self._witnesses is None:
            return
        if doubts := self.doubtful_refs():
            ref, reason = next(iter(doubts.items()))
            raise DamagedError(f"The {ref} {reason}. {REF_WAY_OUT}")
        noted = self._witnesses.all()
        for ref, tip in self._named_by_refs().items():
            if isinstance(tip, str) and noted.get(ref) != tip:
                self._note_ref(ref, tip)

    @property
    def _witnesses(self) -> Witnesses | None:
        """Notes on refs; None on an object store, where nobody keeps them."""
        folder = local_folder(self.url)
        return None if folder is None else Witnesses(folder / ".writers")

    def _doubt(self, ref: str, tip: str, witness: str | None) -> str | None:
        """Return what is wrong with a ref that names `tip`; None where nothing is.

        The note that is its witness was read before the ref: both only move on.
        """
        kind, _, name = ref.partition(".")
        if ends := _link_ends(name):
            witness = ends[0]
        if witness in (None, tip):
            return None
        if kind == "branch" and not ends and self._follows(tip, str(witness), name):
            return None
        return f"names version {tip}, but its writer left it at {witness}"

    def _follows(self, tip: str, before: str, branch: str) -> bool:
        """Tell whether a version comes from another one by commits to a branch alone."""
        for commit in self.ancestry(tip):
            if commit.id == before:
                return True
            if commit.branch not in (None, branch):
                break
        return False

    def _note_commit(self, branch: str, before: str, after: str) -> None:
        """Note a commit of ours, unless the branch was not where its last writer left it."""
        ref = branch_ref(branch)
        if self._witnesses is None or is_pin(branch):
            return
        with contextlib.suppress(LakeError, OSError):  # the commit is there, whatever happens now
            if not self._doubt(ref, before, self._witnesses.of(ref)):
                self._note_ref(ref, after)

    def _note_ref(self, ref: str, version: str) -> None:
        if self._witnesses is not None and not is_pin(ref.partition(".")[2]):
            with contextlib.suppress(LakeError, OSError):
                self.writers_folder()
                self._witnesses.note(ref, version)

    def _forget_ref(self, ref: str) -> None:
        if self._witnesses is not None:
            with translated_files():
                self._witnesses.forget(ref)

    def ancestry(self, snapshot_id: str) -> Iterator[Commit]:
        """Yield a version and those before it, newest first, each read when it is asked for.

        Raises
        ------
        VersionNotFoundError
            When the version, or one before it, is not there.
        DamagedError
            When the history leads elsewhere than it was written to, or back to where it came from.
        """
        last = None
        try:
            for commit in self._walk(self._repository, snapshot_id):
                last = commit.id
                yield commit
        except MissingError:
            yield from self._ancestry_anew(snapshot_id, last)

    def _ancestry_anew(self, start: str, last: str | None) -> Iterator[Commit]:
        """Yield what comes before `last` in the history of `start`, past the engine's cache.

        A vacuum cuts histories in place, and the engine remembers them as they were.
        """
        try:
            with translated():
                fresh = self._repository.reopen()
            history = self._walk(fresh, last or start)
            yield from history if last is None else islice(history, 1, None)
        except MissingError as error:
            raise VersionNotFoundError(f"There is no version {start!r} in {self.url!r}.") from error

    def _walk(self, repository: compiled.PyRepository, start: str) -> Iterator[Commit]:
        """Yield a version and those before it. Raises MissingError, and DamagedError."""
        seen, expected = set[str](), start
        self._check_files(start)
        with translated():
            history = repository.async_ancestry(snapshot_id=start)
            for s in cast("Iterator[compiled.SnapshotInfo]", history):  # it is both
                if s.id != expected or s.id in seen:
                    raise DamagedError(
                        f"The history of {start} is damaged: where version {expected} should be "
                        f"there is {s.id}{', again' if s.id in seen else ''}. Restore the lake "
                        "from a copy."
                    )
                seen.add(s.id)
                expected = s.parent_id or ""
                notes = without_digest(s.id, s.message, s.metadata)
                known, branch = notes.pop(TRANSACTION, None), notes.pop(BRANCH, None)
                yield Commit(s.id, s.parent_id, s.message, s.written_at, notes, known, branch)
                self._check_files(expected)

    def changed_chunks(self, older: str, newer: str) -> dict[str, set[int]]:
        """Return, per array path, which chunks of the first axis changed between two versions."""
        with translated():
            diff = self._repository.diff(from_snapshot_id=older, to_snapshot_id=newer)
        return {
            path.strip("/"): {chunk[0] if chunk else 0 for chunk in chunks}
            for path, chunks in diff.updated_chunks.items()
        }

    def check_histories(self) -> None:
        """Walk the history of every branch and tag once; the engine would follow a circle for ever.

        Raises
        ------
        DamagedError
        """
        seen = set[str]()
        tips = (self.tip(name) for name in self._branch_names())
        for tip in {*tips, *self.tags().values()}:
            for commit in self.ancestry(tip):
                if commit.id in seen:
                    break
                seen.add(commit.id)

    def expire(self, older_than: datetime) -> set[str]:
        """Drop older versions from the history, but for those that a ref names."""
        self.check_histories()
        with translated():
            return set(self._repository.expire_snapshots(older_than))

    def collect(self, older_than: datetime, *, dry_run: bool) -> dict[str, int]:
        """Delete old objects that no version needs; return the counts."""
        self.check_histories()
        with translated():
            engine = package().Repository(self._repository)  # it knows the limits on memory
            s = engine.garbage_collect(older_than, dry_run=dry_run)
        return {
            "bytes": s.bytes_deleted,
            "chunks": s.chunks_deleted,
            "manifests": s.manifests_deleted,
            "snapshots": s.snapshots_deleted,
        }

    def would_free(
        self, expiring: Iterable[str], kept: Iterable[str], older_than: datetime
    ) -> dict[str, int]:
        """Return what `collect` would count more if some versions had expired.

        On an object store this is nothing: the engine does not read manifests out.
        """
        folder = local_folder(self.url)
        if folder is None:
            return {}
        gone, needed = (files_of(folder, map(self._inspect, ids)) for ids in (expiring, kept))
        return count(folder, gone - needed, older_than)

    def clear_staged(self) -> None:
        """Remove what killed processes left of lakes that were to be made where this one is."""
        folder = local_folder(self.url)
        if folder is not None:
            clear_staged(folder)

    @contextlib.contextmanager
    def lock(self, purpose: str = "commit") -> Iterator[None]:
        """Hold the writers' lock of a local folder; object stores commit by compare-and-swap.

        Writers get it in the order in which they ask.
        Claims are taken under a lock of their own: whoever holds the one for commits may need them.
        """
        if local_folder(self.url) is None:
            yield
            return
        with contextlib.ExitStack() as held:
            with translated_files():
                held.enter_context(lock_in_turn(self.writers_folder(), purpose))
            yield

    def writers_folder(self) -> Path:
        """Return the folder beside a local lake's objects where its writers meet.

        Raises
        ------
        StorageError
            Where it cannot be made, or something else is in its place: through a link, writers
            would make and delete files in a folder of the link's choice.
        """
        folder = local_folder(self.url)
        assert folder is not None, "only a local lake has one"
        writers = folder / ".writers"
        if writers.is_symlink() or (writers.exists() and not writers.is_dir()):
            raise StorageError(
                f"Writers of a lake keep their locks in a folder, but {str(writers)!r} is a "
                f"{'symbolic link' if writers.is_symlink() else 'file'}. Remove it; the next "
                "writer makes the folder anew."
            )
        with translated_files():
            writers.mkdir(exist_ok=True)
        return writers


def branch_ref(name: str) -> str:
    """Return what notes on refs call a branch."""
    return f"branch.{name}"


def tag_ref(name: str) -> str:
    """Return what notes on refs call a tag."""
    return f"tag.{name}"


def is_pin(name: str) -> bool:
    """Tell whether a branch is only there for a while: a pin, or a vacuum that is at work."""
    return name.startswith((PIN, VACUUM))


def _in_words(ref: str) -> str:
    """Return how a message calls a ref.

    >>> _in_words("tag.v1.0")
    "tag 'v1.0'"
    """
    kind, _, name = ref.partition(".")
    return f"{kind} {name!r}"


def pin_name(now: datetime) -> str:
    """Return a new name for a pin: a UUID of version 7, which begins with the time.

    >>> name = pin_name(datetime(2026, 1, 31, tzinfo=UTC))
    >>> name[:18], _made_at(name).isoformat()
    ('_pin-019c115970007', '2026-01-31T00:00:00+00:00')
    """
    return f"{PIN}{_uuid7(now)}"


def _uuid7(now: datetime) -> str:
    return f"{int(now.timestamp() * 1000):012x}7{uuid4().hex[13:]}"


def _made_at(name: str) -> datetime | None:
    """Return when a pin was made or a vacuum announced, None where the name does not tell."""
    found = re.fullmatch(
        f"(?:{PIN}|{VACUUM})([0-9a-f]{{12}})7[0-9a-f]{{19}}(?:-[0-9a-f]{{12}})?", name
    )
    return _at(found[1]) if found else None


def _may_delete(name: str, begun: datetime | None) -> bool:
    """Tell whether a name is of a vacuum that is at work and may delete what is as old as `begun`.

    >>> name = "_vacuum-" + _uuid7(datetime.now(UTC)) + "-019c11597000"
    >>> _may_delete(name, None), _may_delete(name, datetime(2026, 1, 30, tzinfo=UTC))
    (True, True)
    >>> _may_delete(name, datetime(2026, 2, 1, tzinfo=UTC)), _may_delete("main", None)
    (False, False)
    """
    made = _made_at(name) if name.startswith(VACUUM) else None
    if made is None or made < datetime.now(UTC) - ANNOUNCED_AGE:
        return False
    limit = _at(name.rpartition("-")[2]) if name.count("-") > 1 else made
    return begun is None or begun - SKEW < limit


def _at(milliseconds: str) -> datetime:
    """Return the time of a hexadecimal number of milliseconds."""
    try:
        return datetime.fromtimestamp(int(milliseconds, 16) / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.max.replace(tzinfo=UTC)


def _link_ends(name: str) -> tuple[str, str] | None:
    """Return the older and the later version of a link.

    >>> _link_ends("_base-1CECHNKREP0F1RSTCMT0-KCD17E4CZYH6CNFH7ZR0")
    ('1CECHNKREP0F1RSTCMT0', 'KCD17E4CZYH6CNFH7ZR0')
    """
    found = re.fullmatch(f"{LINK}([0-9A-Z]{{20}})-([0-9A-Z]{{20}})", name)
    return (found[1], found[2]) if found else None


def _config() -> compiled.RepositoryConfig:
    """Return the settings that a new repository keeps."""
    engine = package()  # which completes the compiled classes
    condition, along = engine.ManifestSplitCondition, engine.ManifestSplitDimCondition
    heaps = condition.name_matches("^(values|tail)$")
    splitting = engine.ManifestSplittingConfig.from_dict(
        {heaps: {along.Any(): HEAP_SPLIT}, condition.AnyArray(): {along.Any(): INDEX_SPLIT}}
    )
    return compiled.RepositoryConfig(manifest=compiled.ManifestConfig(splitting=splitting))
