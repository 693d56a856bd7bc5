"""Functions that seed and restore the global random generators, which all code shares."""

from __future__ import annotations

import random
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator


_LOCK = threading.RLock()
"""Lock that a loader holds while it uses the global generators, because threads share them."""


def seed_globals(number: int) -> None:
    """Seed the generators of `random` and `numpy.random`, and torch's CPU generator if imported.

    >>> seed_globals(7)
    >>> drawn = random.random(), np.random.random()
    >>> seed_globals(7)
    >>> drawn == (random.random(), np.random.random())
    True
    """
    random.seed(number)
    np.random.seed(number % 2**32)  # noqa: NPY002 - transforms of libraries use this generator
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(number % 2**63)


@contextmanager
def preserve_globals() -> Iterator[None]:
    """Restore the state of the global generators at the end of a ``with`` block.

    Only one thread at a time can be within the block.
    """
    with _LOCK:
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
