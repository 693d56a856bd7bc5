"""A view as batches for training: in an exact order, from memory or as it is read.

Steps: the schedule says which rows are in which batch, blocks are read ahead of it, recipes turn
cells into batches in threads or processes, and the batches are handed over in order.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.values import decode_one
from deeplake_lite.errors import LoaderError
from deeplake_lite.htypes import Image, Mask
from deeplake_lite.htypes.cells import DenseCells
from deeplake_lite.loader.blocks import Blocks, Request
from deeplake_lite.loader.decoded import Decoded
from deeplake_lite.loader.disk import Disk, cache_folder
from deeplake_lite.loader.explain import Explanation, Situation, explained
from deeplake_lite.loader.meter import Meter, Meters
from deeplake_lite.loader.mix import samples_of
from deeplake_lite.loader.options import integer
from deeplake_lite.loader.quality import ShuffleQuality
from deeplake_lite.loader.readers import Readers
from deeplake_lite.loader.recipe import ColumnRecipe, Kept, Made, Recipe
from deeplake_lite.loader.samples import ROW_ID
from deeplake_lite.loader.schedule import Places, Task, positions_of
from deeplake_lite.loader.shares import Shares
from deeplake_lite.loader.state import Progress, check_state
from deeplake_lite.loader.topology import found_rank

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.loader.mix import Mix
    from deeplake_lite.loader.options import Options
    from deeplake_lite.loader.stats import Stats
    from deeplake_lite.schema import Field

AHEAD = 4
"""Batches per worker that are made before they are asked for."""

READ_AHEAD_BYTES = 128 * 2**20
"""Stored size of the rows that are read before they are needed."""

SHORT_TASK = 0.001
"""Seconds: batches that take less are made several at a time."""

MOST_BATCHES = 64
"""Batches that are made at a time."""


class Loader:
    """Batches of a view, epoch after epoch.

    Loaders come from `View.batches` and its like.

    Parameters
    ----------
    view : View or Mix
        What is loaded, pinned as it is now.
    options : Options
        How.
    """

    def __init__(self, view: View | Mix, options: Options) -> None:
        self._samples = samples_of(view, options.columns, with_ids=options.needs_ids)
        self.options = options
        options.check_columns(self._samples.fields)
        rank, world_size = found_rank(options.rank, options.world_size)
        last = options.last or ("uneven" if world_size == 1 else "pad")
        n = self._samples.epoch_rows
        self.shares = Shares(n, options.batch_size, rank, world_size, last)
        self.shuffle = self._samples.shuffled(options.shuffle)
        self._progress = Progress(epoch=0)
        self._next_epoch = 0
        self._resumed = False
        self._meters = Meters()

    # ---- what it is

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns in a batch."""
        return tuple(f.name for f in self._samples.fields)

    @property
    def batch_size(self) -> int:
        """Rows of a batch of this rank."""
        return self.options.batch_size

    @property
    def epoch(self) -> int:
        """The epoch that is under way, or the next."""
        return self._progress.epoch

    def __len__(self) -> int:
        return len(self.shares)

    def __repr__(self) -> str:
        s = self.shares
        urls = ", ".join(dict.fromkeys(view.url for view in self._samples.sources))
        ranks = f" · rank {s.rank} of {s.world_size}" if s.world_size > 1 else ""
        return (
            f"Loader {urls} · {s.n:,} rows in {len(self):,} batches of "
            f"{s.batch_size}{ranks}\n  columns  {', '.join(self.columns)}\n"
            f"  shuffle  {self.shuffle}, seed {self.options.seed}\n"
            f"  memory   {self.options.budget / 2**30:.3g} GiB, cache {self.options.cache!r}, rows "
            f"held {self._blocks.mode}\n"
            f"  workers  {self.options.threads} {self.options.workers}"
        )

    # ---- going through it

    def __iter__(self) -> Iterator[Any]:
        """Go through the next epoch, or through what is left of the one that was loaded."""
        if self._resumed:
            self._resumed = False
        else:
            self._progress = Progress(epoch=self._next_epoch)
        progress = self._progress
        self._next_epoch = progress.epoch + 1
        return self._epoch(progress)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch that the next `iter` goes through. Raises ValueError below 0."""
        epoch = integer("epoch", epoch, 0)
        self._next_epoch, self._resumed = epoch, False
        self._progress = Progress(epoch=epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return where the loader is: what `load_state_dict` goes on from, in any process."""
        return self._progress.to_json(self._samples, self.shuffle, self.options.seed, self.shares)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on behind the samples that had been handed out when a state was taken.

        Raises
        ------
        ValueError
            For the state of another version, view, seed, shuffle or batch of all ranks; it says
            which, and what to set.
        """
        self._progress = check_state(
            state, self._samples, self.shuffle, self.options.seed, self.shares
        )
        whole = len(self.shares) * self.shares.size
        self._resumed = self._progress.consumed < min(whole, self.shares.n)
        self._next_epoch = self._progress.epoch + 1

    def shuffle_quality(self, label: str | None = None) -> ShuffleQuality:
        """Return how well the rows are shuffled: of the epoch under way, or the next.

        Parameters
        ----------
        label : str, optional
            A column whose values should come in no longer runs than by chance; the first of
            classes if left out.

        Returns
        -------
        ShuffleQuality
            Of the first million rows of the epoch at the most.

        Raises
        ------
        ColumnNotFoundError
            For a label that is no column of the loader.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://quality-doc", {"label": dl.ClassLabel(["a", "b"])})
        >>> ds.append({"label": [0] * 500 + [1] * 500})
        >>> ds.batches(50).shuffle_quality()
        ShuffleQuality of 1,000 rows
          rank correlation  1.000 (by chance 0 ± 0.032)
          runs of labels    2 of 'label' (by chance 501)
          pairs of a block  ... blocks of 15 rows (by chance 1.4%)
        >>> ds.batches(50, shuffle=True).shuffle_quality("label")
        ShuffleQuality of 1,000 rows
          rank correlation  -0.000 (by chance 0 ± 0.032)
          runs of labels    499 of 'label' (by chance 501)
          pairs of a block  1.4%, blocks of 15 rows (by chance 1.4%)
        """
        order = self.shuffle.order(self.shares.n, self.options.seed, self.epoch)
        return ShuffleQuality.of(self._samples, order, self.shares.size, label)

    def close(self) -> None:
        """End the threads and give the memory back. The loader can be used again."""
        for name in ("_pool", "_readers", "_blocks", "_decoded"):
            part = self.__dict__.pop(name, None)
            if name == "_pool" and part is not None:
                part.shutdown(wait=False, cancel_futures=True)
            elif name == "_readers" and part is not None:
                part.close()

    # ---- where the time goes

    def stats(self) -> Stats:
        """Return where the time went, of all epochs and of each: see `Stats`.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://seconds-doc", {"x": "int32"})
        >>> ds.append({"x": range(100)})
        >>> loader = ds.batches(16)
        >>> seen = list(loader)
        >>> stats = loader.stats()
        >>> stats.samples, stats.batches, len(stats.epochs)
        (100, 7, 1)
        >>> round(sum(stats.seconds.values()) / stats.wall, 2)
        1.0
        """
        return self._meters.stats()

    def explain(self) -> Explanation:
        """Return what the loader, or whoever uses it, spends most time on, and what would help.

        It is about the epoch under way, or the one before if that has just begun.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://bottleneck-doc", {"x": "int32"})
        >>> ds.append({"x": range(100)})
        >>> print(ds.batches(16).explain())
        Nothing has been loaded yet: go through some batches, and ask again.
        """
        return explained(self.stats(), Situation.of(self))

    # ---- within

    def _converted(self, batch: Any) -> Any:
        """Return a batch as a framework has it: in the thread that made it."""
        return batch

    def _handed_over(self, run: _Run) -> Iterator[Made]:
        """Return the batches of an epoch in order: in the thread that asks for them."""
        return run.batches()

    def _epoch(self, progress: Progress) -> Iterator[Any]:
        began = time.perf_counter()
        n, seed = self.shares.n, self.options.seed
        places = Places(self.shuffle.order(n, seed, progress.epoch))
        coming = self.shuffle.order(n, seed, progress.epoch + 1)
        size = self.shares.size
        first = progress.consumed // size
        blocks, workers = self._blocks, self.options.threads
        meter = self._meters.begin(Meter(progress.epoch, workers, blocks.tally, began))
        run = _Run(self, places, coming, first, progress.epoch, meter)
        try:
            for number, made in zip(itertools.count(first), self._handed_over(run), strict=False):
                progress.consumed = min((number + 1) * size, n)
                meter.leave(number, made.rows)
                yield made.batch
                meter.back()
        finally:
            run.stop()
            blocks.forget()
            self._meters.stop(meter)

    @cached_property
    def _readers(self) -> Readers:
        return Readers()

    @cached_property
    def _blocks(self) -> Blocks:
        window = self.shuffle.window_rows
        if self.shuffle.kind == "none":
            window = self.shares.size * AHEAD
        disk = None
        if self.options.cache == "disk":
            ids = "-ids" if self.options.needs_ids else ""
            disk = Disk(self._samples.fingerprint + ids, cache_folder())
        room = self._room[0] if self.options.cache is not None else 0
        return Blocks(self._samples, self._readers, room, window, disk)

    @cached_property
    def _decoded(self) -> Decoded | None:
        """Pixels of earlier epochs, where they are to be kept."""
        if self.options.cache != "decoded":
            return None
        columns, tally = self._recipe.columns, self._blocks.tally
        return Decoded(columns, len(self._samples), self._room[1], tally)

    @cached_property
    def _room(self) -> tuple[int, int]:
        """Bytes for rows as they are stored, and as they are decoded."""
        most = int(self.options.budget * 0.85)
        if self.options.cache != "decoded":
            return most, 0
        stored = min(int(self._samples.row_bytes * len(self._samples)) + 1, most)
        decoded = max(most - stored, most * 3 // 4)
        return most - decoded, decoded

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.options.threads, thread_name_prefix="deeplake-lite-load")

    @cached_property
    def _recipe(self) -> Recipe:
        o = self.options
        return Recipe(
            {f.name: self._column_recipe(f) for f in self._samples.fields},
            o.seed,
            o.transform,
            o.batch_transform,
            o.collate,
            o.on_error == "skip",
            self._allow,
            o.row_ids,
            self.shares.last == "pad",
        )

    def _column_recipe(self, f: Field) -> ColumnRecipe:
        """Decide how a column becomes part of a batch, by what all its rows have in common."""
        collate, size = self.options.collate_of(f), None
        if isinstance(f.htype, Image):
            size = self.options.size_of(f.name)
        if not isinstance(f.htype, Image | Mask) or f.htype.nullable or not len(self._samples):
            return ColumnRecipe(f.htype, collate=collate, size=size)
        shape = self._samples.shape_of(f)
        if size is None and (shape is None or collate == "list"):
            return ColumnRecipe(f.htype, collate=collate)
        sample = self._first(f)
        if size is not None:
            shape = (*size, *sample.shape[2:])
        return ColumnRecipe(f.htype, shape, collate, size, str(sample.dtype))

    @property
    def _allow(self) -> tuple[str, ...]:
        """Roots under which linked files are read."""
        return self._samples.sources[0]._lake.allow

    def _first(self, f: Field) -> Any:
        """Return the first row's value of a column."""
        cells = self._samples.read(np.zeros(1, np.int64))[f.name]
        return decode_one(f.htype, cells, self._allow)


