"""The keywords of the loader methods, which are defined here once for all of these methods.

`LoaderOptions` has the types for type checkers, and `Keywords` has the default values.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict

type Collate = Literal["stack", "pad", "list", "ragged"]
"""How the values of several rows are combined in a batch."""

type Last = Literal["uneven", "drop", "pad"]
"""What happens to rows that do not fill the last batch."""

type Cache = Literal["encoded", "decoded", "disk"] | None
"""Form in which rows are cached for the next epoch."""

type Size = tuple[int, int]
"""Height and width of images, in pixels."""


class _SharedOptions(TypedDict, total=False):
    """Keywords of all loaders and PyTorch datasets."""

    columns: Sequence[str] | str | None
    mode: str | Mapping[str, str] | None
    row_ids: bool
    seed: int
    size: Size | Mapping[str, Size] | None
    transform: Callable[..., object] | None


class _OrderOptions(TypedDict, total=False):
    """Keywords of loaders and iterable datasets for the order and distribution of the rows."""

    last: str | None
    memory_budget: float | str | None
    rank: int | None
    shuffle: bool | str
    world_size: int | None


class DatasetOptions(_SharedOptions, total=False):
    """Keywords of `View.pytorch_dataset` in either style."""

    collate: str | Mapping[str, str] | None


class IterableOptions(DatasetOptions, _OrderOptions, total=False):
    """Keywords of `View.pytorch_dataset` in the style ``"iterable"``."""


class LoaderOptions(_SharedOptions, _OrderOptions, total=False):
    """Keywords of `View.batches` and the loaders for PyTorch, TensorFlow and JAX."""

    batch_transform: Callable[..., object] | None
    cache: str | None
    collate: str | Mapping[str, str] | Callable[[list[Any]], object] | None
    disk_budget: float | str | None
    drop_last: bool
    num_workers: int | None
    on_error: str
    progress: bool
    workers: str


class SizedOptions(LoaderOptions):
    """Keywords of a loader, with the number of rows in a batch."""

    batch_size: int


@dataclass(frozen=True)
class Keywords:
    """The keywords of loaders with their defaults; `View.batches` documents them."""

    batch_size: int
    columns: Sequence[str] | None = None
    shuffle: bool | str = False
    seed: int = 0
    last: Last | None = None
    transform: Callable[..., object] | None = None
    batch_transform: Callable[..., object] | None = None
    collate: Collate | Mapping[str, Collate] | Callable[[list[Any]], object] | None = None
    size: Size | Mapping[str, Size] | None = None
    mode: str | Mapping[str, str] | None = None
    rank: int | None = None
    world_size: int | None = None
    memory_budget: float | str | None = None
    cache: Cache = "encoded"
    disk_budget: float | str | None = None
    workers: Literal["threads", "processes"] = "threads"
    num_workers: int | None = None
    on_error: Literal["raise", "skip"] = "raise"
    row_ids: bool = False
    progress: bool = False


def with_signature[F: Callable[..., Any]](method: F) -> F:
    """Make `help` and notebooks show the keywords that a method takes as ``**options``.

    >>> import deeplake_lite as dl
    >>> list(inspect.signature(dl.View.jax).parameters)[:5]
    ['self', 'batch_size', 'sharding', 'columns', 'shuffle']
    """
    # `drop_last` is not in `Keywords`, because ``drop_last=True`` becomes ``last="drop"``.
    keyword = inspect.Parameter.KEYWORD_ONLY
    named = [p for p in inspect.signature(method).parameters.values() if p.name != "options"]
    keywords = [
        inspect.Parameter(f.name, keyword, default=f.default, annotation=f.type)
        for f in fields(Keywords)
        if f.name != "batch_size"
    ]
    keywords.append(inspect.Parameter("drop_last", keyword, default=False, annotation="bool"))
    returns = inspect.signature(method).return_annotation
    parameters = [*named, *keywords]
    vars(method)["__signature__"] = inspect.Signature(parameters, return_annotation=returns)
    return method
