"""What is around every function: nulls pass it by, warnings are kept back, errors say where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import LakeError, QueryTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.query.functions.base import Arg
    from deeplake_lite.query.functions.value_type import Type

REFUSALS = (ValueError, TypeError, IndexError, OverflowError)
"""What NumPy, and functions here, raise about values that do not fit."""


def refusal(text: str, error: Exception, found: Sequence[str]) -> QueryTypeError:
    """Build the error of a function that refuses values."""
    reason = str(error).strip().rstrip(".")
    return QueryTypeError(f"{text}: {reason}. Got {', '.join(found) or 'no argument'}.")


@dataclass(frozen=True)
class Guarded:
    """A function's `compute`, for values that may be null."""

    text: str
    """The call, as the query has it."""
    type: Type
    """Of the result."""
    compute: Callable[..., Any]
    """What takes values."""
    args: tuple[Arg, ...]
    """What it is bound to."""
    places: tuple[int, ...]
    """Where each argument's value is among those that come; constants have theirs."""
    sees_null: bool
    """Whether nulls are handed on."""
    is_users: bool = False
    """Whether it is a function of the user's, which takes values of any kind as they come."""

    def __call__(self, *given: Any, lead: int, auxiliary: Any = None) -> Any:
        """Compute one row (``lead=0``) or rows stacked along the first axis (``lead=1``).

        What is kept of the rows, `auxiliary`, is used where none of them is null.
        """
        if lead and all(arg.is_constant for arg in self.args):
            return self._of_constants(*given)
        values = tuple(
            arg.value if arg.is_constant else given[place]
            for arg, place in zip(self.args, self.places, strict=True)
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
        chosen = tuple(v if arg.is_constant else _without(v, nulls) for v, arg in rows)
        return self._spread(self._run(chosen, lead) if not nulls.all() else None, nulls)

    def _of_constants(self, *given: Any) -> Any:
        """Return the one result of constants, along a first axis of size 1."""
        found = self(*given, lead=0)
        if found is None:
            return self._spread(None, np.ones(1, bool))
        return np.asarray(found)[None] if self.type.is_number else [found]

    def _count(self, values: tuple[Any, ...]) -> int:
        """Return how many rows there are; constants have no axis of rows."""
        pairs = zip(values, self.args, strict=True)
        return next(len(value) for value, arg in pairs if not arg.is_constant)

    def _run(self, values: tuple[Any, ...], lead: int, auxiliary: Any = None) -> Any:
        if not lead and not self.is_users:
            values = tuple(map(_as_declared, values, self.args))
        try:
            with np.errstate(all="ignore"):
                if auxiliary is not None:
                    return self.compute(*values, lead=lead, auxiliary=auxiliary)
                return self.compute(*values, lead=lead)
        except LakeError:
            raise
        except REFUSALS as error:
            pairs = zip(values, self.args, strict=True)
            found = [f"{arg.type.dtype} {np.shape(v)}" for v, arg in pairs]
            raise refusal(self.text, error, found) from error

    def _spread(self, result: Any, nulls: NDArray[np.bool_]) -> Any:
        """Return a result for all rows, of one for those that are not null."""
        if result is None:
            shape = tuple(n or 0 for n in self.type.shape or ())
            return all_null(len(nulls), shape, self.type.dtype if self.type.is_number else "object")
        if isinstance(result, list) or 0 in result.shape[1:]:
            found = iter(result)
            return [None if null else next(found) for null in nulls]
        whole = np.ma.masked_all((len(nulls), *result.shape[1:]), result.dtype)
        whole[~nulls] = result
        return whole


def _may_have_null(values: Any) -> bool:
    return isinstance(values, np.ma.MaskedArray | list) or values.dtype == object


def all_null(count: int, shape: tuple[int, ...], dtype: str) -> Any:
    """Return rows that are null: a masked array, or a list where rows have no elements to mask.

    >>> all_null(2, (3, 0), "float32")
    [None, None]
    """
    return [None] * count if 0 in shape else np.ma.masked_all((count, *shape), dtype)


def null_rows(values: Any) -> NDArray[np.bool_]:
    """Tell which rows are null: None in a list, those with a masked element in an array."""
    if isinstance(values, list) or (values.dtype == object and values.ndim == 1):
        return np.array([value is None for value in values], bool)
    mask = np.ma.getmaskarray(values)
    return np.asarray(mask.any(axis=tuple(range(1, mask.ndim))))


def _without(values: Any, nulls: NDArray[np.bool_]) -> Any:
    """Return the rows that are not null."""
    if isinstance(values, list):
        return [value for value, null in zip(values, nulls, strict=True) if not null]
    return values[~nulls]


def _as_declared(value: Any, arg: Arg) -> Any:
    """Give a number or list of a row its dtype; anything else is left."""
    if arg.is_constant or value is None or not arg.type.is_number or hasattr(value, "dtype"):
        return value
    return listed(value, arg.type)


def listed(value: Any, type_: Type) -> NDArray[Any] | None:
    """Return numbers that DuckDB gives. Raises QueryTypeError for what holds anything else."""
    if value is None:
        return None
    if _has_none(value):  # which NumPy takes for NaN
        raise QueryTypeError(
            f"{type_} takes numbers without null, but there is {brief(value, 80)}. Leave nulls "
            "out, as LIST(x) FILTER (WHERE x IS NOT NULL) does, or put a number in their place: "
            "COALESCE(x, 0)."
        )
    try:
        array = np.asarray(value, type_.dtype)
    except (TypeError, ValueError) as error:
        raise QueryTypeError(
            f"{type_} takes numbers without null, but there is {brief(value, 80)}. CAST it, or "
            "compare HASH(x) with HASH(y)."
        ) from error
    if array.dtype.kind == "f" and _loses_digits(np.asarray(value)):
        raise QueryTypeError(
            f"{type_} does not hold integers beyond 2**53 exactly, but there is "
            f"{brief(value, 80)}. "
            "CAST the items: CAST(x AS BIGINT)."
        )
    return array


def _has_none(value: Any) -> bool:
    """Tell whether None is among the items of a list, or theirs.

    >>> _has_none([1, None]), _has_none([[1], [None]]), _has_none([[1], []])
    (True, True, False)
    """
    if not isinstance(value, list) or not value:
        return False
    return None in value or (isinstance(value[0], list) and any(map(_has_none, value)))


def _loses_digits(values: NDArray[Any]) -> bool:
    """Tell whether integers change when they become float64."""
    return values.dtype.kind in "iu" and bool(
        any(int(float(value)) != value for value in values[np.abs(values) > 2**53].tolist())
    )
