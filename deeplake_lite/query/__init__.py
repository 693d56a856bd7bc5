"""The tensor query language: all of SQL's relational part on lakes, tensors as first-class values.

Steps: `parsing` makes a syntax tree in the grammar of `dialect`, `bind` finds what names mean and
decides what DuckDB does and what NumPy does, which is a `plan`; `execute` and `evaluate` run it,
`clauses` arranges and samples, `result` makes a view. `api` joins them.

Around them: `opening` finds what FROM names, `sources` read it, `interrupt` stops what runs,
`text_search` ranks texts, `completion` knows what may be written, `magic` is ``%%tql``,
`plan_text` is `explain`, `reference` the manual's page.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from deeplake_lite.query.api import ask, explain, make_plan, query
from deeplake_lite.query.completion import complete
from deeplake_lite.query.interrupt import in_thread

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View

__all__ = ["ask", "complete", "explain", "in_thread", "make_plan", "query"]


class _Query(ModuleType):
    """A package that is also a function: `deeplake_lite.query` is the name of both."""

    def __call__(self, *args: Any, **named: Any) -> View:
        """Answer a question with a view; see `deeplake_lite.query.query` for the arguments."""
        return query(*args, **named)


sys.modules[__name__].__class__ = _Query
