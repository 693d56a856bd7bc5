"""Sizes of a Zstandard frame, read without decompressing it.

Notes
-----
RFC 8878, section 3.1.1: magic number, header, blocks, and an optional 4-byte checksum.
"""

from __future__ import annotations

MAGIC = 0xFD2FB528
BLOCK_BYTES = 128 * 1024
"""Maximum size of a decompressed block, in bytes (section 3.1.1.2.4)."""


def content_size(data: memoryview) -> tuple[int | None, int]:
    """Return the content size (None if the header lacks it) and the offset of the first block.

    Raises
    ------
    ValueError
        If `data` is not a Zstandard frame, or its header is truncated.
    """
    if len(data) < 6 or int.from_bytes(data[:4], "little") != MAGIC:
        raise ValueError("it is not a Zstandard frame")
    descriptor = data[4]
    flag, single = descriptor >> 6, bool(descriptor & 0x20)
    at = 5 + (not single) + (0, 1, 2, 4)[descriptor & 3]
    length = (1 if single else 0, 2, 4, 8)[flag]
    if len(data) < at + length:
        raise ValueError("the header of the Zstandard frame is truncated")
    if not length:
        return None, at
    size = int.from_bytes(data[at : at + length], "little") + (256 if length == 2 else 0)
    return size, at + length


def most_bytes(data: memoryview, at: int) -> int:
    """Return the maximum number of bytes that the blocks of a frame can decompress to.

    `data` must be a single frame, since further frames would add to the size.

    Raises
    ------
    ValueError
        If the frame does not end where `data` ends.
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
