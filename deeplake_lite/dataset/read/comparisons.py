"""Comparisons of a column with one value, or with one value per row.

The other operand is first converted to the form of the column's values: class names become numbers,
and strings become times. A Column, a Series or an Arrow array always has one value per row. A list
has one value per row if the list is nested more deeply than the values of the column. A single
number with a fraction is rounded to the column's float dtype, as in queries. Numbers in lists and
arrays are not rounded, as in NumPy.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.dataset.read.exact_comparisons import comparable, holds_large_integers, nearest
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes import Dense, Htype, Nested, Ragged
from deeplake_lite.htypes.foreign import column_array, is_column
from deeplake_lite.htypes.json_values import canonical_json
from deeplake_lite.htypes.tensors import array_of, is_tensor
from deeplake_lite.htypes.times import read_time
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.lazy import LazyModule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import UnionType

    from numpy.typing import NDArray

    from deeplake_lite.dataset.column import Column
    from deeplake_lite.htypes import ClassLabel, arrow_scalars
    from deeplake_lite.htypes.cells import Values
else:
    arrow_scalars = LazyModule("deeplake_lite.htypes.arrow_scalars")

NO_CLASS = -1
"""Number that represents an unknown class name."""


@dataclass(frozen=True)
class _Operand:
    """The operand with which a column is compared, in the form of the column's values."""

    value: Any
    """One value, or a sequence with one value per row."""
    per_row: bool
    """Whether `value` has one value per row."""

    def rows(self, count: int) -> Sequence[Any]:
        """Return a sequence with one value for each of `count` rows."""
        return list(self.value) if self.per_row else [self.value] * count


def equal(column: Column, other: Any, *, unknown: bool = False) -> NDArray[np.bool_]:
    """Return a mask, (n,) bool, of the values that equal `other`. None equals only null.

    Parameters
    ----------
    column : Column
        The column.
    other : object
        A value, or one value per row.
    unknown : bool, default False
        Whether unknown class names are allowed. An unknown name equals no value.

    Raises
    ------
    InvalidValueError
        For an unknown class name, a string that is not a date, a number of values that differs
        from the number of rows, or a value with fewer axes than the column's values.
    """
    if _rank(other) > _rank(column):
        return equal(other, column)
    values = column[:]
    if other is None:
        return _nulls(values)
    operand = _convert_operand(column, values, other, unknown=unknown)
    try:
        if isinstance(values, np.ndarray) and (mask := _equal_blocks(values, operand)) is not None:
            return mask
    except InvalidValueError as error:
        raise error.at(column=column.name) from None
    if _leaf(column.htype).sql == "json":
        values = [_canonical(value) for value in values]
        value, per_row = operand.value, operand.per_row
        operand = _Operand([*map(_canonical, value)] if per_row else _canonical(value), per_row)
    rows = zip(_to_list(values), operand.rows(len(values)), strict=True)
    return np.array([_are_same(a, b) for a, b in rows], bool)


def compare(column: Column, test: Callable[[Any, Any], Any], other: Any) -> NDArray[np.bool_]:
    """Return a mask, (n,) bool, of the values for which `test` is true. Nulls do not pass.

    Parameters
    ----------
    column : Column
        The column.
    test : callable
        ``operator.lt``, ``le``, ``gt`` or ``ge``.
    other : object
        A value, or one value per row.

    Raises
    ------
    InvalidValueError
        As for `equal`, and for values that have no order.
    """
    if _rank(other) > _rank(column):
        return compare(other, _MIRRORED[test], column)
    values = column[:]
    classes = column.htype.classes
    if classes is not None and _has_other_names(classes, other):
        # The same number means different classes in the two columns, so compare the names.
        values = column.htype.named(_to_list(values))
        operand = _Operand(_names_of(other), per_row=True)
        _check_rows(column, values, operand.value)
    else:
        operand = _convert_operand(column, values, other, unknown=False)
    is_complex = isinstance(values, np.ndarray) and values.dtype.kind == "c"
    if is_complex or _depth_of_values(column.htype, values):
        raise _order_error(column, other)
    try:
        if isinstance(values, np.ndarray) and not isinstance(operand.value, str):
            left, right = comparable(values, _block(operand.value))
            with np.errstate(invalid="ignore"):  # NaN is neither less nor greater
                mask = np.ma.filled(test(left, right), fill_value=False)
            return np.broadcast_to(np.asarray(mask, bool), len(values)).copy()
        rows = list(zip(_to_list(values), operand.rows(len(values)), strict=True))
        if column.htype.sql == "json":
            rows = [(_as_python(a), _as_python(b)) for a, b in rows]
            if any(_are_unordered(a, b) for a, b in rows):
                raise _order_error(column, other)
        return np.array(
            [a is not None and b is not None and bool(test(a, b)) for a, b in rows], bool
        )
    except InvalidValueError as error:
        raise error.at(column=column.name) from None
    except (TypeError, ValueError, ArithmeticError) as error:
        raise _order_error(column, other) from error


