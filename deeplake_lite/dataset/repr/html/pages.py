"""HTML pages of datasets, columns and diffs: at most 60 KB, with at most 8 thumbnails.

A page has no scripts, ids or URLs, and it stays readable if its CSS is removed. The functions never
raise errors.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from deeplake_lite.dataset.repr.html.style import SHEET
from deeplake_lite.dataset.repr.html.tags import (
    MAX_THUMBNAILS,
    Html,
    escaped,
    join,
    page,
    section,
    tag,
    thumbnail,
    user,
)
from deeplake_lite.dataset.repr.html.text import (
    MAX_CLASSES,
    MAX_ROWS,
    MAX_VERSIONS,
    SIGNS,
    column_facts,
    column_line,
    content_text,
    dataset_facts,
    diff_facts,
    text_column,
    text_dataset,
    text_diff,
    version_line,
)
from deeplake_lite.dataset.repr.html.words import bar, clip, fit_widths, more, share
from deeplake_lite.htypes.base import Picture
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from deeplake_lite.dataset.repr.html.values import (
        CellChange,
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

MAX_COLUMNS = 12
_MAX_TALLIES = 4
_COLUMN_FIELDS = ("column", "type", "dtype", "shape", "size", "")
_SIDE_BY_SIDE = 5  # if there are more bars, they are drawn in two columns
_LINE = 84  # maximum width in characters of a table that fits into 700 pixels


def render_dataset(summary: DatasetSummary) -> str:
    """Draw a dataset or view as HTML.

    Examples
    --------
    >>> from deeplake_lite.dataset.repr.html.values import DatasetSummary
    >>> "1,797 rows" in render_dataset(DatasetSummary("digits", 1797))
    True
    """
    return page(summary, _dataset, text_dataset)


def render_column(column: ColumnPage) -> str:
    """Draw a column as HTML.

    Examples
    --------
    >>> from deeplake_lite.dataset.repr.html.values import ColumnPage, ColumnSummary
    >>> "1,797 rows" in render_column(ColumnPage(ColumnSummary("label", "ClassLabel"), 1797))
    True
    """
    return page(column, _column, text_column)


def render_diff(diff: DiffSummary) -> str:
    """Draw a diff as HTML.

    Examples
    --------
    >>> from deeplake_lite.dataset.repr.html.values import DiffSummary
    >>> "no differences" in render_diff(DiffSummary("main", "fix"))
    True
    """
    return page(diff, _diff, text_diff)


def _root(*parts: Html) -> Html:
    return tag("div", tag("style", Html(SHEET)), *parts, look="repr")


def _dataset(summary: DatasetSummary) -> Html:
    return _root(
        _head(summary.kind, summary.title, map(_fact, dataset_facts(summary))),
        _sub(summary.url),
        _sub(summary.origin),
        _columns(summary.columns),
        _previews(summary.previews, summary.rows, len(summary.columns)),
        *map(_tally, summary.tallies[:_MAX_TALLIES]),
        _note(more(len(summary.tallies), _MAX_TALLIES, "class column")),
        _versions(summary.versions),
    )


def _column(column: ColumnPage) -> Html:
    name, htype, dtype, shape, _, note = column_line(column.column)
    kind = " · ".join(filter(None, (htype, dtype, shape, note)))
    facts = [Html(f"{user(name, 20)} <b>{user(value, 40)}</b>") for name, value in column.facts]
    return _root(
        _head("Column", name, map(_fact, column_facts(column)), of=column.title),
        tag("div", escaped(kind, 160), look="quiet"),
        tag("div", join(facts[:MAX_COLUMNS], " · ")) if facts else Html(""),
        _previews(column.previews, column.rows, 1),
        _tally(column.tally) if column.tally else Html(""),
    )


def _diff(diff: DiffSummary) -> Html:
    facts = (tag("span", escaped(_signed(*fact)), look=fact[0]) for fact in diff_facts(diff))
    return _root(
        _head("Diff", f"{clip(diff.a, 60)} → {clip(diff.b, 60)}", facts),
        _schema(diff.schema),
        _cells(diff.columns),
        _examples(diff.examples),
    )


def _signed(kind: str, sentence: str) -> str:
    return f"{SIGNS.get(kind, '')} {sentence}".strip()


def _head(kind: str, name: str, facts: Iterable[Html], *, of: str = "") -> Html:
    """Draw the first line of a page: the kind and name of the object, then facts about it."""
    label = tag("small", escaped(kind, 20))
    owner = Html(f" <small>of</small> {user(of)}") if of else Html("")
    title = Html(f"{label} {user(name, 130, name='b', look='name')}{owner}")
    return tag("div", join([title, *facts], " · "), look="head")


def _fact(fact: str) -> Html:
    return tag("span", escaped(fact, 80), look="dirty" if fact.startswith("●") else "")


def _sub(text: str) -> Html:
    return tag("div", user(text, 200), look="sub") if text else Html("")


def _note(text: str) -> Html:
    return tag("div", escaped(text), look="quiet") if text else Html("")


def _table(head: Sequence[str], rows: Iterable[Html], *, look: str = "wide") -> Html:
    cells = [tag("th", escaped(name), scope="col", align="left") for name in head]
    header = tag("thead", tag("tr", *cells)) if cells else Html("")
    padding = 2 if look == "strip" else 4
    return tag("table", header, tag("tbody", *rows), look=look, cellpadding=padding)


def _columns(columns: Sequence[ColumnSummary]) -> Html:
    if not columns:
        return Html("")
    lines = [column_line(column) for column in columns[:MAX_COLUMNS]]
    used = [any(field) for field in zip(*lines, strict=True)]
    head = compress(_COLUMN_FIELDS, used)
    rows = [tag("tr", *compress(_column_row(*line), used)) for line in lines]
    rest = more(len(columns), MAX_COLUMNS, "column")
    return section("Columns", f"{len(columns):,}", _table([*head], rows), _note(rest))


def _column_row(*line: str) -> Iterator[Html]:
    name, htype, dtype, shape, size, note = line
    yield user(name, name="th", scope="row", align="left")
    yield tag("td", escaped(htype), look="type")
    yield tag("td", escaped(dtype), look="code")
    yield tag("td", escaped(shape), look="code")
    yield tag("td", escaped(size), look="n", align="right")
    yield user(note, name="td", look="wrap")


def _previews(rows: Sequence[PreviewRow], total: int, columns: int) -> Html:
    """Draw the images of rows as a strip, and their strings as a table.

    Parameters
    ----------
    rows : sequence of PreviewRow
        The rows.
    total, columns : int
        Total numbers of rows and columns; the previews may show fewer.
    """
    rows = rows[:MAX_ROWS]
    with_images = [row for row in rows if any(isinstance(c.content, Picture) for c in row.cells)]
    aside = f"{pluralize(len(rows), 'row')} of {total:,}"
    return section("Preview", aside, _strip(with_images), _strings(rows, columns))


def _strip(rows: Sequence[PreviewRow]) -> Html:
    """Draw the images of rows side by side, with a caption for each row."""
    drawn = [(row, _images(row)) for row in rows]
    widest = max((len(images) for _, images in drawn), default=1)
    # A few rows with all their images are better than many rows with placeholders.
    cells = [
        tag("td", *images[:MAX_THUMBNAILS], _caption(row))
        for row, images in drawn[: max(MAX_THUMBNAILS // widest, 1)]
    ]
    return _table((), [tag("tr", *cells)], look="strip") if cells else Html("")


def _images(row: PreviewRow) -> list[Html]:
    caption = f": {clip(row.caption, 60)}" if row.caption else ""
    return [
        thumbnail(cell.content, f"{clip(cell.column, 40)}, row {row.row:,}{caption}")
        for cell in row.cells
        if isinstance(cell.content, Picture)
    ]


def _caption(row: PreviewRow) -> Html:
    caption = row.caption or f"row {row.row:,}"
    return Html(f"<br>{user(caption, 18, name='span', look='caption')}")


def _strings(rows: Sequence[PreviewRow], columns: int) -> Html:
    """Draw a table of the columns that have no images. `columns` is the total number of columns."""
    cells = [cell for row in rows for cell in row.cells]
    with_images = {cell.column for cell in cells if isinstance(cell.content, Picture)}
    names = dict.fromkeys(cell.column for cell in cells if cell.column not in with_images)
    shown = list(names)[:MAX_ROWS]
    if not shown:
        return Html("")
    lines = [{cell.column: cell.content for cell in row.cells} for row in rows]
    widths = [max(len(name), *(_width(line.get(name)) for line in lines)) for name in shown]
    fields = dict(zip(shown, fit_widths(widths, _LINE), strict=True))
    head = ("row", *(clip(name, most) for name, most in fields.items()))
    body = [_string_row(row.row, line, fields) for row, line in zip(rows, lines, strict=True)]
    rest = more(columns - len(with_images), len(shown), "column")
    return join([_table(head, body, look="wide texts"), _note(rest)])


def _width(content: Content) -> int:
    return len(content_text(content, _LINE))


def _string_row(row: int, cells: Mapping[str, Content], fields: Mapping[str, int]) -> Html:
    strings = [_string_cell(cells.get(name), most) for name, most in fields.items()]
    return tag("tr", tag("td", escaped(f"{row:,}"), look="quiet"), *strings)


def _string_cell(content: Content, most: int) -> Html:
    if content is None:
        return tag("td", tag("i", Html("null")), look="quiet")
    return user(content_text(content, most), most, name="td")


def _tally(tally: Tally) -> Html:
    shown = tally.leading(MAX_CLASSES)
    largest = max((number for _, number in shown), default=0)
    rows = [_bar_row(name, number, largest) for name, number in shown]
    rest = more(len(tally.counts), len(shown), tally.noun)
    in_two = len(rows) > _SIDE_BY_SIDE and tally.noun == "class"
    table = _table((), rows, look="bars two" if in_two else "bars") if rows else Html("")
    return section(
        clip(tally.column, 40), pluralize(len(tally.counts), tally.noun), table, _note(rest)
    )


def _bar_row(name: str, number: int, largest: int) -> Html:
    length = share(number, largest)
    # The bar is also drawn with characters, so that it is visible without CSS. The style sheet
    # hides the characters.
    drawn = tag("span", Html(bar(length)), look="bar", style=f"width:{max(length, 0.01):.0%}")
    number_cell = tag("td", escaped(f"{number:,}"), look="n", align="right")
    name_cell = user(name, 30, name="th", scope="row", align="left")
    return tag("tr", name_cell, tag("td", drawn if number else Html("")), number_cell)


def _versions(versions: Sequence[VersionLine]) -> Html:
    rest = more(len(versions), MAX_VERSIONS, "version")
    rows = [_version_row(version) for version in versions[:MAX_VERSIONS]]
    table = _table((), rows) if rows else Html("")
    return section("Versions", f"{len(versions):,}", table, _note(rest), shut=True)


def _version_row(version: VersionLine) -> Html:
    commit, when, message, names = version_line(version)
    refs = Html(f" <b>{user(names, 124)}</b>") if names else Html("")
    return tag(
        "tr",
        user(commit, name="td", look="code"),
        tag("td", user(message, 72), refs, look="wrap"),
        tag("td", escaped(when), look="quiet"),
    )


def _schema(changes: Sequence[SchemaChange]) -> Html:
    rows = [
        tag(
            "tr",
            tag("td", escaped(f"{SIGNS[c.kind]} {c.kind}"), look=c.kind),
            user(c.column, 40, name="th", scope="row", align="left"),
            user(c.detail, 80, name="td", look="wrap"),
        )
        for c in changes[:MAX_COLUMNS]
    ]
    rest = _note(more(len(changes), MAX_COLUMNS, "change"))
    table = _table((), rows) if rows else Html("")
    return section("Schema", pluralize(len(changes), "change"), table, rest)


def _cells(columns: Sequence[tuple[str, int]]) -> Html:
    largest = max((number for _, number in columns), default=0)
    rows = [_bar_row(name, number, largest) for name, number in columns[:MAX_COLUMNS]]
    table = _table((), rows, look="bars") if rows else Html("")
    rest = _note(more(len(columns), MAX_COLUMNS, "column"))
    return section("Changed cells", pluralize(len(columns), "column"), table, rest)


def _examples(examples: Sequence[DiffExample]) -> Html:
    rows = [_example(example) for example in examples[:MAX_ROWS]]
    table = _table((), rows, look="wide examples") if rows else Html("")
    return section("Examples", pluralize(len(rows), "row"), table)


def _example(example: DiffExample) -> Html:
    picture = example.picture
    alt = f"row {example.row:,}"
    cells = [tag("div", _change(example, cell)) for cell in example.cells[:MAX_ROWS]]
    return tag(
        "tr",
        tag("td", escaped(f"{SIGNS[example.kind]} row {example.row:,}"), look=example.kind),
        tag("td", thumbnail(picture, alt) if picture else Html("")),
        tag("td", *cells, look="wrap"),
    )


def _change(example: DiffExample, cell: CellChange) -> Html:
    """Draw a cell's old and new value, or the only value if the row was added or removed."""
    alt = f"{clip(cell.column, 40)}, row {example.row:,}"
    before = tag("span", _content(cell.before, alt), look="removed")
    after = tag("span", _content(cell.after, alt), look="added")
    sides = {"added": [after], "removed": [before]}.get(example.kind, [before, after])
    return Html(f"{user(cell.column, 40)}: {join(sides, ' → ')}")


def _content(content: Content, alt: str) -> Html:
    if isinstance(content, Picture):
        return thumbnail(content, alt)
    return user(content_text(content)) if content is not None else tag("i", Html("null"))
