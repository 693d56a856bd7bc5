"""Convert several tensors to the same form, so that they can be compared or put into one column.

Classes are renumbered so that equal numbers mean equal names, and numbers get the same dtype. Boxes
with different units or formats are rejected.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from deeplake_lite.errors import InvalidValueError, QueryTypeError
from deeplake_lite.htypes import ClassLabel, Mask
from deeplake_lite.htypes.times import cast_time
from deeplake_lite.query.bind.scalars.agreement import WITHOUT_NAMES
from deeplake_lite.query.functions import Type
from deeplake_lite.query.functions.base import Arg, Bound
from deeplake_lite.query.functions.binding import as_int64
from deeplake_lite.query.functions.guard import Guarded
from deeplake_lite.query.functions.truths import join, may_hold_null, way_around_nulls
from deeplake_lite.query.functions.value_type import Truths
from deeplake_lite.query.tensors.trees import objects
from deeplake_lite.query.values import Call, Given, Literal_, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.query.bind.expressions.lowering import Lowering


def unify_tensors(
    what: str, tensors: Sequence[Tensor], text: str, low: Lowering
) -> tuple[list[Tensor], Type]:
    """Convert tensors to the same type, and return them with this type.

    Parameters
    ----------
    what : str
        The clause or function that combines the tensors, for messages.
    tensors : sequence of Tensor
        The tensors.
    text : str
        The expression as written in the query, for messages.
    low : Lowering
        The lowering of the query.

    Raises
    ------
    QueryTypeError
        If there is no common type.
    """
    if any(t.type.items is None and t.type.dtype == "bool" for t in tensors):
        tensors = [as_truths(tensor) for tensor in tensors]
    _check(what, tensors, text)
    converted = _unify_dtypes(what, with_one_list_of_names(tensors), text, low)
    types = [t.type for t in converted]
    if (list_ := _list_of_all(tensors)) is not None:
        types = [replace(type_, meaning=list_) for type_ in types]
    first, *others = types
    return converted, reduce(_common_type, others, first)


def names_of(type_: Type) -> tuple[str, ...]:
    """Return the class names of a type or, for a type of lists, of the items.

    The tuple is empty if there are no classes with names.
    """
    if type_.items is not None:
        return names_of(type_.items.of)
    return type_.names or ()


def with_names(tensor: Tensor) -> Tensor:
    """Return a tensor with class names in place of numbers. Without classes, it stays unchanged."""
    names = names_of(tensor.type) if _is_labels(tensor.type) else ()
    return name_classes(tensor, names, tensor.text) if names else tensor


def with_names_beside_texts(tensors: Sequence[Tensor]) -> list[Tensor]:
    """If one tensor is a column of strings, convert the classes in the others to names.

    Lists of JSON count as strings, too.
    """
    items = [t.type if t.type.items is None else t.type.items.of for t in tensors]
    texts = [
        (item.dtype == "str" and not isinstance(t.tree, Literal_))
        or (item.dtype == "object" and t.type.items is not None)
        for item, t in zip(items, tensors, strict=True)
    ]
    return [with_names(t) for t in tensors] if any(texts) else list(tensors)


def with_types_of_nulls(tensors: Sequence[Tensor], nulls: Sequence[bool]) -> list[Tensor]:
    """Return the tensors, in which each constant NULL gets the item type of the other tensors.

    If all others are numbers, NULL stays as it is: it has the smallest type, and does not widen the
    type of the others. `nulls` says which tensors are NULL.
    """
    pairs = list(zip(tensors, nulls, strict=True))
    items = (innermost(tensor.type) for tensor, is_null in pairs if not is_null)
    item = next((item for item in items if not item.is_number), None)
    if item is None:
        return list(tensors)
    null = Type(item.dtype)
    return [
        replace(t, tree=replace(t.tree, type=null)) if is_null and isinstance(t.tree, Given) else t
        for t, is_null in pairs
    ]


def as_truths(tensor: Tensor) -> Tensor:
    """Return lists of booleans as arrays, which logical operators need; other values as they are.

    Items that are null stay null.
    """
    items = tensor.type.items
    if items is None or items.of.dtype != "bool" or items.of.ndim != 0:
        return tensor

    def compute(value: Any, *, lead: int) -> NDArray[Any]:
        nulls = [item is None for item in value]
        return join(np.array([bool(item) for item in value], bool), nulls)

    bound = Bound(Type("bool", (None,), Truths()), compute, stacks=False)
    guarded = Guarded(
        tensor.text, bound.type, compute, (Arg(tensor.text, tensor.type),), (0,), sees_null=False
    )
    tree = Call("TRUTHS", replace(bound, compute=guarded), (tensor.tree,))
    return Tensor(tree, tensor.env, tensor.text)


def with_comparable_names(first: Tensor, second: Tensor) -> list[Tensor]:
    """Return two tensors with comparable classes, which are names if one tensor has strings."""
    if "str" in (innermost(first.type).dtype, innermost(second.type).dtype):
        return [with_names(first), with_names(second)]
    return with_one_list_of_names([first, second])


def innermost(type_: Type) -> Type:
    """Return the type of the items of the innermost lists, or the type itself if it is no list."""
    return type_ if type_.items is None else innermost(type_.items.of)


def with_one_list_of_names(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the tensors with classes renumbered, so that all use the same list of names.

    This list has the names of the first tensor, followed by names that only later tensors have.

    Raises
    ------
    QueryTypeError
        If some classes have names and others do not.
    """
    of_each = [names_of(t.type) if _has_classes(t.type) else () for t in tensors]
    of_labels = {bool(names_of(t.type)) for t in tensors if _is_labels(t.type)}
    if len(of_labels) > 1:
        raise QueryTypeError(WITHOUT_NAMES)
    if len({names for names in of_each if names}) < 2:
        return list(tensors)
    merged = tuple(dict.fromkeys(name for names in of_each for name in names))
    return [
        _renumber_classes(tensor, names, merged) if names and names != merged else tensor
        for tensor, names in zip(tensors, of_each, strict=True)
    ]


