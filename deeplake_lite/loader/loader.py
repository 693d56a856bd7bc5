"""The loader, which yields batches of a view for training, epoch after epoch.

An epoch has four steps: the order of the epoch assigns rows to batches, threads read blocks of rows
before they are needed, recipes turn the cells of these rows into batches in threads or processes,
and the loader yields the batches in order.
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
from deeplake_lite.loader.framework import Framework
from deeplake_lite.loader.order.epoch import CachedOrder, Progress
from deeplake_lite.loader.report.explain import Explanation, Situation, explain_stats
from deeplake_lite.loader.report.limit import Limit, decode_limit
from deeplake_lite.loader.report.meter import Meter, Meters
from deeplake_lite.loader.report.progress import bar
from deeplake_lite.loader.report.quality import ShuffleQuality
from deeplake_lite.loader.resources import Resources
from deeplake_lite.loader.state import check_state, state_of
from deeplake_lite.loader.workers.processes import check_functions
from deeplake_lite.loader.workers.run import Run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deeplake_lite.dataset.view import View
    from deeplake_lite.loader.make.recipe import Skipped
    from deeplake_lite.loader.mix import Mix
    from deeplake_lite.loader.options import Options
    from deeplake_lite.loader.order.shares import Shares
    from deeplake_lite.loader.order.shuffle import Shuffling
    from deeplake_lite.loader.report.stats import Stats


class Loader:
    """Batches of a view, epoch after epoch.

    `View.batches`, `View.pytorch`, `View.tensorflow` and `View.jax` create loaders.

    Parameters
    ----------
    view : View or Mix
        Rows to load, pinned to the current version, so that later edits have no effect.
    options : Options
        The user's options.
    framework : Framework, optional
        Converts the batches. By default, batches consist of NumPy arrays.
    """

    def __init__(
        self, view: View | Mix, options: Options, framework: Framework | None = None
    ) -> None:
        self.resources = Resources(view, options, framework or Framework())
        """The loader's rows, recipe, threads and processes, for code that builds on loaders."""
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

    # ---- properties

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns in a batch."""
        return self.resources.columns

    @property
    def options(self) -> Options:
        """The user's options."""
        return self.resources.options

    @property
    def shares(self) -> Shares:
        """How an epoch is divided into batches."""
        return self.resources.shares

    @property
    def shuffle(self) -> Shuffling:
        """How the rows are shuffled."""
        return self.resources.shuffle

    @property
    def batch_size(self) -> int:
        """Number of rows in a batch of this rank."""
        return self.options.batch_size

    @property
    def epoch(self) -> int:
        """Number of the current or last epoch, or of the first one if none has started."""
        return self._progress.epoch

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Rows that were left out of the current or last epoch, in the epoch's order.

        Each entry has `position` (in the view), `row_id`, `column` (None if the transform failed)
        and `error`. In a mix, `source` is the number of the view.
        """
        return tuple(self._skipped)

    def __len__(self) -> int:
        return len(self.shares)

    def __reduce__(self) -> NoReturn:
        """Raise LoaderError, because a loader has threads and can be neither pickled nor copied."""
        raise LoaderError(
            "A loader must stay in the process that created it, and cannot be pickled or copied. "
            "Pickle its view instead, create a loader from that view in the other process, and "
            "continue at the same position with load_state_dict(loader.state_dict())."
        )

    def __repr__(self) -> str:
        s = self.shares
        urls = ", ".join(dict.fromkeys(view.url for view in self.resources.samples.sources))
        count = len(self._skipped)
        skipped = f"\n  skipped  {count:,} rows, see .skipped" if count else ""
        ranks = f" · rank {s.rank} of {s.world_size}" if s.world_size > 1 else ""
        return (
            f"Loader {urls} · {s.n:,} rows in {len(self):,} batches of "
            f"{s.batch_size}{ranks}\n  columns  {', '.join(self.columns)}\n"
            f"  shuffle  {self.shuffle}, seed {self.options.seed}\n"
            f"  memory   {self.options.budget / 2**30:.3g} GiB, cache {self.options.cache!r}, rows "
            f"held {self.resources.policy.mode}\n"
            f"  workers  {self.options.threads} {self.options.workers}{skipped}"
        )

    # ---- iteration

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the next epoch, or if a state was loaded, over the rest of that epoch.

        The epoch starts at the first `next`, so an unused iterator neither starts an epoch nor uses
        up a loaded state. Several iterators may be used at the same time. Each iterator has its own
        epoch, and `state_dict`, `epoch` and `skipped` describe the epoch that started last.
        """
        self.resources.framework.start()
        yield from self.run_epoch(*self._start_epoch())

    def _start_epoch(self) -> tuple[Progress, list[Skipped]]:
        """Start the next epoch, or resume the epoch of a loaded state."""
        with self._starting:
            if self._resumed:
                self._resumed = False
            else:
                self._progress = Progress(epoch=self._next_epoch)
            self._next_epoch = self._progress.epoch + 1
            self._skipped = []
            return self._progress, self._skipped

    def start_epoch_after(self, skipped: int) -> Iterator[Any]:
        """Start or resume an epoch as `__iter__` does, but skip the first `skipped` batches."""
        progress, failed = self._start_epoch()
        progress.consumed = min(progress.consumed + skipped * self.shares.size, self.shares.n)
        return self.run_epoch(progress, failed)

    @property
    def batches_left(self) -> int:
        """Number of batches of the next epoch, or of the rest of an epoch whose state is loaded."""
        done = self._progress.consumed // self.shares.size if self._resumed else 0
        return max(0, len(self) - done)

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the next epoch. A state that was loaded for another epoch is dropped.

        Raises OptionError for a negative number.
        """
        epoch = integer("epoch", epoch, 0)
        if self._resumed and epoch == self._progress.epoch:
            return
        self._next_epoch, self._resumed = epoch, False
        self._progress = Progress(epoch=epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the loader's position, from which `load_state_dict` continues in any process."""
        return state_of(
            self._progress, self.resources.samples, self.shuffle, self.options.seed, self.shares
        )

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Continue after the samples that had been yielded when the state was taken.

        Raises
        ------
        OptionError
            When the state comes from a loader with another version, view, seed, shuffle or global
            batch size. The message names the difference and a fix.
        """
        progress = check_state(
            state, self.resources.samples, self.shuffle, self.options.seed, self.shares
        )
        if progress.consumed % self.shares.size and progress.consumed != self.shares.n:
            raise OptionError(
                f"A state must end at a whole batch of {self.shares.size} rows, but this state "
                f"has consumed {progress.consumed:,} rows. Load the unchanged result of "
                "state_dict()."
            )
        self._progress = progress
        self._resumed = self._progress.consumed < self.shares.end
        self._next_epoch = self._progress.epoch + 1

    def lineage(self) -> dict[str, Any]:
        """Return where the batches come from, as a JSON object for an experiment tracker.

        Returns
        -------
        dict
            ``columns``, ``rows`` per epoch, ``seed``, ``shuffle``, ``global_batch_size`` and
            ``last`` determine the batches, together with ``sources``. The sources are the loaded
            views: the view of a loader, or the views of a mix with their weights. Each has its
            ``url`` without credentials, ``version``, ``selection`` (such as the text of a query),
            ``rows``, a ``fingerprint`` of the rows, the ``columns`` with the jobs that filled them,
            and the names of the ``computed`` columns of a query.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://tracked-doc", {"x": "int32"})
        >>> ds.append({"x": range(100)})
        >>> version = ds.commit("rows")
        >>> loader = ds.query("SELECT * WHERE x < 50").batches(16, shuffle=True, seed=3)
        >>> lineage = loader.lineage()
        >>> lineage["seed"], lineage["rows"], lineage["sources"][0]["selection"]
        (3, 50, 'SELECT * WHERE x < 50')
        >>> lineage["sources"][0]["version"] == version
        True
        """
        state = self.state_dict()
        settings = ("rows", "seed", "shuffle", "global_batch_size")
        return {
            "sources": self.resources.samples.lineages(),
            "columns": list(self.columns),
            **{name: state[name] for name in settings},
            "last": self.shares.last,
        }

    def shuffle_quality(self, label: str | None = None) -> ShuffleQuality:
        """Measure how well rows are shuffled in the epoch whose number is `Loader.epoch`.

        Parameters
        ----------
        label : str, optional
            Column whose runs of equal values are counted. By default, the first column of class
            labels.

        Returns
        -------
        ShuffleQuality
            Statistics of at most the first million rows of the epoch.

        Raises
        ------
        ColumnNotFoundError
            When the loader has no column `label`.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://quality-doc", {"label": dl.ClassLabel(["a", "b"])})
        >>> ds.append({"label": [0] * 500 + [1] * 500})
        >>> ds.batches(50).shuffle_quality()
        ShuffleQuality of 1,000 rows
          rank correlation  1.000 (by chance 0 ± 0.032)
          runs of labels    2 of 'label' (by chance 501)
          same-block pairs  ... blocks of 15 rows (by chance 1.4%)
        >>> ds.batches(50, shuffle=True).shuffle_quality("label")
        ShuffleQuality of 1,000 rows
          rank correlation  -0.000 (by chance 0 ± 0.032)
          runs of labels    499 of 'label' (by chance 501)
          same-block pairs  1.4%, blocks of 15 rows (by chance 1.4%)
        """
        order = self.shuffle.order(self.shares.n, self.options.seed, self.epoch)
        return ShuffleQuality.of(self.resources.samples, order, self.shares.size, label)

    def __enter__(self) -> Self:
        """Return the loader, which the end of the ``with`` block will close.

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
        """Stop threads and processes, and free the memory. The loader can be used again.

        A running epoch ends with a LoaderError.
        """
        if os.getpid() != self._pid:
            return  # threads and worker processes belong to the parent, not to a fork of it
        for run in list(self._runs):
            run.stop()
        self.resources.close()

    def close_at_exit(self) -> None:
        """Stop everything before the interpreter ends.

        Open iterators end later, when the modules of this package may have no globals any more.
        """
        self.close()
        self._meters.stop_all()

    # ---- performance

    def stats(self) -> Stats:
        """Return the time spent in each stage, in total and for each epoch. See `Stats`.

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
        """Explain whether the loader or the code that uses it is slower, and how to load faster.

        The explanation covers the current epoch, or the previous epoch if the current one has just
        begun.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://bottleneck-doc", {"x": "int32"})
        >>> ds.append({"x": range(100)})
        >>> print(ds.batches(16).explain())
        Nothing has been loaded yet. Iterate over some batches, and call explain() again.
        """
        mode, kind = self.resources.policy.mode, self.shuffle.kind
        situation = Situation.of(self.resources.samples, self.options, kind, mode, len(self))
        return explain_stats(self.stats(), situation)

    def decode_limit(self, seconds: float = 1.0) -> Limit:
        """Measure the speed of the decoder alone, which is an upper limit of the loader's speed.

        The decoder runs on rows in memory, in as many threads as the loader uses.

        Parameters
        ----------
        seconds : float
            How long to measure. Each thread decodes at least one batch.

        Raises
        ------
        OptionError
            When there are no rows.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://limit-doc", {"x": "int32"})
        >>> ds.append({"x": range(100)})
        >>> ds.batches(50).decode_limit(0.01).samples_per_second > 100
        True
        """
        if not len(self.resources.samples):
            raise OptionError(
                "decode_limit() needs rows to decode, but the view is empty. Append some rows "
                "first."
            )
        threads, seconds = max(1, self.options.threads), as_seconds("seconds", seconds)
        return decode_limit(
            self.resources.samples, self.resources.recipe, self.batch_size, threads, seconds
        )

    # ---- one epoch

    def run_epoch(self, progress: Progress, skipped: list[Skipped]) -> Iterator[Any]:
        """Yield the batches of an epoch that come after `progress`.

        Parameters
        ----------
        progress : Progress
            Number of the epoch, and number of rows that all ranks have already yielded. Updated
            before each batch is yielded.
        skipped : list of Skipped
            List to which the rows that are left out because of errors are added.
        """
        self._check_process()
        began = clock.now()
        n, seed, size = self.shares.n, self.options.seed, self.shares.size
        order = CachedOrder(self.shuffle.order(n, seed, progress.epoch))
        next_order = self.shuffle.order(n, seed, progress.epoch + 1)
        first, hand_over = progress.consumed // size, self.resources.framework.hand_over
        blocks, workers = self.resources.blocks, self.options.threads
        batches = len(self.shares) - first  # if there are fewer batches than workers, some are idle
        pipeline = (
            self.resources.pipeline
        )  # before the meter, so that a failure here does not count as an epoch
        tasks = min(self.resources.max_tasks, max(1, batches))
        meter = Meter(progress.epoch, min(workers, tasks), blocks.tally, began, tasks)
        run = Run(pipeline, order, next_order, first, progress.epoch, meter)
        self._meters.begin(meter)
        self._runs.add(run)
        total, has_batches = min(n, len(self) * size), False
        try:
            with bar(progress, total, visible=self.options.progress) as show:
                for number, result in enumerate(hand_over(run), first):
                    # Updated before the `yield`, so that a state taken in the body of the user's
                    # loop continues after the current batch.
                    progress.consumed = min((number + 1) * size, n)
                    skipped += result.skipped
                    show(len(skipped))
                    meter.leave(number, result.rows)
                    if result.batch is not None:
                        has_batches = True
                        yield result.batch
                    meter.back()
            progress.consumed = max(progress.consumed, self.shares.end)
            if skipped and not has_batches and first == 0:
                raise LoaderError(
                    f"on_error='skip' left out every row of the epoch ({len(skipped):,}). The "
                    f"first is row {skipped[0].position} of its view (row id "
                    f"{skipped[0].row_id}): {skipped[0].error}. See loader.skipped.",
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
                f"A loader must be used in the process that created it, {self._pid}, but this is "
                f"its fork {os.getpid()}, which does not have the loader's threads. Start the "
                'process with multiprocessing.get_context("spawn"), and create the loader there.'
            )


_loaders: weakref.WeakSet[Loader] = weakref.WeakSet()
"""All loaders. At exit, the interpreter would wait for their threads, so all loaders are closed."""


def _close_all() -> None:
    for loader in list(_loaders):
        loader.close_at_exit()


# `atexit` would be too late: before it runs, the interpreter waits for all tasks in thread pools of
# concurrent.futures (see https://github.com/python/cpython/issues/83993).
threading._register_atexit(_close_all)  # type: ignore[attr-defined]  # noqa: SLF001
