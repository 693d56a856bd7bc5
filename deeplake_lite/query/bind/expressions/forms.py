"""Tensors that one column is to hold, or that are compared, in one form.

Classes get one list of names, numbers one dtype; boxes of other units or formats are refused.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.htypes import ClassLabel, Mask
from deeplake_lite.query.bind.scalars.kinds import WITHOUT_NAMES
from deeplake_lite.query.functions import Type
from deeplake_lite.query.functions.base import Arg, Bound
from deeplake_lite.query.functions.binding import as_int64
from deeplake_lite.query.functions.guard import Guarded
from deeplake_lite.query.tensors.trees import objects
from deeplake_lite.query.values import Call, Literal_, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.query.bind.expressions.lowering import Lowering


def in_one_form(
    what: str, tensors: Sequence[Tensor], text: str, low: Lowering
) -> tuple[list[Tensor], Type]:
    """Return tensors that one column is to hold, and its type. Raises QueryTypeError."""
    _check(what, [t.type for t in tensors], text)
    found = _of_one_dtype(what, with_one_list_of_names(tensors), text, low)
    first, *others = [t.type for t in found]
    return found, reduce(_both, others, first)


def names_of(type_: Type) -> tuple[str, ...]:
    """Return the names of the classes that values are; of a list, its items'."""
    if type_.items is not None:
        return names_of(type_.items.of)
    return type_.names or ()


def with_names(tensor: Tensor) -> Tensor:
    """Return the names of several classes; any other tensor, and classes without names, as is."""
    names = names_of(tensor.type) if _is_labels(tensor.type) else ()
    return named(tensor, names, tensor.text) if names else tensor


