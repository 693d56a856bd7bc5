"""Building blocks of a page: escaping, elements, thumbnails, size limit and fallback to text.

All parts have the type `Html`, an escaped string, so mypy rejects plain strings as parts. All
information is in elements and attributes that common sanitisers allow. The style sheet only affects
the appearance.
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

MAX_BYTES = 60_000
"""Maximum size of a page in UTF-8, in bytes."""

MAX_THUMBNAILS = 8
"""Maximum number of images on a page."""

SIDE = 76
"""Longer side of a thumbnail, in pixels. A page of 700 pixels fits eight thumbnails in a row."""

_MIMES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp"})
_TAG_BYTES = 160  # bytes of an <img> without its data, minus the bytes of a placeholder


def page[S](summary: S, draw: Callable[[S], Html], text: Callable[[S], str]) -> str:
    """Draw a page of at most `MAX_BYTES`. If that fails, return the text in a ``<pre>`` element.

    Parameters
    ----------
    summary : object
        A frozen dataclass, which may contain images at any depth.
    draw : callable
        Draws the summary as HTML.
    text : callable
        Draws the summary as text. It must not raise.
    """
    try:
        bare = draw(with_pictures(summary, room=0))
        full = draw(with_pictures(summary, room=MAX_BYTES - nbytes(bare)))
        # If even the page without images is too large, `next` raises.
        drawn = next(html for html in (full, bare) if nbytes(html) <= MAX_BYTES)
    except Exception:
        drawn = tag(
            "pre", Html(escape(text(summary)[: MAX_BYTES // 8])), style="white-space:pre-wrap"
        )
    return drawn


def nbytes(html: str) -> int:
    """Return the size of a page in bytes, in UTF-8."""
    return len(html.encode())


def with_pictures[S](summary: S, *, room: int) -> S:
    """Return the summary with only the images that fit into `room` bytes.

    Images that are too large, come after the eighth image, or have a format that browsers do not
    support lose their data, and are drawn as placeholders.

    >>> small = Picture(b"GIF89a", "image/gif", 8, 8)
    >>> [len(picture.data) for picture in with_pictures((small,) * 9, room=10_000)]
    [6, 6, 6, 6, 6, 6, 6, 6, 0]
    """
    left, count = room, 0

    def keep_if_it_fits(picture: Picture) -> Picture:
        nonlocal left, count
        cost = 4 * -(-len(picture.data) // 3) + _TAG_BYTES  # base64 encodes 3 bytes as 4
        if count == MAX_THUMBNAILS or cost > left or picture.mime not in _MIMES:
            return replace(picture, data=b"")
        left, count = left - cost, count + 1
        return picture

    mapped: S = _map_pictures(summary, keep_if_it_fits)
    return mapped


def _map_pictures(value: object, change: Callable[[Picture], Picture]) -> Any:
    """Rebuild nested dataclasses and tuples with `change` applied to each image in turn."""
    if isinstance(value, Picture):
        return change(value)
    if isinstance(value, tuple | list):
        return tuple(_map_pictures(item, change) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: _map_pictures(getattr(value, f.name), change) for f in fields(value)}
        return replace(value, **parts)
    return value


def escaped(text: object, most: int = 60) -> Html:
    """Shorten a string, make all its characters visible, and escape it for HTML.

    >>> escaped('<b onclick="x">')
    '&lt;b onclick=&quot;x&quot;&gt;'
    """
    return Html(escape(clip(text, most)))


def join(parts: Iterable[Html], between: str = "") -> Html:
    """Join the parts that are not empty."""
    return Html(escape(between).join(filter(None, parts)))


def tag(name: str, *parts: Html, look: str = "", **attributes: object) -> Html:
    """Build an element.

    Parameters
    ----------
    name : str
        Name of the element.
    *parts : Html
        Content of the element.
    look : str, optional
        Classes in the style sheet, without their prefix ``dl-``.
    **attributes : object
        Attributes, which are escaped here. Attributes with the value None are left out.

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
    """Build an element whose text, which may be right-to-left, does not reorder the text around it.

    See https://www.w3.org/International/articles/inline-bidi-markup/.
    """
    direction = "auto" if name in ("b", "span", "div") else None
    return tag(name, escaped(text, most), dir=direction, **attributes)


def thumbnail(picture: Picture, alt: str) -> Html:
    """Draw an image with a longer side of `SIDE` pixels, or a placeholder if it has no data.

    >>> thumbnail(Picture(b"GIF89a", "image/gif", 8, 4), "image, row 3")[:63]
    '<img class="dl-pixels" src="data:image/gif;base64,R0lGODlh" alt'
    """
    if not picture.data:
        return tag("span", escaped(f"[{alt}]", 60), look="gone")
    scale = SIDE / max(picture.width, picture.height, 1)
    attributes: dict[str, object] = {
        "src": f"data:{picture.mime};base64,{b64encode(picture.data).decode('ascii')}",
        "alt": clip(alt, 120),
        "width": max(round(picture.width * scale), 1),
        "height": max(round(picture.height * scale), 1),
    }
    return Html(f"<img{_attributes('pixels' if scale > 2 else '', attributes)}>")


def section(title: str, aside: str, *parts: Html, shut: bool = False) -> Html:
    """Draw a section that can be folded. Returns an empty string if there is no content.

    `aside` is a remark after the title. If `shut` is true, the section is folded at first.
    """
    body = join(parts)
    if not body:
        return body
    note = [Html(" "), tag("small", escaped(aside))] if aside else []
    summary = tag("summary", tag("b", escaped(title)), *note)
    return Html(f"<details{'' if shut else ' open'}>{summary}{body}</details>")
