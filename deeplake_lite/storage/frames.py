"""How large compressed bytes become, known before they are decompressed.

A frame of 46 KB can unpack to 1.4 GB. Chunks of a lake have a size that its schema gives, so a
frame that says anything else is damaged, and nothing is allocated for it.
"""

from __future__ import annotations

import numpy as np

from deeplake_lite.codecs.zstd_frame import BLOCK_BYTES, content_size, most_bytes
from deeplake_lite.storage.compression import zstd

BLOSC_HEADER = 16


def unzstd(data: bytes | memoryview, size: int) -> bytes:
    """Return the `size` bytes that one Zstandard frame holds.

    Raises
    ------
    ValueError
        When it holds another number of bytes, or none that it tells.
    RuntimeError
        When its blocks do not decompress.

    Examples
    --------
    >>> unzstd(zstd().encode(b"rose" * 100), 400) == b"rose" * 100
    True
    """
    told, begin = content_size(memoryview(data))
    most_bytes(memoryview(data), begin)
    if told != size:
        raise ValueError(f"a frame unpacks to {told} bytes instead of {size}.")
    out = np.empty(size, np.uint8)
    if size:
        zstd().decode(data, out)
    return out.tobytes()


def unzstd_within(data: bytes | memoryview, most: int) -> bytes:
    """Return what one Zstandard frame holds, which may be no more than `most` bytes.

    Raises
    ------
    ValueError
        When it could be more, which the number of its blocks tells.
    RuntimeError
        When its blocks do not decompress.
    """
    told, begin = content_size(memoryview(data))
    bound = most_bytes(memoryview(data), begin)
    if (bound if told is None else told) > max(most, BLOCK_BYTES):
        raise ValueError(f"a frame may unpack to more than {most} bytes.")
    return b"" if told == 0 else bytes(zstd().decode(data))


def check_blosc(data: bytes | memoryview, size: int) -> None:
    """Refuse a Blosc chunk that is not all of `data`, or does not unpack to `size` bytes.

    Raises
    ------
    ValueError
    """
    if len(data) < BLOSC_HEADER:
        raise ValueError(f"a Blosc chunk has a header of 16 bytes, not {len(data)}.")
    unpacked, _, packed = np.frombuffer(data, "<u4", 3, offset=4).tolist()
    if unpacked != size or packed != len(data):
        raise ValueError(
            f"a Blosc chunk of {packed} bytes unpacks to {unpacked}, "
            f"instead of {len(data)} bytes to {size}."
        )
