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
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View
    from deeplake_lite.query.api import ask, explain, make_plan, query
    from deeplake_lite.query.database.interrupt import in_thread
    from deeplake_lite.query.parse.completion import complete

__all__ = ["ask", "complete", "explain", "in_thread", "make_plan", "query"]

_HOMES = {
    "api": "ask explain make_plan query",
    "parse.completion": "complete",
    "database.interrupt": "in_thread",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import what the package offers when it is first asked for.

    That takes half a second, and a notebook shows pictures before.
    """
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return found


class _Query(ModuleType):
    """A package that is also a function: `deeplake_lite.query` is the name of both."""

    def __call__(self, *args: Any, **named: Any) -> View:
        """Answer a question with a view; see `deeplake_lite.query.query` for the arguments."""
        found: View = self.query(*args, **named)
        return found


sys.modules[__name__].__class__ = _Query
