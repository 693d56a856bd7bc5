"""Cards, which the grid shows instead of images, and short descriptions of values."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.repr.describe import type_of
from deeplake_lite.htypes.show import short_text
from deeplake_lite.htypes.words import item_in_words
from deeplake_lite.widget.images.classes import is_tags
from deeplake_lite.widget.images.kinds import is_drawable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.htypes import Htype
    from deeplake_lite.widget.images.cell import Caption, Card, Cell

TEXT = 600
"""Maximum length of a card, in characters."""

NUMBERS = 64
"""Maximum number of bars on a card that plots a vector."""

CELLS = 8
"""Maximum number of lines on a card that lists columns."""

LONG = 20_000
"""Maximum length of a value in the detail panel, in characters."""


def caption(htype: Htype, value: Any) -> Caption:
    """Return the caption below an image: a short string and, for classes, the class numbers.

    >>> from deeplake_lite.htypes import ClassLabel
    >>> caption(ClassLabel(["rose", "tulip"]), np.int32(1))
    {'t': 'tulip', 'c': 1}
    """
    if isinstance(value, Exception):
        return {"t": "cannot be read", "c": None, "damaged": f"{value!s:.200}"}
    fields: Caption = {"t": words(htype, value), "c": None}
    if htype.classes is not None and value is not None:
        if htype.item is None:
            fields["c"] = int(value)
        else:
            fields["cs"] = [int(number) for number in value]
    return fields


def words(htype: Htype, value: Any) -> str | None:
    r"""Describe a value in a few words, or return None for null.

    >>> from deeplake_lite.htypes import Sequence, Text
    >>> words(Text(), "two\nlines"), words(Sequence("text"), ["a", "b"]), words(Text(), None)
    ('two lines', 'a, b', None)
    """
    if value is None:
        return None
    if isinstance(value, Exception):
        return f"cannot be read: {value!s:.200}"
    if is_tags(htype) and (item := _item_of(htype)) is not None:
        return short_text(", ".join(str(words(item, part)) for part in value))
    if htype.target is not None:
        return short_text(str(value))
    if isinstance(value, np.ndarray) and is_drawable(htype):
        return f"{' × '.join(map(str, value.shape))} {value.dtype}"
    if isinstance(value, np.floating | float):
        return f"{float(value):.6g}"
    preview = htype.preview(value)
    return preview if isinstance(preview, str) else type_of(htype)


def card(htype: Htype, value: Any) -> Card:
    r"""Return the card that is shown instead of an image.

    >>> from deeplake_lite.htypes import Json, Text
    >>> card(Json(), {"a": 1})["text"]
    '{\n  "a": 1\n}'
    >>> card(Text(), None), card(Text(), "hello")
    ({'kind': 'null'}, {'kind': 'text', 'text': 'hello', 'more': 0})
    """
    if value is None:
        return {"kind": "null"}
    if isinstance(value, Exception):
        return damaged_card(value)
    kind = htype.browser.kind
    if kind in ("text", "link"):
        return _cut("text", str(value), TEXT)
    if kind == "json":
        return _cut("json", json.dumps(value, ensure_ascii=False, indent=2), TEXT)
    is_numbers = isinstance(value, np.ndarray) and htype.classes is None
    if is_numbers and value.dtype.kind in "biuf" and value.ndim == 1:
        return {"kind": "numbers", "numbers": bars(value), "text": f"{value.dtype} ({len(value)})"}
    return {"kind": "value", "text": words(htype, value)}


def table_card(values: Mapping[str, tuple[Htype, object]]) -> Card:
    """Return a card that lists columns with their values."""
    lines = [[name, words(htype, value)] for name, (htype, value) in values.items()]
    return {"kind": "table", "rows": lines[:CELLS], "more": max(0, len(lines) - CELLS)}


def update_card(cell: Cell, column: str, htype: Htype, value: object) -> None:
    """Update a row's card with a new value of a column, if the card shows this column.

    >>> from deeplake_lite.htypes import Text
    >>> cell = {"main": None, "card": {"kind": "table", "rows": [["x", "1"], ["y", "2"]]}}
    >>> update_card(cell, "y", Text(), "three")
    >>> cell["card"]["rows"]
    [['x', '1'], ['y', 'three']]
    """
    shown = cell["card"]
    if shown is None:
        return
    if cell["main"] == column:
        cell["card"] = card(htype, value)
    elif shown["kind"] == "table":
        shown["rows"] = [
            [name, words(htype, value) if name == column else text] for name, text in shown["rows"]
        ]


def damaged_card(error: Exception) -> Card:
    """Return a card with the error of a damaged cell. The error names the column and the row."""
    return {"kind": "damaged", "text": f"{error!s:.400}"}


def bars(values: np.ndarray[Any, Any], most: int = NUMBERS) -> list[float | None]:
    """Shorten a vector to `most` numbers by averaging, with None in place of non-finite numbers.

    >>> bars(np.array([1, 3, 5, 7]), 2)
    [2.0, 6.0]
    """
    values = values.astype(np.float64)
    if len(values) > most:
        edges = np.linspace(0, len(values), most + 1).astype(np.int64)
        counts = np.diff(edges)
        values = np.add.reduceat(values, edges[:-1]) / counts
    return [round(v, 6) if np.isfinite(v) else None for v in values.tolist()]


def long_text(htype: Htype, value: Any) -> str | None:
    r"""Format a value in full for the detail panel, with all digits and with class names.

    >>> from deeplake_lite.htypes import ClassLabel, Sequence
    >>> several = ClassLabel(["ant", "bee"], multiple=True)
    >>> long_text(several, np.array([1, 0])), long_text(Sequence("float64"), [0.1234567, 2.0])
    ('bee, ant', '0.1234567\n2.0')
    """
    if value is None or isinstance(value, Exception) or is_drawable(htype):
        return words(htype, value)
    if htype.browser.kind == "json":
        return _shorten(json.dumps(value, ensure_ascii=False, indent=2))
    if (item := _item_of(htype)) is not None:
        if is_drawable(item):
            return _shorten("\n".join(str(words(item, part)) for part in value[:1000]))
        return _shorten("\n".join(item_in_words(item, part) for part in value))
    text = htype.to_words(value)
    return words(htype, value) if text is None else _shorten(text)


def _item_of(htype: Htype) -> Htype | None:
    """Return the type of a list's items, or None for other values and for class numbers."""
    return htype.item if htype.classes is None else None


def _shorten(text: str) -> str:
    """Cut a long string, and append a digest of all of it, so that differences are visible.

    >>> _shorten("a" * 20_001)[-22:]
    'aaa … b989682a3df92a20'
    """
    if len(text) <= LONG:
        return text
    return f"{text[:LONG]} … {blake2b(text.encode(errors='replace'), digest_size=8).hexdigest()}"


def _cut(kind: str, text: str, most: int) -> Card:
    return {"kind": kind, "text": text[:most], "more": max(0, len(text) - most)}
