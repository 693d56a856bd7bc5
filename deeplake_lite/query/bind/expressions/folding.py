"""Constants that are computed: what is made of constants alone is one, too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sqlglot import exp

from deeplake_lite.query.bind.expressions.constants import constant
from deeplake_lite.query.database.convert import json_document
from deeplake_lite.query.tensors.evaluate import evaluate
from deeplake_lite.query.values import Call, Literal_, Tensor, Value, calls_users


def computed(value: Value) -> Value:
    """Return the numbers of constants as the constant that they are, as if it was written."""
    if not isinstance(value, Tensor) or value.env or isinstance(value.tree, Literal_):
        return value
    is_digest = isinstance(value.tree, Call) and value.tree.name == "HASH"  # compared by its value
    if is_digest or not value.type.is_number or calls_users(value.tree):
        return value
    [found] = evaluate(value.tree, {}, 1)
    if found is None or found is np.ma.masked or np.ma.getmaskarray(found).any():
        return value
    array = np.asarray(found)
    return replace(value, tree=Literal_(array, replace(value.type, shape=array.shape)))


def folded(tensor: Tensor) -> exp.Expr:
    """Return the value of a tree of constants."""
    value = evaluate(tensor.tree, {}, 1)[0]
    if value is None or value is np.ma.masked:
        return exp.null()
    if tensor.type.dtype == "object":
        return exp.Literal.string(json_document(value))
    return constant(np.asarray(value).item() if tensor.type.is_number else value).node
