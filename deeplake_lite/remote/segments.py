"""Segments: the bytes in which workers store results, which are blocks of encoded cells.

A segment has a header and the arrays that it describes. Each array begins at a multiple of 8 bytes.
The last 8 bytes are a digest of everything before them::

    size of the header │ header │ arrays │ digest

Segments are part of a lake, which may come from a stranger, so they are never unpickled.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from deeplake_lite.errors import DamagedError
from deeplake_lite.htypes.cells import Cells, DenseCells, FlatCells, NestedCells, RaggedCells

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_ALIGNMENT = 8

_SIZE = struct.Struct("<Q")

type Tree = dict[str, Any]
"""A description of cells, in which arrays are replaced with their positions in a list."""


@dataclass(frozen=True)
class Block:
    """The results of some rows."""

    rows: NDArray[np.int64]
    """Rows of the job, ascending, (n,) int64."""
    cells: Mapping[str, Cells]
    """Maps the ids of columns to the cells of these rows, or of the new rows that belong to
    them."""
    counts: NDArray[np.int64] | None = None
    """Number of new rows for each row of the job, (n,) int64, if the function returns rows."""


@dataclass
class SegmentWriter:
    """Collects blocks and skipped rows until they are written together.

    The cells are copied when they are added, because they may share memory with arrays that the
    user's function uses again for its next batch.

    Examples
    --------
    >>> writer = SegmentWriter()
    >>> writer.add(Block(np.array([4, 5]), {"c1": DenseCells(np.array([7, 8], "int16"))}))
    >>> writer.skip(6, "ValueError: no")
    >>> blocks, skipped = read_segment(writer.take())
    >>> blocks[0].rows, blocks[0].cells["c1"].values, skipped
    (array([4, 5]), array([7, 8], dtype=int16), [(6, 'ValueError: no')])
    """

    nbytes: int = 0
    """Size of the arrays that were added."""
    _blocks: list[Tree] = field(default_factory=list)
    _skipped: list[tuple[int, str]] = field(default_factory=list)
    _arrays: list[NDArray[Any]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self._blocks or self._skipped)

    def add(self, block: Block) -> None:
        """Add the results of some rows."""
        columns = {column: self._describe(cells) for column, cells in block.cells.items()}
        tree: Tree = {"rows": self._put(block.rows), "columns": columns}
        if block.counts is not None:
            tree["counts"] = self._put(block.counts)
        self._blocks.append(tree)

    def skip(self, row: int, error: str) -> None:
        """Add a row that was skipped because of an error."""
        self._skipped.append((row, error))

    def take(self) -> bytes:
        """Return everything that was added as one segment, and start over."""
        specs, offset = [], 0
        for array in self._arrays:
            specs.append((array.dtype.str, array.shape, offset))
            offset += _aligned(array.nbytes)
        document = {"blocks": self._blocks, "skipped": self._skipped, "arrays": specs}
        header = json.dumps(document, separators=(",", ":")).encode()
        parts = [_SIZE.pack(len(header)), header, bytes(_padding(_SIZE.size + len(header)))]
        for array in self._arrays:
            parts += [array.tobytes(), bytes(_padding(array.nbytes))]
        body = b"".join(parts)
        self.nbytes, self._blocks, self._skipped, self._arrays = 0, [], [], []
        return body + xxhash.xxh3_64_digest(body)

    def _put(self, array: NDArray[Any]) -> int:
        """Copy an array, and return its position in the list of arrays."""
        copy = np.array(array, dtype=array.dtype.newbyteorder("<"), order="C")
        self._arrays.append(copy)
        self.nbytes += copy.nbytes
        return len(self._arrays) - 1

    def _describe(self, cells: Cells) -> Tree:
        tree: Tree = {} if cells.valid is None else {"valid": self._put(cells.valid)}
        match cells:
            case DenseCells(values):
                return {**tree, "values": self._put(values)}
            case RaggedCells(shapes=shapes):
                flat = FlatCells.of(cells)
                tree |= {"data": self._put(flat.data), "lengths": self._put(flat.lengths)}
                return {**tree, "shapes": self._put(shapes)}
            case NestedCells(counts, items):
                return {**tree, "counts": self._put(counts), "items": self._describe(items)}


def read_segment(
    data: bytes | memoryview, advice: str = "Run the job again with restart=True."
) -> tuple[list[Block], list[tuple[int, str]]]:
    """Return the blocks of a segment, and the skipped rows with their errors.

    Errors end with `advice`.

    Raises
    ------
    DamagedError
        When the bytes do not match their digest, or are not a segment.
    """
    view = memoryview(data)
    try:
        _check_digest(view)
        (size,) = _SIZE.unpack(view[: _SIZE.size])
        document = json.loads(bytes(view[_SIZE.size : _SIZE.size + size]))
        start = _SIZE.size + size + _padding(_SIZE.size + size)
        arrays = [_read_array(view[start:-8], *spec) for spec in document["arrays"]]
        blocks = [
            Block(
                arrays[b["rows"]],
                {c: _cells(t, arrays) for c, t in b["columns"].items()},
                arrays[b["counts"]] if "counts" in b else None,
            )
            for b in document["blocks"]
        ]
        return blocks, [(int(row), str(error)) for row, error in document["skipped"]]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, struct.error) as e:
        raise DamagedError(
            f"Results of a job are damaged: {str(e).rstrip('.'):.200}. {advice}"
        ) from e


def _check_digest(view: memoryview) -> None:
    if xxhash.xxh3_64_digest(view[:-8]) != bytes(view[-8:]):
        raise ValueError("their digest does not match their bytes")


def _read_array(data: memoryview, dtype: str, shape: Sequence[int], offset: int) -> NDArray[Any]:
    whole = np.frombuffer(data[offset:], np.dtype(dtype), int(np.prod(shape, dtype=np.int64)))
    return whole.reshape(shape)


def _cells(tree: Tree, arrays: Sequence[NDArray[Any]]) -> Cells:
    """Return the cells that a tree describes."""
    valid = arrays[tree["valid"]] if "valid" in tree else None
    if "values" in tree:
        return DenseCells(arrays[tree["values"]], valid)
    if "items" in tree:
        return NestedCells(arrays[tree["counts"]], _cells(tree["items"], arrays), valid)
    data, ends = arrays[tree["data"]].data, np.cumsum(arrays[tree["lengths"]]).tolist()
    buffers = [data[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    return RaggedCells(list(buffers), arrays[tree["shapes"]], valid)


def _aligned(size: int) -> int:
    return size + _padding(size)


def _padding(size: int) -> int:
    """Return the number of bytes from `size` to the next multiple of the alignment."""
    return -size % _ALIGNMENT
