"""The table of checksums for the stored chunks of all arrays with one entry per slot.

The checksum inside a chunk only proves that its bytes belong to *some* chunk. A checksum stored
elsewhere is needed to prove that they belong to *this* chunk, and not to another chunk or an older
version. The whole lake has one table, ``checksums`` (rows, chunks) uint64::

               chunk 0   chunk 1   chunk 2  …
    row 0      ┌──────────────────────────── rows/id
    row 1      │                             rows/block
    row 2      │                             rows/slot
    row 3      │                             rows/deleted
    row 4      ├──────────────────────────── column a: data, extents or spans
    row 5      │                             column a: counts or hashes
    row 6      │                             column a: valid
    row 7      │                             column a: bounds or shapes
    row 8      ├──────────────────────────── column a/items, or the next column
    …

Committing one row changes one or two blocks of 64 by 64 entries, however large the lake is. Bytes
in heaps have no checksums here, because each cell has its own hash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import google_crc32c
import numpy as np
import xxhash

from deeplake_lite.errors import DamagedError
from deeplake_lite.htypes.layouts import Nested
from deeplake_lite.storage.compression import CRC32C, blosc, blosc_codec
from deeplake_lite.storage.frames import check_blosc
from deeplake_lite.storage.zarr_metadata import array_metadata

if TYPE_CHECKING:
    from collections.abc import Buffer, Iterable, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.htypes.layouts import Layout
    from deeplake_lite.schema import Schema
    from deeplake_lite.storage.repo import Session

NAME = "checksums"
"""Name of the table's array in the group of a generation."""

SIDE = 64
"""Number of rows and of columns in one chunk of the table."""

LEVEL_ROWS = 4
"""Number of table rows for each level of a column. A column of sequences has one level for the
sequences and, below it, one for their items."""

ROWS_OF = "rows"
"""Group of the arrays that list the rows of the lake. Their checksums are in the first rows of the
table."""

OFFSETS = {
    name: offset
    for offset, names in enumerate(
        (
            ("data", "extents", "spans", "id"),
            ("counts", "hashes", "block"),
            ("valid", "slot"),
            ("bounds", "shapes", "deleted"),
        )
    )
    for name in names
}
"""A dict that maps the name of an array to the offset of its table row within its level."""

_CODECS = [blosc_codec(8, "noshuffle"), CRC32C]
"""Checksums themselves cannot be compressed, but most of a small lake's table is zeros."""

type ChunkSums = Mapping[tuple[str, int], int]
"""A mapping from (array path, chunk number) to the chunk's checksum."""


def checksum(data: Buffer) -> int:
    """Return the xxh3_64 of a chunk's stored bytes.

    >>> checksum(b"rose") == checksum(memoryview(b"rose"))
    True
    """
    return int(xxhash.xxh3_64_intdigest(data))


def levels(layout: Layout) -> int:
    """Return the nesting depth of a column: 1, plus 1 for each level of sequences."""
    return 1 + levels(layout.item.layout) if isinstance(layout, Nested) else 1


def first_rows(schema: Schema, known: Mapping[str, int]) -> dict[str, int]:
    """Return a dict that maps column ids to the first table row of each column.

    Columns in `known` keep their rows; new columns get rows at the end of the table.

    >>> from deeplake_lite.schema import Schema
    >>> schema = Schema.build({"a": "int8", "b": "polygons", "c": "text"})
    >>> a, b, c = (column.id for column in schema)
    >>> list(first_rows(schema, {a: 4}).values())
    [4, 8, 16]
    """
    depths = {column.id: levels(column.htype.layout) for column in schema}
    rows = {column: known[column] for column in depths if column in known}
    end = max([LEVEL_ROWS, *(row + LEVEL_ROWS * depths[column] for column, row in rows.items())])
    for column, depth in depths.items():
        if column not in rows:
            rows[column], end = end, end + LEVEL_ROWS * depth
    return rows


