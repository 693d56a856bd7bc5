"""A wrapper around the Python function that computes a tensor function.

The wrapper handles nulls, suppresses NumPy's warnings, and turns errors into QueryTypeErrors that
show the call and the types of its arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import LakeError, QueryTypeError
from deeplake_lite.query.functions.truths import has_null_items, split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deeplake_lite.query.functions.base import Arg, Compute
    from deeplake_lite.query.functions.value_type import Block, Type

REFUSALS = (ValueError, TypeError, IndexError, OverflowError)
"""The errors by which NumPy and the functions of this package reject values."""


def refusal(text: str, error: Exception, types: Sequence[str]) -> QueryTypeError:
    """Return the error for a call whose arguments a function rejects.

    Parameters
    ----------
    text : str
        The call as written in the query.
    error : Exception
        The error that the function raised.
    types : sequence of str
        The types of the arguments.
    """
    reason = str(error).strip().rstrip(".")
    return QueryTypeError(f"{text}: {reason}. The arguments are {', '.join(types) or 'missing'}.")


@dataclass(frozen=True)
class Guarded:
    """The `Bound.compute` of a function, wrapped so that arguments may be null."""

    text: str
    """The call as written in the query."""
    type: Type
    """Type of the result."""
    compute: Compute
    """The wrapped function, which receives no nulls unless `sees_null` is set."""
    args: tuple[Arg, ...]
    """The arguments to which the function is bound."""
    positions: tuple[int, ...]
    """For each argument in `args`, the position of its value among the values that are passed to
    this object. The values of constants are taken from `args` instead."""
    sees_null: bool
    """Whether nulls are passed to the function."""
    null_items: bool = False
    """Whether arrays of booleans that contain nulls are passed to the function."""
    is_users: bool = False
    """Whether the user has registered the function. Such a function gets values without
    conversion."""

    def __call__(self, *inputs: Any, lead: int, auxiliary: object = None) -> object:
        """Return the result for one row (``lead=0``), or for many stacked rows (``lead=1``).

        `auxiliary` is passed to the function only if no row is null.
        """
        if lead and all(arg.is_constant for arg in self.args):
            return self._compute_constants(*inputs)
        values = tuple(
            arg.value if arg.is_constant else inputs[position]
            for arg, position in zip(self.args, self.positions, strict=True)
        )
        if self.sees_null:
            return self._run(values, lead)
        if any(value is None or value is np.ma.masked for value in values):
            return self._spread(None, np.ones(self._count(values), bool)) if lead else None
        if not lead:
            return self._run(values, lead)
        masks = [
            null_rows(v)
            for v, arg in zip(values, self.args, strict=True)
            if not arg.is_constant and _may_have_null(v)
        ]
        values = tuple(np.ma.getdata(v) if isinstance(v, np.ma.MaskedArray) else v for v in values)
        nulls = np.logical_or.reduce(masks) if masks else None
        if nulls is None or not nulls.any():
            return self._run(values, lead, auxiliary)
        rows = zip(values, self.args, strict=True)
        present = tuple(v if arg.is_constant else _drop_rows(v, nulls) for v, arg in rows)
        return self._spread(self._run(present, lead) if not nulls.all() else None, nulls)

    def _compute_constants(self, *inputs: object) -> Block:
        """Return the result for constant arguments, with a first axis of size 1."""
        result = self(*inputs, lead=0)
        if result is None:
            return self._spread(None, np.ones(1, bool))
        return np.asarray(result)[None] if self.type.is_number else [result]

    def _count(self, values: tuple[Any, ...]) -> int:
        """Return the number of stacked rows: the length of any argument that is not constant."""
        pairs = zip(values, self.args, strict=True)
        return next(len(value) for value, arg in pairs if not arg.is_constant)

    def _run(self, values: tuple[Any, ...], lead: int, auxiliary: object = None) -> Any:
        if not lead and not self.is_users:
            values = tuple(map(_as_declared, values, self.args))
            if not self.null_items:
                _check_items(self.text, values, self.args)
        try:
            with np.errstate(all="ignore"):
                if auxiliary is not None:
                    return self.compute(*values, lead=lead, auxiliary=auxiliary)
                return self.compute(*values, lead=lead)
        except LakeError:
            raise
        except REFUSALS as error:
            if lead and not self.is_users and self._count(values):
                # Run the first row alone: its error shows the shape of one value, not of all rows.
                self._run(self._first(values), lead=0)
            types = [
                f"{arg.type.dtype} {np.shape(v)[0 if arg.is_constant else lead :]}"
                for v, arg in zip(values, self.args, strict=True)
            ]
            raise refusal(self.text, error, types) from error

    def _first(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the values of the first row."""
        pairs = zip(values, self.args, strict=True)
        return tuple(value if arg.is_constant else value[0] for value, arg in pairs)

    def _spread(self, result: Block | None, nulls: NDArray[np.bool_]) -> Block:
        """Return the result for all rows, given the result for the rows that are not null.

        `result` is None if all rows are null. `nulls` is a mask of the null rows.
        """
        if result is None:
            shape = tuple(n or 0 for n in self.type.shape or ())
            return all_null(len(nulls), shape, self.type.dtype if self.type.is_number else "object")
        if isinstance(result, list) or 0 in result.shape[1:]:
            values = iter(result)
            return [None if null else next(values) for null in nulls]
        whole = np.ma.masked_all((len(nulls), *result.shape[1:]), result.dtype)
        whole[~nulls] = result
        return whole


