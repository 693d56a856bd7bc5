"""What datasets, views, columns and diffs show of themselves: gathered here, drawn by `html`.

Text reads nothing but the schema. Pages read a few cells, see `glance`. Neither raises: a page that
cannot be gathered falls back to its text, and that to the name of the class.
"""

from __future__ import annotations

from dataclasses import replace
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
from deeplake_lite.dataset.repr.html.pages import MOST_COLUMNS
from deeplake_lite.dataset.versions import history, summary
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from deeplake_lite.dataset.column import Column
    from deeplake_lite.dataset.repr.html import ColumnSummary, Tally
    from deeplake_lite.dataset.repr.html.values import Content
    from deeplake_lite.dataset.versions.diff import Diff
    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.arrays import Slots


def view_text(view: View) -> str:
    """Return what a view or dataset prints: a line, and one per column. Reads no cell.

    >>> import deeplake_lite as dl
    >>> dl.create("memory://text-doc", {"x": "int32", "name": dl.Text(nullable=True)})
    Dataset text-doc · 0 rows · main@... · clean
      memory://text-doc
      x     Scalar  int32
      name  Text           nullable
    """
    return _first_of(view, lambda: text_dataset(_outline(view, _described(view))))


def view_html(view: View) -> str:
    """Return the page of a view or dataset."""
    return _first_of(view, lambda: render_dataset(_page(view)), lambda: view_text(view))


def column_text(column: Column) -> str:
    """Return what a column prints. Reads no cell.

    >>> import deeplake_lite as dl
    >>> dl.create("memory://column-text-doc", {"label": dl.ClassLabel(["a", "b"])})["label"]
    Column label of column-text-doc · 0 rows · main@...
      ClassLabel · int32 · 2 classes
    """
    return _first_of(column, lambda: text_column(_column_outline(column)))


def column_html(column: Column) -> str:
    """Return the page of a column."""
    return _first_of(
        column, lambda: render_column(_column_page(column)), lambda: column_text(column)
    )


def _first_of(shown: object, *ways: Callable[[], str]) -> str:
    """Return what the first way that works gives; nothing is raised at who only looks."""
    for way in ways:
        try:
            return way()
        except Exception:
            continue
    return f"<{type(shown).__name__}>"


def _outline(view: View, columns: Iterable[ColumnSummary], **more: Any) -> DatasetSummary:
    """Return what is known of a view without reading its cells."""
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
    """Return a lake's name, the end of where it is.

    >>> title_of("s3://lab/flowers.lake/"), title_of("memory://digits")
    ('flowers', 'digits')
    """
    return url.rstrip("/").rsplit("/", 1)[-1].removesuffix(".lake") or url


def version_of(view: View) -> tuple[str, str]:
    """Return the branch, tag or time that a dataset was opened at, if any, and the commit."""
    handle = getattr(view, "handle", None)  # a view of a dataset has no name of its own
    name = "" if handle is None else handle.branch or handle.lake.name
    return ("" if view.version.startswith(name) else name), view.version


def dirty_of(view: View) -> str:
    """Say what the open transaction has done; empty when nothing."""
    from deeplake_lite.dataset.versions.diff import Status  # which shows itself through this module

    table = view.rows.table
    status = Status.of(table) if isinstance(table, Table) else None
    return repr(status) if status else ""


def _described(view: View) -> list[ColumnSummary]:
    return [describe(f) for f in view.schema]


def _page(view: View) -> DatasetSummary:
    """Gather the page of a view; parts that cannot be read are left out."""
    slots, fields = _some_slots(view), view.schema.fields
    columns = _at_once(lambda f: _seen(view, f, slots), fields[:MOST_COLUMNS])
    columns += [describe(f) for f in fields[MOST_COLUMNS:]]
    sizes = [column.nbytes for column in columns]
    return _outline(
        view,
        columns,
        nbytes=None if None in sizes else sum(n or 0 for n in sizes),
        previews=_previews(view, fields[:MOST_COLUMNS], slots),
        tallies=tuple(_tallies(view, fields, slots)),
        versions=_or(tuple[VersionLine, ...](), lambda: tuple(_versions(view))),
    )


