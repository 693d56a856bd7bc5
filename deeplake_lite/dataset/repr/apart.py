"""Two values in words, cut to the part where they begin to differ.

A type writes its values so that they can be told apart, see `Htype.to_words`.
"""

from __future__ import annotations

WIDTH = 160
"""Letters of each of two values that are shown beside each other."""

CONTEXT = 16
"""Letters before the first one that differs."""


def apart(before: str, after: str, width: int = WIDTH) -> tuple[str, str]:
    """Cut two texts to the part where they begin to differ.

    >>> apart("short", "texts"), apart("x" * 90 + "A", "x" * 90 + "B", 20)
    (('short', 'texts'), ('…xxxxxxxxxxxxxxxxA', '…xxxxxxxxxxxxxxxxB'))
    """
    pairs = enumerate(zip(before, after, strict=False))
    same = next((i for i, (a, b) in pairs if a != b), min(len(before), len(after)))
    start = 0 if max(len(before), len(after)) <= width else max(0, same - CONTEXT)
    return _part(before, start, width), _part(after, start, width)


def _part(text: str, start: int, width: int) -> str:
    dots = "…" if start else ""
    return dots + text[start : start + width] + ("…" if len(text) > start + width else "")
