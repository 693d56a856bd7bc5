"""Decoding the bytes of values in the encodings of MDS."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import SchemaError
from deeplake_lite.htypes import Array, Bytes, Image, Json, Scalar, Text
from deeplake_lite.ingest.shards.notes import load_json
from deeplake_lite.ingest.shards.pixels import load_pixels
from deeplake_lite.ingest.shards.samples import (
    Encoding,
    array_type,
    nullable,
    pixels_type,
    whole_bytes,
)
from deeplake_lite.ingest.shards.unfit import UnfitError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.htypes import Htype

_DTYPES = {
    8: "uint8", 9: "int8", 16: "uint16", 17: "int16", 18: "float16", 32: "uint32", 33: "int32",
    34: "float32", 64: "uint64", 65: "int64", 66: "float64",
}  # fmt: skip
"""Maps MDS's codes for dtypes to the dtypes of arrays."""

_NUMBERS = tuple(_DTYPES.values())

MAX_ARRAY_ITEMS = 2**32
"""Maximum number of values in an array, which is the maximum number of bytes in a shard."""

PICKLED = ("pkl",)
"""Names of encodings whose data could run arbitrary code when it is read."""


def encoding_of(column: str, name: object) -> Encoding:
    """Return the encoding that the index names. Raises SchemaError if it is unknown or pickled."""
    if not isinstance(name, str):
        raise _unknown(column, name)
    if name in PICKLED:
        raise SchemaError(
            "Columns must not be pickled, because reading pickles could run arbitrary code, but "
            f"{column!r} is pickled. Write the column with another encoding, or select other "
            "columns: columns=[…]."
        )
    if name.startswith("ndarray"):
        return _array(column, name)
    if name in _NUMBERS:
        return _number(name)
    encoding = _OTHERS.get(name)
    if encoding is None:
        raise _unknown(column, name)
    return encoding


def _unknown(column: str, name: object) -> SchemaError:
    known = ", ".join(["ndarray", *_NUMBERS, *_OTHERS])
    return SchemaError(
        f"The encoding of column {column!r} must be one of {known}, but it is {name!r:.80}. Select "
        "other columns: columns=[…]."
    )


def _number(dtype: str) -> Encoding:
    return Encoding(partial(_decode_number, np.dtype(dtype).newbyteorder("<")), Scalar(dtype))


def _decode_number(dtype: np.dtype[Any], data: memoryview) -> Any:
    if len(data) != dtype.itemsize:
        raise UnfitError(f"a number of {dtype.itemsize} bytes")
    return np.frombuffer(data, dtype)[0]


def _array(column: str, name: str) -> Encoding:
    """Return the encoding for a name such as ``ndarray:float32:2,3``.

    Raises SchemaError if there is none.
    """
    parts = name.split(":")
    dtype = parts[1] if len(parts) > 1 else None
    shape = None
    if len(parts) == 3 and all(n.isascii() and n.isdigit() for n in parts[2].split(",")):
        shape = tuple(int(n) for n in parts[2].split(","))
    is_known = dtype is None or dtype in _NUMBERS
    if parts[0] != "ndarray" or len(parts) > 3 or not is_known or (len(parts) == 3) != bool(shape):
        raise _unknown(column, name)
    if shape is not None and (
        0 in shape or len(shape) > 32 or np.prod(shape, dtype=object) > 2**40
    ):
        raise _unknown(column, name)
    htype = Array(dtype, shape) if dtype is not None and shape is not None else array_type
    return Encoding(partial(_decode_array, dtype, shape), htype)


def _decode_array(dtype: str | None, shape: tuple[int, ...] | None, data: memoryview) -> Any:
    at = 0
    if dtype is None:
        dtype = _DTYPES.get(data[0]) if len(data) else None
        at = 1
    if dtype is None:
        raise UnfitError("an array")
    if shape is None:
        if len(data) <= at:
            raise UnfitError("an array")
        axes, width = data[at] >> 2, 1 << (data[at] & 3)
        end = at + 1 + axes * width
        lengths = data[at + 1 : end]
        if len(lengths) != axes * width or axes > 32:
            raise UnfitError("an array")
        shape = tuple(np.frombuffer(lengths, f"<u{width}").tolist())
        at = end
    kind = np.dtype(dtype).newbyteorder("<")
    if len(data) - at != math.prod(shape) * kind.itemsize:
        raise UnfitError("an array")
    return np.frombuffer(data[at:], kind).reshape(shape).astype(dtype, copy=False)


def _text(data: memoryview) -> str:
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError:
        raise UnfitError("UTF-8 text") from None


def _digits(data: memoryview) -> int:
    text = _text(data).strip()
    if not text.lstrip("-").isdigit() or len(text) > 4_000:
        raise UnfitError("an integer")
    return int(text)


def _decimal(data: memoryview) -> float:
    try:
        return float(_text(data))
    except ValueError:
        raise UnfitError("a number") from None


def _digits_type(values: Sequence[int]) -> Htype:
    return Scalar("int64") if all(-(2**63) <= n < 2**63 for n in values) else Json()


_OTHERS = {
    "bytes": Encoding(whole_bytes, Bytes()),
    "str": Encoding(_text, Text()),
    "int": _number("int64"),
    "str_int": Encoding(_digits, _digits_type),
    "str_float": Encoding(_decimal, Scalar("float64")),
    "str_decimal": Encoding(_text, Text()),
    "pil": Encoding(load_pixels, pixels_type),
    "jpeg": Encoding(whole_bytes, Image("auto")),
    "jpegarray": Encoding(whole_bytes, Image("auto")),
    "jpeg_array": Encoding(whole_bytes, Image("auto")),
    "png": Encoding(whole_bytes, Image("auto")),
    "json": Encoding(lambda data: load_json(bytes(data)), nullable(Json())),
}
