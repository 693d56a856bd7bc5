"""Values of a batch as tensors of PyTorch, and tensors on their way to a device.

A batch is a dict, list or tuple, in any depth, of arrays and of what no tensor can hold.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import MissingPackageError
from deeplake_lite.loader.frameworks.dtypes import for_torch
from deeplake_lite.loader.make.arrays import RaggedBatch
from deeplake_lite.loader.tree import mapped

try:
    import torch
except ImportError as missing:
    raise MissingPackageError.needed("PyTorch", "torch", "A loader of tensors") from missing

__all__ = ["SideStream", "as_tensors", "moved", "pinned", "torch"]

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deeplake_lite.loader.make.recipe import BatchResult


def as_tensors(batch: Any, classes: Collection[str] = ()) -> Any:
    """Return a batch with tensors for arrays; they share the arrays' memory.

    Parameters
    ----------
    batch : dict, list, tuple or ndarray
        What is in it and is no number, array or `RaggedBatch` of NumPy stays as it is.
    classes : collection of str
        Keys of what is int64 whatever its integer dtype.

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


def moved(batch: Any, device: torch.device) -> Any:
    """Return a batch with its tensors on a device; asynchronously where their memory is pinned.

    >>> moved({"x": torch.ones(2), "t": ["a"]}, torch.device("meta"))
    {'x': tensor(..., device='meta', size=(2,)), 't': ['a']}
    """
    return _each(batch, lambda leaf: _if_tensor(leaf, lambda t: t.to(device, non_blocking=True)))


def pinned(batch: Any) -> Any:
    """Return a batch with its tensors in pages that stay in memory, from which a GPU reads."""
    return _each(batch, lambda leaf: _if_tensor(leaf, lambda t: t.pin_memory()))


class SideStream:
    """Copies batches to a GPU on a stream of its own, while the step before is computed.

    The copy of a batch is begun while the one before is handed over, as soon as it is there; who
    gets a batch waits for its copy on the GPU alone.

    Parameters
    ----------
    device : torch.device
        A GPU.
    cuda : module
        What has streams: `torch.cuda`.
    """

    def __init__(self, device: torch.device, cuda: Any = torch.cuda) -> None:
        self._device, self._cuda = device, cuda
        self._stream = cuda.Stream(device)

    def handed_over(
        self, batches: Iterable[BatchResult], is_ready: Callable[[], bool]
    ) -> Iterator[BatchResult]:
        """Yield batches on the device, in order.

        Parameters
        ----------
        batches : iterable of BatchResult
            Of pinned tensors.
        is_ready : callable
            Whether the next of them is there at once.
        """
        begun = map(self._begun, batches)
        coming = next(begun, None)
        while coming is not None:
            here, early = coming, is_ready()
            if early:
                coming = next(begun, None)
            yield self._arrived(*here)
            if not early:
                coming = next(begun, None)

    def _begun(self, made: BatchResult) -> tuple[BatchResult, Any]:
        """Begin a copy; the event tells when it is done."""
        with self._cuda.stream(self._stream):
            made.batch = moved(made.batch, self._device)
            return made, self._stream.record_event()

    def _arrived(self, made: BatchResult, copied: Any) -> BatchResult:
        """Let what the caller computes wait for the copy, and the memory outlive that."""
        stream = self._cuda.current_stream(self._device)
        stream.wait_event(copied)
        _each(made.batch, lambda leaf: _if_tensor(leaf, lambda t: t.record_stream(stream)))
        return made


def _each(batch: Any, change: Callable[[Any], Any]) -> Any:
    """Return a batch with its values changed, those of lists one by one."""
    return mapped(batch, change, lists=True)


def _if_tensor(value: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    return change(value) if isinstance(value, torch.Tensor) else value


def _class_tensor(value: Any) -> Any:
    return _tensor(value, classes=True)


def _tensor(value: Any, *, classes: bool = False) -> Any:
    if isinstance(value, RaggedBatch):
        return _nested(value, _tensor(value.values, classes=classes))
    if not isinstance(value, np.ndarray | np.generic):
        return value
    ready = for_torch(np.asarray(value), classes=classes)
    return value if ready is None else torch.from_numpy(ready)


def _nested(ragged: RaggedBatch, values: torch.Tensor) -> torch.Tensor:
    """Return values as a nested tensor that shares their memory; no GPU is asked how long it is."""
    ends = torch.from_numpy(np.concatenate([[0], np.cumsum(ragged.lengths)]).astype(np.int64))
    if not len(ragged):
        return torch.nested.nested_tensor_from_jagged(values, ends)
    least, most = int(ragged.lengths.min()), int(ragged.lengths.max())
    return torch.nested.nested_tensor_from_jagged(values, ends, min_seqlen=least, max_seqlen=most)
