"""What a transform draws: from numbers that depend on the seed, the epoch and the row alone.

A transform with a parameter `rng` gets a generator of its own. One without draws from the global
generators, which are seeded before each sample in processes of a loader: threads share them.
"""

from __future__ import annotations

import inspect
import random
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.loader.order import mixed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

type Transform = Callable[..., Any]


def call(
    transform: Transform, value: Any, seed: int, epoch: int, row_id: int, *, seeds: bool = False
) -> Any:
    """Call a transform, with a generator of its own if it takes `rng`.

    Parameters
    ----------
    transform : callable
        Of the user.
    value : Any
        A sample, or a batch.
    seed, epoch, row_id : int
        What is drawn depends on these.
    seeds : bool
        Whether the global generators are seeded for a transform without `rng`.
    """
    drawn_from = mixed(seed, epoch, row_id)
    if takes_rng(transform):
        return transform(value, rng=np.random.Generator(np.random.PCG64(drawn_from)))
    if seeds:
        seed_globals(drawn_from)
    return transform(value)


def takes_rng(transform: Transform) -> bool:
    """Tell whether a function has a parameter `rng`.

    >>> takes_rng(lambda sample, rng: sample), takes_rng(dict)
    (True, False)
    """
    try:
        return "rng" in inspect.signature(transform).parameters
    except (TypeError, ValueError):
        return False


def seed_globals(number: int) -> None:
    """Seed the generators of `random` and `numpy.random`, and torch's for the CPU if it is loaded.

    >>> seed_globals(7)
    >>> drawn = random.random(), np.random.random()
    >>> seed_globals(7)
    >>> drawn == (random.random(), np.random.random())
    True
    """
    random.seed(number)
    np.random.seed(number % 2**32)  # noqa: NPY002 - the one that transforms of others draw from
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(number % 2**63)


@contextmanager
def globals_kept() -> Iterator[None]:
    """Give the global generators back as they were."""
    torch = sys.modules.get("torch")
    plain, arrays = random.getstate(), np.random.get_state()  # noqa: NPY002
    tensors = None if torch is None else torch.default_generator.get_state()
    try:
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(arrays)  # noqa: NPY002
        if torch is not None:
            torch.default_generator.set_state(tensors)
