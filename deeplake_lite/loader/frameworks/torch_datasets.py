"""The rows of a view as a map-style or an iterable PyTorch dataset, for a DataLoader.

Datasets of both styles can be pickled and sent to a worker process, which opens the lake itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deeplake_lite import checks
from deeplake_lite.dataset.keywords import DatasetOptions, IterableOptions
from deeplake_lite.dataset.read.positions import resolve_positions
from deeplake_lite.errors import OptionError
from deeplake_lite.loader.frameworks.tensors import as_tensors, torch
from deeplake_lite.loader.frameworks.torch import PyTorch, class_columns
from deeplake_lite.loader.loader import Loader
from deeplake_lite.loader.make.arrays import as_numpy
from deeplake_lite.loader.make.collate import collate_column, collate_samples
from deeplake_lite.loader.make.recipe import Job
from deeplake_lite.loader.options import Options, cores
from deeplake_lite.loader.order.epoch import Progress
from deeplake_lite.loader.order.shares import Shares
from deeplake_lite.loader.order.topology import find_rank
from deeplake_lite.loader.read.samples import ROW_ID
from deeplake_lite.loader.state import check_keys, check_state, state_of
from deeplake_lite.loader.tree import map_leaves

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Unpack

    from deeplake_lite.dataset.view import View
    from deeplake_lite.loader.make.recipe import Recipe
    from deeplake_lite.loader.order.order import Positions
    from deeplake_lite.loader.resources import Resources

WARNED = -(2**62)
"""Number of rows that `SharedEpoch` stores once it has warned, so that it does not warn again."""

BATCH_SIZE = 64
"""Number of samples that a worker of an iterable dataset makes at a time, in an internal loader."""


FOR_ALL = frozenset(DatasetOptions.__annotations__)
"""Names of the options that datasets of both styles accept."""

FOR_ITERABLE = frozenset(IterableOptions.__annotations__)
"""Names of the options that iterable datasets accept."""


def dataset_of(
    view: View, style: str, **options: Unpack[IterableOptions]
) -> TorchDataset | TorchIterableDataset:
    """Return the rows of a view as a dataset. See `View.pytorch_dataset`."""
    checks.choice("style", style, ("map", "iterable"))
    wrong = options.keys() - (FOR_ALL if style == "map" else FOR_ITERABLE)
    if wrong & FOR_ITERABLE:
        raise OptionError(
            f"A dataset of style 'map' has no option {min(wrong)!r}, because the DataLoader and "
            "its sampler control the order and the batches. Pass the option to the DataLoader or "
            "the sampler, or use style='iterable'."
        )
    if wrong:
        raise OptionError(
            f"A dataset has no option {min(wrong)!r}. Pass the option to the DataLoader, or leave "
            "it out."
        )
    collate = options.get("collate")
    if callable(collate):
        raise OptionError(
            f"The option collate of a dataset must not be a function, but it is {collate!r}. Pass "
            "the function as DataLoader(collate_fn=)."
        )
    kind = TorchDataset if style == "map" else TorchIterableDataset
    return kind(view, Options.of(batch_size=1, **options))


class SharedEpoch:
    """The number of the epoch, and the number of rows read in this epoch, in shared memory.

    Parameters
    ----------
    total : int
        Number of rows in the dataset.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._number, self._reads = (torch.zeros((), dtype=torch.int64) for _ in range(2))
        for number in (self._number, self._reads):
            number.share_memory_()  # type: ignore[no-untyped-call]

    def __int__(self) -> int:
        return int(self._number)

    def set(self, number: int) -> None:
        """Set the number of the epoch."""
        self._number.fill_(number)
        self._reads.fill_(0)

    def count(self, rows: int, resources: Resources) -> None:
        """Count rows that are read, and warn once if the same epoch is read again.

        Worker processes may overwrite each other's additions, which only delays the warning.
        """
        self._reads += rows
        if self._reads <= self._total or not _depends_on_epoch(resources):
            return
        self._reads.fill_(WARNED)
        warnings.warn(
            f"Rows of epoch {int(self)} are read again, so random transforms draw the same "
            "numbers, and shuffle=True yields the same order. Call dataset.set_epoch(number) "
            "before each epoch.",
            stacklevel=2,
        )


