"""The source for Arrow record batches. CSV, Parquet and several other formats use it.

The batches are read several times: first to collect the names of classes, and then to ingest the
rows. This way, the rows need not all be in memory.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite import checks
from deeplake_lite.dataset.arrow.htypes import htype_of
from deeplake_lite.dataset.arrow.types import has_fractions, is_text
from deeplake_lite.dataset.write.tables import as_exported, exported_htype, unnamed_indexes
from deeplake_lite.errors import InvalidValueError, NotFoundError, OptionError
from deeplake_lite.htypes import ClassLabel, Htype, resolve
from deeplake_lite.ingest.bad_values import read_column
from deeplake_lite.ingest.parts import Part, part_of
from deeplake_lite.ingest.source import BadValue, Block, RowNames, Skipped
from deeplake_lite.ingest.tables.columns import (
    check_unrounded,
    class_label,
    holds_strings,
    texts_in,
    values_of,
)
from deeplake_lite.ingest.tables.pandas_index import kept_indexes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from deeplake_lite.ingest.huggingface.features import FeatureColumn
    from deeplake_lite.ingest.named_files import AllowedPaths

    type Read = Callable[[list[str]], Iterator[pa.RecordBatch]]

BATCH_ROWS = 8_192
BATCH_BYTES = 32 * 2**20
"""Maximum size of a block in bytes."""


@dataclass(frozen=True)
class TabularSource:
    """The source for the rows of record batches, which are read when they are needed."""

    title: str
    """Name of the source in messages."""

    arrow: pa.Schema
    """The columns to ingest, with their Arrow types."""

    read: Read
    """Function that yields batches with the given columns, always in the same order."""

    key: str | None = None
    """Name of the column that identifies rows, or None if there is no such column."""

    rows: int | None = None
    """Number of rows, or None if it is unknown."""

    fingerprint: str | None = None
    """A string that changes when the files change, or None if there is no such string."""

    full: frozenset[str] = frozenset()
    """Names of columns that are known to have no nulls."""

    schema: Mapping[str, Any] = field(default_factory=dict)
    """Maps the names of columns to the types that the user declares."""

    features: Mapping[str, FeatureColumn] = field(default_factory=dict)
    """Maps the names of the columns that the metadata of the files describes to these columns."""

    left_out: Collection[Skipped] = ()

    metadata: Mapping[str, object] = field(default_factory=dict)

    base: str | None = None
    """Folder of the table, from which relative paths of files start."""

    allowed_paths: AllowedPaths | None = None
    """The files that paths in the table may lead to, or None for all files. If the user declares
    the type of a column of strings, the column may have any path."""

    divide: Callable[[], list[tuple[Read, int]]] | None = None
    """Function that returns functions like `read` for parts of the rows, with the numbers of rows.
    None if the rows can only be read together."""

    first: int = 0
    """Number of the first row in messages."""

    def divided(self) -> list[Part]:
        """Return parts of the rows as sources of their own."""
        parts, first = list[Part](), self.first
        for read, rows in self.divide() if self.divide is not None else ():
            part = part_of(
                self, "columns", read=read, rows=rows, first=first, divide=None, left_out=()
            )
            parts.append(Part(part, rows))
            first += rows
        return parts

    @cached_property
    def columns(self) -> dict[str, Htype]:
        """Type of each column."""
        return {f.name: self._htype(f) for f in self.arrow}

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Raise SchemaError if float64 would round a decimal in one of the columns `names`."""
        for f in (self.arrow.field(name) for name in names):
            if exported_htype(f) is None and has_fractions(f.type):
                row = 0
                for batch in self.read([f.name]):
                    check_unrounded(batch.column(0), f.name, self.columns[f.name], row)
                    row += batch.num_rows

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the rows from row `start` on, in blocks."""
        names, row = self.arrow.names, 0
        for batch in self.read(names):
            skip = min(max(start - row, 0), batch.num_rows)
            row += skip
            yield from self.blocks_in(batch.slice(skip), self.first + row)
            row += batch.num_rows - skip

    def blocks_in(self, batch: pa.RecordBatch, row: int) -> Iterator[Block]:
        """Yield the rows of a batch in blocks. `row` is the number of its first row."""
        for part in split(batch):
            row_names = RowNames(self.title, row, part.num_rows)
            values, errors = self._all_values(part, self.arrow.names, row_names)
            yield Block(values, row_names, self.base, errors, self._allowed_paths)
            row += part.num_rows

    @cached_property
    def _allowed_paths(self) -> dict[str, AllowedPaths]:
        """Maps names of columns to the files that their paths may lead to."""
        if self.allowed_paths is None:
            return {}
        trusted = {f.name for f in self.arrow if f.name in self.schema and holds_strings(f.type)}
        return {name: self.allowed_paths for name in self.arrow.names if name not in trusted}

    def _all_values(
        self, batch: pa.RecordBatch, names: Iterable[str], row_names: RowNames
    ) -> tuple[dict[str, Any], dict[int, BadValue]]:
        """Return the values of the columns `names`, and the bad values by position of the row."""
        values, errors = dict[str, Any](), dict[int, BadValue]()
        for name in names:
            read, blank = partial(self._some_values, batch, name), self.columns[name].blank
            values[name], bad = read_column(name, row_names, read, blank)
            errors = bad | errors
        return values, errors

    def _some_values(self, batch: pa.RecordBatch, name: str, start: int, stop: int) -> Any:
        """Return the values of a column in the rows from `start` up to `stop`."""
        return self._values(batch.slice(start, stop - start), name)

    def _values(self, batch: pa.RecordBatch, name: str) -> Any:
        """Return the values of a column in a form that its type can encode."""
        f = self.arrow.field(name)
        if name in self.features and not self._takes_numbers(name):
            return self.features[name].values(batch.column(name))
        return as_exported(
            values_of(batch.column(name), exported_htype(f) or self.columns[name]), f
        )

    def _takes_numbers(self, name: str) -> bool:
        """Return whether the user declares a type of numbers for a column of classes."""
        is_class = self.features[name].htype.classes is not None
        return is_class and self.columns[name].scalar is not None

    def _htype(self, f: pa.Field) -> Htype:
        """Return the type that the user declares for a column, or else the type for Arrow's."""
        declared = resolve(self.schema[f.name]) if f.name in self.schema else None
        if f.name in self.features and declared in (None, ClassLabel()):
            nullable = f.name not in self.full and f.name != self.key
            return self.features[f.name].type_of(nullable=nullable)
        if declared is None:
            declared = exported_htype(f)
        if declared is not None and declared != ClassLabel():
            return declared
        nullable = f.nullable and f.name not in self.full and f.name != self.key
        has_text = is_text(f.type.value_type if kinds.is_dictionary(f.type) else f.type)
        if has_text and (declared is not None or kinds.is_dictionary(f.type)):
            return self._classes(f.name, nullable)
        if declared:
            return replace(declared, nullable=nullable)
        try:
            return htype_of(f.type, nullable=nullable)
        except InvalidValueError as error:
            raise error.at(column=f.name) from None

    def _classes(self, column: str, nullable: bool) -> ClassLabel:
        """Return a type whose classes are the strings of a column.

        The entries of Arrow dictionaries come first, then all other strings in sorted order.
        """
        ordered: dict[str, None] = {}
        texts: set[str | None] = set()
        for batch in self.read([column]):
            array = batch.column(0)
            if kinds.is_dictionary(array.type):
                ordered.update(dict.fromkeys(text for text in texts_in(array.dictionary) if text))
            else:
                texts.update(texts_in(array.unique()))
        rest = class_label(texts)
        names = dict.fromkeys([*ordered, *rest.names])
        return ClassLabel(list(names), nullable=nullable or rest.nullable)


