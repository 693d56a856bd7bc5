"""Raw: the numbers of an array, without compression or a header."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, override

from deeplake_lite.codecs._numbers import NumberCodec

if TYPE_CHECKING:
    from collections.abc import Buffer

    import numpy as np
    from numpy.typing import NDArray

_COPY_BELOW = 1 << 20  # bytes; copying a smaller array is faster than making a view of it


@dataclass(frozen=True)
class Raw(NumberCodec):
    r"""The numbers of an array in C order, little-endian, without a header.

    Large arrays are not copied: `encode` returns a view.

    Examples
    --------
    >>> import numpy as np
    >>> codec = Raw()
    >>> codec.encode(np.array([1, 256], "uint16"))
    b'\x01\x00\x00\x01'
    >>> codec.decode(b"\x01\x00\x00\x01", (2,), np.dtype("uint16"))
    array([  1, 256], dtype=uint16)
    """

    name: ClassVar[str] = "raw"

    @override
    def _compress(self, array: NDArray[Any]) -> Buffer:
        return (
            array.tobytes() if array.nbytes < _COPY_BELOW else array.reshape(-1).view("uint8").data
        )

    @override
    def _claimed(self, data: memoryview) -> int:
        return len(data)

    @override
    def _decompress(self, data: memoryview, into: NDArray[np.uint8]) -> None:
        into[:] = data
