"""Base classes of codecs, which convert one sample to bytes and back.

`encode` turns an array into bytes, and `decode` turns bytes into an array. For image files, `probe`
reads shape and dtype from the header and rejects incomplete files. A codec knows nothing about
htypes or rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, override

import numpy as np

from deeplake_lite.codecs.limits import DEFAULT_LIMITS, NO_LIMITS, Limits

if TYPE_CHECKING:
    from collections.abc import Buffer

    from numpy.typing import NDArray


class Header(NamedTuple):
    """The header of an encoded sample."""

    shape: tuple[int, ...]
    """Shape of the decoded sample, after EXIF orientation."""

    dtype: str
    """NumPy name of the decoded sample's dtype, such as ``"uint8"``."""


@dataclass(frozen=True)
class Codec(ABC):
    """Converts one array to bytes and back.

    A codec is a small frozen value: its fields are its whole configuration, so that
    ``from_config(codec.get_config()) == codec``.
    """

    name: ClassVar[str]
    """Registry key, such as ``"jpeg"``."""

    @abstractmethod
    def encode(self, array: NDArray[Any]) -> Buffer:
        """Return the bytes of `array`. Raises InvalidValueError if the codec cannot store it."""

    @abstractmethod
    def decode(self, data: Buffer, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return a new writable array from `data`.

        `shape` and `dtype` are those that the lake recorded. A codec whose bytes have a header
        follows the header, which must agree with the shape; `()` stands for any shape. Raises
        DamagedError if `data` cannot be decoded, before it allocates memory for more than `shape`.
        """

    def decode_into(self, data: Buffer, shape: tuple[int, ...], out: NDArray[Any]) -> None:
        """Decode into a C-contiguous array of the sample's own shape and dtype."""
        put(self.decode(data, shape, out.dtype), out)

    def get_config(self) -> dict[str, Any]:
        """Return the codec as JSON: its name and its fields."""
        return {"name": self.name, **asdict(self)}


class MisfitError(ValueError):
    """Values that do not fit into an array, because of its shape or dtype."""


def put(values: NDArray[Any], out: NDArray[Any]) -> None:
    """Copy values into an array of the same shape, and of a dtype that holds them.

    Raises
    ------
    MisfitError
        For any other array: values are never cut off or broadcast.

    Examples
    --------
    >>> put(np.full((2, 2), 40_000, "uint16"), np.empty((2, 2), "uint8"))
    Traceback (most recent call last):
        ...
    deeplake_lite.codecs.base.MisfitError: (2, 2) uint16 does not fit into (2, 2) uint8.
    """
    if values.shape != out.shape or not np.can_cast(values.dtype, out.dtype):
        raise MisfitError(
            f"{values.shape} {values.dtype} does not fit into {out.shape} {out.dtype}."
        )
    out[...] = values


class ImageCodec(Codec):
    """A codec whose bytes are an image file with its own header."""

    magic: ClassVar[tuple[bytes, ...]]
    """Possible first bytes of files in this format."""

    lossless: bool
    """Whether decode(encode(array)) equals array."""

    @override
    @abstractmethod
    def decode(
        self,
        data: Buffer,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        limits: Limits = NO_LIMITS,
    ) -> NDArray[Any]:
        """Return the pixels like `Codec.decode`. Raises TooLargeError over the limits."""

    @abstractmethod
    def probe(self, data: Buffer, limits: Limits = DEFAULT_LIMITS) -> Header:
        """Return shape and dtype from the header alone, checking that the file has its end.

        Raises InvalidValueError for bytes that have another format or are truncated, and
        TooLargeError for an image over the limits. Allocates no memory for pixels.
        """

    def keeps_numbers(self, data: bytes) -> bool:  # noqa: ARG002 (most formats do)
        """Return whether `decode` returns the stored numbers, neither stretched nor inverted.

        Like the methods below, this takes only files that `probe` has accepted.
        """
        return True

    def frames(self, data: bytes) -> int:  # noqa: ARG002 (most formats have one)
        """Return the number of frames or pages of a file; `decode` returns the first."""
        return 1

    def colour_space(self, data: bytes) -> str:  # noqa: ARG002 (most formats have RGB)
        """Return the colour space of a file if `decode` converts it to RGB, or else ""."""
        return ""

    def reads_fewer_bits(self, data: bytes) -> bool:  # noqa: ARG002 (most formats have 8 bits)
        """Return whether `decode` returns fewer bits per channel than the file stores."""
        return False

    def decode_small(
        self,
        data: Buffer,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        side: int,  # noqa: ARG002 (for formats that scale while they decode)
        *,
        fast: bool = False,  # noqa: ARG002
    ) -> NDArray[Any]:
        """Return the pixels like `decode`, possibly scaled down: for thumbnails.

        The longer side keeps at least `side` pixels, or all of its pixels if it has fewer. With
        `fast`, the result may be coarser, for images that only people look at. `shape` is the full
        shape of the image.
        """
        return self.decode(data, shape, dtype)

    def matches(self, data: Buffer) -> bool:
        """Return whether `data` begins like a file of this format."""
        head = data if isinstance(data, bytes) else bytes(memoryview(data)[:16])
        return head.startswith(self.magic)
