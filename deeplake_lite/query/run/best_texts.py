"""Find the rows whose strings match some words best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.query.run import text_search
from deeplake_lite.storage.chunks import count_up

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.query.plan import BestTexts
    from deeplake_lite.query.run.sources import Rows, Source


@dataclass(frozen=True)
class BestRows:
    """A search for the strings of a source that match some words best."""

    source: Source
    best: BestTexts

    def rows(self, among: Rows | None) -> tuple[Rows | None, str]:
        """Return the positions of the rows that a query can need, ascending, and a note.

        These are the rows whose score is one of the best, including all ties.

        Parameters
        ----------
        among : ndarray, (n,) int64, optional
            Positions of the rows among which to search; by default, all rows of the source.

        Returns
        -------
        rows : ndarray or None
            The positions, or None if all rows are needed.
        note : str
            A line for the plan.
        """
        f, count = self.best.field, self.best.count
        scores = text_search.scores(self.source, f, self.best.words)
        at: Rows | None
        if among is None and scores.texts is not None and len(scores.texts) > count:
            at = scores.texts[_best(scores.values, count)]
        elif among is None:
            at = best_positions(scores.at(count_up(scores.count)), count)
        else:
            at = best_positions(scores.at(among), count)
        version = self.source.memo.get(("text index", f.id))
        note = f"index of {f.name} (bm25, version {version})" if version else ""
        return at if at is None or among is None else among[at], note


def best_positions(scores: NDArray[np.float64], count: int) -> Rows | None:
    """Return the positions of the `count` largest scores and all ties, ascending.

    Scores of 0 are tied, but as ties are sorted by position, only the first of them are returned.
    The result is None if a row with a null score is among the best, so that all rows are needed.

    >>> best_positions(np.array([0, 3.0, 1, 2, 2]), 2).tolist()
    [1, 3, 4]
    >>> best_positions(np.array([0, 3.0, 0, 0]), 2).tolist()
    [0, 1]
    >>> best_positions(np.ma.MaskedArray([0, 3.0], [True, False]), 2)
    """
    null = np.ma.getmask(scores)
    values = np.ma.getdata(scores)
    if null is not np.ma.nomask:
        values = np.where(null, -1.0, values)
    positive = np.flatnonzero(values > 0)
    if len(positive) > count:
        return np.asarray(positive[_best(values[positive], count)])
    zero = np.flatnonzero(values == 0)[: count - len(positive)]
    if len(positive) + len(zero) < min(count, len(values)):
        return None
    return np.union1d(positive, zero)


def _best(values: NDArray[np.float64], count: int) -> Rows:
    """Return the positions of the `count` largest values and their ties, out of more values."""
    least = np.partition(values, len(values) - count)[len(values) - count]
    return np.flatnonzero(values >= least)
