"""The loader of PyTorch tensors, which moves batches to a device."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from deeplake_lite.brief import brief
from deeplake_lite.errors import OptionError
from deeplake_lite.htypes.layouts import Nested
from deeplake_lite.loader.framework import Framework
from deeplake_lite.loader.frameworks.tensors import SideStream, as_tensors, move, pin, torch
from deeplake_lite.loader.frameworks.torch_skipping import (
    Batches,
    BatchNumbers,
    SequentialBatchNumbers,
    return_unchanged,
)
from deeplake_lite.loader.loader import Loader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.loader.make.recipe import BatchResult
    from deeplake_lite.loader.mix import Mix
    from deeplake_lite.loader.options import Options
    from deeplake_lite.loader.resources import Resources
    from deeplake_lite.loader.workers.run import Run


class PyTorch(Framework):
    """Converts batches to PyTorch tensors.

    Parameters
    ----------
    device : torch.device
        Device of the tensors.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def convert(self, batch: object, resources: Resources) -> object:
        """Convert a batch to tensors, which are in pinned memory if the device is a GPU."""
        tensors = as_tensors(batch, class_columns(resources))
        return pin(tensors) if self._device.type == "cuda" else tensors

    def hand_over(self, run: Run) -> Iterator[BatchResult]:
        """Yield the batches on the device."""
        match self._device.type:
            case "cpu":
                yield from run.batches()
            case "cuda":
                yield from SideStream(self._device).hand_over(run.batches(), lambda: run.ready)
            case _:
                for result in run.batches():
                    result.batch = move(result.batch, self._device)
                    yield result


def class_columns(resources: Resources) -> frozenset[str]:
    """Return the names of the columns whose values are class numbers."""
    columns = resources.recipe.columns
    return frozenset(name for name, recipe in columns.items() if _is_of_classes(recipe.htype))


class TorchLoader(Loader):
    """A loader of PyTorch tensors, created by `View.pytorch`.

    The loader has the methods ``state_dict`` and ``load_state_dict``, which torchdata, Lightning
    and Accelerate call. The loader gets its rank from torch.distributed, and can be passed to
    ``Trainer.fit``.

    Parameters
    ----------
    view : View or Mix
        Rows to load, pinned to the current version.
    options : Options
        The user's options.
    device : torch.device or str, optional
        Device of the tensors. By default, the CPU.

    Raises
    ------
    OptionError
        When the device is a GPU that PyTorch does not find.
    """

    def __init__(self, view: View | Mix, options: Options, device: object = None) -> None:
        self.device = _device(device)
        """Device of the tensors."""
        if self.device.type == "cuda":
            _check_cuda(self.device)
        super().__init__(view, options, PyTorch(self.device))

    # ---- the attributes of a DataLoader that accelerate.skip_first_batches uses

    @property
    def dataset(self) -> Batches:
        """The batches of the next epoch, for a DataLoader with this loader's `batch_sampler`.

        >>> import accelerate
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://skipped-doc", {"x": "int32"})
        >>> ds.append({"x": range(6)})
        >>> loader = ds.pytorch(2)
        >>> [batch["x"].tolist() for batch in accelerate.skip_first_batches(loader, 1)]
        [[2, 3], [4, 5]]
        """
        return Batches(self)

    @property
    def batch_sampler(self) -> BatchNumbers:
        """A sampler that yields the batch numbers of the next epoch, in order."""
        return SequentialBatchNumbers(self) if self.shuffle.kind == "none" else BatchNumbers(self)

    @property
    def sampler(self) -> BatchNumbers:
        """The same as `batch_sampler`, because the loader itself chooses the rows."""
        return self.batch_sampler

    @property
    def collate_fn(self) -> Callable[[Any], Any]:
        """A function that returns its argument, because the loader has collated the batch."""
        return return_unchanged

    @property
    def prefetch_factor(self) -> None:
        """None, the only value that a DataLoader without workers accepts."""
        return

    @property
    def drop_last(self) -> bool:
        """Whether a smaller last batch is left out."""
        return self.shares.last == "drop"


def _device(device: Any) -> torch.device:
    """Return the user's device, or the CPU for None. Raises OptionError for an invalid device."""
    try:
        return torch.device("cpu" if device is None else device)
    except (RuntimeError, TypeError, ValueError) as error:
        raise OptionError(
            "device must be an argument of torch.device, such as 'cuda' or 'cuda:1', but it is "
            f"{brief(device, 80)}. Leave device out for tensors on the CPU."
        ) from error


def _check_cuda(device: torch.device) -> None:
    """Raise OptionError if PyTorch does not find the GPU."""
    with warnings.catch_warnings(record=True) as reasons:  # PyTorch warns if a driver fails
        warnings.simplefilter("always")
        available = torch.cuda.is_available()
    if not available:
        reason = f" PyTorch warns: {str(reasons[0].message).rstrip('.')}." if reasons else ""
        raise OptionError(
            f"device={str(device)!r} needs a GPU, but torch.cuda.is_available() is False.{reason} "
            "Leave device out, or install a build of PyTorch for your GPU."
        )
    count = torch.cuda.device_count()
    if device.index is not None and device.index >= count:
        raise OptionError(
            f"device={str(device)!r} does not exist: torch.cuda.device_count() is {count}. Choose "
            f"a device up to 'cuda:{count - 1}'."
        )


def _is_of_classes(htype: Htype) -> bool:
    while isinstance(htype.layout, Nested):
        htype = htype.layout.item
    return htype.classes is not None
