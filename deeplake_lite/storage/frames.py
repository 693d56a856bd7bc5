"""How large compressed bytes become, known before they are decompressed.

A frame of 46 KB can unpack to 1.4 GB. Chunks of a lake have a size that its schema gives, so a
frame that says anything else is damaged, and nothing is allocated for it.
"""

from __future__ import annotations

import numpy as np

from deeplake_lite.storage.compression import zstd

ZSTD_MAGIC = 0xFD2FB528
BLOCK_BYTES = 128 * 1024
"""Most that one block of a Zstandard frame unpacks to (RFC 8878, section 3.1.1.2.4)."""

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
    told, begin = _zstd_header(memoryview(data))
    _zstd_bound(memoryview(data), begin)
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
    told, begin = _zstd_header(memoryview(data))
    bound = _zstd_bound(memoryview(data), begin)
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


def _zstd_header(data: memoryview) -> tuple[int | None, int]:
    """Return the content size that a frame tells, if any, and where its first block begins."""
    if len(data) < 6 or int.from_bytes(data[:4], "little") != ZSTD_MAGIC:
        raise ValueError("no Zstandard frame.")
    descriptor = data[4]
    flag, single = descriptor >> 6, bool(descriptor & 0x20)
    at = 5 + (not single) + (0, 1, 2, 4)[descriptor & 3]
    length = (1 if single else 0, 2, 4, 8)[flag]
    if len(data) < at + length:
        raise ValueError("a Zstandard frame that is cut off in its header.")
    if not length:
        return None, at
    size = int.from_bytes(data[at : at + length], "little") + (256 if length == 2 else 0)
    return size, at + length


def _zstd_bound(data: memoryview, at: int) -> int:
    """Return how many bytes the blocks of a frame, which is all of `data`, unpack to at the most.

    Frames may follow each other, and each would add its size.
    """
    bound, trailer = 0, 4 if data[4] & 4 else 0
    while True:
        if len(data) < at + 3:
            raise ValueError("a Zstandard frame that is cut off.")
        head = int.from_bytes(data[at : at + 3], "little")
        kind, size = head >> 1 & 3, head >> 3
        bound += BLOCK_BYTES if kind == 2 else size  # 0: as it is, 1: one byte, repeated
        at += 3 + (1 if kind == 1 else size)
        if head & 1:
            break
    if at + trailer != len(data):
        raise ValueError("a Zstandard frame that ends elsewhere than its data.")
    return bound
