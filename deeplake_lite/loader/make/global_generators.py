"""The generators that all functions of a process share: seeded for a sample, and given back."""

from __future__ import annotations

import random
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator


_TURN = threading.RLock()
"""Held while the generators are a loader's, so that loaders in several threads take turns."""


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
def preserved_globals() -> Iterator[None]:
    """Give the global generators back as they were; other threads wait for their turn."""
    with _TURN:
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
