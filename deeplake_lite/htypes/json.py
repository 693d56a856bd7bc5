"""One JSON value per row."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import DamagedError, InvalidValueError
from deeplake_lite.htypes.arrays import each
from deeplake_lite.htypes.base import Check, Htype, Ragged
from deeplake_lite.htypes.cells import RaggedCells
from deeplake_lite.htypes.json_values import built_in, check_keys
from deeplake_lite.htypes.show import short_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, repr=False, eq=False)
class Json(Htype):
    """One JSON value per row: an object, list, text, number or truth value.

    Notes
    -----
    Kept as compact UTF-8, keys in the order in which they came. NumPy numbers and arrays become
    numbers and lists, tuples become lists, keys become text; two keys that become the same text
    are refused. A lone None is null. NaN and infinity
    are refused, because JSON has none.

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

    @override
    def _encode(self, values: Sequence[Any] | NDArray[Any], check: Check) -> RaggedCells:
        buffers = each(values, _write)
        return RaggedCells(list(buffers), np.empty((len(buffers), 0), np.int32))

    @override
    def decode(self, data: Any, shape: tuple[int, ...]) -> Any:
        return self.from_file(bytes(data))

    @override
    def preview(self, value: Any) -> str:
        return short_text(json.dumps(value, ensure_ascii=False))

    def from_file(self, data: bytes | str) -> Any:
        """Return the value that a file holds."""
        return parse_json(data)


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=built_in
)


def _write(value: Any) -> bytes:
    """Return one value as JSON."""
    try:
        check_keys(value)
        return _ENCODER.encode(value).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValueError(
            f"must be a JSON value, got {type(value).__name__} {brief(value)} ({error}). Use None "
            "for NaN, text for anything that JSON lacks."
        ) from error


def parse_json(data: bytes | str) -> Any:
    """Return the value that a text says. Raises DamagedError for a text that is no JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"A JSON value does not parse: {error}. Mend or restore it.") from error