def select_columns(schema: pa.Schema, columns: Sequence[str] | None) -> pa.Schema:
    """Return a schema with only the given columns.

    By default, it has all columns, except for row numbers that pandas has added.

    Raises
    ------
    NotFoundError
        If a column does not exist.
    OptionError
        If a column is given twice, or if `columns` is not a list of names.
    InvalidValueError
        If the schema has two columns with the same name.
    """
    if columns is None:
        kept = kept_indexes(schema)
        indexes = [name for name in unnamed_indexes(schema) if name not in kept]
        names = [name for name in schema.names if name not in indexes]
    else:
        names = [*checks.names("columns", columns)]
    for name in names:
        if name not in schema.names:
            raise NotFoundError.named("column", name, schema.names)
        if schema.names.count(name) > 1:
            raise InvalidValueError(
                f"Column names must be unique, but {name!r} occurs twice. Rename one of them."
            )
        if names.count(name) > 1:
            raise OptionError(
                f"columns= must name each column only once, but it names {name!r} twice. Remove "
                "the duplicate."
            )
    return pa.schema([schema.field(name) for name in names])


def split(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a batch in parts with at most `BATCH_ROWS` rows.

    Their size is about `BATCH_BYTES` at most, unless a single row is larger.

    >>> [part.num_rows for part in split(pa.record_batch({"x": range(10_000)}))]
    [8192, 1808]
    """
    size = max(batch.nbytes / max(batch.num_rows, 1), 1)
    rows = int(np.clip(BATCH_BYTES / size, 1, BATCH_ROWS))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


@contextmanager
def reading(path: str, hint: str = "Check the file.") -> Iterator[None]:
    """Turn Arrow's errors into an InvalidValueError that names the file and ends with `hint`."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeEncodeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidValueError(f"{path!r} cannot be read: {reason.rstrip('.')}. {hint}") from error


def locate_errors(
    path: str, batches: Iterable[pa.RecordBatch], first: int = 0
) -> Iterator[pa.RecordBatch]:
    """Yield the same batches. If one cannot be read, the error names the file and the row.

    `first` is the number of the first row.
    """
    iterator, row = iter(batches), first
    while True:
        with reading(f"{path}, from row {row:,} on" if row else path):
            batch = next(iterator, None)
        if batch is None:
            return
        yield batch
        row += batch.num_rows
