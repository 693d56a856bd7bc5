"""Time measurement during an epoch: how long each stage takes, and how long the user waits.

The user is the code that iterates over a loader. From getting a batch until asking for the next
batch, the user is away. A task is the work of one worker on a few batches. The meter is notified
when the user leaves and comes back, and when a task begins and ends. A worker without a task waits
for the user while the user is away, and for the hand-over otherwise. The total of both waiting
times over all workers follows from the times of the tasks alone, so it does not matter which worker
runs which task.
"""

from __future__ import annotations

import sys
import threading
from collections import defaultdict, deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from deeplake_lite.loader import clock
from deeplake_lite.loader.report.stats import STAGES, Stats
from deeplake_lite.loader.tree import nbytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.loader.make.recipe import BatchResult
    from deeplake_lite.loader.read.tally import Tally

TASK_STAGES = STAGES[:4]
"""The stages whose seconds are measured by tasks. The other stages are waiting times."""

MAX_EPOCHS = 100
"""Number of recent epochs whose statistics are kept separately."""


class Meter:
    """Measures one epoch.

    Parameters
    ----------
    epoch : int
        Number of the epoch.
    workers : int
        Number of threads or processes that make batches, at least 1.
    tally : Tally
        Counters of reads and of memory.
    began : float, optional
        Time at which the epoch began. By default, now.
    max_tasks : int, optional
        Maximum number of concurrent tasks. Worker processes have more tasks than workers: while a
        worker runs one task, another task waits for it.
    """

    def __init__(
        self,
        epoch: int,
        workers: int,
        tally: Tally,
        began: float | None = None,
        max_tasks: int | None = None,
    ) -> None:
        self._epoch, self._workers, self._tally = epoch, max(1, workers), tally
        self._tasks = self._max_tasks = max(1, self._workers if max_tasks is None else max_tasks)
        self._counts = tally.counts
        tally.reset_peak()
        self._began = clock.now() if began is None else began
        self._ended = 0.0
        # Seconds that the user has been away before, and the time at which the user left, or 0 if
        # the user is not away. One tuple, so that other threads read both numbers atomically.
        self._gone: tuple[float, float] = (0.0, 0.0)
        self._lock = threading.Lock()
        self._seconds: dict[str, float] = defaultdict(float)
        self._busy = self._busy_away = 0.0
        self._open: dict[int, tuple[float, float]] = {}
        self._waiting_bytes: dict[int, int] = {}
        self._samples = self._batches = 0

    # ---- the user

    def leave(self, number: int, rows: int) -> None:
        """Record that the user gets a batch, and starts to work on it."""
        self._samples += rows
        self._batches += 1
        self._tally.hold(-self._waiting_bytes.pop(number, 0))
        self._gone = self._gone[0], clock.now()

    def back(self) -> None:
        """Record that the user asks for the next batch."""
        before, since = self._gone
        if since:
            self._gone = before + clock.now() - since, 0.0

    def _away(self, now: float) -> float:
        """Return the number of seconds until `now` in which the user was away."""
        before, since = self._gone
        return before + max(0.0, now - since) if since else before

    # ---- the workers

    def limit(self, tasks: int) -> None:
        """Set the number of concurrent tasks that fit in memory, at most `max_tasks`."""
        self._tasks = max(1, min(self._max_tasks, tasks))

    def begin(self, task: int, now: float | None = None) -> None:
        """Record that a worker begins a task, identified by the number of its first batch."""
        now = clock.now() if now is None else now
        with self._lock:
            self._open[task] = now, self._away(now)

    def end(self, task: int, results: Sequence[BatchResult], now: float | None = None) -> None:
        """Record the end of a task, identified as in `begin`, and the batches that it made."""
        now = clock.now() if now is None else now
        away = self._away(now)
        size = nbytes(results[0].batch) if results else 0
        with self._lock:
            if self._ended:
                return
            began, away_then = self._open.pop(task)
            self._busy += now - began
            self._busy_away += away - away_then
            for result in results:
                for stage, spent in result.seconds.items():
                    self._seconds[stage] += spent
                self._waiting_bytes[task] = size
                task += 1
        self._tally.hold(size * len(results))

    def stop(self) -> None:
        """Record that the epoch has ended, or was abandoned."""
        self.back()
        with self._lock:
            self._ended = clock.now()
            left = sum(self._waiting_bytes.values())
            self._waiting_bytes.clear()
        self._tally.hold(-left)

    # ---- results

    def stats(self) -> Stats:
        """Return the statistics of the epoch so far.

        The time of unfinished tasks is divided among the stages as it is for finished tasks.
        """
        with self._lock:
            now = self._ended or clock.now()
            away = self._away(now)
            seconds, busy, busy_away = dict(self._seconds), self._busy, self._busy_away
            open_ = list(self._open.values())
        unfinished = sum(now - began for began, _ in open_)
        unfinished_away = sum(away - then for _, then in open_)
        scale = 1 + unfinished / busy if busy else 1.0
        wall = now - self._began
        spent = _divide(
            {stage: seconds.get(stage, 0.0) * scale for stage in TASK_STAGES},
            gaps=self._tasks * away - busy_away - unfinished_away,
            busy=busy + unfinished,
            wall=wall,
            workers=self._workers,
            tasks=self._tasks,
        )
        c, d = self._tally.counts, self._counts
        return Stats(
            **cast("Any", spent),
            wall=wall,
            stall=wall - away,
            samples=self._samples,
            batches=self._batches,
            reads=c.reads - d.reads,
            reading=c.reading - d.reading,
            bytes_read=c.bytes - d.bytes,
            rows_read=c.rows - d.rows,
            asked=c.asked - d.asked,
            missed=c.missed - d.missed,
            peak_bytes=self._tally.peak,
            rss_bytes=peak_rss(),
            workers=self._workers,
            epoch=self._epoch,
        )


