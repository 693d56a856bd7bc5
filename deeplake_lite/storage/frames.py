"""Decompress data, checking the size of the result before allocating memory.

A frame of 46 KB can decompress to 1.4 GB. The schema determines the size of every chunk in a lake,
so a frame that declares a different size is damaged.
"""

from __future__ import annotations

import numpy as np

from deeplake_lite.codecs.zstd_frame import BLOCK_BYTES, content_size, most_bytes
from deeplake_lite.storage.compression import zstd

BLOSC_HEADER = 16


def unzstd(data: bytes | memoryview, size: int) -> bytes:
    """Decompress a Zstandard frame with `size` bytes of content.

    Raises
    ------
    ValueError
        If the frame declares a different size, or none.
    RuntimeError
        If the frame's blocks cannot be decompressed.

    Examples
    --------
    >>> unzstd(zstd().encode(b"rose" * 100), 400) == b"rose" * 100
    True
    """
    declared, begin = content_size(memoryview(data))
    most_bytes(memoryview(data), begin)  # raises if a second frame follows
    if declared != size:
        raise ValueError(f"a frame decompresses to {declared} bytes instead of {size}.")
    out = np.empty(size, np.uint8)
    if size:
        zstd().decode(data, out)
    return out.tobytes()


def unzstd_within(data: bytes | memoryview, most: int) -> bytes:
    """Decompress a Zstandard frame with at most `most` bytes of content.

    If a frame does not declare the size of its content, the number of its blocks times the maximum
    block size is taken as an upper bound.

    Raises
    ------
    ValueError
        If the content may be larger.
    RuntimeError
        If the frame's blocks cannot be decompressed.
    """
    declared, begin = content_size(memoryview(data))
    bound = most_bytes(memoryview(data), begin)
    if (bound if declared is None else declared) > max(most, BLOCK_BYTES):
        raise ValueError(f"a frame may decompress to more than {most} bytes.")
    return b"" if declared == 0 else bytes(zstd().decode(data))


def check_blosc(data: bytes | memoryview, size: int) -> None:
    """Reject data that is not exactly one Blosc chunk with `size` decompressed bytes.

    Raises
    ------
    ValueError
    """
    if len(data) < BLOSC_HEADER:
        raise ValueError(
            f"a Blosc chunk starts with a header of 16 bytes, but this chunk has only {len(data)} "
            "bytes."
        )
    unpacked, _, packed = np.frombuffer(data, "<u4", 3, offset=4).tolist()
    if unpacked != size or packed != len(data):
        raise ValueError(
            f"according to its header, a Blosc chunk has {packed} bytes and decompresses to "
            f"{unpacked}, but it must have {len(data)} bytes and decompress to {size}."
        )
