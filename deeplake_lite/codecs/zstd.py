"""Zstandard: small, fast to decode, and with a checksum that finds damage.

Notes
-----
RFC 8878, section 3.1.1, describes the frame header.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, override

from numcodecs import zstd

from deeplake_lite.codecs._arrays import check_option
from deeplake_lite.codecs._numbers import NumberCodec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAGIC = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True)
class Zstd(NumberCodec):
    """One Zstandard frame with its content size and checksum, as numcodecs' Zstd reads it.

    Parameters
    ----------
    level : int
        -7, fastest, to 22, smallest.

    Examples
    --------
    >>> import numpy as np
    >>> codec = Zstd()
    >>> data = codec.encode(np.zeros(1000))
    >>> len(data)
    23
    >>> codec.decode(data, (1000,), np.dtype("float64")).sum()
    np.float64(0.0)
    """

    level: int = 3
    """-7, fastest, to 22, smallest."""

    name: ClassVar[str] = "zstd"

    def __post_init__(self) -> None:
        check_option(self, "level", -7, 22)

    @override
    def _compress(self, array: NDArray[Any]) -> bytes:
        packed: bytes = zstd.compress(array.reshape(-1).view("uint8"), self.level, checksum=True)
        return packed

    @override
    def _claimed(self, data: memoryview) -> int:
        if data[:4] != _MAGIC:
            raise ValueError("no Zstandard frame begins there")
        descriptor = data[4]
        single, dictionary, wide = descriptor >> 5 & 1, descriptor & 3, descriptor >> 6
        start = 5 + (not single) + (0, 1, 2, 4)[dictionary]
        size = (single, 2, 4, 8)[wide]
        return int.from_bytes(data[start : start + size], "little") + (256 if size == 2 else 0)

    @override
    def _decompress(self, data: memoryview, into: NDArray[np.uint8]) -> None:
        zstd.decompress(data, into)
