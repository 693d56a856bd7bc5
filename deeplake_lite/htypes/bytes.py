"""The type of arbitrary bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.arrays import each
from deeplake_lite.htypes.base import Check, Htype
from deeplake_lite.htypes.cells import RaggedCells
from deeplake_lite.htypes.facets import Browser, Sql
from deeplake_lite.htypes.layouts import Ragged
from deeplake_lite.htypes.show import short_text
from deeplake_lite.htypes.tensors import object_in
from deeplake_lite.htypes.words import NUMBERS, digest_of

if TYPE_CHECKING:
    from collections.abc import Buffer

    from deeplake_lite.htypes.cells import Values


@dataclass(frozen=True, repr=False, eq=False)
class Bytes(Htype):
    """Arbitrary bytes per row, stored unchanged.

    Examples
    --------
    >>> Bytes().encode([b"ab", memoryview(b"c")]).buffers
    [b'ab', b'c']
    """

    name: ClassVar[str] = "bytes"
    nan_is_null: ClassVar[bool] = True

    @property
    @override
    def layout(self) -> Ragged:
        return Ragged("bytes")

    @property
    @override
    def blank(self) -> bytes:
        return b""

    @property
    @override
    def sql(self) -> Sql:
        return "bytes"

    @property
    @override
    def browser(self) -> Browser:
        return Browser("bytes")

    @override
    def to_words(self, value: bytes) -> str:
        return f"{len(value):,} bytes: {value[:NUMBERS].hex(' ')}{digest_of(value)}"

    @override
    def _encode(self, values: Values, check: Check) -> RaggedCells:
        buffers = each(values, _read)
        return RaggedCells(buffers, np.empty((len(buffers), 0), np.int32))

    @override
    def decode(self, data: Buffer, shape: tuple[int, ...]) -> bytes:
        return bytes(data)

    @override
    def preview(self, value: bytes) -> str:
        return short_text(
            f"{len(value):,} bytes: {value[:16].hex(' ')}{' …' if len(value) > 16 else ''}"
        )

    def from_file(self, data: bytes) -> bytes:
        """Return the content of a file."""
        return data


def _read(value: Any) -> Buffer:
    """Return one value as immutable bytes."""
    if isinstance(value, bytes):
        return value
    value = object_in(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    hint = "Encode it: value.encode()" if isinstance(value, str) else "Pass bytes"
    kind = type(value).__name__
    raise InvalidValueError(f"must be bytes, but it is {kind} {brief(value)}. {hint}.")
