"""How a page is put together: escaping, elements, thumbnails, the size cap, the way out of failure.

Everything is `Html`, a string that is escaped already; mypy refuses a plain one. Only elements and
attributes that survive the usual sanitisers carry facts; the style sheet adds looks, never content.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import fields, is_dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, NewType

from deeplake_lite.dataset.repr.html.words import clip
from deeplake_lite.htypes.base import Picture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Html = NewType("Html", str)

MOST_BYTES = 60_000
"""Size of a page, UTF-8."""

MOST_THUMBNAILS = 8
"""Pictures on a page."""

SIDE = 76
"""Longer side of a thumbnail, pixels: eight fit into a cell of 700."""

_MIMES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp"})
_TAG_BYTES = 160  # an <img>, less the placeholder that stands there otherwise


def page[S](summary: S, draw: Callable[[S], Html], text: Callable[[S], str]) -> str:
    """Draw a page within `MOST_BYTES`; when that fails, return its text.

    Parameters
    ----------
    summary : object
        Frozen dataclass, with pictures anywhere in it.
    draw : callable
        Turns the summary into HTML.
    text : callable
        Turns it into text; raises nothing.
    """
    try:
        bare = draw(with_pictures(summary, room=0))
        full = draw(with_pictures(summary, room=MOST_BYTES - nbytes(bare)))
        drawn = next(html for html in (full, bare) if nbytes(html) <= MOST_BYTES)
    except Exception:
        drawn = tag(
            "pre", Html(escape(text(summary)[: MOST_BYTES // 8])), style="white-space:pre-wrap"
        )
    return drawn


def nbytes(html: str) -> int:
    """Return the size in UTF-8."""
    return len(html.encode())


def with_pictures[S](summary: S, *, room: int) -> S:
    """Return the summary with the pictures that there is room for.

    The others lose their data, and a placeholder is drawn: those that are too large, those beyond
    the eighth, and those of a kind that browsers do not show.

    >>> small = Picture(b"GIF89a", "image/gif", 8, 8)
    >>> [len(picture.data) for picture in with_pictures((small,) * 9, room=10_000)]
    [6, 6, 6, 6, 6, 6, 6, 6, 0]
    """
    left, kept = room, 0

    def keep(picture: Picture) -> Picture:
        nonlocal left, kept
        cost = 4 * -(-len(picture.data) // 3) + _TAG_BYTES
        if kept == MOST_THUMBNAILS or cost > left or picture.mime not in _MIMES:
            return replace(picture, data=b"")
        left, kept = left - cost, kept + 1
        return picture

    mapped: S = _mapped(summary, keep)
    return mapped


def _mapped(value: Any, change: Callable[[Picture], Picture]) -> Any:
    """Rebuild nested dataclasses and tuples with every picture changed, in order."""
    if isinstance(value, Picture):
        return change(value)
    if isinstance(value, tuple | list):
        return tuple(_mapped(item, change) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: _mapped(getattr(value, f.name), change) for f in fields(value)}
        return replace(value, **parts)
    return value


def escaped(text: object, most: int = 60) -> Html:
    """Escape a string, short and with every character visible.

    >>> escaped('<b onclick="x">')
    '&lt;b onclick=&quot;x&quot;&gt;'
    """
    return Html(escape(clip(text, most)))


def join(parts: Iterable[Html], between: str = "") -> Html:
    """Put parts one after the other, leaving empty ones out."""
    return Html(escape(between).join(filter(None, parts)))


def tag(name: str, *parts: Html, look: str = "", **attributes: object) -> Html:
    """Build an element.

    Parameters
    ----------
    name : str
        Of the element.
    *parts : Html
        Its content.
    look : str, optional
        Classes in the style sheet, without their prefix.
    **attributes : object
        Escaped; those that are None are left out.

    Examples
    --------
    >>> tag("td", escaped("3 < 8"), look="n", title='"')
    '<td class="dl-n" title="&quot;">3 &lt; 8</td>'
    """
    return Html(f"<{name}{_attributes(look, attributes)}>{join(parts)}</{name}>")


def _attributes(look: str, attributes: dict[str, object]) -> str:
    looks = " ".join(f"dl-{name}" for name in look.split())
    named = {"class": looks or None, **attributes}
    return "".join(f' {k}="{escape(str(v))}"' for k, v in named.items() if v is not None)


def user(text: object, most: int = 60, *, name: str = "bdi", **attributes: Any) -> Html:
    """Set a user's string apart, so that right-to-left text leaves its neighbours in place."""
    direction = "auto" if name in ("b", "span", "div") else None
    return tag(name, escaped(text, most), dir=direction, **attributes)


def thumbnail(picture: Picture, alt: str) -> Html:
    """Draw a picture with its longer side at `SIDE` pixels, or a placeholder if it has no data.

    >>> thumbnail(Picture(b"GIF89a", "image/gif", 8, 4), "image, row 3")[:63]
    '<img class="dl-pixels" src="data:image/gif;base64,R0lGODlh" alt'
    """
    if not picture.data:
        return tag("span", escaped(f"[{alt}]", 60), look="gone")
    scale = SIDE / max(picture.width, picture.height, 1)
    named: dict[str, object] = {
        "src": f"data:{picture.mime};base64,{b64encode(picture.data).decode('ascii')}",
        "alt": clip(alt, 120),
        "width": max(round(picture.width * scale), 1),
        "height": max(round(picture.height * scale), 1),
    }
    return Html(f"<img{_attributes('pixels' if scale > 2 else '', named)}>")


def section(title: str, aside: str, *parts: Html, shut: bool = False) -> Html:
    """Draw a part that folds; nothing when it is empty."""
    body = join(parts)
    if not body:
        return body
    note = [Html(" "), tag("small", escaped(aside))] if aside else []
    summary = tag("summary", tag("b", escaped(title)), *note)
    return Html(f"<details{'' if shut else ' open'}>{summary}{body}</details>")
