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
from deeplake_lite.storage.repo.witnesses import Witnesses

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
                found[ref] = f"is not there; it named version {noted[ref]}"
        return {in_words(ref): reason for ref, reason in found.items()}

    def _named_by_refs(self) -> dict[str, str | LakeError]:
        """Return what each branch and tag but pins names, or why that does not read."""
        r = self._repository
        found: dict[str, str | LakeError] = {}
        for ref, look_up in [
            *((branch_ref(name), r.tip) for name in r.branch_names() if not is_pin(name)),
            *((tag_ref(name), r.tag_tip) for name in r.tag_names()),
        ]:
            with contextlib.suppress(VersionNotFoundError):  # it has just been deleted
                try:
                    found[ref] = look_up(ref.partition(".")[2])
                except VersionNotFoundError:
                    raise
                except LakeError as error:
                    found[ref] = error
        return found

    def check(self, ref: str) -> None:
        """Refuse a branch or tag that names another version than its writer made it name.

        Raises
        ------
        DamagedError
        """
        kind, _, name = ref.partition(".")
        witness = self._witnesses.of(ref) if self._witnesses else None
        if witness is None:
            return
        r = self._repository
        try:
            tip = r.tip(name) if kind == "branch" else r.tag_tip(name)
        except VersionNotFoundError:
            reason: str | None = f"is not there; it named version {witness}"
        else:
            reason = self._doubt(ref, tip, witness)
        if reason:
            raise DamagedError(f"The {in_words(ref)} {reason}. {WAY_OUT}")

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
            if isinstance(tip, str) and noted.get(ref) != tip:
                self.note(ref, tip)

    def _doubt(self, ref: str, tip: str, witness: str | None) -> str | None:
        """Return what is wrong with a ref that names `tip`; None where nothing is.

        The note that is its witness was read before the ref: both only move on.
        """
        kind, _, name = ref.partition(".")
        if ends := link_ends(name):
            witness = ends[0]
        if witness in (None, tip):
            return None
        if kind == "branch" and not ends and self._follows(tip, str(witness), name):
            return None
        return f"names version {tip}, but its writer left it at {witness}"

    def _follows(self, tip: str, before: str, branch: str) -> bool:
        """Tell whether a version comes from another one by commits to a branch alone."""
        for commit in self._repository.ancestry(tip):
            if commit.id == before:
                return True
            if commit.branch not in (None, branch):
                break
        return False

    def note_commit(self, branch: str, before: str, after: str) -> None:
        """Note a commit of ours, unless the branch was not where its last writer left it."""
        ref = branch_ref(branch)
        if self._witnesses is None or is_pin(branch):
            return
        with contextlib.suppress(LakeError, OSError):  # the commit is there, whatever happens now
            if not self._doubt(ref, before, self._witnesses.of(ref)):
                self.note(ref, after)

    def note(self, ref: str, version: str) -> None:
        """Note what a ref names from now on."""
        if self._witnesses is not None and not is_pin(ref.partition(".")[2]):
            with contextlib.suppress(LakeError, OSError):
                self._repository.writers_folder()
                self._witnesses.note(ref, version)

    def forget(self, ref: str) -> None:
        """Forget the note on a ref that is to be deleted."""
        if self._witnesses is not None:
            with translated_files():
                self._witnesses.forget(ref)
