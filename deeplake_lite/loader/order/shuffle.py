"""Ways to shuffle the rows of a view, and the choice of a way by the size of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from deeplake_lite.errors import OptionError
from deeplake_lite.loader.order.block_rows import rows_of_block
from deeplake_lite.loader.order.order import BlockOrder, ExactOrder, Order

EXACT_BYTES = 8 * 2**30
"""Views of up to this stored size are shuffled exactly by default."""

WINDOW_BYTES = 256 * 2**20
"""Approximate stored size of a window. A block shuffle permutes the rows within each window."""

MIN_WINDOW = 8
"""Minimum number of blocks in a window."""


class Stored(Protocol):
    """Rows whose number and stored size are known."""

    def __len__(self) -> int: ...

    @property
    def row_bytes(self) -> float:
        """Approximate stored size of a row in bytes."""
        ...


class Shuffling(Protocol):
    """How rows are shuffled in each epoch."""

    @property
    def kind(self) -> str:
        """Name of the shuffle, such as ``"exact"``."""
        ...

    @property
    def window_rows(self) -> int:
        """Number of rows in a window of the order; 0 if the shuffle has no windows.

        After the rows of a window, no row of the same blocks follows.
        """
        ...

    def order(self, n: int, seed: int, epoch: int) -> Order:
        """Return the order of an epoch of `n` rows."""
        ...

    def to_json(self) -> dict[str, object]:
        """Return everything that the order depends on, besides the seed and the epoch, as JSON."""
        ...


@dataclass(frozen=True)
class Shuffle:
    """How the rows of a view are shuffled.

    Parameters
    ----------
    kind : {"none", "exact", "block"}
        Name of the shuffle.
    block, window : int
        With ``"block"``, the number of rows in a block, and of blocks in a window.
    why : str
        Reason for the choice, shown to users.
    """

    kind: str
    """``"none"``, ``"exact"`` or ``"block"``."""
    block: int = 0
    """Number of rows in a block."""
    window: int = 0
    """Number of blocks in a window."""
    why: str = ""
    """Reason for the choice, shown to users."""

    @classmethod
    def choose(
        cls, requested: bool | str, samples: Stored, exact_bytes: int | None = None
    ) -> Shuffle:
        """Return the requested shuffle. For True, choose a shuffle that suits the size of the data.

        The choice depends only on the data, on constants and on the user's options, never on the
        machine. Otherwise, the order of an epoch would differ between machines.

        Parameters
        ----------
        requested : bool or {"exact", "block"}
            The user's option.
        samples : Stored
            The rows to shuffle.
        exact_bytes : int, optional
            Maximum size of data that True shuffles exactly, if it is less than `EXACT_BYTES`.

        Raises
        ------
        OptionError
            When `requested` is neither a bool nor ``"exact"`` or ``"block"``.
        """
        if isinstance(requested, np.bool_):
            requested = bool(requested)
        if requested is False:
            return cls("none", why="in the view's order")
        if requested is not True and not (
            isinstance(requested, str) and requested in ("exact", "block")
        ):
            raise OptionError(
                f"shuffle must be True, False, 'exact' or 'block', but it is {requested!r}."
            )
        total = samples.row_bytes * len(samples)
        limit = min(EXACT_BYTES, EXACT_BYTES if exact_bytes is None else exact_bytes)
        size, most = f"{total / 2**30:.3g} GiB", f"{limit / 2**30:.3g} GiB"
        if requested == "exact":
            return cls("exact", why="as requested")
        if requested is True and total <= limit:
            return cls("exact", why=f"{size} is not more than {most}")
        block = rows_of_block(samples.row_bytes)
        window = max(MIN_WINDOW, int(WINDOW_BYTES / (block * samples.row_bytes)))
        why = "as requested" if requested == "block" else f"{size} is more than {most}"
        return cls("block", block, window, why)

    @property
    def window_rows(self) -> int:
        """Number of rows in a window of the order; 0 if the shuffle has no windows."""
        return self.window * self.block

    def order(self, n: int, seed: int, epoch: int) -> Order:
        """Return the order of an epoch of `n` rows."""
        if self.kind == "exact":
            return ExactOrder(n, seed, epoch)
        if self.kind == "block":
            return BlockOrder(n, seed, epoch, self.block, self.window)
        return Order(n, seed, epoch)

    def to_json(self) -> dict[str, object]:
        """Return everything that the order depends on, besides the seed and the epoch, as JSON."""
        return {"kind": self.kind, "block": self.block, "window": self.window}

    def __str__(self) -> str:
        windows = (
            f" of {self.block:,} rows, {self.window} at a time" if self.kind == "block" else ""
        )
        return f"{self.kind}{windows} ({self.why})"