_MIRRORED = {
    operator.lt: operator.gt,
    operator.le: operator.ge,
    operator.gt: operator.lt,
    operator.ge: operator.le,
}
"""Maps each operator to the operator that gives the same result for swapped operands."""


def _rank(operand: object) -> int:
    """Return an operand's rank. The operand of the higher rank decides how the two are compared.

    Columns of JSON, times and classes can compare their values with values of other types, so they
    rank higher than columns of other types. Classes without names rank low: they are compared with
    strings as strings, and with all other values as numbers.
    """
    htype = getattr(operand, "htype", None)
    leaf = _leaf(htype) if isinstance(htype, Htype) else None
    if leaf is None:
        return 0
    is_time = leaf.value_dtype.startswith(("datetime64", "timedelta64"))
    has_names = leaf.classes is not None and bool(leaf.classes.names)
    ranks = leaf.sql == "json", is_time, has_names, leaf.sql == "text"
    return next((len(ranks) - i for i, is_rank in enumerate(ranks) if is_rank), 0)


def _are_unordered(a: object, b: object) -> bool:
    """Return whether two JSON values have no order, such as true and 1, or two lists.

    >>> _are_unordered(1, 2.5), _are_unordered(True, 1), _are_unordered([1], [2])
    (False, True, True)
    """
    if a is None or b is None:
        return False
    kinds = {_kind_in_json(a), _kind_in_json(b)}
    return len(kinds) > 1 or None in kinds


def _kind_in_json(value: object) -> type | None:
    """Return the kind of a JSON value, or None if values of this kind have no order.

    Booleans come first, because Python's ``bool`` is a subclass of ``int``.
    """
    kinds = (bool, bool), (int | float, float), (str, str)
    return next((kind for types, kind in kinds if isinstance(value, types)), None)


def _as_python(value: Any) -> object:
    """Convert NumPy numbers to Python numbers, which compare exactly. Keep other values."""
    is_number = isinstance(value, np.number | np.bool_) and not isinstance(value, np.timedelta64)
    return value.item() if is_number else value


def _has_other_names(classes: ClassLabel, other: object) -> bool:
    """Return whether `other` is a column of strings or other classes, to be compared by name."""
    htype = getattr(other, "htype", None)
    if not isinstance(htype, Htype):
        return False
    if htype.classes is not None:
        return htype.classes.names != classes.names
    return htype.sql == "text"


def _names_of(column: Column) -> Values:
    values = _to_list(column[:])
    return values if column.htype.classes is None else column.htype.named(values)


def _order_error(column: Column, other: object) -> InvalidValueError:
    return InvalidValueError(
        f"Values of column {column.name!r} of type {column.htype!r} have no order relative to "
        f"{brief(other)}. Use ==, or compare with a value of the column's type."
    )


# ---- conversion of the operand


def _convert_operand(column: Column, values: object, other: object, *, unknown: bool) -> _Operand:
    """Convert the other operand to the column's form. Raises InvalidValueError."""
    other, source = _as_values(other)
    if isinstance(htype := getattr(source, "htype", None), Htype):
        unknown = True  # the other column may have classes that this column lacks
        other = _convert_classes(htype, _to_list(other), column)
    per_row = source is not None or _is_per_row(column, values, other)
    if per_row:
        _check_rows(column, values, other)
    depth = _depth_of_values(column.htype, values)
    if not per_row and column.htype.sql != "json" and _depth(other) < depth:
        raise InvalidValueError(
            f"Values of column {column.name!r} have {depth} {'axis' if depth == 1 else 'axes'}, "
            f"but they are compared with {brief(other)}. Compare with a whole value, such as a "
            "list, or find elements with ds.query: CONTAINS(x, …), ANY(x = …)."
        )
    try:
        return _Operand(_to_column_form(column, values, other, unknown=unknown), per_row)
    except InvalidValueError as error:
        raise error.at(column=column.name) from None


