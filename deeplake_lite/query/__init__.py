"""The tensor query language: relational SQL on lakes, with tensors as first-class values.

A query takes these steps, which `api` puts together:

1. `parsing` turns the text into a syntax tree, using the grammar in `dialect`.
2. `bind` resolves the names and divides the work between DuckDB and NumPy; the result is a `plan`.
3. `execute` and `evaluate` run the plan, and `clauses` arranges and samples the rows.
4. `result` turns the rows into a view, which the query returns.

Other modules support these steps: `opening` opens the sources in FROM, `sources` reads them,
`interrupt` stops a running query, `text_search` ranks strings, `completion` suggests completions,
`magic` defines ``%%tql``, `plan_text` formats the output of `explain`, and `reference` generates
the query reference in the manual.
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

_NAMES_BY_MODULE = {
    "api": "ask explain make_plan query",
    "parse.completion": "complete",
    "database.interrupt": "in_thread",
}
_MODULE_OF = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a public name on first use.

    The names are not imported earlier, because importing DuckDB and sqlglot takes half a second,
    and a notebook can show images without them.
    """
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    return value


class _Query(ModuleType):
    """The class of this package, which makes the package callable, as in ``query("SELECT …")``."""

    def __call__(self, *args: object, **named: Any) -> View:
        """Run a query and return a view; see `deeplake_lite.query.query` for the arguments."""
        view: View = self.query(*args, **named)
        return view


sys.modules[__name__].__class__ = _Query
