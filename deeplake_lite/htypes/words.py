"""Formatting of values as text that distinguishes them: every digit, every name, every letter.

A preview (`Htype.preview`) is only an impression: two different values may look the same.
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
"""Maximum length of an array that is written in full; of longer ones, only the ends are written."""


def in_words(value: object) -> str:
    """Format an array with all digits of its numbers, and any other value as Python does.

    Numbers have the fewest digits that identify them in their dtype.

    >>> in_words(np.float32(0.1)), in_words(np.float64(1700000123.25))
    ('0.1', '1700000123.25')
    """
    return numbers(value) if isinstance(value, np.ndarray) and value.ndim else str(value)


def numbers(array: NDArray[Any]) -> str:
    """Return an array with all digits of its numbers, a line for each row.

    Of a long array the first and the last few numbers are written, and a digest of the rest.

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
    """Return a digest that distinguishes long values, which are shortened; empty for short ones."""
    return f" … {blake2b(data, digest_size=8).hexdigest()}" if len(data) > NUMBERS else ""


def quoted(text: str) -> str:
    """Format a string in a list, with quotes if it could be mistaken for something else.

    >>> quoted("a"), quoted("a, b"), quoted("null")
    ('a', '"a, b"', '"null"')
    """
    is_plain = text not in ("", "null") and not {*text} & {*',"\n'}
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def item_in_words(of: Htype, item: object) -> str:
    """Format an item of a list; None becomes "null", and lists of lists keep their brackets.

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
            return quoted(words)
    return words


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "class"), counted(1000, "class"), counted(2, "point")
    ('1 class', '1,000 classes', '2 points')
    """
    return f"{number:,} {plural(number, noun)}"


def plural(number: int, noun: str) -> str:
    """Return a noun in the form that agrees with a number."""
    return noun if number == 1 else noun + ("es" if noun.endswith("s") else "s")
