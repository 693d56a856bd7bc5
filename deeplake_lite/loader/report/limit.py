"""The decode limit, which is the speed of a loader's decoder alone.

To measure this limit, the loader's decoder runs in the same number of threads, on rows in memory,
into preallocated batches. Rows are not read, transformed, collated or handed over, so no loader of
these rows is faster.
"""

from __future__ import annotations

import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.values import decode_block
from deeplake_lite.htypes.cells import DenseCells, RaggedCells, take
from deeplake_lite.loader.make.decode import decode_into, decode_one
from deeplake_lite.loader.memory import allocate_aligned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.loader.make.recipe import Recipe
    from deeplake_lite.loader.read.samples import Samples

MAX_BYTES = 256 * 2**20
"""Maximum stored size, in bytes, of the rows that are decoded for the measurement."""


@dataclass(frozen=True)
class Limit:
    """The measured speed of the decoder.

    Examples
    --------
    >>> Limit(samples=500, seconds=2.0, threads=2).samples_per_second
    250.0
    """

    samples: int
    """Number of rows that were decoded. A row that is decoded twice counts twice."""
    seconds: float
    """Duration of the measurement in seconds."""
    threads: int
    """Number of threads."""

    @property
    def samples_per_second(self) -> float:
        """Number of rows per second."""
        return self.samples / self.seconds


def decode_limit(
    samples: Samples, recipe: Recipe, batch_size: int, threads: int, seconds: float = 1.0
) -> Limit:
    """Measure how fast rows are decoded. `Loader.decode_limit` calls this for its own rows.

    Parameters
    ----------
    samples : Samples
        At least one row. If there are many rows, only the first of them are decoded.
    recipe : Recipe
        How to decode the rows.
    batch_size, threads : int
        Number of rows in a batch, and number of threads.
    seconds : float
        How long to measure. Each thread decodes at least one batch.
    """
    batches = _batches(samples, recipe, batch_size)
    numbers, until = itertools.count(), 0.0

    def decode_repeatedly(out: Mapping[str, object]) -> int:
        done = 0
        while not done or time.perf_counter() < until:
            done += _decode(recipe, batches[next(numbers) % len(batches)], out)
        return done

    outs = [_allocate(recipe, batch_size) for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        began = time.perf_counter()
        until = began + seconds
        count = sum(pool.map(decode_repeatedly, outs))
        return Limit(count, time.perf_counter() - began, threads)


def _batches(samples: Samples, recipe: Recipe, size: int) -> list[dict[str, Cells]]:
    """Read the first rows, and return the cells of each batch as a dict by column name."""
    rows = int(min(len(samples), max(size, MAX_BYTES / samples.row_bytes)))
    cells = samples.read(np.arange(rows))
    parts = [np.arange(i, min(i + size, rows)) for i in range(0, rows, size)]
    return [{name: take(cells[name], part) for name in recipe.columns} for part in parts]


def _allocate(recipe: Recipe, size: int) -> dict[str, object]:
    """Allocate arrays for the columns that are decoded straight into the batch."""
    return {
        name: allocate_aligned((size, *column.shape), np.dtype(column.dtype))
        for name, column in recipe.columns.items()
        if column.shape is not None and column.dtype is not None
    }


def _decode(recipe: Recipe, cells: Mapping[str, Cells], out: Mapping[str, Any]) -> int:
    """Decode a batch, into the arrays of `out` if possible, and return its number of rows."""
    count = 0
    for name, column in recipe.columns.items():
        column_cells, into = cells[name], out.get(name)
        count = len(column_cells)
        if isinstance(column_cells, DenseCells):
            decode_block(column.htype, column_cells)
        elif isinstance(column_cells, RaggedCells) and into is not None:
            for row in range(count):
                decode_into(column, column_cells, row, into[row])
        else:
            for row in range(count):
                decode_one(column, column_cells, row, recipe.allow)
    return count