def name_classes(tensor: Tensor, names: tuple[str, ...], text: str) -> Tensor:
    """Return the names of the classes in a tensor, as a call to NAME."""

    def compute(value: object, *, lead: int) -> object:
        return _name_value(value, names)

    bound = Bound(_type_of_names(tensor.type), compute, stacks=False)
    return Tensor(Call("NAME", bound, (tensor.tree,), (("names", names),)), tensor.env, text)


def _type_of_names(type_: Type) -> Type:
    """Return the type of the result when classes of a type are converted to names.

    Null items stay null.
    """
    if type_.items is None:
        return Type("str", () if type_.shape == () else (None,))
    if not may_hold_null(type_) and type_.items.of.items is None:
        return Type("str", (None,))
    return _type_of_names(type_.items.of).as_list()


def _name_value(value: Any, names: tuple[str, ...]) -> object:
    if value is None:
        return None
    if isinstance(value, list) or np.ndim(value):
        return objects([_name_value(item, names) for item in value])
    return names[int(value)]


def _is_labels(type_: Type) -> bool:
    """Return whether values of a type are class labels, or lists of class labels."""
    of = type_.items.of if type_.items is not None else type_
    return of.classes is not None or (of.items is not None and _is_labels(of))


def _has_classes(type_: Type) -> bool:
    """Return whether values of a type are class labels, or masks whose classes have names."""
    return (type_.is_mask and bool(type_.names)) or _is_labels(type_)


def _renumber_classes(tensor: Tensor, names: tuple[str, ...], merged: tuple[str, ...]) -> Tensor:
    """Return a tensor whose classes are numbered by the list `merged`, instead of the list `names`.

    Raises
    ------
    QueryTypeError
        If the tensor is a mask whose dtype is too small for the number of classes in `merged`.
    """
    numbers = np.array([merged.index(name) for name in names])
    dtype = np.dtype(tensor.type.dtype)
    if dtype.kind == "u" and len(merged) > np.iinfo(dtype).max:
        raise QueryTypeError(
            f"Masks of {dtype} can have up to {np.iinfo(dtype).max} classes, but {tensor.text} and "
            f"another mask have {len(merged)} together. Compare the classes of single pixels: "
            "x[i, j]."
        )

    def compute(value: object, *, lead: int) -> object:
        return _renumber(value, numbers)

    bound = Bound(_with_class_names(tensor.type, merged), compute, stacks=tensor.type.items is None)
    options = (("from", names), ("to", merged))
    return Tensor(Call("RELABEL", bound, (tensor.tree,), options), tensor.env, tensor.text)


def _renumber(value: object, numbers: NDArray[Any]) -> object:
    """Replace each class in an array or a list with `numbers[class]`, and keep None."""
    if value is None:
        return None
    if isinstance(value, list) or (isinstance(value, np.ndarray) and value.dtype.hasobject):
        return objects([_renumber(item, numbers) for item in value])
    array = np.asarray(value)
    is_class = (array >= 0) & (array < len(numbers))  # a mask may have pixels without a class
    return np.where(is_class, numbers.astype(array.dtype)[np.where(is_class, array, 0)], array)


