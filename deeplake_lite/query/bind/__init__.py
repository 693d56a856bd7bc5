"""Turn a syntax tree into a plan: resolve names, and split the work between DuckDB and NumPy.

`clauses.select` lowers a SELECT; `tables` lowers its sources, `endings` its last clauses, and
`sets` its set operations. `expressions.lowering` turns expressions into values, with one handler
for each kind of node.
"""

from __future__ import annotations

from deeplake_lite.query.bind.calls.unknown_function import unknown_function
from deeplake_lite.query.bind.clauses.select import Binder
from deeplake_lite.query.bind.expressions.params import Params
from deeplake_lite.query.bind.scope import SELF

__all__ = ["SELF", "Binder", "Params", "unknown_function"]
