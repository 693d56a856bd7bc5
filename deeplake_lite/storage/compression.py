"""Zstd and Blosc: what Zarr is told of them, and the codecs themselves.

The codecs are imported when the first bytes are packed or unpacked. Importing them takes as long as
opening a lake, which needs neither.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from numcodecs import Blosc, Zstd

type Shuffle = Literal["shuffle", "noshuffle"]

LEVEL = 1

CRC32C = {"name": "crc32c"}
"""Codec of Zarr, for a checksum behind a chunk's bytes."""

ZSTD = {"name": "zstd", "configuration": {"level": LEVEL}}
"""Codec of Zarr that does what `zstd` does."""


def blosc_codec(shuffle: Shuffle = "shuffle") -> dict[str, Any]:
    """Return the codec of Zarr that does what `blosc` does."""
    options = {"cname": "zstd", "clevel": LEVEL, "shuffle": shuffle}
    return {"name": "blosc", "configuration": options}


@cache
def zstd() -> Zstd:
    """Return Zstandard."""
    from numcodecs import Zstd

    return Zstd(level=LEVEL)


@cache
def blosc(shuffle: Shuffle = "shuffle") -> Blosc:
    """Return Blosc with Zstandard inside."""
    from numcodecs import Blosc

    return Blosc("zstd", LEVEL, Blosc.SHUFFLE if shuffle == "shuffle" else Blosc.NOSHUFFLE)
