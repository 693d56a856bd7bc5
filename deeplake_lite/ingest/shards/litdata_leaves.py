"""Decoding the bytes of values that LitData's serializers have written."""

from __future__ import annotations

import math
import struct
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import SchemaError
from deeplake_lite.htypes import Bytes, Image, Json, Scalar, Sequence, Text
from deeplake_lite.ingest.shards.litdata_json import load_nested
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
    from numpy.typing import NDArray

_NUMPY = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "complex64", "complex128", "bool",
)  # fmt: skip
"""Dtypes of NumPy arrays, in the order of LitData's codes. Higher codes mean other objects."""

_TORCH = (
    "float32", "float32", "float64", "float64", "complex64", "complex64", "complex128",
    "complex128", "float16", "float16", "bfloat16", "uint8", "int8", "int16", "int16", "int32",
    "int32", "int64", "int64", "bool", "uint16",
)  # fmt: skip
"""Dtypes of tensors, in the order of LitData's codes."""

PICKLED = ("pickle", "graph")
"""Names of serializers whose data could run arbitrary code when it is read."""

MAX_AXES = 32

_FILES = ("bytes", "file", "video", "audio", "mesh", "pdf", "nifti")


def encoding_of(column: str, name: object) -> Encoding:
    """Return the encoding for a serializer's name in the index, such as ``no_header_tensor:17``.

    Raises SchemaError if the serializer is unknown, or pickles values.
    """
    base, _, detail = str(name).partition(":")
    if base in PICKLED:
        raise SchemaError(
            "Columns must not be pickled, because reading pickles could run arbitrary code, but "
            f"{column!r} is pickled. Write the column with another serializer, or select other "
            "columns: columns=[…]."
        )
    if base in ("no_header_numpy", "no_header_tensor"):
        codes = _NUMPY if base == "no_header_numpy" else _TORCH
        if detail.isascii() and detail.isdigit() and int(detail) < len(codes):
            return Encoding(partial(_numbers, codes[int(detail)]), array_type)
    elif base in _FILES:
        return Encoding(whole_bytes, Bytes())
    elif base in ("jpeg", "image", "tiff", "tifffile"):
        return Encoding(whole_bytes, Image("auto"))
    elif base in _OTHERS:
        return _OTHERS[base]
    known = ", ".join([*_OTHERS, "jpeg", "image", "no_header_numpy", "no_header_tensor", *_FILES])
    raise SchemaError(
        f"The serializer of column {column!r} must be one of {known}, but it is {name!r:.80}. "
        "Select other columns: columns=[…]."
    )


def _numbers(dtype: str, data: memoryview) -> NDArray[Any]:
    """Decode a one-dimensional array without a header. Raises UnfitError if it is invalid."""
    if dtype == "bfloat16":  # the upper half of a float32
        return (_numbers("uint16", data).astype("u4") << 16).view(np.float32)
    kind = np.dtype(dtype).newbyteorder("<")
    if len(data) % kind.itemsize:
        raise UnfitError("an array")
    if dtype == "bool":
        return np.frombuffer(data, np.uint8).astype(bool)
    return np.frombuffer(data, kind).astype(dtype, copy=False)


def _array(codes: tuple[str, ...], order: str, data: memoryview) -> NDArray[Any]:
    """Decode an array. Its bytes begin with dtype, number of axes and shape.

    Raises UnfitError if it is invalid.
    """
    if len(data) < 8:
        raise UnfitError("an array")
    code, axes = np.frombuffer(data[:8], f"{order}u4").tolist()
    end = 8 + 4 * axes
    if code >= len(codes) or axes > MAX_AXES or len(data) < end:
        raise UnfitError("an array of numbers")
    shape = np.frombuffer(data[8:end], f"{order}u4").tolist()
    values = _numbers(codes[code], data[end:])
    if values.size != math.prod(shape):
        raise UnfitError("an array")
    return values.reshape(shape)


def _text(data: memoryview) -> str:
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError:
        raise UnfitError("UTF-8 text") from None


def _number(form: struct.Struct, data: memoryview) -> Any:
    if len(data) != form.size:
        raise UnfitError(f"a {form.size}-byte number")
    return form.unpack(data)[0]


def _bool(data: memoryview) -> bool:
    if len(data) != 1:
        raise UnfitError("a byte")
    return bool(data[0])


def _files(data: memoryview) -> list[bytes]:
    """Decode a list of files, whose bytes begin with their number and sizes.

    Raises UnfitError if it is invalid.
    """
    count = int(np.frombuffer(data[:4], "<u4")[0]) if len(data) >= 4 else 0
    start = 4 + 4 * count
    if len(data) < start:
        raise UnfitError("a list of images")
    sizes = np.frombuffer(data[4:start], "<u4").astype(np.int64)
    ends = start + np.cumsum(sizes)
    if (int(ends[-1]) if count else start) != len(data):
        raise UnfitError("a list of images")
    return [bytes(data[end - size : end]) for end, size in zip(ends, sizes, strict=True)]


_OTHERS = {
    "str": Encoding(_text, Text()),
    "text": Encoding(_text, Text()),
    "bool": Encoding(_bool, Scalar("bool")),
    "int": Encoding(partial(_number, struct.Struct("<q")), Scalar("int64")),
    "float": Encoding(partial(_number, struct.Struct("<d")), Scalar("float64")),
    "pil": Encoding(load_pixels, pixels_type),
    "jpeg_array": Encoding(_files, Sequence(Image("auto"))),
    "numpy": Encoding(partial(_array, _NUMPY, "<"), array_type),
    "tensor": Encoding(partial(_array, _TORCH, ">"), array_type),
    "json": Encoding(load_nested, nullable(Json())),
}
