"""Zstandard, which compresses well, decodes fast, and detects damage with a checksum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, override

from numcodecs import zstd

from deeplake_lite.codecs._arrays import check_option
from deeplake_lite.codecs._numbers import NumberCodec
from deeplake_lite.codecs.zstd_frame import content_size, most_bytes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Zstd(NumberCodec):
    """A codec that stores an array as one Zstandard frame with checksum, as numcodecs does.

    Parameters
    ----------
    level : int
        Compression level, from -7 (fastest) to 22 (smallest).

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
    """Compression level, from -7 (fastest) to 22 (smallest)."""

    name: ClassVar[str] = "zstd"

    def __post_init__(self) -> None:
        check_option(self, "level", -7, 22)

    @override
    def _compress(self, array: NDArray[Any]) -> bytes:
        packed: bytes = zstd.compress(array.reshape(-1).view("uint8"), self.level, checksum=True)
        return packed

    @override
    def _claimed(self, data: memoryview) -> int:
        size, start = content_size(data)
        most = most_bytes(data, start)
        if size is None or size > most:
            raise ValueError(
                f"the header says {size} bytes, but the blocks decompress to at most {most:,}"
            )
        return size

    @override
    def _decompress(self, data: memoryview, into: NDArray[np.uint8]) -> None:
        zstd.decompress(data, into)