VERSIONS = 8
"""Commits that a page lists."""


def _some_slots(view: View) -> Slots:
    """Return the slots of the first rows: all that a page may read, and one more if there is."""
    return view.rows.at(np.arange(min(len(view), preview.COUNTED_ROWS + 1)))


def _at_once[A, B](read: Callable[[A], B], of: Iterable[A]) -> list[B]:
    """Read several things at the same time: each waits for the store, or decodes."""
    return decode_pool().map(read, of)


def _or[T](otherwise: T, read: Callable[[], T]) -> T:
    """Return what can be read, or something else: a damaged lake still shows what it can."""
    try:
        return read()
    except Exception:
        return otherwise


def _seen(view: View, f: Field, slots: Slots) -> ColumnSummary:
    """Describe a column with the shapes of the rows nearby, and its size where that is cheap."""
    near = preview.nearby(slots)
    whole = len(near) == len(view)
    table = view.rows.table
    nbytes = None
    if whole or isinstance(f.htype.layout, Dense):  # whose cells are of one size
        nbytes = _or(None, lambda: table.nbytes(f.id, slots) * len(view) // max(len(slots), 1))
    shapes = _or(None, lambda: table.shapes(f.id, slots[near]))
    found = describe(f, shapes, nbytes)
    if whole or found.shape == describe(f).shape:
        return found
    return describe(f, shapes, nbytes, more=f"shape of {len(near):,} rows")


def _previews(view: View, fields: Sequence[Field], slots: Slots) -> tuple[PreviewRow, ...]:
    """Show a few rows: evenly spread over those that share the first one's index chunk."""
    rows = preview.spread(preview.nearby(slots))
    found = _at_once(lambda f: preview.contents(view.rows.table, f, slots[rows]), fields)
    cells = {f.name: contents for f, contents in zip(fields, found, strict=True)}
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
    found = (_or(None, lambda f=f: preview.class_counts(view.rows.table, f, slots)) for f in labels)  # type: ignore[misc]
    return filter(None, found)


def _versions(view: View) -> Iterable[VersionLine]:
    """Yield the history of a dataset, newest first; a view is of one version."""
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
    """Return what is known of a column without reading its cells; notes on it are facts."""
    view, f = column.view, column.field
    facts = tuple((name, str(value)) for name, value in f.metadata.items())
    version = "@".join(filter(None, version_of(view)))
    return ColumnPage(describe(f), len(view), title_of(view.url), version, facts)


def _column_page(column: Column) -> ColumnPage:
    """Gather the page of a column."""
    view, f = column.view, column.field
    slots, table = _some_slots(view), view.rows.table
    nothing: tuple[list[tuple[str, str]], Tally | None] = [], None
    facts, histogram = _or(nothing, lambda: preview.sum_up(table, f, slots))
    bare = _column_outline(column)
    return replace(
        bare,
        column=_seen(view, f, slots),
        facts=(*facts, *bare.facts),
        previews=_previews(view, [f], slots),
        tally=histogram or next(iter(_tallies(view, [f], slots)), None),
    )


def diff_text(diff: Diff) -> str:
    """Return what a diff prints. Reads no cell.

    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://diff-text-doc", {"x": "int32"})
    >>> ds.append({"x": [1, 2]})
    >>> ds.diff()
    Diff ... → main · 2 rows added
    """
    return _first_of(diff, lambda: text_diff(summary.outline(diff)))


def diff_html(diff: Diff) -> str:
    """Return the page of a diff, with up to eight rows that differ."""
    return _first_of(diff, lambda: render_diff(summary.page(diff)), lambda: diff_text(diff))


plain, plain_pair = summary.plain, summary.plain_pair
