"""Cells that contradict the type of their column, though they are as they were written.

Checksums do not find them: somebody has changed the schema, or written cells, by other means.
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

BLOCK_ROWS = 64
"""Cells that are decoded at a time."""

BLOCK_BYTES = 1 << 26
"""Size beyond which the cells of a block are decoded one by one."""


def contradictions(table: Table, f: Field, slots: Positions) -> Iterator[tuple[int, str]]:
    """Yield the slots whose cells do not decode, and why; files are not decoded.

    Parameters
    ----------
    table : Table
        A committed version.
    f : Field
        The column.
    slots : ndarray, (n,) int64
        Where to look.
    """
    if not _is_decoded(f.htype):
        return
    for span in chunks.spans(len(slots), BLOCK_ROWS):
        block = slots[span]
        if table.nbytes(f.id, block) > BLOCK_BYTES or _error(table, f, block) is not None:
            for slot in block.tolist():
                error = _error(table, f, np.array([slot]))
                if error is not None and not isinstance(error, TooLargeError):  # no damage
                    yield slot, str(error)


def _error(table: Table, f: Field, slots: Positions) -> LakeError | None:
    """Return why cells do not decode; None where they do."""
    try:
        decode_block(f.htype, table.read([f.id], slots)[f.id], follow=False)
    except LakeError as error:
        return error
    return None


def _is_decoded(htype: Htype) -> bool:
    """Tell whether cells are looked at: all but files and other bytes.

    >>> from deeplake_lite.htypes import Boxes, Image, Sequence
    >>> _is_decoded(Boxes()), _is_decoded(Image("jpeg")), _is_decoded(Sequence("image"))
    (True, False, False)
    """
    layout = htype.layout
    return _is_decoded(layout.item) if isinstance(layout, Nested) else layout.dtype != "bytes"