class _Run:
    """One epoch under way: what is being read, what is being made."""

    def __init__(
        self, loader: Loader, places: Places, coming: Any, first: int, epoch: int, meter: Meter
    ) -> None:
        self._meter = meter
        self._loader, self._places, self._coming, self._epoch = loader, places, coming, epoch
        self._read = self._next = first
        self._requests: deque[tuple[Request, int]] = deque()
        self._pending: deque[Future[list[Made]]] = deque()
        self._here: deque[Made] = deque()
        shares, samples = loader.shares, loader._samples
        self._total = len(shares)
        batch_bytes = max(1.0, samples.row_bytes * shares.batch_size)
        threads = max(1, loader.options.threads)
        self._ahead = int(max(AHEAD * threads, min(READ_AHEAD_BYTES / batch_bytes, 512)))
        self._most = AHEAD * threads
        self._group = 1

    def batches(self) -> Iterator[Made]:
        """Yield the batches in order."""
        while True:
            self._fill()
            if not self._pending:
                return
            self._here.extend(self._pending.popleft().result())
            while self._here:
                yield self._here.popleft()

    @property
    def is_ready(self) -> bool:
        """Whether the next batch is made."""
        return bool(self._here) or bool(self._pending and self._pending[0].done())

    def stop(self) -> None:
        """Drop what has not begun."""
        for future in self._pending:
            future.cancel()

    def _fill(self) -> None:
        """Begin to read, and to make, what comes next."""
        loader = self._loader
        blocks = loader._blocks
        while len(self._pending) < self._most and self._next < self._total:
            if not blocks.complete:
                self._read_ahead()
            count = min(self._group, self._total - self._next)
            if self._read > self._next:
                requests = [
                    self._requests.popleft() for _ in range(min(count, len(self._requests)))
                ]
                count = len(requests)
            else:
                requests, self._read = [], self._next + count
            task = Task(self._next, count)
            self._next += count
            if loader.options.threads:
                self._pending.append(loader._pool.submit(self._make, task, requests))
            else:
                future: Future[list[Made]] = Future()
                future.set_result(self._make(task, requests))
                self._pending.append(future)
                return

    def _read_ahead(self) -> None:
        loader = self._loader
        while self._read < min(self._total, self._next + self._ahead):
            positions, own = positions_of(self._places, loader.shares, self._read)
            done = self._next * loader.shares.size
            request = loader._blocks.request(positions, self._places.order, done, self._coming)
            self._requests.append((request, own))
            self._read += 1

    def _make(self, task: Task, requests: list[tuple[Request, int]]) -> list[Made]:
        """Make some batches, and tell how long it took: in a worker's thread."""
        out: list[Made] = []
        self._meter.begin(task.first)
        try:
            self._make_each(task, requests, out)
        finally:
            self._meter.end(task.first, out)
        return out

    def _make_each(self, task: Task, requests: list[tuple[Request, int]], out: list[Made]) -> None:
        loader = self._loader
        started = time.perf_counter()
        for i in range(task.count):
            if requests:
                request, own = requests[i]
            else:
                positions, own = positions_of(self._places, loader.shares, task.first + i)
                request = Request(positions)
            began = time.perf_counter()
            cells = loader._blocks.take(request)
            waited = time.perf_counter() - began
            made = self._made(cells, request, own)
            made.seconds["read"] = waited
            made.batch = loader._converted(made.batch)
            out.append(made)
        spent = (time.perf_counter() - started) / task.count
        if spent < SHORT_TASK:
            self._group = min(MOST_BATCHES, self._group * 2)
        elif spent > 2 * SHORT_TASK:
            self._group = max(1, self._group // 2)

    def _made(self, cells: dict[str, Cells], request: Request, own: int) -> Made:
        """Make a batch; where a row fails, and the ids are not known, look them up to say which."""
        loader, kept = self._loader, None
        if loader._decoded is not None:
            kept = Kept(loader._decoded, request.positions)
        try:
            return loader._recipe.make(cells, own, self._epoch, kept)
        except LoaderError:
            if ROW_ID in cells:
                raise
            ids = DenseCells(loader._samples.ids(request.positions))
            return loader._recipe.make({**cells, ROW_ID: ids}, own, self._epoch)
