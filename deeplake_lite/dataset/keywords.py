"""Every keyword of loaders for training, written once.

`LoaderOptions` is what type checkers see, `Keywords` the same with what is taken if left out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict

type Collate = Literal["stack", "pad", "list", "ragged"]
"""How values of several rows go together."""

type Last = Literal["uneven", "drop", "pad"]
"""What becomes of the last batch when the rows do not fill it."""

type Cache = Literal["encoded", "decoded", "disk"] | None
"""What is kept of the rows for the next epoch."""

type Size = tuple[int, int]
"""Height and width of pictures, pixels."""


class _OfBoth(TypedDict, total=False):
    """Keywords of every loader and dataset."""

    columns: Sequence[str] | str | None
    mode: str | Mapping[str, str] | None
    row_ids: bool
    seed: int
    size: Size | Mapping[str, Size] | None
    transform: Callable[..., Any] | None


class _OfOrder(TypedDict, total=False):
    """Keywords of what says in which order rows come."""

    last: str | None
    memory_budget: float | str | None
    rank: int | None
    shuffle: bool | str
    world_size: int | None


class DatasetOptions(_OfBoth, total=False):
    """Keywords of `View.pytorch_dataset`."""

    collate: str | Mapping[str, str] | None


class IterableOptions(DatasetOptions, _OfOrder, total=False):
    """Keywords of `View.pytorch_dataset` where rows come one after the other."""


class LoaderOptions(_OfBoth, _OfOrder, total=False):
    """Keywords of `View.batches`, and of its like."""

    batch_transform: Callable[..., Any] | None
    cache: str | None
    collate: str | Mapping[str, str] | Callable[[list[Any]], Any] | None
    drop_last: bool
    num_workers: int | None
    on_error: str
    progress: bool
    workers: str


@dataclass(frozen=True)
class Keywords:
    """The same, and what each is if left out; see `View.batches` for what they mean."""

    batch_size: int
    columns: Sequence[str] | None = None
    shuffle: bool | str = False
    seed: int = 0
    last: Last | None = None
    transform: Callable[..., Any] | None = None
    batch_transform: Callable[..., Any] | None = None
    collate: Collate | Mapping[str, Collate] | Callable[[list[Any]], Any] | None = None
    size: Size | Mapping[str, Size] | None = None
    mode: str | Mapping[str, str] | None = None
    rank: int | None = None
    world_size: int | None = None
    memory_budget: float | str | None = None
    cache: Cache = "encoded"
    workers: Literal["threads", "processes"] = "threads"
    num_workers: int | None = None
    on_error: Literal["raise", "skip"] = "raise"
    row_ids: bool = False
    progress: bool = False


def signed[F: Callable[..., Any]](method: F) -> F:
    """Let `help` and notebooks show the keywords, which a method takes as ``**options``.

    >>> import deeplake_lite as dl
    >>> list(inspect.signature(dl.View.jax).parameters)[:5]
    ['self', 'batch_size', 'sharding', 'columns', 'shuffle']
    """
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [p for p in inspect.signature(method).parameters.values() if p.name != "options"]
    given = [
        inspect.Parameter(f.name, keyword, default=f.default, annotation=f.type)
        for f in fields(Keywords)
        if f.name != "batch_size"
    ]
    given.append(inspect.Parameter("drop_last", keyword, default=False, annotation="bool"))
    returns = inspect.signature(method).return_annotation
    vars(method)["__signature__"] = inspect.Signature([*own, *given], return_annotation=returns)
    return method
