"""Base classes of codecs, which convert one sample to bytes and back.

`encode` converts an array to bytes, and `decode` converts bytes to an array. For image files,
`probe` reads the shape and dtype from the header and rejects incomplete files. Codecs do not know
about htypes or rows.
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
    """Shape of the decoded sample, after it is rotated upright."""

    dtype: str
    """NumPy's name of the dtype of the decoded sample, such as ``"uint8"``."""


@dataclass(frozen=True)
class Codec(ABC):
    """A way to convert one array to bytes and back.

    A codec is a small frozen value whose fields are its entire configuration, so
    ``from_config(codec.get_config()) == codec``.
    """

    name: ClassVar[str]
    """Name of the codec in the registry, such as ``"jpeg"``."""

    @abstractmethod
    def encode(self, array: NDArray[Any]) -> Buffer:
        """Encode `array` to bytes. Raises InvalidValueError if the codec cannot store it."""

    @abstractmethod
    def decode(self, data: Buffer, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Decode `data` to a new writable array.

        `shape` and `dtype` are those stored in the lake. A codec whose bytes have a header uses
        the shape and dtype of the header instead, and checks that the header's shape equals
        `shape`, unless `shape` is ``()``. Raises DamagedError if `data` cannot be decoded, and
        allocates no more memory than `shape` needs.
        """

    def decode_into(self, data: Buffer, shape: tuple[int, ...], out: NDArray[Any]) -> None:
        """Decode a sample into a C-contiguous array that has the sample's shape and dtype."""
        put(self.decode(data, shape, out.dtype), out)

    def get_config(self) -> dict[str, Any]:
        """Return the name and fields of the codec as JSON."""
        return {"name": self.name, **asdict(self)}


class MisfitError(ValueError):
    """Raised if values do not fit into an array, because of its shape or dtype."""


def put(values: NDArray[Any], out: NDArray[Any]) -> None:
    """Copy values into an array that has the same shape and a dtype that can hold the values.

    Raises
    ------
    MisfitError
        For any other array. Values are never truncated or broadcast.

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
        """Decode like `Codec.decode`. Raises TooLargeError if the image exceeds the limits."""

    @abstractmethod
    def probe(self, data: Buffer, limits: Limits = DEFAULT_LIMITS) -> Header:
        """Read shape and dtype from the header, and check that the file is not truncated.

        Raises InvalidValueError for truncated files and for other formats, and TooLargeError for
        images that exceed the limits. Allocates no memory for pixels.
        """

    def keeps_numbers(self, data: bytes) -> bool:  # noqa: ARG002 (most formats do)
        """Return whether `decode` returns the stored numbers without stretching or inverting them.

        Call this method, and the methods below, only with files that `probe` has accepted.
        """
        return True

    def frames(self, data: bytes) -> int:  # noqa: ARG002 (most formats have one)
        """Return the number of frames or pages in a file, of which `decode` returns the first."""
        return 1

    def colour_space(self, data: bytes) -> str:  # noqa: ARG002 (most formats have RGB)
        """Return the file's colour space if `decode` converts the colours to RGB, otherwise ""."""
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
        """Decode an image, possibly at a smaller size, for thumbnails.

        The longer side of the result has at least `side` pixels, unless the image itself is
        smaller. With `fast`, the result may be less precise and is only meant for display. `shape`
        is the full shape of the image.
        """
        return self.decode(data, shape, dtype)

    def matches(self, data: Buffer) -> bool:
        """Return whether `data` begins with the first bytes of this format."""
        head = data if isinstance(data, bytes) else bytes(memoryview(data)[:16])
        return head.startswith(self.magic)
