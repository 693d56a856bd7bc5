"""Decoding JSON values in LitData's binary form.

A value consists of a tag, which is one byte, and its content. A value that does not begin with a
tag is JSON text. Numbers are little-endian, and lengths are uint32.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from deeplake_lite.ingest.shards.notes import load_json
from deeplake_lite.ingest.shards.unfit import UnfitError

FIRST_TEXT = 0x20
"""Largest tag. A value whose first byte is larger is JSON text."""

MAX_DEPTH = 100


def load_nested(data: memoryview) -> Any:
    r"""Decode a JSON value in binary form or as text. Raises UnfitError if it is invalid.

    >>> load_nested(memoryview(b'{"a": 1}')), load_nested(memoryview(b"\x07\x01\0\0\0x"))
    ({'a': 1}, 'x')
    """
    if not len(data):
        raise UnfitError("JSON")
    if data[0] > FIRST_TEXT:
        return load_json(bytes(data))
    return _Reader(data).value(0)


@dataclass
class _Reader:
    """A reader of JSON values in binary form, one after another."""

    data: memoryview
    at: int = 0

    def value(self, depth: int) -> Any:
        """Return the next value. Raises UnfitError if it is invalid."""
        tag = self.take(1)[0]
        if tag == 5 and depth < MAX_DEPTH:
            return {self.text(): self.value(depth + 1) for _ in range(self.count())}
        read = _TAGS.get(tag)
        if read is None:
            raise UnfitError("JSON in LitData's binary form")
        return read(self)

    def take(self, size: int) -> memoryview:
        """Return the next `size` bytes. Raises UnfitError if there are fewer."""
        part = self.data[self.at : self.at + size]
        if len(part) != size:
            raise UnfitError("complete JSON in LitData's binary form")
        self.at += size
        return part

    def unpack(self, form: str) -> Any:
        """Return the next number, in the format `form` of `struct`.

        Raises UnfitError if there is none.
        """
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def count(self) -> int:
        """Return the next number, which is a count of items.

        Raises UnfitError if fewer bytes than items follow, because each item has at least one byte.
        """
        count: int = self.unpack("<I")
        if count > len(self.data) - self.at:
            raise UnfitError("complete JSON in LitData's binary form")
        return count

    def text(self) -> str:
        """Return the next string. Raises UnfitError if it is invalid."""
        try:
            return str(self.take(self.count()), "utf-8")
        except UnicodeDecodeError:
            raise UnfitError("UTF-8 text") from None

    def numbers(self, dtype: str) -> list[Any]:
        """Return the next list of numbers with a dtype. Raises UnfitError if it is invalid."""
        count = self.count()
        numbers: list[Any] = np.frombuffer(
            self.take(count * np.dtype(dtype).itemsize), dtype
        ).tolist()
        return numbers

    def records(self) -> list[dict[str, Any]]:
        """Return the next list of objects, all of which have the same keys.

        Raises UnfitError if it is invalid.
        """
        rows, keys = self.count(), [self.text() for _ in range(self.count())]
        if not keys:
            raise UnfitError("objects with keys")
        return [{key: self.field() for key in keys} for _ in range(rows)]

    def field(self) -> Any:
        """Return the next value of an object in a list of objects.

        Raises UnfitError if it is invalid.
        """
        tag = self.take(1)[0]
        read = _FIELDS.get(tag)
        if read is None:
            raise UnfitError("JSON in LitData's binary form")
        return read(self)


_TAGS: dict[int, Any] = {
    0: lambda reader: load_json(bytes(reader.take(reader.count()))),
    1: lambda reader: [reader.text() for _ in range(reader.count())],
    2: lambda reader: reader.numbers("<i8"),
    3: lambda reader: reader.numbers("<f8"),
    4: lambda reader: [bool(n) for n in reader.take(reader.count())],
    6: _Reader.records,
    7: _Reader.text,
    8: lambda reader: reader.unpack("<q"),
    9: lambda reader: reader.unpack("<d"),
    10: lambda reader: bool(reader.take(1)[0]),
    11: lambda _: None,
}

_FIELDS: dict[int, Any] = {
    0x10: lambda _: None,
    0x11: _Reader.text,
    0x12: lambda reader: reader.unpack("<q"),
    0x13: lambda reader: reader.unpack("<d"),
    0x14: lambda reader: bool(reader.take(1)[0]),
}
