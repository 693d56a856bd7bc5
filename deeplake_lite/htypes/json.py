"""The type of JSON values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import DamagedError, InvalidValueError
from deeplake_lite.htypes.arrays import each
from deeplake_lite.htypes.base import Check, Htype
from deeplake_lite.htypes.cells import RaggedCells
from deeplake_lite.htypes.facets import Browser, Sql
from deeplake_lite.htypes.json_values import built_in, check_keys, object_of
from deeplake_lite.htypes.layouts import Ragged
from deeplake_lite.htypes.show import short_text

if TYPE_CHECKING:
    from collections.abc import Buffer

    from deeplake_lite.htypes.cells import Values


@dataclass(frozen=True, repr=False, eq=False)
class Json(Htype):
    """One JSON value per row: an object, list, string, number or boolean.

    Notes
    -----
    Values are stored as compact UTF-8, with keys in their original order. NumPy numbers and arrays
    become numbers and lists, tuples become lists, and keys become strings. Two keys that become the
    same string are rejected, and so are NaN and infinity, which JSON does not support. A value that
    is None as a whole is stored as null.

    Examples
    --------
    >>> Json().encode([{"b": 1, "a": [True, None]}]).buffers
    [b'{"b":1,"a":[true,null]}']
    """

    name: ClassVar[str] = "json"

    @property
    @override
    def layout(self) -> Ragged:
        return Ragged("json", compressed=True)

    @property
    @override
    def blank(self) -> dict[str, Any]:
        return {}

    @property
    @override
    def sql(self) -> Sql:
        return "json"

    @property
    @override
    def browser(self) -> Browser:
        return Browser("json", editable=True)

    @override
    def to_words(self, value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    @override
    def _encode(self, values: Values, check: Check) -> RaggedCells:
        buffers = each(values, _write)
        return RaggedCells(list(buffers), np.empty((len(buffers), 0), np.int32))

    @override
    def decode(self, data: Buffer, shape: tuple[int, ...]) -> Any:
        return parse_json(bytes(data))

    @override
    def preview(self, value: object) -> str:
        return short_text(json.dumps(value, ensure_ascii=False))

    def from_file(self, data: bytes | str) -> Any:
        """Parse the JSON in a file.

        Raises
        ------
        InvalidValueError
            If the file is not JSON, or contains NaN, infinity or an object with a duplicate key.
        """
        try:
            return json.loads(data, object_pairs_hook=object_of, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise InvalidValueError(
                f"must be valid JSON, but it cannot be parsed: {error}. Fix the file."
            ) from error

    @override
    def _plain_default(self, value: object) -> object:
        return self.decode_cells(self.encode([value]))[0]


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=built_in
)


def _write(value: object) -> bytes:
    """Encode one value as JSON."""
    try:
        check_keys(value)
        return _ENCODER.encode(value).encode()
    except (TypeError, ValueError, RecursionError) as error:
        reason = _find_duplicate_key(value) or error
        raise InvalidValueError(
            f"must be a JSON value, but it is {type(value).__name__} {brief(value)} ({reason}). "
            "Use None for NaN, and strings for anything else that JSON does not support."
        ) from error


def _find_duplicate_key(value: object) -> Exception | None:
    """Return the error for a duplicate key in JSON given as bytes, or None if all keys are unique.

    For example, JSON from a cell of a CSV file is passed as bytes.
    """
    if isinstance(value, bytes):
        try:
            json.loads(value, object_pairs_hook=object_of)
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
            return None
        except ValueError as error:
            return error
    return None


def _no_constant(name: str) -> object:
    raise ValueError(f"JSON has no {name}")


def parse_json(data: bytes | str) -> Any:
    """Parse stored JSON. Raises DamagedError if the string is not valid JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamagedError(
            f"A JSON value cannot be parsed: {error}. Fix it, or restore it from a backup."
        ) from error
