"""The driver of a job, which hands out tasks, keeps the journal and commits the results."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.repr import bars
from deeplake_lite.errors import JobError, StorageError
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.map.origins import Recorded, find_origin
from deeplake_lite.map.places import ATTEMPTS
from deeplake_lite.map.publish import Published, merge_reports, publish, published_parts
from deeplake_lite.map.publish_rows import publish_rows
from deeplake_lite.map.record import OvertakenError, record_of
from deeplake_lite.map.results import Results
from deeplake_lite.map.work import Done, Task
from deeplake_lite.remote.executor import LostError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.selection import Lake
    from deeplake_lite.map.executors import Executor
    from deeplake_lite.map.journal import Journal
    from deeplake_lite.remote.executor import Future
    from deeplake_lite.storage.repo import Session

MAX_LOSSES = 5
"""Number of workers that may die during attempts at one part before the job stops."""

POLL = 0.1
"""Seconds between checks of whether the job was cancelled."""

RECORD_SECONDS = 2.0
"""Minimum seconds between commits to the journal, so that short parts share a commit."""

RECORD_SHARE = 0.02
"""Share of the job's duration to wait between commits to the journal. Long jobs commit less often,
since every commit makes the lake's list of versions longer."""


@dataclass
class State:
    """The progress of a running job, and whether it should stop; other threads use both."""

    rows: int = 0
    """Number of rows of the job."""
    done: int = 0
    """Number of rows in finished parts, including skipped rows."""
    skipped: int = 0
    """Number of rows that were skipped because of errors."""
    parts: int = 0
    """Number of parts."""
    parts_done: int = 0
    """Number of finished parts."""
    phase: str = "running"
    """``"running"``, ``"committing"``, ``"finished"``, ``"failed"`` or ``"cancelled"``."""
    cancelled: bool = False
    """Whether the job was asked to stop."""
    resumed: int = 0
    """Number of rows that an earlier run had finished."""
    begun: float = field(default_factory=time.monotonic)
    """When this run began, on the monotonic clock."""
    ended: float | None = None
    """When this run ended, or None if it is running."""

    @property
    def seconds(self) -> float:
        """Duration of this run so far, in seconds."""
        return (time.monotonic() if self.ended is None else self.ended) - self.begun

    def end(self, phase: str) -> None:
        """Record the end of the run, with its phase."""
        self.ended, self.phase = time.monotonic(), phase


@dataclass(frozen=True)
class Mapped:
    """The result of a job."""

    version: str
    """Id of the commit with the results, or the branch's tip if there was nothing to write."""
    rows: int
    """Number of rows with results."""
    added: int
    """Number of rows that were added to the lake `rows_into`."""
    resumed: int
    """Number of rows that an earlier run had finished."""
    skipped: dict[int, str] = field(repr=False)
    """Maps the ids of skipped rows to their errors."""
    edited: NDArray[np.int64] = field(repr=False)
    """Ids of rows whose cells other writers changed while the job ran. The other writers' values
    were kept."""
    outdated: NDArray[np.int64] = field(repr=False)
    """Ids of rows whose inputs other writers changed while the job ran. Their results belong to the
    old inputs; ``update=True`` computes them again."""
    deleted: NDArray[np.int64] = field(repr=False)
    """Ids of rows that other writers deleted while the job ran."""
    seconds: float
    """Duration of this run, in seconds."""

    def __repr__(self) -> str:
        counts = {
            "added": self.added,
            "resumed": self.resumed,
            "skipped": len(self.skipped),
            "edited meanwhile": len(self.edited),
            "outdated": len(self.outdated),
            "deleted meanwhile": len(self.deleted),
        }
        more = "".join(f", {n:,} {word}" for word, n in counts.items() if n)
        return f"{pluralize(self.rows, 'row')}{more} in {self.seconds:.1f} s"


@dataclass
class _Attempt:
    """A task that an executor is running."""

    task: Task
    base: Session
    """The session from which the task's fork was made."""
    future: Future


