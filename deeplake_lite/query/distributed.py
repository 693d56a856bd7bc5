"""Computing the tensor expressions of a query with an executor.

A worker plans the query again, with the same sources, seed and time, and computes an expression for
some rows. The driver puts the values together; DuckDB does everything else in this process::

    driver                                  worker
    ─ Task: column, rows ─────────────────► plan once, evaluate ─┐
    ◄─ Values: one per row ──────────────────────────────────────┘
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import JobError, LakeError, OptionError, QueryError
from deeplake_lite.query.database import interrupt
from deeplake_lite.query.functions.user import OWN
from deeplake_lite.query.planning import plan_question
from deeplake_lite.query.run.opening import Sources
from deeplake_lite.query.tensors.evaluate import evaluate, join
from deeplake_lite.query.tensors.trees import keys
from deeplake_lite.remote.executor import LostError, Remote
from deeplake_lite.remote.processes import Processes
from deeplake_lite.storage.chunks import spans
from deeplake_lite.storage.repo import spreading_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.saved.question import Question
    from deeplake_lite.query.functions.base import Function
    from deeplake_lite.query.functions.value_type import Block
    from deeplake_lite.query.plan import Instance, Plan

PARTS = 64
"""Number of parts into which rows are divided, unless the parts would be too small or too large."""

MIN_ROWS = 64
MAX_ROWS = 65_536
"""Minimum and maximum number of rows in a part."""

MAX_LOSSES = 5
"""Number of workers that may die while they compute the same rows."""


@dataclass(frozen=True)
class Task:
    """Rows for which an expression is computed."""

    table: str
    """Table of the source to which the rows belong."""
    name: str
    """Name of the precomputed column."""
    rows: NDArray[Any]
    """Positions of the rows in the source."""
    attempt: int = 0
    """Number of workers that died while they computed these rows."""


@dataclass(frozen=True)
class Values:
    """The values of an expression."""

    block: Block
    """One value per row."""
    nbytes: int
    """Number of bytes that were read."""


@dataclass
class Work:
    """The parts of a query that workers need to know. This object is pickled."""

    question: Question
    """The query, with its sources, seed and time."""
    functions: Mapping[str, Function]
    """The functions that the user has registered."""
    _plans: list[Plan] = field(default_factory=list, repr=False)
    _guard: Lock = field(default_factory=Lock, repr=False)

    def __getstate__(self) -> dict[str, object]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_plans", "_guard")}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _plans=[], _guard=Lock())

    def run(self, task: Task) -> Values:
        """Compute an expression for some rows."""
        with self._guard:
            if not self._plans:
                self._plans.append(self._plan())
        instance = next(i for i in self._plans[0].instances if i.table == task.table)
        tree, tally = instance.precomputed[task.name], instance.source.tally
        before = tally.bytes
        block = evaluate(tree, dict.fromkeys(keys(tree), task.rows), len(task.rows))
        return Values(block, tally.bytes - before)

    def _plan(self) -> Plan:
        """Plan the query. The user's functions are registered only while the query is planned."""
        missing = {name: f for name, f in self.functions.items() if name not in OWN}
        OWN.update(missing)
        try:
            question = self.question
            return plan_question(question, Sources(question.asked, opened=question.sources))
        finally:
            for name in missing:
                del OWN[name]


class Distributed:
    """Computes expressions with an executor.

    Parameters
    ----------
    question : Question
        The query, with its sources, seed and time.
    executor : int or object
        A number of processes, or an executor of another library.
    """

    def __init__(self, question: Question, executor: Any) -> None:
        work = Work(question, dict(OWN))
        try:
            if isinstance(executor, int):
                with spreading_credentials():
                    self._executor: Processes | Remote = Processes(work, executor, QueryError)
            else:
                self._executor = Remote(work, executor, QueryError)
        except LakeError:
            raise
        except Exception as error:  # pickling functions and types may raise anything
            raise OptionError(
                "The query cannot be sent to the workers of executor=, because pickling failed: "
                f"{str(error).rstrip('.')}. Define functions and types in a module, install "
                "cloudpickle, or leave out executor=."
            ) from error

    def close(self) -> None:
        """Stop the tasks."""
        self._executor.close()

    def compute(
        self, instance: Instance, name: str, rows: NDArray[Any], report: Callable[[int], None]
    ) -> Block:
        """Return the values of a precomputed column for some rows of a source.

        Raises
        ------
        JobError
            If workers keep dying.
        """
        size = min(MAX_ROWS, max(MIN_ROWS, -(-len(rows) // PARTS)))
        todo = iter([Task(instance.table, name, rows[span]) for span in spans(len(rows), size)])
        running, parts, done = deque[tuple[Task, Any]](), list["Block"](), 0
        while True:
            while len(running) < self._executor.window and (task := next(todo, None)) is not None:
                running.append((task, self._submit(task)))
            if not running:
                break
            values = self._outcome(*running.popleft())
            instance.source.tally.bytes += values.nbytes
            parts.append(values.block)
            done += len(values.block)
            report(done)
        if not parts:
            tree = instance.precomputed[name]
            return evaluate(tree, dict.fromkeys(keys(tree), rows), 0)
        return parts[0] if len(parts) == 1 else join(parts)

    def _submit(self, task: Task) -> Any:
        try:
            return self._executor.submit(task)
        except LostError as error:
            raise JobError(
                f"The executor {self._executor.kind} did not accept a task: {error}. Run the "
                "query again with a working executor."
            ) from error

    def _outcome(self, task: Task, future: Any) -> Values:
        """Wait for a task. If its worker died, try the task again."""
        while True:
            interrupt.check()
            try:
                values: Values = self._executor.outcome(future)
            except LostError as error:
                task = replace(task, attempt=task.attempt + 1)
                if task.attempt == MAX_LOSSES:
                    raise JobError(
                        f"Workers died in {MAX_LOSSES} attempts at computing {len(task.rows):,} "
                        f"rows of the query; the last time, {error}. If they ran out of memory, "
                        "use fewer workers."
                    ) from error
                future = self._submit(task)
            else:
                return values
