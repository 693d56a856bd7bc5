"""Argument checks. Each function returns the value in canonical form, or raises OptionError."""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from deeplake_lite.brief import alternatives, brief
from deeplake_lite.codecs.limits import MAX_PIXELS
from deeplake_lite.errors import MissingPackageError, OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

UNITS = {
    "": 1,
    **{f"{unit}b": 1000**power for power, unit in enumerate(("", "k", "m", "g", "t"))},
    **{f"{unit}ib": 1024**power for power, unit in enumerate(("", "k", "m", "g", "t"))},
}
"""Number of bytes in each unit of memory. Units are in lower case."""

_AMOUNT = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([a-z]*)\s*")


def integer(name: str, value: object, least: int | None = None) -> int:
    """Convert an integer of any type to a Python int, which JSON supports.

    Raises
    ------
    OptionError
        If the value is not an integer, or is below `least`.

    Examples
    --------
    >>> integer("epoch", np.int64(3), 0)
    3
    """
    try:
        is_number = not isinstance(value, bool | np.bool_)
        number = operator.index(value) if is_number and isinstance(value, SupportsIndex) else None
    except TypeError:
        number = None
    if number is None or (least is not None and number < least):
        rule = "an integer" if least is None else f"an integer of at least {least}"
        raise OptionError(f"{name} must be {rule}, but it is {brief(value)}.")
    return number


def text(name: str, value: object) -> str:
    """Return a string as a plain `str`, and raise OptionError for any other value.

    >>> text("label", np.str_("species"))
    'species'
    """
    if not isinstance(value, str):
        raise OptionError(f"{name} must be a string, but it is {brief(value, 80)}.")
    return str(value)


def optional_text(name: str, value: object) -> str | None:
    """Return a string as a plain `str`, and None as None. Other values raise OptionError."""
    return None if value is None else text(name, value)


def names(name: str, value: Any) -> tuple[str, ...]:
    """Return column names as a tuple; a single name may be passed without a list.

    Raises
    ------
    OptionError
        If `value` is not iterable, or is a set, which has no order.

    Examples
    --------
    >>> names("columns", "image"), names("columns", ["image", "label"])
    (('image',), ('image', 'label'))
    """
    if isinstance(value, str):
        return (value,)
    if not np.iterable(value) or isinstance(value, bytes | set | frozenset):
        raise OptionError(
            f"{name} must be a list of names, such as ['image', 'label'], but it is "
            f"{brief(value, 80)}. To select all, leave out {name}=."
        )
    return tuple(value)


def location(name: str, value: object) -> str:
    r"""Return a path or URL as a string.

    Raises
    ------
    OptionError
        If the value is not a path or URL, is blank, or has characters that file names cannot have.

    Examples
    --------
    >>> from pathlib import Path
    >>> location("url", Path("flowers.lake")), location("url", "s3://bucket/flowers")
    ('flowers.lake', 's3://bucket/flowers')
    """
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str) or not text.strip():
        raise OptionError(
            f"{name} must be a path or a URL, such as 'flowers.lake', but it is "
            f"{brief(value, 80)}. Pass a string or a pathlib.Path."
        )
    if "\0" in text or find_lone_surrogate(text) is not None:
        raise OptionError(
            f"{name} must be a path or a URL of valid Unicode without NUL, but it is "
            f"{text!a:.200}. Choose another name."
        )
    return str(text)


