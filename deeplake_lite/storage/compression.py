"""The codecs Zstandard and Blosc, and their configurations in Zarr metadata.

The codecs are imported on first use, since importing them takes as long as opening a lake, and
opening a lake needs neither of them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from numcodecs import Blosc, Zstd

type Shuffle = Literal["shuffle", "noshuffle"]

LEVEL = 1

CRC32C = {"name": "crc32c"}
"""Zarr codec that appends a checksum to the bytes of a chunk."""

ZSTD = {"name": "zstd", "configuration": {"level": LEVEL, "checksum": False}}
"""Zarr codec equivalent to `zstd`."""


def blosc_codec(itemsize: int, shuffle: Shuffle = "shuffle") -> dict[str, object]:
    """Return the Zarr codec equivalent to `blosc`, for numbers of `itemsize` bytes."""
    options = {"cname": "zstd", "clevel": LEVEL, "shuffle": shuffle}
    return {"name": "blosc", "configuration": {**options, "typesize": itemsize, "blocksize": 0}}


@cache
def zstd() -> Zstd:
    """Return the Zstandard codec."""
    from numcodecs import Zstd

    return Zstd(level=LEVEL)


@cache
def blosc(shuffle: Shuffle = "shuffle") -> Blosc:
    """Return the Blosc codec, with Zstandard as its compressor."""
    from numcodecs import Blosc

    return Blosc("zstd", LEVEL, Blosc.SHUFFLE if shuffle == "shuffle" else Blosc.NOSHUFFLE)
