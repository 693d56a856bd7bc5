"""A question, which is a query with its parameters and sources. It can be stored and repeated.

A ranking of suspicious labels is a question, too. The view that shows a result has a `Question`,
which is pickled with the view and is written to the document of a saved view.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from deeplake_lite.dataset import lazy_calls
from deeplake_lite.dataset.saved.parameters import copy_params

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    from deeplake_lite.dataset.saved.parameters import Params
    from deeplake_lite.dataset.view import View


@dataclass(frozen=True, eq=False)
class Question:
    """A query together with everything on which its result depends."""

    text: str
    """The SELECT statement, or a short description of a ranking."""
    params: Params = ()
    """A sequence of values for ``?`` in the order of the query, a dict that maps names to values
    for ``$name``, or the options of a ranking. The values are copies, which the user cannot
    change."""
    seed: int | None = None
    """The random seed, or None if the query draws no random numbers."""
    moment: dt.datetime | None = None
    """The time in UTC at which the query first ran, or None if the query does not use the time."""
    asked: View | None = None
    """The view on which the query ran, with the rows that it had then, or None if there was no
    view."""
    sources: Mapping[tuple[str, str | None], View] = field(default_factory=dict)
    """Maps each source in FROM, given by its name and VERSION, to a view with its rows at that
    time."""
    kind: Literal["query", "suspects"] = "query"
    """Kind of question: a query, or a ranking of suspicious labels by the package `review`."""
    repeatable: bool = field(init=False, default=True)
    """Whether the result is the same in every process. It is False if user-defined functions were
    registered when the query ran, because such functions may use globals or random numbers."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", copy_params(self.params))
        if self.kind == "query":
            object.__setattr__(self, "repeatable", not lazy_calls.has_own_functions())

    def repeat(self, most_rows: int | None = None) -> View:
        """Recompute the result. If it has more than `most_rows` rows, some rows may be missing."""
        return lazy_calls.repeat(self, most_rows)