def mapping(name: str, value: object) -> dict[str, Any]:
    """Return a mapping as a dict, or an empty dict for None. Raises OptionError for other values.

    >>> mapping("metadata", None), mapping("metadata", {"licence": "CC0"})
    ({}, {'licence': 'CC0'})
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise OptionError(
            f"{name} must be a mapping, such as {{'key': 'value'}}, but it is {brief(value, 80)}. "
            f"If you do not need it, leave out {name}=."
        )
    return dict(value)


def seconds(name: str, value: object) -> float:
    """Return a number of seconds as a float. Raises OptionError for any other value.

    >>> seconds("seconds", 1)
    1.0
    """
    if (
        not isinstance(value, int | float | np.integer | np.floating)
        or isinstance(value, bool)
        or not 0 <= value < math.inf
    ):
        raise OptionError(f"{name} must be a number of at least 0, but it is {brief(value, 80)}.")
    return float(value)


def choice[T](name: str, value: T, choices: Sequence[object], way_out: str = "") -> T:
    """Return a value if it is one of the choices, and raise OptionError otherwise.

    The error message ends with the sentence `way_out`.

    >>> choice("on_error", "skip", ("raise", "skip"))
    'skip'
    """
    if not (value is None or isinstance(value, str)) or value not in choices:
        message = f"{name} must be {alternatives(choices)}, but it is {brief(value, 80)}."
        raise OptionError(f"{message} {way_out}".strip())
    return value


def flag(name: str, value: object) -> bool:
    """Return a boolean as a bool. Raises OptionError for any other value, including 0 and 1.

    >>> flag("progress", np.True_)
    True
    """
    if not isinstance(value, bool | np.bool_):
        raise OptionError(f"{name} must be True or False, but it is {brief(value, 80)}.")
    return bool(value)


def function(name: str, value: object) -> None:
    """Check that an argument is a function or None. Raises OptionError for any other value."""
    if value is not None and not callable(value):
        raise OptionError(
            f"{name} must be a function, but it is {brief(value, 80)}. If you do not need it, "
            f"leave out {name}=."
        )


def height_and_width(name: str, value: Any) -> tuple[int, int]:
    """Return a height and a width, in pixels, as a tuple. Raises OptionError for any other value.

    >>> height_and_width("size", [np.int64(24), 32])
    (24, 32)
    """
    try:
        height, width = (integer(name, n, 1) for n in value)
    except (TypeError, ValueError):
        is_side = isinstance(value, int | np.integer) and not isinstance(value, bool) and value > 0
        hint = f" Write ({value}, {value}) for a square." if is_side else ""
        raise OptionError(
            f"{name} must be a height and a width in pixels, such as (224, 224), or a mapping from "
            f"columns to such sizes, but it is {brief(value, 80)}.{hint}"
        ) from None
    if height * width > MAX_PIXELS:
        raise OptionError(
            f"{name} must have at most {MAX_PIXELS:,} pixels, but {brief(value, 80)} has more. "
            "Choose a smaller size."
        )
    return height, width


def memory(name: str, value: object) -> int:
    """Convert an amount of memory, given in bytes or as a string with a unit, to a number of bytes.

    Raises
    ------
    OptionError
        For any other value.

    Examples
    --------
    >>> memory("memory_budget", "1.5 GB"), memory("memory_budget", "2GiB"), memory("", 4e9)
    (1500000000, 2147483648, 4000000000)
    """
    amount = None
    if isinstance(value, str):
        match = _AMOUNT.fullmatch(value.lower())
        if match and match[2] in UNITS:
            amount = float(match[1]) * UNITS[match[2]]
    elif isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        amount = value
    if amount is None or not math.isfinite(amount) or amount < 0:
        raise OptionError(
            f"{name} must be a number of bytes, or a string such as '4GB' or '512 MiB', but it is "
            f"{brief(value, 80)}."
        )
    return int(amount)


def find_lone_surrogate(text: str) -> int | None:
    r"""Return the position of the first lone surrogate, which UTF-8 cannot encode, or None.

    >>> find_lone_surrogate("a\ud800"), find_lone_surrogate("naïve")
    (1, None)
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def package(name: str, extra: str, purpose: str) -> Any:
    """Import and return an optional package. Raises MissingPackageError if it is not installed.

    >>> package("nothing_of_that_name", "torch", "to_torch")
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.MissingPackageError: to_torch needs nothing_of_that_name. Install it: ...
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackageError.needed(name, extra, purpose) from error
