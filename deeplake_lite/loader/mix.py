"""Mixes of several views that are loaded together, each with a share of the rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.checks import integer
from deeplake_lite.dataset.loading import Loadable
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import OptionError
from deeplake_lite.loader.order.proportions import quotas
from deeplake_lite.loader.read.mix_samples import MixSamples, common_columns
from deeplake_lite.loader.read.samples import Samples, ViewSamples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.dataset.keywords import LoaderOptions

type Weighted = Mapping[View, float] | Sequence[tuple[View, float]]


class Mix(Loadable):
    """Several weighted views that are loaded like one view, created by `mix`.

    The option ``shuffle`` applies to the rows within each view; the views are always mixed. If the
    option ``columns`` includes ``"_source"``, batches have a column with the number of each row's
    view. A loader raises ColumnNotFoundError for a column that some view does not have, and
    OptionError for a column whose types in the views are incompatible.

    Attributes
    ----------
    views : tuple of View
        The views, in the order in which they were passed.
    weights : tuple of float
        Share of each view. The shares add up to 1.
    seed : int
        Default seed of the loaders.
    length : int
        Number of rows in an epoch.
    """

    def __init__(
        self, views: Sequence[View], weights: Sequence[Fraction], seed: int, length: int
    ) -> None:
        self.views, self._shares = tuple(views), tuple(weights)
        self.seed, self.length = seed, length

    @property
    def weights(self) -> tuple[float, ...]:
        """Share of each view. The shares add up to 1."""
        return tuple(map(float, self._shares))

    def __len__(self) -> int:
        return self.length

    def __repr__(self) -> str:
        pairs = zip(self.views, self.weights, strict=True)
        shares = [f"  {w:>6.1%}  {len(v):,} rows of {v.url} · {v.origin}" for v, w in pairs]
        return "\n".join([f"Mix · {self.length:,} rows per epoch, seed {self.seed}", *shares])

    def samples(self, columns: Sequence[str] | None, *, with_ids: bool = False) -> MixSamples:
        """Return the rows of one view after the other, pinned to the views' current versions.

        Raises the same errors as `batches`.
        """
        names = common_columns(self.views) if columns is None else tuple(columns)
        return MixSamples.of(self.views, names, self._shares, self.length, with_ids=with_ids)

    def _with_defaults(self, options: LoaderOptions) -> LoaderOptions:
        return {"seed": self.seed, **options}


def mix(views: Weighted, *, seed: int = 0, length: int | None = None) -> Mix:
    """Mix several views, each with a fixed share of the rows of every epoch.

    The shares are exact: of every 65,536 rows, and of the remaining rows at the end of an epoch,
    each view provides its share, rounded to whole rows. Each view has its own epochs: all rows of
    the view are used once before any of them is used again, and an epoch of the mix continues where
    the previous epoch of the mix stopped. In all other respects, a mix is loaded like a single
    view: it resumes exactly, can be split among ranks, and its order depends only on the seed and
    the epoch.

    Parameters
    ----------
    views : mapping or sequence of (View, float)
        Weight of each view. A view's share is its weight divided by the sum of all weights.
    seed : int
        Default seed of loaders, on which the order of the rows depends.
    length : int, optional
        Number of rows in an epoch. By default, the total number of rows of all views.

    Returns
    -------
    Mix
        An object with the methods ``batches``, ``pytorch``, ``tensorflow`` and ``jax`` of a view.

    Raises
    ------
    OptionError
        When there are no views, a view has no rows, a weight is not positive, or the epoch is too
        short to include a row of every view.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://mix-doc", {"x": "int32"})
    >>> ds.append({"x": range(100)})
    >>> both = dl.mix({ds[:10]: 0.75, ds[10:]: 0.25}, seed=1, length=16)
    >>> for batch in both.batches(8, shuffle=True, columns=["x", "_source"]):
    ...     print(batch["x"], batch["_source"])
    [95  2  3  1  6  7 80  8] [1 0 0 0 0 0 1 0]
    [ 0  5  9 29  4  5 30  8] [0 0 0 1 0 0 1 0]
    """
    pairs = _as_pairs(views)
    fractions = [_as_fraction(weight) for _, weight in pairs]
    weights = [weight / sum(fractions) for weight in fractions]
    for number, (view, _) in enumerate(pairs):
        if not len(view):
            raise OptionError(
                f"Every view of a mix must have rows, but view {number} (counted from 0) has none. "
                "Leave that view out."
            )
    rows = sum(len(view) for view, _ in pairs)
    rows = rows if length is None else integer("length", length, 1)
    _check_length(rows, weights)
    return Mix([view for view, _ in pairs], weights, integer("seed", seed), rows)


def _as_pairs(views: Any) -> list[tuple[View, float]]:
    """Return a list of (view, weight). Raises OptionError if the argument has another form."""
    pairs = views.items() if isinstance(views, Mapping) else views
    pairs = list(pairs) if np.iterable(pairs) and not isinstance(pairs, View) else [views]
    if not pairs:
        raise OptionError(
            "A mix needs at least one view, but none was passed. Pass views with weights, such as "
            "dl.mix({a: 0.7, b: 0.3})."
        )
    for pair in pairs:
        view = pair[0] if isinstance(pair, tuple | list) and len(pair) == 2 else None
        if not isinstance(view, View):
            raise OptionError(
                "A mix needs views with weights, such as dl.mix({a: 0.7, b: 0.3}) or "
                f"dl.mix([(a, 0.7), (b, 0.3)]), but {_describe(pair)} is not a view with a weight. "
                "For equal shares, give each view the weight 1."
            )
    return [(view, weight) for view, weight in pairs]


def _describe(value: object) -> str:
    """Describe a value in an error message. Views, whose repr is long, are described by type."""
    if isinstance(value, View):
        return f"a {type(value).__name__} alone"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_describe, value))})"
    return f"{brief(value)}"


def samples_of(
    source: View | Mix, columns: Sequence[str] | None, *, with_ids: bool = False
) -> Samples:
    """Return the rows of a view or a mix, pinned to the current version.

    Raises ColumnNotFoundError if a column does not exist.
    """
    if isinstance(source, Mix):
        return source.samples(columns, with_ids=with_ids)
    return ViewSamples.of(source, columns, with_ids=with_ids)


def _as_fraction(weight: Any) -> Fraction:
    """Return a weight as the fraction that its decimal digits denote, so that 0.7 becomes 7/10.

    Raises OptionError if the weight is not a positive number.
    """
    number = isinstance(weight, Real) and not isinstance(weight, bool)
    if not number or not (math.isfinite(weight) and weight > 0):
        raise OptionError(
            f"The weights of a mix must be positive numbers, but one of them is {weight!r}. Pass "
            "a positive number, or leave that view out."
        )
    return weight if isinstance(weight, Fraction) else Fraction(str(float(weight)))


def _check_length(length: int, weights: Sequence[Fraction]) -> None:
    """Raise OptionError if an epoch is too short to include a row of every view."""
    for number, share in enumerate(quotas(weights, length)):
        if not share:
            least = math.ceil(1 / weights[number])
            raise OptionError(
                "Every view of a mix must contribute at least one row to each epoch, but with "
                f"length={length}, view {number} (counted from 0) contributes none. Set "
                f"length={least} or more."
            )
