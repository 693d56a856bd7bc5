"""The HTML of statistics in a notebook, with a bar for each stage, in the style of a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deeplake_lite.dataset.repr.html.style import SHEET
from deeplake_lite.dataset.repr.html.tags import Html, escaped, page, tag
from deeplake_lite.dataset.repr.html.words import bar

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Line:
    """A bar of the page, with a caption on each side."""

    name: str
    """Caption on the left."""
    text: str
    """Caption on the right."""
    share: float
    """Length of the bar, 0 to 1."""


@dataclass(frozen=True)
class Bars:
    """The contents of a page."""

    kind: str
    """A word for the contents of the page, such as "Stats"."""
    title: str
    """A line of text next to this word."""
    lines: tuple[Line, ...]
    """The bars."""
    note: str
    """A line of text below the bars."""


def page_of(kind: str, title: str, lines: Sequence[Line], note: str = "") -> str:
    """Return the HTML of a page with bars.

    >>> html = page_of("Stats", "2 s", [Line("a < b", "1.00 s", 0.5)])
    >>> "a &lt; b" in html, "width:50%" in html
    (True, True)
    """
    return page(Bars(kind, title, tuple(lines), note), _draw, _text)


def _draw(bars: Bars) -> Html:
    head = Html(f"{tag('small', escaped(bars.kind, 20))} {tag('b', escaped(bars.title, 400))}")
    rows = map(_draw_row, bars.lines)
    return tag(
        "div",
        tag("style", Html(SHEET)),
        tag("div", head, look="head"),
        tag("table", tag("tbody", *rows), look="bars"),
        tag("div", escaped(bars.note, 400), look="quiet") if bars.note else Html(""),
        look="repr",
    )


def _draw_row(line: Line) -> Html:
    share = min(max(line.share, 0.0), 1.0)
    drawn = tag("span", Html(bar(share)), look="bar", style=f"width:{max(share, 0.01):.0%}")
    return tag(
        "tr",
        tag("th", escaped(line.name), scope="row", align="left"),
        tag("td", drawn if share else Html("")),
        tag("td", escaped(line.text), look="n", align="right"),
    )


def _text(bars: Bars) -> str:
    lines = (f"{line.name}: {line.text}" for line in bars.lines)
    return "\n".join([f"{bars.kind} {bars.title}", *lines, bars.note])
