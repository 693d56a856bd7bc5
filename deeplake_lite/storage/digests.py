"""Digests of cells: 64 bits that represent a cell when only equality matters.

Equal cells of columns with the same layout have equal digests, whether the cells are stored in the
lake or only in memory. The lake stores the digests of ragged and nested cells in the array
``hashes`` (FORMAT.md, §5).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import xxhash

from deeplake_lite.htypes.cells import DenseCells, NestedCells, RaggedCells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.htypes.layouts import Layout, Nested, Ragged

NULL_DIGEST = np.uint64(0x6E75_6C6C_9E37_79B9)
"""Digest of a null in a dense column. In all other columns, a null has the digest 0. A 64-bit
number with the same bytes counts as equal to a null; so do other cells with a chance of 2**-64."""

NARROW = 128
"""Rows of at most this many bytes are converted to `bytes` objects for hashing, which is faster
than creating an array object for each row."""


def digests_of(layout: Layout, cells: Cells) -> NDArray[np.uint64]:
    """Return digests of cells, (n,) uint64. NaN equals NaN, and a null equals only a null.

    >>> from deeplake_lite.htypes import Array
    >>> column = Array("float32", (None,), nullable=True)
    >>> a, b, null = digests_of(column.layout, column.encode([[1, 2], [1, 2], None]))
    >>> bool(a == b), int(null)
    (True, 0)
    """
    match cells:
        case DenseCells(values, valid):
            digests = row_digests(values)
            if valid is not None:
                digests[~valid] = NULL_DIGEST
            return digests
        case RaggedCells():
            return _ragged_digests(cast("Ragged", layout).dtype, cells)
        case NestedCells(counts, items, valid):
            return nested_digests(
                digests_of(cast("Nested", layout).item.layout, items), counts, valid
            )


def row_digests(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return digests of rows, (n,) uint64.

    The digest of a row is its bytes if it has at most 8 bytes, and otherwise its xxh3_64. All NaNs
    have the same digest.

    >>> a, b, c = row_digests(np.array([[1.0, np.nan], [1.0, -np.nan], [2.0, 0.0]]))
    >>> bool(a == b), bool(a == c)
    (True, False)
    """
    if values.dtype.kind in "fc" and np.isnan(values).any():
        values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
    size = values.dtype.itemsize * int(np.prod(values.shape[1:]))
    raw = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), size)
    if size == 8:
        return raw.view(np.uint64)[:, 0].copy()
    if size <= 8:
        wide = np.zeros((len(values), 8), np.uint8)
        wide[:, :size] = raw
        return wide.view(np.uint64)[:, 0].copy()
    rows = raw.view(f"V{size}")[:, 0].tolist() if size <= NARROW else raw
    return np.fromiter(map(xxhash.xxh3_64_intdigest, rows), np.uint64, len(raw))


def nested_digests(
    items: NDArray[np.uint64], counts: NDArray[np.int64], valid: NDArray[np.bool_] | None
) -> NDArray[np.uint64]:
    """Return the digests of sequences.

    Parameters
    ----------
    items : ndarray, (m,) uint64
        Digests of the items of all sequences, concatenated.
    counts : ndarray, (n,) int64
        Number of items in each sequence.
    valid : ndarray, (n,) bool, optional
        False where the sequence is null.
    """
    ends = np.cumsum(counts).tolist()
    starts = [0, *ends][:-1]
    little = items.astype("<u8", copy=False)
    digests = np.fromiter(
        (xxhash.xxh3_64_intdigest(little[a:b]) for a, b in zip(starts, ends, strict=True)),
        np.uint64,
        len(ends),
    )
    if valid is not None:
        digests[~valid] = 0
    return digests


def _ragged_digests(dtype: str, cells: RaggedCells) -> NDArray[np.uint64]:
    shapes, digest = map(tuple, cells.shapes.tolist()), xxhash.xxh3_64_intdigest
    digests = np.fromiter(
        (digest(b, _seed(dtype, s)) for b, s in zip(cells.buffers, shapes, strict=True)),
        np.uint64,
        len(cells),
    )
    if cells.valid is not None:
        digests[~cells.valid] = 0
    return digests


@lru_cache(maxsize=65_536)
def _seed(dtype: str, shape: tuple[int, ...]) -> int:
    """Return the seed for hashing a cell, which is a hash of the cell's dtype and shape.

    The bytes of a cell do not contain its shape; they may be the same for (2, 3) and (3, 2).

    >>> _seed("uint8", (2, 3)) == _seed("uint8", (3, 2))
    False
    """
    header = f"{dtype}:{','.join(str(n) for n in shape if n >= 0)}"
    return int(xxhash.xxh3_64_intdigest(header.encode()))
