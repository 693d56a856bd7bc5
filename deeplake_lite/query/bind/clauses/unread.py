"""Columns that a query within another hands out and nothing reads: they are left out.

What comes through unchanged leaves a query as a value, to compute with, and as the position of its
row, to read it by. Most values are never computed with. They cost a column of the source each, and
SQL cannot hold some of them at all, such as durations in nanoseconds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Iterator


def leave_out(query: exp.Expr) -> None:
    """Take columns that nothing reads out of the queries within a query; it is changed in place."""
    read = Counter((column.table, column.name) for column in query.find_all(exp.Column))
    derived = list(_derived(query))  # those within others after them
    pruned = True
    while pruned:  # again only where WITH names queries, in any order
        pruned = sum(_prune(select, names, read) for select, names in derived) > 0


def _derived(query: exp.Expr) -> Iterator[tuple[exp.Select, set[str]]]:
    """Yield each SELECT that others read by columns, with the names that it has in FROM."""
    whole = {source for select in query.find_all(exp.Select) for source in _taken_whole(select)}
    named: defaultdict[str, set[str]] = defaultdict(set)
    for table in query.find_all(exp.Table):
        named[table.name].add(table.alias_or_name)
    for inner in query.find_all(exp.Subquery, exp.CTE):
        names = named[inner.alias] if isinstance(inner, exp.CTE) else {inner.alias}
        if isinstance(inner.this, exp.Select) and inner.alias and not names & whole:
            yield inner.this, names


def _taken_whole(select: exp.Select) -> Iterator[str]:
    """Yield the sources of which a SELECT hands on all columns under another name than theirs."""
    if any(isinstance(item, exp.Star) for item in select.expressions):
        own = select.parent.alias if isinstance(select.parent, exp.Subquery) else ""
        parts = [select.args.get("from_"), *(select.args.get("joins") or ())]
        yield from (p.this.alias_or_name for p in parts if p and p.this.alias_or_name != own)


def _prune(select: exp.Select, names: set[str], read: Counter[tuple[str, str]]) -> bool:
    """Take columns that nothing reads out of a SELECT, and tell whether there were any.

    Parameters
    ----------
    names : set of str
        Names that the SELECT has in FROM.
    read : Counter
        How often each column is read, by source (``""`` where none is named) and name; less what
        the columns that are taken out have read.
    """
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on") is None:  # by which its rows are told apart
        return False
    kept: list[exp.Expr] = []
    dropped: list[exp.Expr] = []
    for item in select.expressions:
        is_read = any(read[name, item.alias] > 0 for name in ("", *names))
        (kept if is_read or not isinstance(item.unalias(), exp.Column) else dropped).append(item)
    if not kept:  # a SELECT has a column
        kept.append(dropped.pop(0))
    read.subtract((item.this.table, item.this.name) for item in dropped)
    select.set("expressions", kept)
    return bool(dropped)
