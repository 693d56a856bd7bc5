"""The part of the browser that counts rows by facets, among all rows and in the query result.

Queries count the rows. Counts of all rows are cached until the dataset changes. If the query result
does not consist of rows of the dataset, but for example of groups, there is a facet for each column
of the result.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import numpy as np

from deeplake_lite.dataset.read.virtual import VirtualTable
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import LakeError, QueryError
from deeplake_lite.widget import fields
from deeplake_lite.widget.filters.counting import (
    distinct_and_nulls,
    edges_of,
    extremes,
    outside_counts,
    range_counts,
    value_counts,
)
from deeplake_lite.widget.filters.facet import facets_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from deeplake_lite.schema import Field
    from deeplake_lite.widget.browser_state import BrowserState
    from deeplake_lite.widget.filters.bins import Edge
    from deeplake_lite.widget.filters.choices import FacetKind
    from deeplake_lite.widget.filters.facet import Facet
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request

MAX_VALUES = 50
"""Maximum number of values that a facet lists, starting with the most frequent."""

FEW_VALUES = 200
"""Strings are only counted by value in columns with at most this number of distinct strings. In
other columns, only the lengths of strings are counted."""

UNCOUNTED = {
    "times": "These times cannot be counted, because one of them is at the limit of its unit."
}
"""Reasons why a column cannot be counted, by kind of facet.

The error of the query itself would not help users, because they did not write the query.
"""

READ_ROWS = 200_000
"""Maximum number of rows for which strings and lists are counted before the page requests it."""


class ValueCounts(TypedDict, total=False):
    """Counts of rows by value."""

    values: list[list[object]]
    """Lines of the facet. Each line has four items: the value as filters write it, the value's
    name, the number of all rows with this value, and the number of shown rows with it."""
    nulls: list[int]
    """Numbers of nulls among all rows and among the shown rows."""
    more: int
    """Number of omitted values."""


class Histogram(TypedDict, total=False):
    """Counts of rows by range."""

    edges: Sequence[Edge]
    """Edges of the bins: numbers, or times as strings."""
    all: list[int]
    """Number of rows in each bin."""
    shown: list[int]
    """Number of shown rows in each bin."""
    nulls: list[int]
    """Number of rows outside all bins, among all rows and among the shown rows."""
    beside: list[tuple[int, str]]
    """Number of rows outside all bins, for each reason."""
    only: str | None
    """The value that all rows have, or None if the values differ."""


class FacetCounts(TypedDict):
    """A facet with its counts, or the reason why it has no counts."""

    column: str
    expression: str
    kind: FacetKind
    label: str
    """Title for users."""
    chosen: list[object] | None
    """The choice in the query, or None for all rows."""
    rows: int
    short: NotRequired[str]
    ask: NotRequired[bool]
    """Whether the facet is slow to count, so that the page must request its counts."""
    problem: NotRequired[str]
    """The reason why the facet has no counts."""
    values: NotRequired[list[list[object]]]
    nulls: NotRequired[list[int]]
    more: NotRequired[int]
    edges: NotRequired[Sequence[Edge]]
    all: NotRequired[list[int]]
    shown: NotRequired[list[int]]
    beside: NotRequired[list[tuple[int, str]]]
    only: NotRequired[str | None]


class FacetsReply(TypedDict):
    """The facets of the shown result."""

    facets: list[FacetCounts]
    ms: float


class Facets:
    """The part of the browser that counts rows for the facet panel."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._all: dict[object, Any] = {}
        self._whole: View | None = None

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The methods that answer requests, by the type of the request."""
        return {"facets": self.facets}

    def facets(self, request: Request, pack: Pack) -> FacetsReply:  # noqa: ARG002
        """Count rows by the given columns, or else by all columns that are quick to count.

        Facets with a single value come last, because there is nothing to choose.
        """
        start = time.perf_counter()
        is_requested = request.get("columns") is not None
        names = fields.names(request, "columns") if is_requested else None
        facets = sorted(self.count(self._host.shown, names), key=_is_constant)
        return {"facets": facets, "ms": round(1000 * (time.perf_counter() - start), 1)}

    def count(
        self, shown: BrowserState, names: Iterable[str] | None = None
    ) -> Iterator[FacetCounts]:
        """Yield facets with their counts.

        Facets that are slow to count have no counts, unless `names` contains their column.
        """
        whole, part = whole_and_part(shown)
        if self._whole is None or not _same_rows(self._whole, whole):
            self._all, self._whole = {}, whole
        columns = None if names is None else set(names)
        for f in whole.schema:
            if columns is not None and f.name not in columns:
                continue
            for facet in facets_of(f):
                yield self._count(facet, f, shown, whole, part, requested=columns is not None)

    def _count(
        self,
        facet: Facet,
        f: Field,
        shown: BrowserState,
        whole: View,
        part: View,
        *,
        requested: bool,
    ) -> FacetCounts:
        """Return a facet with its counts, or with the reason why it has no counts."""
        head: FacetCounts = {
            "column": facet.column,
            "expression": facet.expression,
            "kind": facet.kind,
            "label": facet.label,
            "chosen": _choice(shown.text, facet),
            "rows": len(whole),
        }
        if facet.short:
            head["short"] = facet.short
        if facet.reads and not requested and len(whole) > READ_ROWS:
            return {**head, "ask": True}
        try:
            if facet.kind in ("numbers", "times"):
                return {**head, **self._histogram(facet, whole, part)}
            return {**head, **self._values(facet, f, whole, part)}
        except QueryError:
            reason = UNCOUNTED.get(facet.kind, "The values of this column cannot be counted.")
            return {**head, "problem": reason}
        except LakeError as error:
            return {**head, "problem": f"{error!s:.300}"}

    def _values(self, facet: Facet, f: Field, whole: View, part: View) -> ValueCounts:
        """Return the number of rows with each value, among all rows and among the shown rows."""
        if facet.reads and facet.kind == "classes":
            key = (facet, "distinct")
            distinct, null = self._cached(key, lambda: distinct_and_nulls(whole, facet))
            if distinct > FEW_VALUES:
                shown = null if part is whole else distinct_and_nulls(part, facet)[1]
                return {"values": [], "more": distinct, "nulls": [null, shown]}
        in_all = self._cached(facet, lambda: value_counts(whole, facet))
        in_part = in_all if part is whole else value_counts(part, facet)
        values = [v for v in (in_all | in_part) if v is not None]
        order = sorted(values, key=lambda v: (-in_all.get(v, 0), _tie_key(v)))
        lines = [
            [_plain(v, f), str(name_of(v, f)), in_all.get(v, 0), in_part.get(v, 0)]
            for v in order[:MAX_VALUES]
        ]
        nulls = [in_all.get(None, 0), in_part.get(None, 0)]
        return {"values": lines, "nulls": nulls, "more": max(0, len(order) - MAX_VALUES)}

    def _histogram(self, facet: Facet, whole: View, part: View) -> Histogram:
        """Return the bins with their numbers of rows among all rows and among the shown rows."""
        ends = self._cached((facet, "ends"), lambda: extremes(whole, facet))
        edges = edges_of(facet, *ends) if ends else []
        in_all = self._cached(facet, lambda: range_counts(whole, facet, edges))
        in_part = in_all if part is whole else range_counts(part, facet, edges)
        outside = self._cached((facet, "outside"), lambda: outside_counts(whole, facet, in_all[-1]))
        return {
            "edges": edges,
            "all": in_all[:-1],
            "shown": in_part[:-1],
            "nulls": [in_all[-1], in_part[-1]],
            "beside": outside,
            "only": str(ends[0]) if ends and ends[0] == ends[1] and not in_all[-1] else None,
        }

    def _cached[T](self, key: object, count: Callable[[], T]) -> T:
        """Return the counts of all rows for a key, which `count` computes when first needed."""
        if key not in self._all:
            self._all[key] = count()
        counted: T = self._all[key]
        return counted


def _is_constant(facet: FacetCounts) -> bool:
    """Return whether all rows have the same value."""
    return facet.get("only") is not None


def _choice(text: str, facet: Facet) -> list[object] | None:
    """Return a facet's choice in a query, or None for all rows."""
    if not text:
        return None
    from deeplake_lite.widget.filters.choices import choice_of

    return choice_of(text, facet.expression, facet.kind)


