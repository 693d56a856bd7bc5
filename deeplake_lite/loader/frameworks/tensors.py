"""Conversion of batches to PyTorch tensors, and asynchronous copies of tensors to a GPU.

A batch consists of dicts, lists and tuples, nested to any depth. Their leaves are arrays, or values
that a tensor cannot store, such as strings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import MissingPackageError
from deeplake_lite.loader.frameworks.dtypes import for_torch
from deeplake_lite.loader.make.arrays import RaggedBatch
from deeplake_lite.loader.tree import map_leaves

try:
    import torch
except ImportError as missing:
    raise MissingPackageError.needed("PyTorch", "torch", "A loader of tensors") from missing

__all__ = ["SideStream", "as_tensors", "move", "pin", "torch"]

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

    from deeplake_lite.loader.make.recipe import BatchResult


def as_tensors(batch: object, classes: Collection[str] = ()) -> Any:
    """Return a batch whose arrays are converted to tensors, without copying memory if possible.

    Parameters
    ----------
    batch : dict, list, tuple or ndarray
        Numbers, arrays and `RaggedBatch` are converted. Other values stay unchanged.
    classes : collection of str
        Keys of the batch whose values are class numbers, which become int64.

    Examples
    --------
    >>> as_tensors({"x": np.ones(2), "label": np.array([3], np.uint8), "t": ["a"]}, ["label"])
    {'x': tensor([1., 1.], dtype=torch.float64), 'label': tensor([3]), 't': ['a']}
    """
    if isinstance(batch, Mapping):
        return {
            key: _each(value, _class_tensor if key in classes else _tensor)
            for key, value in batch.items()
        }
    return _each(batch, _tensor)


def move(batch: object, device: torch.device) -> Any:
    """Return a batch whose tensors are moved to a device. Pinned memory is copied asynchronously.

    >>> move({"x": torch.ones(2), "t": ["a"]}, torch.device("meta"))
    {'x': tensor(..., device='meta', size=(2,)), 't': ['a']}
    """
    return _each(batch, lambda leaf: _if_tensor(leaf, lambda t: t.to(device, non_blocking=True)))


def pin(batch: object) -> Any:
    """Return a batch whose tensors are in pinned memory, which a GPU can read directly."""
    return _each(batch, lambda leaf: _if_tensor(leaf, lambda t: t.pin_memory()))


class SideStream:
    """Copies batches to a GPU on a separate CUDA stream, while the GPU computes the previous step.

    If the next batch is ready, its copy begins before the current batch is yielded. The GPU waits
    for copies, but the CPU does not.

    Parameters
    ----------
    device : torch.device
        A GPU.
    cuda : module
        Module with the class of streams, `torch.cuda`.
    """

    def __init__(self, device: torch.device, cuda: ModuleType = torch.cuda) -> None:
        self._device, self._cuda = device, cuda
        self._stream = cuda.Stream(device)

    def hand_over(
        self, batches: Iterable[BatchResult], is_ready: Callable[[], bool]
    ) -> Iterator[BatchResult]:
        """Yield batches on the device, in order.

        Parameters
        ----------
        batches : iterable of BatchResult
            Batches with pinned tensors.
        is_ready : callable
            Returns whether the next batch is available without waiting.
        """
        copies = map(self._begin_copy, batches)
        coming = next(copies, None)
        while coming is not None:
            current, early = coming, is_ready()
            if early:
                coming = next(copies, None)
            yield self._wait_for_copy(*current)
            if not early:
                coming = next(copies, None)

    def _begin_copy(self, result: BatchResult) -> tuple[BatchResult, object]:
        """Start to copy a batch, and return it with the event that marks the end of the copy."""
        with self._cuda.stream(self._stream):
            result.batch = move(result.batch, self._device)
            return result, self._stream.record_event()

    def _wait_for_copy(self, result: BatchResult, copied: Any) -> BatchResult:
        """Make the caller's CUDA stream wait for the copy of a batch, and return the batch."""
        stream = self._cuda.current_stream(self._device)
        stream.wait_event(copied)
        # The tensors were allocated on another stream. Without `record_stream`, the allocator could
        # reuse their memory before the caller's stream has finished with it.
        _each(result.batch, lambda leaf: _if_tensor(leaf, lambda t: t.record_stream(stream)))
        return result


def _each(batch: object, change: Callable[[object], object]) -> object:
    """Return a batch with a function applied to each value, and to each item of a list."""
    return map_leaves(batch, change, lists=True)


def _if_tensor(value: object, change: Callable[[torch.Tensor], object]) -> object:
    return change(value) if isinstance(value, torch.Tensor) else value


def _class_tensor(value: object) -> object:
    return _tensor(value, classes=True)


def _tensor(value: object, *, classes: bool = False) -> Any:
    if isinstance(value, RaggedBatch):
        return _as_nested(value, _tensor(value.values, classes=classes))
    if not isinstance(value, np.ndarray | np.generic):
        return value
    ready = for_torch(np.asarray(value), classes=classes)
    return value if ready is None else torch.from_numpy(ready)


def _as_nested(ragged: RaggedBatch, values: torch.Tensor) -> torch.Tensor:
    """Return a nested tensor that shares the memory of `values`.

    PyTorch gets the shortest and the longest length, because the CPU would have to wait if PyTorch
    computed these lengths on a GPU.
    """
    ends = torch.from_numpy(np.concatenate([[0], np.cumsum(ragged.lengths)]).astype(np.int64))
    if not len(ragged):
        return torch.nested.nested_tensor_from_jagged(values, ends)
    least, most = int(ragged.lengths.min()), int(ragged.lengths.max())
    return torch.nested.nested_tensor_from_jagged(values, ends, min_seqlen=least, max_seqlen=most)
