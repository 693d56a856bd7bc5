"""The run of one epoch: it reads rows ahead, makes batches in parallel, and yields the batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deeplake_lite.errors import LoaderError
from deeplake_lite.htypes.cells import DenseCells
from deeplake_lite.loader import clock
from deeplake_lite.loader.make.recipe import BatchResult, CachedRows, Job
from deeplake_lite.loader.memory import limit_spare
from deeplake_lite.loader.order.epoch import Task, passes_of, positions_of
from deeplake_lite.loader.read.blocks import Request
from deeplake_lite.loader.read.readers import CLOSED
from deeplake_lite.loader.read.samples import ROW_ID, UNKNOWN
from deeplake_lite.loader.tree import nbytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import ThreadPoolExecutor

    from deeplake_lite.loader.make.decoded_cache import DecodedCache
    from deeplake_lite.loader.make.recipe import Recipe
    from deeplake_lite.loader.order.epoch import CachedOrder
    from deeplake_lite.loader.order.order import Order
    from deeplake_lite.loader.order.shares import Shares
    from deeplake_lite.loader.read.blocks import Blocks
    from deeplake_lite.loader.read.samples import Samples
    from deeplake_lite.loader.report.meter import Meter
    from deeplake_lite.loader.workers.processes import WorkerPool

AHEAD = 2
"""Number of batches per worker that are made before the user asks for them."""

READ_AHEAD_BYTES = 128 * 2**20
"""Maximum stored size of rows that are read ahead."""

SHORT_TASK = 0.001
"""If making a batch takes fewer seconds than this, several batches are made in one task."""

MAX_BATCHES = 64
"""Maximum number of batches in one task."""

GROWTH = 32
"""Assumed ratio of a batch's size to the stored size of its rows, until the first batch is made."""


type Results = tuple[Sequence[BatchResult], Exception | None]
"""The batches that were finished before a batch failed, and the error, or None if none failed."""


@dataclass(frozen=True)
class Pipeline:
    """The parts of a loader that turn rows into batches."""

    samples: Samples
    """Rows to load."""
    shares: Shares
    """Division of an epoch into batches."""
    blocks: Blocks
    """Reads the rows ahead and holds them."""
    pool: ThreadPoolExecutor
    """Threads that make batches, or that wait for the worker processes to make them."""
    maker: WorkerPool | Recipe
    """Makes the batches, in worker processes or in the calling thread."""
    decoded_cache: DecodedCache | None
    """Decoded pixels of earlier epochs."""
    threads: int
    """Number of threads or processes that make batches; 0 for the calling thread."""
    ahead_bytes: int
    """Maximum size in bytes of rows that are read ahead, and of batches prepared ahead."""
    copies: int
    """Number of copies of a batch in memory while it is made; 2 if worker processes make it."""
    convert: Callable[[object], object]
    """Converts a batch to the arrays of a framework."""


