"""Branches and tags, compared with where their writers left them.

See `witnesses` for what is noted and when.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from deeplake_lite.errors import DamagedError, LakeError, VersionNotFoundError
from deeplake_lite.storage.repo.failures import translated_files
from deeplake_lite.storage.repo.lake_refs import branch_ref, in_words, is_pin, link_ends, tag_ref
from deeplake_lite.storage.repo.places import local_folder
from deeplake_lite.storage.repo.witnesses import Note, Witnesses, new_identity

if TYPE_CHECKING:
    from deeplake_lite.storage.repo.repository import Repository

WAY_OUT = (
    "Restore its file in the lake's refs/ from a copy. If it is meant to be so, delete the "
    "files *.ref in the lake's .writers/, which note where writers left the branches and tags."
)
"""Advice for a branch or tag that names the wrong version."""


class CheckedRefs:
    """The branches and tags of a repository, and the notes on them.

    Parameters
    ----------
    repository : Repository
        The repository. On an object store nobody keeps notes.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        folder = local_folder(repository.url)
        self._witnesses = None if folder is None else Witnesses(folder / ".writers")

    def doubtful(self) -> dict[str, str]:
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
                found[ref] = _lost(noted[ref])
        return {in_words(ref): reason for ref, reason in found.items()}

    def _named_by_refs(self) -> dict[str, str | LakeError]:
        """Return what each branch and tag but pins names, or why that does not read."""
        r = self._repository
        found: dict[str, str | LakeError] = {}
        for ref in [
            *(branch_ref(name) for name in r.branch_names() if not is_pin(name)),
            *map(tag_ref, r.tag_names()),
        ]:
            with contextlib.suppress(VersionNotFoundError):  # it has just been deleted
                try:
                    found[ref] = r.look_up(ref)
                except VersionNotFoundError:
                    raise
                except LakeError as error:
                    found[ref] = error
        return found

    def of_users(self, kind: str) -> dict[str, str]:
        """Return what each branch, or each tag, names that is not the lake's own.

        Raises
        ------
        DamagedError
            Where every read is checked, when one is lost or names another version.
        """
        r = self._repository
        names = {*(r.branch_names() if kind == "branch" else r.tag_names())}
        if r.checks_reads:
            names.update(self._noted_names(kind))
        found = {}
        for name in sorted(name for name in names if not name.startswith("_")):
            with contextlib.suppress(VersionNotFoundError):  # it has just been deleted
                found[name] = self.resolve(f"{kind}.{name}")
        return found

    def resolve(self, ref: str) -> str:
        """Return what a branch or tag names: as `checked` does, where every read is checked.

        Raises
        ------
        DamagedError, VersionNotFoundError
        """
        r = self._repository
        return self.checked(ref) if r.checks_reads else r.look_up(ref)

    def checked(self, ref: str) -> str:
        """Return the version that a branch or tag names: the one that its writer made it name.

        Raises
        ------
        DamagedError
            When it names another, or is lost.
        VersionNotFoundError
            When there is no such branch or tag.
        """
        while True:
            witness = self._noted(ref)  # first: refs only move on
            tip, missing = self._look_up(ref)
            if missing is None or witness is None:
                reason = None if missing else self._doubt(ref, tip, witness)
            else:
                reason = _lost(witness)
            if reason is None:
                if missing is not None:
                    raise missing
                return tip
            if self._noted(ref) == witness:  # otherwise it was deleted, or named anew, meanwhile
                raise DamagedError(f"The {in_words(ref)} {reason}. {WAY_OUT}")

    def check(self, ref: str) -> None:
        """Refuse a branch or tag that is lost, or names another version than its writer noted.

        Raises
        ------
        DamagedError
        """
        if self._noted(ref) is not None:
            with contextlib.suppress(VersionNotFoundError):  # it has just been deleted
                self.checked(ref)

    def _noted_names(self, kind: str) -> list[str]:
        """Return the names of the branches, or of the tags, of which there is a note."""
        refs = self._witnesses.all() if self._witnesses else {}
        parts = (ref.partition(".") for ref in refs)
        return [name for found, _, name in parts if found == kind]

    def identity(self, branch: str) -> str:
        """Return the identity of a branch that is written to, which its commits are to carry.

        A branch without one gets a new one. On an object store, where nobody keeps notes, branches
        have none.
        """
        if self._witnesses is None:
            return ""
        known = self.known_identity(branch)
        return new_identity() if known is None else known

    def known_identity(self, branch: str) -> str | None:
        """Return the identity in a branch's note, or else that of its last commit, if either is."""
        if (noted := self._noted(branch_ref(branch))) is not None:
            return noted.identity
        return self.identity_at(self._repository.look_up(branch_ref(branch)), branch)

    def identity_at(self, version: str, branch: str) -> str | None:
        """Return the identity of the branch that a version was committed to, if that had a name."""
        commit = next(self._repository.ancestry(version))
        return commit.branch_id if commit.branch == branch else None

    def _noted(self, ref: str) -> Note | None:
        """Return what was noted of a branch or tag; None where nothing was."""
        return self._witnesses.of(ref) if self._witnesses else None

    def _look_up(self, ref: str) -> tuple[str, VersionNotFoundError | None]:
        """Return what a branch or tag names, or the error that there is none."""
        try:
            return self._repository.look_up(ref), None
        except VersionNotFoundError as error:
            return "", error

    def renew(self) -> None:
        """Note what refs name that have no note, or an older one. The caller holds the lock.

        Raises
        ------
        DamagedError
            When one names another version than its writer made it name.
        """
        if self._witnesses is None:
            return
        if doubts := self.doubtful():
            ref, reason = next(iter(doubts.items()))
            raise DamagedError(f"The {ref} {reason}. {WAY_OUT}")
        noted = self._witnesses.all()
        for ref, tip in self._named_by_refs().items():
            if isinstance(tip, str) and (ref not in noted or noted[ref].version != tip):
                kind, _, name = ref.partition(".")
                self.note(ref, tip, self.identity(name) if kind == "branch" else "")

    def _doubt(self, ref: str, tip: str, noted: Note | None) -> str | None:
        """Return what is wrong with a ref that names `tip`; None where nothing is.

        The note that is its witness was read before the ref: both only move on.
        """
        kind, _, name = ref.partition(".")
        if ends := link_ends(name):
            noted = Note(ends[0])
        if noted is None or noted.version == tip:
            return None
        if kind == "branch" and not ends and self._follows(tip, noted, name):
            return None
        return f"names version {tip}, but its writer left it at {noted.version}"

    def _follows(self, tip: str, noted: Note, branch: str) -> bool:
        """Tell whether a version comes from the noted one by commits to that very branch alone.

        Commits of writers that noted no branch, or no identity, count as its own.
        """
        for commit in self._repository.ancestry(tip):
            if commit.id == noted.version:
                return True
            if commit.branch not in (None, branch):
                break
            if commit.branch_id not in (None, noted.identity):
                break
        return False

    def note(self, ref: str, version: str, identity: str = "") -> None:
        """Note what a ref names from now on, and the identity of a branch."""
        if self._witnesses is not None and not is_pin(ref.partition(".")[2]):
            with contextlib.suppress(LakeError, OSError):
                self._repository.writers_folder()
                self._witnesses.note(ref, Note(version, identity))

    def forget(self, ref: str) -> None:
        """Forget the note on a ref that is to be deleted."""
        if self._witnesses is not None:
            with translated_files():
                self._witnesses.forget(ref)


def _lost(noted: Note) -> str:
    return f"is not there; it named version {noted.version}"