class Meters:
    """The meters of all epochs of a loader."""

    def __init__(self) -> None:
        self._before = Stats()
        self._past: deque[Stats] = deque()
        self._running: list[Meter] = []

    def begin(self, meter: Meter) -> Meter:
        """Add the meter of an epoch that begins, and return it."""
        self._running.append(meter)
        return meter

    def stop(self, meter: Meter) -> None:
        """Stop the meter of an epoch, unless it is stopped already, and keep its statistics."""
        if meter not in self._running:
            return
        self._running.remove(meter)
        meter.stop()
        self._past.append(meter.stats())
        if len(self._past) > MAX_EPOCHS:
            self._before = Stats.total([self._before, self._past.popleft()])

    def stop_all(self) -> None:
        """Stop the meters of all epochs."""
        for meter in list(self._running):
            self.stop(meter)

    def stats(self) -> Stats:
        """Return the statistics of all epochs, including epochs that still run."""
        epochs = (*self._past, *(meter.stats() for meter in self._running))
        return replace(Stats.total([self._before, *epochs]), epochs=epochs)


def _divide(
    measured: dict[str, float], *, gaps: float, busy: float, wall: float, workers: int, tasks: int
) -> dict[str, float]:
    """Return the seconds that the average worker spent in each stage.

    A worker that does not decode, transform or collate is idle. The idle time of all workers is
    divided among the stages "read", "hand_over" and "waiting", in proportion to the measured times
    in which tasks wait for reads, tasks wait for the hand-over, and task slots have no task. With
    one task per worker, the results are the measured times. With several tasks per worker, a task
    also waits for the worker to finish another task, which is not idle time of the worker.

    Parameters
    ----------
    measured : dict
        Seconds in the stages that tasks measure, summed over all tasks.
    gaps : float
        Seconds in which the user was away and a task slot had no task, summed over all slots.
    busy : float
        Seconds in which a task slot had a task, summed over all slots.
    wall : float
        Seconds since the epoch began.
    workers, tasks : int
        Number of workers, and number of task slots. A slot has one task at a time.

    Examples
    --------
    >>> measured = {"read": 1.0, "decode": 4.0, "transform": 0.0, "collate": 0.0}
    >>> seconds = _divide(measured, gaps=2.0, busy=6.0, wall=5.0, workers=2, tasks=2)
    >>> {stage: round(s, 2) for stage, s in seconds.items()}
    {'read': 0.5, 'decode': 2.0, 'transform': 0.0, 'collate': 0.0, 'hand_over': 1.5, 'waiting': 1.0}
    """
    work = {stage: s for stage, s in measured.items() if stage != "read"}
    working = sum(work.values())
    gaps = max(0.0, gaps)
    unmeasured = max(0.0, busy - measured["read"] - working)  # time of tasks outside of all stages
    if tasks > workers:
        unmeasured = max(0.0, unmeasured - working)
    over = max(0.0, tasks * wall - busy - gaps) + unmeasured
    reasons = {"read": measured["read"], "hand_over": over, "waiting": gaps}
    scale = max(0.0, workers * wall - working) / (sum(reasons.values()) or 1.0)
    idle = {stage: s * scale for stage, s in reasons.items()}
    return {stage: (work | idle)[stage] / workers for stage in STAGES}


def peak_rss() -> int:
    """Return the peak memory of this process in bytes, or 0 if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else int(peak) * 1024