def _convert_classes(htype: Htype, values: list[object], column: Column) -> object:
    """Return values of another column, with classes in the form that `column` can compare.

    Raises
    ------
    InvalidValueError
        When only one of the columns has class names.
    """
    theirs, mine = _leaf(htype).classes, _leaf(column.htype)
    if theirs is None:
        return htype.named(values)
    if mine.classes is not None and bool(mine.classes.names) != bool(theirs.names):
        raise InvalidValueError(
            "Classes with names cannot be compared with classes without names, but column "
            f"{column.name!r} is {column.htype!r}, and the other column is {htype!r}. Declare "
            "class names for both, or compare arrays of numbers: ds['label'][:]."
        )
    if mine.sql in ("text", "json"):
        return _map_values(htype.named(values), int | np.integer, str)
    return values if mine.classes is None else htype.named(values)


def _check_rows(column: Column, values: Any, other: Any) -> None:
    if len(other) != len(values):
        raise InvalidValueError(
            f"Column {column.name!r} has {pluralize(len(values), 'row')}, but it is compared with "
            f"{pluralize(len(other), 'value')}. Compare it with one value, or with one value per "
            "row."
        )


def _as_values(other: Any) -> tuple[object, object]:
    """Return the values of `other`, and `other` itself if it is a column, otherwise None."""
    if hasattr(other, "to_pylist"):
        return arrow_scalars.python_values(other), other
    if is_column(type(other)):
        array = column_array(other)
        return (array.tolist() if array.dtype == object else array), other
    if hasattr(other, "to_numpy") and hasattr(other, "__len__"):
        return other.to_numpy(), other
    if hasattr(other, "htype"):
        return other[:], other
    if is_tensor(type(other)):
        other = array_of(other)
    return (other[()] if isinstance(other, np.ndarray) and not other.ndim else other), None


def _is_per_row(column: Column, values: object, other: object) -> bool:
    """Return whether `other` has one value per row."""
    if not isinstance(other, list | tuple | np.ndarray):
        return False
    if column.htype.sql == "json":  # a list may be a single JSON value
        return not isinstance(other, list)
    return _depth(other) > _depth_of_values(column.htype, values)


def _leaf(htype: Htype) -> Htype:
    """Return the type of the innermost items of nested lists."""
    while htype.item is not None:
        htype = htype.item
    return htype


def _depth_of_values(htype: Htype, values: Any) -> int:
    """Return the number of axes of a column's values. If all are null, the type decides."""
    if isinstance(values, np.ndarray):
        return values.ndim - 1
    depths = [_depth(value) for value in values if value is not None]
    return max(depths) if depths else _depth_of_type(htype)


def _depth_of_type(htype: Htype) -> int:
    """Return the number of axes of a type's values.

    >>> from deeplake_lite.htypes import Image, Sequence, Text
    >>> _depth_of_type(Sequence(Image())), _depth_of_type(Text())
    (4, 0)
    """
    match htype.layout:
        case Dense(shape=shape):
            return len(shape)
        case Ragged(ndim=ndim):
            return ndim
        case Nested(item=item):
            return 1 + _depth_of_type(item)


def _depth(value: Any) -> int:
    """Return the number of axes of a value, such as 2 for a list of lists. Strings have no axes.

    >>> _depth("ab"), _depth([[1], [2, 3]]), _depth(np.zeros((2, 3)))
    (0, 2, 2)
    """
    if isinstance(value, np.ndarray) and (value.dtype != object or not value.ndim):
        return value.ndim
    if isinstance(value, list | tuple | np.ndarray):
        return 1 + max((_depth(item) for item in value), default=0)
    return 0


def _to_column_form(column: Column, values: object, other: Any, *, unknown: bool) -> object:
    """Convert class names to numbers, or strings to times. Raises InvalidValueError."""
    classes = (column.htype.item or column.htype).classes
    if classes is not None:
        if not classes.takes_truth:
            elements = other.tolist() if isinstance(other, np.ndarray) else other
            _map_values(elements, bool | np.bool_, partial(_refuse_boolean, classes))
        return _map_values(other, str, lambda name: _number(classes, name, unknown=unknown))
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        dtype = values.dtype
        return _map_values(other, object, lambda value: read_time(value, dtype))
    return nearest(other, values.dtype) if isinstance(values, np.ndarray) else other


