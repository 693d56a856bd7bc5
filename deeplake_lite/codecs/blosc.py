"""Blosc, which shuffles the bytes of numbers before compressing them, and so suits measurements.

Notes
-----
README_CHUNK_FORMAT.rst of c-blosc describes the 16-byte header.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, override

from numcodecs import blosc

from deeplake_lite.codecs._arrays import check_choice, check_option
from deeplake_lite.codecs._numbers import NumberCodec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_COMPRESSORS = ("zstd", "lz4", "lz4hc", "blosclz", "zlib")
_SHUFFLES = {"none": blosc.NOSHUFFLE, "byte": blosc.SHUFFLE, "bit": blosc.BITSHUFFLE}

# Disable Blosc's threads, as zarr does: they write blocks in the order in which they finish, so an
# array would be compressed to different bytes each time.
blosc.use_threads = False


@dataclass(frozen=True)
class Blosc(NumberCodec):
    """A codec that stores an array as one Blosc 1 chunk, in the format of numcodecs' class Blosc.

    Parameters
    ----------
    compressor : {"zstd", "lz4", "lz4hc", "blosclz", "zlib"}
        Compressor of the shuffled bytes.
    level : int
        Compression level, 0 to 9.
    shuffle : {"byte", "bit", "none"}
        Whether to group the bytes, or the bits, at the same position in all numbers.

    Examples
    --------
    >>> import numpy as np
    >>> codec = Blosc()
    >>> steps = np.arange(1000, dtype="int32")
    >>> len(codec.encode(steps)) < len(Blosc(shuffle="none").encode(steps))
    True
    >>> np.array_equal(codec.decode(codec.encode(steps), (1000,), steps.dtype), steps)
    True
    """

    compressor: str = "zstd"
    """Compressor of the shuffled bytes."""

    level: int = 5
    """Compression level, 0 to 9."""

    shuffle: str = "byte"
    """Whether to group the bytes, or the bits, at the same position in all numbers."""

    name: ClassVar[str] = "blosc"
    max_bytes = blosc.MAX_BUFFERSIZE

    def __post_init__(self) -> None:
        check_choice(self, "compressor", _COMPRESSORS)
        check_option(self, "level", 0, 9)
        check_choice(self, "shuffle", tuple(_SHUFFLES))

    @override
    def _compress(self, array: NDArray[Any]) -> bytes:
        packed: bytes = blosc.compress(
            array.reshape(-1).view("uint8"),
            self.compressor.encode(),
            self.level,
            _SHUFFLES[self.shuffle],
            typesize=array.dtype.itemsize,
        )
        return packed

    @override
    def _claimed(self, data: memoryview) -> int:
        size = int.from_bytes(data[12:16], "little")
        if len(data) != size:
            raise ValueError(f"the header says {size:,} bytes")
        return int.from_bytes(data[4:8], "little")

    @override
    def _decompress(self, data: memoryview, into: NDArray[np.uint8]) -> None:
        blosc.decompress(data, into)
