"""Curves and confusion matrices as SVG, in the colours of the page.

Axes and text use the page's text colour, and curves, bars and cells use its accent colour, so that
drawings are legible on light and dark pages. Each drawing has a title and a description for screen
readers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.repr.html.tags import Html, escaped, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SIDE = 150
"""Width and height of a diagram without labels."""

CELL = 22
"""Width and height of a cell of a matrix."""

_LEFT, _TOP, _BELOW = 34, 8, 34
_NAMES = 92  # width and height reserved for the names of classes


def drawing(title: str, description: str, width: float, height: float, *parts: Html) -> Html:
    """Return an SVG drawing with a title and a description."""
    sizes: dict[str, Any] = {
        "viewBox": f"0 0 {width:g} {height:g}", "width": f"{width:g}", "height": f"{height:g}",
        "role": "img", "aria-label": f"{title}. {description}",
        "style": "max-width:100%;overflow:visible;font-size:10px",
    }  # fmt: skip
    head = tag("title", escaped(title, 200)), tag("desc", escaped(description, 600))
    return tag("svg", *head, *parts, **sizes)


def curve(
    title: str, labels: tuple[str, str], x: NDArray[np.float64], y: NDArray[np.float64]
) -> Html:
    """Draw a line in the unit square. NaN points are left out.

    >>> html = curve("PR", ("recall", "precision"), np.array([0.0, 1]), np.array([1.0, 0.5]))
    >>> "<polyline" in html, 'role="img"' in html
    (True, True)
    """
    defined = ~(np.isnan(x) | np.isnan(y))
    points = " ".join(f"{_x(a)},{_y(b)}" for a, b in zip(x[defined], y[defined], strict=True))
    line: dict[str, Any] = {"stroke": "var(--dl-accent)", "fill": "none", "stroke-width": 2}
    description = ", ".join(
        f"{labels[1]} {y[i]:.2f} at {labels[0]} {x[i]:.2f}"
        for i in np.flatnonzero(defined)[:: max(1, int(defined.sum()) // 5)]
    )
    parts = (*_axes(labels), tag("polyline", points=points, **line))
    return drawing(title, description, _LEFT + SIDE + 8, _TOP + SIDE + _BELOW, *parts)


def bars(
    title: str, labels: tuple[str, str], edges: NDArray[np.float64], y: NDArray[np.float64]
) -> Html:
    """Draw bars in the unit square, and the diagonal, which stands for perfect calibration."""
    parts, low = list(_axes(labels)), 0.0
    for high, value in zip(edges.tolist(), y.tolist(), strict=True):
        if value == value:  # false for NaN
            box: dict[str, Any] = {
                "x": _x(low), "y": _y(value), "width": f"{(high - low) * SIDE - 1:.1f}",
                "height": f"{value * SIDE:.1f}", "fill": "var(--dl-accent)", "fill-opacity": 0.7,
            }  # fmt: skip
            parts.append(tag("rect", tag("title", Html(f"≤ {high:.2f}: {value:.3f}")), **box))
        low = high
    parts.append(_line(0, 0, 1, 1, dashed=True))
    description = ", ".join(
        f"{v:.2f} up to {e:.2f}" for e, v in zip(edges, y, strict=True) if v == v
    )
    return drawing(title, description, _LEFT + SIDE + 8, _TOP + SIDE + _BELOW, *parts)


def matrix(title: str, names: Sequence[str], counts: NDArray[np.float64]) -> Html:
    """Draw a confusion matrix of true classes (rows) by predicted classes (columns).

    The shade of a cell is the cell's share of its row.
    """
    n, parts = len(names), []
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    for i, j in np.argwhere(counts > 0).tolist():
        parts.append(_cell(i, j, counts[i, j], shares[i, j], f"{names[i]} → {names[j]}"))
    for k, name in enumerate(names):
        at = _NAMES + (k + 0.5) * CELL
        row: dict[str, Any] = {
            "x": _NAMES - 4, "y": f"{at + 3:g}", "text-anchor": "end", "fill": "currentColor",
        }  # fmt: skip
        column: dict[str, Any] = {
            "transform": f"translate({at + 3:g} {_NAMES - 4}) rotate(-60)", "fill": "currentColor",
        }  # fmt: skip
        parts += [tag("text", escaped(name, 16), **row), tag("text", escaped(name, 16), **column)]
    frame: dict[str, Any] = {
        "x": _NAMES, "y": _NAMES, "width": n * CELL, "height": n * CELL, "fill": "none",
        "stroke": "currentColor", "stroke-opacity": 0.3,
    }  # fmt: skip
    parts.append(tag("rect", **frame))
    side = _NAMES + n * CELL
    description = "Rows are true classes, and columns are predicted classes."
    return drawing(title, description, side + 40, side + 4, *parts)


def _cell(i: int, j: int, count: float, share: float, words: str) -> Html:
    x, y = _NAMES + j * CELL, _NAMES + i * CELL
    box: dict[str, Any] = {
        "x": x, "y": y, "width": CELL, "height": CELL, "fill": "var(--dl-accent)",
        "fill-opacity": f"{0.08 + 0.72 * share:.2f}",
    }  # fmt: skip
    parts = [tag("title", escaped(f"{words}: {count:,.0f}", 120)), tag("rect", **box)]
    if count < 10_000:
        text: dict[str, Any] = {
            "x": x + CELL / 2, "y": y + CELL / 2 + 3, "text-anchor": "middle", "font-size": 8,
            "fill": "currentColor",
        }  # fmt: skip
        parts.append(tag("text", Html(f"{count:.0f}"), **text))
    return tag("g", *parts)


def _x(value: float) -> str:
    return f"{_LEFT + value * SIDE:.1f}"


def _y(value: float) -> str:
    return f"{_TOP + (1 - value) * SIDE:.1f}"


def _line(x1: float, y1: float, x2: float, y2: float, *, dashed: bool = False) -> Html:
    look: dict[str, Any] = {
        "x1": _x(x1), "y1": _y(y1), "x2": _x(x2), "y2": _y(y2), "stroke": "currentColor",
        "stroke-opacity": 0.5, "stroke-dasharray": "4 3" if dashed else None,
    }  # fmt: skip
    return tag("line", **look)


def _axes(labels: tuple[str, str]) -> tuple[Html, ...]:
    """Draw the axes of the unit square, with the numbers 0, 0.5 and 1."""
    parts = [_line(0, 0, 1, 0), _line(0, 0, 0, 1)]
    for value in (0, 0.5, 1):
        below: dict[str, Any] = {
            "x": _x(value), "y": _TOP + SIDE + 13, "text-anchor": "middle", "fill": "currentColor",
        }  # fmt: skip
        beside: dict[str, Any] = {
            "x": _LEFT - 5, "y": f"{_TOP + (1 - value) * SIDE + 3:g}", "text-anchor": "end",
            "fill": "currentColor",
        }  # fmt: skip
        text = Html(f"{value:g}")
        parts += [tag("text", text, **below), tag("text", text, **beside)]
    name: dict[str, Any] = {
        "x": _x(0.5), "y": _TOP + SIDE + 28, "text-anchor": "middle", "fill": "currentColor",
    }  # fmt: skip
    side: dict[str, Any] = {
        "transform": f"translate(9 {_TOP + SIDE / 2:g}) rotate(-90)", "text-anchor": "middle",
        "fill": "currentColor",
    }  # fmt: skip
    parts += [tag("text", escaped(labels[0]), **name), tag("text", escaped(labels[1]), **side)]
    return tuple(parts)
