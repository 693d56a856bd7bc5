"""Pictures brought to the mode of their column: by `set_mode`, and when versions are merged."""

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
    from deeplake_lite.schema import Field, Schema
    from deeplake_lite.storage.table import Table

CONVERTED_ROWS = 256
"""Pictures that are read at a time to convert them."""


def modes_of(schema: Schema) -> dict[str, str | None]:
    """Return the modes of the columns of pictures, by id."""
    kinds = {f.id: f.htype.pixels for f in schema}
    return {column: kind.mode for column, kind in kinds.items() if kind and kind.is_image}


def converted(table: Table, f: Field, htype: Htype) -> Iterator[tuple[NDArray[np.int64], Any]]:
    """Yield the rows of a column of pictures that have another shape in a new type, re-encoded.

    All are read, since pictures of 16 bits have no mode; files are kept as they are.
    """
    for positions in np.array_split(np.arange(len(table)), -(-len(table) // CONVERTED_ROWS) or 1):
        slots = table.rows.at(positions)
        cells: Any = table.read([f.id], slots)[f.id]
        with naming_rows(positions.__getitem__):
            given = images_of(f.htype, cells)
            of = replace(f, htype=htype)
            new: Any = encode_column(of, given, 0, len(given), "header", warns=False)
        changed = np.flatnonzero((new.shapes != cells.shapes).any(axis=1))
        if len(changed):
            yield slots[changed], {f.id: take(new, changed)}
