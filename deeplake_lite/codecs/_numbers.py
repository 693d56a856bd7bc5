"""What codecs of plain numbers share: no header, so shape and dtype come from the lake.

An array without elements is no bytes at all, whatever the codec. Memory is set aside for the array
that the lake recorded and never for what the bytes claim, so that damaged or hostile bytes cost
nothing.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, override

import numpy as np

from deeplake_lite.codecs._arrays import little
from deeplake_lite.codecs.base import Codec
from deeplake_lite.errors import DamagedError, InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray

_KINDS = "biufcmM"  # bool, numbers, complex numbers, times


class NumberCodec(Codec):
    """A codec whose bytes carry neither shape nor dtype."""

    max_bytes: int = 1 << 62
    """Most bytes of one array."""

    @abstractmethod
    def _compress(self, array: NDArray[Any]) -> Buffer:
        """Return the bytes of an array: contiguous, little-endian, not empty."""

    @abstractmethod
    def _claimed(self, data: memoryview) -> int:
        """Return how many bytes `data` says that it unpacks to. May raise anything."""

    @abstractmethod
    def _decompress(self, data: memoryview, into: NDArray[np.uint8]) -> None:
        """Unpack `data`, which claims to fit, into (nbytes,) uint8. May raise anything."""

    @override
    def encode(self, array: NDArray[Any]) -> Buffer:
        if array.dtype.kind not in _KINDS:
            raise InvalidValueError(
                f"codec {self.name!r} takes numbers, got an array of {array.dtype}. "
                f"Convert it with astype()."
            )
        if array.nbytes > self.max_bytes:
            raise InvalidValueError(
                f"codec {self.name!r} takes up to {self.max_bytes:,} bytes, "
                f"got {array.nbytes:,}. Use 'zstd'."
            )
        return self._compress(little(array)) if array.size else b""

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
            raise DamagedError(
                f"{len(packed):,} bytes of {self.name!r} do not decode: {error}. Restore the cell."
            ) from error
        return array

    def _check_claim(
        self, expected: int, claimed: int, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        """Refuse bytes that hold more or fewer numbers than the lake recorded."""
        if claimed != expected:
            raise DamagedError(
                f"{dtype} of shape {shape} takes {expected:,} bytes, but those of {self.name!r} "
                f"hold {claimed:,}. Restore the cell."
            )
