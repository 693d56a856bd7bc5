"""Values in words that tell them apart: every digit, every name, every letter.

A few words (`Htype.preview`) are for a glance; two values that differ may have the same ones.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.htypes import Bytes, ClassLabel, Image, Json, Mask, Polygons, Sequence, Text

if TYPE_CHECKING:
    from deeplake_lite.htypes import Htype

WIDTH = 160
"""Letters of each of two values that are shown beside each other."""

CONTEXT = 16
"""Letters before the first one that differs."""

NUMBERS = 20_000
"""Numbers of an array that are written; of a longer one, the first and the last few."""


def exact(htype: Htype, value: Any) -> str | None:
    """Return a value in words that no other value of its type has; None for null and pictures.

    Numbers have the fewest digits from which their dtype reads the same one.

    Examples
    --------
    >>> from deeplake_lite.htypes import Scalar
    >>> exact(Scalar("float64"), np.float64(1700000123.25))
    '1700000123.25'
    >>> exact(Scalar("float32"), np.float32(0.1))
    '0.1'
    >>> several = ClassLabel(["ant", "bee"], multiple=True)
    >>> exact(several, np.array([1, 0])), exact(Sequence("float64"), [0.1, None])
    ('bee, ant', '0.1, null')
    >>> exact(Sequence("text"), ["a", "b"]), exact(Sequence("text"), ["a, b", "null"])
    ('a, b', '"a, b", "null"')
    """
    if value is None:
        return None
    match htype:
        case Image() | Mask():
            return None
        case Sequence(of=Image() | Mask()):
            return None
        case Sequence(of=of):
            return ", ".join(item_text(of, v) for v in value)
        case Json():
            return json.dumps(value, ensure_ascii=False)
        case Bytes():
            return f"{len(value):,} bytes: {value[:NUMBERS].hex(' ')}{_rest(value)}"
        case Polygons():
            return "[" + ", ".join(map(numbers, value)) + "]"
        case ClassLabel():
            names = htype.to_names(value)
            return names if isinstance(names, str) else ", ".join(map(_quoted, names))
    return numbers(value) if isinstance(value, np.ndarray) and value.ndim else str(value)


def item_text(htype: Htype, value: Any) -> str:
    """Return an item of a list in words; lists of lists keep their brackets."""
    said = exact(htype, value)
    if said is None:
        return "null"
    match htype:
        case Sequence() | ClassLabel(multiple=True):
            return f"[{said}]"
        case Text() | ClassLabel():
            return _quoted(said)
    return said


def _quoted(text: str) -> str:
    """Return a text of a list, in quotes where it would be read as something else."""
    is_plain = text not in ("", "null") and not {*text} & {*',"\n'}
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def numbers(array: np.ndarray[Any, Any]) -> str:
    """Return an array with all digits of its numbers, a line for each row.

    Of a long one the first and the last few are written, and what tells the rest apart.

    >>> print(numbers(np.array([[1700000123.25, -0.0], [0.1, 2]])))
    [[1700000123.25, -0.0],
     [0.1, 2.0]]
    >>> numbers(np.zeros((0, 2)))
    '[] of shape (0, 2)'
    """
    if not array.size:
        return "[]" if array.ndim == 1 else f"[] of shape {array.shape}"
    text = np.array2string(array, threshold=NUMBERS, separator=", ", formatter=_FORMATS)
    return text + (_rest(array.tobytes()) if array.size > NUMBERS else "")


_FORMATS: Any = {"float_kind": str, "complex_kind": str}


def _rest(data: bytes) -> str:
    """Return what tells long values apart that are not written out."""
    return f" … {blake2b(data, digest_size=8).hexdigest()}" if len(data) > NUMBERS else ""


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
