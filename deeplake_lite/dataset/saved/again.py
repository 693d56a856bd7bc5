"""Asking a query again for a view that was kept: its rows must be those that they were.

A view of a query's result is kept as the query and the positions of its rows. Rows stand for others
when a function of the user's gives something else than before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import xxhash

from deeplake_lite.dataset.read.virtual import VirtualTable
from deeplake_lite.errors import DamagedError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deeplake_lite.dataset.saved.question import Question
    from deeplake_lite.dataset.view import View


def fingerprint(view: View, slots: NDArray[np.int64]) -> str:
    """Return a hash of which rows some of a table's rows are."""
    table = view.rows.table
    if isinstance(table, VirtualTable):
        return table.fingerprint(slots)
    return xxhash.xxh3_64_hexdigest(table.ids(slots).tobytes())


def answered_again(question: Question, count: int, slots: NDArray[np.int64], expected: str) -> View:
    """Return the answer to a question that was answered before.

    Parameters
    ----------
    count : int
        Rows that the answer had.
    slots : ndarray, (n,) int64
        Those that are needed.
    expected : str
        Their `fingerprint`.

    Raises
    ------
    DamagedError
        When the rows are others.
    """
    found = question.ask(count)
    if found.rows.table.slots != count:
        now = f"{found.rows.table.slots:,}" if found.rows.table.slots < count else "more"
        changed = f"returned {count:,} rows then, but now returns {now}"
    elif fingerprint(found, slots) != expected:
        changed = "now returns other rows than it did then"
    else:
        return found
    raise DamagedError(
        f"A view of a query's result was saved or pickled, and the query {changed}: "
        f"{question.text}. A function of yours may have changed, or draw random numbers. Register "
        "it as it was, or run the query again and keep the new result."
    )