def _depends_on_epoch(resources: Resources) -> bool:
    """Return whether the order, or the random numbers of a transform, change with the epoch."""
    recipe, shuffle = resources.recipe, resources.options.shuffle
    return bool(shuffle) or (recipe.transform is not None and recipe.sample_function.is_random)


class _Rows:
    """Base class of both datasets, with the view, the user's options and the shared epoch."""

    def __init__(self, view: View, options: Options) -> None:
        names = view.columns if options.columns is None else options.columns
        self._view, self._options = view.select(tuple(names)), options
        self._epoch = SharedEpoch(len(view))

    def __getstate__(self) -> dict[str, object]:
        return {k: getattr(self, k) for k in ("_view", "_options", "_epoch")}

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns in a sample."""
        return self._view.columns

    @property
    def epoch(self) -> int:
        """The epoch, which determines the order of rows and the random numbers of transforms."""
        return int(self._epoch)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, in this process and in the workers of a DataLoader.

        Call this method before each epoch, as for a `torch.utils.data.DistributedSampler`.
        Otherwise, random transforms draw the same numbers for a row again, and ``shuffle=True``
        yields the same order. Accelerate calls this method, but a DataLoader and Lightning do not.

        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://torch-epoch-doc", {"x": "int32"})
        >>> dataset = ds.pytorch_dataset()
        >>> dataset.set_epoch(3)
        >>> dataset.epoch
        3
        """
        self._epoch.set(epoch)

    def lineage(self) -> dict[str, Any]:
        """Return where the samples come from, as `Loader.lineage` does for batches.

        The DataLoader determines the batches, so their size and order are left out.
        """
        lineage = self._loader.lineage()
        return {name: lineage[name] for name in ("sources", "columns", "rows", "seed")}

    def collate(self, samples: list[Any]) -> Any:
        """Collate samples as `View.pytorch` does. Pass this method as ``DataLoader(collate_fn=)``.

        Numbers or arrays of the same shape are stacked. Arrays that differ in shape are collated
        according to the option ``collate``, or become lists. Strings become lists. A nullable
        column adds the key ``"name_valid"``. Samples with added or missing keys are collated like
        the results of a transform.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://torch-collate-doc", {"b": dl.Boxes("xyxy"), "t": "text"})
        >>> ds.append({"b": [[[0, 0, 1, 1]], []], "t": ["one", "none"]})
        >>> dataset = ds.pytorch_dataset(collate={"b": "pad"})
        >>> batch = dataset.collate([dataset[0], dataset[1]])
        >>> batch["b"].shape, batch["b_mask"].tolist(), batch["t"]
        (torch.Size([2, 1, 4]), [[True], [False]], ['one', 'none'])
        """
        arrays, columns = (
            map_leaves(samples, as_numpy, lists=True),
            self._loader.resources.recipe.columns,
        )
        keys = [*columns, ROW_ID] if self._options.row_ids else [*columns]
        if self._options.transform is not None or not all(_has_keys(s, keys) for s in arrays):
            return as_tensors(collate_samples(arrays, self._options.collate, columns))
        batch: dict[str, object] = {}
        for name, recipe in columns.items():
            batch |= collate_column(name, [sample[name] for sample in arrays], recipe)
        if self._options.row_ids:
            batch[ROW_ID] = np.array([sample[ROW_ID] for sample in arrays], np.int64)
        return as_tensors(batch)

    @cached_property
    def _loader(self) -> Loader:
        return _loader_of(self._view, self._options)


def _loader_of(view: View, options: Options) -> Loader:
    """Return an internal loader whose batches are lists of samples."""
    return Loader(view, replace(options, row_ids=True), Samples(sample_ids=options.row_ids))


