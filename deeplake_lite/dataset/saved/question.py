"""A query as something that can be kept and asked again: its words, its values, what it read.

A ranking by suspicion is such a question, too. Views of a result carry the `Question` behind it. It
goes with them when they are pickled, and into the document of a saved view.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from deeplake_lite.dataset import lazy_calls
from deeplake_lite.dataset.saved.parameters import owned_params

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.saved.parameters import Params
    from deeplake_lite.dataset.view import View


@dataclass(frozen=True, eq=False)
class Question:
    """A query with all that its answer depends on."""

    text: str
    """The SELECT; of a ranking, a few words."""
    params: Params = ()
    """Values of ``?`` in order, or of ``$name``, in memory of their own; what a ranking is by."""
    seed: int | None = None
    """The seed that was drawn, if one was."""
    asked: View | None = None
    """The view that it was asked of, as it was then."""
    sources: Mapping[tuple[str, str | None], View] = field(default_factory=dict)
    """What FROM named, by name and VERSION, as it was then."""
    kind: Literal["query", "suspects"] = "query"
    """Who answers: the query engine, or the review of labels."""
    repeatable: bool = field(init=False, default=True)
    """Whether the same words give the same values in any process. They may not where functions of
    the user's were registered when it was asked: code, globals and chance are theirs."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", owned_params(self.params))
        if self.kind == "query":
            object.__setattr__(self, "repeatable", not lazy_calls.has_own_functions())

    def ask(self, most_rows: int | None = None) -> View:
        """Return the answer, the same as it was; of one with more rows than that, only some."""
        return lazy_calls.ask(self, most_rows)
