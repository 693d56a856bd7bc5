"""Compare refs (branches and tags) with the notes in which their writers recorded the versions.

The module `witnesses` describes the notes. A note is written after its branch has moved, and both
are read without a lock, so a note may be older than its branch, but never newer. Therefore, the
note is read first. If the branch advances between the two reads, its history shows this, whereas a
note that advanced between the reads would look like damage.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from deeplake_lite.errors import DamagedError, LakeError, VersionNotFoundError
from deeplake_lite.storage.repo.failures import translate_file_errors
from deeplake_lite.storage.repo.lake_refs import (
    branch_ref,
    describe_ref,
    is_pin,
    link_ends,
    tag_ref,
)
from deeplake_lite.storage.repo.places import local_folder
from deeplake_lite.storage.repo.witnesses import Note, Witnesses, new_identity

if TYPE_CHECKING:
    from deeplake_lite.storage.repo.repository import Repository

WAY_OUT = (
    "Restore the lake's file repo from a backup. If the change is intended, "
    "delete the files *.ref in the lake's folder .writers/, in which writers record the versions "
    "of branches and tags."
)
"""Advice for a branch or tag that refers to the wrong version."""


class CheckedRefs:
    """The branches and tags of a repository, with the notes on them.

    Parameters
    ----------
    repository : Repository
        The repository. On an object store, there are no notes.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        folder = local_folder(repository.url)
        self._witnesses = None if folder is None else Witnesses(folder / ".writers")

    def doubtful(self) -> dict[str, str]:
        """Return a dict that maps each doubtful ref, such as ``"tag 'v1'"``, to the reason.

        In a local folder, refs are compared with the notes of their writers; a ref without a note
        is assumed to be correct. On an object store, only refs that cannot be read and links to a
        wrong version are doubtful.
        """
        notes = self._witnesses.all() if self._witnesses else {}  # before the refs
        doubts, tips = dict[str, str](), self._read_refs()
        for ref, tip in tips.items():
            if isinstance(tip, LakeError):
                doubts[ref] = tip.finding
            elif (reason := self._doubt(ref, tip, notes.get(ref))) and (
                # Otherwise, the ref has been deleted and recreated in the meantime.
                self._witnesses is None or self._witnesses.of(ref) == notes.get(ref)
            ):
                doubts[ref] = reason
        for ref in notes.keys() - tips.keys():
            # If the ref has just been deleted, its note no longer exists either.
            if self._witnesses and self._witnesses.of(ref) is not None:
                doubts[ref] = _lost(notes[ref])
        return {describe_ref(ref): reason for ref, reason in doubts.items()}

    def _read_refs(self) -> dict[str, str | LakeError]:
        """Return a dict from each ref except pins to its version, or to the error of reading it."""
        r = self._repository
        tips: dict[str, str | LakeError] = {}
        for ref in [
            *(branch_ref(name) for name in r.branch_names() if not is_pin(name)),
            *map(tag_ref, r.tag_names()),
        ]:
            with contextlib.suppress(VersionNotFoundError):  # the ref has just been deleted
                try:
                    tips[ref] = r.look_up(ref)
                except VersionNotFoundError:
                    raise
                except LakeError as error:
                    tips[ref] = error
        return tips

    def of_users(self, kind: str) -> dict[str, str]:
        """Return a dict from the names of the user's branches, or tags, to their versions.

        `kind` is ``"branch"`` or ``"tag"``.

        Raises
        ------
        DamagedError
            If a ref is lost, or if its version differs from its writer's note. This is only
            detected if every read is checked.
        """
        r = self._repository
        if not r.checks_reads:
            every = r.branches() if kind == "branch" else r.tags()
            return {name: every[name] for name in sorted(every) if not name.startswith("_")}
        names = {*(r.branch_names() if kind == "branch" else r.tag_names())}
        names.update(self._names_with_notes(kind))
        versions = {}
        for name in sorted(name for name in names if not name.startswith("_")):
            with contextlib.suppress(VersionNotFoundError):  # the ref has just been deleted
                versions[name] = self.resolve(f"{kind}.{name}")
        return versions

    def resolve(self, ref: str) -> str:
        """Return the version of a ref. If every read is checked, compare it with the ref's note.

        Raises
        ------
        DamagedError, VersionNotFoundError
        """
        r = self._repository
        return self.checked(ref) if r.checks_reads else r.look_up(ref)

    def checked(self, ref: str) -> str:
        """Return the version of a branch or tag after comparing it with the writer's note.

        Raises
        ------
        DamagedError
            If the version differs from the note, or if the ref is lost.
        VersionNotFoundError
            If there is no such branch or tag.
        """
        while True:
            note = self._note_on(ref)  # before the ref itself
            tip, missing = self._look_up(ref)
            if missing is None or note is None:
                reason = None if missing else self._doubt(ref, tip, note)
            else:
                reason = _lost(note)
            if reason is None:
                if missing is not None:
                    raise missing
                return tip
            # If the note has changed, the ref was deleted or recreated in between, so try again.
            if self._note_on(ref) == note:
                raise DamagedError(f"The {describe_ref(ref)} {reason}. {WAY_OUT}")

    def check(self, ref: str) -> None:
        """Reject a branch or tag that is lost, or whose version differs from its writer's note.

        Raises
        ------
        DamagedError
        """
        if self._note_on(ref) is not None:
            with contextlib.suppress(VersionNotFoundError):  # the ref has just been deleted
                self.checked(ref)

    def _names_with_notes(self, kind: str) -> list[str]:
        """Return the names of the branches or tags that have a note."""
        refs = self._witnesses.all() if self._witnesses else {}
        parts = (ref.partition(".") for ref in refs)
        return [name for of_kind, _, name in parts if of_kind == kind]

    def identity(self, branch: str) -> str:
        """Return the identity of a branch, to be recorded in its next commit.

        A branch without an identity gets a new identity. On an object store, which has no notes,
        the identity is empty.
        """
        if self._witnesses is None:
            return ""
        existing = self.known_identity(branch)
        return new_identity() if existing is None else existing

    def known_identity(self, branch: str) -> str | None:
        """Return the identity in a branch's note or else in its last commit, or None."""
        if (note := self._note_on(branch_ref(branch))) is not None:
            return note.identity
        return self.identity_at(self._repository.look_up(branch_ref(branch)), branch)

    def identity_at(self, version: str, branch: str) -> str | None:
        """Return the branch identity in a commit, or None if the commit is of another branch."""
        commit = next(self._repository.ancestry(version))
        return commit.branch_id if commit.branch == branch else None

    def _note_on(self, ref: str) -> Note | None:
        """Return the note on a branch or tag, or None if there is none."""
        return self._witnesses.of(ref) if self._witnesses else None

    def _look_up(self, ref: str) -> tuple[str, VersionNotFoundError | None]:
        """Return the version of a ref, and None or the error that it does not exist."""
        try:
            return self._repository.look_up(ref), None
        except VersionNotFoundError as error:
            return "", error

    def renew(self) -> None:
        """Write notes on all refs that have none or an outdated note.

        The caller must hold the writers' lock.

        Raises
        ------
        DamagedError
            If the version of a ref differs from its writer's note.
        """
        if self._witnesses is None:
            return
        if doubts := self.doubtful():
            ref, reason = next(iter(doubts.items()))
            raise DamagedError(f"The {ref} {reason}. {WAY_OUT}")
        notes = self._witnesses.all()
        for ref, tip in self._read_refs().items():
            if isinstance(tip, str) and (ref not in notes or notes[ref].version != tip):
                kind, _, name = ref.partition(".")
                self.note(ref, tip, self.identity(name) if kind == "branch" else "")

    def _doubt(self, ref: str, tip: str, note: Note | None) -> str | None:
        """Return the reason to doubt that a ref should refer to `tip`, or None if there is none.

        `note` must have been read before the ref. A link needs no note, because its name contains
        the version to which it refers.
        """
        kind, _, name = ref.partition(".")
        if ends := link_ends(name):
            note = Note(ends[0])
        if note is None or note.version == tip:
            return None
        if kind == "branch" and not ends and self._follows(tip, note, name):
            return None  # the branch has just advanced, or its writer died before writing the note
        return f"refers to version {tip}, but its last writer recorded version {note.version}"

    def _follows(self, tip: str, note: Note, branch: str) -> bool:
        """Return whether all commits between the version in `note` and `tip` belong to the branch.

        Commits that do not record a branch or an identity are assumed to belong to the branch.
        """
        for commit in self._repository.ancestry(tip):
            if commit.id == note.version:
                return True
            if commit.branch not in (None, branch):
                break
            if commit.branch_id not in (None, note.identity):
                break
        return False

    def note(self, ref: str, version: str, identity: str = "") -> None:
        """Write the note on a ref, with its current version and the identity of a branch.

        Errors are ignored. The note is then missing or outdated, as after a process has been killed
        here. All readers of notes allow this.
        """
        if self._witnesses is not None and not is_pin(ref.partition(".")[2]):
            with contextlib.suppress(LakeError, OSError):
                self._repository.writers_folder()
                self._witnesses.note(ref, Note(version, identity))

    def forget(self, ref: str) -> None:
        """Delete the note on a ref that is about to be deleted."""
        if self._witnesses is not None:
            with translate_file_errors():
                self._witnesses.forget(ref)


def _lost(note: Note) -> str:
    return f"is missing; it referred to version {note.version}"