class Driver:
    """Runs one job from its journal to its commit.

    Parameters
    ----------
    base : Dataset
        The version that the job reads.
    lake : Lake
        The lake to which the results are written.
    journal : Journal
        The journal.
    slots : ndarray, (rows,) int64
        Slots of the job's rows in the version that it reads.
    start : callable
        Returns a new executor.
    each : bool
        Whether to commit the results of each part separately.
    visible : bool
        Whether to show a progress bar.
    """

    def __init__(
        self,
        base: Dataset,
        lake: Lake,
        journal: Journal,
        slots: NDArray[np.int64],
        start: Callable[[], Executor],
        *,
        each: bool,
        visible: bool,
    ) -> None:
        self._base, self._lake, self._journal, self._slots = base, lake, journal, slots
        self._ids = base.handle.table.ids(slots)
        self._start_executor, self._each, self._visible = start, each, visible
        self._document = journal.document
        self._kind, self._begun = "none", time.perf_counter()
        self._finished: list[tuple[Done, Session]] = []
        self._recorded = time.monotonic()
        self._losses: dict[int, int] = {}
        self._attempt = journal.next_attempt()
        self._reports: list[Published] = []
        self._published: set[int] = set()
        self._resumed = journal.rows_done
        self.state = State(
            rows=journal.cut.rows,
            done=journal.rows_done,
            skipped=journal.skipped,
            parts=len(journal.cut),
            parts_done=int(journal.done.sum()),
            resumed=journal.rows_done,
        )

    def run(self) -> Mapped:
        """Run the job to its end.

        Raises
        ------
        JobError
            When the function fails, workers keep dying, or the job was cancelled.
        """
        try:
            self._published = published_parts(self._lake, self._document)
            if self._each:
                self._publish_each()
            self._compute()
            self.state.phase = "committing"
            left = self._parts_left(self._journal.done)
            if left or not self._reports:  # a job without rows adds its columns, too
                self._publish(left)
            return self._finish()
        except BaseException as error:
            self.state.end("cancelled" if self.state.cancelled else "failed")
            if isinstance(error, OvertakenError):
                self._journal.delete()
            elif self.state.done:
                error.add_note(
                    f"Finished so far: {self.state.done:,} of {self.state.rows:,} rows. To "
                    "compute the others, run the job again."
                )
            raise

    def _finish(self) -> Mapped:
        """Delete the journal, and return the result."""
        results = Results(self._journal, np.flatnonzero(self._journal.done).tolist())
        branch = self._journal.repository.tip(self._document["branch"])
        report = merge_reports(self._reports, branch)
        self._journal.delete()
        self.state.end("finished")
        return Mapped(
            report.version,
            len(results.rows),
            report.added,
            self._resumed,
            {int(self._ids[row]): error for row, error in results.skipped},
            report.edited,
            report.outdated,
            report.deleted,
            time.perf_counter() - self._begun,
        )

    # ---- computing

    def _compute(self) -> None:
        """Run all parts that are not finished."""
        todo = np.flatnonzero(~self._journal.done).tolist()
        if not todo:
            return
        executor = self._start_executor()
        self._kind = executor.kind
        running: dict[int, _Attempt] = {}
        try:
            with bars.bar(
                f"map {self._document['name']}",
                self.state.rows,
                done=self.state.done,
                visible=self._visible,
            ) as bar:
                for done in self._results(executor, iter(todo), running):
                    bar.update(done.rows + done.skipped)
        finally:
            # The finished parts are recorded before the workers are stopped, as that may fail.
            try:
                self._record()
            finally:
                for attempt in running.values():
                    attempt.future.cancel()
                executor.close()

    def _results(
        self, executor: Executor, todo: Iterator[int], running: dict[int, _Attempt]
    ) -> Iterator[Done]:
        """Submit parts, and yield each part when it is finished."""
        replies = SimpleQueue[int]()

        def submit(part: int) -> None:
            number, self._attempt = self._attempt, self._attempt + 1
            if number >= ATTEMPTS:
                raise JobError(
                    f"A job may make at most {ATTEMPTS:,} attempts at its parts, but this job has "
                    "more parts. Pass a larger batch=, or map a part of the rows with where=."
                )
            task, base = self._task(part, number)
            future = executor.submit(task)
            running[number] = _Attempt(task, base, future)
            future.add_done_callback(lambda _: replies.put(number))

        for part in todo:
            submit(part)
            if len(running) >= executor.window:
                break
        while running:
            if (ended := self._next(replies)) is None:
                continue
            attempt = running.pop(ended)
            try:
                done = executor.outcome(attempt.future)
            except LostError as error:
                self._count_loss(attempt.task, error)
                submit(attempt.task.part)
                continue
            self._add(done, attempt.base)
            for part in islice(todo, 1):
                submit(part)
            yield done

    def _next(self, replies: SimpleQueue[int]) -> int | None:
        """Wait a moment for a task to end; return its number. Raises JobError if cancelled."""
        if self.state.cancelled:
            raise JobError(
                f"The job {self._document['name']!r} was cancelled. Run it again to compute the "
                "remaining rows."
            )
        try:
            return replies.get(timeout=POLL)
        except Empty:
            if self._is_due():
                self._record()
            return None

    def _task(self, part: int, number: int) -> tuple[Task, Session]:
        span, base = self._journal.cut.span(part), self._journal.base()
        return Task(part, number, span.start, self._slots[span], base.saved()), base

    def _count_loss(self, task: Task, error: LostError) -> None:
        losses = self._losses[task.part] = self._losses.get(task.part, 0) + 1
        if losses >= MAX_LOSSES:
            ids = self._ids[self._journal.cut.span(task.part)].tolist()
            raise JobError(
                f"Workers died in {losses} attempts at a part of {pluralize(len(ids), 'row')} (row "
                f"ids {ids[0]} to {ids[-1]}); the last time, {error}. If they ran out of memory, "
                "pass a smaller batch= or fewer workers. If the function ends the process, find "
                "the row by calling the function on these rows.",
                row_ids=ids,
            ) from error

    def _add(self, done: Done, base: Session) -> None:
        """Add a finished part. Commit to the journal if it is time or `each` is set."""
        if done.rows + done.skipped != self._journal.cut.count(done.part):
            raise StorageError(
                f"A worker has returned results of {done.rows + done.skipped:,} rows for a part of "
                f"{self._journal.cut.count(done.part):,}. Use the same release of deeplake-lite on "
                "all workers."
            )
        self._finished.append((done, base))
        self.state.done += done.rows + done.skipped
        self.state.skipped += done.skipped
        self.state.parts_done += 1
        if self._each:
            self._record()
            self._publish_each()
        elif self._is_due():
            self._record()

    def _is_due(self) -> bool:
        """Return whether to commit to the journal now."""
        age = time.monotonic() - self._recorded
        elapsed = time.perf_counter() - self._begun
        return bool(self._finished) and age >= max(RECORD_SECONDS, RECORD_SHARE * elapsed)

    def _record(self) -> None:
        """Commit the finished parts to the journal."""
        if self._finished:
            self._journal.record(self._finished)
            self._finished = []
        self._recorded = time.monotonic()

    # ---- committing

    def _parts_left(self, done: NDArray[np.bool_]) -> list[int]:
        """Return the parts that are done, but whose results are not on the branch yet."""
        return [part for part in np.flatnonzero(done).tolist() if part not in self._published]

    @cached_property
    def _origins(self) -> dict[str, object]:
        """The origins of the input's columns, for the record in another lake, as JSON objects."""
        names = [*self._document["columns"], *self._document["rows_into"]["keep"]]
        recorded = Recorded.of(self._base)
        ids = {name: self._base.field(name).id for name in names}
        origins = {name: find_origin(recorded, name, ids[name]) for name in names}
        return {name: None if o is None else o.to_json() for name, o in origins.items()}

    def _publish_each(self) -> None:
        """Commit the results of each finished part.

        New rows are in the order of the input, so a part with new rows waits for the parts before
        it.
        """
        for part in self._parts_left(self._journal.done):
            if "rows_into" in self._document and len(self._published) < part:
                return
            self._publish([part])

    def _publish(self, parts: Sequence[int]) -> None:
        """Commit the results of some parts."""
        results = Results(self._journal, parts)
        skipped = [(int(self._ids[row]), error) for row, error in results.skipped]
        seconds = time.perf_counter() - self._begun
        listed = None if len(parts) == len(self._journal.cut) else parts
        record: dict[str, Any] = record_of(
            self._document, self._kind, seconds, skipped, listed, len(self._journal.cut)
        )
        message = f"map {self._document['name']}"
        if "rows_into" in self._document:
            record["origins"] = self._origins
            report = publish_rows(self._lake, self._document, parts, results, message, record)
        else:
            table, ids = self._base.handle.table, self._ids
            report = publish(self._lake, self._document, table, ids, results, message, record)
        self._reports.append(report)
        self._published.update(parts)
