"""Serialization of a view's rows as ``tf.train.Example``, and the file with the columns' types.

An Example holds lists of bytes, int64 and float32. Image files are written as they are stored,
strings and JSON as UTF-8, classes as their numbers, and times and booleans as integers. Nulls have
no feature. See `flat_arrays` for arrays and lists.
"""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.arrow.cells import array_of
from deeplake_lite.dataset.export.portable import metadata_of
from deeplake_lite.dataset.export.shards.flat_arrays import Flat, flatten
from deeplake_lite.dataset.export.shards.tf_example import serialize_example
from deeplake_lite.errors import ExportWarning, InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field

SIDECAR = "deeplake_lite.json"
"""Name of the file that records the lake's types."""

WIDE = ("float64", "complex128")
"""Dtypes whose numbers are rounded to float32, the only floating-point type of an Example."""


def warn_of_losses(view: View, method: str) -> None:
    """Warn about columns whose numbers are rounded to float32."""
    wide = [f.name for f in view.schema if f.htype.value_dtype in WIDE]
    if wide:
        warnings.warn(
            f"{method} rounds {', '.join(map(repr, wide))} to float32, because an Example has no "
            "float64.",
            ExportWarning,
            stacklevel=6,
        )


def sidecar(view: View) -> bytes:
    """Return the content of the file that records a view's types and metadata."""
    content = {
        "format": 1,
        "columns": {f.name: f.htype.get_config() for f in view.schema},
        **metadata_of(view),
    }
    return (json.dumps(content, indent=1, ensure_ascii=True) + "\n").encode()


def serialize_rows(fields: Sequence[Field], cells: Mapping[str, Cells]) -> list[bytes]:
    """Return a serialized Example for each row.

    Raises
    ------
    InvalidValueError
        If a number exceeds the range of float32.
    """
    columns = [_Column.of(f, array_of(f.htype, cells[f.name])) for f in fields]
    count = len(cells[fields[0].name])
    rows = list[bytes]()
    for i in range(count):
        features: dict[str, Any] = {}
        for column in columns:
            column.add(i, features)
        rows.append(serialize_example(features))
    return rows


class _Column:
    """The features of a column in a block of rows."""

    def __init__(self, present: Sequence[bool] | None, features: Sequence[_Feature]) -> None:
        self._present, self._features = present, features

    @classmethod
    def of(cls, f: Field, array: pa.Array) -> _Column:
        try:
            flats = flatten(array, f.name)
        except InvalidValueError as error:
            raise error.at(column=f.name) from None
        present = array.is_valid().to_pylist() if array.null_count else None
        return cls(present, [_Feature(flat) for flat in flats])

    def add(self, row: int, features: dict[str, Any]) -> None:
        """Add the features of a row, unless the row is null."""
        if self._present is not None and not self._present[row]:
            return
        for feature in self._features:
            feature.add(row, features)


class _Feature:
    """The values of a feature in a block of rows."""

    def __init__(self, flat: Flat) -> None:
        self._name, self._is_valid = flat.name, flat.is_valid
        self._ends = np.concatenate([[0], np.cumsum(flat.counts)]).tolist()
        self._values = flat.values
        self._data: memoryview | None = None
        if not isinstance(flat.values, np.ndarray):
            _, offsets, data = flat.values.buffers()
            stop = flat.values.offset + len(flat.values) + 1
            self._offsets = np.frombuffer(offsets, np.int64)[flat.values.offset : stop].tolist()
            self._data = memoryview(data if data is not None else b"")

    def add(self, row: int, features: dict[str, Any]) -> None:
        start, stop = self._ends[row], self._ends[row + 1]
        if self._data is not None:
            offsets = self._offsets
            features[self._name] = [
                self._data[offsets[i] : offsets[i + 1]] for i in range(start, stop)
            ]
            return
        values = self._values[start:stop]
        if not (self._is_valid and values.all()):
            features[self._name] = values
