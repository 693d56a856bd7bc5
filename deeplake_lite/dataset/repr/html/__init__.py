"""Rendering of datasets, views, columns and diffs as HTML and text, without I/O.

`values` has dataclasses with the data to show, `words` formats numbers and strings, `text` draws
these data as text, and `pages` draws them as HTML. For the HTML, `tags` escapes strings and limits
the size of a page, and `style` is the style sheet.
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
