"""Compute, while the query is lowered, tensors that depend only on constants (constant folding)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sqlglot import exp

from deeplake_lite.query.bind.expressions.constants import constant
from deeplake_lite.query.database.convert import json_document
from deeplake_lite.query.tensors.evaluate import evaluate
from deeplake_lite.query.values import Call, Literal_, Tensor, Value, calls_users


def fold(value: Value) -> Value:
    """If a tensor of numbers depends only on constants, compute it and return it as a constant.

    Other values are returned unchanged.
    """
    if not isinstance(value, Tensor) or value.env or isinstance(value.tree, Literal_):
        return value
    # A digest is not replaced, because `digests.is_digest` recognizes it by its call.
    is_digest = isinstance(value.tree, Call) and value.tree.name == "HASH"
    if is_digest or not value.type.is_number or calls_users(value.tree):
        return value
    [number] = evaluate(value.tree, {}, 1)
    if number is None or number is np.ma.masked or np.ma.getmaskarray(number).any():
        return value
    array = np.asarray(number)
    if array.dtype == object:  # an array of booleans and nulls
        return value
    return replace(value, tree=Literal_(array, replace(value.type, shape=array.shape)))


def fold_to_sql(tensor: Tensor) -> exp.Expr:
    """Compute a tensor that depends only on constants, and return the value as SQL."""
    value = evaluate(tensor.tree, {}, 1)[0]
    if value is None or value is np.ma.masked:
        return exp.null()
    if tensor.type.dtype == "object":
        return exp.Literal.string(json_document(value))
    return constant(np.asarray(value).item() if tensor.type.is_number else value).node
