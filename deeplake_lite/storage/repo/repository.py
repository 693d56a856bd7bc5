"""Versions of a lake behind a URL: sessions at one of them, branches, tags, history, upkeep."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import deque
from copy import copy
from datetime import UTC, datetime
from itertools import takewhile
from typing import TYPE_CHECKING, Any, cast

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
from deeplake_lite.storage.chunk_files import ChunkFiles, check_all_regular, check_regular
from deeplake_lite.storage.garbage import count, files_of, missing
from deeplake_lite.storage.repo.checked_refs import CheckedRefs
from deeplake_lite.storage.repo.commits import Commit, chunks_digest, read_commit
from deeplake_lite.storage.repo.engine import compiled, package
from deeplake_lite.storage.repo.failures import (
    LostChunksError,
    MissingError,
    translated,
    translated_files,
)
from deeplake_lite.storage.repo.lake_refs import (
    branch_ref,
    is_link,
    is_pin,
    link_ends,
    link_name,
    made_at,
    may_delete,
    pin_name,
    tag_ref,
    vacuum_name,
)
from deeplake_lite.storage.repo.names import from_engine, to_engine
from deeplake_lite.storage.repo.places import MEMORY, forget, local_folder, settled, storage_at
from deeplake_lite.storage.repo.session import Session
from deeplake_lite.storage.repo.settings import settings
from deeplake_lite.storage.repo.staging import (
    check_replaceable,
    clear_staged,
    finish_replacement,
    staging,
)
from deeplake_lite.storage.repo.turns import lock_in_turn
from deeplake_lite.storage.repo.witnesses import new_identity
from deeplake_lite.storage.repo.work import run

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
    from io import FileIO
    from pathlib import Path

POLLS, POLL_SECONDS = 600, 1.0
"""How often a writer looks whether a vacuum is done, and how long it sleeps in between."""

ROOT = "1CECHNKREP0F1RSTCMT0"
"""The engine's own first snapshot, the same in every lake: no vacuum deletes it."""


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
            if folder.exists() and folder.samefile(os.curdir):
                raise ExistsError(
                    f"A new lake takes the place of its folder, and {str(folder)!r} is the one in "
                    "which this process runs. Name a folder in it: 'flowers.lake'."
                )
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
            repository = compiled.PyRepository.create(storage, config=settings())
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

    @property
    def refs(self) -> CheckedRefs:
        """Branches and tags, and where their writers left them."""
        return CheckedRefs(self)

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
        self._check_identity(snapshot_id)
        return Session(session, self._files_of(snapshot_id))

    def _files_of(self, snapshot_id: str) -> ChunkFiles | None:
        """Return the chunk files of a version of a local lake, shared by its next readers."""
        folder = local_folder(self.url)
        if folder is None:
            return None
        version, files = self._newest_files or ("", None)
        if files is None or version != snapshot_id:
            files = ChunkFiles(folder, lambda: self.inspect(snapshot_id))
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

    def _check_identity(self, snapshot_id: str) -> None:
        """Refuse the snapshot of another version in the place of one: the engine takes any.

        On an object store this is a request more, and made where every read is checked.

        Raises
        ------
        DamagedError
        """
        if local_folder(self.url) is None and not self.checks_reads:
            return
        with translated():
            found = self._repository.lookup_snapshot(snapshot_id)
        if found.id != snapshot_id:
            raise DamagedError(
                f"Version {snapshot_id} is damaged: in its place is version {found.id}. Restore "
                "the lake from a copy."
            )

    def _check_refs(self) -> None:
        """Refuse pipes and the like in the place of any branch or tag, which the engine lists.

        Raises
        ------
        DamagedError
        """
        folder = local_folder(self.url)
        if folder is not None and (folder / "refs").is_dir():
            with translated_files():
                for name in os.listdir(folder / "refs"):
                    check_regular(folder / "refs" / name / "ref.json")

    def _check_objects(self) -> None:
        """Refuse pipes and the like among the files that a vacuum reads or deletes.

        Raises
        ------
        DamagedError
        """
        self._check_refs()
        if (folder := local_folder(self.url)) is not None:
            with translated_files():
                for kind in ("snapshots", "transactions", "manifests", "chunks"):
                    check_all_regular(folder / kind)

    def inspect(self, snapshot_id: str) -> dict[str, Any]:
        """Return the engine's description of a snapshot: its manifests, and its nodes."""
        self._check_files(snapshot_id)
        with translated():
            return dict(json.loads(self._repository.inspect_snapshot(snapshot_id)))

    def writer(self, branch: str) -> Session:
        """Return a session that writes on top of a branch's tip."""
        if local_folder(self.url) is not None:
            self._check_files(self.tip(branch))
        with translated():
            session = self._repository.writable_session(to_engine(branch))
        self._check_identity(str(session.snapshot_id))
        files = self._files_of(str(session.snapshot_id))
        land = self._land if local_folder(self.url) is None else None
        return Session(session, files, refs=self.refs, land=land)

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
            for name in names.keys() & set(self.branch_names()):
                self.delete_branch(name)

    @contextlib.contextmanager
    def kept(self, snapshot_id: str, begun: datetime | None = None) -> Iterator[Repository]:
        """Keep a version while it gets a name, and give a handle that sees what is there of it.

        On a local folder the caller holds the writers' lock, and no vacuum is at work. On an object
        store the version is pinned. A vacuum that starts later sees that; one that is at work
        already may not, and is waited for. What it has deleted, the handle does not find.

        A vacuum that is done may have deleted a part of a version that no history leads to, such as
        chunks that are older than its snapshot. All files of such a version are looked for, and
        the versions before it, unless `begun` is given: then the caller knows what to look for.

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
            When the version is not there, or not all of it.
        StorageError
            When a vacuum goes on for too long.
        """
        if local_folder(self.url) is not None:
            fresh = self.reopened()
            if begun is None and snapshot_id not in self._tips():
                fresh._check_whole(snapshot_id)
            yield fresh
            return
        pin = pin_name(datetime.now(UTC))
        try:
            try:
                self.create_branch(pin, snapshot_id)
            except MissingError as error:
                raise VersionNotFoundError(
                    f"There is no version {snapshot_id!r} any more. A vacuum deleted it, or the "
                    "lake was created anew. Open it again."
                ) from error
            is_tip = begun is None and snapshot_id in self._tips()
            if not is_tip:
                self._await_vacuums(begun)
            fresh = self.reopened()
            if begun is None and not is_tip:
                fresh._check_whole(snapshot_id)
            yield fresh
        finally:
            with contextlib.suppress(LakeError):  # it is forgotten when it is old
                self.delete_branch(pin)

    def reopened(self) -> Repository:
        """Return a handle that remembers nothing of what it has read."""
        other = copy(self)
        with translated():
            other._repository = self._repository.reopen()
        other._newest_files = None
        return other

    def _tips(self) -> set[str]:
        """Return the versions that branches and tags name: no vacuum deletes these."""
        return {*self.branches().values(), *self.tags().values()}

    def _check_whole(self, snapshot_id: str) -> None:
        """Refuse a version of which a vacuum may have deleted a part, and has.

        Raises
        ------
        VersionNotFoundError
        """
        if any(c.id == snapshot_id for tip in self._named() for c in self.ancestry(tip)):
            return
        try:
            deque(self.ancestry(snapshot_id), maxlen=0)
            folder = local_folder(self.url)
            if folder is None:
                arrays = {
                    node["path"].strip("/"): [ref["extents"] for ref in node["manifest_refs"] or []]
                    for node in self.inspect(snapshot_id)["nodes"]
                    if node["node_type"] == "array"
                }
                lost = run(self.reader(snapshot_id).lost_chunks(arrays))
            else:
                lost = sorted(missing(folder, [self.inspect(snapshot_id)]))
        except DamagedError as error:
            raise VersionNotFoundError(
                f"The version {snapshot_id!r} is not there any more: {error.finding}."
            ) from error
        if lost:
            raise VersionNotFoundError(
                f"{len(lost):,} files of the version {snapshot_id!r} are gone, such as {lost[0]!r}."
            )

    def _named(self) -> set[str]:
        """Return the versions that branches, tags and links name."""
        linked = self._looked_up(filter(is_link, self.branch_names()), branch_ref)
        return self._tips() | set(linked.values())

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
        name = vacuum_name(datetime.now(UTC), limit)
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
            names = self.branch_names()
            if not (at_work := [name for name in names if may_delete(name, begun)]):
                return
            time.sleep(POLL_SECONDS)
        raise StorageError(
            f"Old transactions and versions wait for vacuums, but one that began at "
            f"{made_at(at_work[0]):%Y-%m-%d %H:%M:%S} UTC is still at work. Nothing was changed: "
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
            for name in self.branch_names():
                made = made_at(name)
                if is_pin(name) and (local or (made and made < older_than)):
                    self.delete_branch(name)

    def branches(self, known: Iterable[str] | None = None) -> dict[str, str]:
        """Return what each branch names, right or not, but for pins, vacuums and links.

        Names that are `known` already are not listed again.
        """
        listed = self.branch_names() if known is None else known
        names = [n for n in listed if not is_pin(n) and not is_link(n)]
        return self._looked_up(names, branch_ref)

    def links(self) -> dict[str, set[str]]:
        """Return versions that come from others although the history between them was cut.

        By the later version, what it comes from.
        """
        found: dict[str, set[str]] = {}
        for name in self.branch_names():
            if ends := link_ends(name):
                found.setdefault(ends[1], set()).add(ends[0])
        return found

    def add_links(self, links: Iterable[tuple[str, str]]) -> None:
        """Remember that versions come from older ones, which stay from now on."""
        known = set(self.branch_names())
        for older, later in links:
            name = link_name(older, later)
            if name not in known:
                self.create_branch(name, older)

    def drop_links(self, but: Iterable[tuple[str, str]]) -> None:
        """Forget all links but some."""
        kept = {link_name(older, later) for older, later in but}
        for name in self.branch_names():
            if is_link(name) and name not in kept:
                self.delete_branch(name)

    def look_up(self, ref: str) -> str:
        """Return the snapshot id that a branch or tag names, whether that is right or not."""
        kind, _, name = ref.partition(".")
        self._check_files(refs=[f"{kind}.{to_engine(name)}"])
        find = self._repository.lookup_tag if kind == "tag" else self._repository.lookup_branch
        with translated():
            return str(find(to_engine(name)))

    def tag_tip(self, name: str) -> str:
        """Return the snapshot id of a tag. Raises as `tip`."""
        return self.refs.resolve(tag_ref(name))

    def tag_names(self) -> list[str]:
        """Return the names of all tags."""
        with translated():
            return sorted(map(from_engine, self._repository.list_tags()))

    def branch_names(self) -> list[str]:
        """Return the names of all branches, pins too."""
        with translated():
            return sorted(map(from_engine, self._repository.list_branches()))

    def tip(self, branch: str) -> str:
        """Return the snapshot id of a branch's tip, as it is now.

        Raises
        ------
        VersionNotFoundError
            When there is no such branch.
        DamagedError
            When its file does not read; where every read is checked, also when it is lost, or
            names another version than its writer made it name.
        """
        return self.refs.resolve(branch_ref(branch))

    def tags(self) -> dict[str, str]:
        """Return what each tag names, right or not."""
        return self._looked_up(self.tag_names(), tag_ref)

    def _looked_up(self, names: Iterable[str], ref: Callable[[str], str]) -> dict[str, str]:
        found = {}
        for name in names:
            with contextlib.suppress(VersionNotFoundError):  # it has just been deleted
                found[name] = self.look_up(ref(name))
        return found

    def create_branch(self, name: str, snapshot_id: str) -> None:
        """Start a branch at a version.

        On an object store the engine asks again when a reply is lost, and is told that the name is
        taken: by itself, where the branch is at that very version.

        Raises
        ------
        ExistsError
            When there is a branch of that name; on an object store, at another version.
        DamagedError
            When a branch of that name was lost.
        """
        self._check_files(snapshot_id)
        self.refs.check(branch_ref(name))
        try:
            with translated():
                self._repository.create_branch(to_engine(name), snapshot_id)
        except ExistsError:
            if local_folder(self.url) is not None or self.tip(name) != snapshot_id:
                raise
        self.refs.note(branch_ref(name), snapshot_id, new_identity())

    def delete_branch(self, name: str) -> None:
        """Forget a branch; its versions stay until they are vacuumed."""
        self.refs.forget(branch_ref(name))
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
        DamagedError
            When a tag of that name was lost.
        """
        self._check_files(snapshot_id)
        self.refs.check(tag_ref(name))
        try:
            with translated():
                self._repository.create_tag(to_engine(name), snapshot_id)
        except ExistsError:
            if local_folder(self.url) is not None or self.tags().get(name) != snapshot_id:
                raise
        self.refs.note(tag_ref(name), snapshot_id)

    def delete_tag(self, name: str) -> None:
        """Forget a tag. Its name can never be used again: the engine keeps a tombstone."""
        self.refs.forget(tag_ref(name))
        with translated():
            self._repository.delete_tag(to_engine(name))

    def ancestry(self, snapshot_id: str) -> Iterator[Commit]:
        """Yield a version and those before it, newest first, each read when it is asked for.

        Raises
        ------
        VersionNotFoundError
            When the version, or one before it, is not there.
        DamagedError
            When the history leads elsewhere than it was written to, or back to where it came from.
        """
        seen = set[str]()
        try:
            for commit in self._walk(self._repository, snapshot_id):
                seen.add(commit.id)
                yield commit
        except MissingError:
            yield from self._ancestry_anew(snapshot_id, seen)

    def _ancestry_anew(self, start: str, seen: Container[str]) -> Iterator[Commit]:
        """Yield the history of `start`, past the engine's cache, without what was seen of it.

        A vacuum cuts histories in place, and the engine remembers them as they were: versions
        that it deleted, too, so that the history is followed from its start.
        """
        try:
            with translated():
                fresh = self._repository.reopen()
            yield from (commit for commit in self._walk(fresh, start) if commit.id not in seen)
        except MissingError as error:
            raise VersionNotFoundError(
                f"There is no version {start!r} in {self.url!r} any more. A vacuum deleted it, or "
                "the lake was created anew. Open it again."
            ) from error

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
                yield read_commit(s)
                self._check_files(expected)

    def changed_chunks(self, older: str, newer: str) -> dict[str, set[int]]:
        """Return, per array path, which chunks of the first axis changed between two versions.

        Raises
        ------
        VersionNotFoundError
            When the newer one does not come from the older.
        DamagedError
            When a log of what was written in between is damaged.
        """
        found: dict[str, set[int]] = {}
        history = list(takewhile(lambda commit: commit.id != older, self.ancestry(newer)))
        if history and history[-1].parent != older:
            raise VersionNotFoundError(f"Version {newer} does not follow {older}.")
        for commit in history:
            for path, chunks in self.chunks_of(commit).items():
                found.setdefault(path.strip("/"), set()).update(c[0] if c else 0 for c in chunks)
        return found

    def chunks_of(self, commit: Commit) -> Mapping[str, list[list[int]]]:
        """Return the numbers of the chunks that a commit wrote, by array, from the engine's log.

        The caller has seen the commit's parent in its history.

        Raises
        ------
        DamagedError
            When they are not those that the commit has noted.
        """
        if commit.parent is None:
            return {}
        if (folder := local_folder(self.url)) is not None:
            check_regular(folder / "transactions" / commit.id)
        with translated():
            diff = self._repository.diff(from_snapshot_id=commit.parent, to_snapshot_id=commit.id)
        if commit.chunks not in (None, chunks_digest(diff.updated_chunks)):
            raise DamagedError(
                f"The log of the chunks that version {commit.id} has written is damaged. Restore "
                f"its file transactions/{commit.id} from a copy."
            )
        return diff.updated_chunks

    def check_histories(self) -> None:
        """Walk the history of every branch and tag once; the engine would follow a circle for ever.

        Raises
        ------
        DamagedError
        """
        seen = set[str]()
        tips = self._looked_up(self.branch_names(), branch_ref)
        for tip in {*tips.values(), *self.tags().values()}:
            for commit in self.ancestry(tip):
                if commit.id in seen:
                    break
                seen.add(commit.id)

    def expire(self, older_than: datetime) -> set[str]:
        """Drop older versions from the history, but for those that a ref names."""
        self._check_objects()
        self.check_histories()
        with translated():
            return set(self._repository.expire_snapshots(older_than))

    def collect(self, older_than: datetime, *, dry_run: bool) -> dict[str, int]:
        """Delete old objects that no version needs; return the counts."""
        self._check_objects()
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
        gone, needed = (files_of(folder, map(self.inspect, ids)) for ids in (expiring, kept))
        return count(folder, gone - needed, older_than)

    def clear_staged(self) -> None:
        """Remove what killed processes left of lakes that were to be made where this one is."""
        folder = local_folder(self.url)
        if folder is not None:
            clear_staged(folder)

    def lock(self, purpose: str = "commit") -> FileIO | contextlib.nullcontext[None]:
        """Take the writers' lock of a local folder; object stores commit by compare-and-swap.

        Writers get it in the order in which they ask, and hold it in a ``with`` block: a file has
        nothing between the two that an interrupt could end early, as `contextmanager` would.
        Claims are taken under a lock of their own: whoever holds the one for commits may need them.
        """
        if local_folder(self.url) is None:
            return contextlib.nullcontext()
        held = None
        try:
            with translated_files():
                held = lock_in_turn(self.writers_folder(), purpose)
            self._check_refs()
        except BaseException:
            if held is not None:
                held.close()
            raise
        return held

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