def _has_keys(sample: object, names: list[str]) -> bool:
    return isinstance(sample, Mapping) and sample.keys() == set(names)


class Samples(PyTorch):
    """Converts batches to lists of samples.

    Parameters
    ----------
    sample_ids : bool
        Whether samples include their row id.
    """

    def __init__(self, *, sample_ids: bool) -> None:
        super().__init__(torch.device("cpu"))
        self._sample_ids = sample_ids

    def adjust_recipe(self, recipe: Recipe) -> Recipe:
        """Return a recipe whose batches are lists of samples."""
        return replace(recipe, collate=list, sample_ids=self._sample_ids)

    def convert(self, batch: Any, resources: Resources) -> list[object]:
        """Convert the arrays of samples to tensors."""
        classes = class_columns(resources)
        return [as_tensors(sample, classes) for sample in batch]


class TorchDataset(_Rows, torch.utils.data.Dataset[Any]):
    """The rows of a view as a map-style dataset, created by `View.pytorch_dataset`.

    ``dataset[3]`` is a sample, which is a dict that maps column names to values. A DataLoader
    requests all rows of a batch at once, so that they are read together.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://torch-dataset-doc", {"x": "int32", "t": "text"})
    >>> ds.append({"x": range(4), "t": list("abcd")})
    >>> dataset = ds.pytorch_dataset()
    >>> len(dataset), dataset[-1]
    (4, {'x': tensor(3, dtype=torch.int32), 't': 'd'})
    >>> from torch.utils.data import DataLoader
    >>> [batch["x"].tolist() for batch in DataLoader(dataset, batch_size=3)]
    [[0, 1, 2], [3]]
    """

    def __len__(self) -> int:
        return len(self._view)

    def __getitem__(self, index: int) -> Any:
        """Return the sample of a row. Raises RowIndexError if the row does not exist."""
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Return the samples of the given rows, which are read together.

        Raises RowIndexError if a row does not exist.
        """
        parts, positions = self._loader.resources, resolve_positions(list(indices), len(self))
        if not len(positions):
            return []
        self._epoch.count(len(positions), parts)
        cells, where = parts.samples.read(positions), parts.samples.where(positions)
        result = parts.recipe.make(Job(cells, len(positions), where), self.epoch)
        return cast("list[Any]", parts.convert(result.batch))


class TorchIterableDataset(_Rows, torch.utils.data.IterableDataset[Any]):
    """The rows of a view as an iterable dataset, created by `View.pytorch_dataset`.

    The rows are divided among the ranks and the workers of a DataLoader, so that each row is used
    once. The epoch stays the same until `set_epoch` changes it.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://torch-iterable-doc", {"x": "int32"})
    >>> ds.append({"x": range(4)})
    >>> dataset = ds.pytorch_dataset(style="iterable", shuffle=True)
    >>> sorted(int(sample["x"]) for sample in dataset)
    [0, 1, 2, 3]
    """

    def __init__(self, view: View, options: Options) -> None:
        super().__init__(view, options)
        self._share = WorkerShare(self._view, self._options, self._epoch)

    def __getstate__(self) -> dict[str, object]:
        return super().__getstate__() | {"_share": self._share}

    def __iter__(self) -> SampleIterator:
        """Iterate over this worker's share of the epoch. After loading a state, skip earlier rows.

        The epoch starts at the first `next`, so an unused iterator does not use up a loaded state.
        """
        return SampleIterator(self._share)

    def state_dict(self) -> dict[str, Any]:
        """Return the position of this worker. After the last row, it is the first row again."""
        return self._share.state(self._share.current())

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Continue after the samples that this worker had yielded when the state was taken.

        Raises
        ------
        OptionError
            When the state belongs to another version, view, seed, shuffle, worker or rank, or when
            it is not a state.
        """
        progress = self._share.check(state)
        self.set_epoch(progress.epoch)
        self._share.progress, self._share.resumed = progress, True


