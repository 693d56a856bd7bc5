"""The source that reads columns of arrays in blocks of rows, from files or other libraries.

A source has one or more parts, such as files or splits, with the same columns. The rows of the
parts are concatenated.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from deeplake_lite.codecs.limits import DEFAULT_LIMITS, Limits
from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes import ClassLabel, Htype, Sequence, resolve
from deeplake_lite.htypes.base import to_code
from deeplake_lite.ingest.bad_values import read_column, readable_parts
from deeplake_lite.ingest.source import BadValue, Block, RowNames, Skipped
from deeplake_lite.ingest.tables.arrays import htype_of_array

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from collections.abc import Sequence as Shape

BLOCK_ROWS = 4_096
BLOCK_BYTES = 32 * 2**20


class ArrayColumn(Protocol):
    """A column whose rows are read in blocks."""

    def __len__(self) -> int: ...

    @property
    def htype(self) -> Htype:
        """Type of the column. Raises SchemaError if no type can store its values."""

    @property
    def row_bytes(self) -> int:
        """Size of a value in bytes, or an estimate of it if values vary in size."""

    def read(self, start: int, stop: int) -> Any:
        """Return the values of rows `start` up to `stop`. Rows are read in ascending order."""


@dataclass(frozen=True)
class Part:
    """A part of a source: a file, a group or a split."""

    title: str
    """Name of the part in messages."""

    columns: Mapping[str, ArrayColumn]
    """Columns of the part, which all have the same length."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))


@dataclass(frozen=True)
class Constant:
    """A column with the same value in each row, such as the name of a split."""

    value: str
    rows: int
    htype: Htype
    row_bytes: int = 8

    def __len__(self) -> int:
        return self.rows

    def read(self, start: int, stop: int) -> list[str]:
        """Return the value for each of the given rows."""
        return [self.value] * (stop - start)


@dataclass(frozen=True)
class ArraySource:
    """The source for columns of arrays."""

    title: str
    """Name of the source in messages."""

    parts: tuple[Part, ...]
    """Parts of the source, at least one, whose rows are concatenated."""

    key: str | None = None
    """Name of the column that identifies rows, or None if there is no such column."""

    schema: Mapping[str, Any] = field(default_factory=dict)
    """Maps the names of columns to the types that the user declares."""

    fingerprint: str | None = None
    """A string that changes when the files change, or None for data in memory."""

    left_out: Collection[Skipped] = ()

    metadata: Mapping[str, object] = field(default_factory=dict)

    limits: Limits = DEFAULT_LIMITS
    """Limits on the memory for one value."""

    column_metadata: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Maps the names of columns to the metadata of the columns."""

    lineage: Mapping[str, object] = field(default_factory=dict)
    """The lineage that an export has recorded."""

    def __post_init__(self) -> None:
        first = self.parts[0]
        for part in self.parts:
            _check_lengths(part)
            if part.columns.keys() != first.columns.keys():
                raise InvalidValueError(
                    f"All parts must have the same columns, but {first.title} has "
                    f"{_quote_names(first.columns)}, and {part.title} has "
                    f"{_quote_names(part.columns)}. Ingest each part separately."
                )

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(map(len, self.parts))

    @cached_property
    def columns(self) -> dict[str, Htype]:
        """Type of each column."""
        return {name: self._htype(name) for name in self.parts[0].columns}

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Accept all columns, because arrays keep their dtype."""

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the rows from row `start` on, in blocks."""
        for part in self.parts:
            step = self._step(part)
            for at in range(start, len(part), step):
                stop = min(at + step, len(part))
                row_names, values = RowNames(part.title, at, stop - at), dict[str, Any]()
                errors = dict[int, BadValue]()
                for name, column in part.columns.items():
                    read, blank = partial(_read, column, at), self.columns[name].blank
                    values[name], bad = read_column(name, row_names, read, blank)
                    errors = bad | errors
                yield Block(values, row_names, errors=errors)
            start = max(start - len(part), 0)

    def _step(self, part: Part) -> int:
        """Return the number of rows in a block of a part.

        Raises TooLargeError if a single row exceeds the limits.
        """
        for name, column in part.columns.items():
            try:
                self.limits.check_bytes((column.row_bytes,), 1)
            except InvalidValueError as error:
                raise error.at(column=name) from None
        size = sum(column.row_bytes for column in part.columns.values())
        return int(np.clip(BLOCK_BYTES // max(size, 1), 1, BLOCK_ROWS))

    def _htype(self, name: str) -> Htype:
        """Return the type that the user declares for a column, or a type that fits all parts."""
        columns = [part.columns[name] for part in self.parts]
        declared = resolve(self.schema[name]) if name in self.schema else None
        if declared is not None and declared != ClassLabel():
            return declared
        try:
            htype = reduce(partial(_common, name), [column.htype for column in columns])
        except SchemaError as error:
            raise SchemaError(f"Column {name!r}: {error}") from None
        if declared is None or htype.sql != "text":
            return htype if declared is None or htype.classes is not None else declared
        values = {v for column in columns for block in blocks_of(column) for v in block}
        names = sorted(str(value) for value in values if value is not None)
        return ClassLabel(names, nullable=htype.nullable)


def _read(column: ArrayColumn, at: int, start: int, stop: int) -> Any:
    """Return the values of a column's rows from `at` + `start` up to `at` + `stop`."""
    return column.read(at + start, at + stop)


