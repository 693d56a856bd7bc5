"""The state that a browser shows: the browsed view, the query, and its result.

A `BrowserState` never changes. A new query creates another state, whose generation is the next
number. The same rows, identified by their ids, stay selected in the new state.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset.dataset import Dataset
from deeplake_lite.dataset.read.virtual import VirtualTable
from deeplake_lite.errors import LakeError, UncommittedError
from deeplake_lite.storage.snapshot import Snapshot
from deeplake_lite.widget.handles import renew_view
from deeplake_lite.widget.neighbours import check_row

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.selection import ReadTable
    from deeplake_lite.dataset.view import View

type Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BrowserState:
    """The state of a browser.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://shown-doc", {"x": "int32"})
    >>> ds.append({"x": [1, 2, 3]})
    >>> shown = BrowserState.of(ds)
    >>> few = shown.with_query("SELECT * WHERE x > 1")
    >>> few.generation, len(few.view), few.carry_selection(shown, np.array([0, 2])).tolist()
    (2, 2, [1])
    """

    handle: View
    """The view or dataset that the user browses. A dataset may have moved to another version
    since."""
    base: View
    """The rows that the handle had when the browser showed it. Queries run on these rows."""
    view: View
    """The result of the query."""
    text: str = ""
    """The query, or an empty string for all rows of the base."""
    sources: Mapping[str, View] = field(default_factory=dict)
    """Maps the name of each source to the view that queries read from this source."""
    generation: int = 1
    """Number of the query result, counted from 1."""
    ms: float = 0.0
    """Duration of the query in milliseconds."""
    branch: str | None = None
    """The branch of the base, to which edits are committed. The handle may have moved to another
    branch."""
    name: str = ""
    """The branch, tag or time at which the handle was opened. Empty for a commit id."""

    @classmethod
    def of(cls, view: View) -> BrowserState:
        """Return the state for all current rows of a view."""
        base = view.pin()
        name = base.rows.lake.name
        if base.version.startswith(name):  # a commit id, which the page shows anyway
            name = ""
        return cls(view, base, base, branch=branch_of(base), name=name)

    def with_query(self, text: str) -> BrowserState:
        """Return the state with the result of a query, or of a condition that filters all rows.

        Raises QueryError and other errors of queries.
        """
        start = time.perf_counter()
        text, view = self._run(text.strip())
        ms = round(1000 * (time.perf_counter() - start), 1)
        return replace(self, view=view, text=text, ms=ms, generation=self.generation + 1)

    def _run(self, typed: str) -> tuple[str, View]:
        """Run a query or condition that the user typed. Return the full query and its result."""
        if not typed:
            return "", self.base
        from deeplake_lite.query.parse.bare import as_typed, whole

        text = whole(typed)
        check_row(text, self.base)
        try:
            return text, self.base.query(text, sources=self.sources)
        except LakeError as error:
            raise as_typed(error, typed) from None

    def with_source(self, name: str, view: View) -> BrowserState:
        """Return the state with one more view, which queries can read as the source `name`."""
        return replace(self, sources={**self.sources, name: view.pin()})

    def with_base(self, view: View) -> BrowserState:
        """Return the state with the same query on the current rows of a view."""
        now = BrowserState.of(view)
        return replace(now, sources=self.sources, generation=self.generation).with_query(self.text)

    def renew(self, ds: Dataset) -> BrowserState:
        """Return the state with the same query on the current version of a dataset."""
        handle = ds if isinstance(self.handle, Dataset) else renew_view(self.handle, ds)
        sources = {name: renew_view(v, ds).pin() for name, v in self.sources.items()}
        return replace(self, sources=sources).with_base(handle)

    @property
    def without_query(self) -> BrowserState:
        """The state without the query and its sources."""
        return replace(self, text="", sources={})

    @property
    def is_gone(self) -> bool:
        """Whether the browsed rows belong to a transaction that has ended, and may lack chunks."""
        return (
            bool(self.base.rows.table.uncommitted)
            and self.handle.rows.table is not self.base.rows.table
        )

    def check_branch(self) -> None:
        """Reject edits if the dataset has moved to another branch. Raises UncommittedError.

        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://check-branch-doc", {"x": "int32"})
        >>> ds.branch("fix")
        >>> shown, _ = BrowserState.of(ds), ds.checkout("fix")
        >>> shown.check_branch()
        Traceback (most recent call last):
        deeplake_lite.errors.UncommittedError: The dataset browser shows branch 'main', but the \
dataset has moved to branch 'fix', ...
        """
        now = branch_of(self.handle)
        if now == self.branch:
            return
        here = f"branch {self.branch!r}" if self.branch else f"version {self.name or 'unnamed'!r}"
        back = f"Go back with ds.checkout({self.branch!r}), or show" if self.branch else "Show"
        raise UncommittedError(
            f"The dataset browser shows {here}, but the dataset has moved to branch {now!r}, where "
            f"the edits would be written. {back} {now!r} with w.discard() and w.refresh()."
        )

    @property
    def is_writable(self) -> bool:
        """Whether edits may be staged.

        The browser must show a branch, and it must not show a view of uncommitted edits.
        """
        is_handle = isinstance(self.handle, Dataset)
        return self.branch is not None and (is_handle or not self.base.rows.uncommitted)

    @property
    def has_ids(self) -> bool:
        """Whether all shown rows are rows of the browsed lake, and therefore have ids."""
        table: ReadTable = self.view.rows.table
        has_ids = not isinstance(table, VirtualTable) or table.has_ids
        return has_ids and self.view.url == self.base.url

    def ids(self, positions: Positions) -> Positions | None:
        """Return the ids of the shown rows at some positions, or None if rows have no ids."""
        if not self.has_ids:
            return None
        table, slots = self.view.rows.locate(positions)
        return table.ids(slots)

    def positions_of(self, ids: Positions) -> Positions:
        """Return the positions of the shown rows that have the given ids, in ascending order."""
        if not self.has_ids or not len(ids):
            return np.empty(0, np.int64)
        wanted, shown = np.sort(ids), self.view.row_ids
        at = np.searchsorted(wanted, shown)
        return np.flatnonzero(wanted[np.minimum(at, len(wanted) - 1)] == shown)

    def carry_selection(self, before: BrowserState, selected: Positions) -> Positions:
        """Return the positions of the shown rows that were selected in an earlier state."""
        if not len(selected):
            return selected
        table, slots = before.view.rows.locate(selected)
        # If both states show the same table, its slots identify the rows.
        if table is self.view.rows.table and isinstance(table, Snapshot):
            is_selected = np.zeros(table.slots, bool)
            is_selected[slots] = True
            return np.flatnonzero(is_selected[self.view.rows.live()])
        ids = before.ids(selected)
        return np.empty(0, np.int64) if ids is None else self.positions_of(ids)


def branch_of(view: View) -> str | None:
    """Return the branch of a view, or None if the view was not taken from a branch.

    A view keeps the branch that its dataset had when the view was taken.
    """
    return view.rows.lake.branch
