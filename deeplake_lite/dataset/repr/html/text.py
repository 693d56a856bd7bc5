"""Text reprs of datasets, columns and diffs, for places that show no HTML.

Each repr begins with a header. A dataset has a line for each column. The functions never raise
errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deeplake_lite.dataset.repr.html.words import clip, more, shape, size, timestamp
from deeplake_lite.htypes.base import Picture
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from deeplake_lite.dataset.repr.html.values import (
        ColumnPage,
        ColumnSummary,
        Content,
        DatasetSummary,
        DiffExample,
        DiffSummary,
        PreviewRow,
        SchemaChange,
        Tally,
        VersionLine,
    )

MAX_COLUMNS = 100
MAX_ROWS = 8
MAX_CLASSES = 12
MAX_VERSIONS = 8
SIGNS = {"added": "+", "removed": "−", "changed": "~"}


def text_dataset(summary: DatasetSummary) -> str:
    """Format a dataset or view as text.

    Examples
    --------
    >>> from deeplake_lite.dataset.repr.html.values import ColumnSummary, DatasetSummary
    >>> image = ColumnSummary("image", "Image", "uint8", (8, 8), 812_000, "png")
    >>> label = ColumnSummary("label", "ClassLabel", "int32", nbytes=7188, note="10 classes")
    >>> print(text_dataset(DatasetSummary("digits", 1797, branch="main", columns=(image, label))))
    Dataset digits · 1,797 rows · main · clean
      image  Image       uint8  8 × 8  812 KB  png
      label  ClassLabel  int32         7.2 KB  10 classes
    """
    return _safe(_dataset, summary)


def text_column(page: ColumnPage) -> str:
    """Format a column as text.

    Examples
    --------
    >>> from deeplake_lite.dataset.repr.html.values import ColumnPage, ColumnSummary
    >>> score = ColumnSummary("score", "Array", "float32")
    >>> print(text_column(ColumnPage(score, 1797, title="digits", facts=(("min", "0.1"),))))
    Column score of digits · 1,797 rows
      Array · float32
      min 0.1
    """
    return _safe(_column, page)


def text_diff(diff: DiffSummary) -> str:
    """Format a diff as text.

    Examples
    --------
    >>> from deeplake_lite.dataset.repr.html.values import CellChange, DiffExample, DiffSummary
    >>> one = DiffExample("changed", 3, (CellChange("label", "8", "3"),))
    >>> print(text_diff(DiffSummary("main", "fix", changed=1, examples=(one,))))
    Diff main → fix · 1 row changed
      ~ row 3  label: 8 → 3
    """
    return _safe(_diff, diff)


def dataset_facts(summary: DatasetSummary) -> list[str]:
    """Return facts that follow a dataset's name: rows, version, uncommitted edits, size."""
    state = f"● {clip(summary.dirty, 60)}" if summary.dirty else "clean"
    version = clip(summary.version, 60)
    return [*filter(None, (pluralize(summary.rows, "row"), version, state, size(summary.nbytes)))]


def column_facts(page: ColumnPage) -> list[str]:
    """Return facts that follow a column's name: rows, version, size."""
    facts = (pluralize(page.rows, "row"), clip(page.version, 60), size(page.column.nbytes))
    return [*filter(None, facts)]


def diff_facts(diff: DiffSummary) -> list[tuple[str, str]]:
    """Return pairs of a kind of change and a phrase, such as ``("added", "3 rows added")``."""
    rows = (("added", diff.added), ("removed", diff.removed), ("changed", diff.changed))
    facts = [(kind, f"{pluralize(number, 'row')} {kind}") for kind, number in rows if number]
    return facts or [("same", "no differences" if diff.empty else "the same rows")]


def column_line(column: ColumnSummary) -> tuple[str, ...]:
    """Return the fields of a column's line: name, type, dtype, shape, size, note."""
    short = (clip(column.name, 40), clip(column.htype, 24), clip(column.dtype, 16))
    return (*short, clip(shape(column.shape), 40), size(column.nbytes), clip(column.note, 60))


def content_text(content: Content, most: int = 60) -> str:
    """Return the preview of a value as one short line. For an image, the line says its size."""
    if isinstance(content, Picture):
        return f"[{content.width} × {content.height} image]"
    return "null" if content is None else clip(content, most)


def _safe[S](write: Callable[[S], Iterable[str]], summary: S) -> str:
    """Join the lines that `write` returns. If it fails, return a shortened repr of the summary."""
    try:
        return "\n".join(line.rstrip() for line in write(summary))
    except Exception:
        return _fallback(summary)


def _fallback(summary: object) -> str:
    try:
        return clip(repr(summary), 500)
    except Exception:
        return f"<{type(summary).__name__}>"


