"""Base class of the codecs for raw numbers, whose shape and dtype are stored in the lake.

All of these codecs encode an array without elements as an empty byte string. They allocate memory
for the shape stored in the lake, and not for the size that the header of the encoded bytes claims,
so damaged or malicious bytes cannot exhaust memory.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, override

import numpy as np

from deeplake_lite.codecs._arrays import to_little_endian
from deeplake_lite.codecs.base import Codec
from deeplake_lite.errors import DamagedError, InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray

_KINDS = "biufcmM"  # bool, numbers, complex numbers, times


class NumberCodec(Codec):
    """A codec that stores neither shape nor dtype."""

    max_bytes: int = 1 << 62
    """Maximum size of one array, in bytes."""

    @abstractmethod
    def _compress(self, array: NDArray[Any]) -> Buffer:
        """Compress a contiguous, little-endian array with at least one element."""

    @abstractmethod
    def _claimed(self, data: memoryview) -> int:
        """Return the decompressed size that the header of `data` states. May raise any error."""

    @abstractmethod
    def _decompress(self, data: memoryview, into: NDArray[np.uint8]) -> None:
        """Decompress `data` into a byte array of the decompressed size. May raise any error."""

    @override
    def encode(self, array: NDArray[Any]) -> Buffer:
        if array.dtype.kind not in _KINDS:
            raise InvalidValueError(
                f"must be an array of numbers for codec {self.name!r}, but its dtype is "
                f"{array.dtype}. Convert it with astype()."
            )
        if array.nbytes > self.max_bytes:
            raise InvalidValueError(
                f"must have at most {self.max_bytes:,} bytes for codec {self.name!r}, but it has "
                f"{array.nbytes:,} bytes. Use the codec 'zstd'."
            )
        return self._compress(to_little_endian(array)) if array.size else b""

    @override
    def decode(self, data: Buffer, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        packed, dtype = memoryview(data).cast("B"), dtype.newbyteorder("<")
        expected = math.prod(shape) * dtype.itemsize
        try:
            claimed = self._claimed(packed) if expected else len(packed)
            self._check_claim(expected, claimed, shape, dtype)
            array = np.empty(shape, dtype)
            if not expected:
                return array
            self._decompress(packed, array.reshape(-1).view(np.uint8))
        except (DamagedError, MemoryError):
            raise
        except Exception as error:
            reason = str(error).rstrip(".")
            raise DamagedError(
                f"{len(packed):,} bytes of {self.name!r} cannot be decoded: {reason}. Restore the "
                "cell from a backup."
            ) from error
        return array

    def _check_claim(
        self, expected: int, claimed: int, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        """Raise DamagedError if the size in the header is not the size of the stored shape."""
        if claimed != expected:
            raise DamagedError(
                f"{dtype} of shape {shape} takes {expected:,} bytes, but the {self.name!r} data "
                f"decodes to {claimed:,} bytes. Restore the cell from a backup."
            )
