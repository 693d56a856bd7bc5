"""Formatting of sizes, shapes, times, bars and strings for display."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from deeplake_lite.htypes.words import inflect

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from deeplake_lite.dataset.repr.html.values import Axis

_SIGNS = {"\n": "↵", "\r": "↵", "\t": "⇥"}
_UNITS = ("B", "KB", "MB", "GB", "TB")


def visible(text: object) -> str:
    r"""Make every character of a string visible. Control characters and bidi marks are escaped.

    >>> visible("a\tb\x00\u202ec\n")
    'a⇥b\\x00\\u202ec↵'
    """
    text = str(text).replace("\r\n", "\n")
    return text if text.isprintable() else "".join(map(_visible, text))


def is_hidden(char: str) -> bool:
    r"""Return whether a character is invisible or, like bidi marks, reorders the text around it.

    >>> is_hidden("\u202e"), is_hidden("\n"), is_hidden("\xa0"), is_hidden("é")
    (True, True, False, False)
    """
    return not char.isprintable() and unicodedata.category(char) != "Zs"


def _visible(char: str) -> str:
    if char.isprintable():
        return char
    if not is_hidden(char):  # a Unicode space, such as U+00A0
        return " "
    return _SIGNS.get(char) or char.encode("unicode_escape").decode("ascii")


def clip(text: object, most: int) -> str:
    """Return a string with every character visible, shortened to at most `most` characters.

    >>> clip("the quick brown fox", 10)
    'the quick…'
    """
    text = visible(str(text)[: most + 1])
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def size(nbytes: int | None) -> str:
    """Format a number of bytes. Returns an empty string for None.

    >>> size(812), size(3_400_000), size(43_210), size(999_999), size(None)
    ('812 B', '3.4 MB', '43 KB', '1.0 MB', '')
    """
    if nbytes is None:
        return ""
    if abs(nbytes) < 1000:
        return f"{nbytes} B"
    power = next((p for p in (1, 2, 3) if abs(nbytes) < 999.5 * 1000**p), 4)
    value = nbytes / 1000**power
    digits = 1 if abs(value) < 9.95 else 0
    return f"{value:,.{digits}f} {_UNITS[power]}"


def shape(axes: Iterable[Axis]) -> str:
    """Format the shape of values, with ranges for axes that vary and "?" for unknown sizes.

    >>> shape((8, 8)), shape(((180, 250), None, 3)), shape(())
    ('8 × 8', '180–250 × ? × 3', '')
    """
    return " × ".join(map(_axis, axes))


def _axis(axis: Axis) -> str:
    if isinstance(axis, tuple):
        return f"{axis[0]:,}–{axis[1]:,}" if axis[0] != axis[1] else f"{axis[0]:,}"
    return "?" if axis is None else f"{axis:,}"


def timestamp(when: datetime) -> str:
    """Format a time to the minute, with its time zone.

    >>> from datetime import datetime, UTC
    >>> timestamp(datetime(2026, 10, 3, 14, 5, 9, tzinfo=UTC))
    '2026-10-03 14:05 UTC'
    """
    return f"{when:%Y-%m-%d %H:%M %Z}".rstrip()


def share(number: int, largest: int) -> float:
    """Return the length of a number's bar, as a fraction of the largest number's bar."""
    return min(max(number / largest, 0.0), 1.0) if largest > 0 else 0.0


def bar(part: float, width: int = 20) -> str:
    """Draw a bar of characters, with at least one character for any length above 0.

    >>> bar(0.5, 8), bar(0.001), bar(0)
    ('▇▇▇▇', '▇', '')
    """
    return "▇" * max(round(part * width), int(part > 0))


def fit_widths(widths: Sequence[int], room: int) -> list[int]:
    """Divide a line among fields. Short fields get their full width, long fields equal shares.

    >>> fit_widths([5, 100, 8, 60], 93)
    [5, 40, 8, 40]
    """
    fitted = [0] * len(widths)
    shortest_first = sorted(range(len(widths)), key=widths.__getitem__)
    for done, i in enumerate(shortest_first):
        equal = (room - sum(fitted)) // (len(widths) - done)
        fitted[i] = min(widths[i], max(equal, 8))
    return fitted


def more(total: int, shown: int, noun: str) -> str:
    """Return a string that says how many entries are hidden, or "" if none are hidden.

    >>> more(43, 12, "column"), more(3, 12, "column")
    ('… 31 more columns', '')
    """
    hidden = total - shown
    return f"… {hidden:,} more {inflect(hidden, noun)}" if hidden > 0 else ""
