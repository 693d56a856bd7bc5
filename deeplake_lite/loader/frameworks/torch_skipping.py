"""The dataset and batch sampler of the PyTorch loader, for `accelerate.skip_first_batches`.

That function creates a DataLoader with the same dataset, and a batch sampler that skips the first
batches. Here, the sampler yields the numbers of batches, and the dataset starts the loader's epoch
at the first number that is requested. Skipped batches are therefore neither read nor made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from deeplake_lite.errors import LoaderError
from deeplake_lite.loader.frameworks.tensors import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.loader.loader import Loader


class Turn(NamedTuple):
    """A batch of an epoch, identified by its number."""

    epoch: Epoch
    """Epoch of the batch."""
    skipped: int
    """Number of batches before it, counted from where the epoch starts or is resumed."""


class Epoch:
    """An epoch of a loader that starts at the first batch that is requested.

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
        """End the epoch after all of its batches have been yielded or skipped."""
        if self._batches is None:
            self._batches = self._loader.start_epoch_after(skipped)
        for _ in self._batches:
            pass


class BatchNumbers(torch.utils.data.Sampler[Turn]):
    """A batch sampler that yields the batches of a loader's next epoch by number.

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
        """Set the number of the loader's next epoch. Trainers call this method of samplers."""
        self._loader.set_epoch(epoch)

    def __iter__(self) -> Iterator[Turn]:
        epoch, count = Epoch(self._loader), len(self)
        for number in range(count):
            yield Turn(epoch, number)
        epoch.end(count)


class SequentialBatchNumbers(BatchNumbers, torch.utils.data.SequentialSampler):  # type: ignore[misc]
    """The batches of a loader that does not shuffle.

    This base class tells Lightning that all epochs have the same batches. With ``overfit_batches``,
    Lightning replaces other samplers, which works only with a DataLoader.
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
            "The dataset of a loader has only whole batches, in the loader's order, but row "
            f"{index!r} was requested. For a DataLoader of rows, use view.pytorch_dataset()."
        )

    def __getitems__(self, turn: Turn) -> Any:
        """Return a batch. Raises LoaderError for indices that are not from `BatchNumbers`."""
        if not isinstance(turn, Turn):
            return self[turn]
        return turn.epoch.batch(turn.skipped)


def return_unchanged(batch: object) -> Any:
    """Return a batch unchanged, because the loader has collated it."""
    return batch
