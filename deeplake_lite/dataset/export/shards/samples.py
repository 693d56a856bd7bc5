"""Conversion of columns to the kinds of values that sample formats support.

Formats such as MDS and LitData store each row as a dictionary whose values are of a few kinds. Each
format maps each kind to one of its encodings. The kinds cannot express all types of the lake, so
the format's index also records the types, and importers restore them.
"""

from __future__ import annotations

import io
import json
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deeplake_lite.dataset.export.portable import (
    agree,
    has_nulls,
    is_file,
    metadata_of,
    values_of,
)
from deeplake_lite.dataset.export.strings import with_shapes
from deeplake_lite.errors import ExportWarning, SchemaError
from deeplake_lite.htypes.layouts import Dense

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field

NOTE = "deeplake_lite"
"""Key in the format's index under which the lake's types are recorded."""

type Kind = Literal["file", "text", "json", "bool", "int", "float", "array", "npy"]


@dataclass(frozen=True)
class SampleColumn:
    """A column, and the kind of its values in samples."""

    field: Field
    """The lake's column."""

    kind: Kind
    """Kind of the values. ``npy`` and ``file`` mean bytes, which are empty for nulls, and ``json``
    means JSON text as bytes."""

    dtype: str = ""
    """Dtype of numbers and arrays."""

    shape: tuple[int, ...] | None = None
    """Shape of the arrays, or None if shapes may differ."""

    has_nulls: bool = False
    """Whether any row is null."""

    def values(self, cells: Cells) -> list[Any]:
        """Convert cells to values of the column's kind."""
        htype = self.field.htype
        if self.kind == "json":
            return [_json(value) for value in values_of(htype, cells)]
        if self.kind == "file":
            return [b"" if value is None else value for value in values_of(htype, cells)]
        values = htype.decode_cells(cells)
        match self.kind:
            case "bool":
                return [bool(value) for value in values]
            case "int" if htype.scalar is not None and htype.scalar.startswith("timedelta"):
                return [int(value.astype(np.int64)) for value in values]
            case "int":
                return [int(value) for value in values]
            case "float":
                return [float(value) for value in values]
            case "text":
                return [value if isinstance(value, str) else str(value) for value in values]
            case "npy":
                return [b"" if value is None else _npy(value) for value in values]
        return [np.ascontiguousarray(value).reshape(np.shape(value)) for value in values]


def sample_columns(view: View, method: str, arrays: Sequence[str]) -> list[SampleColumn]:
    """Return the columns that samples can hold, and warn about the other columns and other losses.

    Parameters
    ----------
    view : View
        The rows.
    method : str
        Name of the export, for messages.
    arrays : sequence of str
        Array dtypes that the format supports.

    Raises
    ------
    SchemaError
        If samples can hold none of the columns.
    """
    columns = [_column(view, f, arrays) for f in view.schema]
    supported = [column for column in columns if column is not None]
    unsupported = [f.name for f, column in zip(view.schema, columns, strict=True) if column is None]
    if not supported:
        raise SchemaError(
            f"{method} needs a column that samples can hold, but this view has only "
            f"{', '.join(map(repr, view.columns)) or 'no columns'}. Add a column of another type."
        )
    _warn(method, unsupported, "[is|are] left out, because each value is a sequence of files")
    _warn(
        method,
        [c.field.name for c in supported if c.kind == "npy"],
        "[is|are] written as npy bytes, because the format does not support the dtype or nulls",
    )
    _warn(
        method,
        [c.field.name for c in supported if c.kind == "file" and c.has_nulls],
        "[has|have] nulls, which are written as empty bytes; images become plain bytes, and empty "
        "files are read back as nulls",
    )
    return supported


def _warn(method: str, names: Sequence[str], phrase: str) -> None:
    if names:
        warnings.warn(
            f"{method}: {', '.join(map(repr, names))} {agree(phrase, len(names))}.",
            ExportWarning,
            stacklevel=6,
        )


def note_of(view: View, columns: Sequence[SampleColumn]) -> dict[str, Any]:
    """Return the lake's types and metadata as JSON values, to be recorded in the format's index."""
    return {
        "columns": {
            c.field.name: {
                "htype": c.field.htype.get_config(),
                "kind": c.kind,
                "nulls": c.has_nulls,
            }
            for c in columns
        },
        **metadata_of(view),
    }


def _column(view: View, f: Field, arrays: Sequence[str]) -> SampleColumn | None:
    """Return a column with the kind of its values, or None if samples cannot hold the values."""
    column = _column_without_nulls(f)
    if column is None or not f.htype.nullable or not has_nulls(view, f):
        is_npy = column is not None and column.kind == "array" and column.dtype not in arrays
        return replace(column, kind="npy") if column is not None and is_npy else column
    if column.kind == "array":
        return replace(column, kind="npy", has_nulls=True)
    return replace(column, kind="file" if column.kind == "file" else "json", has_nulls=True)


def _column_without_nulls(f: Field) -> SampleColumn | None:
    htype = f.htype
    if is_file(htype):
        return SampleColumn(f, "file")
    if htype.classes is not None:
        is_one = htype.sql == "class"
        return SampleColumn(f, "int" if is_one else "array", "int64" if is_one else "int32")
    if htype.item is not None:
        return None if _holds_files(htype.item) else SampleColumn(f, "json")
    if htype.sql == "json":
        return SampleColumn(f, "json")
    if htype.scalar is not None:
        return _scalar(f, htype.scalar)
    layout = htype.layout
    if isinstance(layout, Dense):
        shape = layout.shape if 0 not in layout.shape else None
        return SampleColumn(f, "array", str(layout.dtype), shape)
    if htype.value_dtype and _is_one_array(htype):
        return SampleColumn(f, "array", htype.value_dtype)
    return SampleColumn(f, "text" if htype.axes == () else "json")


def _is_one_array(htype: Htype) -> bool:
    """Return whether each value is one array, unlike polygons, which are lists of arrays."""
    return getattr(htype.layout, "ndim", 0) > 0


def _scalar(f: Field, dtype: str) -> SampleColumn:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return SampleColumn(f, "bool", dtype)
    if kind in "iu":
        return SampleColumn(f, "int", dtype)
    if kind == "m":
        return SampleColumn(f, "int", "int64")
    return SampleColumn(f, "float", dtype) if kind == "f" else SampleColumn(f, "text")


def _holds_files(htype: Htype) -> bool:
    return _holds_files(htype.item) if htype.item is not None else is_file(htype)


def _json(value: Any) -> bytes:
    return json.dumps(with_shapes(value), ensure_ascii=False, separators=(",", ":")).encode()


def _npy(value: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(value), allow_pickle=False)
    return file.getvalue()
