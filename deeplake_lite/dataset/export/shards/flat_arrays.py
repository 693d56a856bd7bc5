"""Conversion of Arrow arrays to the flat lists of bytes, int64 and float32 of an Example.

Each list is a feature of the Example. The features of a column ``x`` have the names that TensorFlow
Datasets uses, wherever it has such features:

=========================  =======================================================================
``x``                      the values, in C order
``x/value``, ``x/shape``   the values and the shape, if several axes vary
``x/ragged_flat_values``   the values of nested lists
``x/ragged_row_lengths_0`` the lengths of the inner lists (``_1``: of the lists in these, etc.)
``x/valid_0``              1 or 0 for each item of a list, only in rows with a null item
=========================  =======================================================================

`flatten` is the inverse of `deeplake_lite.ingest.shards.flat_columns.unflatten`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.cells import numbers_in
from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    type Counts = NDArray[np.int64]

FLAT, LENGTHS, VALID = "ragged_flat_values", "ragged_row_lengths_", "valid_"

PARTS = {"data": "value", "shape": "shape"}
"""Maps the fields of the struct that holds an array with several variable axes to the names of the
fields' features."""


@dataclass(frozen=True)
class Place:
    """The position of an array within nested lists, which determines the names of its features."""

    name: str
    """Name of the array's feature."""

    level: int = -1
    """Number of lists of varying length around the array, minus 1."""

    depth: int = -1
    """Number of lists around the array, minus 1."""

    is_ragged: bool = False
    """Whether the array is within lists whose lengths are written."""

    @property
    def is_row(self) -> bool:
        """Whether the array has one element per row, because it is not within a list."""
        return self.depth < 0

    @property
    def leaf(self) -> str:
        """Name of the feature with the values."""
        return f"{self.name}/{FLAT}" if self.is_ragged else self.name

    @property
    def lengths(self) -> str:
        """Name of the feature with the lengths of lists."""
        return f"{self.name}/{LENGTHS}{max(self.level, 0)}"

    @property
    def valid(self) -> str:
        """Name of the feature that marks null items."""
        return f"{self.name}/{VALID}{self.depth}"

    def part(self, name: str) -> Place:
        """Return the position of a field of the array's structs."""
        return replace(self, name=f"{self.name}/{PARTS.get(name, name)}")

    def in_fixed(self) -> Place:
        """Return the position of the items of the array's fixed-size lists."""
        return replace(self, depth=self.depth + 1)

    def in_list(self, kind: pa.DataType) -> Place:
        """Return the position of the items of the array's lists of variable length.

        `kind` is the Arrow type of the lists.
        """
        is_ragged = self.is_ragged or self.has_lengths(kind)
        return Place(self.name, self.level + 1, self.depth + 1, is_ragged)

    def has_lengths(self, kind: pa.DataType) -> bool:
        """Return whether the lengths of lists must be written.

        Otherwise, they follow from the number of values in a row.
        """
        return not self.is_row or unit_of(kind.value_type) == 0


@dataclass(frozen=True)
class Flat:
    """The values of one feature in all rows."""

    name: str
    """Name of the feature."""

    values: Any
    """The values of all rows: int64, float32, or an Arrow array of bytes."""

    counts: Counts
    """Number of values of each row."""

    is_valid: bool = False
    """Whether the values are flags: 1 for items and 0 for nulls."""


def flatten(array: pa.Array, name: str) -> list[Flat]:
    """Return the features of a column, a `Flat` each. Callers ignore the values of null rows.

    Raises
    ------
    InvalidValueError
        If a number exceeds the range of float32.

    Examples
    --------
    >>> kind = pa.large_list(pa.large_list(pa.int64()))
    >>> for flat in flatten(pa.array([[[1, 2], []], [[3]]], kind), "x"):
    ...     print(flat.name, flat.values, flat.counts)
    x/ragged_row_lengths_0 [2 0 1] [2 1]
    x/ragged_flat_values [1 2 3] [2 1]
    """
    return list(_flatten(array, Place(name), np.ones(len(array), np.int64)))


def unit_of(kind: pa.DataType) -> int:
    """Return the number of values or list lengths that one element of a type adds to a feature.

    >>> unit_of(pa.list_(pa.list_(pa.int8(), 3), 2)), unit_of(pa.list_(pa.int8()))
    (6, 1)
    """
    if isinstance(kind, pa.BaseExtensionType):
        return unit_of(kind.storage_type)
    if kinds.is_fixed_size_list(kind):
        return int(kind.list_size) * unit_of(kind.value_type)
    return unit_of(kind.field(0).type) if kinds.is_struct(kind) else 1


def _flatten(array: pa.Array, place: Place, counts: Counts) -> Iterator[Flat]:
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        array, kind = array.storage, kind.storage_type
    if not place.is_row and array.null_count:
        valid = array.is_valid().cast(pa.int64()).to_numpy()
        yield Flat(place.valid, valid, counts, is_valid=True)
    if kinds.is_dictionary(kind):
        yield Flat(place.leaf, numbers_in(array.indices).astype(np.int64), counts)
    elif kinds.is_fixed_size_list(kind):
        size = kind.list_size
        items = array.values.slice(array.offset * size, len(array) * size)
        yield from _flatten(items, place.in_fixed(), counts * size)
    elif kinds.is_large_list(kind):
        offsets = array.offsets.to_numpy()
        lengths = np.diff(offsets)
        if place.has_lengths(kind):
            yield Flat(place.lengths, lengths, counts)
        items = array.values.slice(offsets[0], offsets[-1] - offsets[0])
        yield from _flatten(items, place.in_list(kind), sum_runs(lengths, counts))
    elif kinds.is_struct(kind):
        for i, f in enumerate(kind):
            yield from _flatten(array.field(i), place.part(f.name), counts)
    else:
        yield Flat(place.leaf, _leaf(array), counts)


def sum_runs(values: Counts, counts: Counts) -> Counts:
    """Return the sums of runs of consecutive values. `counts` has the number of values in each run.

    >>> sum_runs(np.array([1, 2, 3]), np.array([2, 0, 1]))
    array([3, 0, 3])
    """
    totals = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    ends = np.cumsum(counts)
    return np.asarray(totals[ends] - totals[ends - counts], np.int64)


def _leaf(array: pa.Array) -> Any:
    """Return bytes as an Arrow array, and numbers as int64 or float32."""
    kind = array.type
    if kinds.is_large_string(kind) or kinds.is_large_binary(kind):
        return array.cast(pa.large_binary())
    if kinds.is_boolean(kind):
        return pc.fill_null(array, False).to_numpy(zero_copy_only=False).astype(np.int64)
    values = numbers_in(array)
    if kinds.is_floating(kind):
        return _as_float32(values)
    return values.view(np.int64) if values.dtype.itemsize == 8 else values.astype(np.int64)


def _as_float32(values: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
    lost = np.isinf(rounded) & np.isfinite(values)
    if lost.any():
        raise InvalidValueError(
            f"An Example stores numbers as float32, so their magnitude must be at most 3.4e38, but "
            f"one number is {values[lost][0]}. Leave the column out, or scale its numbers."
        )
    return rounded