class WorkerShare:
    """The rows that a DataLoader's worker loads, and the worker's position among these rows.

    Parameters
    ----------
    view : View
        Rows of all workers.
    options : Options
        The user's options.
    epoch : SharedEpoch
        The epoch in shared memory.
    """

    def __init__(self, view: View, options: Options, epoch: SharedEpoch) -> None:
        self._view, self._options, self._epoch = view, options, epoch
        self.progress = Progress(int(epoch))
        """The worker's position in the epoch that began last, or in the epoch of a loaded state."""
        self.resumed = False
        """Whether the next iterator continues at `progress`."""

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes to pickle, and the rank, which a worker process does not know."""
        rank, world_size = find_rank(self._options.rank, self._options.world_size)
        options = replace(self._options, rank=rank, world_size=world_size)
        state = {name: value for name, value in self.__dict__.items() if name != "loader"}
        return state | {"_options": options}

    def start_epoch(self, loaded: Progress | None) -> Progress:
        """Start an epoch, or resume an epoch from a state. Return the progress to continue from.

        `loaded` is the progress of a state that the iterator has loaded. A state that the dataset
        has loaded is used if `loaded` is None.
        """
        self.progress = loaded or self.upcoming()
        self.resumed = False
        return self.progress

    def upcoming(self) -> Progress:
        """Return the progress at which the next iterator starts."""
        return self.current() if self.resumed else Progress(int(self._epoch))

    def current(self) -> Progress:
        """Return the progress of this worker in the current epoch."""
        epoch = int(self._epoch)
        return self.progress if self.progress.epoch == epoch else Progress(epoch)

    def samples_from(self, progress: Progress) -> Iterator[Any]:
        """Yield the samples of this worker that come after `progress`, and advance `progress`.

        `progress` counts samples of this worker, but the progress of the loader counts rows of all
        workers and ranks.
        """
        batch, skip = divmod(progress.consumed, BATCH_SIZE)
        loader_progress = Progress(progress.epoch, batch * self.loader.shares.size)
        for samples in self.loader.run_epoch(loader_progress, []):
            self._epoch.count(len(samples), self.loader.resources)
            for sample in samples[skip:]:
                progress.consumed += 1
                yield sample
            skip = 0
        if self.progress is progress:
            self.progress = Progress(progress.epoch)  # the next iteration begins at the first row

    def state(self, progress: Progress) -> dict[str, Any]:
        """Return the state of this worker for the given progress."""
        parts = self.loader.resources
        order = state_of(progress, parts.samples, parts.shuffle, parts.options.seed, parts.shares)
        return {"order": order, "share": self._name}

    def check(self, state: Mapping[str, Any]) -> Progress:
        """Return the progress in a state of this worker. Raises OptionError for other states."""
        parts = self.loader.resources
        check_keys(state, {"order": None, "share": None})
        if state["share"] != self._name:
            raise OptionError(
                f"The state belongs to {state['share']}, but this is {self._name}. Use the "
                "same number of workers and ranks, or view.pytorch(…), which resumes with any "
                "number of workers and ranks."
            )
        return check_state(
            state["order"], parts.samples, parts.shuffle, parts.options.seed, parts.shares
        )

    @property
    def _name(self) -> str:
        s = cast("WorkerShares", self.loader.shares)
        return f"worker {s.worker} of {s.workers} on rank {s.rank} of {s.world_size}"

    @cached_property
    def loader(self) -> Loader:
        """A loader of this worker's rows, with the worker's share of the memory budget."""
        info = torch.utils.data.get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        options = replace(
            self._options,
            batch_size=BATCH_SIZE,
            num_workers=max(1, cores() // workers),
            memory_budget=self._options.budget // workers,
        )
        loader = _loader_of(self._view, options)
        resources, whole = loader.resources, self._options  # all workers need the same shuffle
        resources.shuffle = resources.samples.choose_shuffle(whole.shuffle, whole.exact_bytes)
        s = loader.shares
        loader.resources.shares = WorkerShares(
            s.n, BATCH_SIZE, s.rank, s.world_size, s.last, worker, workers
        )
        return loader


class SampleIterator:
    """One iteration over a worker's share of a dataset.

    torchdata's StatefulDataLoader stores the state of the iterator and the state of the dataset.
    Only the iterator's state records that a share is exhausted. When this state is loaded, a worker
    that had finished before the other workers yields nothing more in this epoch, but its whole
    share in the next epoch.
    """

    def __init__(self, share: WorkerShare) -> None:
        self._share = share
        self._progress: Progress | None = None
        self._samples: Iterator[Any] | None = None

    def __iter__(self) -> SampleIterator:
        return self

    def __next__(self) -> Any:
        if self._samples is None:
            self._progress = self._share.start_epoch(self._progress)
            self._samples = self._share.samples_from(self._progress)
        return next(self._samples)

    def state_dict(self) -> dict[str, Any]:
        """Return the position of this iterator, which may be the end of the epoch."""
        return self._share.state(self._progress or self._share.upcoming())

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Continue at the position of the iterator whose state is loaded.

        A state that was loaded into the dataset is dropped, so that the next iterator of the
        dataset begins at the first row.

        Raises OptionError for a state that `TorchIterableDataset.load_state_dict` rejects.
        """
        self._progress, self._samples = self._share.check(state), None
        self._share.resumed = False


