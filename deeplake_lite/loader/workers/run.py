"""One epoch under way: what is being read, what is being made, and what is ready."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import LoaderError
from deeplake_lite.htypes.cells import DenseCells
from deeplake_lite.loader import clock
from deeplake_lite.loader.make.recipe import Job, CachedRows, BatchResult
from deeplake_lite.loader.memory import limit_spare
from deeplake_lite.loader.order.places import Task, positions_of
from deeplake_lite.loader.read.blocks import Request
from deeplake_lite.loader.read.readers import CLOSED
from deeplake_lite.loader.read.samples import ROW_ID, UNKNOWN
from deeplake_lite.loader.tree import nbytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import ThreadPoolExecutor

    from deeplake_lite.loader.make.decoded_cache import DecodedCache
    from deeplake_lite.loader.make.recipe import Recipe
    from deeplake_lite.loader.order.order import Order
    from deeplake_lite.loader.order.places import Places
    from deeplake_lite.loader.order.shares import Shares
    from deeplake_lite.loader.read.blocks import Blocks
    from deeplake_lite.loader.read.samples import Samples
    from deeplake_lite.loader.report.meter import Meter
    from deeplake_lite.loader.workers.processes import WorkerPool

AHEAD = 2
"""Batches per worker that are made before they are asked for."""

READ_AHEAD_BYTES = 128 * 2**20
"""Stored size of the rows that are read before they are needed."""

SHORT_TASK = 0.001
"""Seconds: batches that take less are made several at a time."""

MOST_BATCHES = 64
"""Batches that are made at a time."""

GROWTH = 32
"""How much larger batches may be than they are stored, until the first of them is made."""


type Done = tuple[Sequence[BatchResult], Exception | None]
"""Batches up to the first that failed, and its error."""


@dataclass(frozen=True)
class Pipeline:
    """What a loader makes batches with."""

    samples: Samples
    """What is read."""
    shares: Shares
    """How an epoch is cut into batches."""
    blocks: Blocks
    """Rows as they are read and held."""
    pool: ThreadPoolExecutor
    """Threads that make batches, or wait for the processes that do."""
    maker: WorkerPool | Recipe
    """Who makes batches."""
    decoded: DecodedCache | None
    """Pixels of earlier epochs."""
    threads: int
    """How many make batches; 0 for whoever asks."""
    room: int
    """Bytes for rows that are read ahead, and as many for batches that are made ahead."""
    copies: int
    """How often a batch is in memory while it is made: twice on its way between processes."""
    convert: Callable[[Any], Any]
    """Brings a batch to what a framework takes."""


class Run:
    """One epoch under way: what is being read, what is being made."""

    def __init__(
        self, works: Pipeline, places: Places, coming: Order, first: int, epoch: int, meter: Meter
    ) -> None:
        self._pipeline, self._meter = works, meter
        self._places, self._coming, self._epoch = places, coming, epoch
        self._read = self._next = first
        self._requests: deque[tuple[Request, int]] = deque()
        self._pending: deque[Future[Done]] = deque()
        self._here: deque[BatchResult] = deque()
        self._stopped = False
        shares, samples = works.shares, works.samples
        self._total = len(shares)
        stored, threads = max(1.0, samples.row_bytes * shares.batch_size), max(1, works.threads)
        in_memory = works.blocks.mode in ("whole", "disk")  # rows are there, whoever uses them
        least = AHEAD * threads if in_memory else 1
        most = min(READ_AHEAD_BYTES, works.room)
        self._ahead = int(max(least, min(most / stored, 512)))
        self._stored = 0.0 if in_memory else stored
        self._largest, self._group = 0, 1
        self._most = threads if stored * GROWTH <= works.room else 1
        self._outstanding: set[Request] = set()
        limit_spare(works.room)

    def batches(self) -> Iterator[BatchResult]:
        """Yield the batches in order, up to the first that fails. Raises its error."""
        while True:
            self._fill()
            if not self._pending:
                return
            made, error = self._finished(self._pending.popleft())
            self._here.extend(made)
            while self._here:
                yield self._here.popleft()
            if error is not None:
                raise error

    def _finished(self, task: Future[Done]) -> Done:
        """Wait for some batches; what goes wrong once the loader was closed is due to that."""
        try:
            made, error = task.result()
        except CancelledError:
            raise LoaderError(CLOSED) from None
        return made, LoaderError(CLOSED) if error is not None and self._stopped else error

    @property
    def ready(self) -> bool:
        """Whether the next batch is made, so that nobody waits for it."""
        if self._here or not self._pending:
            return bool(self._here)
        first = self._pending[0]
        if not first.done() or first.cancelled() or first.exception() is not None:
            return False
        return first.result()[1] is None

    def stop(self) -> None:
        """Drop what has not begun."""
        self._stopped = True
        for future in list(self._pending):  # another thread may be going through the batches
            future.cancel()
        for request, _ in list(self._requests):
            if request.alone is not None:
                request.alone.cancel()

    def forget(self) -> None:
        """Let go of rows that were read ahead for batches that are not made any more."""
        for request in list(self._outstanding):
            self._release(request)

    def _release(self, request: Request) -> None:
        self._outstanding.discard(request)
        self._pipeline.blocks.release(request)

    def _fill(self) -> None:
        """Begin to read, and to make, what comes next. Raises LoaderError once it was stopped."""
        if self._stopped:
            raise LoaderError(CLOSED)
        try:
            self._begin()
        except RuntimeError:  # what closes the loader in another thread takes no more tasks
            if self._stopped:
                raise LoaderError(CLOSED) from None
            raise

    def _begin(self) -> None:
        while len(self._pending) < self._most and self._next < self._total:
            count = min(self._group, self._total - self._next)
            self._read_ahead(count if self._pipeline.threads else self._ahead)
            if self._read > self._next:
                requests = [
                    self._requests.popleft() for _ in range(min(count, len(self._requests)))
                ]
                count = len(requests)
            else:
                requests, self._read = [], self._next + count
            task = Task(self._next, count)
            self._next += count
            if self._pipeline.threads:
                self._pending.append(self._pipeline.pool.submit(self._make, task, requests))
            else:
                future: Future[Done] = Future()
                future.set_result(self._make(task, requests))
                self._pending.append(future)
                return
        self._read_ahead(self._ahead)  # now that threads have work

    def _read_ahead(self, count: int) -> None:
        """Begin to read the rows of the next batches, unless all rows are in memory."""
        if self._pipeline.blocks.complete:
            return
        shares = self._pipeline.shares
        while self._read < min(self._total, self._next + count):
            positions, own = positions_of(self._places, shares, self._read)
            done = self._next * shares.size
            request = self._pipeline.blocks.request(positions, self._places.order, done, self._coming)
            self._requests.append((request, own))
            if request.alone is not None:
                self._outstanding.add(request)
            self._read += 1

    def _make(self, task: Task, requests: list[tuple[Request, int]]) -> Done:
        """Make some batches, and tell how long it took: in a worker's thread."""
        made: Sequence[BatchResult] = []
        self._meter.begin(task.first)
        try:
            made, error = self._make_each(task, requests)
        finally:
            self._meter.end(task.first, made)
        return made, error

    def _make_each(self, task: Task, requests: list[tuple[Request, int]]) -> Done:
        """Make batches up to the first that fails."""
        started = clock.now()
        for number in range(task.first, task.first + task.count if not requests else 0):
            positions, own = positions_of(self._places, self._pipeline.shares, number)
            requests.append((Request(positions), own))
        try:
            jobs, waited, unread = self._taken(requests)
            made, error = self._made(jobs, requests)
        finally:
            for request, _ in requests:
                self._release(request)
        for batch, seconds in zip(made, waited, strict=False):
            batch.seconds["read"] = seconds
        made, refused = self._convert(made)
        spent = (clock.now() - started) / task.count
        if spent < SHORT_TASK:
            self._group = min(MOST_BATCHES, self._group * 2)
        elif spent > 2 * SHORT_TASK:
            self._group = max(1, self._group // 2)
        self._settle(made)
        return made, refused or error or unread

    def _convert(self, made: Sequence[BatchResult]) -> Done:
        """Bring batches to what a framework takes, up to the first that it refuses."""
        for number, one in enumerate(made):
            try:
                if one.batch is not None:
                    one.batch = self._pipeline.convert(one.batch)
            except Exception as error:
                return made[:number], error
        return made, None

    def _settle(self, made: Sequence[BatchResult]) -> None:
        """Decide how many batches are made ahead, by the largest so far and its rows as stored."""
        self._largest = max([self._largest, 1, *(nbytes(one.batch) for one in made[:1])])
        each = (self._largest + self._stored) * self._pipeline.copies
        most = max(1, int(self._pipeline.room // each))
        self._group = min(self._group, most)
        self._most = max(1, min(AHEAD * max(1, self._pipeline.threads), most // self._group))
        self._meter.limit(self._most)

    def _taken(
        self, requests: list[tuple[Request, int]]
    ) -> tuple[list[Job], list[float], Exception | None]:
        """Wait for the rows of some batches, up to the first that cannot be read."""
        jobs: list[Job] = []
        waited: list[float] = []
        decoded = self._pipeline.decoded
        for request, own in requests:
            began = clock.now()
            kept = None if decoded is None else CachedRows(decoded, request.positions)
            try:
                cells = self._pipeline.blocks.take(request)
                jobs.append(Job(cells, own, self._pipeline.samples.where(request.positions), kept))
            except Exception as error:
                return jobs, waited, error
            waited.append(clock.now() - began)
        return jobs, waited, None

    def _made(self, jobs: list[Job], requests: list[tuple[Request, int]]) -> Done:
        """Make batches; the ids of rows are looked up where one fails and they are not known."""
        made, error = self._pipeline.maker.make_all(jobs, self._epoch)
        if not isinstance(error, LoaderError) or error.row_id != UNKNOWN:
            return made, error
        job, (request, _) = jobs[len(made)], requests[len(made)]
        ids = DenseCells(self._pipeline.samples.ids(request.positions))
        _, told = self._pipeline.maker.make_all(
            [replace(job, cells={**job.cells, ROW_ID: ids})], self._epoch
        )
        return made, told or error  # what fails once may not fail again: the batch is not there
