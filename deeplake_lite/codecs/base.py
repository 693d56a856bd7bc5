"""What is a codec: one sample to bytes and back, knowing nothing of htypes, rows or files.

Steps: `probe` reads shape and dtype off the header and refuses bytes that are not whole, `decode`
gives the pixels or numbers, `encode` makes bytes of them. A new codec is one file in this folder
and one line in `codecs/__init__.py`.
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
    """What the header of an encoded sample says."""

    shape: tuple[int, ...]
    """Shape that `decode` gives, after EXIF orientation."""

    dtype: str
    """NumPy name of the dtype that `decode` gives, such as ``"uint8"``."""


@dataclass(frozen=True)
class Codec(ABC):
    """Turns one array into bytes and back.

    A codec is a small frozen value: its fields are its whole configuration, so that
    ``from_config(codec.get_config()) == codec``.
    """

    name: ClassVar[str]
    """Registry key, such as ``"jpeg"``."""

    @abstractmethod
    def encode(self, array: NDArray[Any]) -> Buffer:
        """Return the bytes of `array`. Raises InvalidValueError when the codec cannot hold it."""

    @abstractmethod
    def decode(self, data: Buffer, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return a new writable array from `data`.

        `shape` and `dtype` are those that the lake recorded. A codec whose bytes carry their own
        header goes by the header, which must give the shape; `()` for any. Raises DamagedError when
        the bytes do not decode, before memory is set aside for more than `shape`.
        """

    def decode_into(self, data: Buffer, shape: tuple[int, ...], out: NDArray[Any]) -> None:
        """Decode into an array of the sample's own shape and dtype, C-contiguous."""
        put(self.decode(data, shape, out.dtype), out)

    def get_config(self) -> dict[str, Any]:
        """Return the codec as JSON: its name and its fields."""
        return {"name": self.name, **asdict(self)}


class MisfitError(ValueError):
    """Values of another shape or dtype than the array that they are to go into."""


def put(values: NDArray[Any], out: NDArray[Any]) -> None:
    """Copy values into an array of their shape, and of a dtype that holds them.

    Raises
    ------
    MisfitError
        For any other array: nothing is cut off or repeated.

    Examples
    --------
    >>> put(np.full((2, 2), 40_000, "uint16"), np.empty((2, 2), "uint8"))
    Traceback (most recent call last):
        ...
    deeplake_lite.codecs.base.MisfitError: (2, 2) uint16 does not go where (2, 2) uint8 does.
    """
    if values.shape != out.shape or not np.can_cast(values.dtype, out.dtype):
        raise MisfitError(
            f"{values.shape} {values.dtype} does not go where {out.shape} {out.dtype} does."
        )
    out[...] = values


class ImageCodec(Codec):
    """A codec whose bytes are a picture file that carries its own header."""

    magic: ClassVar[tuple[bytes, ...]]
    """What such files begin with."""

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
        """Return the pixels as `Codec.decode` does. Raises TooLargeError over the limits."""

    @abstractmethod
    def probe(self, data: Buffer, limits: Limits = DEFAULT_LIMITS) -> Header:
        """Return shape and dtype from the header alone, checking that the file has its end.

        Raises InvalidValueError for bytes that are not this format or that are cut short, and
        TooLargeError for a picture over the limits. Takes no memory for pixels.
        """

    def keeps_numbers(self, data: bytes) -> bool:  # noqa: ARG002 (most formats do)
        """Tell whether pixels are the numbers of a sound file, neither stretched nor inverted."""
        return True

    def frames(self, data: bytes) -> int:  # noqa: ARG002 (most formats have one)
        """Return how many frames or pages a sound file has; `decode` gives the first."""
        return 1

    def colour_space(self, data: bytes) -> str:  # noqa: ARG002 (most formats have RGB)
        """Return the colour space of a sound file that `decode` converts to RGB; or nothing."""
        return ""

    def reads_fewer_bits(self, data: bytes) -> bool:  # noqa: ARG002 (most formats have 8 bits)
        """Tell whether `decode` gives fewer bits a channel than a sound file has."""
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
        """Return the pixels as `decode` does, perhaps scaled down: for thumbnails.

        The longer side keeps `side` pixels at least, if it has them. What is `fast` may be coarser,
        where only people look at it. `shape` is that of the whole picture.
        """
        return self.decode(data, shape, dtype)

    def matches(self, data: Buffer) -> bool:
        """Tell whether `data` begins as files of this format do."""
        head = data if isinstance(data, bytes) else bytes(memoryview(data)[:16])
        return head.startswith(self.magic)
