"""Reads FlatBuffers value by value, to change them, and to check what the library reads."""

import struct

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def field(data, table, index):
    """Return the position of a field of a table, or 0 if the field is not set."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    (size,) = struct.unpack_from("<H", data, vtable)
    entry = 4 + 2 * index
    offset = struct.unpack_from("<H", data, vtable + entry)[0] if entry < size else 0
    return table + offset if offset else 0


def vector(data, at):
    """Return the positions of the tables in the vector to which the field at `at` refers."""
    if not at:
        return []
    at += struct.unpack_from("<I", data, at)[0]
    (length,) = struct.unpack_from("<I", data, at)
    entries = range(at + 4, at + 4 + 4 * length, 4)
    return [entry + struct.unpack_from("<I", data, entry)[0] for entry in entries]


def base32(raw):
    """Return the name of an object with the given id."""
    bits = int.from_bytes(raw) << (-len(raw) * 8) % 5
    count = -(-len(raw) * 8 // 5)
    return "".join(ALPHABET[(bits >> 5 * i) & 31] for i in reversed(range(count)))
