"""Which functions a query may call on tensors: one file per group, all in one registry."""

from __future__ import annotations

from deeplake_lite.query.functions import reductions
from deeplake_lite.query.functions.base import REGISTRY, Arg, Bound, Function, Type

__all__ = ["REGISTRY", "Arg", "Bound", "Function", "Type", "reductions"]
