"""The clock of an epoch under way: who is at what, and what the user does meanwhile.

Two things are told to it: when the user leaves with a batch and is back for the next, and when a
task begins and ends, with the seconds that its stages took. A worker without a task waits for the
user while the user is away, and for the hand-over while the user waits; summed over all workers,
both follow from the tasks alone, so that it does not matter which worker has made what.
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

OWN = STAGES[:4]
"""Stages that tasks measure themselves."""

MOST_EPOCHS = 100
"""Epochs that are told one by one."""


class Meter:
    """Measures one epoch.

    Parameters
    ----------
    epoch : int
        Its number.
    workers : int
        Who make batches at the same time: threads or processes, at least 1.
    tally : Tally
        What is read and held.
    began : float, optional
        When, if not now.
    lanes : int, optional
        Tasks that may be under way at the same time: more than workers where threads ask worker
        processes, each of which does one task while others wait for it.
    """

    def __init__(
        self,
        epoch: int,
        workers: int,
        tally: Tally,
        began: float | None = None,
        lanes: int | None = None,
    ) -> None:
        self._epoch, self._workers, self._tally = epoch, max(1, workers), tally
        self._lanes = self._most = max(1, self._workers if lanes is None else lanes)
        self._counts = tally.counts
        tally.reset_peak()
        self._began = clock.now() if began is None else began
        self._ended = 0.0
        self._gone: tuple[float, float] = (0.0, 0.0)  # seconds away before, and since when, or 0
        self._lock = threading.Lock()
        self._seconds: dict[str, float] = defaultdict(float)
        self._busy = self._busy_away = 0.0
        self._open: dict[int, tuple[float, float]] = {}
        self._waiting_bytes: dict[int, int] = {}
        self._samples = self._batches = 0

    # ---- the user

    def leave(self, number: int, rows: int) -> None:
        """Note that the user gets a batch, and works on it from now on."""
        self._samples += rows
        self._batches += 1
        self._tally.hold(-self._waiting_bytes.pop(number, 0))
        self._gone = self._gone[0], clock.now()

    def back(self) -> None:
        """Note that the user asks for the next."""
        before, since = self._gone
        if since:
            self._gone = before + clock.now() - since, 0.0

    def _away(self, now: float) -> float:
        """Return how long the user has been away, of all the time until now."""
        before, since = self._gone
        return before + max(0.0, now - since) if since else before

    # ---- the workers

    def limit(self, tasks: int) -> None:
        """Note how many tasks memory has room for: lanes beyond them wait for what is read."""
        self._lanes = max(1, min(self._most, tasks))

    def begin(self, task: int, now: float | None = None) -> None:
        """Note that a worker begins to make batches."""
        now = clock.now() if now is None else now
        with self._lock:
            self._open[task] = now, self._away(now)

    def end(self, task: int, made: Sequence[BatchResult], now: float | None = None) -> None:
        """Note that it has made them, the first of them number `task`; none where it has failed."""
        now = clock.now() if now is None else now
        away = self._away(now)
        size = nbytes(made[0].batch) if made else 0
        with self._lock:
            if self._ended:
                return
            began, away_then = self._open.pop(task)
            self._busy += now - began
            self._busy_away += away - away_then
            for one in made:
                for stage, spent in one.seconds.items():
                    self._seconds[stage] += spent
                self._waiting_bytes[task] = size
                task += 1
        self._tally.hold(size * len(made))

    def stop(self) -> None:
        """Note that the epoch has ended, or was left."""
        self.back()
        with self._lock:
            self._ended = clock.now()
            left = sum(self._waiting_bytes.values())
            self._waiting_bytes.clear()
        self._tally.hold(-left)

    # ---- what came of it

    def stats(self) -> Stats:
        """Return what was measured until now.

        Time in tasks that have not ended is divided among the stages as that of those before.
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
        spent = _divided(
            {stage: seconds.get(stage, 0.0) * scale for stage in OWN},
            gaps=self._lanes * away - busy_away - unfinished_away,
            tasks=busy + unfinished,
            wall=wall,
            workers=self._workers,
            lanes=self._lanes,
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
    """Those of all epochs of a loader."""

    def __init__(self) -> None:
        self._before = Stats()
        self._past: deque[Stats] = deque()
        self._running: list[Meter] = []

    def begin(self, meter: Meter) -> Meter:
        """Note that an epoch is measured."""
        self._running.append(meter)
        return meter

    def stop(self, meter: Meter) -> None:
        """End the measuring of an epoch."""
        meter.stop()
        self._running.remove(meter)
        self._past.append(meter.stats())
        if len(self._past) > MOST_EPOCHS:
            self._before = Stats.total([self._before, self._past.popleft()])

    def stats(self) -> Stats:
        """Return all epochs together, the one under way up to now."""
        epochs = (*self._past, *(meter.stats() for meter in self._running))
        return replace(Stats.total([self._before, *epochs]), epochs=epochs)


def _divided(
    told: dict[str, float], *, gaps: float, tasks: float, wall: float, workers: int, lanes: int
) -> dict[str, float]:
    """Return the seconds of each stage, of the average worker.

    A worker that does not decode, transform or collate is idle, for the reasons for which tasks
    wait, or are not there. Where every lane is a worker, that is what was measured; where several
    lanes lead to one worker, a task that waits for another's work waits for nothing.

    Parameters
    ----------
    told : dict
        Seconds in the stages that tasks measure, of all of them.
    gaps, tasks : float
        Seconds of all lanes without a task while the user was away, and with one.

    Examples
    --------
    >>> told = {"read": 1.0, "decode": 4.0, "transform": 0.0, "collate": 0.0}
    >>> alike = _divided(told, gaps=2.0, tasks=6.0, wall=5.0, workers=2, lanes=2)
    >>> {stage: round(s, 2) for stage, s in alike.items()}
    {'read': 0.5, 'decode': 2.0, 'transform': 0.0, 'collate': 0.0, 'hand_over': 1.5, 'waiting': 1.0}
    """
    work = {stage: s for stage, s in told.items() if stage != "read"}
    busy = sum(work.values())
    gaps = max(0.0, gaps)
    behind = max(0.0, tasks - told["read"] - busy)
    if lanes > workers:
        behind = max(0.0, behind - busy)
    over = max(0.0, lanes * wall - tasks - gaps) + behind
    reasons = {"read": told["read"], "hand_over": over, "waiting": gaps}
    scale = max(0.0, workers * wall - busy) / (sum(reasons.values()) or 1.0)
    idle = {stage: s * scale for stage, s in reasons.items()}
    return {stage: (work | idle)[stage] / workers for stage in STAGES}


def peak_rss() -> int:
    """Return the memory that this process has taken at its most, bytes; 0 where nothing says so."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else int(peak) * 1024