@dataclass(frozen=True)
class WorkerShares(Shares):
    """The division of samples among ranks, and of a rank's samples among its workers.

    Rank r gets the rows at the indices r, r + W, … of the epoch's order, where W is the world size.
    Of these rows, worker w of n gets every n-th row, starting with the w-th. With ``"pad"``, all
    ranks get the same number of rows. Here, a batch consists of `batch_size` rows for each worker
    of each rank.

    Examples
    --------
    >>> shares = WorkerShares(10, 2, rank=1, world_size=2, worker=0, workers=2)
    >>> [list(shares.rows(batch)) for batch in range(len(shares))]
    [[1, 5], [9]]
    """

    worker: int = 0
    """Number of this worker, from 0, among the workers of its rank."""
    workers: int = 1
    """Number of workers of each rank."""

    @property
    def size(self) -> int:
        """Number of rows in a batch, which includes the rows of all workers of all ranks."""
        return self.batch_size * self._stride

    def __len__(self) -> int:
        return -(-self._samples // self.batch_size)

    def span(self, batch: int) -> tuple[int, int]:
        """Return the range of a batch's indices in the epoch's order, as start and stop."""
        return batch * self.size, min((batch + 1) * self.size, self._end)

    def rows(self, batch: int) -> range:
        """Return the indices, in the epoch's order, of this worker's rows in a batch."""
        start, stop = self.span(batch)
        return range(start + self._first, stop, self._stride)

    def of(self, rows: Positions) -> Positions:
        """Return this worker's share of a batch's rows, padded with the last row of the batch."""
        mine = rows[self._first :: self._stride]
        missing = len(range(self._first, self._padded(len(rows)), self._stride)) - len(mine)
        return np.append(mine, rows[-1:].repeat(missing))

    def _padded(self, count: int) -> int:
        """Return a number of rows, with padding rounded up to a multiple of the number of ranks."""
        return count + (-count % self.world_size if self.last == "pad" else 0)

    @property
    def _first(self) -> int:
        return self.worker * self.world_size + self.rank

    @property
    def _stride(self) -> int:
        return self.world_size * self.workers

    @property
    def _end(self) -> int:
        """Index in the epoch's order at which the epoch ends, without padding."""
        return self.n - self.n % self.world_size if self.last == "drop" else self.n

    @property
    def _samples(self) -> int:
        """Number of samples of this worker, including padding."""
        return len(range(self._first, self._padded(self._end), self._stride))
