"""The text and HTML of evaluations and comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.repr.html.style import SHEET
from deeplake_lite.dataset.repr.html.tags import Html, escaped, join, page, section, tag, user
from deeplake_lite.dataset.repr.html.words import clip, more
from deeplake_lite.evaluate import drawing
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deeplake_lite.evaluate.findings import Findings

MAX_CLASSES = 12
"""Maximum number of classes in a table or matrix."""

MAX_CONFUSIONS = 6
"""Maximum number of listed confusions."""


@dataclass(frozen=True)
class Table:
    """A table. The first cell of each row is its name."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    remark: str = ""
    """A remark about rows that are not shown."""


@dataclass(frozen=True, eq=False)
class Page:
    """The contents of a page about an evaluation or a comparison."""

    kind: str
    """The kind, such as ``"detection"`` or ``"comparison of detection"``."""
    title: str
    """The names of the two columns, or of the two evaluations."""
    about: tuple[str, ...]
    """Short texts, such as the version, the number of rows and the options."""
    summary: Table
    """Metrics for all rows and classes."""
    classes: Table
    """Metrics for each class."""
    confusions: Table
    """The pairs of a true and a predicted class that were most often confused."""
    drawings: tuple[Html, ...] = ()
    """Drawings of curves and of the confusion matrix."""
    notes: tuple[str, ...] = ()
    """Sentences at the end of the page."""


def page_of(
    kind: str,
    name: str,
    title: str,
    version: str,
    findings: Findings,
    options: Mapping[str, Any],
) -> Page:
    """Return the contents of the page of an evaluation."""
    counts = findings.counts
    about = [name] if name else []
    about += [f"version {version}", pluralize(counts["rows"], "row")]
    about += [f"{counts[key]:,} {key}" for key in ("unlabelled", "unpredicted") if counts.get(key)]
    about += [f"{key} ≥ {options[key]:g}" for key in ("iou", "score") if key in options]
    summary = tuple((key, number(value)) for key, value in findings.summary.items())
    return Page(
        kind,
        title,
        tuple(about),
        Table(("metric", "value"), summary),
        _classes(findings),
        _confusions(findings),
        _drawings(findings),
        findings.notes,
    )


def number(value: float) -> str:
    """Format a metric.

    >>> number(0.51234), number(float("nan")), number(1234.0)
    ('0.512', '–', '1,234')
    """
    if np.isnan(value):
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) > 1 else f"{value:.3f}"


def count(value: float) -> str:
    """Format a count."""
    return "–" if np.isnan(value) else f"{value:,.0f}"


_COUNTS = frozenset({"tp", "fp", "fn", "objects", "truth", "predicted", "correct", "pixels"})


def _classes(findings: Findings) -> Table:
    """Return a table of the metrics of each class, sorted by the main metric, lowest first."""
    main = findings.by_class.get(findings.main)
    order: Any = (
        np.argsort(np.nan_to_num(main, nan=np.inf), kind="stable") if main is not None else []
    )
    keys = list(findings.by_class)
    rows = tuple(
        (
            findings.classes[i],
            *((count if key in _COUNTS else number)(findings.by_class[key][i]) for key in keys),
        )
        for i in list(order)[:MAX_CLASSES]
    )
    return Table(("class", *keys), rows, more(len(findings.classes), len(rows), "class"))


def _confusions(findings: Findings) -> Table:
    matrix = findings.confusion.copy()
    np.fill_diagonal(matrix, 0)
    names = [*findings.classes, *([findings.outside] if findings.outside else [])]
    order = np.argsort(-matrix, axis=None, kind="stable")[:MAX_CONFUSIONS]
    pairs = [divmod(int(at), len(names)) for at in order] if names else []
    rows = tuple((names[i], names[j], count(matrix[i, j])) for i, j in pairs if matrix[i, j])
    return Table(("truth", "predicted", "number"), rows)


def _drawings(findings: Findings) -> tuple[Html, ...]:
    curves, parts = findings.curves, []
    if "recall" in curves:
        labels = ("recall", "precision")
        parts.append(
            drawing.curve(
                "Precision and recall, mean over classes",
                labels,
                curves["recall"],
                curves["precision"],
            )
        )
    if "accuracy" in curves:
        labels = ("confidence", "accuracy")
        parts.append(drawing.bars("Calibration", labels, curves["bin"], curves["accuracy"]))
    if findings.classes:
        parts.append(_matrix(findings))
    return tuple(parts)