class Checksums:
    """The table of checksums of one version.

    Parameters
    ----------
    session : Session
        The session that the table is read from.
    generation : int
        Generation of the lake's arrays.
    rows : mapping
        First table row of each column; the keys are column ids.
    """

    def __init__(self, session: Session, generation: int, rows: Mapping[str, int]) -> None:
        self._session, self._path, self._rows = session, f"{generation}/{NAME}", dict(rows)
        self._blocks: dict[tuple[int, int], NDArray[np.uint64]] = {}

    async def of(self, path: str, chunk: int) -> int:
        """Return the checksum of one chunk of the array at `path`. Raises DamagedError."""
        row, across = self._row(path), chunk // SIDE
        block = await self._block(row // SIDE, across)
        return int(block[row % SIDE, chunk % SIDE])

    async def of_all(self, path: str, numbers: Iterable[int]) -> dict[int, int]:
        """Return a dict that maps the chunks `numbers` to their checksums. Raises DamagedError."""
        return {chunk: await self.of(path, chunk) for chunk in numbers}

    async def write(self, session: Session, sums: ChunkSums, rows: Mapping[str, int]) -> None:
        """Write checksums to `session`. `rows` maps column ids to the columns' first table rows."""
        self._rows = dict(rows)
        blocks: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        for (path, chunk), value in sums.items():
            row = self._row(path)
            entry = (row % SIDE, chunk % SIDE, value)
            blocks.setdefault((row // SIDE, chunk // SIDE), []).append(entry)
        if not blocks:
            return
        if not await session.has(f"{self._path}/zarr.json"):
            metadata = array_metadata((0, 0), (SIDE, SIDE), "uint64", _CODECS)
            await session.create_array(self._path, metadata)
        shape = (SIDE * (1 + max(block[axis] for block in blocks)) for axis in (0, 1))
        await session.grow(self._path, tuple(shape))
        for (down, across), entries in blocks.items():
            changed = (await self._block(down, across)).copy()
            for row, chunk, value in entries:
                changed[row, chunk] = value
            await session.put(self._key(down, across), _encode(changed))

    async def _block(self, down: int, across: int) -> NDArray[np.uint64]:
        """Return a chunk of the table, (64, 64) uint64, or zeros if the chunk does not exist."""
        if (down, across) not in self._blocks:
            key = self._key(down, across)
            stored = await self._session.get(key)
            self._blocks[down, across] = _decode(key, stored)
        return self._blocks[down, across]

    def _row(self, path: str) -> int:
        """Return the table row of the array at ``<generation>/<column>[/items…]/<name>``."""
        _, group, *items, name = path.split("/")
        first = 0 if group == ROWS_OF else self._rows.get(group)
        if first is None:
            raise DamagedError(
                f"The lake has no checksums for {path}. Restore the lake from a backup."
            )
        return first + LEVEL_ROWS * len(items) + OFFSETS[name]

    def _key(self, down: int, across: int) -> str:
        return f"{self._path}/c/{down}/{across}"


def _encode(block: NDArray[np.uint64]) -> bytes:
    """Encode a chunk of the table like Zarr's ``blosc`` and ``crc32c`` codecs."""
    packed = bytes(blosc("noshuffle").encode(block.astype("<u8", copy=False)))
    return packed + int(google_crc32c.value(packed)).to_bytes(4, "little")


def _decode(key: str, stored: memoryview | None) -> NDArray[np.uint64]:
    """Decode a chunk of the table; return zeros if none is stored. Raises DamagedError."""
    if stored is None:
        return np.zeros((SIDE, SIDE), np.uint64)
    packed = bytes(stored[:-4])
    if google_crc32c.value(packed) != int.from_bytes(stored[-4:], "little"):
        raise DamagedError(f"Chunk {key!r} does not match its checksum. Run ds.verify().")
    try:
        check_blosc(packed, 8 * SIDE * SIDE)
        return np.frombuffer(blosc("noshuffle").decode(packed), "<u8").reshape(SIDE, SIDE)
    except (ValueError, RuntimeError) as error:
        reason = str(error).rstrip(".")
        raise DamagedError(f"Chunk {key!r} cannot be read: {reason}. Run ds.verify().") from error
