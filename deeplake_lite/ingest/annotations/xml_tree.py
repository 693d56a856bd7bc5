"""A parser for XML that may be malicious, which refuses entities and deeply nested elements.

The parser uses expat, which reads a file in pieces, so that only one element of a large file is in
memory. ElementTree's own parser does not report entities, which may expand to gigabytes.
"""

from __future__ import annotations

import codecs
import re
from typing import IO, TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 64
"""Maximum nesting depth of elements."""

PIECE = 1 << 16
"""Number of bytes that are parsed at a time."""

_ENCODING = re.compile(rb"""<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")

_NATIVE = ("utf-8", "utf-16", "iso8859-1", "ascii")
"""Names of the encodings that expat supports."""


def parse(data: bytes) -> Element:
    """Parse a document and return its root element.

    Raises
    ------
    ValueError
        If the document is not XML, declares entities, or is nested too deeply.

    Examples
    --------
    >>> parse(b"<a><b>1</b></a>").findtext("b")
    '1'
    """
    parser = _Parser(0)
    data, parser.expat = _to_utf8(data), expat.ParserCreate("utf-8" if _encoding(data) else None)
    parser.connect()
    parser.feed(data, is_last=True)
    return parser.done[0]


def elements(file: IO[bytes]) -> Iterator[Element]:
    """Yield the root element without its children, and then each of its children.

    Raises
    ------
    ValueError
        If the document is not XML, declares entities, or is nested too deeply.
    """
    parser = _Parser(1)
    parser.connect()
    while data := file.read(PIECE):
        parser.feed(data)
        yield from parser.pop_elements()
    parser.feed(b"", is_last=True)
    yield from parser.pop_elements()


def tree_of(element: Element) -> Any:
    """Convert an element to a string or, if it has attributes or children, to a dict.

    >>> tree_of(parse(b"<a id='1'><b>x</b><b/></a>"))
    {'@id': '1', 'b': ['x', '']}
    """
    text = element.text or ""
    if not len(element) and not element.attrib:
        return text
    result: dict[str, Any] = {f"@{key}": value for key, value in element.attrib.items()}
    if text.strip():
        result["#text"] = text
    for child in element:
        value = tree_of(child)
        if child.tag in result:
            known = result[child.tag]
            result[child.tag] = [*known, value] if isinstance(known, list) else [known, value]
        else:
            result[child.tag] = value
    return result


def _encoding(data: bytes) -> str | None:
    """Return the encoding that a document declares if expat does not support it, or else None."""
    declared = _ENCODING.match(data[:200].lstrip())
    if declared is None:
        return None
    try:
        name = codecs.lookup(declared[1].decode()).name
    except LookupError:
        return None
    return None if name in _NATIVE else name


def _to_utf8(data: bytes) -> bytes:
    """Return a document in an encoding that expat supports, converting it to UTF-8 if necessary.

    Raises ValueError if the document is not in the encoding that it declares.
    """
    name = _encoding(data)
    if name is None:
        return data
    try:
        return str(data, name).encode("utf-8")
    except (UnicodeError, LookupError, TypeError) as error:
        raise ValueError(
            f"it declares the encoding {name}, but cannot be decoded: {error}"
        ) from None


class _Parser:
    """An expat parser that builds a tree for each element at the given depth.

    The root has depth 0. Elements with smaller depths are returned without their children.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.done: list[Element] = []
        self.expat = expat.ParserCreate()
        self._level = 0
        self._builder = TreeBuilder()

    def connect(self) -> None:
        """Let expat call the methods of this parser."""
        self.expat.buffer_text = True
        self.expat.StartElementHandler = self._start
        self.expat.EndElementHandler = self._end
        self.expat.CharacterDataHandler = self._text
        self.expat.EntityDeclHandler = self._entity

    def feed(self, data: bytes, *, is_last: bool = False) -> None:
        """Parse more bytes of the document. Raises ValueError if they are not valid XML."""
        try:
            self.expat.Parse(data, is_last)
        except expat.ExpatError as error:
            raise ValueError(f"it is not valid XML: {error}") from None

    def pop_elements(self) -> list[Element]:
        """Return the complete elements and remove them from the parser."""
        done, self.done = self.done, []
        return done

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._level >= MAX_DEPTH:
            raise ValueError(
                f"elements may be nested at most {MAX_DEPTH} deep, but <{tag:.40}> is deeper"
            )
        if self._level < self.depth:
            self.done.append(Element(tag, attributes))
        else:
            self._builder.start(tag, attributes)
        self._level += 1

    def _end(self, tag: str) -> None:
        self._level -= 1
        if self._level >= self.depth:
            self._builder.end(tag)
        if self._level == self.depth:
            self.done.append(self._builder.close())
            self._builder = TreeBuilder()

    def _text(self, text: str) -> None:
        if self._level > self.depth:
            self._builder.data(text)

    def _entity(self, name: str, *_: object) -> None:
        raise ValueError(f"it must not declare entities, but it declares {name[:40]!r}")
