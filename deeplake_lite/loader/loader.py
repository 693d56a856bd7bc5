"""A view as batches for training: in an exact order, from memory or as it is read.

Steps: the schedule says which rows are in which batch, blocks are read ahead of it, recipes turn
cells into batches in threads or processes, and the batches are handed over in order.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, NoReturn, Self

from deeplake_lite.checks import integer
from deeplake_lite.checks import seconds as as_seconds
from deeplake_lite.errors import ForkedError, LoaderError, OptionError
from deeplake_lite.loader import clock
from deeplake_lite.loader.equipment import Equipment
from deeplake_lite.loader.order.places import Places, Progress
from deeplake_lite.loader.report.explain import Explanation, Situation, explained
from deeplake_lite.loader.report.limit import Limit, decode_limit
from deeplake_lite.loader.report.meter import Meter, Meters
from deeplake_lite.loader.report.progress import bar
from deeplake_lite.loader.report.quality import ShuffleQuality
from deeplake_lite.loader.state import check_state, state_of
from deeplake_lite.loader.workers.processes import check_functions
from deeplake_lite.loader.workers.run import Run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deeplake_lite.dataset.view import View
    from deeplake_lite.loader.make.recipe import Made, Skipped
    from deeplake_lite.loader.mix import Mix
    from deeplake_lite.loader.options import Options
    from deeplake_lite.loader.report.stats import Stats


class Loader(Equipment):
    """Batches of a view, epoch after epoch.

    Loaders come from `View.batches` and its like.

    Parameters
    ----------
    view : View or Mix
        What is loaded, pinned as it is now: later edits change nothing.
    options : Options
        How.
    """

    def __init__(self, view: View | Mix, options: Options) -> None:
        super().__init__(view, options)
        self._progress = Progress(epoch=0)
        self._next_epoch = 0
        self._resumed = False
        self._starting = threading.Lock()
        self._meters = Meters()
        self._skipped: list[Skipped] = []
        self._runs: weakref.WeakSet[Run] = weakref.WeakSet()
        self._pid = os.getpid()
        if options.workers == "processes" and options.threads:
            check_functions(options)
        _loaders.add(self)

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

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Rows that were left out of the epoch that is under way, or was last; in its order.

        Each has `position` (in the view), `row_id`, `column` (None where the transform failed) and
        `error`; of a mix, `source` is the number of the view.
        """
        return tuple(self._skipped)

    def __len__(self) -> int:
        return len(self.shares)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied. Raises LoaderError."""
        raise LoaderError(
            "A loader must stay in the process that made it, and cannot be pickled or copied. "
            "Pickle its view, make a loader of it there, and go on at the same place with "
            "load_state_dict(loader.state_dict())."
        )

    def __repr__(self) -> str:
        s = self.shares
        urls = ", ".join(dict.fromkeys(view.url for view in self._samples.sources))
        count = len(self._skipped)
        skipped = f"\n  skipped  {count:,} rows, see .skipped" if count else ""
        ranks = f" · rank {s.rank} of {s.world_size}" if s.world_size > 1 else ""
        return (
            f"Loader {urls} · {s.n:,} rows in {len(self):,} batches of "
            f"{s.batch_size}{ranks}\n  columns  {', '.join(self.columns)}\n"
            f"  shuffle  {self.shuffle}, seed {self.options.seed}\n"
            f"  memory   {self.options.budget / 2**30:.3g} GiB, cache {self.options.cache!r}, rows "
            f"held {self._holding.mode}\n"
            f"  workers  {self.options.threads} {self.options.workers}{skipped}"
        )

    # ---- going through it

    def __iter__(self) -> Iterator[Any]:
        """Go through the next epoch, or through the rest of the one that was loaded.

        The epoch starts at the first `next`: an iterator that nobody uses takes no epoch and drops
        no loaded state. Several iterators may be used at the same time. Each goes through its own
        epoch, and `state_dict`, `epoch` and `skipped` describe the one that started last.
        """
        yield from self._epoch(*self._started())

    def _started(self) -> tuple[Progress, list[Skipped]]:
        """Start the next epoch, or resume the one that was loaded."""
        with self._starting:
            if self._resumed:
                self._resumed = False
            else:
                self._progress = Progress(epoch=self._next_epoch)
            self._next_epoch = self._progress.epoch + 1
            self._skipped = []
            return self._progress, self._skipped

    def _started_behind(self, skipped: int) -> Iterator[Any]:
        """Start the next epoch, or resume the one that was loaded, some batches later."""
        progress, failed = self._started()
        progress.consumed = min(progress.consumed + skipped * self.shares.size, self.shares.n)
        return self._epoch(progress, failed)

    @property
    def _left(self) -> int:
        """Batches of the next epoch, or of the rest of the one that was loaded."""
        done = self._progress.consumed // self.shares.size if self._resumed else 0
        return max(0, len(self) - done)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch that starts next; one that was loaded is resumed where it was.

        Raises OptionError below 0.
        """
        epoch = integer("epoch", epoch, 0)
        if self._resumed and epoch == self._progress.epoch:
            return
        self._next_epoch, self._resumed = epoch, False
        self._progress = Progress(epoch=epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return where the loader is: what `load_state_dict` goes on from, in any process."""
        return state_of(self._progress, self._samples, self.shuffle, self.options.seed, self.shares)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on behind the samples that had been handed out when a state was taken.

        Raises
        ------
        OptionError
            For the state of another version, view, seed, shuffle or batch of all ranks; it says
            which, and what to set.
        """
        found = check_state(state, self._samples, self.shuffle, self.options.seed, self.shares)
        if found.consumed % self.shares.size and found.consumed != self.shares.n:
            raise OptionError(
                f"A state has consumed whole batches of {self.shares.size} rows, got "
                f"{found.consumed:,}. Load what state_dict() returned, as it was."
            )
        self._progress = found
        self._resumed = self._progress.consumed < self.shares.end
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

    def __enter__(self) -> Self:
        """Return the loader, which is closed at the end of the block.

        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://block-doc", {"x": "int32"})
        >>> ds.append({"x": range(100)})
        >>> with ds.batches(64) as loader:
        ...     print(sum(len(batch["x"]) for batch in loader))
        100
        """
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End threads and processes, and give the memory back. The loader can be used again.

        An epoch that is under way ends with a LoaderError.
        """
        if os.getpid() != self._pid:
            return  # a fork has none of them
        for run in list(self._runs):
            run.stop()
        self._close()

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
        mode, kind = self._holding.mode, self.shuffle.kind
        situation = Situation.of(self._samples, self.options, kind, mode, len(self))
        return explained(self.stats(), situation)

    def decode_limit(self, seconds: float = 1.0) -> Limit:
        """Measure how fast batches could be at best: the decoder alone, on rows in memory.

        Parameters
        ----------
        seconds : float
            How long, at the least a batch per thread.

        Raises
        ------
        OptionError
            Where there are no rows.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://limit-doc", {"x": "int32"})
        >>> ds.append({"x": range(100)})
        >>> ds.batches(50).decode_limit(0.01).samples_per_second > 100
        True
        """
        if not len(self._samples):
            raise OptionError("A decode limit is measured on rows, but there are none. Add some.")
        threads, seconds = max(1, self.options.threads), as_seconds("seconds", seconds)
        return decode_limit(self._samples, self._recipe, self.batch_size, threads, seconds)

    # ---- within

    def _handed_over(self, run: Run) -> Iterator[Made]:
        """Yield batches in order as the user gets them: in the thread that asks for them."""
        return run.batches()

    def _epoch(self, progress: Progress, skipped: list[Skipped]) -> Iterator[Any]:
        self._check_process()
        began = clock.now()
        n, seed, size = self.shares.n, self.options.seed, self.shares.size
        places = Places(self.shuffle.order(n, seed, progress.epoch))
        coming = self.shuffle.order(n, seed, progress.epoch + 1)
        first = progress.consumed // size
        blocks, workers = self._blocks, self.options.threads
        works = self._works  # first: what cannot be made fails here, before anything is measured
        meter = Meter(progress.epoch, workers, blocks.tally, began, self._lanes)
        run = Run(works, places, coming, first, progress.epoch, meter)
        self._meters.begin(meter)
        self._runs.add(run)
        total, given = min(n, len(self) * size), False
        try:
            with bar(progress, total, shown=self.options.progress) as show:
                for number, made in enumerate(self._handed_over(run), first):
                    progress.consumed = min((number + 1) * size, n)
                    skipped += made.skipped
                    show(len(skipped))
                    meter.leave(number, made.rows)
                    if made.batch is not None:
                        given = True
                        yield made.batch
                    meter.back()
            progress.consumed = max(progress.consumed, self.shares.end)
            if skipped and not given and first == 0:
                raise LoaderError(
                    f"on_error='skip' left out every row, all {len(skipped):,} of the epoch. The "
                    f"first, row {skipped[0].position} of its view (row id {skipped[0].row_id}): "
                    f"{skipped[0].error}. See .skipped.",
                    row_id=skipped[0].row_id,
                    column=skipped[0].column,
                    position=skipped[0].position,
                    source=skipped[0].source,
                )
        finally:
            run.stop()
            run.forget()
            self._meters.stop(meter)

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise ForkedError(
                f"A loader works in the process that made it, {self._pid}, got its fork "
                f"{os.getpid()}, where its threads are not. Make the loader there, and start "
                'processes with multiprocessing.get_context("spawn").'
            )


_loaders: weakref.WeakSet[Loader] = weakref.WeakSet()
"""Those whose threads and processes the interpreter is not to wait for when it exits."""


def _close_all() -> None:
    for loader in list(_loaders):
        loader.close()


# the pools of concurrent.futures finish all that they were given before `atexit` begins
threading._register_atexit(_close_all)  # type: ignore[attr-defined]
