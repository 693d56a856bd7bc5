"""The repository of a lake: sessions at its versions, branches, tags, history, and upkeep.

Writers and vacuums must not interfere with each other. How this is ensured depends on the location.

On a local folder, commits, new branches and tags, and vacuums take the same lock
(`Repository.lock`). Whatever else changes a branch or tag takes another one, as all of them do
(`Repository.alone`).

On an object store there are no locks. Branches are moved by compare-and-swap, so that no writer
overwrites another writer's commit. `vacuums` describes how a vacuum avoids deleting objects that a
writer there needs.
"""

from __future__ import annotations

import contextlib
import json
from copy import copy
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
from deeplake_lite.storage.repo.checked_refs import CheckedRefs
from deeplake_lite.storage.repo.commits import Commit, chunks_digest, read_commit
from deeplake_lite.storage.repo.failures import (
    LostChunksError,
    MissingError,
    RefusedError,
    translate_errors,
    translate_file_errors,
)
from deeplake_lite.storage.repo.hub import is_hub
from deeplake_lite.storage.repo.lake_refs import (
    branch_ref,
    is_link,
    is_pin,
    link_ends,
    name_of,
    tag_ref,
)
from deeplake_lite.storage.repo.locks import remove_files, take_lock
from deeplake_lite.storage.repo.places import (
    MEMORY,
    absolute_url,
    holds_lake,
    is_web,
    local_folder,
    patience_at,
    storage_at,
)
from deeplake_lite.storage.repo.session import Session
from deeplake_lite.storage.repo.settings import engine_exists, open_engine
from deeplake_lite.storage.repo.staging import (
    clear_staged,
    finish_replacement,
)
from deeplake_lite.storage.repo.turns import lock_in_turn
from deeplake_lite.storage.repo.vacuums import ROOT, check_log, keep_version, pin_versions
from deeplake_lite.storage.repo.witnesses import new_identity
from deeplake_lite.storage.repo.work import run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from datetime import datetime
    from io import FileIO
    from pathlib import Path

    from deeplake_lite.storage.repo.engine import compiled
    from deeplake_lite.storage.repo.store_options import Patience

CACHED_VERSIONS = 64
"""After so many commits of a handle, its caches are emptied, since Icechunk keeps the document of
each version that it has written. A document may have 90 KB."""

FEW_REFS = 16
"""Maximum number of branches and tags that are looked up one by one."""


def _of_kind(kind: str, refs: Mapping[str, str]) -> dict[str, str]:
    """Return a dict from name to snapshot id of the refs of one kind, "branch" or "tag"."""
    return {name_of(ref): version for ref, version in refs.items() if ref.startswith(f"{kind}.")}


def _no_lake(url: str) -> LakeNotFoundError:
    way_out = f"Check the path, or make one with dl.create({url!r}, schema)."
    if is_hub(url):
        way_out = (
            "Check the address. If the dataset is private, pass token=… in storage_options, or set "
            "the variable HF_TOKEN."
        )
    elif is_web(url):
        way_out = "Check the address: the lake's file 'repo' must be served below it."
    return LakeNotFoundError(f"There is no lake at {url!r}. {way_out}")


def _is_absent(url: str, error: LakeError) -> bool:
    """Return whether an error means that there is no lake.

    To requests without permission, the hub replies the same for private and for missing datasets.
    """
    is_hidden = isinstance(error, RefusedError) and error.status == 401 and is_hub(url)
    return is_hidden or isinstance(error, MissingError)


