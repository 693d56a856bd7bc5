"""Reads of a view's rows for exports, and conversion of cells to values for use outside the lake.

Files are exported as their stored bytes, links as their addresses, and classes as their names.
Links are not followed, and nothing is re-encoded.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset import lazy_calls
from deeplake_lite.dataset.repr import bars
from deeplake_lite.errors import ExportWarning
from deeplake_lite.htypes.cells import Cells, NestedCells, RaggedCells, concat
from deeplake_lite.htypes.layouts import Nested, Ragged
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field

BLOCK_ROWS = 65_536
"""Rows per block. Strings share large chunks, which are decompressed again for each block."""

FILE_ROWS = 8_192
"""Rows per block if any column holds files."""


def read_blocks(
    view: View, fields: Sequence[Field], label: str, rows: int | None = None
) -> Iterator[dict[str, Cells]]:
    """Yield a dict from column names to cells for each block of rows, and show a progress bar.

    The progress bar appears after 1 s.

    Parameters
    ----------
    view : View
        The rows.
    fields : sequence of Field
        The columns.
    label : str
        Label of the progress bar.
    rows : int, optional
        Rows per block; by default `FILE_ROWS` or `BLOCK_ROWS`.
    """
    table, slots = view.rows.locate()
    ids = [f.id for f in fields]
    rows = rows or (FILE_ROWS if any(is_file(f.htype) for f in fields) else BLOCK_ROWS)
    with bars.bar(label, len(slots)) as bar:
        for span in chunks.spans(len(slots), rows):
            cells = table.read(ids, slots[span])
            yield {f.name: cells[f.id] for f in fields}
            bar.update(span.stop - span.start)


def read_all(view: View, label: str) -> dict[str, Cells]:
    """Return a dict from column names to all cells. `label` is shown next to a progress bar."""
    fields = view.schema.fields
    blocks = list(read_blocks(view, fields, label))
    return {
        f.name: concat([block[f.name] for block in blocks]) if blocks else f.htype.encode([])
        for f in fields
    }


def has_nulls(view: View, f: Field) -> bool:
    """Return whether any cell of a column is null, without reading the cells."""
    if not f.htype.nullable:
        return False
    table, slots = view.rows.locate()
    return any(
        (valid := table.valid(f.id, slots[span])) is not None and not valid.all()
        for span in chunks.spans(len(slots), BLOCK_ROWS)
    )


def metadata_of(view: View) -> dict[str, Any]:
    """Return the metadata of a dataset and its columns, as JSON values that an export records.

    They include the lineage of the view, see `map.lineage_of`.
    """
    return {
        "lineage": lazy_calls.lineage_of(view),
        "metadata": dict(view.rows.table.metadata),
        "column_metadata": {f.name: dict(f.metadata) for f in view.schema if f.metadata},
    }


def describe_lost_metadata(view: View, *kept: str) -> list[str]:
    """Return phrases that describe the metadata that an export leaves out.

    `kept` names the keys of the dataset's metadata that the export keeps. The phrases complete the
    sentence "The export leaves out …".
    """
    columns = ", ".join(repr(f.name) for f in view.schema if f.metadata)
    keys = ", ".join(repr(key) for key in view.rows.table.metadata if key not in kept)
    return [
        *([f"the metadata of {columns}"] if columns else []),
        *([f"the dataset's metadata {keys}"] if keys else []),
    ]


def warn_of_metadata(
    view: View, method: str, target: str, *, of_dataset: bool = False, stacklevel: int = 5
) -> None:
    """Warn about metadata that is left out, because `target` cannot hold it.

    Parameters
    ----------
    view : View
        The rows.
    method, target : str
        Name of the export, and the part of its output that cannot hold metadata.
    of_dataset : bool
        Whether the dataset's metadata is left out too, in addition to the columns' metadata.
    stacklevel : int
        Number of frames between the warning and the user's call.
    """
    kept = () if of_dataset else view.rows.table.metadata
    if lost := describe_lost_metadata(view, *kept):
        warnings.warn(
            f"{method} leaves out {' and '.join(lost)}, because {target} cannot hold it.",
            ExportWarning,
            stacklevel=stacklevel,
        )


def agree(sentence: str, number: int) -> str:
    """Insert `number` for ``{}``, and choose singular or plural in ``[is|are]`` accordingly.

    >>> [agree("{} [row has|rows have] no image", number) for number in (1, 2000)]
    ['1 row has no image', '2,000 rows have no image']
    """
    chosen = _CHOICE.sub(lambda match: match[1] if number == 1 else match[2], sentence)
    return chosen.format(f"{number:,}")


_CHOICE = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")


def is_file(htype: Htype) -> bool:
    """Return whether cells are files or arbitrary bytes, which are exported unchanged.

    >>> from deeplake_lite.htypes import Image
    >>> is_file(Image("jpeg")), is_file(Image("zstd"))
    (True, False)
    """
    return isinstance(htype.layout, Ragged) and htype.layout.dtype == "bytes"


def values_of(htype: Htype, cells: Cells) -> list[object]:
    """Return one object per cell, with None for nulls, bytes for files and names for classes.

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


def _split(items: list[object], cells: NestedCells) -> list[Any]:
    ends = np.cumsum(cells.counts).tolist()
    lists = [items[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    if cells.valid is None:
        return lists
    return [values if v else None for values, v in zip(lists, cells.valid.tolist(), strict=True)]
