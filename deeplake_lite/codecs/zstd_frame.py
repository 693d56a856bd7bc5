"""Sizes of a Zstandard frame, read without decompressing it.

Notes
-----
RFC 8878, section 3.1.1: magic, header, blocks, and optionally a checksum of 4 bytes.
"""

from __future__ import annotations

MAGIC = 0xFD2FB528
BLOCK_BYTES = 128 * 1024
"""Maximum number of bytes that one block of a frame decompresses to (section 3.1.1.2.4)."""


def content_size(data: memoryview) -> tuple[int | None, int]:
    """Return the content size that a frame declares, if any, and the offset of its first block.

    Raises
    ------
    ValueError
        When `data` is not a Zstandard frame, or is truncated in its header.
    """
    if len(data) < 6 or int.from_bytes(data[:4], "little") != MAGIC:
        raise ValueError("it is not a Zstandard frame")
    descriptor = data[4]
    flag, single = descriptor >> 6, bool(descriptor & 0x20)
    at = 5 + (not single) + (0, 1, 2, 4)[descriptor & 3]
    length = (1 if single else 0, 2, 4, 8)[flag]
    if len(data) < at + length:
        raise ValueError("the Zstandard frame is truncated in its header")
    if not length:
        return None, at
    size = int.from_bytes(data[at : at + length], "little") + (256 if length == 2 else 0)
    return size, at + length


def most_bytes(data: memoryview, at: int) -> int:
    """Return the maximum number of bytes that the blocks of a frame can decompress to.

    The frame must be all of `data`: further frames after it would each add to the size.

    Raises
    ------
    ValueError
        When the end of the frame is not the end of `data`.
    """
    bound, trailer = 0, 4 if data[4] & 4 else 0
    while True:
        if len(data) < at + 3:
            raise ValueError("the Zstandard frame is truncated")
        head = int.from_bytes(data[at : at + 3], "little")
        kind, size = head >> 1 & 3, head >> 3
        bound += BLOCK_BYTES if kind == 2 else size  # 0: uncompressed, 1: one byte, repeated
        at += 3 + (1 if kind == 1 else size)
        if head & 1:
            break
    if at + trailer != len(data):
        raise ValueError(
            f"the Zstandard frame must end with the data, at byte {len(data):,}, but it ends at "
            f"byte {at + trailer:,}"
        )
    return bound