def _matrix(findings: Findings) -> Html:
    """Draw the confusion matrix of the classes with the most errors."""
    n = len(findings.classes)
    errors = findings.confusion.copy()
    np.fill_diagonal(errors, 0)
    order = np.argsort(-(errors.sum(axis=0) + errors.sum(axis=1))[:n], kind="stable")
    chosen = np.sort(order[:MAX_CLASSES])
    names = [findings.classes[i] for i in chosen]
    if findings.outside:
        chosen, names = np.append(chosen, n), [*names, findings.outside]
    title = "Confusion matrix"
    if n > MAX_CLASSES:
        title += f" of the {MAX_CLASSES} classes with the most errors"
    return drawing.matrix(title, names, findings.confusion[np.ix_(chosen, chosen)])


# ---- text


def text(contents: Page) -> str:
    """Return the page as text."""
    lines = [f"{contents.kind}: {contents.title}", "  " + " · ".join(contents.about)]
    lines += _text_rows(contents.summary.rows)
    if contents.classes.rows:
        lines += ["", *_text_rows((contents.classes.head, *contents.classes.rows))]
        lines += [f"  {contents.classes.remark}"] if contents.classes.remark else []
    lines += [f"  {note}" for note in contents.notes]
    return "\n".join(lines)


def _text_rows(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return lines with the first column aligned to the left, and other columns to the right."""
    if not rows:
        return []
    clipped = [(clip(row[0], 30), *row[1:]) for row in rows]
    widths = [max(len(row[k]) for row in clipped) for k in range(len(clipped[0]))]
    return [
        "  "
        + "  ".join(
            [
                row[0].ljust(widths[0]),
                *(v.rjust(w) for v, w in zip(row[1:], widths[1:], strict=True)),
            ]
        ).rstrip()
        for row in clipped
    ]


# ---- HTML


def html(contents: Page) -> str:
    """Return the page as HTML."""
    return page(contents, _draw, text)


def _draw(contents: Page) -> Html:
    head = join(
        [tag("small", escaped(contents.kind, 30)), user(contents.title, 300, name="b")], " "
    )
    drawings = join(
        tag("div", part, style="display:inline-block;margin:4px 24px 4px 0;vertical-align:top")
        for part in contents.drawings
    )
    return tag(
        "div",
        tag("style", Html(SHEET)),
        tag("div", head, look="head"),
        tag("div", escaped(" · ".join(contents.about), 400), look="quiet"),
        _draw_summary(contents.summary),
        drawings,
        section("Classes", contents.classes.remark, _table(contents.classes)),
        section("Most frequent confusions", "", _table(contents.confusions), shut=True),
        *(tag("div", escaped(note, 400), look="quiet") for note in contents.notes),
        look="repr",
    )


def _draw_summary(table: Table) -> Html:
    """Draw the summary of an evaluation in a few wide rows, or of a comparison as a table."""
    if len(table.head) > 2:
        return _table(table)
    heads = [
        tag("th", escaped(row[0], 40), scope="col", align="right", look="n") for row in table.rows
    ]
    cells = [tag("td", escaped(row[1], 40), align="right", look="n") for row in table.rows]
    step = 6
    parts = []
    for begin in range(0, len(heads), step):
        rows = tag("tr", *heads[begin : begin + step]), tag("tr", *cells[begin : begin + step])
        parts.append(tag("table", tag("thead", rows[0]), tag("tbody", rows[1])))
    return join(parts)


def _table(table: Table) -> Html:
    if not table.rows:
        return Html("")
    head = [
        tag("th", escaped(name, 40), scope="col", **_side(k, table))
        for k, name in enumerate(table.head)
    ]
    rows = [
        tag(
            "tr",
            tag("th", user(row[0], 40), scope="row", align="left"),
            *(
                tag("td", escaped(value, 40), **_side(k + 1, table))
                for k, value in enumerate(row[1:])
            ),
        )
        for row in table.rows
    ]
    return tag("table", tag("thead", tag("tr", *head)), tag("tbody", *rows))


def _side(column: int, table: Table) -> dict[str, Any]:
    """Return the attributes of a cell, which align names to the left and numbers to the right."""
    is_name = column == 0 or (table.head[column] == "predicted" and table.head[0] == "truth")
    return {"align": "left"} if is_name else {"align": "right", "look": "n"}
