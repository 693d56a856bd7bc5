"""Excerpts of two strings, cut to the part where the strings begin to differ.

The strings are usually from `Htype.to_words`, which distinguishes all different values.
"""

from __future__ import annotations

WIDTH = 160
"""Maximum length of an excerpt, in characters."""

CONTEXT = 16
"""Number of characters that are shown before the first difference."""


def cut_to_difference(before: str, after: str, width: int = WIDTH) -> tuple[str, str]:
    """Cut two strings to the part where they begin to differ. Short strings are not cut.

    >>> cut_to_difference("short", "strings")
    ('short', 'strings')
    >>> cut_to_difference("x" * 90 + "A", "x" * 90 + "B", 20)
    ('…xxxxxxxxxxxxxxxxA', '…xxxxxxxxxxxxxxxxB')
    """
    pairs = enumerate(zip(before, after, strict=False))
    same = next((i for i, (a, b) in pairs if a != b), min(len(before), len(after)))
    start = 0 if max(len(before), len(after)) <= width else max(0, same - CONTEXT)
    return _excerpt(before, start, width), _excerpt(after, start, width)


def _excerpt(text: str, start: int, width: int) -> str:
    dots = "…" if start else ""
    return dots + text[start : start + width] + ("…" if len(text) > start + width else "")
