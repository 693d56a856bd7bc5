"""How a query went: its steps, with rows and times. `explain` shows what a view's record has."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from deeplake_lite.query.plan import Plan


@dataclass(frozen=True)
class Step:
    """One step as it went, for `explain`."""

    name: str
    """``"read"``, ``"where"``, an island's name, or ``"sql"``."""
    table: str
    """Of the instance that it was done for; empty for the query itself."""
    rows_in: int
    rows_out: int
    seconds: float
    nbytes: int = 0
    """Bytes read, as they are once decompressed; 0 where all was kept from before."""


@dataclass
class Run:
    """A plan that has run."""

    table: pa.Table = field(default_factory=lambda: pa.table({}))
    steps: list[Step] = field(default_factory=list)

    def note(
        self, name: str, table: str, before: int, after: int, started: float, nbytes: int = 0
    ) -> None:
        """Keep how a step went that began at `started`."""
        seconds = time.perf_counter() - started
        self.steps.append(Step(name, table, before, after, seconds, nbytes))


@dataclass(frozen=True, eq=False)
class Record:
    """How a view came about."""

    plan: Plan
    steps: tuple[Step, ...]
