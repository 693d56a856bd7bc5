"""The type of strings."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, override

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import DamagedError, InvalidValueError
from deeplake_lite.htypes.arrays import each
from deeplake_lite.htypes.base import Check, Htype
from deeplake_lite.htypes.cells import RaggedCells
from deeplake_lite.htypes.facets import Browser, Sql
from deeplake_lite.htypes.layouts import Ragged
from deeplake_lite.htypes.show import short_text
from deeplake_lite.htypes.tensors import object_in

if TYPE_CHECKING:
    from collections.abc import Buffer

    from deeplake_lite.htypes.cells import Values


@dataclass(frozen=True, repr=False, eq=False)
class Text(Htype):
    r"""One string per row, stored as UTF-8. Paths are stored as strings.

    Examples
    --------
    >>> Text().encode(["grün"]).buffers
    [b'gr\xc3\xbcn']
    >>> Text().encode(["a", 5])
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: row 1: must be text, but it is int 5. Convert it: ...
    """

    name: ClassVar[str] = "text"
    nan_is_null: ClassVar[bool] = True

    @property
    @override
    def layout(self) -> Ragged:
        return Ragged("utf8", compressed=True)

    @property
    @override
    def blank(self) -> str:
        return ""

    @property
    @override
    def sql(self) -> Sql:
        return "text"

    @property
    @override
    def browser(self) -> Browser:
        return Browser("text", editable=True)

    @override
    def _encode(self, values: Values, check: Check) -> RaggedCells:
        strings = values.tolist() if isinstance(values, np.ndarray) else values
        try:
            buffers = list(map(str.encode, strings))
        except (TypeError, UnicodeEncodeError):
            buffers = each(strings, encode_text)
        return RaggedCells(list(buffers), np.empty((len(buffers), 0), np.int32))

    @override
    def decode(self, data: Buffer, shape: tuple[int, ...]) -> str:
        return decode_text(data)

    @override
    def preview(self, value: str) -> str:
        return short_text(value)

    def from_file(self, data: bytes) -> str:
        """Return the text in a file. Raises InvalidValueError if it is not UTF-8."""
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise InvalidValueError(
                f"must be UTF-8, but byte {error.start} of the file is not. Convert the file, or "
                "declare Link('bytes')."
            ) from error


def encode_text(value: object) -> bytes:
    """Encode a string or path as UTF-8.

    >>> encode_text("a")
    b'a'
    """
    value = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(value, str):
        raise InvalidValueError(
            f"must be text, but it is {type(value).__name__} {brief(value)}. "
            f"{_suggest_conversion(value)}"
        )
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise not_utf8(value, error.start) from error


def _suggest_conversion(value: object) -> str:
    r"""Return a sentence that tells users how to convert a value to text.

    >>> _suggest_conversion(5), _suggest_conversion(b"a")
    ('Convert it: str(value).', 'Decode it: value.decode().')
    >>> _suggest_conversion(memoryview(b"caf\xe9"))
    "Decode it with its encoding, such as bytes(value).decode('latin-1')."
    """
    content = object_in(value)
    if not isinstance(content, bytes | bytearray | memoryview):
        return "Convert it: str(value)."
    data = "bytes(value)" if isinstance(value, memoryview) else "value"
    data = data if content is value else "np.asarray(value).item()"
    try:
        bytes(content).decode()
    except UnicodeDecodeError:
        return f"Decode it with its encoding, such as {data}.decode('latin-1')."
    return f"Decode it: {data}.decode()."


def not_utf8(text: str, at: int) -> InvalidValueError:
    r"""Build the error for a string with a lone surrogate.

    Python's error handler "surrogateescape" decodes invalid bytes to such surrogates. If the
    surrogate comes from an invalid byte, the message names the byte.

    >>> str(not_utf8("caf\udce9", 3))
    "must be text in UTF-8, but the byte 0xe9 at position 3 is not. Decode the bytes with ..."
    """
    if 0xDC80 <= (code := ord(text[at])) <= 0xDCFF:
        return InvalidValueError(
            f"must be text in UTF-8, but the byte {code - 0xDC00:#x} at position {at} is not. "
            "Decode the bytes with their encoding, such as 'latin-1'."
        )
    return InvalidValueError(
        f"must be text that UTF-8 can encode, but it has a lone surrogate at character {at}. "
        f"Replace it: value.encode(errors='replace').decode()."
    )


def decode_text(data: Buffer) -> str:
    """Decode a stored UTF-8 string.

    >>> decode_text(memoryview(b"a"))
    'a'
    """
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError as error:
        raise DamagedError(
            f"A stored string must be UTF-8, but its byte {error.start} is not. Run ds.verify() to "
            "find the damage."
        ) from error
