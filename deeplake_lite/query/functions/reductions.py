"""Many numbers to fewer: sums, extremes, moments, along an axis or over all of a row's value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.query.functions.base import Arg, Bound, axes, function, numbers, result_of

if TYPE_CHECKING:
    from collections.abc import Callable


def _reduction(name: str, summary: str, reduce: Callable[..., Any], *aliases: str) -> None:
    """Register a reduction that NumPy has, with ``axis``."""

    def bind(x: Arg, axis: int | tuple[int, ...] | None = None) -> Bound:
        numbers(name, x)

        def compute(value: Any, *, lead: int) -> Any:
            return reduce(value, axis=axes(value.ndim, axis, lead))

        return Bound(result_of(compute, x.type), compute)

    bind.__doc__ = summary
    function(f"{name}(x, axis=None)", group="Reductions", aliases=aliases)(bind)


_reduction("ASUM", "Sum of the elements.", np.sum)
