"""Conversion of trees of dicts, strings and lists to XML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NAME = re.compile(r"[^\W\d][\w.-]*")
"""Pattern of valid names of elements and attributes."""

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check_text(text: str) -> str:
    """Return a string unchanged. Raises InvalidValueError if XML forbids one of its characters."""
    if match := _FORBIDDEN.search(text):
        raise InvalidValueError(
            f"XML does not allow the character {match[0]!a}, but a name or path contains it: "
            f"{text[:60]!a}. Remove the character."
        )
    return text


def attributes(values: Mapping[str, Any]) -> str:
    r"""Return the attributes of an element as XML text, with a space before each attribute.

    >>> attributes({"label": 'a "cat"', "z_order": 0})
    ' label=\'a "cat"\' z_order="0"'
    """
    entities = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
    return "".join(
        f" {k}={quoteattr(check_text(str(v)), entities)}" for k, v in values.items() if _is_name(k)
    )


def content(text: str) -> str:
    """Escape text as the content of an element.

    >>> content("black & white")
    'black &amp; white'
    """
    return escape(check_text(text), {"\r": "&#13;"})


def lines_of(tag: str, value: Any, depth: int = 0) -> Iterator[str]:
    r"""Yield the lines of an element as XML text.

    Parameters
    ----------
    tag : str
        Name of the element.
    value : str, dict or list
        The element's text; or a dict that maps the names of children to their values, ``@name`` to
        the value of the attribute ``name``, and ``#text`` to the text; or a list of such values,
        for several elements with the same name.
    depth : int
        Nesting depth of the element.

    Examples
    --------
    >>> print(*lines_of("object", {"@id": "1", "part": ["a", "b"]}), sep="\n")
    <object id="1">
      <part>a</part>
      <part>b</part>
    </object>
    """
    indent = "  " * depth
    if not _is_name(tag):
        return
    match value:
        case list():
            for item in value:
                yield from lines_of(tag, item, depth)
        case dict():
            attrs = {k[1:]: v for k, v in value.items() if k.startswith("@")}
            children = {k: v for k, v in value.items() if k[:1] not in ("@", "#")}
            text = content(str(value.get("#text", "")))
            if not children:
                yield f"{indent}<{tag}{attributes(attrs)}>{text}</{tag}>"
                return
            yield f"{indent}<{tag}{attributes(attrs)}>{text}"
            for key, child in children.items():
                yield from lines_of(key, child, depth + 1)
            yield f"{indent}</{tag}>"
        case None | "":
            yield f"{indent}<{tag}></{tag}>"
        case _:
            yield f"{indent}<{tag}>{content(str(value))}</{tag}>"


def _is_name(name: str) -> bool:
    return NAME.fullmatch(name) is not None