class Repository:
    """The repository of one lake.

    Parameters
    ----------
    url : str
        A folder, ``file://…``, ``memory://name``, ``s3://bucket/prefix``, ``gs://…`` or
        ``az://account/container/…``.
    repository : PyRepository
        Icechunk's object for the repository.
    limits : Limits
        Limits on the memory that a value may need when it is read or written.
    patience : Patience, optional
        Time-outs and retries of an object store.
    """

    def __init__(
        self,
        url: str,
        repository: compiled.PyRepository,
        limits: Limits = DEFAULT_LIMITS,
        patience: Patience | None = None,
    ) -> None:
        self.url, self.limits = absolute_url(url), limits
        self._repository, self._patience = repository, patience
        self.checks_reads = False
        """Whether every read is verified against checksums and hashes."""
        self._newest_files: tuple[str, ChunkFiles] | None = None
        self._writers = 0

    @classmethod
    def open(
        cls,
        url: str,
        options: Mapping[str, object] | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> Repository:
        """Open the repository at `url`. Raises LakeNotFoundError if there is none."""
        folder = local_folder(url)
        if folder is None:
            return cls._open_remote(url, options, limits)
        if not cls.exists(url, options):
            if folder.exists() and (folder.is_file() or any(folder.iterdir())):
                raise LakeNotFoundError(
                    f"There is no lake at {url!r}, but there are other files. Check the path."
                )
            raise _no_lake(url)
        check_regular(folder / "repo")
        storage = storage_at(url, options)
        with translate_errors():
            return cls(url, open_engine(url, storage), limits)

    @classmethod
    def _open_remote(
        cls, url: str, options: Mapping[str, object] | None, limits: Limits
    ) -> Repository:
        """Open a repository on an object store. Raises LakeNotFoundError if there is none."""
        if url.startswith(MEMORY):
            raise _no_lake(url)
        storage, patience = storage_at(url, options), patience_at(url, options)
        try:
            with translate_errors():
                return cls(url, open_engine(url, storage, patience), limits, patience)
        except (MissingError, RefusedError) as error:
            if _is_absent(url, error):
                raise _no_lake(url) from error
            raise

    @classmethod
    def exists(cls, url: str, options: Mapping[str, object] | None = None) -> bool:
        """Return whether there is a repository at `url`, without creating anything."""
        folder = local_folder(url)
        if folder is not None:
            finish_replacement(folder)
            return holds_lake(folder)
        if url.startswith(MEMORY):
            return False
        storage = storage_at(url, options)
        try:
            with translate_errors():
                return engine_exists(storage, patience_at(url, options))
        except RefusedError as error:
            if _is_absent(url, error):
                return False
            raise

    @property
    def refs(self) -> CheckedRefs:
        """The branches and tags. Their versions are compared with notes of the last writers."""
        return CheckedRefs(self)

    def checking(self) -> Repository:
        """Return a handle to the same repository whose reads verify checksums and hashes."""
        other = copy(self)
        other.checks_reads = True
        return other

    def reader(self, snapshot_id: str) -> Session:
        """Return a session that reads one version."""
        with translate_errors():
            session = self._repository.readonly_session(snapshot_id=snapshot_id)
        return Session(session, self._files_of(snapshot_id))

    def branch_reader(self, branch: str) -> Session:
        """Return a session that reads a branch's tip, which takes one request less than `reader`.

        The branch is not compared with the note of its last writer.

        Raises
        ------
        VersionNotFoundError
            When there is no such branch.
        """
        self._check_files()
        with translate_errors():
            session = self._repository.readonly_session(branch=branch)
        return Session(session, self._files_of(str(session.snapshot_id)))

    def _files_of(self, snapshot_id: str) -> ChunkFiles | None:
        """Return a version's chunk files if the lake is local. The latest result is cached.

        Icechunk does not notice a snapshot file that contains another version. On an object
        store, looking into it takes a request, so it is only done if all reads are checked.

        Raises
        ------
        DamagedError
            When the snapshot's file cannot be read, or contains another version.
        """
        folder = local_folder(self.url)
        if folder is None:
            if self.checks_reads:
                self.inspect(snapshot_id)
            return None
        version, files = self._newest_files or ("", None)
        if files is None or version != snapshot_id:
            files = ChunkFiles(folder, self.inspect(snapshot_id))
            self._newest_files = snapshot_id, files
        return files

    def _check_files(self, snapshot_id: str = "") -> None:
        """Reject pipes and devices in place of files that Icechunk is about to open.

        Icechunk would wait for a pipe forever, and Ctrl-C would not interrupt the wait.

        Raises
        ------
        DamagedError
        """
        if (folder := local_folder(self.url)) is not None:
            check_regular(folder / "repo")
            if snapshot_id:
                check_regular(folder / "snapshots" / snapshot_id)

    def _check_objects(self) -> None:
        """Reject pipes and devices among the files that a vacuum reads or deletes.

        Raises
        ------
        DamagedError
        """
        self._check_files()
        if (folder := local_folder(self.url)) is not None:
            with translate_file_errors():
                for kind in ("snapshots", "transactions", "manifests", "chunks"):
                    check_all_regular(folder / kind)

    def inspect(self, snapshot_id: str) -> dict[str, Any]:
        """Return Icechunk's description of a snapshot, including its manifests and nodes.

        Raises
        ------
        DamagedError
            When the snapshot's file cannot be read, or contains another version.
        """
        self._check_files(snapshot_id)
        snapshot: dict[str, Any] = json.loads(run(self._describe("snapshot", snapshot_id)))
        if snapshot["id"] != snapshot_id:
            raise DamagedError(
                f"Version {snapshot_id} is damaged: its file contains version {snapshot['id']}. "
                "Restore the lake from a backup."
            )
        return snapshot

    async def _describe(self, kind: str, *ids: str) -> str:
        """Return Icechunk's description of an object, in JSON.

        Icechunk's functions that are not asynchronous keep the interpreter's lock while they wait
        for the store (Icechunk 2.3).
        """
        describe = getattr(self._repository, f"inspect_{kind}_async")
        return str(await describe(*ids, pretty=False))

    def writer(self, branch: str) -> Session:
        """Return a session that writes on top of a branch's tip."""
        self._check_files()
        self._writers += 1
        if self._writers % CACHED_VERSIONS == 0:
            self.forget_caches()
        with translate_errors():
            session = self._repository.writable_session(branch)
        files = self._files_of(str(session.snapshot_id))
        land = self._land if local_folder(self.url) is None else None
        return Session(session, files, refs=self.refs, land=land, alone=self.alone)

    def checked_writer(self, branch: str) -> Session:
        """Return a session that writes on top of a branch's tip, like `writer`.

        In a local lake, the branch is first compared with the note of its last writer. The caller
        holds the writers' lock, so nobody else moves the branch there.

        Raises
        ------
        DamagedError
            When the branch's version differs from the note, or the branch is lost.
        VersionNotFoundError
            When there is no such branch.
        """
        if local_folder(self.url) is not None:
            self.refs.checked(branch_ref(branch))
        return self.writer(branch)

    def _land(
        self, branch: str, before: str, done: str, begun: datetime, keys: Collection[str]
    ) -> None:
        """Move a branch to a new version, which no branch names yet, if all of its chunks exist.

        The version is pinned before its chunks are looked up, as `vacuums` explains. If the version
        is rejected, no branch ever names it.

        Parameters
        ----------
        branch : str
            Name of the branch.
        before, done : str
            Snapshot ids of the branch's present version and of the new version.
        begun : datetime
            When the first chunk of the new version was written, or earlier.
        keys : collection of str
            Keys of the chunks that the new version needs.

        Raises
        ------
        ConflictError
            When the branch is no longer at `before`.
        LostChunksError
            When a vacuum has deleted some of the chunks.
        StorageError
            When a vacuum that may delete the chunks does not end in time.
        """
        with contextlib.ExitStack() as held:
            try:
                fresh = held.enter_context(keep_version(self, done, begun))
                fresh.reader(done).check_chunks(keys)
                # A vacuum that removes old versions also changes the parents of later versions.
                parent = next(fresh.ancestry(done)).parent
            except (MissingError, VersionNotFoundError) as error:
                raise LostChunksError(
                    "The version that was just written has been deleted by a vacuum without a "
                    "grace period. Nothing was committed; write the rows again.",
                    sorted(keys),
                ) from error
            if parent != before:
                raise ConflictError(
                    f"A commit must follow the branch's tip {before}, but during this commit, a "
                    "vacuum has truncated the history. Nothing was committed; commit again."
                )
            try:
                with translate_errors():
                    self._repository.reset_branch(branch, done, before)
            except ExistsError as error:
                reason = str(error).rstrip(".")
                raise ConflictError(
                    f"Another writer moved the branch during this commit: {reason}. Commit again."
                ) from error

    def fork(self, branch: str, snapshot_id: str) -> Session:
        """Return a session that collects chunks on top of a current or former tip of the branch."""
        writer = self.writer(branch)
        if writer.snapshot_id != snapshot_id:
            # The branch has moved, but Icechunk only creates writers at the tip of a branch. So
            # a pin, which is a branch, is created at this version for a moment.
            with self.lock("pins"), pin_versions(self, [snapshot_id]) as [pin]:
                writer = self.writer(pin)
        return writer.fork()

    def reopened(self) -> Repository:
        """Return a handle to the same repository, with empty caches."""
        other = copy(self)
        other.forget_caches()
        return other

    def forget_caches(self) -> None:
        """Empty the caches of this handle, after a vacuum has truncated the cached histories."""
        with translate_errors():
            # Icechunk's own `reopen` keeps the caches.
            self._repository = open_engine(self.url, self._repository.storage(), self._patience)
        self._newest_files = None

    def all_refs(self) -> dict[str, str]:
        """Return a dict from ref to snapshot id, without comparing versions with notes.

        An object store gets a single request. On a local folder, looking up a few names is cheaper
        than reading the whole history with them.
        """
        refs = []
        if local_folder(self.url) is not None:
            refs = [*map(branch_ref, self.branch_names()), *map(tag_ref, self.tag_names())]
        if not 0 < len(refs) <= FEW_REFS:
            self._check_files()
            info = json.loads(run(self._describe("repo_info")))
            branches = {branch_ref(name): version for name, version in info["branches"].items()}
            return branches | {tag_ref(name): version for name, version in info["tags"].items()}
        versions = {}
        for ref in refs:
            with contextlib.suppress(VersionNotFoundError):  # it has just been deleted
                versions[ref] = self.look_up(ref)
        return versions

    def tips(self) -> set[str]:
        """Return the versions that branches and tags name, without pins and links."""
        refs = self.all_refs().items()
        return {v for ref, v in refs if not is_pin(name_of(ref)) and not is_link(name_of(ref))}

    def branches(self) -> dict[str, str]:
        """Return a dict from branch name to snapshot id, without comparing versions with notes.

        Pins, announcements and links are left out.
        """
        every = _of_kind("branch", self.all_refs())
        return {name: v for name, v in every.items() if not is_pin(name) and not is_link(name)}

    def links(self) -> dict[str, set[str]]:
        """Return a dict that maps each linked version to the older versions it descends from."""
        links: dict[str, set[str]] = {}
        for name in self.branch_names():
            if ends := link_ends(name):
                links.setdefault(ends[1], set()).add(ends[0])
        return links

    def look_up(self, ref: str) -> str:
        """Return the snapshot id of a ref, without comparing it with the note on the ref.

        `ref` is ``branch.NAME`` or ``tag.NAME``.
        """
        kind, _, name = ref.partition(".")
        self._check_files()
        find = self._repository.lookup_tag if kind == "tag" else self._repository.lookup_branch
        with translate_errors():
            return str(find(name))

    def tag_tip(self, name: str) -> str:
        """Return the snapshot id of a tag. Raises the same errors as `tip`."""
        return self.refs.resolve(tag_ref(name))

    def tag_names(self) -> list[str]:
        """Return the names of all tags."""
        with translate_errors():
            return sorted(self._repository.list_tags())

    def branch_names(self) -> list[str]:
        """Return the names of all branches, including pins, announcements and links."""
        with translate_errors():
            return sorted(self._repository.list_branches())

    def tip(self, branch: str) -> str:
        """Return the snapshot id of a branch's current tip.

        Raises
        ------
        VersionNotFoundError
            When there is no such branch.
        DamagedError
            When the branch's file cannot be read. If all reads are checked, this is also raised
            when the file is lost, or when its version differs from the last writer's note.
        """
        return self.refs.resolve(branch_ref(branch))

    def tags(self) -> dict[str, str]:
        """Return a dict from tag name to snapshot id, without comparing versions with notes."""
        return _of_kind("tag", self.all_refs())

    def create_branch(self, name: str, snapshot_id: str) -> None:
        """Create a branch at a version.

        On an object store, Icechunk repeats a request whose reply was lost, and then reports that
        the name is taken, although the first request has created the branch. So an existing branch
        at the same version is not an error there.

        Raises
        ------
        ExistsError
            When a branch with that name exists (on an object store, at a different version).
        DamagedError
            When a branch with that name existed, but its file is lost.
        """
        self._check_files(snapshot_id)
        self.refs.check(branch_ref(name))
        try:
            with self.alone(), translate_errors():
                self._repository.create_branch(name, snapshot_id)
        except ExistsError:
            if local_folder(self.url) is not None or self.tip(name) != snapshot_id:
                raise
        self.refs.note(branch_ref(name), snapshot_id, new_identity())

    def delete_branch(self, name: str) -> None:
        """Delete a branch. Its versions stay until they are vacuumed."""
        self.refs.forget(branch_ref(name))
        with self.alone(), translate_errors():
            self._repository.delete_branch(name)
        with contextlib.suppress(VersionNotFoundError):
            self.tip(name)  # if the store fails to delete the branch, Icechunk only logs this
            raise StorageError(
                f"The store did not delete the branch {name!r}. Check that you may replace the "
                "lake's file repo, then try again."
            )

    def create_tag(self, name: str, snapshot_id: str) -> None:
        """Create a tag at a version. A lost reply is handled as in `create_branch`.

        Raises
        ------
        ExistsError
            When a tag with that name exists or has existed (on an object store, at a different
            version).
        DamagedError
            When a tag with that name existed, but its file is lost.
        """
        self._check_files(snapshot_id)
        self.refs.check(tag_ref(name))
        try:
            with self.alone(), translate_errors():
                self._repository.create_tag(name, snapshot_id)
        except ExistsError:
            if local_folder(self.url) is not None or self.tags().get(name) != snapshot_id:
                raise
        self.refs.note(tag_ref(name), snapshot_id)

    def delete_tag(self, name: str) -> None:
        """Delete a tag. Its name can never be reused, because Icechunk leaves a tombstone."""
        self.refs.forget(tag_ref(name))
        with self.alone(), translate_errors():
            self._repository.delete_tag(name)

    def ancestry(self, snapshot_id: str) -> Iterator[Commit]:
        """Yield a version and its ancestors, newest first.

        Raises
        ------
        VersionNotFoundError
            When the version does not exist.
        DamagedError
            When the history contains a cycle, or a commit does not match its digest.
        """
        seen = set[str]()
        self._check_files()
        try:
            with translate_errors():
                history = self._repository.async_ancestry(snapshot_id=snapshot_id)
                # The object is both an asynchronous and a synchronous iterator.
                for s in cast("Iterator[compiled.SnapshotInfo]", history):
                    if s.id in seen:
                        raise DamagedError(
                            f"The history of {snapshot_id} is damaged: version {s.id} occurs "
                            "twice. Restore the lake from a backup."
                        )
                    seen.add(s.id)
                    yield read_commit(s)
        except VersionNotFoundError as error:
            raise VersionNotFoundError(
                f"Version {snapshot_id!r} no longer exists in {self.url!r}. A vacuum deleted it, "
                "or the lake was recreated. Open the lake again."
            ) from error

    def changed_chunks(self, older: str, newer: str) -> dict[str, set[int]]:
        """Return a dict from array path to the numbers of the chunks written between two versions.

        Chunks are numbered along the first axis.

        Raises
        ------
        VersionNotFoundError
            When the newer version does not descend from the older one.
        DamagedError
            When a transaction log in between is damaged.
        """
        changed: dict[str, set[int]] = {}
        history = list(takewhile(lambda commit: commit.id != older, self.ancestry(newer)))
        if history and history[-1].parent != older:
            raise VersionNotFoundError(f"Version {newer} does not descend from {older}.")
        for commit in history:
            for path, chunks in self.chunks_of(commit).items():
                changed.setdefault(path.strip("/"), set()).update(c[0] if c else 0 for c in chunks)
        return changed

    def chunks_of(self, commit: Commit) -> Mapping[str, list[list[int]]]:
        """Return a dict from array path to the indices of the chunks that a commit wrote.

        The chunks are read from Icechunk's transaction log. The commit's parent must have been read
        before (see `histories`).

        Raises
        ------
        DamagedError
            When the chunks do not match the digest in the commit's metadata. This is not checked
            for the oldest version.
        """
        if commit.parent is None:
            return {}
        if (folder := local_folder(self.url)) is not None:
            check_log(folder, commit)
        with translate_errors():
            diff = self._repository.diff(from_snapshot_id=commit.parent, to_snapshot_id=commit.id)
        # A version whose parent has expired is moved to the root, and keeps its ancestors' logs.
        known = None if commit.parent == ROOT else commit.chunks
        if known not in (None, chunks_digest(diff.updated_chunks)):
            raise DamagedError(
                f"The log of the chunks that version {commit.id} wrote is damaged. Restore "
                f"its file transactions/{commit.id} from a backup."
            )
        return diff.updated_chunks

    def check_histories(self) -> None:
        """Reject damaged histories of branches and tags, since Icechunk follows cycles forever.

        Raises
        ------
        DamagedError
        """
        seen = set[str]()
        for tip in set(self.all_refs().values()):
            for commit in self.ancestry(tip):
                if commit.id in seen:
                    break
                seen.add(commit.id)

    def clear_staged(self) -> None:
        """Remove the staging folders that killed processes left next to this lake."""
        folder = local_folder(self.url)
        if folder is not None:
            clear_staged(folder)

    def lock(self, purpose: str = "commit") -> FileIO | contextlib.nullcontext[None]:
        """Acquire a lock on a local lake, to be used in a ``with`` block.

        Writers get the lock in the order in which they ask for it (see `turns`). On an object store
        there is no lock, and commits move the branch by compare-and-swap.

        The lock is returned as a file and not as a `contextmanager`, because an interrupt could
        stop the latter's Python code between taking the lock and entering the block (see `locks`).

        Parameters
        ----------
        purpose : str
            "commit" for the writers' lock. "claims" and "pins" have separate locks, because the
            holder of the writers' lock may need them as well.
        """
        if local_folder(self.url) is None:
            return contextlib.nullcontext()
        lock = None
        try:
            with translate_file_errors():
                lock = lock_in_turn(self.writers_folder(), purpose)
            self._check_files()
        except BaseException:
            if lock is not None:
                lock.close()
            raise
        return lock

    def alone(self) -> FileIO | contextlib.nullcontext[None]:
        """Exclude all other changes of the object ``repo``, to be used in a ``with`` block.

        Icechunk keeps all branches, tags and histories in this object. On an object store, it
        replaces the object by compare-and-swap. On a local folder, it does not: of two simultaneous
        changes, even of different branches, one would be lost without an error. So each call that
        changes the object takes this lock, for the time of the call only. No other lock is taken
        while it is held.

        Icechunk never removes the copy of the object that it makes before each change. They would
        grow with the square of the number of commits, so all but the last one are removed here.
        """
        if (folder := local_folder(self.url)) is None:
            return contextlib.nullcontext()
        lock = None
        try:
            with translate_file_errors():
                lock = take_lock(self.writers_folder() / "repo.lock")
                remove_files(folder / "overwritten")
        except BaseException:
            if lock is not None:
                lock.close()
            raise
        return lock

    def writers_folder(self) -> Path:
        """Return the folder ``.writers/`` of a local lake; create it if needed.

        Raises
        ------
        StorageError
            When the folder cannot be created, or something else is in its place. A symbolic link
            is also rejected, because writers would create and delete files in another folder.
        """
        folder = local_folder(self.url)
        assert folder is not None, "only a local lake has this folder"
        writers = folder / ".writers"
        if writers.is_symlink() or (writers.exists() and not writers.is_dir()):
            obstacle = "symbolic link" if writers.is_symlink() else "file"
            raise StorageError(
                f"Writers of a lake keep their locks in a folder, but {str(writers)!r} is a "
                f"{obstacle}. Remove the {obstacle}; the next writer creates the folder."
            )
        with translate_file_errors():
            writers.mkdir(exist_ok=True)
        return writers
