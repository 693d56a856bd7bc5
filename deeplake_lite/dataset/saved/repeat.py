"""Run the query behind a saved or pickled view again, and check that it returns the same rows.

A view of a query's result is stored as the query and the positions of the view's rows. If a
user-defined function now returns different values, or an index finds other rows, these positions
refer to other rows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import xxhash

from deeplake_lite.dataset.read.virtual import VirtualTable
from deeplake_lite.errors import DamagedError
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deeplake_lite.dataset.saved.question import Question
    from deeplake_lite.dataset.view import View


def fingerprint(view: View, slots: NDArray[np.int64]) -> str:
    """Return a hash that identifies the rows in `slots` of a view's table."""
    table = view.rows.table
    if isinstance(table, VirtualTable):
        return table.fingerprint(slots)
    return xxhash.xxh3_64_hexdigest(table.ids(slots).tobytes())


def repeat_query(question: Question, count: int, slots: NDArray[np.int64], expected: str) -> View:
    """Run a query again, and return its result.

    Parameters
    ----------
    question : Question
        The query.
    count : int
        Number of rows of the previous result.
    slots : ndarray, (n,) int64
        Slots of the rows that the view needs.
    expected : str
        Previous `fingerprint` of the rows in `slots`.

    Raises
    ------
    DamagedError
        When the rows differ from the previous result.
    """
    result = question.repeat(count)
    size = result.rows.table.slots
    if size != count:
        current = f"{size:,}" if size < count else "more"
        change = f"returned {pluralize(count, 'row')} before, but now returns {current}"
    elif fingerprint(result, slots) != expected:
        change = "now returns different rows than before"
    else:
        return result
    if re.search(r"\bUSING\s+INDEX\b", question.text, re.IGNORECASE):
        reason = (
            "The index that it used was dropped or built again, so it finds other rows. Run the "
            "query again and save the new result, or select no computed columns: the rows of such "
            "a result are saved themselves."
        )
    else:
        reason = (
            "One of your functions may have changed, or may draw random numbers. Register the "
            "earlier function, or run the query again and save the new result."
        )
    raise DamagedError(f"The query of a saved or pickled view {change}: {question.text}. {reason}")
