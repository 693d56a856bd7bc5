"""What of a DataLoader `accelerate.skip_first_batches` takes apart, for the loader of tensors.

It makes a DataLoader of the same dataset whose batch sampler leaves out the first batches. Here,
the sampler counts batches, and the dataset starts the loader's epoch at the first that is asked
for: batches that are left out are neither read nor made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from deeplake_lite.errors import LoaderError
from deeplake_lite.loader.frameworks.tensors import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.loader.loader import Loader


class Turn(NamedTuple):
    """A batch, by how many come before it."""

    epoch: Epoch
    """Of which it is a batch."""
    skipped: int
    """Batches before it, counted from where the epoch starts or is resumed."""


class Epoch:
    """An epoch of a loader that starts at the first batch that is asked for.

    Parameters
    ----------
    loader : Loader
        Whose epoch it is.
    """

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._batches: Iterator[Any] | None = None

    def batch(self, skipped: int) -> Any:
        """Return the next batch; the first time, the one behind those that are skipped."""
        if self._batches is None:
            self._batches = self._loader._started_behind(skipped)
        return next(self._batches)

    def end(self, skipped: int) -> None:
        """End the epoch, all of whose batches were handed out or skipped."""
        if self._batches is None:
            self._batches = self._loader._started_behind(skipped)
        for _ in self._batches:
            pass


class BatchNumbers(torch.utils.data.Sampler[Turn]):
    """The batches of a loader's next epoch by number, as a batch sampler.

    Parameters
    ----------
    loader : Loader
        Whose batches are counted.
    """

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __len__(self) -> int:
        return self._loader._left

    def set_epoch(self, epoch: int) -> None:
        """Set the loader's epoch that starts next, as trainers ask of samplers."""
        self._loader.set_epoch(epoch)

    def __iter__(self) -> Iterator[Turn]:
        epoch, count = Epoch(self._loader), len(self)
        for number in range(count):
            yield Turn(epoch, number)
        epoch.end(count)


class Batches(torch.utils.data.Dataset[Any]):
    """The batches of a loader, for a DataLoader whose batch sampler counts them.

    Parameters
    ----------
    loader : Loader
        Whose batches they are.
    """

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __len__(self) -> int:
        """Return how many rows an epoch has, as trainers that ask for it expect."""
        return self._loader.shares.n

    def __getitem__(self, index: Any) -> Any:
        """Refuse rows by number. Raises LoaderError."""
        raise LoaderError(
            f"The dataset of a loader has whole batches, in the loader's order, but row {index!r} "
            "was asked for. view.pytorch_dataset() has rows by number, for a DataLoader."
        )

    def __getitems__(self, turn: Turn) -> Any:
        """Return a batch. Raises LoaderError for what is no turn of the loader's own sampler."""
        if not isinstance(turn, Turn):
            return self[turn]
        return turn.epoch.batch(turn.skipped)


def whole(batch: Any) -> Any:
    """Return a batch as it is: the loader has put it together."""
    return batch
