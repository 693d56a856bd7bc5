"""The three layouts in which storage keeps the cells of a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deeplake_lite.htypes.base import Htype


@dataclass(frozen=True)
class Dense:
    """One Zarr array ``(n, *shape)``."""

    dtype: str
    """Stored dtype, by its core name in Zarr v3, such as ``"int32"`` or ``"bool"``."""

    shape: tuple[int, ...] = ()
    """Shape of one cell."""


@dataclass(frozen=True)
class Ragged:
    """Cells of varying length, stored as concatenated bytes."""

    dtype: str
    """Content of the bytes: the name of a dtype, or ``"utf8"``, ``"json"`` or ``"bytes"``. Files
    are stored as ``"bytes"``. The hash of each cell includes this string."""

    ndim: int = 0
    """Number of axes whose sizes are stored with each cell."""

    compressed: bool = False
    """Whether storage compresses chunks of the bytes with Zstd, as it does for text."""

    @property
    def has_elements(self) -> bool:
        """Whether the bytes are the elements of an array.

        >>> Ragged("float32", 2).has_elements, Ragged("utf8").has_elements
        (True, False)
        """
        return self.dtype not in ("utf8", "json", "bytes")


@dataclass(frozen=True)
class Nested:
    """Rows that are lists of items. The items of all rows are stored in a separate column."""

    item: Htype
    """Type of the items."""


type Layout = Dense | Ragged | Nested
