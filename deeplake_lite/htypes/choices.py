"""Options that are one of a few words: codecs, formats, units, dtypes.

What people write is taken generously, in any case and by a common other name; what is kept is the
one word. Anything else is refused with the words that there are, and the nearest.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ALIASES = {"jpg": "jpeg", "jpe": "jpeg", "tif": "tiff", "zst": "zstd"}
"""Other names of codecs: the ends of their files' names."""


def choice(
    what: str,
    given: Any,
    known: Sequence[str],
    aliases: Mapping[str, str] | None = None,
    *,
    else_: str = "",
) -> str:
    """Return which of the known words is meant; `else_` tells where to look for others.

    Raises
    ------
    SchemaError
        For none of them.

    Examples
    --------
    >>> choice("codec", "JPG", ("jpeg", "png"), ALIASES)
    'jpeg'
    >>> choice("units of boxes", "pixel", ("pixels", "fraction"))
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.SchemaError: units of boxes must be one of pixels, fraction, got 'pixel'.
    Did you mean 'pixels'?
    """
    words = {word.casefold(): word for word in known}
    others = {other: word for other, word in (aliases or {}).items() if word in known}
    if isinstance(given, str):
        word = given.casefold()
        word = others.get(word, word)
        if word in words:
            return words[word]
    raise SchemaError(
        f"{what} must be one of {', '.join(known)}, got {brief(given)}.{nearest(given, words)}"
        f"{else_ and ' '}{else_}"
    )


def dtype_choice(what: str, given: Any, known: Sequence[str]) -> str:
    """Return which of the known dtypes is meant, by whatever NumPy takes for one.

    >>> dtype_choice("dtype of boxes", np.float32, ("float32", "int32"))
    'float32'
    """
    return choice(what, dtype_name(given), known)


def dtype_name(given: Any) -> str:
    """Return NumPy's name of a dtype; what is none, as text.

    >>> dtype_name(float), dtype_name("Float32"), dtype_name("floaty")
    ('float64', 'float32', 'floaty')
    """
    if not isinstance(given, str | type | np.dtype):  # NumPy takes None for float64
        return str(given)
    for spec in (given, given.casefold()) if isinstance(given, str) else (given,):
        try:
            return str(np.dtype(spec).name)
        except (TypeError, ValueError, SyntaxError):
            continue
    return str(given)


def nearest(given: Any, known: Mapping[str, str] | Sequence[str]) -> str:
    """Return a hint at the nearest of some words, empty where none is near.

    >>> nearest("lable", ["image", "label"]), nearest("x", ["image"])
    (" Did you mean 'label'?", '')
    """
    near = get_close_matches(str(given).casefold(), list(known), n=1)
    meant = known[near[0]] if near and isinstance(known, dict) else "".join(near)
    return f" Did you mean {meant!r}?" if near else ""
