"""Find the rows with the nearest vectors, with an index of the version or of its ancestor.

The search also covers all rows that were added or changed since the index was built. Rows that were
deleted or changed are left out of the index's results. The query computes the similarity of all
these rows exactly, so the index only decides which rows are compared.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import DamagedError, IndexWarning, VersionNotFoundError
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.index.damage import DamagedIndexError, explain_damage
from deeplake_lite.index.delta import Delta
from deeplake_lite.index.metrics import METRICS
from deeplake_lite.index.stored import find_index
from deeplake_lite.index.vector_index import NEIGHBOURS, VectorIndex
from deeplake_lite.query.functions.base import REGISTRY, Arg
from deeplake_lite.query.functions.value_type import Type
from deeplake_lite.query.run.cache import CACHE
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.index.stored import StoredIndex
    from deeplake_lite.query.plan import Nearest
    from deeplake_lite.query.run.cache import Sized
    from deeplake_lite.query.run.sources import Rows, Source

FEW_ROWS = 4_096
"""Up to this many rows are all compared, without an index."""

MANY_NEEDED = 20
"""If the query needs at least one in this many rows, all rows are compared."""

MAX_CHANGED = 4
"""If more than one in this many rows changed after the index was built, the index is not used."""


class NearestRows:
    """A search for the nearest vectors of a source.

    Parameters
    ----------
    source : Source
        The source.
    nearest : Nearest
        The column, the function and the vector.
    """

    def __init__(self, source: Source, nearest: Nearest) -> None:
        self._source, self._nearest = source, nearest
        self._metric = next(m for m, v in METRICS.items() if v.function == nearest.function)
        self._stored: StoredIndex | None = None

    def obstacle(self) -> str:
        """Return why all rows must be compared, or an empty string if an index can be used."""
        f, table = self._nearest.field, self._source.table
        vector, layout = self._nearest.vector, f.htype.layout
        if not isinstance(table, Table):
            return self._exact("the source is the result of a query")
        if not vector.any() or not METRICS[self._metric].fits(vector[None]).all():
            return self._exact("the vector is zero, or has NaN, infinity or a huge element")
        try:
            self._stored = self._find(table)
        except DamagedIndexError as error:
            return self._skip_damaged(error)
        if self._stored is None:
            return self._exact(
                f"{f.name!r} has no index for {self._nearest.function}; see "
                f"ds.create_index({f.name!r}, metric={self._metric!r})"
            )
        d = self._stored.document
        expected = Dense(d["dtype"], (d["dim"],))
        if not isinstance(layout, Dense) or (layout.dtype, layout.shape) != (
            expected.dtype, expected.shape,
        ):  # fmt: skip
            return self._exact("the type of the column has changed since the index was built")
        return ""

    def _find(self, table: Table) -> StoredIndex | None:
        """Return the index of the column for the function of the query."""
        use = "vector", self._metric, self._nearest.field.id
        return find_index(table.repository, table.snapshot_id, use, CACHE)

    def rows(self, among: Rows | None, *, spare: int = 1) -> tuple[Rows | None, str]:
        """Return the positions of the rows to compare, ascending, and a note about the search.

        Parameters
        ----------
        among : ndarray, (n,) int64, optional
            Positions of the rows among which to search; by default, all rows of the source.
        spare : int
            Factor by which to increase the number of rows.

        Returns
        -------
        rows : ndarray or None
            The positions, or None if all rows must be compared.
        note : str
            A line for the plan.
        """
        try:
            return self._rows(among, spare)
        except DamagedIndexError as error:
            return None, self._skip_damaged(error)
        except DamagedError as error:  # of the version that was indexed, or of this one
            _warn(str(error))
            return None, self._exact("the versions cannot be compared, since one is damaged")
        except VersionNotFoundError:
            return None, self._exact("a vacuum has deleted the version that it was built for")

    def _rows(self, among: Rows | None, spare: int) -> tuple[Rows | None, str]:
        source, nearest, stored = self._source, self._nearest, self._stored
        assert stored is not None, "obstacle() comes first"
        f, count = nearest.field, nearest.count * spare
        if among is None and nearest.count * MANY_NEEDED > len(source):
            return None, self._exact(f"the query needs at least one in {MANY_NEEDED} rows")
        if among is not None and len(among) <= FEW_ROWS:
            return among, "few rows pass the conditions, and all of them are compared"
        index = VectorIndex(stored.name.key, stored.document, stored.reader, CACHE)
        table = source.table
        assert isinstance(table, Table), "obstacle() has checked it"
        delta = Delta.find(stored, table, CACHE)
        allowed = self._allowed(among)
        changed, vectors = self._changed(delta, index)
        if len(changed) * MAX_CHANGED > len(source):
            return None, self._exact("too many rows have changed; build the index again")
        steps = list(_steps(count))
        near = index.search(nearest.vector, steps, self._current(delta, index), allowed)
        if near is None:
            return None, self._exact("too many vectors are equally near")
        if allowed is not None:
            keep = allowed[changed]
            changed, vectors = changed[keep], vectors[keep]
        slots = np.concatenate([near.slots, changed])
        vectors = np.concatenate([near.vectors, vectors])
        chosen = self._choose(vectors, steps, near.steps)
        slots, vectors = slots[chosen], vectors[chosen]
        if len(slots) < min(count, len(source) if among is None else len(among)):
            return None, self._exact("the index has fewer rows than the query needs")
        source.keep_known(f, slots, vectors)
        rows = self._positions(slots)
        if rows is None:
            return None, self._exact("the view has rows more than once")
        d = stored.document
        return np.sort(rows), (
            f"index of {f.name} ({d['metric']}, version {stored.name.version}): "
            f"{near.lists:,} of {pluralize(index.lists, 'list')} searched, "
            f"{pluralize(near.compared, 'vector')} compared, {len(near.slots):,} exactly, "
            f"and {pluralize(len(changed), 'row')} changed since; "
            f"recall@{NEIGHBOURS} {d['recall']:.3f}, measured with {d['sampled']} vectors"
        )

    def _choose(
        self, vectors: NDArray[Any], steps: Sequence[int], found: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Choose the rows that are first in the order by similarity, and do not depend on the page.

        A search for 20 rows finds some that a search for 10 has missed. If the query that wants the
        rows 11 to 20 used them all, they would move the rows of the page before. So the rows of
        each step continue those of the step before, and come after them::

            rows of step 10      1 ───────► 10 (and all that are tied with row 10)
            rows of step 20                    11 ───────► 20 (less similar than row 10)

        Parameters
        ----------
        vectors : ndarray, (n, d)
            The vectors that the index has found, then the changed ones.
        steps : sequence of int
            The numbers of rows of the steps.
        found : ndarray, (found, steps) bool
            The vectors that each step has found. Changed ones belong to all steps.
        """
        scores = self._scores(vectors)
        is_in = np.ones((len(vectors), len(steps)), bool)
        is_in[: len(found)] = found
        chosen, follows = np.zeros(len(vectors), bool), np.ones(len(vectors), bool)
        for step, count in enumerate(steps):
            new = np.flatnonzero(is_in[:, step] & follows)
            wanted = count - int(np.count_nonzero(chosen))
            if len(new) and wanted > 0:
                worst = np.sort(scores[new])[min(wanted, len(new)) - 1]
                chosen[new[scores[new] <= worst]] = True
                follows = scores > worst
        return np.flatnonzero(chosen)

    def _scores(self, vectors: NDArray[Any]) -> NDArray[np.float64]:
        """Return how far vectors are from the query's, as the query computes it; NaN comes last."""
        function, vector = self._nearest.function, self._nearest.vector
        column = Arg(self._nearest.field.name, Type(vectors.dtype.name, vectors.shape[1:]))
        bound = REGISTRY[function].bind(column, Arg.constant(vector))
        scores = np.asarray(bound.compute(vectors, None, lead=1), np.float64)
        if METRICS[self._metric].descends:
            scores = -scores
        return np.where(np.isnan(scores), np.inf, scores)

    def _cached[T: Sized](self, name: str, make: Callable[[], T]) -> T:
        """Return a cached value. Without uncommitted edits, `make` makes it only once."""
        table, stored = self._source.table, self._stored
        if table.uncommitted or stored is None:
            return make()
        key = self._source.view.url, table.snapshot_id, stored.name.key, name
        return CACHE.get_or_make(key, make)

    def _current(self, delta: Delta, index: VectorIndex) -> NDArray[np.int64]:
        """Return the slot of each indexed vector in the queried version, or -1."""

        def make() -> NDArray[np.int64]:
            slots = index.slots
            if len(slots) and not (slots.min() >= 0 and slots.max() < len(delta.current)):
                raise DamagedIndexError("its slots are not valid")
            return delta.current[slots]

        return self._cached("current", make)

    def _changed(self, delta: Delta, index: VectorIndex) -> tuple[Rows, NDArray[Any]]:
        """Return the slots and vectors of rows that the index cannot find, without nulls."""
        f, table = self._nearest.field, self._source.table
        loose = delta.current[index.loose]
        slots = np.union1d(delta.changed, loose[loose >= 0])
        if len(slots) * MAX_CHANGED > len(self._source):
            return slots, np.empty((len(slots), index.dim))

        def make() -> _Known:
            cells: Any = table.read([f.id], slots)[f.id]
            valid = slice(None) if cells.valid is None else cells.valid
            return _Known(slots[valid], cells.values[valid])

        known = self._cached("changed", make)
        return known.slots, known.vectors

    def _allowed(self, among: Rows | None) -> NDArray[np.bool_] | None:
        """Return a mask, (slots,), of the rows among which to search, or None for all rows."""
        selection = self._source.view.rows
        if among is None and selection.slots is None:
            return None
        mask = np.zeros(self._source.table.slots, bool)
        mask[selection.live() if among is None else self._source.at(among)] = True
        return mask

    def _positions(self, slots: Rows) -> Rows | None:
        """Return the positions of the rows in some slots, or None if a row occurs repeatedly."""
        selection, table = self._source.view.rows, self._source.table
        if selection.slots is None:
            assert isinstance(table, Table)
            return table.rows.positions(slots)
        at = np.full(table.slots, -1)
        at[selection.slots] = np.arange(len(selection.slots))
        if np.count_nonzero(at >= 0) != len(selection.slots):
            return None
        return at[slots]

    def _exact(self, reason: str) -> str:
        return f"no index used, because {reason}"

    def _skip_damaged(self, error: DamagedIndexError) -> str:
        name = self._stored.name if error.name is None and self._stored else error.name
        _warn(explain_damage(name, self._nearest.field.name, error))
        return self._exact("it is damaged")


def _warn(text: str) -> None:
    warnings.warn(f"{text} The query compared all rows instead.", IndexWarning, stacklevel=2)


def _steps(count: int) -> Iterator[int]:
    """Yield the numbers of rows for which to search, up to the first that is at least `count`.

    >>> list(_steps(10)), list(_steps(25))
    ([10], [10, 20, 40])
    """
    step = NEIGHBOURS
    while step < count:
        yield step
        step *= 2
    yield step


class _Known:
    """Slots and vectors of rows, for the cache."""

    def __init__(self, slots: Rows, vectors: NDArray[Any]) -> None:
        self.slots, self.vectors = slots, vectors

    @property
    def nbytes(self) -> int:
        """Size in memory."""
        return self.slots.nbytes + self.vectors.nbytes
