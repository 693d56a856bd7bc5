"""How datasets, views, columns and diffs look: values in, HTML or text out; no I/O.

`values` are what there is to show, `words` writes numbers and strings, `text` is the plain-text
twin, `tags` escapes and keeps the size, `style` is the sheet, `pages` draws.
"""

from deeplake_lite.dataset.repr.html.pages import render_column, render_dataset, render_diff
from deeplake_lite.dataset.repr.html.text import text_column, text_dataset, text_diff
from deeplake_lite.dataset.repr.html.values import (
    CellChange,
    ColumnPage,
    ColumnSummary,
    DatasetSummary,
    DiffExample,
    DiffSummary,
    PreviewCell,
    PreviewRow,
    SchemaChange,
    Tally,
    VersionLine,
)

__all__ = [
    "CellChange",
    "ColumnPage",
    "ColumnSummary",
    "DatasetSummary",
    "DiffExample",
    "DiffSummary",
    "PreviewCell",
    "PreviewRow",
    "SchemaChange",
    "Tally",
    "VersionLine",
    "render_column",
    "render_dataset",
    "render_diff",
    "text_column",
    "text_dataset",
    "text_diff",
]