def _dataset(summary: DatasetSummary) -> Iterator[str]:
    name = f"{clip(summary.kind, 20)} {clip(summary.title, 60)}"
    yield " · ".join([name, *dataset_facts(summary)])
    yield from (f"  {clip(line, 200)}" for line in (summary.url, summary.origin) if line)
    yield from _align([column_line(column) for column in summary.columns[:MAX_COLUMNS]])
    yield from _rest(len(summary.columns), MAX_COLUMNS, "column")
    yield from _previews(summary.previews)
    for tally in summary.tallies:
        yield from _tally(tally)
    yield from _versions(summary.versions)


def _column(page: ColumnPage) -> Iterator[str]:
    name, htype, dtype, shape, _, note = column_line(page.column)
    title = f" of {clip(page.title, 60)}" if page.title else ""
    yield " · ".join([f"Column {name}{title}", *column_facts(page)])
    yield "  " + " · ".join(filter(None, (htype, dtype, shape, note)))
    if page.facts:
        yield "  " + " · ".join(f"{clip(name, 20)} {clip(value, 40)}" for name, value in page.facts)
    yield from _previews(page.previews)
    if page.tally:
        yield from _tally(page.tally)


def _diff(diff: DiffSummary) -> Iterator[str]:
    head = f"Diff {clip(diff.a, 60)} → {clip(diff.b, 60)}"
    yield " · ".join([head, *(fact for _, fact in diff_facts(diff))])
    yield from map(_schema_change, diff.schema[:MAX_COLUMNS])
    yield from _rest(len(diff.schema), MAX_COLUMNS, "schema change")
    cells = [(clip(name, 40), pluralize(number, "cell")) for name, number in diff.columns]
    yield from _align(cells[:MAX_COLUMNS])
    yield from _rest(len(cells), MAX_COLUMNS, "column")
    yield from map(_example, diff.examples[:MAX_ROWS])


def _schema_change(change: SchemaChange) -> str:
    return f"  {SIGNS[change.kind]} column {clip(change.column, 40)}  {clip(change.detail, 80)}"


def _example(example: DiffExample) -> str:
    cells = (
        f"{clip(cell.column, 40)}: {change_text(example.kind, cell.before, cell.after)}"
        for cell in example.cells[:MAX_ROWS]
    )
    return f"  {SIGNS[example.kind]} row {example.row:,}  " + "; ".join(cells)


def change_text(kind: str, before: Content, after: Content) -> str:
    """Format a cell's old and new value, or the only value if the row was added or removed."""
    sides = {"added": (after,), "removed": (before,)}.get(kind, (before, after))
    return " → ".join(map(content_text, sides))


def _previews(rows: Sequence[PreviewRow]) -> Iterator[str]:
    for row in rows[:MAX_ROWS]:
        strings = [cell for cell in row.cells if not isinstance(cell.content, Picture)]
        caption = row.caption if row.caption not in (cell.content for cell in strings) else ""
        cells = [f"{clip(cell.column, 40)}: {content_text(cell.content)}" for cell in strings]
        line = " · ".join(filter(None, (clip(caption, 40), *cells[:MAX_ROWS])))
        yield clip(f"  row {row.row:,}  {line or '(images)'}", 160)


def _tally(tally: Tally) -> Iterator[str]:
    shown = tally.leading(MAX_CLASSES)
    parts = [f"{clip(name, 30)} {number:,}" for name, number in shown]
    rest = more(len(tally.counts), len(shown), tally.noun)
    total = pluralize(len(tally.counts), tally.noun)
    yield f"  {clip(tally.column, 40)}, {total}: " + " · ".join([*parts, *filter(None, (rest,))])


def _versions(versions: Sequence[VersionLine]) -> Iterator[str]:
    yield from _align([version_line(version) for version in versions[:MAX_VERSIONS]])
    yield from _rest(len(versions), MAX_VERSIONS, "version")


def version_line(version: VersionLine) -> tuple[str, str, str, str]:
    """Return the fields of a version's line: id, time, message, names."""
    names = ", ".join(clip(name, 30) for name in version.names[:4])
    return clip(version.id, 24), timestamp(version.when), clip(version.message, 72), names


def _rest(total: int, shown: int, noun: str) -> Iterator[str]:
    if rest := more(total, shown, noun):
        yield f"  {rest}"


def _align(lines: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Align fields in columns, two spaces apart. Fields that all lines leave empty are omitted."""
    fields = [column for column in zip(*lines, strict=True) if any(column)]
    widths = [max(map(len, column)) for column in fields]
    for line in zip(*fields, strict=True):
        yield "  " + "  ".join(f.ljust(w) for f, w in zip(line, widths, strict=True))
