"""The state of a Dataset: its table, its open transaction, and a lock for these two."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Concatenate

from deeplake_lite.dataset.selection import RowSelection
from deeplake_lite.dataset.versions import history
from deeplake_lite.errors import ReadOnlyError, UncommittedError, VersionNotFoundError
from deeplake_lite.lazy import LazyModule
from deeplake_lite.storage.repo import branch_ref, is_web
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from deeplake_lite.dataset.selection import Lake
    from deeplake_lite.dataset.versions import diff as diffs
    from deeplake_lite.storage.repo import Repository, Session
else:
    diffs = LazyModule("deeplake_lite.dataset.versions.diff")


class Handle:
    """The branch or version at which a Dataset is, and the Dataset's uncommitted edits.

    Every edit replaces `table` as a whole after it has succeeded. A thread that reads `table` once
    therefore has a consistent set of rows, even while other threads edit.

    Parameters
    ----------
    lake : Lake
        The lake, and the branch or version that the handle is at.
    table : Table
        The version that was opened.
    """

    def __init__(self, lake: Lake, table: Table) -> None:
        self.lake, self.table = lake, table
        self._guard = threading.RLock()
        self._editor: int | None = None
        """Identifier of the thread that is running an edit, or None if no edit is running."""

    @property
    def repository(self) -> Repository:
        """The repository that holds the versions of the lake."""
        return self.lake.repository

    @property
    def url(self) -> str:
        """URL of the lake."""
        return self.lake.repository.url

    @property
    def branch(self) -> str | None:
        """The branch that commits go to; None if the handle is read-only."""
        return self.lake.branch

    @property
    def version(self) -> str:
        """Id of the commit that the table reads, or that its edits build on."""
        return self.table.snapshot_id

    def rows(self) -> RowSelection:
        """Return all rows as they are at this moment."""
        return RowSelection(self.lake, self.table)

    def open(self, snapshot_id: str) -> Table:
        """Return the table of a version of the lake."""
        if snapshot_id == self.version:
            return self.table.clean()
        return Table.open(self.repository, self.repository.reader(snapshot_id))

    def locked(self) -> AbstractContextManager[object]:
        """Return a context manager that keeps other threads from changing the handle.

        The context manager is a built-in lock, because a context manager written in Python could be
        interrupted by Ctrl-C while it holds the lock.

        Raises
        ------
        UncommittedError
            When the calling thread is inside an edit. The values of an edit may come from the
            user's own code, which must not change the table that the edit builds on.
        """
        if self._editor == threading.get_ident():
            raise UncommittedError(
                "A dataset runs one edit at a time, but this call comes from a generator or "
                "function that supplies values to an edit in progress. Make the call before or "
                f"after that edit, or on a separate dataset: dl.open({self.url!r})."
            )
        return self._guard

    def edit[**P, T](
        self, change: Callable[Concatenate[Table, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Apply a function to the table of the open transaction. If there is none, start one.

        The edit becomes visible once the function has returned. If the function fails or is
        interrupted, the handle keeps its previous table. This is not a context manager, because an
        interrupt at the end of a ``with`` block may skip the code that leaves the block.
        """
        with self.locked():
            self.check_writable()
            before, branch, table = self.table, str(self.branch), None
            is_clean = before.edits is None
            try:
                self._editor = threading.get_ident()
                table = before.edit().on_branch(branch) if is_clean else before.forked()
                result = change(table, *args, **kwargs)
            except BaseException:
                if table is not None:
                    _abandon(table, is_first=is_clean)
                raise
            else:
                self.table = table
                return result
            finally:
                self._editor = None

    def go_to(self, version: str, reader: Session | None = None) -> str:
        """Drop the open transaction, if any, move to a version, and return the version.

        `reader` is a session that reads this version, if there is one already.
        """
        opened = self.open(version) if reader is None else Table.open(self.repository, reader)
        self.table.release()
        self.table = opened
        return version

    def checkout(self, branch: str) -> None:
        """Move to the tip of a branch; see `Dataset.checkout`."""
        with self.locked():
            is_same = isinstance(branch, str) and branch == self.branch
            target = "a newer version" if is_same else "another branch"
            self.check_clean(f"checking out {target}")
            self.go_to(history.check_branch(self.repository, branch))
            self.lake = self.lake.at(branch, branch)  # existing views keep their own `lake`

    def refresh(self) -> None:
        """Move to the tip of the branch, if the handle is on one; see `Dataset.refresh`."""
        if self.branch is not None:
            self.checkout(self.branch)

    def discard(self) -> None:
        """Drop the edits of the open transaction; see `Dataset.discard`."""
        with self.locked():
            self.go_to(self._find_unconfirmed_commit() or self.version)

    def _find_unconfirmed_commit(self) -> str | None:
        """Return the id of a commit that succeeded although its caller got an error, or None."""
        if self.table.edits is None or not self.table.edits.tried:
            return None
        try:
            tip_id = self.repository.refs.checked(branch_ref(str(self.branch)))
        except VersionNotFoundError:  # the branch was deleted
            return None
        landed = self.table.landed(tip_id)
        return None if landed is None else landed.id

    def check_writable(self) -> None:
        """Raise ReadOnlyError if the handle is not on a branch."""
        self.check_place()
        if self.branch is None:
            raise ReadOnlyError(
                f"Version {self.lake.name!r} is read-only, because it was opened with version=. "
                f"Open a branch to write to: dl.open({self.url!r})."
            )

    def check_place(self) -> None:
        """Raise ReadOnlyError if nothing can be written, because the lake is on a web server."""
        if self.branch is None and is_web(self.url):
            raise ReadOnlyError(
                f"The lake {self.url!r} is read-only, because it is on a web server. Copy the rows "
                "to a folder or an object store with ds.materialize."
            )

    def check_clean(self, action: str) -> None:
        """Raise UncommittedError if there are uncommitted edits.

        Parameters
        ----------
        action : str
            The caller's next step, as a phrase for the message, such as ``"merging branches"``.
        """
        table = self.table
        if diffs.has_net_effect(table):
            raise UncommittedError(
                f"There are uncommitted edits ({diffs.Status.of(table)}). Before {action}, commit "
                "them with ds.commit('…') or drop them with ds.discard()."
            )
        if table.edits:  # the edits cancel out, such as adding and deleting a row
            self.discard()


def _abandon(table: Table, *, is_first: bool) -> None:
    """Drop a table whose edit failed. If this was the first edit, also drop its scratch space."""
    try:
        table.abandon()
    finally:
        if is_first:
            table.release()
