"""What a view is made of: how many rows have which class, number, size; of all, and of the answer.

Everything is counted by the query engine, one GROUP BY each. Counts of all rows are kept until the
dataset changes. Where the answer has rows of its own, such as groups, its own columns are counted.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.virtual import VirtualTable
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import LakeError, QueryError
from deeplake_lite.widget import fields
from deeplake_lite.widget.filters.counting import (
    beside_ranges,
    edges_of,
    ends_of,
    how_many,
    range_counts,
    value_counts,
)
from deeplake_lite.widget.filters.facet import facets_of
from deeplake_lite.widget.pictures.classes import classes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from deeplake_lite.schema import Field
    from deeplake_lite.widget.filters.facet import Facet
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request
    from deeplake_lite.widget.shown import Shown

MOST_VALUES = 50
"""Values that a facet lists; those of most rows come first."""

FEW_VALUES = 200
"""Different texts that are still listed, and not only measured."""

UNCOUNTED = {
    "times": "It has the first or the last moment of its unit, so its times are not counted."
}
"""Why a query of ours does not count a column, by kind of facet; queries are not the reader's."""

READ_ROWS = 200_000
"""Rows whose texts are read without being asked for: numbers and classes are always counted."""


class Facets:
    """The counts beside the grid."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._all: dict[Any, Any] = {}
        self._whole: View | None = None

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What it answers, by type of message."""
        return {"facets": self.facets}

    def facets(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        """Count the rows by some columns, or by all that is quickly counted.

        What is the same in all rows comes last: there is nothing to choose.
        """
        start = time.perf_counter()
        is_asked = request.get("columns") is not None
        names = fields.names(request, "columns") if is_asked else None
        found = sorted(self.counted(self._host.shown, names), key=_is_constant)
        return {"facets": found, "ms": round(1000 * (time.perf_counter() - start), 1)}

    def counted(self, shown: Shown, names: Iterable[str] | None = None) -> Iterator[dict[str, Any]]:
        """Yield facets with their counts; what nobody asked for and takes long comes without."""
        whole, part = whole_and_part(shown)
        if self._whole is None or not _same_rows(self._whole, whole):
            self._all, self._whole = {}, whole
        asked = None if names is None else set(names)
        for f in whole.schema:
            if asked is not None and f.name not in asked:
                continue
            for facet in facets_of(f):
                yield self._counted(facet, f, shown, whole, part, asked=asked is not None)

    def _counted(
        self, facet: Facet, f: Field, shown: Shown, whole: View, part: View, *, asked: bool
    ) -> dict[str, Any]:
        head = {
            "column": facet.column,
            "expression": facet.expression,
            "kind": facet.kind,
            "label": facet.label,
            "chosen": _chosen(shown.text, facet),
            "rows": len(whole),
        }
        if facet.reads and not asked and len(whole) > READ_ROWS:
            return {**head, "ask": True}
        try:
            if facet.kind in ("numbers", "times"):
                return {**head, **self._histogram(facet, whole, part)}
            return {**head, **self._values(facet, f, whole, part)}
        except QueryError:
            return {**head, "problem": UNCOUNTED.get(facet.kind, "Its values cannot be counted.")}
        except LakeError as error:
            return {**head, "problem": f"{error!s:.300}"}

    def _values(self, facet: Facet, f: Field, whole: View, part: View) -> dict[str, Any]:
        """Return how many rows have which value."""
        if facet.reads and facet.kind == "classes":
            different, nulls = self._once((facet, "different"), lambda: how_many(whole, facet))
            if different > FEW_VALUES:
                shown = nulls if part is whole else how_many(part, facet)[1]
                return {"values": [], "more": different, "nulls": [nulls, shown]}
        every = self._once(facet, lambda: value_counts(whole, facet))
        some = every if part is whole else value_counts(part, facet)
        there = [v for v in (every | some) if v is not None]
        order = sorted(there, key=lambda v: (-every.get(v, 0), _number(v)))
        names = [
            [_plain(v, f), str(name_of(v, f)), every.get(v, 0), some.get(v, 0)]
            for v in order[:MOST_VALUES]
        ]
        nulls = [every.get(None, 0), some.get(None, 0)]
        return {"values": names, "nulls": nulls, "more": max(0, len(order) - MOST_VALUES)}

    def _histogram(self, facet: Facet, whole: View, part: View) -> dict[str, Any]:
        """Return how many rows have numbers in which range, and the number that all rows have."""
        ends = self._once((facet, "ends"), lambda: ends_of(whole, facet))
        edges = edges_of(facet, *ends) if ends else []
        every = self._once(facet, lambda: range_counts(whole, facet, edges))
        some = every if part is whole else range_counts(part, facet, edges)
        return {
            "edges": edges,
            "all": every[:-1],
            "shown": some[:-1],
            "nulls": [every[-1], some[-1]],
            "beside": self._once((facet, "beside"), lambda: beside_ranges(whole, facet, every[-1])),
            "only": str(ends[0]) if ends and ends[0] == ends[1] and not every[-1] else None,
        }

    def _once(self, key: Any, count: Any) -> Any:
        """Return counts of all rows, counted when they are first asked for."""
        if key not in self._all:
            self._all[key] = count()
        return self._all[key]


def _is_constant(counted: dict[str, Any]) -> bool:
    """Tell whether all rows have the same number."""
    return counted.get("only") is not None


def _chosen(text: str, facet: Facet) -> list[Any] | None:
    """Return what a query chooses of a facet; None for all."""
    if not text:
        return None
    from deeplake_lite.widget.filters.choices import chosen

    return chosen(text, facet.expression, facet.kind)


def whole_and_part(shown: Shown) -> tuple[View, View]:
    """Return all rows and those of the answer, with the columns that a filter would mean.

    Where the answer's rows are rows of what is browsed, these are its rows; otherwise all is what
    the query within ``SELECT * FROM (…) WHERE …`` gives.
    """
    from deeplake_lite.widget.filters.querytext import inner_of, takes_conditions

    base, answer = shown.base, shown.view
    if answer is base:
        return base, base
    of_base = bool(shown.text) and takes_conditions(shown.text, base.columns)
    if answer.rows.table is base.rows.table:
        columns = base.columns if of_base else answer.columns
        return (
            View(base.rows, columns, base.origin),
            View(answer.rows, columns, answer.origin),
        )
    table: Any = base.rows.table
    same = answer.url == base.url and answer.version == base.version
    if of_base and same and shown.has_ids and not isinstance(table, VirtualTable):
        slots = table.find(answer.row_ids)
        if (slots >= 0).all():
            return base, View(base.rows.with_slots(slots), base.columns, answer.origin)
    inner = inner_of(shown.text)
    whole = answer if inner is None else base.query(inner, sources=shown.sources)
    return whole, answer


def _same_rows(a: View, b: View) -> bool:
    """Tell whether two views are of the same rows, as far as that is cheap."""
    return a is b or (
        a.rows.table is b.rows.table
        and len(a) == len(b)
        and a.columns == b.columns
        and not a.rows.table.uncommitted
        and np.array_equal(a.rows.live(), b.rows.live())
    )


def name_of(value: Any, f: Field) -> Any:
    """Return a value as people read it: a class by its name."""
    classes = classes_of(f.htype)
    return value if classes is None else classes.to_names(value)


def _plain(value: Any, f: Field) -> Any:
    """Return a value as a filter has it: a class by its name, where it has one."""
    classes = classes_of(f.htype)
    return value if classes is None or not classes.names else classes.to_names(value)


def _number(value: Any) -> Any:
    """Return what ties are sorted by: numbers by size, texts by letters."""
    return (0, value, "") if isinstance(value, int | float) else (1, 0, str(value))
