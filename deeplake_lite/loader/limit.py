"""How fast batches could be at best: the decoder alone, over rows that are in memory.

The loader's own decoder, with as many threads, into batches that were allocated beforehand; nothing
is read, transformed, collated or handed over.
"""

from __future__ import annotations

import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.values import decode_block
from deeplake_lite.htypes.cells import DenseCells, RaggedCells, take
from deeplake_lite.loader.decode import decode_into, decode_one
from deeplake_lite.loader.memory import aligned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.loader.loader import Loader
    from deeplake_lite.loader.recipe import Recipe

MOST_BYTES = 256 * 2**20
"""Size of the rows that are decoded, as stored."""


@dataclass(frozen=True)
class Limit:
    """What the decoder can do.

    Examples
    --------
    >>> Limit(samples=500, seconds=2.0, threads=2).samples_per_second
    250.0
    """

    samples: int
    """Rows that were decoded, some of them several times."""
    seconds: float
    """That it took."""
    threads: int
    """That decoded."""

    @property
    def samples_per_second(self) -> float:
        """Rows by time."""
        return self.samples / self.seconds


def decode_limit(loader: Loader, seconds: float = 1.0) -> Limit:
    """Measure how fast a loader's rows are decoded, for some seconds.

    Parameters
    ----------
    loader : Loader
        Of a view with rows; its first ones are read for this.
    seconds : float
        How long, at the least a batch per thread.
    """
    batches = _batches(loader)
    threads = max(1, loader.options.threads)
    turns, until = itertools.count(), 0.0

    def work(own: Mapping[str, Any]) -> int:
        done = 0
        while not done or time.perf_counter() < until:
            cells = batches[next(turns) % len(batches)]
            done += _decode(loader._recipe, cells, own)
        return done

    own = [_allocated(loader) for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        began = time.perf_counter()
        until = began + seconds
        samples = sum(pool.map(work, own))
        return Limit(samples, time.perf_counter() - began, threads)


def _batches(loader: Loader) -> list[dict[str, Cells]]:
    """Read the first rows, and divide them into batches."""
    samples, size = loader._samples, loader.batch_size
    rows = int(min(len(samples), max(size, MOST_BYTES / samples.row_bytes)))
    cells = samples.read(np.arange(rows))
    parts = [np.arange(i, min(i + size, rows)) for i in range(0, rows, size)]
    names = loader._recipe.columns
    return [{name: take(cells[name], part) for name in names} for part in parts]


def _allocated(loader: Loader) -> dict[str, Any]:
    """Return arrays for the columns that are decoded into one."""
    return {
        name: aligned((loader.batch_size, *recipe.shape), np.dtype(recipe.dtype))
        for name, recipe in loader._recipe.columns.items()
        if recipe.shape is not None and recipe.dtype is not None
    }


def _decode(recipe: Recipe, cells: Mapping[str, Cells], own: Mapping[str, Any]) -> int:
    """Decode a batch; return how many rows it has."""
    count = 0
    for name, column in recipe.columns.items():
        some, into = cells[name], own.get(name)
        count = len(some)
        if isinstance(some, DenseCells):
            decode_block(column.htype, some)
        elif isinstance(some, RaggedCells) and into is not None:
            for row in range(count):
                decode_into(column, some, row, into[row])
        else:
            for row in range(count):
                decode_one(column, some, row, recipe.allow)
    return count
