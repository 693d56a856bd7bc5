"""Vacuums, which delete objects that no version needs, without interfering with writers.

On an object store there are no locks. Branches are moved by compare-and-swap, so that no writer
overwrites another writer's commit. A writer and a vacuum each announce themselves before they look
for each other, so that at least one of them sees the other::

    writer that names an old version          vacuum
    1. creates a pin for the version          1. creates its announcement
    2. waits for vacuums that were announced  2. reads all names, and keeps their versions
    3. checks that everything still exists    3. deletes everything else that is old
    4. moves the branch, deletes the pin      4. deletes its announcement

If the pin is created before step 2 of the vacuum, the vacuum keeps the version. If the pin is
created later, the announcement exists already, so the writer waits for the vacuum to end, and then
finds out whether the vacuum has deleted objects that the writer needs. A process
that dies leaves a pin or an announcement, which counts as dead after a day (`ANNOUNCED_AGE`).
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import DamagedError, LakeError, StorageError, VersionNotFoundError
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.storage.chunk_files import check_all_regular, check_regular
from deeplake_lite.storage.garbage import count_files, files_of, missing_files
from deeplake_lite.storage.repo.engine import package
from deeplake_lite.storage.repo.failures import (
    MissingError,
    translate_errors,
    translate_file_errors,
)
from deeplake_lite.storage.repo.lake_refs import (
    is_link,
    is_pin,
    link_name,
    made_at,
    may_delete,
    name_of,
    pin_name,
    vacuum_name,
)
from deeplake_lite.storage.repo.places import local_folder
from deeplake_lite.storage.repo.work import run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from deeplake_lite.storage.repo.commits import Commit
    from deeplake_lite.storage.repo.repository import Repository

POLLS, POLL_SECONDS = 600, 1.0
"""Number of times that a writer checks whether a vacuum has ended, and seconds between checks."""

ROOT = "1CECHNKREP0F1RSTCMT0"
"""Id of the first snapshot, which Icechunk creates in every repository and never deletes."""


@contextlib.contextmanager
def pin_versions(repository: Repository, snapshot_ids: Iterable[str]) -> Iterator[list[str]]:
    """Pin versions so that vacuums do not delete them, and provide the names of the pins."""
    names = {pin_name(datetime.now(UTC)): i for i in snapshot_ids}
    try:
        for name, snapshot_id in names.items():
            repository.create_branch(name, snapshot_id)
        yield list(names)
    finally:
        for name in names.keys() & set(repository.branch_names()):
            repository.delete_branch(name)


@contextlib.contextmanager
def keep_version(
    repository: Repository, snapshot_id: str, begun: datetime | None = None
) -> Iterator[Repository]:
    """Protect a version from vacuums while a branch or tag for it is created.

    On a local folder the caller holds the writers' lock, so no vacuum is running. On an object
    store the version is pinned. A vacuum that starts later sees the pin. A vacuum that is already
    running may not have seen the pin, so this function waits until that vacuum has ended. The
    `Repository` that this function provides has empty caches, so that it does not return deleted
    objects.

    If no branch or tag leads to the version, earlier vacuums may have deleted some of its files,
    such as chunks that are older than its snapshot. So this function checks that all files of the
    version and all its ancestors exist. If `begun` is given, the caller must make this check.

    Parameters
    ----------
    repository : Repository
        The lake's repository.
    snapshot_id : str
        The version.
    begun : datetime, optional
        When the version's first object was written. The function does not wait for vacuums that
        spare objects of that age.

    Raises
    ------
    NotFoundError
        When the version or a part of it does not exist.
    StorageError
        When a vacuum does not end in time.
    """
    if local_folder(repository.url) is not None:
        fresh = repository.reopened()
        if begun is None and snapshot_id not in repository.tips():
            _check_whole(fresh, snapshot_id)
        yield fresh
        return
    pin = pin_name(datetime.now(UTC))
    try:
        try:
            repository.create_branch(pin, snapshot_id)
        except MissingError as error:
            raise VersionNotFoundError(
                f"Version {snapshot_id!r} no longer exists. A vacuum deleted it, or the lake was "
                "recreated. Open the lake again."
            ) from error
        is_tip = begun is None and snapshot_id in repository.tips()
        if not is_tip:
            _await_vacuums(repository, begun)
        fresh = repository if is_tip else repository.reopened()
        if begun is None and not is_tip:
            _check_whole(fresh, snapshot_id)
        yield fresh
    finally:
        with contextlib.suppress(LakeError):  # if this fails, a vacuum deletes the pin later
            repository.delete_branch(pin)


def _check_whole(repository: Repository, snapshot_id: str) -> None:
    """Reject a version of which a vacuum has deleted some files.

    Versions to which a branch, tag or link leads are always complete.

    Raises
    ------
    VersionNotFoundError
    """
    try:
        snapshot = repository.inspect(snapshot_id)
        named = _named(repository)
        if any(c.id == snapshot_id for tip in named for c in repository.ancestry(tip)):
            return
        deque(repository.ancestry(snapshot_id), maxlen=0)
        folder = local_folder(repository.url)
        if folder is None:
            arrays = {
                node["path"].strip("/"): [ref["extents"] for ref in node["manifest_refs"] or []]
                for node in snapshot["nodes"]
                if node["node_type"] == "array"
            }
            lost = run(repository.reader(snapshot_id).lost_chunks(arrays))
        else:
            lost = sorted(missing_files(folder, [snapshot]))
    except DamagedError as error:
        raise VersionNotFoundError(
            f"Version {snapshot_id!r} no longer exists: {error.finding}. Choose a version that a "
            "branch or tag leads to; see ds.log()."
        ) from error
    if lost:
        raise VersionNotFoundError(
            f"Version {snapshot_id!r} is no longer complete, because a vacuum has deleted "
            f"{pluralize(len(lost), 'file')} of it, such as {lost[0]!r}. Choose a version that a "
            "branch or tag leads to; see ds.log()."
        )


def _named(repository: Repository) -> set[str]:
    """Return the versions that branches, tags and links name."""
    return {v for ref, v in repository.all_refs().items() if not is_pin(name_of(ref))}


@contextlib.contextmanager
def announce_vacuum(repository: Repository, limit: datetime) -> Iterator[None]:
    """Announce a vacuum to writers on an object store.

    The vacuum must read the names of branches and tags only after its announcement.

    Parameters
    ----------
    repository : Repository
        The lake's repository.
    limit : datetime
        The vacuum spares all objects that were written at or after this time.
    """
    if local_folder(repository.url) is not None:
        yield
        return
    name = vacuum_name(datetime.now(UTC), limit)
    repository.create_branch(name, ROOT)
    try:
        yield
    finally:
        with contextlib.suppress(LakeError):  # if this fails, the vacuum counts as dead after a day
            repository.delete_branch(name)


def _await_vacuums(repository: Repository, begun: datetime | None) -> None:
    """Wait until no vacuum is running that may delete objects written since `begun`.

    Raises
    ------
    StorageError
    """
    for _ in range(POLLS):
        names = repository.branch_names()
        if not (at_work := [name for name in names if may_delete(name, begun)]):
            return
        time.sleep(POLL_SECONDS)
    raise StorageError(
        "Old transactions and versions must wait until a vacuum has finished, but the vacuum that "
        f"began at {made_at(at_work[0]):%Y-%m-%d %H:%M:%S} UTC is still running. Nothing was "
        "changed: try again later. If that vacuum was killed, wait until the next day."
    )


def unpin(repository: Repository, older_than: datetime) -> None:
    """Delete the pins of dead processes. The caller holds the writers' lock.

    On a local folder, a process that needs a pin holds the lock for pins. So when this process gets
    the lock, all existing pins are left from dead processes. On an object store, dead processes
    cannot be recognized, so pins older than `older_than` are deleted.
    """
    local = local_folder(repository.url) is not None
    with repository.lock("pins"):
        for name in repository.branch_names():
            made = made_at(name)
            if is_pin(name) and (local or (made and made < older_than)):
                repository.delete_branch(name)


def expire(repository: Repository, older_than: datetime) -> set[str]:
    """Drop versions older than a time from histories, except tips and tags; return their ids."""
    repository._check_objects()
    repository.check_histories()
    with repository.alone(), translate_errors():
        return set(repository._repository.expire_snapshots(older_than))


def collect(repository: Repository, older_than: datetime, *, dry_run: bool) -> dict[str, int]:
    """Delete old objects that no version needs; return their total bytes and number per kind."""
    repository._check_objects()
    repository.check_histories()
    try:
        s = _collect(repository, older_than, dry_run=dry_run)
    except MissingError as error:
        if not _replace_lost_snapshots(repository, error):
            raise
        s = _collect(repository, older_than, dry_run=dry_run)
    return {
        "bytes": s.bytes_deleted,
        "chunks": s.chunks_deleted,
        "manifests": s.manifests_deleted,
        "snapshots": s.snapshots_deleted,
    }


def _collect(repository: Repository, older_than: datetime, *, dry_run: bool) -> Any:
    with repository.alone(), translate_errors():
        # Unlike the compiled class, the package's class limits the memory that the method takes.
        engine = package().Repository(repository._repository)
        return engine.garbage_collect(older_than, dry_run=dry_run)


def _replace_lost_snapshots(repository: Repository, error: MissingError) -> bool:
    """Create empty files for lost snapshots that no branch or tag leads to.

    Icechunk reads all snapshots that it does not delete, and it only deletes those that have a
    file. Without it, a damaged index could be dropped, but the lake could not be vacuumed.

    Returns
    -------
    bool
        Whether a file was created, which is only possible in a local folder.
    """
    folder = local_folder(repository.url)
    if folder is None or "snapshots/" not in str(error):
        return False
    needed = {c.id for tip in repository.all_refs().values() for c in repository.ancestry(tip)}
    info = json.loads(run(repository._describe("repo_info")))
    files = [folder / "snapshots" / s["id"] for s in info["snapshots"] if s["id"] not in needed]
    created = [file for file in files if not file.exists()]
    with translate_file_errors():
        for file in created:
            file.touch()
            os.utime(file, (0, 0))  # old enough for every vacuum
    return bool(created)


def would_free(
    repository: Repository,
    expiring: Iterable[str],
    kept: Iterable[str],
    older_than: datetime,
) -> dict[str, int]:
    """Return by how much the counts of `collect` would rise if the versions `expiring` expired.

    Files that the versions `kept` need are not counted.

    The result is empty on an object store, because Icechunk gives no access to manifests.
    """
    folder = local_folder(repository.url)
    if folder is None:
        return {}
    freed, needed = (files_of(folder, map(repository.inspect, ids)) for ids in (expiring, kept))
    return count_files(folder, freed - needed, older_than)


def add_links(repository: Repository, links: Iterable[tuple[str, str]]) -> None:
    """Record that versions descend from older versions, given as pairs (older, later).

    Vacuums keep the older versions as long as the links exist.
    """
    existing = set(repository.branch_names())
    for older, later in links:
        name = link_name(older, later)
        if name not in existing:
            repository.create_branch(name, older)


def drop_links(repository: Repository, but: Iterable[tuple[str, str]]) -> None:
    """Delete all links except those in `but`, given as pairs (older, later)."""
    needed = {link_name(older, later) for older, later in but}
    for name in repository.branch_names():
        if is_link(name) and name not in needed:
            repository.delete_branch(name)


def check_log(folder: Path, commit: Commit) -> None:
    """Reject pipes and devices in place of the files that Icechunk reads for a commit's changes.

    Raises
    ------
    DamagedError
    """
    for snapshot in filter(None, (commit.id, commit.parent)):
        check_regular(folder / "snapshots" / snapshot)
    if commit.parent == ROOT:
        check_all_regular(folder / "transactions")  # those of expired ancestors are read, too
    else:
        check_regular(folder / "transactions" / commit.id)