def whole_and_part(shown: BrowserState) -> tuple[View, View]:
    """Return two views: all rows, and the rows of the query result, with the columns for facets.

    If the result consists of rows of the browsed view, "all rows" means all rows of that view.
    Otherwise it means the result of the inner query in ``SELECT * FROM (…) WHERE …``.
    """
    from deeplake_lite.widget.filters.querytext import inner_of, takes_conditions

    base, result = shown.base, shown.view
    if result is base:
        return base, base
    of_base = bool(shown.text) and takes_conditions(shown.text, base.columns)
    if result.rows.table is base.rows.table:
        columns = base.columns if of_base else result.columns
        return (
            View(base.rows, columns, base.origin),
            View(result.rows, columns, result.origin),
        )
    table: Any = base.rows.table
    same = result.url == base.url and result.version == base.version
    if of_base and same and shown.has_ids and not isinstance(table, VirtualTable):
        slots = table.find(result.row_ids)
        if (slots >= 0).all():
            return base, View(base.rows.with_slots(slots), base.columns, result.origin)
    inner = inner_of(shown.text)
    whole = result if inner is None else base.query(inner, sources=shown.sources)
    return whole, result


def _same_rows(a: View, b: View) -> bool:
    """Return whether two views have the same rows, and no uncommitted edits."""
    return a is b or (
        a.rows.table is b.rows.table
        and len(a) == len(b)
        and a.columns == b.columns
        and not a.rows.table.uncommitted
        and np.array_equal(a.rows.live(), b.rows.live())
    )


def name_of(value: object, f: Field) -> object:
    """Return a value for display. Class numbers are replaced by names."""
    classes = f.htype.labels
    return value if classes is None else classes.to_names(value)


def _plain(value: object, f: Field) -> object:
    """Return a value as filters write it. Numbers of named classes are replaced by names."""
    classes = f.htype.labels
    return value if classes is None or not classes.names else classes.to_names(value)


def _tie_key(value: object) -> tuple[int, float, str]:
    """Return a key by which equally frequent values are sorted: numbers by size, then strings."""
    return (0, value, "") if isinstance(value, int | float) else (1, 0, str(value))
