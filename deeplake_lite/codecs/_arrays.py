"""Checks on arrays and options, shared by all codecs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import alternatives
from deeplake_lite.errors import InvalidValueError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.codecs.base import Codec


def to_little_endian(array: NDArray[Any]) -> NDArray[Any]:
    """Convert an array to C order and little-endian byte order, copying it only if necessary.

    >>> to_little_endian(np.array([1, 2], ">i4")).dtype.str
    '<i4'
    """
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)


def check_pixels(
    codec: Codec, array: NDArray[Any], allowed: Mapping[str, Collection[int]], way_out: str
) -> None:
    """Raise InvalidValueError if an image format cannot store an array.

    Parameters
    ----------
    codec : Codec
        Codec of the format, for the error message.
    array : ndarray, (h, w) or (h, w, channels)
        Pixels.
    allowed : mapping
        A dict from dtype name to allowed numbers of channels, where 1 means shape (h, w).
    way_out : str
        Last sentences of the error message, which say what the user can do instead.
    """
    channels = array.shape[2] if array.ndim == 3 else 1
    fits = channels in allowed.get(array.dtype.name, ()) and array.ndim == (
        2 if channels == 1 else 3
    )
    if not fits or 0 in array.shape:
        kinds = (f"{dtype} of shape {_shapes(counts)}" for dtype, counts in allowed.items())
        raise InvalidValueError(
            f"{codec.name.upper()} stores {', or '.join(kinds)}, but the array is {array.dtype} of "
            f"shape {array.shape}. {way_out}"
        )


def check_option(codec: Codec, option: str, low: int, high: int) -> None:
    """Check an integer field of a codec.

    Raises
    ------
    SchemaError
        If the field is not an integer from `low` to `high`.
    """
    value = getattr(codec, option)
    if type(value) is not int or not low <= value <= high:
        raise SchemaError(
            f"{option} of {codec.name!r} must be an integer from {low} to {high}, but it is "
            f"{value!r}."
        )


def check_choice(codec: Codec, option: str, choices: Collection[object]) -> None:
    """Check a field of a codec that only allows certain values.

    Raises
    ------
    SchemaError
        If the value is not one of the choices.
    """
    value = getattr(codec, option)
    if not any(value is choice or (type(value) is str and value == choice) for choice in choices):
        raise SchemaError(
            f"{option} of {codec.name!r} must be {alternatives(choices)}, but it is {value!r}."
        )


def _shapes(counts: Collection[int]) -> str:
    """Format the shapes of arrays with the given numbers of channels."""
    return " or ".join("(h, w)" if count == 1 else f"(h, w, {count})" for count in counts)
