"""The record of a query's run, which has row counts and times of the steps, for `explain`."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from deeplake_lite.query.plan import Plan


@dataclass(frozen=True)
class Step:
    """A completed step of a query."""

    name: str
    """``"read"``, ``"where"``, ``"index"``, the name of a precomputed column, or ``"sql"``."""
    table: str
    """The table of the source to which the step belongs, or an empty string for ``"sql"``."""
    rows_in: int
    """Number of rows before the step."""
    rows_out: int
    """Number of rows after the step."""
    seconds: float
    nbytes: int = 0
    """Number of bytes that were read, after decompression, or 0 if all values were in the cache."""
    note: str = ""
    """For ``"index"``, a note about the search, or the reason why the index was not used."""


@dataclass
class Run:
    """The result of running a plan, and the completed steps."""

    table: pa.Table = field(default_factory=lambda: pa.table({}))
    steps: list[Step] = field(default_factory=list)

    def add_step(
        self,
        name: str,
        table: str,
        before: int,
        after: int,
        started: float,
        nbytes: int = 0,
        note: str = "",
    ) -> None:
        """Record a step that began at `started` and has just ended."""
        seconds = time.perf_counter() - started
        self.steps.append(Step(name, table, before, after, seconds, nbytes, note))


@dataclass(frozen=True, eq=False)
class Record:
    """The plan of the query whose result a view shows, and the completed steps."""

    plan: Plan
    steps: tuple[Step, ...]