def blocks_of(column: ArrayColumn) -> Iterator[Any]:
    """Yield the values of a column in blocks, without those that cannot be read."""
    step = int(np.clip(BLOCK_BYTES // max(column.row_bytes, 1), 1, BLOCK_ROWS))
    for at in range(0, len(column), step):
        for _, _, values in readable_parts(column.read, at, min(at + step, len(column))):
            if not isinstance(values, InvalidValueError):
                yield values


def has_nat(column: ArrayColumn) -> bool:
    """Read a column, and return whether any of its times is NaT (not a time)."""
    return any(np.isnat(block).any() for block in blocks_of(column))


def array_htype(dtype: np.dtype[Any], shape: Shape[int | None]) -> Htype:
    """Return the column type for rows with a dtype and shape. 0 stands for an axis of any size.

    Raises
    ------
    SchemaError
        If no type can store the dtype.

    Examples
    --------
    >>> array_htype(np.dtype(">f4"), (0, 3)), array_htype(np.dtype("U3"), (2, 2))
    (Array('float32', (None, 3)), Sequence(Sequence(Text())))
    """
    if dtype.kind in "US":
        htype = htype_of_array(dtype, ())
        for _ in shape:
            htype = Sequence(htype)
        return htype
    return htype_of_array(dtype, tuple(size or None for size in shape))


def _common(name: str, a: Htype, b: Htype) -> Htype:
    """Return a type that can store the values of two parts exactly.

    Raises SchemaError if there is none.
    """
    nullable = a.nullable or b.nullable
    a, b = replace(a, nullable=nullable), replace(b, nullable=nullable)
    common = a if a == b else _common_array(a, b) or a.united(b)
    if common is None:
        raise SchemaError(
            f"all parts must have the same type, but some have {a} and others {b}. Declare a "
            f"type: schema={{{name!r}: {to_code(a)}}}."
        )
    return replace(common, nullable=nullable)


def _common_array(a: Htype, b: Htype) -> Htype | None:
    """Return a type that can store the values of two types of arrays or numbers, or None.

    >>> from deeplake_lite.htypes import Array
    >>> _common_array(Array("int8", (2, 3)), Array("uint8", (4, 3)))
    Array('int16', (None, 3))
    """
    for htype in (a, b):
        if htype.scalar is None and not htype.is_array:
            return None
    if a.axes is None or b.axes is None or len(a.axes) != len(b.axes):
        return None
    kinds = {np.dtype(a.value_dtype).kind, np.dtype(b.value_dtype).kind}
    common = (
        np.promote_types(a.value_dtype, b.value_dtype)
        if kinds <= {*"iu"} or len(kinds) == 1
        else None
    )
    # There is no common integer type for int64 and uint64.
    if common is None or (common.kind == "f" and "f" not in kinds):
        return None
    axes = [m if m == n else None for m, n in zip(a.axes, b.axes, strict=True)]
    return htype_of_array(common, tuple(axes))


def _check_lengths(part: Part) -> None:
    """Raise InvalidValueError if columns have different lengths, or if there are no columns."""
    lengths = {name: len(column) for name, column in part.columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r}: {n:,}" for name, n in lengths.items())
        raise InvalidValueError(
            f"Columns must have the same length, but in {part.title} their lengths are {listed}. "
            "Leave some columns out, or truncate them."
        )
    if not lengths:
        raise InvalidValueError(
            f"A source must have at least one column, but {part.title} has none. Check the data."
        )


def _quote_names(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
