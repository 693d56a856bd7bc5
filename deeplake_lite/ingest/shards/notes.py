"""Notes, which exports from a lake write to an index, with the lake's types and metadata."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.export.shards.splits import SPLIT
from deeplake_lite.errors import LakeError
from deeplake_lite.htypes.registry import from_config
from deeplake_lite.ingest.exported_metadata import ExportedMetadata
from deeplake_lite.ingest.shards.unfit import UnfitError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.htypes import Htype

_UNREADABLE = (ValueError, EOFError, SyntaxError, TypeError, KeyError, OSError, MemoryError)
"""Errors that NumPy raises for damaged npy files."""


@dataclass(frozen=True)
class ExportedColumn:
    """A column that was exported from a lake."""

    htype: Htype
    """Type of the column in the lake."""

    kind: str
    """Kind of the values in samples; see `dataset.export.shards.samples`."""

    has_nulls: bool
    """Whether empty bytes mean null."""

    def restore(self, value: Any) -> Any:
        """Convert a value of a sample back to the value in the lake.

        Raises UnfitError if this fails.
        """
        match self.kind:
            case "file":
                return None if self.has_nulls and not value else value
            case "npy":
                return None if self.has_nulls and not value else load_npy(value)
            case "json":
                return restore_value(self.htype, value)
            case "text" | "int" | "bool":
                return _scalar(self.htype, value)
            case "array" if self.htype.value_dtype == "bool":
                return np.asarray(value).astype(bool)
        return value


@dataclass(frozen=True)
class Note:
    """The note of an export, which is empty if the index has no note."""

    columns: Mapping[str, ExportedColumn] = field(default_factory=dict)
    """Maps names to the exported columns, in the order of the lake."""

    metadata: ExportedMetadata = field(default_factory=ExportedMetadata)
    """The metadata of the lake and of its columns."""

    split: Htype | None = None
    """Type of the column of splits, or None if there was no such column."""

    @classmethod
    def of(cls, content: object) -> Note:
        """Parse a note, ignoring entries that other programs or newer releases have written."""
        if not isinstance(content, dict):
            return cls()
        columns = content.get("columns")
        exported = {
            name: column
            for name, config in (columns if isinstance(columns, dict) else {}).items()
            if (column := _column(config)) is not None
        }
        metadata = ExportedMetadata.of(content)
        return cls(exported, metadata, htype_of_config(content.get(SPLIT)))


def _column(config: object) -> ExportedColumn | None:
    if not isinstance(config, dict):
        return None
    htype, kind = htype_of_config(config.get("htype")), config.get("kind")
    if htype is None or not isinstance(kind, str):
        return None
    return ExportedColumn(htype, kind, bool(config.get("nulls")))


def htype_of_config(config: object) -> Htype | None:
    """Return the type that a configuration describes, or None if the configuration is invalid."""
    try:
        return None if config is None else from_config(config)
    except (LakeError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None


def restore_value(htype: Htype, value: Any) -> Any:
    """Convert a JSON value to a value of a column type. Raises UnfitError if it does not fit.

    >>> from deeplake_lite.htypes import Scalar, Sequence
    >>> restore_value(Sequence(Scalar("datetime64[D]")), ["2026-01-02"])
    [np.datetime64('2026-01-02')]
    """
    if value is None or htype.sql == "json":
        return value
    if htype.classes is not None:
        return value
    if htype.item is not None:
        return [restore_value(htype.item, item) for item in _list(value)]
    if htype.scalar is not None:
        return _scalar(htype, value)
    if not htype.value_dtype:
        return value
    values = _arrays(htype.value_dtype, value)
    # An image must be an array, because nested lists of numbers would not be accepted.
    return np.asarray(values, htype.value_dtype) if htype.is_image else values


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise UnfitError("a list")
    return value


def _scalar(htype: Htype, value: Any) -> Any:
    """Convert a JSON value to a number or a time if the type is a number or a time."""
    if htype.scalar is None:
        return value
    dtype = np.dtype(htype.scalar)
    if dtype.kind in "mM":
        # Timestamps are parsed from strings; durations are counts of their unit.
        return np.array(value if dtype.kind == "m" else str(value), dtype)[()]
    return complex(value) if dtype.kind == "c" else value


def _arrays(dtype: str, value: Any) -> Any:
    """Convert JSON to an array, or to a list of arrays such as polygons.

    Raises UnfitError if it does not fit.
    """
    if isinstance(value, dict):
        shape = value.get("shape")
        if not isinstance(shape, list) or 0 not in shape or len(shape) > 32:
            raise UnfitError("the shape of an empty array")
        return np.empty(shape, dtype)
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return [_arrays(dtype, item) for item in value]
    if np.dtype(dtype).kind == "c":
        return _complex(value)
    return value


def _complex(value: Any) -> Any:
    return [_complex(item) for item in value] if isinstance(value, list) else complex(value)


def load_npy(data: bytes) -> np.ndarray[Any, Any]:
    """Decode an npy file. Raises UnfitError if it is invalid."""
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except _UNREADABLE as error:
        raise UnfitError("an npy file without Python objects") from error
    match array:
        case np.ndarray():
            return array
    raise UnfitError("an npy file, not npz")


def load_json(data: bytes) -> Any:
    """Decode JSON text. Raises UnfitError if it is invalid."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise UnfitError("JSON") from None
