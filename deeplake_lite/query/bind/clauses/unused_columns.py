"""Remove columns of subqueries that nothing reads.

For an unchanged column, a subquery returns two columns: one with values, to compute with, and one
with row positions, from which to read values later. Most columns with values are never used. For
each of them, a column of the source would have to be read, and SQL has no type for some values,
such as durations in nanoseconds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Iterator


def prune_columns(query: exp.Expr) -> None:
    """Remove columns that nothing reads from all subqueries of a query, in place."""
    read = Counter((column.table, column.name) for column in query.find_all(exp.Column))
    derived = list(_prunable_selects(query))  # outer subqueries come before inner ones
    pruned = True
    while pruned:  # repeated because the queries of WITH may be in any order
        pruned = sum(_prune(select, names, read) for select, names in derived) > 0


def _prunable_selects(query: exp.Expr) -> Iterator[tuple[exp.Select, set[str]]]:
    """Yield each subquery whose columns are only read by name, and the names that it has in FROM.

    A subquery whose columns are also read with ``*`` is left out.
    """
    whole = {source for select in query.find_all(exp.Select) for source in _sources_of_star(select)}
    named: defaultdict[str, set[str]] = defaultdict(set)
    for table in query.find_all(exp.Table):
        named[table.name].add(table.alias_or_name)
    for inner in query.find_all(exp.Subquery, exp.CTE):
        names = named[inner.alias] if isinstance(inner, exp.CTE) else {inner.alias}
        if isinstance(inner.this, exp.Select) and inner.alias and not names & whole:
            yield inner.this, names


def _sources_of_star(select: exp.Select) -> Iterator[str]:
    """Yield the names of the sources whose columns a SELECT returns with ``*``.

    A source that has the same name as the SELECT itself is left out, because the names of its
    columns remain valid.
    """
    if any(isinstance(item, exp.Star) for item in select.expressions):
        own = select.parent.alias if isinstance(select.parent, exp.Subquery) else ""
        parts = [select.args.get("from_"), *(select.args.get("joins") or ())]
        yield from (p.this.alias_or_name for p in parts if p and p.this.alias_or_name != own)


def _prune(select: exp.Select, names: set[str], read: Counter[tuple[str, str]]) -> bool:
    """Remove the columns of a SELECT that nothing reads. Return whether any were removed.

    Parameters
    ----------
    select : Select
        The SELECT; changed in place.
    names : set of str
        Names that the SELECT has in FROM.
    read : Counter
        Number of uses of each column. The keys are pairs of a source, which is empty if the query
        names none, and the name of the column. Uses by removed columns are subtracted.
    """
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on") is None:  # DISTINCT compares all columns
        return False
    items: list[exp.Expr] = []
    dropped: list[exp.Expr] = []
    for item in select.expressions:
        is_read = any(read[name, item.alias] > 0 for name in ("", *names))
        (items if is_read or not isinstance(item.unalias(), exp.Column) else dropped).append(item)
    if not items:  # a SELECT must have a column
        items.append(dropped.pop(0))
    read.subtract((item.this.table, item.this.name) for item in dropped)
    select.set("expressions", items)
    return bool(dropped)
