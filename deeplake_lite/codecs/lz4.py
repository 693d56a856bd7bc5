"""LZ4, the codec that decodes fastest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, override

from numcodecs import lz4

from deeplake_lite.codecs._arrays import check_option
from deeplake_lite.codecs._numbers import NumberCodec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Lz4(NumberCodec):
    """A codec that stores the size as little-endian uint32, then one LZ4 block, as numcodecs does.

    Parameters
    ----------
    acceleration : int
        Speed, 1 to 65537. Larger values are faster, but compress less.

    Examples
    --------
    >>> import numpy as np
    >>> codec = Lz4()
    >>> data = codec.encode(np.zeros(1000))
    >>> len(data)
    46
    >>> codec.decode(data[:-1], (1000,), np.dtype("float64"))
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.DamagedError: 45 bytes of 'lz4' cannot be decoded: LZ4 decompression ...
    """

    acceleration: int = 1
    """Speed, 1 to 65537. Larger values are faster, but compress less."""

    name: ClassVar[str] = "lz4"
    max_bytes = 0x7E000000  # LZ4_MAX_INPUT_SIZE

    def __post_init__(self) -> None:
        check_option(self, "acceleration", 1, 65537)

    @override
    def _compress(self, array: NDArray[Any]) -> bytes:
        packed: bytes = lz4.compress(array.reshape(-1).view("uint8"), self.acceleration)
        return packed

    @override
    def _claimed(self, data: memoryview) -> int:
        return int.from_bytes(data[:4], "little")

    @override
    def _decompress(self, data: memoryview, into: NDArray[np.uint8]) -> None:
        lz4.decompress(data, into)
