"""How storage keeps the cells of a column: one of three layouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deeplake_lite.htypes.base import Htype


@dataclass(frozen=True)
class Dense:
    """One Zarr array ``(n, *shape)``."""

    dtype: str
    """Stored dtype, a Zarr v3 core name: ``"int32"``, ``"float32"``, ``"bool"``."""

    shape: tuple[int, ...] = ()
    """Shape of one cell."""


@dataclass(frozen=True)
class Ragged:
    """Bytes of any length, back to back."""

    dtype: str
    """What the bytes hold: a dtype name, ``"utf8"``, ``"json"`` or ``"bytes"`` (files among them).
    Part of each cell's hash."""

    ndim: int = 0
    """How many axes of a cell's shape are kept."""

    compressed: bool = False
    """Whether the chunks that hold the bytes carry Zstd (text), or nothing (what is encoded)."""


@dataclass(frozen=True)
class Nested:
    """Items in a column of their own, and per row where its items are."""

    item: Htype
    """Type of the items."""


type Layout = Dense | Ragged | Nested
