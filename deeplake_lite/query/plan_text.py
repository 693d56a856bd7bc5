"""Format a plan as a tree of steps, with columns, row counts and times."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING, cast

from sqlglot import exp

from deeplake_lite.query.plan import ROW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.query.plan import Clause, Instance, Output, Plan
    from deeplake_lite.query.run.record import Step


_INTERNAL = re.compile(r'"?\b(t\d+\.)?([xi]\d+)\b"?')


def plan_text(plan: Plan, steps: tuple[Step, ...] = ()) -> str:
    """Format a plan as a tree with the result at the top.

    If the plan has been run, pass its `steps` to add row counts and times. The time of a step does
    not include the steps below it.
    """
    lines = [f"result {_show_result(steps)}".rstrip()]
    lines += [f"├─ {line}" for line in _show_outputs(plan.outputs)]
    lines += [
        f"├─ {type(c).__name__.lower()} by {_show_options(c)}" for c in reversed(plan.clauses)
    ]
    time = _milliseconds(_find_step(steps, "", "sql"))
    lines.append(f"└─ sql  {_show_sql(plan.sql, plan)}{f' [{time}]' if time else ''}")
    for instance in plan.instances:
        lines += [f"   {line}" for line in _show_instance(instance, plan, steps)]
    return "\n".join(lines)


def _show_result(steps: tuple[Step, ...]) -> str:
    """Return the line about the result, with row counts and the total time, or "" before a run."""
    sql = _find_step(steps, "", "sql")
    if sql is None:
        return ""
    total = sum(step.seconds for step in steps) * 1e3
    return f"[{sql.rows_in:,} -> {sql.rows_out:,} rows, {total:.1f} ms in total]"


def _milliseconds(step: Step | None) -> str:
    return "" if step is None else f"{step.seconds * 1e3:.1f} ms"


def _show_outputs(outputs: tuple[Output, ...]) -> Iterator[str]:
    stored = [o.name for o in outputs if o.plain is not None]
    computed = [f"{o.name} = {o.tensor.text}" for o in outputs if o.tensor is not None]
    if stored:
        yield f"read on access      {', '.join(stored)}"
    if computed:
        yield f"computed on access  {', '.join(computed)}"


def _show_options(clause: Clause) -> str:
    options = {f.name: getattr(clause, f.name) for f in fields(clause)}
    named = (
        f"{k}={v}" for k, v in options.items() if k not in ("column", "columns", "table", "start")
    )
    return ", ".join(named) or "value"


def _show_instance(instance: Instance, plan: Plan, steps: tuple[Step, ...]) -> Iterator[str]:
    """Yield the lines of a source.

    The first line lists the stored columns. Each further line is a condition or a computed column,
    in the order in which these run.
    """
    own = tuple(s for s in steps if s.table == instance.table)
    columns = ", ".join(f.name for f in instance.scalars.values()) or "no columns"
    rows, read = f"{len(instance.source):,} rows", _find_step(own, instance.table, "read")
    counts = _show_step(read) if read and (read.nbytes or read.rows_out < read.rows_in) else ""
    yield f"├─ {instance.table} = {instance.source.name}, {rows}: {columns} {counts}".rstrip()
    for step in own:
        if step.name == "index":
            yield f"│  ├─ {step.note} {_show_step(step)}"
    wheres = iter([s for s in own if s.name == "where"])
    if instance.cheap and instance.precomputed:
        cheap = " AND ".join(_show_sql(c, plan) for c in instance.cheap)
        yield f"│  ├─ where {cheap} {_show_step(next(wheres, None))}".rstrip()
    for condition, names in instance.staged:
        for name in names:
            yield _show_column(instance, name, own)
        limit = (
            "" if instance.rows_needed is None else f", until {instance.rows_needed:,} rows pass"
        )
        counts = _show_step(next(wheres, None))
        yield f"│  ├─ where {_show_sql(condition, plan)}{limit} {counts}".rstrip()
    staged = {name for _, names in instance.staged for name in names}
    for name in instance.precomputed:
        if name not in staged:
            yield _show_column(instance, name, own)


def _show_column(instance: Instance, name: str, steps: tuple[Step, ...]) -> str:
    counts = _show_step(_find_step(steps, instance.table, name))
    return f"│  ├─ compute {instance.texts[name]} {counts}".rstrip()


def _find_step(steps: tuple[Step, ...], table: str, name: str) -> Step | None:
    """Return the step with the given table and name, or None if no such step has run.

    If a column was computed block by block until a LIMIT was reached, there is one step per block.
    The last step has the row counts of all blocks, but each step has only the time of its own
    block. Therefore, the returned step has the sum of the times.
    """
    parts = [s for s in steps if s.table == table and s.name == name]
    return replace(parts[-1], seconds=sum(s.seconds for s in parts)) if parts else None


def _show_step(step: Step | None) -> str:
    if step is None:
        return ""
    read = f"{_bytes(step.nbytes)} read, " if step.nbytes else ""
    return f"[{step.rows_in:,} -> {step.rows_out:,} rows, {read}{_milliseconds(step)}]"


def _bytes(count: int) -> str:
    """Return a size with its unit.

    >>> _bytes(20), _bytes(2_500_000)
    ('20 B', '2.5 MB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"


def restore_names(message: str, plan: Plan) -> str:
    """Replace the internal column names in a DuckDB message with the names used in the query."""
    names = {
        name: text
        for i in plan.instances
        for name, text in [*((n, f.name) for n, f in i.scalars.items()), *i.texts.items()]
    }
    return _INTERNAL.sub(lambda match: names.get(match[2], match[0]), message)


def _is_guard(e: exp.Expr) -> bool:
    """Return whether the binder has added a condition to exclude NaN: ``NOT (isnan(x) …)``."""
    inner = e.this.unnest() if isinstance(e, exp.Not) else e
    first = next(inner.flatten()) if isinstance(inner, exp.And) else inner
    return inner is not e and isinstance(first, exp.Anonymous) and first.name == "isnan"


def _is_row(e: exp.Expr) -> bool:
    return isinstance(e, exp.Column) and e.name == ROW


def _show_sql(node: exp.Expr, plan: Plan) -> str:
    """Return SQL as text. Internal names are replaced with the names used in the query."""
    by_table = {i.table: i for i in plan.instances}
    texts = {udf.name: udf.text for udf in plan.udfs}

    def name(e: exp.Expr) -> exp.Expr:
        if isinstance(e, exp.Anonymous) and e.name in texts:
            return exp.Var(this=texts[e.name])
        if isinstance(e, exp.And) and _is_guard(e.expression):
            return cast("exp.Expr", e.this.transform(name))
        if isinstance(e, exp.Order):
            terms = [t for t in e.expressions if not _is_row(t.this)]
            return exp.Order(expressions=[t.transform(name) for t in terms]) if terms else e
        if not isinstance(e, exp.Column) or e.table not in by_table:
            return e
        instance = by_table[e.table]
        if e.name in instance.texts:
            return exp.Var(this=instance.texts[e.name])
        if e.name in instance.scalars:
            return exp.column(instance.scalars[e.name].name, table=e.table)
        return exp.Var(this=f"{e.table}.row") if e.name == ROW else e

    return node.transform(name).sql("duckdb")
