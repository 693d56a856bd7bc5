"""What values are outside the lake: the same decisions for Arrow, pandas, xarray and folders.

Files leave as the bytes that they came in, links as their address, classes by name, times in a unit
that others know. Nothing is followed, nothing encoded anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.repr import bars
from deeplake_lite.htypes.cells import Cells, NestedCells, RaggedCells, concat
from deeplake_lite.htypes.layouts import Nested, Ragged
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field

BLOCK_ROWS = 65_536
"""Rows that are read at a time: texts share large chunks, which are decompressed once per block."""

FILE_ROWS = 8_192
"""Rows that are read at a time when there are files among their cells."""


def read_blocks(
    view: View, fields: Sequence[Field], what: str, rows: int | None = None
) -> Iterator[dict[str, Cells]]:
    """Yield the cells of some columns by name, block by block; a bar comes up after a second."""
    table, slots = view.rows.locate()
    ids = [f.id for f in fields]
    rows = rows or (FILE_ROWS if any(is_file(f.htype) for f in fields) else BLOCK_ROWS)
    with bars.bar(what, len(slots)) as bar:
        for span in chunks.spans(len(slots), rows):
            cells = table.read(ids, slots[span])
            yield {f.name: cells[f.id] for f in fields}
            bar.update(span.stop - span.start)


def read_all(view: View, what: str) -> dict[str, Cells]:
    """Return the cells of every column by name."""
    fields = view.schema.fields
    blocks = list(read_blocks(view, fields, what))
    return {
        f.name: concat([block[f.name] for block in blocks]) if blocks else f.htype.encode([])
        for f in fields
    }


def is_file(htype: Htype) -> bool:
    """Tell whether the stored bytes mean something by themselves: files, and any bytes.

    >>> from deeplake_lite.htypes import Image
    >>> is_file(Image("jpeg")), is_file(Image("zstd"))
    (True, False)
    """
    return isinstance(htype.layout, Ragged) and htype.layout.dtype == "bytes"


def values_of(htype: Htype, cells: Cells) -> list[Any]:
    """Return one object per cell, None where null: bytes for files, names for classes.

    >>> from deeplake_lite.htypes import ClassLabel
    >>> label = ClassLabel(["rose", "tulip"], nullable=True)
    >>> values_of(label, label.encode([1, None]))
    ['tulip', None]
    """
    if isinstance(cells, NestedCells) and isinstance(htype.layout, Nested):
        return _split(values_of(htype.layout.item, cells.items), cells)
    if htype.classes is not None:
        return list(htype.named(htype.decode_cells(cells)))
    if not isinstance(cells, RaggedCells) or not is_file(htype):
        return htype.decode_cells(cells)
    valid = [True] * len(cells) if cells.valid is None else cells.valid.tolist()
    return [bytes(b) if v else None for b, v in zip(cells.buffers, valid, strict=True)]


def _split(items: list[Any], cells: NestedCells) -> list[Any]:
    ends = np.cumsum(cells.counts).tolist()
    lists = [items[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    if cells.valid is None:
        return lists
    return [found if v else None for found, v in zip(lists, cells.valid.tolist(), strict=True)]
