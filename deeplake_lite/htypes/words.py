"""Formatting of values as text in full detail, so that different values have different text.

In contrast, previews (`Htype.preview`) are short, so two different values may look the same.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes.base import Htype

NUMBERS = 20_000
"""Maximum number of elements of an array that is written in full. Longer arrays are shortened."""


def in_words(value: object) -> str:
    """Format an array with all digits of its numbers, and any other value with `str`.

    Numbers are written with the fewest digits that identify them in their dtype.

    >>> in_words(np.float32(0.1)), in_words(np.float64(1700000123.25))
    ('0.1', '1700000123.25')
    """
    return numbers(value) if isinstance(value, np.ndarray) and value.ndim else str(value)


def numbers(array: NDArray[Any]) -> str:
    """Format an array with all digits of its numbers, one line per row.

    A long array is shortened to its first and last few numbers, followed by a digest of its bytes.

    >>> print(numbers(np.array([[1700000123.25, -0.0], [0.1, 2]])))
    [[1700000123.25, -0.0],
     [0.1, 2.0]]
    >>> numbers(np.zeros((0, 2)))
    '[] of shape (0, 2)'
    """
    if not array.size:
        return "[]" if array.ndim == 1 else f"[] of shape {array.shape}"
    text = np.array2string(array, threshold=NUMBERS, separator=", ", formatter=_FORMATS)
    return text + (digest_of(array.tobytes()) if array.size > NUMBERS else "")


_FORMATS: Any = {"float_kind": str, "complex_kind": str}


def digest_of(data: bytes) -> str:
    """Return a digest of data that is too long to be shown in full, or "" for short data."""
    return f" … {blake2b(data, digest_size=8).hexdigest()}" if len(data) > NUMBERS else ""


def quote_if_needed(text: str) -> str:
    """Format a string as an item of a list, in quotes if it could be mistaken for other items.

    >>> quote_if_needed("a"), quote_if_needed("a, b"), quote_if_needed("null")
    ('a', '"a, b"', '"null"')
    """
    is_plain = text not in ("", "null") and not {*text} & {*',"\n'}
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def item_in_words(of: Htype, item: object) -> str:
    """Format an item of a list. None becomes "null", and nested lists keep their brackets.

    >>> from deeplake_lite.htypes import Sequence, Text
    >>> item_in_words(Text(), "a, b"), item_in_words(Sequence("int8"), [1, 2])
    ('"a, b"', '[1, 2]')
    """
    words = None if item is None else of.to_words(item)
    if words is None:
        return "null"
    match of.browser.kind:
        case "sequence" | "tags":
            return f"[{words}]"
        case "text" | "class":
            return quote_if_needed(words)
    return words


def pluralize(number: int, noun: str) -> str:
    """Format a number followed by its noun, in the singular or plural.

    >>> pluralize(1, "class"), pluralize(1000, "class"), pluralize(2, "box")
    ('1 class', '1,000 classes', '2 boxes')
    """
    return f"{number:,} {inflect(number, noun)}"


def inflect(number: int, noun: str) -> str:
    """Return a noun in the singular or plural."""
    return noun if number == 1 else noun + ("es" if noun.endswith(("s", "x")) else "s")
