"""The source for formats whose shards contain samples.

A sample is a dict that maps columns to bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.dataset.export.shards.splits import SPLIT
from deeplake_lite.errors import SchemaError
from deeplake_lite.htypes import Array, ClassLabel, Htype, Image, Scalar
from deeplake_lite.ingest.files import fingerprint
from deeplake_lite.ingest.parts import Part, part_of
from deeplake_lite.ingest.shards.unfit import UnfitError
from deeplake_lite.ingest.source import Block, RowNames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from deeplake_lite.ingest.shards.notes import Note
    from deeplake_lite.ingest.source import Skipped

BLOCK_ROWS = 1_024
BLOCK_BYTES = 32 * 2**20
"""Maximum size of all samples in a block in bytes, unless a single sample is larger."""

READ_BYTES = 2**20
"""Number of bytes of samples that are read at a time, so that they stay in the processor's cache
until they are decoded."""

SAMPLED = 100
"""Number of samples from which types are inferred if the format does not determine them."""

_ERRORS = (ValueError, ArithmeticError, RecursionError, LookupError, TypeError)


@dataclass(frozen=True)
class Encoding:
    """The way in which the values of a column are stored."""

    decode: Callable[[memoryview], Any]
    """Function that converts the bytes of a value to the value, or raises UnfitError."""

    htype: Htype | Callable[[Sequence[Any]], Htype]
    """Type of the values, or a function that infers the type from the first values."""


class SampleShard(Protocol):
    """A file that contains samples."""

    @property
    def title(self) -> str:
        """Name of the shard in messages."""

    @property
    def split(self) -> str:
        """Name of the split to which the shard belongs, or "" if there are no splits."""

    @property
    def rows(self) -> int:
        """Number of samples in the shard."""

    @property
    def encodings(self) -> Mapping[str, Encoding]:
        """Maps the names of columns to their encodings."""

    def samples(self, first: int) -> Iterator[Mapping[str, memoryview | None] | str]:
        """Yield the samples from number `first` on, with an error message for an invalid sample.

        Raises InvalidValueError or StorageError if the file cannot be read.
        """


@dataclass(frozen=True)
class SampleSource:
    """The source for shards of samples."""

    title: str
    shards: Sequence[SampleShard]
    files: Sequence[str]
    """Paths of the files that identify the source, starting with its index."""

    note: Note
    """The types of the lake from which the shards were exported, if they were exported."""

    names: Sequence[str]
    """Names of the columns, except for the column of splits."""

    has_splits: bool = False
    key: str | None = None

    left_out: Sequence[Skipped] = ()

    @property
    def rows(self) -> int:
        """Number of samples."""
        return sum(shard.rows for shard in self.shards)

    @property
    def metadata(self) -> Mapping[str, object]:
        """The metadata of the lake from which the shards were exported."""
        return self.note.metadata.of_dataset

    @cached_property
    def fingerprint(self) -> str | None:
        """A string that changes when the files change."""
        return fingerprint(self.files[0], self.files)

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Accept all columns, because numbers have a dtype or are JSON."""

    @cached_property
    def columns(self) -> dict[str, Htype]:
        """Type of each column."""
        types = {name: self._type(name) for name in self.names}
        if self.has_splits:
            if SPLIT in types:
                raise SchemaError(
                    f"The names of the splits are stored in the column {SPLIT!r}, but the samples "
                    "have a column with that name. Ingest each split into its own lake."
                )
            names = dict.fromkeys(shard.split for shard in self.shards)
            types[SPLIT] = self.note.split or ClassLabel([*names])
        return self._in_order(types)

    def _in_order(self, types: dict[str, Htype]) -> dict[str, Htype]:
        """Return types in the lake's order of columns, if the shards were exported from a lake."""
        order = [name for name in self.note.columns if name in types]
        return {name: types[name] for name in [*order, *(n for n in types if n not in order)]}

    def _type(self, name: str) -> Htype:
        if (recorded := self.note.columns.get(name)) is not None:
            return recorded.htype
        encodings = [shard.encodings for shard in self.shards]
        htype = encodings[0][name].htype if encodings else Scalar("int64")
        return htype if isinstance(htype, Htype) else htype(self._first_values[name])

    @cached_property
    def _first_values(self) -> dict[str, list[Any]]:
        """Maps columns to lists of the valid values in the first samples."""
        shard = self.shards[0]
        values: dict[str, list[Any]] = {name: [] for name in self.names}
        size = 0
        for sample in islice(shard.samples(0), SAMPLED):
            if isinstance(sample, str):
                continue
            for name in self.names:
                if (data := sample[name]) is None:
                    continue
                try:
                    values[name].append(shard.encodings[name].decode(data))
                except _ERRORS:
                    continue
            if (size := size + _size(sample)) > BLOCK_BYTES:
                break
        return values

    def divided(self) -> list[Part]:
        """Return the shards as sources of their own."""
        return [
            Part(part_of(self, "columns", shards=(shard,), left_out=()), shard.rows)
            for shard in self.shards
        ]

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the samples from number `start` on."""
        before = 0
        for shard in self.shards:
            first = max(0, start - before)
            before += shard.rows
            if first >= shard.rows:
                continue
            rows, size = list[Any](), 0
            for sample in shard.samples(first):
                rows.append(sample)
                size += _size(sample)
                if len(rows) == BLOCK_ROWS or size >= BLOCK_BYTES:
                    yield self._block(shard, first, rows)
                    first += len(rows)
                    rows, size = [], 0
            if rows:
                yield self._block(shard, first, rows)

    def _block(
        self, shard: SampleShard, first: int, rows: Sequence[Mapping[str, memoryview | None] | str]
    ) -> Block:
        errors = {i: row for i, row in enumerate(rows) if isinstance(row, str)}
        columns: dict[str, list[Any]] = {}
        for name in self.names:
            decode, recorded = shard.encodings[name].decode, self.note.columns.get(name)
            values = columns[name] = []
            for i, row in enumerate(rows):
                value = None
                if not isinstance(row, str) and (data := row[name]) is not None:
                    try:
                        value = decode(data)
                        value = value if recorded is None else recorded.restore(value)
                    except _ERRORS as error:
                        text = brief(bytes(data[:60]), 60)
                        errors[i] = f"{name} must be {_rule(error)}, but it is {text}."
                values.append(value)
        if self.has_splits:
            columns[SPLIT] = [shard.split] * len(rows)
        for name, values in columns.items():
            for i in errors:
                values[i] = self.columns[name].blank
        return Block(
            {name: columns[name] for name in self.columns},
            RowNames(shard.title, first, len(rows)),
            errors=errors,
        )


def _size(sample: Mapping[str, memoryview | None] | str) -> int:
    """Return the size of all values in a sample, in bytes."""
    values = () if isinstance(sample, str) else sample.values()
    return sum(map(len, filter(None, values)))


def whole_bytes(data: memoryview) -> bytes:
    """Return the bytes of a memoryview. If it covers a whole `bytes` object, return the object.

    >>> value = b"abc"
    >>> whole_bytes(memoryview(value)) is value, whole_bytes(memoryview(value)[1:])
    (True, b'bc')
    """
    value = data.obj
    return value if type(value) is bytes and len(value) == data.nbytes else bytes(data)


def _rule(error: Exception) -> str:
    """Return a phrase that describes valid values, given the error for an invalid value."""
    return str(error) if isinstance(error, UnfitError) else "a value of its type"


def array_type(values: Sequence[Any]) -> Htype:
    """Infer the column type for arrays. Raises SchemaError if they have no common dtype.

    >>> array_type([np.zeros((2, 3), "u1"), np.zeros((4, 3), "i2")])
    Array('int16', (None, None))
    """
    if not values:
        return Array("float32", None)
    dtype = np.result_type(*{value.dtype for value in values})
    if any(value.dtype.kind in "iu" and dtype.kind == "f" for value in values):
        kinds = sorted({value.dtype.name for value in values})
        raise SchemaError(
            f"The arrays of a column must have a common dtype, but they have {', '.join(kinds)}. "
            "Declare a type: schema={…: dl.Array(…, None)}."
        )
    axes = {value.ndim for value in values}
    if axes == {0}:
        return Scalar(dtype.name)
    return Array(dtype.name, (None,) * axes.pop() if len(axes) == 1 else None)


def pixels_type(values: Sequence[Any]) -> Htype:
    """Infer the column type for pixels, which is `Image` if all are 8-bit grey or colour."""
    is_image = all(
        value.dtype == np.uint8 and (value.ndim == 2 or value.shape[2:] in ((3,), (4,)))
        for value in values
    )
    return Image("zstd") if is_image and values else array_type(values)


def nullable(htype: Htype) -> Htype:
    """Return a nullable copy of a type."""
    return replace(htype, nullable=True)
