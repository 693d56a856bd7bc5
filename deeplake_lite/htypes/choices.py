"""Options with a fixed set of values: codecs, formats, units, dtypes.

Users may write values in upper or lower case, or use common aliases; a lake stores the canonical
name. The error for any other value lists the valid ones and suggests the most similar one.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.brief import alternatives, brief
from deeplake_lite.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ALIASES = {"jpg": "jpeg", "jpe": "jpeg", "tif": "tiff", "zst": "zstd"}
"""File extensions that users may write instead of the name of a codec."""


def choice(
    name: str,
    value: object,
    known: Sequence[str],
    aliases: Mapping[str, str] | None = None,
    *,
    else_: str = "",
) -> str:
    """Return the member of `known` that `value` means. Errors end with the sentence `else_`.

    Raises
    ------
    SchemaError
        If none of the known values is meant.

    Examples
    --------
    >>> choice("codec", "JPG", ("jpeg", "png"), ALIASES)
    'jpeg'
    >>> choice("units of boxes", "pixel", ("pixels", "fraction"))
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.SchemaError: units of boxes must be 'pixels' or 'fraction', but it is
    'pixel'. Did you mean 'pixels'?
    """
    words = {word.casefold(): word for word in known}
    aliases = {alias: word for alias, word in (aliases or {}).items() if word in known}
    if isinstance(value, str):
        word = value.casefold()
        word = aliases.get(word, word)
        if word in words:
            return words[word]
    raise SchemaError(
        f"{name} must be {alternatives(known)}, but it is {brief(value)}."
        f"{suggest_nearest(value, words)}{else_ and ' '}{else_}"
    )


def dtype_choice(name: str, value: object, known: Sequence[str]) -> str:
    """Return the known dtype that a user means by its name or NumPy type.

    >>> dtype_choice("dtype of boxes", np.float32, ("float32", "int32"))
    'float32'
    """
    return choice(name, dtype_name(value), known)


def dtype_name(value: object) -> str:
    """Return NumPy's name for a dtype. Any value that is not a dtype is returned as a string.

    >>> dtype_name(float), dtype_name("Float32"), dtype_name("floaty")
    ('float64', 'float32', 'floaty')
    """
    if not isinstance(value, str | type | np.dtype):  # NumPy would read None as float64
        return str(value)
    for spec in (value, value.casefold()) if isinstance(value, str) else (value,):
        try:
            return str(np.dtype(spec).name)
        except (TypeError, ValueError, SyntaxError):
            continue
    return str(value)


def suggest_nearest(value: object, known: Mapping[str, str] | Sequence[str]) -> str:
    """Return a hint that names the most similar known value, or "" if none is similar.

    >>> suggest_nearest("lable", ["image", "label"]), suggest_nearest("x", ["image"])
    (" Did you mean 'label'?", '')
    """
    matches = get_close_matches(str(value).casefold(), list(known), n=1)
    match = known[matches[0]] if matches and isinstance(known, dict) else "".join(matches)
    return f" Did you mean {match!r}?" if matches else ""
