"""Turn a syntax tree into a plan: resolve names, and split the work between DuckDB and NumPy.

To lower a part of the syntax tree means to translate it into SQL for DuckDB and trees of NumPy
operations. `clauses.select` lowers a SELECT, `clauses.tables` its sources, `clauses.endings` its
last clauses, and `clauses.sets` set operations such as UNION. `expressions.lowering` lowers
expressions to the values that `query.values` defines, with one handler for each class of syntax
node.
"""

from __future__ import annotations

from deeplake_lite.query.bind.calls.unknown_function import unknown_function
from deeplake_lite.query.bind.clauses.select import Binder
from deeplake_lite.query.bind.expressions.params import Params
from deeplake_lite.query.bind.scope import SELF

__all__ = ["SELF", "Binder", "Params", "unknown_function"]
