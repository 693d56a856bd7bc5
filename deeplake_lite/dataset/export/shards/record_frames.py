"""Frames of TFRecord files, which store one record each.

A frame consists of the length of the data, the masked CRC32C of the length, the data, and the
masked CRC32C of the data.

https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details
"""

from __future__ import annotations

import struct

import google_crc32c

HEAD = struct.Struct("<QI")
"""Format of a frame's start: the length of the data, and the checksum of the length."""

TAIL = struct.Struct("<I")
"""Format of a frame's end: the checksum of the data."""


def masked_crc(data: bytes) -> int:
    """Return the CRC32C of bytes, masked as TFRecord files require.

    >>> hex(masked_crc(b"123456789"))
    '0xc78ab0e5'
    """
    crc = int(google_crc32c.value(data))
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frame(data: bytes) -> bytes:
    """Return a record of a TFRecord file: the data with its length and checksums.

    >>> frame(b"a").hex()
    '01000000000000000175de4161786ee428'
    """
    length = struct.pack("<Q", len(data))
    return b"".join((length, TAIL.pack(masked_crc(length)), data, TAIL.pack(masked_crc(data))))
