"""The text and HTML reprs of datasets, views, columns and diffs.

The functions here collect the data, and `repr.html` draws them. A text repr reads only the schema.
An HTML page also reads a few cells, within the limits of `repr.preview`. Neither raises an error:
if the page fails, the text is shown, and if the text fails, the name of the class.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.values import decode_pool
from deeplake_lite.dataset.repr import preview
from deeplake_lite.dataset.repr.describe import describe
from deeplake_lite.dataset.repr.html import (
    ColumnPage,
    DatasetSummary,
    PreviewCell,
    PreviewRow,
    VersionLine,
    render_column,
    render_dataset,
    render_diff,
    text_column,
    text_dataset,
    text_diff,
)
from deeplake_lite.dataset.repr.html.pages import MAX_COLUMNS
from deeplake_lite.dataset.versions import history, summary
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from deeplake_lite.dataset.column import Column
    from deeplake_lite.dataset.repr.html import ColumnSummary, Tally
    from deeplake_lite.dataset.repr.html.values import Content
    from deeplake_lite.dataset.versions.diff import Diff
    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.stored_array import Slots


def view_text(view: View) -> str:
    """Return the text repr of a view or dataset: a header and a line per column. No cell is read.

    >>> import deeplake_lite as dl
    >>> dl.create("memory://text-doc", {"x": "int32", "name": dl.Text(nullable=True)})
    Dataset text-doc · 0 rows · main@... · clean
      memory://text-doc
      x     Scalar  int32
      name  Text           nullable
    """
    return _first_success(view, lambda: text_dataset(_outline(view, _describe_columns(view))))


def view_html(view: View) -> str:
    """Return the HTML page of a view or dataset."""
    return _first_success(view, lambda: render_dataset(_page(view)), lambda: view_text(view))


def column_text(column: Column) -> str:
    """Return the text repr of a column. No cell is read.

    >>> import deeplake_lite as dl
    >>> dl.create("memory://column-text-doc", {"label": dl.ClassLabel(["a", "b"])})["label"]
    Column label of column-text-doc · 0 rows · main@...
      ClassLabel · int32 · 2 classes
    """
    return _first_success(column, lambda: text_column(_column_outline(column)))


def column_html(column: Column) -> str:
    """Return the HTML page of a column."""
    return _first_success(
        column, lambda: render_column(_column_page(column)), lambda: column_text(column)
    )


def _first_success(subject: object, *renderers: Callable[[], str]) -> str:
    """Return the result of the first renderer that succeeds, or else the object's class."""
    for render in renderers:
        try:
            return render()
        except Exception:  # a repr must not raise, whatever is wrong with the lake
            continue
    return f"<{type(subject).__name__}>"


def _outline(view: View, columns: Iterable[ColumnSummary], **more: Any) -> DatasetSummary:
    """Summarize a view without reading its cells."""
    name, commit = version_of(view)
    return DatasetSummary(
        title_of(view.url),
        len(view),
        url=view.url,
        kind=type(view).__name__,
        branch=name,
        commit=commit,
        dirty=dirty_of(view),
        origin=view.origin,
        columns=tuple(columns),
        **more,
    )


def title_of(url: str) -> str:
    """Return the name of a lake: the last part of its URL, without the extension.

    >>> title_of("s3://lab/flowers.lake/"), title_of("memory://digits")
    ('flowers', 'digits')
    """
    return url.rstrip("/").rsplit("/", 1)[-1].removesuffix(".lake") or url


def version_of(view: View) -> tuple[str, str]:
    """Return the branch, tag or time at which a dataset was opened, or "", and its commit id."""
    handle = getattr(view, "handle", None)  # a view of a dataset has no name of its own
    name = "" if handle is None else handle.branch or handle.lake.name
    return ("" if view.version.startswith(name) else name), view.version


def dirty_of(view: View) -> str:
    """Describe the edits of the open transaction. Returns an empty string if there are none."""
    from deeplake_lite.dataset.versions.diff import Status  # `diff` calls this module for its reprs

    table = view.rows.table
    status = Status.of(table) if isinstance(table, Table) else None
    return repr(status) if status else ""


def _describe_columns(view: View) -> list[ColumnSummary]:
    return [describe(f) for f in view.schema]


def _page(view: View) -> DatasetSummary:
    """Collect the contents of a view's page, leaving out contents that cannot be read."""
    slots, fields = _first_slots(view), view.schema.fields
    columns = _in_parallel(lambda f: _describe_values(view, f, slots), fields[:MAX_COLUMNS])
    columns += [describe(f) for f in fields[MAX_COLUMNS:]]
    sizes = [column.nbytes for column in columns]
    return _outline(
        view,
        columns,
        nbytes=None if None in sizes else sum(n or 0 for n in sizes),
        previews=_previews(view, fields[:MAX_COLUMNS], slots),
        tallies=tuple(_tallies(view, fields, slots)),
        versions=_try(lambda: tuple(_versions(view)), tuple[VersionLine, ...]()),
    )