def _with_class_names(type_: Type, names: tuple[str, ...]) -> Type:
    if type_.is_mask:
        return replace(type_, meaning=Mask(names=names))
    if type_.items is None:
        return replace(type_, meaning=ClassLabel(list(names)))
    return replace(
        type_, meaning=replace(type_.items, of=_with_class_names(type_.items.of, names), htype=None)
    )


def _check(what: str, tensors: Sequence[Tensor], text: str) -> None:
    """Raise QueryTypeError if the types of the tensors do not fit in one column."""
    types = [t.type for t in tensors]
    listing = " and ".join(map(str, types))
    of_items = [
        t.is_number if t.items is None else (t.items.of.dtype, t.items.of.ndim) for t in types
    ]
    if len(set(of_items)) > 1:
        raise QueryTypeError(
            f"{what} must be given values of the same type, but they are {listing}: {text}."
            f"{next(filter(None, (way_around_nulls(t.type, t.text) for t in tensors)), '')}"
        )
    if len({t.ndim for t in types}) > 1:
        raise QueryTypeError(
            f"{what} must be given tensors with the same number of axes, but they are {listing}: "
            f"{text}. Reduce a tensor with more axes, as in MEAN(x), or add an axis, as in x[None]."
        )
    inner = [t if t.items is None else t.items.of for t in types]
    formats = {t.box_format or "xyxy" for t in inner if t.shape is None or t.shape[-1:] == (4,)}
    if len(formats) > 1:
        raise QueryTypeError(
            f"{what} must be given boxes of the same format, but they are "
            f"{' and '.join(sorted(formats))}: {text}. Convert the boxes with BOX_CONVERT(x, "
            "'xyxy')."
        )
    units = {t.boxes.units for t in inner if t.boxes is not None}
    if len(units) > 1:
        raise QueryTypeError(
            f"{what} must be given boxes in the same unit, but their units are "
            f"{' and '.join(sorted(units))}: {text}. Multiply fractions by the size of the image "
            "first."
        )


def _unify_dtypes(what: str, tensors: list[Tensor], text: str, low: Lowering) -> list[Tensor]:
    """Return the tensors, with numbers converted to one dtype and times to the finest unit.

    The dtype can represent the values of all columns. A constant widens this dtype only if it
    cannot represent the constant.

    Raises
    ------
    QueryTypeError
        If some of the tensors are numbers, and others are not.
    """
    dtypes = {t.type.dtype for t in tensors}
    if len(dtypes) == 1:
        return tensors
    if (unit := _unit_of_all(dtypes)) is not None:
        return [t if t.type.dtype == unit.name else _convert_unit(t, unit) for t in tensors]
    if not all(t.type.is_number for t in tensors):
        listing = " and ".join(str(t.type) for t in tensors)
        raise QueryTypeError(
            f"{what} must be given values of the same kind, but they are {listing}: {text}. Leave "
            "out the values of one kind."
        )
    columns = {t.type.dtype for t in tensors if not isinstance(t.tree, Literal_)} or dtypes
    dtype = reduce(_common_dtype, map(np.dtype, sorted(columns)))
    for tensor in tensors:
        if isinstance(tensor.tree, Literal_) and not _holds(dtype, np.asarray(tensor.tree.value)):
            dtype = _common_dtype(dtype, np.dtype(tensor.type.dtype))
    e = exp.column(text)
    return [
        t
        if t.type.dtype == dtype.name
        else _as_int64(t)
        if (t.type.dtype, dtype.name) == ("uint64", "int64")
        else _as_floats(t, dtype)
        if t.type.dtype in ("int64", "uint64") and dtype.kind in "fc"
        else _convert(t, dtype.name, lambda array: array.astype(dtype))
        if t.type.list_of is not None
        else low.call("CAST", [t], {"type": dtype.name}, e)
        for t in tensors
    ]


def _unit_of_all(dtypes: set[str]) -> np.dtype[Any] | None:
    """Return a dtype with the finest unit of several dtypes of times.

    Return None unless all dtypes are timestamps, all are durations of fixed length, or all are
    durations in months or years.

    >>> _unit_of_all({"datetime64[D]", "datetime64[ms]"}), _unit_of_all({"timedelta64[D]", "int8"})
    (dtype('<M8[ms]'), None)
    """
    if len({dtype.split("[")[0] for dtype in dtypes}) > 1 or not all(map(_is_time, dtypes)):
        return None
    try:
        return reduce(np.promote_types, map(np.dtype, sorted(dtypes)))
    except TypeError:  # NumPy has no common unit of months and days
        return None


def _is_time(dtype: str) -> bool:
    return dtype.endswith("]")


