"""What an epoch is made of: which shuffle, which order, and where each batch's rows are."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from deeplake_lite.loader.order.order import PART, BlockOrder, ExactOrder, Order, Positions
from deeplake_lite.loader.read.blocks import rows_of_block

if TYPE_CHECKING:
    from deeplake_lite.loader.order.shares import Shares
    from deeplake_lite.loader.read.samples import Samples

EXACT_BYTES = 8 * 2**30
"""Views up to this size, as stored, are shuffled exactly unless the user says otherwise."""

WINDOW_BYTES = 256 * 2**20
"""Rows that a shuffle by blocks mixes, as stored."""

LEAST_WINDOW = 8
"""Blocks whose rows it mixes at the least."""


class Shuffling(Protocol):
    """How rows are shuffled, epoch by epoch."""

    @property
    def kind(self) -> str:
        """Such as ``"exact"``."""
        ...

    @property
    def window_rows(self) -> int:
        """Rows that an order goes through before it leaves them for good; 0 if it never does."""
        ...

    def order(self, n: int, seed: int, epoch: int) -> Order:
        """Return the order of an epoch of `n` rows."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return what an order depends on."""
        ...


@dataclass(frozen=True)
class Shuffle:
    """How the rows of a view are shuffled.

    Parameters
    ----------
    kind : {"none", "exact", "block"}
    block, window : int
        Rows of a block, and blocks of a window, of ``"block"``.
    why : str
        Why it is this one, for people.
    """

    kind: str
    """``"none"``, ``"exact"`` or ``"block"``."""
    block: int = 0
    """Rows of a block."""
    window: int = 0
    """Blocks whose rows are mixed."""
    why: str = ""
    """For people."""

    @classmethod
    def chosen(cls, wanted: bool | str, samples: Samples) -> Shuffle:
        """Return what the user wants, or what fits the size of the data: by fixed constants.

        Raises
        ------
        ValueError
            For anything but a bool, ``"exact"`` and ``"block"``.
        """
        if wanted is False:
            return cls("none", why="in the view's order")
        if wanted is not True and wanted not in ("exact", "block"):
            raise ValueError(f"shuffle is True, False, 'exact' or 'block', got {wanted!r}.")
        total = samples.row_bytes * len(samples)
        size = f"{total / 2**30:.3g} GiB"
        if wanted == "exact":
            return cls("exact", why="as asked for")
        if wanted is True and total <= EXACT_BYTES:
            return cls("exact", why=f"{size} are no more than {EXACT_BYTES // 2**30} GiB")
        block = rows_of_block(samples.row_bytes)
        window = max(LEAST_WINDOW, int(WINDOW_BYTES / (block * samples.row_bytes)))
        why = (
            "as asked for"
            if wanted == "block"
            else f"{size} are more than {EXACT_BYTES // 2**30} GiB"
        )
        return cls("block", block, window, why)

    @property
    def window_rows(self) -> int:
        """Rows that an order goes through before it leaves them for good; 0 if it never does."""
        return self.window * self.block

    def order(self, n: int, seed: int, epoch: int) -> Order:
        """Return the order of an epoch."""
        if self.kind == "exact":
            return ExactOrder(n, seed, epoch)
        if self.kind == "block":
            return BlockOrder(n, seed, epoch, self.block, self.window)
        return Order(n, seed, epoch)

    def to_json(self) -> dict[str, Any]:
        """Return what an order depends on."""
        return {"kind": self.kind, "block": self.block, "window": self.window}

    def __str__(self) -> str:
        windows = (
            f" of {self.block:,} rows, {self.window} at a time" if self.kind == "block" else ""
        )
        return f"{self.kind}{windows} ({self.why})"


class Places:
    """The rows of an epoch by their place in its order; a part of them is computed at a time."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self._parts: dict[int, Positions] = {}
        self._lock = threading.Lock()

    def at(self, start: int, stop: int) -> Positions:
        """Return the positions of the rows at places from `start` to before `stop`."""
        first, last = start // PART, (stop - 1) // PART
        parts = [self._part(number) for number in range(first, last + 1)]
        whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return whole[start - first * PART : stop - first * PART]

    def _part(self, number: int) -> Positions:
        with self._lock:
            found = self._parts.get(number)
            if found is None:
                found = self._parts[number] = self.order.at(number * PART, (number + 1) * PART)
                for old in [n for n in self._parts if n < number - 2]:
                    del self._parts[old]
            return found


@dataclass(frozen=True)
class Task:
    """Some batches that follow each other."""

    first: int
    """Number of the first batch in the epoch."""
    count: int
    """How many."""


def positions_of(places: Places, shares: Shares, batch: int) -> tuple[Positions, int]:
    """Return the rows of this rank's part of a batch, and how many are not padding."""
    start, stop = shares.span(batch)
    return shares.of(places.at(start, stop)), len(shares.rows(batch))
