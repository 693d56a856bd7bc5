"""Checks that every tensor function must pass, for both representations of values."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.query.functions import REGISTRY, Arg, Bound, Type

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Const:
    """An argument that is the same for all rows."""

    value: Any


@dataclass(frozen=True)
class Case:
    """A call and its expected result."""

    name: str
    values: Sequence[Any]
    types: Sequence[Type | None]
    expected: Any
    options: dict[str, Any] = field(default_factory=dict)
    type: Type | None = None


def bind(name: str, values: Sequence[Any], types: Sequence[Type | None], **options: Any) -> Bound:
    """Bind a function to columns ``a``, ``b``… and constants."""
    args = [
        Arg.constant(value.value) if isinstance(value, Const) else Arg("abcdef"[i], types[i])
        for i, value in enumerate(values)
    ]
    return REGISTRY[name].bind(*args, **options)


def check_function(
    name: str,
    values: Sequence[Any],
    types: Sequence[Type | None],
    expected: Any,
    options: dict[str, Any] | None = None,
    type: Type | None = None,
) -> Bound:
    """Check a function row by row and stacked, against an oracle and against its own type.

    Parameters
    ----------
    values : sequence
        Per argument, a list with a value per row, or a `Const`.
    types : sequence of Type
        Of the arguments; None for constants.
    expected : list or callable
        Results per row, or a function that computes one from the values of a row.
    options : dict, optional
        Such as ``axis``.
    type : Type, optional
        Required result type, if not every type that holds the results is acceptable.
    """
    bound = bind(name, values, types, **(options or {}))
    if type is not None:
        assert bound.type == type, f"{name} says {bound.type}, not {type}"
    varies = [not isinstance(v, Const) for v in values]
    count = len(next(v for v in values if not isinstance(v, Const)))
    rows = [[v[i] if isinstance(v, list) else v.value for v in values] for i in range(count)]
    if callable(expected):
        with np.errstate(all="ignore"):
            expected = [expected(*row) for row in rows]
    for row, wanted in zip(rows, expected, strict=True):
        given = [v if varied else "not looked at" for v, varied in zip(row, varies, strict=True)]
        _same(name, bound.compute(*given, lead=0), wanted, bound.type)
        if not bound.sees_null:
            assert bound.compute(*[None] * len(given), lead=0) is None
    if bound.stacks:
        _check_stacked(
            name,
            bound,
            rows,
            [t if v else None for t, v in zip(types, varies, strict=True)],
            expected,
        )
    return bound


def _check_stacked(name, bound, rows, types, expected) -> None:
    groups: dict[Any, list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        groups[tuple(np.shape(v) for v in row)].append(i)
    for members in groups.values():
        stacked = [
            "not looked at" if t is None else _stack([rows[i][a] for i in members], t.dtype)
            for a, t in enumerate(types)
        ]
        wanted = [expected[i] for i in members]
        _all_same(name, bound.compute(*stacked, lead=1), wanted, bound.type)
        if not bound.sees_null and all(np.size(v) for v in stacked):
            _check_nulls(name, bound, stacked, wanted)


def _stack(values, dtype):
    """Return rows as one array, masked where some are null."""
    nulls = [v is None for v in values]
    array = np.stack(
        [np.asarray(0 if null else v, dtype) for v, null in zip(values, nulls, strict=True)]
    )
    return np.ma.masked_array(array, nulls) if any(nulls) else array


def _check_nulls(name, bound, stacked, wanted) -> None:
    """Prepend a null row, then test null rows only."""
    masked = [
        v if isinstance(v, str) else np.ma.masked_array(np.concatenate([v[:1], v])) for v in stacked
    ]
    first = next(v for v in masked if not isinstance(v, str))
    first[0] = np.ma.masked
    _all_same(name, bound.compute(*masked, lead=1), [None, *wanted], bound.type)
    first[:] = np.ma.masked
    results = bound.compute(*masked, lead=1)
    assert len(results) == len(first)
    assert [_or_none(result) for result in results] == [None] * len(first)


def _all_same(name, results, wanted, type_) -> None:
    assert len(results) == len(wanted)
    for result, row in zip(results, wanted, strict=True):
        _same(name, _or_none(result), row, type_)


def _or_none(result: Any) -> Any:
    if result is np.ma.masked:
        return None
    if isinstance(result, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(result)
        if mask.any():
            assert mask.all()
            return None
        return result.data
    return result


def _same(name: str, got: Any, wanted: Any, type_: Type) -> None:
    if wanted is None:
        assert got is None, f"{name} gives {got!r}, not null"
        return
    assert got is not None, f"{name} gives null, not {wanted!r}"
    if type_.dtype in ("str", "object"):
        assert got == wanted, f"{name} gives {got!r}, not {wanted!r}"
        return
    assert type_.admits(got.dtype.name, got.shape), (
        f"{name} gives {got.dtype} {got.shape} and says {type_}"
    )
    wanted = np.asarray(wanted)
    assert got.shape == wanted.shape, f"{name} gives {got.shape}, not {wanted.shape}"
    loose = 1e-5 if got.dtype in (np.float32, np.float16) else 1e-12
    np.testing.assert_allclose(
        np.asarray(got, np.float64), np.asarray(wanted, np.float64), rtol=loose, atol=loose
    )
