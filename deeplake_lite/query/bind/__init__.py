"""From a syntax tree to a plan: what names mean, what DuckDB computes and what NumPy does.

`select` lowers a SELECT, with its sources (`tables`), its end (`endings`) and set operations
(`sets`); `lowering` turns expressions into values, with a handler for each kind of node.
"""

from __future__ import annotations

from deeplake_lite.query.bind.calls.call import unknown_function
from deeplake_lite.query.bind.clauses.select import Binder
from deeplake_lite.query.bind.expressions.params import Params
from deeplake_lite.query.bind.scope import SELF

__all__ = ["SELF", "Binder", "Params", "unknown_function"]
