"""Conversion of stored images to the mode of their column, in `set_mode` and in merges."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.values import images_of
from deeplake_lite.dataset.write.blocks import encode_column, naming_rows
from deeplake_lite.htypes.cells import take

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.table import Table

CONVERTED_ROWS = 256
"""Number of images that are converted at a time."""


def convert_images(table: Table, f: Field, htype: Htype) -> Iterator[tuple[NDArray[np.int64], Any]]:
    """Yield slots and new cells of images whose shape is different with the column's new type.

    The encoded files stay as they are. All images are read, because 16-bit images cannot be
    converted and must be rejected.
    """
    source = table.checked()
    for positions in np.array_split(np.arange(len(table)), -(-len(table) // CONVERTED_ROWS) or 1):
        slots = table.rows.at(positions)
        cells: Any = source.read([f.id], slots)[f.id]
        with naming_rows(positions.__getitem__):
            images = images_of(f.htype, cells)
            retyped = replace(f, htype=htype)
            new: Any = encode_column(retyped, images, 0, len(images), "header", warns=False)
        changed = np.flatnonzero((new.shapes != cells.shapes).any(axis=1))
        if len(changed):
            yield slots[changed], {f.id: take(new, changed)}
