"""Rows that come as Arrow record batches: what Parquet and CSV files have in common.

The batches are read anew whenever they are asked for, so that names of classes can be collected
before the rows are read, and nothing is kept.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite import checks
from deeplake_lite.dataset.arrow.types import has_fractions, is_text
from deeplake_lite.dataset.write.tables import as_exported, exported_htype, unnamed_indexes
from deeplake_lite.errors import InvalidValueError, NotFoundError, OptionError
from deeplake_lite.htypes import ClassLabel, Htype, resolve
from deeplake_lite.ingest.columns import check_unrounded, class_label, htype_of, texts_in, values_of
from deeplake_lite.ingest.source import Block, Places, Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

BATCH_ROWS = 8_192
BATCH_BYTES = 32 * 2**20
"""Of a block, at the most."""


@dataclass(frozen=True)
class TabularSource:
    """Rows of record batches."""

    title: str
    """What they come from."""

    arrow: pa.Schema
    """Columns and their Arrow types."""

    read: Callable[[list[str]], Iterator[pa.RecordBatch]]
    """Reads the batches of some columns, always in the same order."""

    key: str | None = None
    """The column that tells rows apart."""

    rows: int | None = None
    """How many rows there are, where that is known."""

    fingerprint: str | None = None
    """Changes with the content."""

    full: frozenset[str] = frozenset()
    """Columns that are known to have no nulls."""

    schema: Mapping[str, Any] = field(default_factory=dict)
    """Types that the user asked for."""

    left_out: Collection[Skipped] = ()

    base: str | None = None
    """Folder of the table, where relative paths of files start."""

    @cached_property
    def columns(self) -> dict[str, Htype]:
        """Type of each column."""
        return {f.name: self._htype(f) for f in self.arrow}

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Refuse decimals that float64 rounds in columns whose type was found."""
        for f in (self.arrow.field(name) for name in names):
            if exported_htype(f) is None and has_fractions(f.type):
                row = 0
                for batch in self.read([f.name]):
                    check_unrounded(batch.column(0), f.name, self.columns[f.name], row)
                    row += batch.num_rows

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the rows from `start` on."""
        names, row = self.arrow.names, 0
        for batch in self.read(names):
            skip = min(max(start - row, 0), batch.num_rows)
            row += skip
            for part in split(batch.slice(skip)):
                values = {n: self._values(part, n) for n in names}
                yield Block(values, Places(self.title, row, part.num_rows), self.base)
                row += part.num_rows

    def _values(self, batch: pa.RecordBatch, name: str) -> Any:
        """Return the values of a column; JSON that a lake wrote as text is parsed."""
        f = self.arrow.field(name)
        return as_exported(
            values_of(batch.column(name), exported_htype(f) or self.columns[name]), f
        )

    def _htype(self, f: pa.Field) -> Htype:
        """Return the type of a column: what was asked for, or what Arrow's type means."""
        given = resolve(self.schema[f.name]) if f.name in self.schema else None
        if given is None:
            given = exported_htype(f)
        if given is not None and given != ClassLabel():
            return given
        nullable = f.nullable and f.name not in self.full and f.name != self.key
        text = is_text(f.type.value_type if kinds.is_dictionary(f.type) else f.type)
        if text and (given is not None or kinds.is_dictionary(f.type)):
            return self._classes(f.name, nullable)
        return replace(given, nullable=nullable) if given else htype_of(f.type, nullable=nullable)

    def _classes(self, column: str, nullable: bool) -> ClassLabel:
        """Return the classes of a column: a dictionary's in its order, then texts sorted."""
        ordered: dict[str, None] = {}
        texts: set[str | None] = set()
        for batch in self.read([column]):
            array = batch.column(0)
            if kinds.is_dictionary(array.type):
                ordered.update(dict.fromkeys(text for text in texts_in(array.dictionary) if text))
            else:
                texts.update(texts_in(array.unique()))
        found = class_label(texts)
        names = dict.fromkeys([*ordered, *found.names])
        return ClassLabel(list(names), nullable=nullable or found.nullable)


def chosen(schema: pa.Schema, columns: Sequence[str] | None) -> pa.Schema:
    """Return the chosen columns of a schema, or all but an index of pandas without a name.

    Raises
    ------
    NotFoundError
        For a column that it does not have.
    OptionError
        For a column that is chosen twice, and what has no names.
    InvalidValueError
        For a column that it has twice.
    """
    if columns is None:
        indexes = unnamed_indexes(schema)
        names = [name for name in schema.names if name not in indexes]
    else:
        names = [*checks.names("columns", columns)]
    for name in names:
        if name not in schema.names:
            raise NotFoundError.named("column", name, schema.names)
        if schema.names.count(name) > 1:
            raise InvalidValueError(f"column names must be unique, got {name!r} twice. Rename one.")
        if names.count(name) > 1:
            raise OptionError(f"columns= names each column once, but {name!r} twice.")
    return pa.schema([schema.field(name) for name in names])


def split(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut a batch into parts of a bounded size.

    >>> [part.num_rows for part in split(pa.record_batch({"x": range(10_000)}))]
    [8192, 1808]
    """
    size = max(batch.nbytes / max(batch.num_rows, 1), 1)
    rows = int(np.clip(BATCH_BYTES / size, 1, BATCH_ROWS))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


@contextmanager
def reading(path: str, hint: str = "Check the file.") -> Iterator[None]:
    """Say in one line which file Arrow does not read, and why. Raises InvalidValueError."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidValueError(f"{path!r} does not read: {reason.rstrip('.')}. {hint}") from error