class Run:
    """The run of one epoch, which reads rows ahead and makes batches in parallel.

    Parameters
    ----------
    pipeline : Pipeline
        Parts that turn rows into batches.
    order : CachedOrder
        The order of this epoch.
    next_order : Order
        The order of the next epoch, which determines the blocks to hold until then.
    first : int
        Number of the first batch to make.
    epoch : int
        Number of the epoch.
    meter : Meter
        Measures the time of the stages.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        order: CachedOrder,
        next_order: Order,
        first: int,
        epoch: int,
        meter: Meter,
    ) -> None:
        self._pipeline, self._meter = pipeline, meter
        self._order, self._next_order, self._epoch = order, next_order, epoch
        self._read = self._next = first  # numbers of the next batch to read and of the next to make
        self._requests: deque[tuple[Request, int]] = deque()
        self._pending: deque[Future[Results]] = deque()
        self._finished: deque[BatchResult] = deque()
        self._stopped = False
        shares, samples = pipeline.shares, pipeline.samples
        self._total = len(shares)
        stored, threads = max(1.0, samples.row_bytes * shares.batch_size), max(1, pipeline.threads)
        # If blocks stay after they are read, reading ahead takes no extra memory.
        in_memory = pipeline.blocks.stays
        least = AHEAD * threads if in_memory else 1
        most = min(READ_AHEAD_BYTES, pipeline.ahead_bytes)
        self._ahead = int(max(least, min(most / stored, 512)))
        self._stored = 0.0 if in_memory else stored
        self._largest, self._group = 0, 1
        self._most = threads if stored * GROWTH <= pipeline.ahead_bytes else 1
        self._outstanding: set[Request] = set()
        limit_spare(pipeline.ahead_bytes)

    def batches(self) -> Iterator[BatchResult]:
        """Yield the batches in order. If a batch fails, raise its error."""
        while True:
            self._fill()
            if not self._pending:
                return
            results, error = self._wait_for(self._pending.popleft())
            self._finished.extend(results)
            while self._finished:
                yield self._finished.popleft()
            if error is not None:
                raise error

    def _wait_for(self, task: Future[Results]) -> Results:
        """Wait for a task, and return its batches. After `stop`, any error says `CLOSED`."""
        try:
            results, error = task.result()
        except CancelledError:
            raise LoaderError(CLOSED) from None
        return results, LoaderError(CLOSED) if error is not None and self._stopped else error

    @property
    def ready(self) -> bool:
        """Whether the next batch is finished, so that `batches` yields it without waiting."""
        if self._finished or not self._pending:
            return bool(self._finished)
        first = self._pending[0]
        if not first.done() or first.cancelled() or first.exception() is not None:
            return False
        return first.result()[1] is None

    def stop(self) -> None:
        """Cancel tasks and reads that have not begun."""
        self._stopped = True
        for future in list(self._pending):  # another thread may be going through the batches
            future.cancel()
        for request, _ in list(self._requests):
            if request.alone is not None:
                request.alone.cancel()

    def forget(self) -> None:
        """Release rows that were read ahead for batches that will not be made."""
        for request in list(self._outstanding):
            self._release(request)

    def _release(self, request: Request) -> None:
        self._outstanding.discard(request)
        self._pipeline.blocks.release(request)

    def _fill(self) -> None:
        """Start to read and make the next batches. Raises LoaderError after `stop`."""
        if self._stopped:
            raise LoaderError(CLOSED)
        try:
            self._start_tasks()
        except RuntimeError:  # the pools reject tasks if another thread is closing the loader
            if self._stopped:
                raise LoaderError(CLOSED) from None
            raise

    def _start_tasks(self) -> None:
        """Start tasks until `_most` are pending, and then read further ahead."""
        while len(self._pending) < self._most and self._next < self._total:
            count = min(self._group, self._total - self._next)
            # At first, only the rows of this task are requested, so that a thread can begin the
            # task as early as possible.
            self._read_ahead(count if self._pipeline.threads else self._ahead)
            # Once all rows are in memory, nothing is read ahead, and the task looks up its rows.
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
                future: Future[Results] = Future()
                future.set_result(self._make(task, requests))
                self._pending.append(future)
                return
        self._read_ahead(self._ahead)

    def _read_ahead(self, count: int) -> None:
        """Request the rows of the next `count` batches, unless all rows are in memory."""
        if self._pipeline.blocks.complete:
            return
        shares = self._pipeline.shares
        while self._read < min(self._total, self._next + count):
            positions, unpadded = positions_of(self._order, shares, self._read)
            done = self._next * shares.size
            request = self._pipeline.blocks.request(
                positions, self._order.order, done, self._next_order
            )
            self._requests.append((request, unpadded))
            if request.alone is not None:
                self._outstanding.add(request)
            self._read += 1

    def _make(self, task: Task, requests: list[tuple[Request, int]]) -> Results:
        """Make the batches of a task, and measure the time. Runs in a thread of the pool."""
        results: Sequence[BatchResult] = []
        self._meter.begin(task.first)
        try:
            results, error = self._make_each(task, requests)
        finally:
            self._meter.end(task.first, results)
        return results, error

    def _make_each(self, task: Task, requests: list[tuple[Request, int]]) -> Results:
        """Make the batches of a task until a batch fails, and adapt the size of tasks."""
        started = clock.now()
        for number in range(task.first, task.first + task.count if not requests else 0):
            positions, unpadded = positions_of(self._order, self._pipeline.shares, number)
            requests.append((Request(positions), unpadded))
        try:
            jobs, waits, read_error = self._wait_for_rows(task, requests)
            results, error = self._make_batches(jobs, requests)
        finally:
            for request, _ in requests:
                self._release(request)
        for result, seconds in zip(results, waits, strict=False):
            result.seconds["read"] = seconds
        results, convert_error = self._convert(results)
        spent = (clock.now() - started) / task.count
        if spent < SHORT_TASK:
            self._group = min(MAX_BATCHES, self._group * 2)
        elif spent > 2 * SHORT_TASK:
            self._group = max(1, self._group // 2)
        self._limit_tasks(results)
        return results, convert_error or error or read_error  # in the order of the batches

    def _convert(self, results: Sequence[BatchResult]) -> Results:
        """Convert batches to the arrays of a framework until a conversion fails."""
        for number, result in enumerate(results):
            try:
                if result.batch is not None:
                    result.batch = self._pipeline.convert(result.batch)
            except Exception as error:
                return results[:number], error
        return results, None

    def _limit_tasks(self, results: Sequence[BatchResult]) -> None:
        """Limit how many batches are prepared ahead, so that they and their rows fit in memory."""
        self._largest = max([self._largest, 1, *(nbytes(first.batch) for first in results[:1])])
        each = (self._largest + self._stored) * self._pipeline.copies
        most = max(1, int(self._pipeline.ahead_bytes // each))
        self._group = min(self._group, most)
        self._most = max(1, min(AHEAD * max(1, self._pipeline.threads), most // self._group))
        self._meter.limit(self._most)

    def _wait_for_rows(
        self, task: Task, requests: list[tuple[Request, int]]
    ) -> tuple[list[Job], list[float], Exception | None]:
        """Wait for the rows of a task's batches until a read fails.

        Return the jobs with these rows, the seconds of waiting for each job, and the error or None.
        """
        jobs: list[Job] = []
        waits: list[float] = []
        cache = self._pipeline.decoded_cache
        for number, (request, unpadded) in enumerate(requests, task.first):
            began = clock.now()
            cached = None if cache is None else CachedRows(cache, request.positions)
            try:
                cells = self._pipeline.blocks.take(request)
                passes = passes_of(self._order, self._pipeline.shares, number)
                where = self._pipeline.samples.where(request.positions, passes)
                jobs.append(Job(cells, unpadded, where, cached))
            except Exception as error:
                return jobs, waits, error
            waits.append(clock.now() - began)
        return jobs, waits, None

    def _make_batches(self, jobs: list[Job], requests: list[tuple[Request, int]]) -> Results:
        """Make batches until a batch fails.

        Row ids are usually not read. If a batch fails, it is made again with its row ids, so that
        the error can name the row.
        """
        results, error = self._pipeline.maker.make_all(jobs, self._epoch)
        if not isinstance(error, LoaderError) or error.row_id != UNKNOWN:
            return results, error
        job, (request, _) = jobs[len(results)], requests[len(results)]
        ids = DenseCells(self._pipeline.samples.ids(request.positions))
        _, error_with_id = self._pipeline.maker.make_all(
            [replace(job, cells={**job.cells, ROW_ID: ids})], self._epoch
        )
        return results, error_with_id or error  # the first error counts even if a retry succeeds
