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
    """Bytes of varying length, one cell after the other."""

    dtype: str
    """Content of the bytes: a dtype name, ``"utf8"``, ``"json"`` or ``"bytes"`` (including files).
    Part of each cell's hash."""

    ndim: int = 0
    """Number of axes whose sizes are stored with a cell."""

    compressed: bool = False
    """Whether chunks of the bytes are compressed with Zstd: text is, encoded values are not."""


@dataclass(frozen=True)
class Nested:
    """Items in a column of their own, with the range of items of each row."""

    item: Htype
    """Type of the items."""


type Layout = Dense | Ragged | Nested