def _convert_unit(tensor: Tensor, unit: np.dtype[Any]) -> Tensor:
    """Return times in a finer unit. A time outside the range of this unit causes an error."""

    def convert(array: NDArray[Any]) -> NDArray[Any]:
        try:
            return cast_time(array, unit)
        except InvalidValueError as error:
            raise QueryTypeError(
                f"Times in several units are converted to the finest unit, but {unit.name} cannot "
                f"represent a time in {tensor.text}. Combine only times in the same unit."
            ) from error

    return _convert(tensor, unit.name, convert)


def _common_dtype(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype to which NumPy promotes two dtypes, or int64 if floats round integers.

    >>> _common_dtype(np.dtype("int8"), np.dtype("uint64"))
    dtype('int64')
    """
    dtype = np.promote_types(a, b)
    is_rounded = dtype.kind == "f" and {a.kind, b.kind} <= {*"iu"}
    return np.dtype(np.int64) if is_rounded else dtype


def _as_int64(tensor: Tensor) -> Tensor:
    """Return a tensor of uint64 as int64. A number that is too large for int64 causes an error."""
    return _convert(tensor, "int64", lambda array: as_int64(array, tensor.text))


def _as_floats(tensor: Tensor, dtype: np.dtype[Any]) -> Tensor:
    """Return a tensor of integers as floats. An integer that would be rounded causes an error."""

    def convert(array: NDArray[Any]) -> NDArray[Any]:
        if (rounded := _find_rounded(array, dtype)).size:
            raise QueryTypeError(
                f"Integers combined with floats are converted to floats, but {dtype} cannot "
                f"represent {rounded.flat[0]}, which is in {tensor.text}. CAST the integers AS "
                "DOUBLE, which rounds them, or the floats AS BIGINT."
            )
        return array.astype(dtype)

    return _convert(tensor, dtype.name, convert)


def _find_rounded(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the integers of an array that a float dtype would round.

    >>> _find_rounded(np.array([2**24, 2**24 + 1, 2**63 - 1]), np.dtype("float32"))
    array([           16777217, 9223372036854775807])
    """
    with np.errstate(over="ignore"):  # float16 overflows to inf
        floats = array.astype(dtype).real.astype(np.float64)
    # Converting a float beyond the range of the integers back to an integer is undefined.
    within = floats < 2.0 ** (64 if array.dtype.kind == "u" else 63)
    back = np.where(within, floats, 0).astype(array.dtype)
    rounded: NDArray[Any] = np.asarray(array)[~within | (back != array)]
    return rounded


def _convert(tensor: Tensor, dtype: str, convert: Callable[[NDArray[Any]], NDArray[Any]]) -> Tensor:
    """Return a tensor with its values converted by `convert`, which may raise QueryTypeError."""

    def compute(value: object, *, lead: int) -> NDArray[Any]:
        return convert(np.asarray(value))

    type_, arg = replace(tensor.type, dtype=dtype), Arg(tensor.text, tensor.type)
    guarded = Guarded(tensor.text, type_, compute, (arg,), (0,), sees_null=False)
    bound, options = Bound(type_, guarded), (("type", dtype),)
    return Tensor(Call("CONVERT", bound, (tensor.tree,), options), tensor.env, tensor.text)


def _holds(dtype: np.dtype[Any], value: NDArray[Any]) -> bool:
    """Return whether a dtype can represent a constant.

    Integers must be represented exactly. Floats may be rounded, but must stay finite.
    """
    if dtype.kind == "f" and value.dtype.kind == "f":
        return bool(np.isfinite(value.astype(dtype)).all())
    if dtype.kind in "fc" and value.dtype.kind in "iu":
        return not _find_rounded(value, dtype).size
    with np.errstate(all="ignore"):
        return bool((value.astype(dtype) == value).all())


def _list_of_all(tensors: Sequence[Tensor]) -> Htype | None:
    """Return the column type of the first tensor if all columns are lists of numbers.

    Otherwise, return None, because lists become arrays when they are combined with arrays.
    """
    columns = [t.type for t in tensors if not isinstance(t.tree, Literal_)]
    are_lists = bool(columns) and all(type_.list_of is not None for type_ in columns)
    return columns[0].htype if are_lists else None


def _common_type(a: Type, b: Type) -> Type:
    """Return a type that includes the values of two types with the same dtype."""
    shape = a.shape
    if a.shape is not None and b.shape is not None:
        shape = tuple(n if n == m else None for n, m in zip(a.shape, b.shape, strict=True))
    if isinstance(b.meaning, Truths):
        a = replace(a, meaning=b.meaning)
    same_names = names_of(a) == names_of(b)
    same_names = same_names and (shape is not None or a.is_like_image == b.is_like_image)
    is_same = isinstance(a.meaning, Truths) or (a.list_of is None) == (b.list_of is None)
    return replace(a, shape=shape, meaning=a.meaning if same_names and is_same else None)
