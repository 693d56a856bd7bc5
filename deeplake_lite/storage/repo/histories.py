"""Whether all versions that a branch, a tag or a link leads to are there as they were written.

Of each version its snapshot is read, with the notes of its commit, and the log of the chunks that
it has written; on a local folder also the manifests, and whether there are files for the chunks
that they name. The bytes in these are not read: `verify` of that version does so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import DamagedError, LakeError, VersionNotFoundError
from deeplake_lite.storage.chunk_files import manifests_of, read_manifest
from deeplake_lite.storage.repo.lake_refs import branch_ref, is_pin, tag_ref
from deeplake_lite.storage.repo.places import local_folder

if TYPE_CHECKING:
    from pathlib import Path

    from deeplake_lite.storage.repo.commits import Commit
    from deeplake_lite.storage.repo.repository import Repository


def damaged_versions(repository: Repository) -> dict[str, str]:
    """Return what is wrong with versions in the histories of all names, by their ids."""
    walk = _Walk(repository)
    for name in repository.branch_names():
        if not is_pin(name):
            walk.follow(branch_ref(name))
    for name in repository.tag_names():
        walk.follow(tag_ref(name))
    return walk.damaged


class _Walk:
    """A walk through histories that looks at each version once."""

    def __init__(self, repository: Repository) -> None:
        self.damaged: dict[str, str] = {}
        self._repository, self._sound = repository.reopened(), set[str]()
        folder = local_folder(repository.url)
        self._files = None if folder is None else _Files(folder)

    def follow(self, ref: str) -> None:
        """Look at the history of a branch or tag, whose own damage is another's to report."""
        try:
            tip = self._repository.look_up(ref)
        except LakeError:
            return
        damaged, sound = self._history(tip)
        if damaged:
            try:
                if self._repository.look_up(ref) != tip:
                    return  # somebody else has moved it on: all was well then
            except VersionNotFoundError:  # it has just been deleted
                return
            self._repository = self._repository.reopened()  # a vacuum may have cut its history
            damaged, sound = self._history(tip)
        self._sound |= sound
        self.damaged |= damaged

    def _history(self, tip: str) -> tuple[dict[str, str], set[str]]:
        """Return what is wrong with versions from a tip on, and those that are sound.

        It ends at a version that was found sound before.
        """
        damaged, sound, version = dict[str, str](), set[str](), tip
        history, later = self._repository.ancestry(tip), None
        while True:
            try:
                commit = next(history) if version else None
            except LakeError as error:
                damaged[version] = f"its snapshot does not read: {error.finding}"
                return damaged, sound
            if later is not None and (reason := self._damage_of(later)):
                damaged[later.id] = reason
            elif later is not None:
                sound.add(later.id)
            if commit is None or commit.id in self._sound:
                return damaged, sound
            later, version = commit, commit.parent or ""

    def _damage_of(self, commit: Commit) -> str | None:
        """Return what is wrong with a version whose parent reads; None where nothing is.

        The engine would look for a version that is not there for ever, if others lead in a circle.
        """
        try:
            self._repository.chunks_of(commit)
            if self._files is not None:
                self._files.look_for(self._repository.inspect(commit.id))
        except LakeError as error:
            return error.finding
        return None


class _Files:
    """The manifests and chunks of a local lake."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._known = folder, set[str]()  # manifests that are sound

    def look_for(self, snapshot: dict[str, Any]) -> None:
        """Read the manifests that a snapshot describes, and look for the chunks that they name.

        Raises
        ------
        DamagedError
        """
        every = (manifest for some in manifests_of(snapshot).values() for manifest in some)
        for manifest in every:
            if manifest.name in self._known:
                continue
            for chunk in read_manifest(self._folder, manifest):
                path = self._folder / "chunks" / chunk
                if not path.is_file():
                    raise DamagedError(
                        f"The file {str(path)!r} is missing. Restore it from a copy."
                    )
            self._known.add(manifest.name)