def with_names_beside_texts(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return tensors, classes by name where a column of texts is among the others."""
    items = [t.type if t.type.items is None else t.type.items.of for t in tensors]
    texts = [
        item.dtype == "str" and not isinstance(t.tree, Literal_)
        for item, t in zip(items, tensors, strict=True)
    ]
    return [with_names(t) for t in tensors] if any(texts) else list(tensors)


def with_one_list_of_names(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return tensors whose classes are numbers of one list of names, the first's and then more.

    Raises QueryTypeError for classes without names beside some with names.
    """
    of_each = [names_of(t.type) if _has_classes(t.type) else () for t in tensors]
    of_labels = {bool(names_of(t.type)) for t in tensors if _is_labels(t.type)}
    if len(of_labels) > 1:
        raise QueryTypeError(WITHOUT_NAMES)
    if len({names for names in of_each if names}) < 2:
        return list(tensors)
    merged = tuple(dict.fromkeys(name for names in of_each for name in names))
    return [
        _relabelled(tensor, names, merged) if names and names != merged else tensor
        for tensor, names in zip(tensors, of_each, strict=True)
    ]


def named(tensor: Tensor, names: tuple[str, ...], text: str) -> Tensor:
    """Return the names of several classes per row."""

    def compute(value: Any, *, lead: int) -> Any:
        return _named(value, names)

    shape = () if tensor.type.shape == () else (None,)
    bound = Bound(Type("str", shape), compute, stacks=False)
    return Tensor(Call("NAME", bound, (tensor.tree,), (("names", names),)), tensor.env, text)


def _named(value: Any, names: tuple[str, ...]) -> Any:
    if value is None:
        return None
    if np.ndim(value):
        return objects([_named(item, names) for item in value])
    return names[int(value)]


def _is_labels(type_: Type) -> bool:
    """Tell whether values are classes, whose numbers mean nothing without their names."""
    of = type_.items.of if type_.items is not None else type_
    return of.classes is not None or (of.items is not None and _is_labels(of))


def _has_classes(type_: Type) -> bool:
    """Tell whether values are classes, or pictures of classes that have names."""
    return (type_.is_mask and bool(type_.names)) or _is_labels(type_)


def _relabelled(tensor: Tensor, names: tuple[str, ...], merged: tuple[str, ...]) -> Tensor:
    """Return a tensor of classes by their numbers in another list of names.

    Raises QueryTypeError where the numbers of a mask do not reach so far.
    """
    numbers = np.array([merged.index(name) for name in names])
    dtype = np.dtype(tensor.type.dtype)
    if dtype.kind == "u" and len(merged) > np.iinfo(dtype).max:
        raise QueryTypeError(
            f"Masks of {dtype} have up to {np.iinfo(dtype).max} classes, but {tensor.text} and "
            f"another one have {len(merged)} together. Compare classes of pixels: x[i, j]."
        )

    def compute(value: Any, *, lead: int) -> Any:
        return _renumbered(value, numbers)

    bound = Bound(_renamed(tensor.type, merged), compute, stacks=tensor.type.items is None)
    options = (("from", names), ("to", merged))
    return Tensor(Call("RELABEL", bound, (tensor.tree,), options), tensor.env, tensor.text)


def _renumbered(value: Any, numbers: NDArray[Any]) -> Any:
    """Return classes, in lists too, by other numbers; None stays."""
    if value is None:
        return None
    if isinstance(value, list) or (isinstance(value, np.ndarray) and value.dtype.hasobject):
        return objects([_renumbered(item, numbers) for item in value])
    array = np.asarray(value)
    is_class = (array >= 0) & (array < len(numbers))  # pixels of a mask may have none
    return np.where(is_class, numbers.astype(array.dtype)[np.where(is_class, array, 0)], array)


def _renamed(type_: Type, names: tuple[str, ...]) -> Type:
    if type_.is_mask:
        return replace(type_, meaning=Mask(names=names))
    if type_.items is None:
        return replace(type_, meaning=ClassLabel(list(names)))
    return replace(
        type_, meaning=replace(type_.items, of=_renamed(type_.items.of, names), htype=None)
    )


def _check(what: str, types: Sequence[Type], text: str) -> None:
    """Refuse tensors that cannot be in one column. Raises QueryTypeError."""
    shown = " and ".join(map(str, types))
    of_items = [
        t.is_number if t.items is None else (t.items.of.dtype, t.items.of.ndim) for t in types
    ]
    if len(set(of_items)) > 1:
        raise QueryTypeError(f"{what} takes values of one type, but they are {shown}: {text}.")
    if len({t.ndim for t in types}) > 1:
        raise QueryTypeError(f"{what} takes tensors of as many axes, but they are {shown}: {text}.")
    inner = [t if t.items is None else t.items.of for t in types]
    formats = {t.box_format or "xyxy" for t in inner if t.shape is None or t.shape[-1:] == (4,)}
    if len(formats) > 1:
        raise QueryTypeError(
            f"{what} takes boxes of one format, got {' and '.join(sorted(formats))}: "
            f"{text}. BOX_CONVERT(x, 'xyxy') gives them in another."
        )
    units = {t.boxes.units for t in inner if t.boxes is not None}
    if len(units) > 1:
        raise QueryTypeError(
            f"{what} takes boxes of one unit, but they are in {' and '.join(sorted(units))}: "
            f"{text}. Multiply fractions by the size of the image first."
        )


def _of_one_dtype(what: str, tensors: list[Tensor], text: str, low: Lowering) -> list[Tensor]:
    """Return numbers in a dtype that holds all of them; constants take that of the others."""
    dtypes = {t.type.dtype for t in tensors}
    if len(dtypes) == 1:
        return tensors
    if not all(t.type.is_number for t in tensors):
        shown = " and ".join(str(t.type) for t in tensors)
        raise QueryTypeError(f"{what} takes columns of one kind, but they are {shown}: {text}.")
    columns = {t.type.dtype for t in tensors if not isinstance(t.tree, Literal_)} or dtypes
    dtype = reduce(_common, map(np.dtype, sorted(columns)))
    for tensor in tensors:
        if isinstance(tensor.tree, Literal_) and not _holds(dtype, np.asarray(tensor.tree.value)):
            dtype = _common(dtype, np.dtype(tensor.type.dtype))
    e = exp.column(text)
    return [
        t
        if t.type.dtype == dtype.name
        else _as_int64(t)
        if (t.type.dtype, dtype.name) == ("uint64", "int64")
        else _as_floats(t, dtype)
        if t.type.dtype in ("int64", "uint64") and dtype.kind in "fc"
        else low.call("CAST", [t], {"type": dtype.name}, e)
        for t in tensors
    ]


def _common(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """Return a dtype for numbers of two: NumPy's, but no floats for integers.

    >>> _common(np.dtype("int8"), np.dtype("uint64")), _common(np.dtype("int8"), np.dtype("f2"))
    (dtype('int64'), dtype('float16'))
    """
    found = np.promote_types(a, b)
    is_rounded = found.kind == "f" and {a.kind, b.kind} <= {*"iu"}
    return np.dtype(np.int64) if is_rounded else found


def _as_int64(tensor: Tensor) -> Tensor:
    """Return numbers of uint64 that stand beside signed ones; too large ones are an error."""
    return _converted(tensor, "int64", lambda array: as_int64(array, tensor.text))


def _as_floats(tensor: Tensor, dtype: np.dtype[Any]) -> Tensor:
    """Return integers that stand beside floats; those that no float is are an error."""

    def convert(array: NDArray[Any]) -> NDArray[Any]:
        if (rounded := _rounded(array, dtype)).size:
            raise QueryTypeError(
                f"A column of integers and floats holds floats, and none of {dtype} is "
                f"{rounded.flat[0]}, which {tensor.text} has. CAST the integers AS DOUBLE, which "
                "rounds them, or the floats AS BIGINT."
            )
        return array.astype(dtype)

    return _converted(tensor, dtype.name, convert)


def _rounded(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the integers of an array that a dtype of floats does not hold.

    >>> _rounded(np.array([2**24, 2**24 + 1, 2**63 - 1]), np.dtype("float32"))
    array([           16777217, 9223372036854775807])
    """
    with np.errstate(over="ignore"):  # of float16
        floats = array.astype(dtype).real.astype(np.float64)
    within = floats < 2.0 ** (64 if array.dtype.kind == "u" else 63)  # others do not come back
    back = np.where(within, floats, 0).astype(array.dtype)
    rounded: NDArray[Any] = np.asarray(array)[~within | (back != array)]
    return rounded


def _converted(
    tensor: Tensor, dtype: str, convert: Callable[[NDArray[Any]], NDArray[Any]]
) -> Tensor:
    """Return a tensor's values in another dtype, which may refuse some of them."""

    def compute(value: Any, *, lead: int) -> Any:
        return convert(np.asarray(value))

    type_, arg = replace(tensor.type, dtype=dtype), Arg(tensor.text, tensor.type)
    guarded = Guarded(tensor.text, type_, compute, (arg,), (0,), sees_null=False)
    bound, options = Bound(type_, guarded), (("type", dtype),)
    return Tensor(Call("CONVERT", bound, (tensor.tree,), options), tensor.env, tensor.text)


def _holds(dtype: np.dtype[Any], value: NDArray[Any]) -> bool:
    """Tell whether a constant does not change much in a dtype: whole numbers not at all."""
    if dtype.kind == "f" and value.dtype.kind == "f":
        return bool(np.isfinite(value.astype(dtype)).all())
    if dtype.kind in "fc" and value.dtype.kind in "iu":
        return not _rounded(value, dtype).size
    with np.errstate(all="ignore"):
        return bool((value.astype(dtype) == value).all())


def _both(a: Type, b: Type) -> Type:
    """Return the type of values of either type, which have one dtype."""
    shape = a.shape
    if a.shape is not None and b.shape is not None:
        shape = tuple(n if n == m else None for n, m in zip(a.shape, b.shape, strict=True))
    named = names_of(a) == names_of(b) and (shape is not None or a.is_like_image == b.is_like_image)
    return replace(a, shape=shape, meaning=a.meaning if named else None)
