"""How many rows have which value, or numbers in which range: one GROUP BY each.

Tags are counted off their bytes: a row has as many as it likes, and taking them apart in SQL takes
a hundred times as long.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.values import with_none
from deeplake_lite.htypes import ClassLabel
from deeplake_lite.query.names import unused
from deeplake_lite.storage import chunks
from deeplake_lite.widget.filters.bins import Bins

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field
    from deeplake_lite.widget.filters.facet import Facet

TAGGED_ROWS = 2**18
"""Rows whose tags are read at a time."""


def value_counts(view: View, facet: Facet) -> dict[Any, int]:
    """Return how many rows have which value; None is null.

    >>> import deeplake_lite as dl
    >>> from deeplake_lite.widget.filters.facet import facets_of
    >>> ds = dl.create("memory://value-counts-doc", {"label": dl.ClassLabel(["a", "b"])})
    >>> ds.append({"label": ["b", "a", "b"]})
    >>> sorted(value_counts(ds, next(facets_of(ds.schema["label"]))).items())
    [(0, 1), (1, 2)]
    """
    if not len(view):
        return {}
    e, f = facet.expression, view.schema[facet.column]
    if isinstance(f.htype, ClassLabel) and f.htype.multiple:
        return tag_counts(view, f)
    v, n = unused(view.columns, "v", "n")
    if facet.kind == "tags":
        text = f"SELECT {v}, COUNT(*) AS {n} FROM (SELECT UNNEST({e}) AS {v}) GROUP BY {v}"
    else:
        text = f"SELECT {e} AS {v}, COUNT(*) AS {n} GROUP BY {v}"
    found = view.query(text)
    values, counts = with_none(found[v][:]), found[n][:]
    return {_hashable(value): int(count) for value, count in zip(values, counts, strict=True)}


def how_many(view: View, facet: Facet) -> tuple[int, int]:
    """Return how many values are different, and how many null.

    >>> import deeplake_lite as dl
    >>> from deeplake_lite.widget.filters.facet import facets_of
    >>> ds = dl.create("memory://how-many-doc", {"note": dl.Text(nullable=True)})
    >>> ds.append({"note": ["a", "b", None, "a"]})
    >>> how_many(ds, next(facets_of(ds.schema["note"])))
    (2, 1)
    """
    if not len(view):
        return 0, 0
    e = facet.expression
    v, n = unused(view.columns, "v", "n")
    found = view.query(f"SELECT COUNT(DISTINCT {e}) AS {v}, COUNT({e}) AS {n}")
    return int(found[v][0]), len(view) - int(found[n][0])


def bins_of(view: View, facet: Facet) -> Bins | None:
    """Return ranges of equal width over a view's numbers; None where it has none."""
    if not len(view):
        return None
    e = number_of(facet)
    finite = f"CASE WHEN ABS({e}) <= 1e300 THEN {e} END"  # neither NaN nor infinite
    names = unused(view.columns, "low", "high")
    found = view.query(f"SELECT MIN({finite}) AS {names[0]}, MAX({finite}) AS {names[1]}")
    low, high = (with_none(found[name][:])[0] for name in names)
    if low is None or high is None:
        return None
    return Bins.over(float(low), float(high), whole=facet.whole, times=facet.kind == "times")


def bin_counts(view: View, facet: Facet, bins: Bins) -> list[int]:
    """Return how many rows are in each range, and last, how many in none: null, NaN, infinite."""
    counts = [0] * (bins.count + 1)
    if not len(view):
        return counts
    e = f"FLOOR(({number_of(facet)} - {bins.start!r}) / {bins.width!r})"
    b, n = unused(view.columns, "b", "n")
    found = view.query(f"SELECT {e} AS {b}, COUNT(*) AS {n} GROUP BY {b}")
    for bin_, count in zip(with_none(found[b][:]), found[n][:], strict=True):
        there = bin_ is not None and math.isfinite(bin_) and 0 <= bin_ < bins.count
        counts[int(bin_) if there else -1] += int(count)
    return counts


def number_of(facet: Facet) -> str:
    """Return a facet's expression as a number: seconds of a time.

    >>> from deeplake_lite.widget.filters.facet import Facet
    >>> number_of(Facet("t", "t", "times", "t"))
    'EPOCH(t)'
    """
    return f"EPOCH({facet.expression})" if facet.kind == "times" else facet.expression


def tag_counts(view: View, f: Field) -> dict[Any, int]:
    """Return how often each class number comes in a column of several per row; None is null.

    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://tag-counts-doc", {"t": dl.ClassLabel(["a", "b"], multiple=True)})
    >>> ds.append({"t": [["a"], [], ["b", "a"]]})
    >>> tag_counts(ds, ds.schema["t"])
    {0: 2, 1: 1}
    """
    found: dict[Any, int] = {}
    for span in chunks.spans(len(view), TAGGED_ROWS):
        table, slots = view._located(np.arange(span.start, span.stop))
        flat = table.flat(f.id, slots)
        numbers, counts = np.unique(flat.data.view(np.int32), return_counts=True)
        nulls = 0 if flat.valid is None else int((~flat.valid).sum())
        some = zip([*numbers.tolist(), None], [*counts.tolist(), nulls], strict=True)
        for number, n in some:
            if n:
                found[number] = found.get(number, 0) + n
    return found


def _hashable(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
