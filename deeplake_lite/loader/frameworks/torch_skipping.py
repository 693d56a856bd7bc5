"""The dataset and batch sampler of the PyTorch loader, for `accelerate.skip_first_batches`.

`skip_first_batches` creates a DataLoader with the same dataset, and with a batch sampler that skips
the first batches. The sampler in this module yields batch numbers, and the dataset starts the
loader's epoch at the first number that it receives. Therefore, skipped batches are neither read nor
made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from deeplake_lite.errors import LoaderError
from deeplake_lite.loader.frameworks.tensors import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.loader.loader import Loader


class BatchNumber(NamedTuple):
    """The number of a batch in an epoch, which `BatchNumbers` yields instead of row indices."""

    epoch: Epoch
    """Epoch of the batch."""
    skipped: int
    """Number of earlier batches, counted from the point where the epoch starts or is resumed."""


class Epoch:
    """An epoch of a loader, which starts when the first batch is requested from this object.

    Parameters
    ----------
    loader : Loader
        Loader of the batches.
    """

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._batches: Iterator[object] | None = None

    def batch(self, skipped: int) -> Any:
        """Return the next batch. The first call starts the epoch after `skipped` batches."""
        if self._batches is None:
            self._batches = self._loader.start_epoch_after(skipped)
        return next(self._batches)

    def end(self, skipped: int) -> None:
        """End the epoch after each of its `skipped` batches has been yielded or skipped."""
        if self._batches is None:
            self._batches = self._loader.start_epoch_after(skipped)
        for _ in self._batches:
            pass


class BatchNumbers(torch.utils.data.Sampler[BatchNumber]):
    """A batch sampler that yields the number of each batch in a loader's next epoch.

    Parameters
    ----------
    loader : Loader
        Loader of the batches.
    """

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __len__(self) -> int:
        return self._loader.batches_left

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the loader's next epoch. Trainers call this method on samplers."""
        self._loader.set_epoch(epoch)

    def __iter__(self) -> Iterator[BatchNumber]:
        epoch, count = Epoch(self._loader), len(self)
        for number in range(count):
            yield BatchNumber(epoch, number)
        epoch.end(count)


class SequentialBatchNumbers(BatchNumbers, torch.utils.data.SequentialSampler):  # type: ignore[misc]
    """The batch sampler of a loader that does not shuffle.

    The base class `SequentialSampler` tells Lightning that all epochs have the same batches. With
    ``overfit_batches``, Lightning replaces samplers of other classes, which works only with a
    DataLoader.
    """


class Batches(torch.utils.data.Dataset[Any]):
    """The batches of a loader as a dataset, for a DataLoader with the sampler `BatchNumbers`.

    Parameters
    ----------
    loader : Loader
        Loader of the batches.
    """

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __len__(self) -> int:
        """Return the number of rows in an epoch, as trainers expect."""
        return self._loader.shares.n

    def __getitem__(self, index: object) -> Any:
        """Raise LoaderError, because this dataset has no rows that can be looked up."""
        raise LoaderError(
            "The dataset of a loader returns only whole batches, in the loader's order, but row "
            f"{index!r} was requested. For a DataLoader of rows, use view.pytorch_dataset()."
        )

    def __getitems__(self, number: BatchNumber) -> Any:
        """Return the batch with the given number. Raises LoaderError for indices of rows."""
        if not isinstance(number, BatchNumber):
            return self[number]
        return number.epoch.batch(number.skipped)


def return_unchanged(batch: object) -> Any:
    """Return a batch unchanged, because the loader has collated it."""
    return batch