def _may_have_null(values: Block) -> bool:
    return isinstance(values, np.ma.MaskedArray | list) or values.dtype == object


def all_null(count: int, shape: tuple[int, ...], dtype: str) -> Block:
    """Return `count` null rows: an array of masked rows, or a list of None if rows are empty.

    >>> all_null(2, (3, 0), "float32")
    [None, None]
    """
    return [None] * count if 0 in shape else np.ma.masked_all((count, *shape), dtype)


def null_rows(values: Block) -> NDArray[np.bool_]:
    """Return a mask that is true for each null row of stacked values.

    In a list or an array of objects, a null row is None. In other arrays, it has a masked element.
    """
    if isinstance(values, list) or (values.dtype == object and values.ndim == 1):
        return np.array([value is None for value in values], bool)
    mask = np.ma.getmaskarray(values)
    return np.asarray(mask.any(axis=tuple(range(1, mask.ndim))))


def _drop_rows(values: Block, nulls: NDArray[np.bool_]) -> Block:
    """Return the rows of stacked values that are not null."""
    if isinstance(values, list):
        return [value for value, null in zip(values, nulls, strict=True) if not null]
    return values[~nulls]


def _as_declared(value: object, arg: Arg) -> object:
    """Return a number or list as an array with the dtype of the argument's type.

    Other values are returned unchanged.
    """
    if arg.type.dtype == "bool" and has_null_items(value):
        truths, nulls = split(value)  # an index may have removed all null items
        return value if np.any(nulls) else truths
    if arg.is_constant or value is None or not arg.type.is_number or hasattr(value, "dtype"):
        return value
    return list_to_array(value, arg.type)


def _check_items(text: str, values: Sequence[object], args: Sequence[Arg]) -> None:
    """Raise QueryTypeError if a value is an array of booleans that contains nulls."""
    for value, arg in zip(values, args, strict=True):
        if arg.type.dtype == "bool" and has_null_items(value):
            raise QueryTypeError(
                f"{text} takes booleans, but {arg.text} contains nulls, because an item is null. "
                f"Remove the nulls with an index: c[c OR NOT c], where c is {arg.text}."
            )


def list_to_array(value: object, type_: Type) -> NDArray[Any] | None:
    """Return a list from DuckDB as an array of numbers, or None for null.

    Raises
    ------
    QueryTypeError
        If the list contains nulls, non-numeric values, or integers that the dtype would round.
    """
    if value is None:
        return None
    if _has_none(value):  # NumPy would convert None to NaN
        raise QueryTypeError(
            f"A {type_} must not contain null, but it is {brief(value, 80)}. Exclude nulls "
            "with LIST(x) FILTER (WHERE x IS NOT NULL), or replace them with COALESCE(x, 0)."
        )
    try:
        array = np.asarray(value, type_.dtype)
    except (TypeError, ValueError) as error:
        raise QueryTypeError(
            f"A {type_} must consist of numbers, but it is {brief(value, 80)}. CAST the items, or "
            "compare HASH(x) with HASH(y)."
        ) from error
    if array.dtype.kind == "f" and _loses_digits(np.asarray(value)):
        raise QueryTypeError(
            f"A {type_} cannot represent integers beyond 2**53 exactly, but the value is "
            f"{brief(value, 80)}. CAST the items: CAST(x AS BIGINT)."
        )
    return array


def _has_none(value: object) -> bool:
    """Return whether a list, or a list nested in it, contains None.

    >>> _has_none([1, None]), _has_none([[1], [None]]), _has_none([[1], []])
    (True, True, False)
    """
    if not isinstance(value, list) or not value:
        return False
    return None in value or (isinstance(value[0], list) and any(map(_has_none, value)))


def _loses_digits(values: NDArray[Any]) -> bool:
    """Return whether integers change when they become float64."""
    return values.dtype.kind in "iu" and bool(
        any(int(float(value)) != value for value in values[np.abs(values) > 2**53].tolist())
    )
