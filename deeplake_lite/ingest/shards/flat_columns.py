"""Building Arrow arrays from the flat lists that an export writes, which reverses `flatten`.

An export writes a column of nested lists as several flat lists; see
`dataset.export.shards.flat_arrays`. A `Place` is the position of an array within nested lists. It
determines the names of the features that store the array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.dataset.export.shards.flat_arrays import Place, flatten, sum_runs, unit_of
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    type Counts = NDArray[np.int64]


MAX_EMPTY_AXIS = 1_000_000
"""Maximum number of empty arrays in a block, since even a tiny file can claim to have many."""


@dataclass(frozen=True)
class FlatRows:
    """The features that some rows have for one column."""

    rows: Sequence[Mapping[str, Any]]
    """A dict for each row, from names of features to lists of bytes or arrays of numbers."""

    def counts(self, name: str) -> Counts:
        """Return the number of values that each row has for a feature.

        Raises ValueError if a row lacks the feature.
        """
        missing = next((row for row in self.rows if name not in row), None)
        if missing is not None:
            raise ValueError(
                f"a record must have the feature {name!r}, but this record only has "
                f"{', '.join(map(repr, sorted(missing)))}"
            )
        return np.array([len(row[name]) for row in self.rows], np.int64)

    def values(self, name: str, counts: Counts) -> Any:
        """Return the values of a feature in all rows, as a list of bytes or as an array.

        Raises ValueError if the numbers of values differ from `counts`.
        """
        actual_counts = self.counts(name)
        if (actual_counts != counts).any():
            at = int(np.flatnonzero(actual_counts != counts)[0])
            raise ValueError(
                f"feature {name!r} must have {pluralize(int(counts[at]), 'value')}, but it has "
                f"{actual_counts[at]:,}"
            )
        parts = [row[name] for row in self.rows if len(row[name])]
        if parts and all(isinstance(part, list) for part in parts):
            return [value for part in parts for value in part]
        if any(isinstance(part, list) for part in parts):
            raise ValueError(f"feature {name!r} must have numbers, but it has bytes")
        return np.concatenate(parts) if parts else []

    def numbers(self, name: str, counts: Counts, kind: str = "i") -> NDArray[Any]:
        """Return the numbers of a feature in all rows.

        Raises ValueError if they have another type.
        """
        values = self.values(name, counts)
        if isinstance(values, list) and values:
            raise ValueError(f"feature {name!r} must have numbers, but it has bytes")
        numbers = np.asarray(values, np.int64) if isinstance(values, list) else values
        if len(numbers) and numbers.dtype.kind != kind:
            raise ValueError(
                f"feature {name!r} must have {'integers' if kind == 'i' else 'floats'}, but it has "
                f"{'floats' if kind == 'i' else 'integers'}"
            )
        return numbers

    def valid(self, name: str, counts: Counts) -> NDArray[np.bool_] | None:
        """Return an array that is True for items that are not null, or None if no item is null."""
        if not any(name in row for row in self.rows):
            return None
        rows = [
            {name: row.get(name, np.ones(count, np.int64))}
            for row, count in zip(self.rows, counts.tolist(), strict=True)
        ]
        return np.asarray(FlatRows(rows).numbers(name, counts) != 0)


def feature_names(empty: pa.Array, name: str) -> tuple[str, ...]:
    """Return the names of the features of a column, given an empty array of its type."""
    names = [flat.name for flat in flatten(empty, name)]
    return (*names, *dict.fromkeys(_valid_names(empty.type, Place(name))))


def _valid_names(kind: pa.DataType, place: Place) -> list[str]:
    names = [] if place.is_row else [place.valid]
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if kinds.is_fixed_size_list(kind):
        return names + _valid_names(kind.value_type, place.in_fixed())
    if kinds.is_large_list(kind):
        return names + _valid_names(kind.value_type, place.in_list(kind))
    if kinds.is_struct(kind):
        return names + [n for f in kind for n in _valid_names(f.type, place.part(f.name))]
    return names


def unflatten(
    kind: pa.DataType, name: str, rows: FlatRows, classes: Sequence[str] = ()
) -> pa.Array:
    """Build the array of a column from flat lists, for rows that are not null.

    Raises
    ------
    ValueError
        If the lists contradict each other or the Arrow type `kind`.

    Examples
    --------
    >>> kind = pa.large_list(pa.large_list(pa.int64()))
    >>> row = {"x/ragged_row_lengths_0": np.array([2, 0]), "x/ragged_flat_values": np.array([5, 6])}
    >>> unflatten(kind, "x", FlatRows([row])).to_pylist()
    [[[5, 6], []]]
    """
    build = _Builder(rows, classes)
    return build.array(kind, Place(name), np.ones(len(rows.rows), np.int64))


@dataclass(frozen=True)
class _Builder:
    """A builder of arrays of nested types, which starts with the outermost type."""

    rows: FlatRows
    classes: Sequence[str]

    def array(self, kind: pa.DataType, place: Place, counts: Counts) -> pa.Array:
        if isinstance(kind, pa.BaseExtensionType):
            storage = self.array(kind.storage_type, place, counts)
            return pa.ExtensionArray.from_storage(kind, storage)
        array = self._whole(kind, place, counts)
        valid = None if place.is_row else self.rows.valid(place.valid, counts)
        if valid is None or valid.all():
            return array
        return array.take(pa.array(np.arange(len(array)), mask=~valid))

    def _whole(self, kind: pa.DataType, place: Place, counts: Counts) -> pa.Array:
        if kinds.is_fixed_size_list(kind):
            size, count = kind.list_size, int(counts.sum())
            if not size and count > MAX_EMPTY_AXIS:
                raise ValueError(
                    f"a block may have at most {MAX_EMPTY_AXIS:,} empty arrays, but it has "
                    f"{count:,}"
                )
            items = self.array(kind.value_type, place.in_fixed(), counts * size)
            return pa.FixedSizeListArray.from_arrays(items, size) if size else \
                pa.array([[]] * count, kind)  # fmt: skip
        if kinds.is_large_list(kind):
            return self._lists(kind, place, counts)
        if kinds.is_struct(kind):
            parts = [self.array(f.type, place.part(f.name), counts) for f in kind]
            return pa.StructArray.from_arrays(parts, [f.name for f in kind])
        if kinds.is_dictionary(kind):
            return self._classes(self.rows.numbers(place.leaf, counts))
        return self._leaf(kind, place, counts)

    def _lists(self, kind: pa.DataType, place: Place, counts: Counts) -> pa.Array:
        inner = place.in_list(kind)
        if place.has_lengths(kind):
            lengths = self.rows.numbers(place.lengths, counts)
            if (lengths < 0).any() or (lengths > 2**31).any():
                raise ValueError(
                    f"feature {place.lengths!r} must have valid list lengths, but one is out of "
                    "range"
                )
        else:
            unit, sizes = unit_of(kind.value_type), self._sizes(kind.value_type, inner)
            if (sizes % unit).any():
                raise ValueError(
                    f"the number of values must be a multiple of {unit:,} in each row, but in one "
                    "row it is not"
                )
            lengths = sizes // unit
        items = self.array(kind.value_type, inner, sum_runs(lengths, counts))
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        return pa.LargeListArray.from_arrays(pa.array(offsets), items)

    def _sizes(self, kind: pa.DataType, place: Place) -> Counts:
        """Return the number of values of a type in each row or, for lists, the number of lists."""
        if isinstance(kind, pa.BaseExtensionType):
            return self._sizes(kind.storage_type, place)
        if kinds.is_fixed_size_list(kind):
            return self._sizes(kind.value_type, place.in_fixed())
        if kinds.is_large_list(kind):
            return self.rows.counts(place.lengths)
        if kinds.is_struct(kind):
            return self._sizes(kind.field(0).type, place.part(kind.field(0).name))
        return self.rows.counts(place.leaf)

    def _classes(self, numbers: NDArray[Any]) -> pa.Array:
        wrong = (numbers < 0) | (numbers >= len(self.classes))
        if wrong.any():
            raise ValueError(
                f"a class number must be from 0 to {len(self.classes) - 1:,}, but it is "
                f"{numbers[wrong][0]}"
            )
        return pa.DictionaryArray.from_arrays(
            pa.array(numbers.astype(np.int32)), pa.array(self.classes, pa.string())
        )

    def _leaf(self, kind: pa.DataType, place: Place, counts: Counts) -> pa.Array:
        if kinds.is_large_binary(kind) or kinds.is_large_string(kind):
            values = self.rows.values(place.leaf, counts)
            if not isinstance(values, list):
                raise ValueError(f"feature {place.leaf!r} must have bytes, but it has numbers")
            try:
                return pa.array(values, pa.large_binary()).cast(kind)
            except pa.ArrowInvalid:
                raise ValueError(
                    f"feature {place.leaf!r} must be UTF-8 text, but it cannot be decoded"
                ) from None
        if kinds.is_floating(kind):
            numbers = self.rows.numbers(place.leaf, counts, "f").astype(kind.to_pandas_dtype())
            return pa.array(numbers)
        return _integers(self.rows.numbers(place.leaf, counts), kind, place)


def _integers(numbers: NDArray[Any], kind: pa.DataType, place: Place) -> pa.Array:
    """Convert integers to an integer, boolean or time type of Arrow.

    Raises ValueError if one does not fit.
    """
    if kinds.is_boolean(kind):
        if not np.isin(numbers, (0, 1)).all():
            raise ValueError(
                f"feature {place.leaf!r} must only contain 0 and 1, but it has other values"
            )
        return pa.array(numbers != 0)
    if kinds.is_uint64(kind):  # written as int64 with the same bits
        return pa.array(numbers.view(np.uint64))
    try:
        return pa.array(numbers.astype(np.int64)).cast(kind)
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"feature {place.leaf!r} must fit {kind}, but it does not: {error}"
        ) from None
