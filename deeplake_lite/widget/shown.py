"""What is shown: the browsed view, the query that is asked of it, and its answer.

A `Shown` never changes; the next one has the next generation. A selection goes from one to the next
by row id.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.dataset import Dataset
from deeplake_lite.dataset.read.virtual import VirtualTable
from deeplake_lite.errors import LakeError, UncommittedError
from deeplake_lite.storage.snapshot import Snapshot
from deeplake_lite.widget.handles import renewed
from deeplake_lite.widget.neighbours import check_row

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View

type Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Shown:
    """What is shown.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://shown-doc", {"x": "int32"})
    >>> ds.append({"x": [1, 2, 3]})
    >>> shown = Shown.of(ds)
    >>> few = shown.asked("SELECT * WHERE x > 1")
    >>> few.generation, len(few.view), few.carried(shown, np.array([0, 2])).tolist()
    (2, 2, [1])
    """

    handle: View
    """What was asked to be browsed: a dataset may have moved on since."""
    base: View
    """The rows that it had: what queries are asked of."""
    view: View
    """The answer."""
    text: str = ""
    """The query; empty for all of the base."""
    sources: Mapping[str, View] = field(default_factory=dict)
    """Views that a query may name."""
    generation: int = 1
    """Which answer this is."""
    ms: float = 0.0
    """How long it took."""
    branch: str | None = None
    """The branch that the base is of, and edits are for: the handle may go to another one."""
    name: str = ""
    """The branch, tag or time that the handle was opened at, if any; not a commit."""

    @classmethod
    def of(cls, view: View) -> Shown:
        """Show a view as it is now."""
        base = view._as_it_is()
        name = base._lake.name
        if base.version.startswith(name):  # the page shows the commit anyway
            name = ""
        return cls(view, base, base, branch=branch_of(base), name=name)

    def asked(self, text: str) -> Shown:
        """Return the answer of a query, or of a condition on all rows.

        Raises QueryError, and all else that a query raises.
        """
        start = time.perf_counter()
        text, view = self._answer(text.strip())
        took = 1000 * (time.perf_counter() - start)
        return replace(
            self, view=view, text=text, ms=round(took, 1), generation=self.generation + 1
        )

    def _answer(self, typed: str) -> tuple[str, View]:
        """Return the query that was meant, and its answer."""
        if not typed:
            return "", self.base
        from deeplake_lite.query.parse.bare import as_typed, whole

        text = whole(typed)
        check_row(text, self.base)
        try:
            return text, self.base.query(text, sources=self.sources)
        except LakeError as error:
            raise as_typed(error, typed) from None

    def named(self, name: str, view: View) -> Shown:
        """Return the same with a view that queries know by name."""
        return replace(self, sources={**self.sources, name: view._as_it_is()})

    def based(self, view: View) -> Shown:
        """Return the same query asked of another view, or of the same one as it is now."""
        now = Shown.of(view)
        return replace(now, sources=self.sources, generation=self.generation).asked(self.text)

    def renewed(self, ds: Dataset) -> Shown:
        """Return the same rows and the same query, as they are in a dataset by now."""
        handle = ds if isinstance(self.handle, Dataset) else renewed(self.handle, ds)
        sources = {name: renewed(v, ds)._as_it_is() for name, v in self.sources.items()}
        return replace(self, sources=sources).based(handle)

    @property
    def unasked(self) -> Shown:
        """The same without a query, and without what only queries name."""
        return replace(self, text="", sources={})

    @property
    def is_gone(self) -> bool:
        """Whether it shows edits of a transaction that has ended: their place may be empty."""
        return bool(self.base._table.edits) and self.handle._table is not self.base._table

    def check_branch(self) -> None:
        """Refuse edits once the dataset has gone to another branch. Raises UncommittedError.

        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://check-branch-doc", {"x": "int32"})
        >>> ds.branch("fix")
        >>> shown, _ = Shown.of(ds), ds.checkout("fix")
        >>> shown.check_branch()
        Traceback (most recent call last):
        deeplake_lite.errors.UncommittedError: The browser shows branch 'main', but the dataset is \
on branch 'fix' by now, ...
        """
        now = branch_of(self.handle)
        if now == self.branch:
            return
        here = f"branch {self.branch!r}" if self.branch else f"version {self.name or 'unnamed'!r}"
        back = f"Go back, ds.checkout({self.branch!r}), or show" if self.branch else "Show"
        raise UncommittedError(
            f"The browser shows {here}, but the dataset is on branch {now!r} by now, where "
            f"edits are written. {back} {now!r}: w.discard() and w.refresh()."
        )

    @property
    def is_writable(self) -> bool:
        """Whether edits may be staged: of a branch, and not of a view of a transaction."""
        is_handle = isinstance(self.handle, Dataset)
        return self.branch is not None and (is_handle or not self.base._table.edits)

    @property
    def has_ids(self) -> bool:
        """Whether each row shown is a row of the browsed lake, with its id."""
        table: Any = self.view._table
        known = not isinstance(table, VirtualTable) or table.has_ids
        return known and self.view.url == self.base.url

    def ids(self, positions: Positions) -> Positions | None:
        """Return the ids of some rows shown; None where they are no rows of the lake."""
        if not self.has_ids:
            return None
        table, slots = self.view._located(positions)
        return table.ids(slots)

    def places(self, ids: Positions) -> Positions:
        """Return the positions at which rows with some ids are shown, ascending."""
        if not self.has_ids or not len(ids):
            return np.empty(0, np.int64)
        known, found = np.sort(ids), self.view.row_ids
        at = np.searchsorted(known, found)
        return np.flatnonzero(known[np.minimum(at, len(known) - 1)] == found)

    def carried(self, before: Shown, selected: Positions) -> Positions:
        """Return a selection made in another answer: the same rows, those that are shown."""
        if not len(selected):
            return selected
        table, slots = before.view._located(selected)
        if table is self.view._table and isinstance(table, Snapshot):  # slots tell rows apart
            marked = np.zeros(table.slots, bool)
            marked[slots] = True
            return np.flatnonzero(marked[self.view._live()])
        ids = before.ids(selected)
        return np.empty(0, np.int64) if ids is None else self.places(ids)


def branch_of(view: View) -> str | None:
    """Return the branch that a dataset is on now, or a view was taken from; None for versions."""
    return view._lake.branch
