"""Counts of rows by value or range, each with one GROUP BY query.

Tags are not counted in SQL but in their stored bytes, because unnesting them in SQL takes a hundred
times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.values import with_none
from deeplake_lite.query.parse.names import literal, unused
from deeplake_lite.storage import chunks
from deeplake_lite.widget.filters.bins import edges_of_integers, edges_of_numbers, edges_of_times

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field
    from deeplake_lite.widget.filters.bins import Edge
    from deeplake_lite.widget.filters.facet import Facet

TAGGED_ROWS = 2**18
"""Number of rows whose tags are read at a time."""


def value_counts(view: View, facet: Facet) -> dict[Hashable, int]:
    """Return a dict that maps each value to its number of rows. The key None stands for null.

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
    if f.htype.classes is not None and f.htype.item is not None and f.htype.is_plain:
        return tag_counts(view, f)
    v, n = unused(view.columns, "v", "n")
    if facet.kind == "tags":
        return _item_counts(view, facet)
    groups = view.query(f"SELECT {e} AS {v}, COUNT(*) AS {n} GROUP BY {v}")
    values, counts = with_none(groups[v][:]), groups[n][:]
    return {_hashable(value): int(count) for value, count in zip(values, counts, strict=True)}


def _item_counts(view: View, facet: Facet) -> dict[Hashable, int]:
    """Return a dict that maps each list item to its number of rows. None stands for null lists."""
    e, (r, v, n) = facet.expression, unused(view.columns, "r", "v", "n")
    rows = f"SELECT ROW_NUMBER() OVER () AS {r}, UNNEST({e}) AS {v}"
    groups = view.query(
        f"SELECT {v}, COUNT(DISTINCT {r}) AS {n} FROM ({rows}) WHERE {v} IS NOT NULL GROUP BY {v}"
    )
    values = map(_hashable, groups[v][:])
    counts: dict[Hashable, int] = dict(zip(values, groups[n][:].tolist(), strict=True))
    nulls = int(view.query(f"SELECT COUNT(*) AS {n} WHERE {e} IS NULL")[n][0])
    return counts | ({None: nulls} if nulls else {})


def distinct_and_nulls(view: View, facet: Facet) -> tuple[int, int]:
    """Return the number of distinct values and the number of nulls.

    >>> import deeplake_lite as dl
    >>> from deeplake_lite.widget.filters.facet import facets_of
    >>> ds = dl.create("memory://distinct-doc", {"note": dl.Text(nullable=True)})
    >>> ds.append({"note": ["a", "b", None, "a"]})
    >>> distinct_and_nulls(ds, next(facets_of(ds.schema["note"])))
    (2, 1)
    """
    if not len(view):
        return 0, 0
    e = facet.expression
    v, n = unused(view.columns, "v", "n")
    counts = view.query(f"SELECT COUNT(DISTINCT {e}) AS {v}, COUNT({e}) AS {n}")
    return int(counts[v][0]), len(view) - int(counts[n][0])


TIMES = ("-200000-01-01", "200000-01-01")
"""Range of times that JavaScript can represent."""


def extremes(view: View, facet: Facet) -> tuple[object, object] | None:
    """Return the smallest and largest value that a histogram can show, or None if none can."""
    if not len(view):
        return None
    finite = e = facet.expression
    if facet.kind == "numbers" and not facet.whole:
        finite = f"CASE WHEN {e} BETWEEN -1e300 AND 1e300 THEN {e} END"
    elif facet.kind == "times" and _exceeds_page(view.schema[facet.column]):
        first, last = map(literal, TIMES)
        finite = f"CASE WHEN {e} BETWEEN {first} AND {last} THEN {e} END"
    names = unused(view.columns, "low", "high")
    ends = view.query(f"SELECT MIN({finite}) AS {names[0]}, MAX({finite}) AS {names[1]}")
    low, high = (with_none(ends[name][:])[0] for name in names)
    return None if low is None or high is None else (low, high)


def _exceeds_page(f: Field) -> bool:
    """Return whether a column may have times outside `TIMES`, as all units but nanoseconds may."""
    return np.datetime_data(np.dtype(f.htype.value_dtype))[0] != "ns"


def edges_of(facet: Facet, low: Any, high: Any) -> Sequence[Edge]:
    """Return the edges of bins of equal width that cover a facet's values from low to high."""
    if facet.kind == "times":
        return edges_of_times(np.datetime64(low), np.datetime64(high))
    if facet.whole:
        return edges_of_integers(int(low), int(high))
    return edges_of_numbers(float(low), float(high))


