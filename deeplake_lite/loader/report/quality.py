"""The quality of a shuffle, by statistics that compare an epoch's order with a random order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import ColumnNotFoundError
from deeplake_lite.loader.order.block_rows import rows_of_block
from deeplake_lite.storage.digests import digests_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.loader.order.order import Order, Positions
    from deeplake_lite.loader.read.samples import Samples

MAX_ROWS = 1_000_000
"""Maximum number of rows to measure in an epoch."""

MIN_BLOCKS = 64
"""Minimum number of blocks, unless there are fewer rows."""


@dataclass(frozen=True, repr=False)
class ShuffleQuality:
    """The quality of a shuffle.

    In a good shuffle, each statistic is close to its expected value in a uniformly random order.
    Without shuffling, the rank correlation is 1, sorted labels form one run per class, and most
    rows of a batch are from one block.
    """

    rows: int
    """Number of measured rows."""
    rank_correlation: float
    """Spearman's rank correlation between the order of the rows in the epoch and in the view."""
    label: str | None
    """Name of the column of labels; None if there is none."""
    label_runs: int | None
    """Number of runs of equal labels; None without labels."""
    label_runs_by_chance: float | None
    """Expected number of runs in a uniformly random order; None without labels."""
    block: int
    """Number of rows in a block. They are adjacent in the view and are read together."""
    block_pairs: float
    """Share of the pairs of rows in a global batch that come from the same block."""
    block_pairs_by_chance: float
    """Expected value of `block_pairs` in a uniformly random order."""

    @classmethod
    def of(
        cls, samples: Samples, order: Order, batch: int, label: str | None = None
    ) -> ShuffleQuality:
        """Measure the quality of an order. Raises ColumnNotFoundError for an unknown `label`."""
        name = _label(samples, label)
        positions = order.at(0, min(order.n, MAX_ROWS))
        block = min(rows_of_block(samples.row_bytes), max(1, len(samples) // MIN_BLOCKS))
        runs = by_chance = None
        if name is not None:
            values = _labels(samples, name, positions)
            runs, by_chance = label_runs(values), label_runs_by_chance(values)
        blocks = positions // block
        batches = np.arange(len(blocks)) // batch
        together = equal_pairs(batches * (int(blocks.max(initial=0)) + 1) + blocks)
        return cls(
            len(positions),
            rank_correlation(positions),
            name,
            runs,
            by_chance,
            block,
            together / max(1, equal_pairs(batches)),
            equal_pairs(blocks) / max(1, len(blocks) * (len(blocks) - 1) // 2),
        )

    def __repr__(self) -> str:
        noise = 1 / np.sqrt(max(1, self.rows - 1))
        lines = [
            f"ShuffleQuality of {self.rows:,} rows",
            f"  rank correlation  {self.rank_correlation:.3f} (by chance 0 ± {noise:.2g})",
        ]
        if self.label is not None:
            chance = f"{self.label_runs_by_chance:,.0f}"
            lines.append(
                f"  runs of labels    {self.label_runs:,} of {self.label!r} (by chance {chance})"
            )
        share = f"{self.block_pairs:.1%}, blocks of {self.block:,} rows"
        lines.append(f"  same-block pairs  {share} (by chance {self.block_pairs_by_chance:.1%})")
        return "\n".join(lines)


def rank_correlation(positions: Positions) -> float:
    """Return Spearman's rank correlation between values and their indices.

    The result is 0 for fewer than two values.

    >>> round(rank_correlation(np.arange(100)), 6), round(rank_correlation(np.arange(100)[::-1]), 6)
    (1.0, -1.0)
    """
    n = len(positions)
    if n < 2:
        return 0.0
    ranks = np.empty(n)
    ranks[np.argsort(positions, kind="stable")] = np.arange(n)
    middle = (n - 1) / 2
    covariance = float(((ranks - middle) * (np.arange(n) - middle)).sum())
    return covariance / (n * (n * n - 1) / 12)


def label_runs(values: NDArray[Any]) -> int:
    """Return the number of runs of equal values.

    >>> label_runs(np.array([1, 1, 2, 1]))
    3
    """
    return int((values[1:] != values[:-1]).sum()) + 1 if len(values) else 0


def label_runs_by_chance(values: NDArray[Any]) -> float:
    """Return the expected number of runs of equal values in a random order.

    >>> label_runs_by_chance(np.array([0, 0, 1, 1]))
    3.0
    """
    n = len(values)
    if not n:
        return 0.0
    counts = np.unique(values, return_counts=True)[1].astype(float)
    return n + 1 - float((counts * counts).sum()) / n


def equal_pairs(keys: NDArray[np.int64]) -> int:
    """Return the number of pairs with equal keys.

    >>> equal_pairs(np.array([1, 2, 1, 1]))
    3
    """
    counts = np.unique(keys, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _label(samples: Samples, label: str | None) -> str | None:
    """Return the given label column, or else the name of the first column of class labels.

    Returns None if there is no column of class labels. Raises ColumnNotFoundError if there is no
    column with the given name.
    """
    names = [f.name for f in samples.fields]
    if label is not None and label not in names:
        raise ColumnNotFoundError.named("column", label, names)
    if label is not None:
        return label
    classes = (f.name for f in samples.fields if f.htype.classes is not None)
    return next(classes, None)


def _labels(samples: Samples, name: str, positions: Positions) -> NDArray[np.uint64]:
    """Return a hash of each row's label, (rows,). Equal labels have equal hashes."""
    rows, back = np.unique(positions, return_inverse=True)
    labels = samples.only([name])
    return digests_of(labels.fields[0].htype.layout, labels.read(rows)[name])[back]
