"""How rows are shuffled: which way fits the size of the data, and the order of each epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from deeplake_lite.errors import OptionError
from deeplake_lite.loader.order.block_rows import rows_of_block
from deeplake_lite.loader.order.order import BlockOrder, ExactOrder, Order

EXACT_BYTES = 8 * 2**30
"""Views up to this size, as stored, are shuffled exactly unless the user says otherwise."""

WINDOW_BYTES = 256 * 2**20
"""Rows that a shuffle by blocks mixes, as stored."""

LEAST_WINDOW = 8
"""Blocks whose rows it mixes at the least."""


class Stored(Protocol):
    """Rows whose size is known."""

    def __len__(self) -> int: ...

    @property
    def row_bytes(self) -> float:
        """Stored size of a row, bytes, about."""
        ...


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
    def chosen(cls, wanted: bool | str, samples: Stored) -> Shuffle:
        """Return what the user wants, or what fits the size of the data: by fixed constants.

        Raises
        ------
        OptionError
            For anything but a bool, ``"exact"`` and ``"block"``.
        """
        if isinstance(wanted, np.bool_):
            wanted = bool(wanted)
        if wanted is False:
            return cls("none", why="in the view's order")
        if wanted is not True and not (isinstance(wanted, str) and wanted in ("exact", "block")):
            raise OptionError(
                f"shuffle must be True, False, 'exact' or 'block', but it is {wanted!r}."
            )
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
