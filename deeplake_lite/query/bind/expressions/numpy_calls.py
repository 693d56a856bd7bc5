"""Build calls to functions that NumPy computes, which are nodes of trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import InvalidValueError, QueryTypeError
from deeplake_lite.query.bind.expressions.forms import (
    as_truths,
    with_names_beside_texts,
    with_one_list_of_names,
    with_types_of_nulls,
)
from deeplake_lite.query.bind.scalars.kinds import is_null_constant
from deeplake_lite.query.functions import REGISTRY, Arg, Type, Unknown
from deeplake_lite.query.values import Call, Literal_, Tensor, Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deeplake_lite.query.bind.expressions.lowering import Lowering
    from deeplake_lite.query.functions import Function


_LOGIC = {"NOT", "AND", "OR", "ANY", "ALL", "ALL_STRICT", "SUM", "MEAN"}
"""Functions that accept lists of booleans whose items may be null."""


def call_function(
    low: Lowering,
    function: str | Function,
    args: Sequence[Value],
    options: Mapping[str, object],
    e: exp.Expr,
) -> Tensor:
    """Return a call to a function that NumPy computes; see `Lowering.call`."""
    entry = REGISTRY[function] if isinstance(function, str) else function
    name = function if isinstance(function, str) else f"{entry.group}: {entry.name}"
    whole = low.short_text(e)
    # A call may have more arguments than are written in the query, as operators on lists have.
    texts = [low.short_text(part) for part in _parts(e)] + [whole] * len(args)
    tensors = [low.as_tensor(a, text) for a, text in zip(args, texts, strict=False)]
    tensors = with_types_of_nulls(tensors, [is_null_constant(a) for a in args])
    tensors = with_one_list_of_names(with_names_beside_texts(tensors))
    if entry.name in _LOGIC:
        tensors = [as_truths(tensor) for tensor in tensors]
    arguments = _number_classes([_arg(t) for t in tensors])
    bound = entry.bind(*arguments, **options)
    env: dict[str, exp.Expr] = {}
    for tensor in tensors:
        env.update(tensor.env)
    trees = tuple(
        Literal_(a.value, a.type) if a.is_constant and isinstance(t.tree, Literal_) else t.tree
        for t, a in zip(tensors, arguments, strict=True)
    )
    return Tensor(Call(name, bound, trees, tuple(sorted(options.items()))), env, whole)


def _arg(tensor: Tensor) -> Arg:
    value = tensor.tree.value if isinstance(tensor.tree, Literal_) else Unknown
    return Arg(tensor.text, tensor.type, value)


def _number_classes(args: list[Arg]) -> list[Arg]:
    """Return the arguments. If one of them has classes, class names in constants become numbers."""
    types = (a.type if a.type.items is None else a.type.items.of for a in args)
    classes = next((t.classes for t in types if t.classes is not None), None)
    if classes is None:
        return args
    out = []
    for arg in args:
        if arg.is_constant and arg.type.dtype == "str" and arg.value is not None:
            try:
                number = np.asarray(
                    classes.index(arg.value)
                    if isinstance(arg.value, str)
                    else [classes.index(v) for v in arg.value]
                )
            except InvalidValueError as error:
                raise QueryTypeError(f"{arg.text}: {error.args[0]}") from error
            arg = Arg(arg.text, Type("int64", number.shape), number)
        out.append(arg)
    return out


def _parts(e: exp.Expr) -> list[exp.Expr]:
    if isinstance(e, exp.Anonymous):
        return list(e.expressions)
    return [p for p in (e.this, e.args.get("expression")) if isinstance(p, exp.Expr)]
