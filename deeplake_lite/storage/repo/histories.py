"""Check all versions that can be reached from branches, tags and links.

For each version, the snapshot, the commit's metadata and the transaction log are read. In a local
folder, the manifests are read as well, and the chunk files that they list must exist. The contents
of chunk files are read only when the cells of a version are verified.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from deeplake_lite.errors import DamagedError, LakeError, VersionNotFoundError
from deeplake_lite.storage.chunk_files import manifests_of, read_manifest
from deeplake_lite.storage.repo.lake_refs import branch_ref, is_pin, tag_ref
from deeplake_lite.storage.repo.places import local_folder

if TYPE_CHECKING:
    from pathlib import Path

    from deeplake_lite.storage.repo.commits import Commit
    from deeplake_lite.storage.repo.repository import Repository


def damaged_versions(repository: Repository) -> dict[str, str]:
    """Return a dict from the snapshot id of each damaged version to a description of the damage."""
    walk = _Walk(repository)
    for name in repository.branch_names():
        if not is_pin(name):
            walk.follow(branch_ref(name))
    for name in repository.tag_names():
        walk.follow(tag_ref(name))
    return walk.damaged


class _Walk:
    """A walk through histories that checks each version once."""

    def __init__(self, repository: Repository) -> None:
        self.damaged: dict[str, str] = {}
        self._repository, self._sound = repository.reopened(), set[str]()  # bypasses the cache
        folder = local_folder(repository.url)
        self._files = None if folder is None else _Files(folder)

    def follow(self, ref: str) -> None:
        """Check the history of a branch or tag. `CheckedRefs` reports damage to the ref itself.

        Other processes may change the lake meanwhile, so damage is only reported if a second check
        finds it again and the ref has not changed.
        """
        try:
            tip = self._repository.look_up(ref)
        except LakeError:
            return
        damaged, sound = self._history(tip)
        if damaged:
            try:
                if self._repository.look_up(ref) != tip:
                    return  # the ref has moved, and no writer can move a damaged branch
            except VersionNotFoundError:  # the ref has just been deleted
                return
            self._repository = self._repository.reopened()  # a vacuum may have changed its history
            damaged, sound = self._history(tip)
        self._sound |= sound
        self.damaged |= damaged

    def _history(self, tip: str) -> tuple[dict[str, str], set[str]]:
        """Check a version and all earlier versions.

        Return a dict from the ids of damaged versions to descriptions of the damage, and the set of
        the ids of undamaged versions. The walk ends at a version that an earlier call has found
        undamaged. Each version is checked only after its parent has been read; see `_damage_of`.
        """
        damaged, sound, version = dict[str, str](), set[str](), tip
        history, later = self._repository.ancestry(tip), None
        while True:
            try:
                commit = next(history) if version else None
            except LakeError as error:
                damaged[version] = f"the snapshot cannot be read: {error.finding}"
                return damaged, sound
            if later is not None and (reason := self._damage_of(later)):
                damaged[later.id] = reason
            elif later is not None:
                sound.add(later.id)
            if commit is None or commit.id in self._sound:
                return damaged, sound
            later, version = commit, commit.parent or ""

    def _damage_of(self, commit: Commit) -> str | None:
        """Return a description of the damage to a version, or None if there is none.

        The version's parent must have been read. Icechunk walks from the version to its parent, and
        would never stop if the parent were missing and damaged histories formed a cycle.
        """
        try:
            self._repository.chunks_of(commit)
            if self._files is not None:
                self._files.check(self._repository.inspect(commit.id))
        except LakeError as error:
            return error.finding
        return None


class _Files:
    """The manifests and chunk files of a local lake."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._sound = folder, set[str]()  # names of undamaged manifests

    def check(self, snapshot: dict[str, object]) -> None:
        """Read the manifests of a snapshot, and check that the chunk files that they list exist.

        Raises
        ------
        DamagedError
        """
        for manifest in chain.from_iterable(manifests_of(snapshot).values()):
            if manifest.name in self._sound:
                continue
            for chunk in read_manifest(self._folder, manifest):
                path = self._folder / "chunks" / chunk
                if not path.is_file():
                    raise DamagedError(
                        f"The file {str(path)!r} is missing. Restore it from a backup."
                    )
            self._sound.add(manifest.name)
