"""Several views that train together, each with its share."""

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
from deeplake_lite.loader.read.samples import Samples, ViewSamples
from deeplake_lite.loader.read.several import SeveralSamples, common_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.dataset.keywords import LoaderOptions

type Weighted = Mapping[View, float] | Sequence[tuple[View, float]]


class Mix(Loadable):
    """Several views with weights, to load like one; `mix` makes it.

    ``shuffle`` is how each view is shuffled; they are mixed in either case. Column ``"_source"``,
    if it is among ``columns``, is the number of the view that a row is of. A loader raises
    ColumnNotFoundError for a column that not all views have, and ValueError for one that means
    different things in them.

    Attributes
    ----------
    views : tuple of View
        In the order in which they were given.
    weights : tuple of float
        Share of each; they add up to 1.
    seed : int
        Of its loaders, unless they are given another.
    length : int
        Rows of an epoch.
    """

    def __init__(
        self, views: Sequence[View], weights: Sequence[Fraction], seed: int, length: int
    ) -> None:
        self.views, self._shares = tuple(views), tuple(weights)
        self.seed, self.length = seed, length

    @property
    def weights(self) -> tuple[float, ...]:
        """Share of each view; they add up to 1."""
        return tuple(map(float, self._shares))

    def __len__(self) -> int:
        return self.length

    def __repr__(self) -> str:
        pairs = zip(self.views, self.weights, strict=True)
        shares = [f"  {w:>6.1%}  {len(v):,} rows of {v.url} · {v.origin}" for v, w in pairs]
        return "\n".join([f"Mix · {self.length:,} rows an epoch, seed {self.seed}", *shares])

    def samples(self, columns: Sequence[str] | None, *, with_ids: bool = False) -> SeveralSamples:
        """Return the rows of the views end to end, as they are now. Raises as `batches`."""
        chosen = common_columns(self.views) if columns is None else tuple(columns)
        return SeveralSamples.of(self.views, chosen, self._shares, self.length, with_ids=with_ids)

    def _with_own(self, options: LoaderOptions) -> LoaderOptions:
        return {"seed": self.seed, **options}


def mix(views: Weighted, *, seed: int = 0, length: int | None = None) -> Mix:
    """Mix several views, each with its share of the rows of every epoch.

    Shares are exact: of every 65,536 rows, and of the rest of an epoch, each view gives its part to
    the row. A view goes through its own epochs: every row of it comes once before any comes twice,
    and the next epoch of the mix goes on where this one leaves it. All else is as for the loader of
    one view: exact resume, ranks, and an order that depends on the seed and the epoch alone.

    Parameters
    ----------
    views : mapping or sequence of (View, float)
        Weights by view; they are taken as shares of their sum.
    seed : int
        Of the order, unless a loader is given another.
    length : int, optional
        Rows of an epoch; if left out, as many as the views have together.

    Returns
    -------
    Mix
        With ``batches``, ``pytorch``, ``tensorflow`` and ``jax``, as a view has them.

    Raises
    ------
    OptionError
        For no views, one without rows, weights that are not positive, or an epoch too short for a
        weight.

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
    pairs = _pairs(views)
    given = [_weight(weight) for _, weight in pairs]
    weights = [weight / sum(given) for weight in given]
    for number, (view, _) in enumerate(pairs):
        if not len(view):
            raise OptionError(f"Views of a mix have rows, got none in view {number}. Leave it out.")
    rows = sum(len(view) for view, _ in pairs)
    rows = rows if length is None else integer("length", length, 1)
    _check_length(rows, weights)
    return Mix([view for view, _ in pairs], weights, integer("seed", seed), rows)


def _pairs(views: Any) -> list[tuple[View, float]]:
    """Return views with their weights, as they were given. Raises OptionError."""
    given = views.items() if isinstance(views, Mapping) else views
    given = list(given) if np.iterable(given) and not isinstance(given, View) else [views]
    if not given:
        raise OptionError("A mix takes one view or more, got none.")
    for pair in given:
        view = pair[0] if isinstance(pair, tuple | list) and len(pair) == 2 else None
        if not isinstance(view, View):
            raise OptionError(
                "A mix takes views with their weights, dl.mix({a: 0.7, b: 0.3}) or "
                f"dl.mix([(a, 0.7), (b, 0.3)]), got {_named(pair)} in place of a view and its "
                "weight. For equal shares, give each the weight 1."
            )
    return [(view, weight) for view, weight in given]


def _named(value: Any) -> str:
    """Say what was given: views by their type, the rest as it is."""
    if isinstance(value, View):
        return f"a {type(value).__name__} alone"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_named, value))})"
    return f"{brief(value)}"


def samples_of(
    source: View | Mix, columns: Sequence[str] | None, *, with_ids: bool = False
) -> Samples:
    """Return the rows of a view or a mix, pinned as they are now. Raises ColumnNotFoundError."""
    if isinstance(source, Mix):
        return source.samples(columns, with_ids=with_ids)
    return ViewSamples.of(source, columns, with_ids=with_ids)


def _weight(weight: Any) -> Fraction:
    """Return a weight as the number that was written: 0.7 is seven tenths."""
    number = isinstance(weight, Real) and not isinstance(weight, bool)
    if not number or not (math.isfinite(weight) and weight > 0):
        raise OptionError(f"Weights of a mix are positive numbers, got {weight!r}. Leave it out.")
    return weight if isinstance(weight, Fraction) else Fraction(str(float(weight)))


def _check_length(length: int, weights: Sequence[Fraction]) -> None:
    """Refuse epochs in which some view would have no place. Raises OptionError."""
    for number, share in enumerate(quotas(weights, length)):
        if not share:
            least = math.ceil(1 / weights[number])
            raise OptionError(
                f"Every view has a row in each epoch, and {length} rows give view {number} none. "
                f"Set length={least}, or more."
            )
