"""The state behind a Dataset: the table that it shows, its open transaction, and their lock."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Concatenate

from deeplake_lite.dataset.selection import RowSelection
from deeplake_lite.dataset.versions import history
from deeplake_lite.errors import ReadOnlyError, UncommittedError
from deeplake_lite.lazy import LazyModule
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from deeplake_lite.dataset.selection import Lake
    from deeplake_lite.dataset.versions import diff as diffs
    from deeplake_lite.storage.repo import Repository
else:
    diffs = LazyModule("deeplake_lite.dataset.versions.diff")


class Handle:
    """Where a Dataset is, and what it has edited.

    Every edit replaces `table` as a whole, once it has succeeded: a thread that reads `table` once
    has rows that belong together, whatever other threads do.

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
        """Identifier of the thread that is making an edit."""

    @property
    def repository(self) -> Repository:
        """The versions of the lake."""
        return self.lake.repository

    @property
    def url(self) -> str:
        """Where the lake is."""
        return self.lake.repository.url

    @property
    def branch(self) -> str | None:
        """The branch that commits go to; None for a version that never moves."""
        return self.lake.branch

    @property
    def version(self) -> str:
        """Id of the commit that the table is, or builds on."""
        return self.table.snapshot_id

    def rows(self) -> RowSelection:
        """Return all rows, as they are at this moment."""
        return RowSelection(self.lake, self.table)

    def open(self, snapshot_id: str) -> Table:
        """Return the table of a version of the lake."""
        if snapshot_id == self.version:
            return self.table.clean()
        return Table.open(self.repository, self.repository.reader(snapshot_id))

    def locked(self) -> AbstractContextManager[object]:
        """Return a context manager that keeps other threads from changing the handle.

        It is the interpreter's own lock, so that no interrupt can come between acquiring and
        releasing it, as it can in the Python code of a context manager.

        Raises
        ------
        UncommittedError
            Within an edit, whose values may come from the user's own code: the table that an edit
            builds on must not change under it.
        """
        if self._editor == threading.get_ident():
            raise UncommittedError(
                "A handle makes one edit at a time, but this call comes from a generator or a "
                "function that gives the values of another edit, which is still under way. "
                "Make it before or after that edit, or with a handle of its own: "
                f"dl.open({self.url!r})."
            )
        return self._guard

    def edit[**P, T](
        self, change: Callable[Concatenate[Table, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Apply a function to the open transaction's table; readers see the result when it is done.

        If the function fails or is interrupted, the handle keeps the table that it had. This is no
        context manager, because an interrupt at the end of a ``with`` block can skip that end.
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

    def go_to(self, version: str) -> str:
        """Drop the open transaction, if there is one, and read a version. Return the version."""
        opened = self.open(version)
        self.table.release()
        self.table = opened
        return version

    def checkout(self, branch: str) -> None:
        """Go to the tip of a branch; see `Dataset.checkout`."""
        with self.locked():
            is_same = isinstance(branch, str) and branch == self.branch
            target = "a newer version" if is_same else "another branch"
            self.check_clean(f"{target} is checked out")
            self.go_to(history.check_branch(self.repository, branch))
            self.lake = self.lake.at(branch, branch)  # existing views keep the lake they have

    def refresh(self) -> None:
        """Go to the tip of the branch, if there is one; see `Dataset.refresh`."""
        if self.branch is not None:
            self.checkout(self.branch)

    def discard(self) -> None:
        """Drop the edits of the open transaction."""
        with self.locked():
            self.go_to(self.version)

    def check_writable(self) -> None:
        """Raise ReadOnlyError at a version that never moves."""
        if self.branch is None:
            raise ReadOnlyError(
                f"Version {self.lake.name!r} never moves. "
                f"Open a branch to write: dl.open({self.url!r})."
            )

    def check_clean(self, purpose: str) -> None:
        """Raise UncommittedError when there are edits, before, say, "branches are merged"."""
        if not self.table.edits:
            return
        status = diffs.Status.of(self.table)
        if not status:  # such as after a row was added and deleted
            self.discard()
            return
        raise UncommittedError(
            f"There are uncommitted edits ({status}): before {purpose}, "
            "keep them with ds.commit('…') or drop them with ds.discard()."
        )


def _abandon(table: Table, *, is_first: bool) -> None:
    """Drop a table whose edit failed, and its scratch space if no earlier edit is in it."""
    try:
        table.abandon()
    finally:
        if is_first:
            table.release()
