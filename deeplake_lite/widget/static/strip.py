"""The strip: images and captions of the first rows in plain HTML, shown without a kernel.

The strip has no script or style sheet, so it can be read wherever a notebook is shown: in an
untrusted notebook, after a conversion, or on a web site that removes everything except tags.
"""

from __future__ import annotations

from base64 import b64encode
from html import escape
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from deeplake_lite.dataset.repr.html.words import clip, visible
from deeplake_lite.dataset.show import title_of
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.widget.images.cells import GridRows
from deeplake_lite.widget.images.kinds import image_column, role_of
from deeplake_lite.widget.messages import Pack

if TYPE_CHECKING:
    from deeplake_lite.widget.browser_state import BrowserState
    from deeplake_lite.widget.images.cell import Card, Cell
    from deeplake_lite.widget.images.thumbnails import Thumbnails

ROWS = 8
"""Maximum number of rows in the strip that accompanies every browser."""

SIDE = 96
"""Longer side of the strip's images, in pixels."""

MAX_BYTES = 60_000
"""Maximum size of the strip's HTML, in bytes."""

FROZEN, FROZEN_SIDE, FROZEN_BYTES = 60, 2 * SIDE, 3_000_000
"""The same three limits for a frozen browser, which is static HTML."""

_BOX = (
    "display:inline-block;vertical-align:top;margin:2px;padding:4px;max-width:{0}px;"
    "border:1px solid #8884;border-radius:4px;font:11px/1.35 sans-serif;overflow-wrap:anywhere"
)


class StripOptions(TypedDict, total=False):
    """Options of a strip."""

    rows: int
    """Maximum number of rows."""
    side: int
    """Longer side of images in pixels."""
    most_bytes: int
    """Maximum size of the HTML."""


def strip(
    shown: BrowserState,
    thumbnails: Thumbnails,
    *,
    picture: str | None = None,
    rows: int = ROWS,
    side: int = SIDE,
    most_bytes: int = MAX_BYTES,
) -> str:
    """Return the first shown rows as HTML. If an error occurs, return its message as HTML."""
    try:
        return _strip(shown, thumbnails, picture, rows, side, most_bytes)
    except Exception as error:
        return f"<p>{escape(_title(shown))}: {escape(clip(error, 300))}</p>"


def _strip(
    shown: BrowserState,
    thumbnails: Thumbnails,
    picture: str | None,
    rows: int,
    side: int,
    most_bytes: int,
) -> str:
    view, pack = shown.view, Pack()
    if picture not in view.columns:
        picture = image_column(view)
    first = GridRows(view, np.arange(min(rows, len(view))), thumbnails, side=side, picture=picture)
    captions = [f.name for f in view.schema if role_of(f.htype) == "caption"][:3]
    cells = first.cells(captions if picture is not None else (), pack)
    boxes, data, left = [], pack.data, most_bytes
    for cell in cells:
        body = _body(cell, data, side)
        left -= len(body)
        if left < 0:
            break
        boxes.append(f'<span style="{_BOX.format(max(side, 160) + 16)}">{body}</span>')
    rest = len(view) - len(boxes)
    more = f"<p>… {escape(pluralize(rest, 'more row'))}</p>" if rest > 0 else ""
    return f"<div><p><b>{escape(_title(shown))}</b></p><div>{' '.join(boxes)}</div>{more}</div>"


def _title(shown: BrowserState) -> str:
    version = shown.name or shown.base.version
    parts = [title_of(shown.base.url), pluralize(len(shown.view), "row"), version]
    return visible(" · ".join(filter(None, [*parts, clip(shown.text, 200)])))


def _body(cell: Cell, data: bytes, side: int) -> str:
    """Return the image or card of a row with its captions, as HTML."""
    captions = [
        f"{escape(clip(name, 40))}: {escape(clip(caption['t'], 80))}"
        for name, caption in cell["caption"].items()
        if caption["t"]
    ]
    main = _image(cell, data, side) if cell["v"] else _card(cell["card"])
    return "<br>".join(filter(None, [main, *captions]))


def _image(cell: Cell, data: bytes, side: int) -> str:
    image, w, h = cell["v"], cell["w"], cell["h"]
    assert image is not None
    assert w is not None
    assert h is not None
    offset, length, mime = image
    scale = side / max(w, h)
    width, height = (max(1, round(n * scale)) for n in (w, h))
    file = b64encode(data[offset : offset + length]).decode("ascii")
    sharp = ' style="image-rendering:pixelated"' if scale > 1 else ""
    alt = f"row {cell['p']}, {w} × {h} pixels"
    return (
        f'<img src="data:{escape(mime)};base64,{file}" width="{width}" height="{height}" '
        f'alt="{escape(alt)}"{sharp}>'
    )


def _card(card: Card | None) -> str:
    if card is None:
        return ""
    match card["kind"]:
        case "table":
            lines = (f"{escape(clip(n, 40))}: {escape(clip(t, 80))}" for n, t in card["rows"])
            return "<br>".join(lines)
        case "null":
            return "<i>null</i>"
        case _:
            return escape(clip(card.get("text") or "", 300))
