"""The chunks that a manifest of Icechunk lists.

After a header, a manifest is a FlatBuffer (https://flatbuffers.dev/internals/). Almost all chunks
have the same vtable, so each vtable is parsed once, and the names of all files are computed
together. This takes 2 µs per chunk, and one manifest may list thousands of chunks.
"""

from __future__ import annotations

import struct

import numpy as np

from deeplake_lite.storage.frames import unzstd_within

MAGIC = "ICE🧊CHUNK".encode()
HEADER_BYTES = 39
KIND = b"\x02\x02\x01"
"""The last bytes of the header, which mean specification 2, a manifest, and Zstandard."""

ALPHABET = np.frombuffer(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ", np.uint8)
"""Crockford's base-32 alphabet, in which Icechunk writes the names of objects."""

ID_BYTES = 12
NODE_BYTES = 8

CHUNK_BYTES = 1024
"""Upper bound for the uncompressed bytes per chunk in a manifest, even for an inlined chunk."""

type ChunkIndex = int | tuple[int, ...]
"""The index of a chunk along the first axis, or all its indices if any other index is not 0."""

_read_i32 = struct.Struct("<i").unpack_from
_read_u16 = struct.Struct("<H").unpack_from
_read_u32 = struct.Struct("<I").unpack_from
_read_u64 = struct.Struct("<Q").unpack_from


class ManifestChunks:
    """A manifest that lists chunks of one array.

    Damaged bytes raise ValueError, LookupError or struct.error.

    Parameters
    ----------
    manifest : bytes
        The bytes of the manifest's file.
    most_chunks : int, optional
        Maximum number of chunks that the manifest may list. It limits the uncompressed size.

    Raises
    ------
    ValueError
        If the bytes are not a manifest for a single array in the format that this release reads.
    """

    def __init__(self, manifest: bytes, most_chunks: int | None = None) -> None:
        head = manifest[:HEADER_BYTES]
        if not head.startswith(MAGIC) or not head.endswith(KIND):
            raise ValueError("it is not a manifest of specification 2")
        most = CHUNK_BYTES * (1 + (len(manifest) if most_chunks is None else most_chunks))
        self._data = unzstd_within(manifest[HEADER_BYTES:], most)
        (self._root,) = _read_u32(self._data, 0)
        arrays = self._vector(self._root, 1)
        if len(arrays) != 1:
            raise ValueError(f"a manifest must list one array, but it lists {len(arrays)}")
        self._array = arrays[0]

    @property
    def ids(self) -> tuple[str, str]:
        """The ids of the manifest and of the array."""
        return self._id(self._root, ID_BYTES), self._id(self._array, NODE_BYTES)

    def names(self) -> list[tuple[ChunkIndex, str]]:
        """Return the index and the file name of each chunk.

        Chunks that are inlined in the manifest or virtual (stored outside the lake), or that do not
        begin at the first byte of a file, are left out.
        """
        data, layouts = self._data, dict[int, tuple[int, int, int]]()
        indices, ids = list[ChunkIndex](), list[bytes]()
        for chunk in self._vector(self._array, 1):
            vtable = chunk - _read_i32(data, chunk)[0]
            if vtable not in layouts:
                layouts[vtable] = (
                    self._offset(vtable, 0),
                    self._offset(vtable, 2),
                    self._offset(vtable, 4),
                )
            index, begin, name = layouts[vtable]
            if name and index and not (begin and _read_u64(data, chunk + begin)[0]):
                indices.append(self._index(chunk + index))
                ids.append(data[chunk + name : chunk + name + ID_BYTES])
        return list(zip(indices, base32(b"".join(ids), ID_BYTES), strict=True))

    def _index(self, field: int) -> ChunkIndex:
        """Read the vector of a chunk's indices, to which a field refers."""
        data = self._data
        at = field + _read_u32(data, field)[0]
        (axes,) = _read_u32(data, at)
        if axes == 1:
            return int(_read_u32(data, at + 4)[0])
        first, *others = struct.unpack_from(f"<{axes}I", data, at + 4)
        return (first, *others) if any(others) else int(first)

    def _id(self, table: int, size: int) -> str:
        """Return the id in the first field of a table."""
        at = self._field(table, 0)
        return base32(self._data[at : at + size], size)[0]

    def _vector(self, table: int, number: int) -> list[int]:
        """Return the positions of the tables in the vector to which a field refers."""
        data, field = self._data, self._field(table, number)
        if not field:
            return []
        at = field + _read_u32(data, field)[0]
        (length,) = _read_u32(data, at)
        entries = range(at + 4, at + 4 + 4 * length, 4)
        return [entry + _read_u32(data, entry)[0] for entry in entries]

    def _field(self, table: int, number: int) -> int:
        """Return the position of a field of a table, or 0 if the field is not set.

        A table begins with the distance back to its vtable.
        """
        offset = self._offset(table - _read_i32(self._data, table)[0], number)
        return table + offset if offset else 0

    def _offset(self, vtable: int, number: int) -> int:
        """Return the offset of a field in a table, or 0 if the field is not set.

        A vtable lists its own size, the size of the table, and the offset of each field.
        """
        entry = 4 + 2 * number
        is_listed = entry < _read_u16(self._data, vtable)[0]
        return int(_read_u16(self._data, vtable + entry)[0]) if is_listed else 0


def base32(ids: bytes, size: int) -> list[str]:
    """Return the names of objects, given their ids of `size` bytes, concatenated.

    >>> base32(bytes(range(24)), 12)
    ['000G40R40M30E209185G', '1G6GW3RG2491650N2RBG']
    """
    count, length = len(ids) // size, -(-size * 8 // 5)
    bits = np.zeros((count, length * 5), np.uint8)
    bits[:, : size * 8] = np.unpackbits(np.frombuffer(ids, np.uint8).reshape(count, size), axis=1)
    digits = np.zeros((count, length, 8), np.uint8)
    digits[:, :, 3:] = bits.reshape(count, length, 5)
    text = ALPHABET[np.packbits(digits, axis=2)].tobytes().decode()
    return [text[i : i + length] for i in range(0, count * length, length)]
