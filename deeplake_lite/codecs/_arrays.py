"""Arrays as codecs want them: contiguous, little-endian, of a kind that the format holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import InvalidValueError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.codecs.base import Codec


def little(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in C order and little-endian, as it is where it is so already.

    >>> little(np.array([1, 2], ">i4")).dtype.str
    '<i4'
    """
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)


def check_pixels(
    codec: Codec, array: NDArray[Any], allowed: Mapping[str, Collection[int]], way_out: str
) -> None:
    """Refuse pixels that a format does not hold.

    Parameters
    ----------
    codec : Codec
        For the message.
    array : ndarray, (h, w) or (h, w, channels)
        Pixels.
    allowed : mapping
        From dtype name to numbers of channels; 1 stands for (h, w).
    way_out : str
        What to do instead.
    """
    channels = array.shape[2] if array.ndim == 3 else 1
    fits = channels in allowed.get(array.dtype.name, ()) and array.ndim == (
        2 if channels == 1 else 3
    )
    if not fits or 0 in array.shape:
        kinds = (f"{dtype} of shape {_shapes(counts)}" for dtype, counts in allowed.items())
        raise InvalidValueError(
            f"{codec.name.upper()} holds {', or '.join(kinds)}, "
            f"got {array.dtype} of shape {array.shape}. {way_out}"
        )


def check_option(codec: Codec, option: str, low: int, high: int) -> None:
    """Refuse a configuration whose number is out of range.

    Raises
    ------
    SchemaError
        When the field is no integer from `low` to `high`.
    """
    value = getattr(codec, option)
    if type(value) is not int or not low <= value <= high:
        raise SchemaError(
            f"{option} of {codec.name!r} must be an integer from {low} to {high}, got {value!r}."
        )


def check_choice(codec: Codec, option: str, choices: Collection[object]) -> None:
    """Refuse a configuration whose field is none of the choices.

    Raises
    ------
    SchemaError
        When it is none.
    """
    value = getattr(codec, option)
    if not any(value is choice or (type(value) is str and value == choice) for choice in choices):
        shown = ", ".join(map(repr, choices))
        raise SchemaError(f"{option} of {codec.name!r} must be one of {shown}, got {value!r}.")


def _shapes(counts: Collection[int]) -> str:
    """Write shapes for a message."""
    return " or ".join("(h, w)" if count == 1 else f"(h, w, {count})" for count in counts)