VERSIONS = 8
"""Number of commits that a page lists."""


def _first_slots(view: View) -> Slots:
    """Return the slots of the first rows, up to the number that a page may read.

    If the view has more rows than this number, one more slot is returned, so that the caller can
    tell.
    """
    return view.rows.at(np.arange(min(len(view), preview.COUNTED_ROWS + 1)))


def _in_parallel[A, B](read: Callable[[A], B], of: Iterable[A]) -> list[B]:
    """Call `read` for each item in the decoding threads, so that the waiting times overlap."""
    return decode_pool().map(read, of)


def _try[T](read: Callable[[], T], default: T) -> T:
    """Return the result of a read, or `default` if the read fails, since a lake may be damaged."""
    try:
        return read()
    except Exception:
        return default


def _describe_values(view: View, f: Field, slots: Slots) -> ColumnSummary:
    """Describe a column by the shapes in the first index chunk, and by its size if it is cheap."""
    near = preview.nearby(slots)
    is_complete = len(near) == len(view)
    table = view.rows.table
    nbytes = None
    if is_complete or isinstance(f.htype.layout, Dense):  # dense cells all have the same size
        nbytes = _try(lambda: table.nbytes(f.id, slots) * len(view) // max(len(slots), 1), None)
    shapes = _try(lambda: table.shapes(f.id, slots[near]), None)
    summary = describe(f, shapes, nbytes)
    if is_complete or summary.shape == describe(f).shape:
        return summary
    return describe(f, shapes, nbytes, more=f"shape seen in {pluralize(len(near), 'row')}")


def _previews(view: View, fields: Sequence[Field], slots: Slots) -> tuple[PreviewRow, ...]:
    """Preview a few rows, evenly spread over the first row's index chunk."""
    rows = preview.spread(preview.nearby(slots))
    columns = _in_parallel(lambda f: preview.contents(view.rows.table, f, slots[rows]), fields)
    cells = {f.name: contents for f, contents in zip(fields, columns, strict=True)}
    label = next((f.name for f in fields if f.htype.classes is not None), None)
    return tuple(
        PreviewRow(
            row,
            tuple(PreviewCell(name, contents[i]) for name, contents in cells.items()),
            _caption(cells[label][i]) if label else "",
        )
        for i, row in enumerate(rows.tolist())
    )


def _caption(content: Content) -> str:
    return content if isinstance(content, str) else ""


def _tallies(view: View, fields: Sequence[Field], slots: Slots) -> Iterable[Tally]:
    labels = [f for f in fields if f.htype.classes is not None] if len(slots) else []
    for f in labels:
        if tally := _try(partial(preview.class_counts, view.rows.table, f, slots), None):
            yield tally


def _versions(view: View) -> Iterable[VersionLine]:
    """Yield the history of a dataset, newest first. Other views have no history."""
    if not hasattr(view, "log"):
        return
    repository = view.rows.lake.repository
    names: dict[str, list[str]] = {}
    for name, commit in chain(
        history.branches(repository).items(), history.tags(repository).items()
    ):
        names.setdefault(commit, []).append(name)
    for c in history.history(repository, view.version, VERSIONS):
        yield VersionLine(c.id, c.message, c.time, tuple(names.get(c.id, ())))


def _column_outline(column: Column) -> ColumnPage:
    """Summarize a column without reading its cells. The facts are its metadata."""
    view, f = column.view, column.field
    facts = tuple((name, str(value)) for name, value in f.metadata.items())
    version = "@".join(filter(None, version_of(view)))
    return ColumnPage(describe(f), len(view), title_of(view.url), version, facts)


def _column_page(column: Column) -> ColumnPage:
    """Collect the contents of a column's page."""
    view, f = column.view, column.field
    slots, table = _first_slots(view), view.rows.table
    nothing: tuple[list[tuple[str, str]], Tally | None] = [], None
    facts, histogram = _try(lambda: preview.summarize(table, f, slots), nothing)
    outline = _column_outline(column)
    return replace(
        outline,
        column=_describe_values(view, f, slots),
        facts=(*facts, *outline.facts),
        previews=_previews(view, [f], slots),
        tally=histogram or next(iter(_tallies(view, [f], slots)), None),
    )


def diff_text(diff: Diff) -> str:
    """Return the text repr of a diff. No cell is read.

    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://diff-text-doc", {"x": "int32"})
    >>> ds.append({"x": [1, 2]})
    >>> ds.diff()
    Diff ... → main · 2 rows added
    """
    return _first_success(diff, lambda: text_diff(summary.outline(diff)))


def diff_html(diff: Diff) -> str:
    """Return the HTML page of a diff, with up to eight rows that differ."""
    return _first_success(diff, lambda: render_diff(summary.page(diff)), lambda: diff_text(diff))


plain, plain_pair = summary.to_table_cell, summary.plain_pair
