"""A plan as text: a tree of steps, with the columns and rows of each, and how it went."""

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
    """Return a plan as a tree, the result on top; with rows and times where it has run.

    A step's time is its own, without those of the steps below it.
    """
    lines = [f"result {_result(steps)}".rstrip()]
    lines += [f"├─ {line}" for line in _outputs(plan.outputs)]
    lines += [f"├─ {type(c).__name__.lower()} by {_options(c)}" for c in reversed(plan.clauses)]
    took = _milliseconds(_of(steps, "", "sql"))
    lines.append(f"└─ sql  {_named(plan.sql, plan)}{f' [{took}]' if took else ''}")
    for instance in plan.instances:
        lines += [f"   {line}" for line in _instance(instance, plan, steps)]
    return "\n".join(lines)


def _result(steps: tuple[Step, ...]) -> str:
    """Return the rows of a result, and the time of all steps together; each step has its own."""
    sql = _of(steps, "", "sql")
    if sql is None:
        return ""
    took = sum(step.seconds for step in steps) * 1e3
    return f"[{sql.rows_in:,} -> {sql.rows_out:,} rows, {took:.1f} ms in all]"


def _milliseconds(step: Step | None) -> str:
    return "" if step is None else f"{step.seconds * 1e3:.1f} ms"


def _outputs(outputs: tuple[Output, ...]) -> Iterator[str]:
    read = [o.name for o in outputs if o.plain is not None]
    later = [f"{o.name} = {o.tensor.text}" for o in outputs if o.tensor is not None]
    if read:
        yield f"read when looked at      {', '.join(read)}"
    if later:
        yield f"computed when looked at  {', '.join(later)}"


def _options(clause: Clause) -> str:
    options = {f.name: getattr(clause, f.name) for f in fields(clause)}
    named = (
        f"{k}={v}" for k, v in options.items() if k not in ("column", "columns", "table", "start")
    )
    return ", ".join(named) or "value"


def _instance(instance: Instance, plan: Plan, steps: tuple[Step, ...]) -> Iterator[str]:
    mine = tuple(s for s in steps if s.table == instance.table)
    columns = ", ".join(f.name for f in instance.scalars.values()) or "no columns"
    rows, read = f"{len(instance.source):,} rows", _of(mine, instance.table, "read")
    went = _went(read) if read and (read.nbytes or read.rows_out < read.rows_in) else ""
    yield f"├─ {instance.table} = {instance.source.name}, {rows}: {columns} {went}".rstrip()
    wheres = iter([s for s in mine if s.name == "where"])
    if instance.cheap and instance.islands:
        shown = " AND ".join(_named(c, plan) for c in instance.cheap)
        yield f"│  ├─ where {shown} {_went(next(wheres, None))}".rstrip()
    for condition, names in instance.staged:
        for name in names:
            yield _compute(instance, name, mine)
        enough = "" if instance.enough is None else f", until {instance.enough:,} rows pass"
        yield f"│  ├─ where {_named(condition, plan)}{enough} {_went(next(wheres, None))}".rstrip()
    staged = {name for _, names in instance.staged for name in names}
    for name in instance.islands:
        if name not in staged:
            yield _compute(instance, name, mine)


def _compute(instance: Instance, name: str, steps: tuple[Step, ...]) -> str:
    went = _went(_of(steps, instance.table, name))
    return f"│  ├─ compute {instance.texts[name]} {went}".rstrip()


def _of(steps: tuple[Step, ...], table: str, name: str) -> Step | None:
    found = [s for s in steps if s.table == table and s.name == name]
    # of rows that are computed part by part, up to a LIMIT, the last part's count, and all the time
    return replace(found[-1], seconds=sum(s.seconds for s in found)) if found else None


def _went(step: Step | None) -> str:
    if step is None:
        return ""
    read = f"{_bytes(step.nbytes)} read, " if step.nbytes else ""
    return f"[{step.rows_in:,} -> {step.rows_out:,} rows, {read}{_milliseconds(step)}]"


def _bytes(count: int) -> str:
    """Return a size in words.

    >>> _bytes(20), _bytes(2_500_000)
    ('20 B', '2.5 MB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"


def named(message: str, plan: Plan) -> str:
    """Return what DuckDB says with the names that users gave."""
    names = {
        name: text
        for i in plan.instances
        for name, text in [*((n, f.name) for n, f in i.scalars.items()), *i.texts.items()]
    }
    return _INTERNAL.sub(lambda found: names.get(found[2], found[0]), message)


def _is_guard(e: exp.Expr) -> bool:
    """Tell whether a condition is only that a value is a number: not what users wrote."""
    inner = e.this.unnest() if isinstance(e, exp.Not) else e
    first = next(inner.flatten()) if isinstance(inner, exp.And) else inner
    return inner is not e and isinstance(first, exp.Anonymous) and first.name == "isnan"


def _is_row(e: exp.Expr) -> bool:
    return isinstance(e, exp.Column) and e.name == ROW


def _named(node: exp.Expr, plan: Plan) -> str:
    """Return SQL with the names that users gave."""
    by_table = {i.table: i for i in plan.instances}
    called = {udf.name: udf.text for udf in plan.udfs}

    def name(e: exp.Expr) -> exp.Expr:
        if isinstance(e, exp.Anonymous) and e.name in called:
            return exp.Var(this=called[e.name])
        if isinstance(e, exp.And) and _is_guard(e.expression):
            return cast("exp.Expr", e.this.transform(name))
        if isinstance(e, exp.Order):
            kept = [t for t in e.expressions if not _is_row(t.this)]
            return exp.Order(expressions=[t.transform(name) for t in kept]) if kept else e
        if not isinstance(e, exp.Column) or e.table not in by_table:
            return e
        instance = by_table[e.table]
        if e.name in instance.texts:
            return exp.Var(this=instance.texts[e.name])
        if e.name in instance.scalars:
            return exp.column(instance.scalars[e.name].name, table=e.table)
        return exp.Var(this=f"{e.table}.row") if e.name == ROW else e

    return node.transform(name).sql("duckdb")
