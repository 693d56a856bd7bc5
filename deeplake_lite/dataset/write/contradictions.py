"""Search for cells whose bytes are undamaged, but contradict the type of their column.

Checksums do not detect such cells. Such cells occur if another program has changed the schema or
has written cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset.read.values import decode_block
from deeplake_lite.errors import LakeError, TooLargeError
from deeplake_lite.htypes.layouts import Nested
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.dataset.read.reading import Positions
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.table import Table

BLOCK_ROWS = 2**14
"""Maximum number of cells that are decoded at a time."""

BLOCK_BYTES = 1 << 26
"""Maximum size in bytes of the cells that are decoded at a time, unless one cell is larger."""


def find_contradictions(table: Table, f: Field, slots: Positions) -> Iterator[tuple[int, str]]:
    """Yield (slot, reason) for each cell that cannot be decoded. Files are not decoded.

    Parameters
    ----------
    table : Table
        A committed version.
    f : Field
        The column.
    slots : ndarray, (n,) int64
        The slots to check.
    """
    if not _is_decoded(f.htype):
        return
    for span in chunks.spans(len(slots), BLOCK_ROWS):
        block = slots[span]
        ends = np.cumsum(table.sizes(f.id, block)) // BLOCK_BYTES
        for part in chunks.runs_of_equal(ends):
            yield from _search(table, f, block[part])


def _search(table: Table, f: Field, slots: Positions) -> Iterator[tuple[int, str]]:
    """Yield (slot, reason) like `find_contradictions`. If any cell fails, each half is searched."""
    error = _decode_error(table, f, slots)
    if error is None:
        return
    if len(slots) > 1:
        for half in np.array_split(slots, 2):
            yield from _search(table, f, half)
    elif not isinstance(error, TooLargeError):  # too large, but not damaged
        yield int(slots[0]), str(error)


def _decode_error(table: Table, f: Field, slots: Positions) -> LakeError | None:
    """Decode cells. Return the error if this fails, or None if all cells can be decoded."""
    try:
        decode_block(f.htype, table.read([f.id], slots)[f.id], follow=False)
    except LakeError as error:
        return error
    return None


def _is_decoded(htype: Htype) -> bool:
    """Return whether cells of a type are decoded here. Files and other bytes are not.

    >>> from deeplake_lite.htypes import Boxes, Image, Sequence
    >>> _is_decoded(Boxes()), _is_decoded(Image("jpeg")), _is_decoded(Sequence("image"))
    (True, False, False)
    """
    layout = htype.layout
    return _is_decoded(layout.item) if isinstance(layout, Nested) else layout.dtype != "bytes"
