"""How many rows have which value, or numbers in which range: one GROUP BY each.

Tags are counted off their bytes: a row has as many as it likes, and taking them apart in SQL takes
a hundred times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.values import with_none
from deeplake_lite.query.parse.names import literal, unused
from deeplake_lite.storage import chunks
from deeplake_lite.widget.filters.bins import edges_of_integers, edges_of_numbers, edges_of_times

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    if f.htype.classes is not None and f.htype.item is not None and f.htype.is_plain:
        return tag_counts(view, f)
    v, n = unused(view.columns, "v", "n")
    if facet.kind == "tags":
        return _item_counts(view, facet)
    found = view.query(f"SELECT {e} AS {v}, COUNT(*) AS {n} GROUP BY {v}")
    values, counts = with_none(found[v][:]), found[n][:]
    return {_hashable(value): int(count) for value, count in zip(values, counts, strict=True)}


def _item_counts(view: View, facet: Facet) -> dict[Any, int]:
    """Return how many rows have which item in a list; None is a null row."""
    e, (r, v, n) = facet.expression, unused(view.columns, "r", "v", "n")
    rows = f"SELECT ROW_NUMBER() OVER () AS {r}, UNNEST({e}) AS {v}"
    found = view.query(
        f"SELECT {v}, COUNT(DISTINCT {r}) AS {n} FROM ({rows}) WHERE {v} IS NOT NULL GROUP BY {v}"
    )
    values = map(_hashable, found[v][:])
    counts: dict[Any, int] = dict(zip(values, found[n][:].tolist(), strict=True))
    nulls = int(view.query(f"SELECT COUNT(*) AS {n} WHERE {e} IS NULL")[n][0])
    return counts | ({None: nulls} if nulls else {})


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


TIMES = ("-200000-01-01", "200000-01-01")
"""Times that a page can have lie between these."""


def ends_of(view: View, facet: Facet) -> tuple[Any, Any] | None:
    """Return the least and the greatest number, or time, that a chart can have; None for none."""
    if not len(view):
        return None
    finite = e = facet.expression
    if facet.kind == "numbers" and not facet.whole:
        finite = f"CASE WHEN {e} BETWEEN -1e300 AND 1e300 THEN {e} END"
    elif facet.kind == "times" and _goes_far(view.schema[facet.column]):
        first, last = map(literal, TIMES)
        finite = f"CASE WHEN {e} BETWEEN {first} AND {last} THEN {e} END"
    names = unused(view.columns, "low", "high")
    found = view.query(f"SELECT MIN({finite}) AS {names[0]}, MAX({finite}) AS {names[1]}")
    low, high = (with_none(found[name][:])[0] for name in names)
    return None if low is None or high is None else (low, high)


def _goes_far(f: Field) -> bool:
    """Tell whether a column of times can have some that a page cannot, and a query names those."""
    return np.datetime_data(np.dtype(f.htype.value_dtype))[0] != "ns"


def edges_of(facet: Facet, low: Any, high: Any) -> list[Any]:
    """Return the ends of ranges of equal width that hold a facet's numbers from low to high."""
    if facet.kind == "times":
        return edges_of_times(np.datetime64(low), np.datetime64(high))
    if facet.whole:
        return edges_of_integers(int(low), int(high))
    return edges_of_numbers(float(low), float(high))


def range_counts(view: View, facet: Facet, edges: Sequence[Any]) -> list[int]:
    """Return how many rows are in each range, and last, how many in none: null, NaN, infinite."""
    counts = [0] * max(1, len(edges))
    if not edges:
        return [len(view)]
    if not len(view):
        return counts
    r, n = unused(view.columns, "r", "n")
    ranges = range_of(facet.expression, edges)
    found = view.query(f"SELECT {ranges} AS {r}, COUNT(*) AS {n} GROUP BY {r}")
    for range_, count in zip(with_none(found[r][:]), found[n][:], strict=True):
        counts[-1 if range_ is None else range_] += int(count)
    return counts


def beside_ranges(view: View, facet: Facet, count: int) -> list[tuple[int, str]]:
    """Return what rows are that are in no range, and how many of each kind.

    Parameters
    ----------
    count : int
        How many are in none.

    >>> import deeplake_lite as dl
    >>> from deeplake_lite.widget.filters.facet import facets_of
    >>> ds = dl.create("memory://beside-ranges-doc", {"x": dl.Scalar("float64", nullable=True)})
    >>> ds.append({"x": [1.5, None, float("nan"), float("inf"), 1e305]})
    >>> beside_ranges(ds, next(facets_of(ds.schema["x"])), 4)
    [(1, 'null'), (2, 'NaN or infinite'), (1, 'beyond ±1e300')]
    """
    if not count:
        return []
    e = facet.expression
    names = unused(view.columns, "there", "finite")
    is_real = facet.kind == "numbers" and not facet.whole
    finite = f"CASE WHEN ISFINITE({e}) THEN 1 END" if is_real else e
    found = view.query(f"SELECT COUNT({e}) AS {names[0]}, COUNT({finite}) AS {names[1]}")
    there, numbers = (int(found[name][0]) for name in names)
    beyond = "beyond ±1e300" if is_real else "beyond the years ±200,000"
    kinds = [
        (len(view) - there, "null"),
        (there - numbers, "NaN or infinite"),
        (numbers - (len(view) - count), beyond),
    ]
    return [kind for kind in kinds if kind[0]]


def range_of(expression: str, edges: Sequence[Any]) -> str:
    """Return the number of the range that a row is in, in a query; null for those in none.

    Values are compared with the ends as the filter of a range compares them.

    >>> range_of("x", [0, 5, 10])
    'CASE WHEN x < 0 THEN NULL WHEN x < 5 THEN 0 WHEN x < 10 THEN 1 END'
    """
    ranges = ["NULL", *map(str, range(len(edges) - 1))]
    cases = [
        f"WHEN {expression} < {literal(edge)} THEN {at}"
        for edge, at in zip(edges, ranges, strict=True)
    ]
    return f"CASE {' '.join(cases)} END"


def tag_counts(view: View, f: Field) -> dict[Any, int]:
    """Return how many rows have which class number in a column of several; None is a null row.

    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://tag-counts-doc", {"t": dl.ClassLabel(["a", "b"], multiple=True)})
    >>> ds.append({"t": [["a"], [], ["b", "a"]]})
    >>> tag_counts(ds, ds.schema["t"])
    {0: 2, 1: 1}
    """
    found: dict[Any, int] = {}
    dtype = np.dtype(f.htype.value_dtype)
    for span in chunks.spans(len(view), TAGGED_ROWS):
        table, slots = view.rows.locate(np.arange(span.start, span.stop))
        flat = table.flat(f.id, slots)
        rows = np.repeat(np.arange(len(flat.lengths)), flat.lengths // dtype.itemsize)
        pairs = np.stack([flat.data.view(dtype), rows], axis=1)  # a row may have a class twice
        numbers, counts = np.unique(np.unique(pairs, axis=0)[:, 0], return_counts=True)
        nulls = 0 if flat.valid is None else int((~flat.valid).sum())
        some = zip([*numbers.tolist(), None], [*counts.tolist(), nulls], strict=True)
        for number, n in some:
            if n:
                found[number] = found.get(number, 0) + n
    return found


def _hashable(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
