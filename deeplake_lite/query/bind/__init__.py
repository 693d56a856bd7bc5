"""From a syntax tree to a plan: what names mean, what DuckDB computes and what NumPy does.

`select` lowers a SELECT, with its sources (`tables`), its end (`endings`) and set operations
(`sets`); `lowering` turns expressions into values, with a handler for each kind of node.
"""

from __future__ import annotations

from deeplake_lite.query.bind.calls import unknown_function
from deeplake_lite.query.bind.params import Params
from deeplake_lite.query.bind.scope import SELF
from deeplake_lite.query.bind.select import Binder

__all__ = ["SELF", "Binder", "Params", "unknown_function"]