def _refuse_boolean(classes: ClassLabel, value: object) -> None:
    raise InvalidValueError(
        f"must be compared with the name or number of one of its {len(classes.names)} classes, but "
        f"{value} is a boolean. Pass the name or the number."
    )


def _number(classes: ClassLabel, name: str, *, unknown: bool) -> int:
    if unknown and name not in classes.names:
        return NO_CLASS
    return classes.index(name)


def _map_values(value: object, kind: type | UnionType, change: Callable[[Any], object]) -> object:
    """Apply `change` to all values of a Python type, also in nested lists."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "OUT" and value.ndim:
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_map_values(item, kind, change) for item in value]
    is_changed = isinstance(value, kind) and not isinstance(value, np.ndarray) and value is not None
    return change(value) if is_changed else value


# ---- comparing


def _equal_blocks(values: NDArray[Any], operand: _Operand) -> NDArray[np.bool_] | None:
    """Compare two arrays as a whole. Returns None if the operand is not an array of numbers."""
    other = _block(operand.value)
    if not isinstance(other, np.ndarray) or other.dtype.kind not in "biufcmM":
        return None
    if other.shape != (values.shape if operand.per_row else values.shape[1:]):
        return None
    if (other.dtype.kind in "mM" or values.dtype.kind in "mM") and (
        other.dtype.kind != values.dtype.kind
    ):
        return None
    axes = tuple(range(1, values.ndim))
    left, right = comparable(np.ma.getdata(values), np.ma.getdata(other))
    same = np.asarray(left == right).all(axis=axes)
    missing = _nulls(other) if operand.per_row else np.zeros(len(values), bool)
    nulls = _nulls(values)
    return np.asarray(np.where(nulls | missing, nulls & missing, same), bool)


def _block(value: object) -> Any:
    """Convert a list to an array with None masked, unless its items have different shapes."""
    if isinstance(value, list | tuple):
        missing = [item is None for item in value]
        if any(missing) and not all(missing):
            filler = value[missing.index(False)]  # with None, the array would have dtype object
            value = [filler if item is None else item for item in value]
        try:
            block = np.asarray(value)
            if block.dtype.kind == "f" and holds_large_integers(
                as_objects := np.array(value, object)
            ):
                block = as_objects  # floats would round the integers
        except ValueError:
            return value
        if not any(missing):
            return block
        per_row = np.reshape(missing, (-1, *[1] * (block.ndim - 1)))
        return np.ma.array(block, mask=np.broadcast_to(per_row, block.shape))
    return value if isinstance(value, np.ndarray) else np.asarray(value)


def _nulls(values: Any) -> NDArray[np.bool_]:
    """Return a mask of the nulls, (n,) bool."""
    if isinstance(values, np.ndarray):
        nulls = np.ma.getmaskarray(values).any(axis=tuple(range(1, values.ndim)))
        return np.asarray(nulls | np.isnat(values) if values.dtype.kind in "mM" else nulls, bool)
    return np.array([value is None for value in values], bool)


def _to_list(values: Any) -> list[Any]:
    """Return a list with one value per row, and None for nulls."""
    if isinstance(values, np.ndarray):
        pairs = zip(np.ma.getdata(values), _nulls(values), strict=True)
        return [None if null else value for value, null in pairs]
    return list(values)


def _canonical(value: object) -> str | None:
    """Return a string that only equal JSON values share, None for null, or "" for other values.

    >>> _canonical(1.0), _canonical(True), _canonical("1"), _canonical(None), _canonical({1})
    ('1', 'true', '"1"', None, '')
    """
    try:
        return None if value is None else canonical_json(value)
    except (TypeError, ValueError, RecursionError):
        return ""


def _are_same(a: object, b: object) -> bool:
    """Return whether two values are equal. Lists are equal if all their items are equal."""
    if a is None or b is None:
        return a is b
    if isinstance(a, list) and isinstance(b, list | tuple | np.ndarray):
        return len(a) == len(b) and all(map(_are_same, a, b))
    if isinstance(a, dict | str | bytes) or isinstance(b, dict | str | bytes):
        return bool(type(a) is type(b) and a == b) or (isinstance(a, str) and a == b)
    try:
        return bool(np.array_equal(*comparable(np.asarray(a), np.asarray(b))))
    except (TypeError, ValueError, ArithmeticError):
        return False