def range_counts(view: View, facet: Facet, edges: Sequence[Edge]) -> list[int]:
    """Return the number of rows in each bin, followed by the number of rows in no bin."""
    counts = [0] * max(1, len(edges))
    if not edges:
        return [len(view)]
    if not len(view):
        return counts
    r, n = unused(view.columns, "r", "n")
    bins = bin_expression(facet.expression, edges)
    groups = view.query(f"SELECT {bins} AS {r}, COUNT(*) AS {n} GROUP BY {r}")
    for number, count in zip(with_none(groups[r][:]), groups[n][:], strict=True):
        counts[-1 if number is None else number] += int(count)
    return counts


def outside_counts(view: View, facet: Facet, count: int) -> list[tuple[int, str]]:
    """Return the reasons why rows are outside all bins, each as (number of rows, reason).

    Parameters
    ----------
    view : View
        The rows to count.
    facet : Facet
        A facet of numbers or times.
    count : int
        Number of rows outside all bins.

    >>> import deeplake_lite as dl
    >>> from deeplake_lite.widget.filters.facet import facets_of
    >>> ds = dl.create("memory://outside-counts-doc", {"x": dl.Scalar("float64", nullable=True)})
    >>> ds.append({"x": [1.5, None, float("nan"), float("inf"), 1e305]})
    >>> outside_counts(ds, next(facets_of(ds.schema["x"])), 4)
    [(1, 'null'), (2, 'NaN or infinite'), (1, 'beyond ±1e300')]
    """
    if not count:
        return []
    e = facet.expression
    names = unused(view.columns, "valid", "finite")
    is_real = facet.kind == "numbers" and not facet.whole
    finite = f"CASE WHEN ISFINITE({e}) THEN 1 END" if is_real else e
    counts = view.query(f"SELECT COUNT({e}) AS {names[0]}, COUNT({finite}) AS {names[1]}")
    valid, numbers = (int(counts[name][0]) for name in names)
    beyond = "beyond ±1e300" if is_real else "beyond the years ±200,000"
    reasons = [
        (len(view) - valid, "null"),
        (valid - numbers, "NaN or infinite"),
        (numbers - (len(view) - count), beyond),
    ]
    return [reason for reason in reasons if reason[0]]


def bin_expression(expression: str, edges: Sequence[Edge]) -> str:
    """Return a query expression for a row's bin number, which is null outside all bins.

    The expression compares values with the edges in the same way as the filter for a bin.

    >>> bin_expression("x", [0, 5, 10])
    'CASE WHEN x < 0 THEN NULL WHEN x < 5 THEN 0 WHEN x < 10 THEN 1 END'
    """
    numbers = ["NULL", *map(str, range(len(edges) - 1))]
    cases = [
        f"WHEN {expression} < {literal(edge)} THEN {number}"
        for edge, number in zip(edges, numbers, strict=True)
    ]
    return f"CASE {' '.join(cases)} END"


def tag_counts(view: View, f: Field) -> dict[Hashable, int]:
    """Count the rows of each class in a column with several classes per row.

    Returns a dict that maps class numbers to numbers of rows.

    The key None stands for null.

    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://tag-counts-doc", {"t": dl.ClassLabel(["a", "b"], multiple=True)})
    >>> ds.append({"t": [["a"], [], ["b", "a"]]})
    >>> tag_counts(ds, ds.schema["t"])
    {0: 2, 1: 1}
    """
    totals: dict[Hashable, int] = {}
    dtype = np.dtype(f.htype.value_dtype)
    for span in chunks.spans(len(view), TAGGED_ROWS):
        table, slots = view.rows.locate(np.arange(span.start, span.stop))
        flat = table.flat(f.id, slots)
        rows = np.repeat(np.arange(len(flat.lengths)), flat.lengths // dtype.itemsize)
        pairs = np.stack([flat.data.view(dtype), rows], axis=1)  # a row may have a class twice
        numbers, counts = np.unique(np.unique(pairs, axis=0)[:, 0], return_counts=True)
        nulls = 0 if flat.valid is None else int((~flat.valid).sum())
        for number, n in zip([*numbers.tolist(), None], [*counts.tolist(), nulls], strict=True):
            if n:
                totals[number] = totals.get(number, 0) + n
    return totals


def _hashable(value: Any) -> Hashable:
    hashable: Hashable = value.item() if isinstance(value, np.generic) else value
    return hashable
