"""Rows of CSV files, which Arrow reads: small files at once, large files block by block.

Columns of numbers, and columns to which the user gave a type, are read as text and converted block
by block. Where a value does not convert, the error then names its row, or the row is left out; the
rest of the file is still read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow_types import is_text
from deeplake_lite.dataset.values import with_none
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes import Scalar, resolve
from deeplake_lite.ingest.files import find_files, fingerprint, folder_of
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.source import Skipped
from deeplake_lite.ingest.tabular import TabularSource, chosen, reading
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from deeplake_lite.ingest.encoding import OnError
    from deeplake_lite.ingest.options import Options, Types
    from deeplake_lite.ingest.result import IngestedDataset

AT_ONCE = 256 * 2**20
"""Smaller files are read at once: their types are those of all rows, not of the first block."""

BLOCK_BYTES = 16 * 2**20
"""Of larger files."""

OTHERS = (";", "\t", "|", ",")
"""Delimiters of other files that are called CSV."""

NULLS = pa.array(arrow_csv.ConvertOptions().null_values)
"""Texts that stand for a missing number, date or truth value."""

_CODE = "^[+-]?0[0-9]"
"""Matches leading zeros, which codes have and numbers would lose."""

_LONG = "^[+-]?[0-9]{16,}$"
"""An integer that a float64 may not hold."""


@takes_options
def from_csv(
    path: str | os.PathLike[str],
    url: str,
    *,
    on: str | None = None,
    columns: Sequence[str] | None = None,
    delimiter: str = ",",
    **options: Unpack[Options],
) -> IngestedDataset:
    r"""Take the rows of a CSV file into a lake.

    Parameters
    ----------
    path : str or Path
        A file with a header line, UTF-8; may be compressed (``.csv.gz``).
    url : str
        Where the lake is, or is to be.
    on : str, optional
        The column that tells rows apart: rows that are there are changed where they differ. Left
        out, all rows are appended.
    columns : sequence of str, optional
        The columns to take, all if left out.
    delimiter : str
        What stands between values.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        Committed; its ``ingested`` tells what was done.

    Notes
    -----
    Types are found by Arrow: integers, floats, truth values, dates, timestamps, text. Empty values
    are null, but for texts. What an integer or a float would not give back, such as the code 01234
    or an integer of thirty digits, makes a column of texts.

    ``schema={"species": "class_label"}`` makes classes of the texts of a column. Paths of pictures,
    ``schema={"image": dl.Image("jpeg")}``, start at the folder of the CSV unless they are absolute.

    Examples
    --------
    >>> import tempfile
    >>> import deeplake_lite as dl
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False) as file:
    ...     _ = file.write("name,petals\nrose,5\nlily,6\n")
    >>> ds = dl.from_csv(file.name, "memory://from-csv", on="name", schema={"petals": "int8"})
    >>> ds["petals"][:]
    array([5, 6], dtype=int8)
    """
    source = csv_source(
        path,
        key=on,
        columns=columns,
        delimiter=delimiter,
        schema=options.get("schema"),
        on_error=options.get("on_error", "raise"),
    )
    return ingest(source, url, **options)


@dataclass(frozen=True)
class CsvSource(TabularSource):
    """Rows of record batches, in which some columns are still to be converted from text."""

    texts: frozenset[str] = field(default=frozenset(), kw_only=True)
    """Columns that are read as text and converted to their type in `arrow`."""

    def _values(self, batch: pa.RecordBatch, name: str) -> Any:
        """Return the values of a column. Those that do not convert stay text: errors of rows."""
        if name not in self.texts:
            return super()._values(batch, name)
        kind, exact = self.arrow.field(name).type, name not in self.schema
        texts = _present(batch.column(name))
        misfits = list(_misfits(texts, kind, exact=exact))
        if not misfits:
            return super()._values(pa.record_batch({name: texts.cast(kind)}), name)
        if exact:
            raise InvalidValueError(
                f"{self.title} has {kind} in its first rows, but later "
                f"{texts[misfits[0]].as_py()!r:.60}. Give its type: schema={{{name!r}: 'text'}}.",
                column=name,
            )
        fits = pa.array(~np.isin(np.arange(len(texts)), misfits))
        converted = pc.if_else(fits, texts, None).cast(kind)
        values = list(with_none(super()._values(pa.record_batch({name: converted}), name)))
        for row in misfits:
            values[row] = texts[row].as_py()
        return values


def csv_source(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    columns: Sequence[str] | None = None,
    delimiter: str = ",",
    schema: Types = None,
    on_error: OnError = "raise",
) -> CsvSource:
    """Return the source for a CSV file. Raises NotFoundError, InvalidValueError."""
    files = find_files(path, ".csv")
    if len(files) != 1:
        raise InvalidValueError(f"{str(path)!r} means {len(files)} files. Ingest them one by one.")
    file, given = _File(files[0], delimiter, skips=on_error == "skip"), types_of(schema)
    types = _arrow_types(given)
    rows = file.first_rows(types)
    arrow = chosen(_labelled(rows.schema, delimiter), columns)
    numbers = [f.name for f in arrow if f.name not in given and _is_number(f.type)]
    if numbers:
        rows = file.first_rows([*types, *numbers])
    types |= {name: _exact_type(rows.column(name), arrow.field(name).type) for name in numbers}
    arrow = pa.schema([f.with_type(types.get(f.name, f.type)) for f in arrow])
    texts = frozenset(f.name for f in arrow if f.name in types and not is_text(f.type))
    full = () if file.is_large else (n for n in arrow.names if not _nulls(rows, n, n in texts))
    return CsvSource(
        title=file.title,
        arrow=arrow,
        read=partial(file.stream, list(types)) if file.is_large else partial(_batches, rows),
        key=key,
        rows=None if file.is_large else rows.num_rows,
        fingerprint=fingerprint(files),
        full=frozenset(full),
        schema=given,
        left_out=file.left_out.values(),
        base=folder_of(files),
        texts=texts,
    )


# ---- reading


@dataclass(frozen=True)
class _File:
    """A CSV file, and how Arrow is to read it."""

    path: str
    delimiter: str

    skips: bool
    """Whether records of too few or too many values are left out, instead of an error."""

    left_out: dict[int, Skipped] = field(default_factory=dict)
    """Those records, by their number."""

    @property
    def title(self) -> str:
        """The file's name."""
        return Path(self.path).name

    @cached_property
    def is_large(self) -> bool:
        """Whether the file is read block by block."""
        return Path(self.path).stat().st_size > AT_ONCE

    def first_rows(self, texts: Iterable[str]) -> pa.Table:
        """Return all rows, or the first block of a large file; some columns as text.

        Raises
        ------
        InvalidValueError
            When the file does not read.
        """
        if self.is_large:
            with reading(self.path), self._open(texts) as reader:
                return pa.Table.from_batches([reader.read_next_batch()])
        with reading(self.path):
            try:
                return arrow_csv.read_csv(self.path, **self._how(texts))
            except pa.ArrowInvalid:  # only a single thread says in which row
                return arrow_csv.read_csv(self.path, **self._how(texts, threads=False))

    def stream(self, texts: Iterable[str], columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, block by block. Raises InvalidValueError."""
        hint = "Its type was found in the first rows. Give one: schema={'column': 'text'}."
        with reading(self.path, hint), self._open(texts) as reader:
            for batch in reader:
                yield batch.select(columns)

    def _open(self, texts: Iterable[str]) -> arrow_csv.CSVStreamingReader:
        return arrow_csv.open_csv(self.path, **self._how(texts))

    def _how(self, texts: Iterable[str], *, threads: bool = True) -> dict[str, Any]:
        """Return Arrow's options. With threads, it does not number the records it skips."""
        parsing = arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        if self.skips:
            parsing.invalid_row_handler = self._leave_out
        return {
            "read_options": arrow_csv.ReadOptions(
                block_size=BLOCK_BYTES, use_threads=threads and not self.skips
            ),
            "parse_options": parsing,
            "convert_options": arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(texts, pa.string())
            ),
        }

    def _leave_out(self, row: arrow_csv.InvalidRow) -> str:
        """Note a record of too few or too many values, and tell Arrow to skip it."""
        names, values = row.expected_columns, row.actual_columns
        reason = f"must have a value for each of {names} columns, but it has {values}"
        place = f"{self.title}, record {row.number}, the header being 1"
        self.left_out[row.number] = Skipped(place, reason)
        return "skip"


def _batches(table: pa.Table, columns: list[str]) -> Iterator[pa.RecordBatch]:
    yield from table.select(columns).to_batches()


# ---- converting


def _is_number(kind: pa.DataType) -> bool:
    return bool(kinds.is_integer(kind) or kinds.is_floating(kind))


def _present(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return texts without the space around them, null where they stand for nothing.

    >>> _present(pa.array([" 5", "NA"])).to_pylist()
    ['5', None]
    """
    trimmed = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.is_in(trimmed, NULLS), None, trimmed)


def _nulls(rows: pa.Table, name: str, converts: bool) -> int:
    """Return how many values of a column are missing; empty texts are not."""
    column = rows.column(name)
    return int((_present(column) if converts else column).null_count)


def _exact_type(texts: pa.ChunkedArray, kind: pa.DataType) -> pa.DataType:
    """Return the type that holds all numbers as they are written: `kind`, uint64, or texts.

    >>> _exact_type(pa.chunked_array([["1", "18446744073709551615"]]), pa.float64())
    DataType(uint64)
    >>> _exact_type(pa.chunked_array([["02139", "10115"]]), pa.int64())
    DataType(string)
    """
    present = _present(texts)
    for exact in (kind, pa.uint64()):
        if _converts(present, exact, exact=True):
            return exact
    return pa.string()


def _misfits(texts: pa.Array, kind: pa.DataType, *, exact: bool, first: int = 0) -> Iterator[int]:
    """Yield the rows whose texts do not convert, found by halving."""
    if _converts(texts, kind, exact=exact):
        return
    if len(texts) == 1:
        yield first
        return
    half = len(texts) // 2
    yield from _misfits(texts[:half], kind, exact=exact, first=first)
    yield from _misfits(texts[half:], kind, exact=exact, first=first + half)


def _converts(texts: pa.Array | pa.ChunkedArray, kind: pa.DataType, *, exact: bool) -> bool:
    """Tell whether all texts are of a type; `exact`: and it gives them back as they are written.

    >>> long = pa.array(["12345678901234567"])
    >>> _converts(long, pa.float64(), exact=False), _converts(long, pa.float64(), exact=True)
    (True, False)
    """
    if exact and pc.any(pc.match_substring_regex(texts, _CODE)).as_py():
        return False
    try:
        texts.cast(kind)
    except pa.ArrowInvalid:
        return False
    if not exact or not kinds.is_floating(kind):
        return True
    long = texts.filter(pc.match_substring_regex(texts, _LONG)).to_pylist()
    return all(Decimal(float(text)) == Decimal(text) for text in long)


# ---- headers and types


def _labelled(schema: pa.Schema, delimiter: str) -> pa.Schema:
    """Refuse a header without names or of another delimiter, and texts that are not UTF-8."""
    unnamed = [i for i, name in enumerate(schema.names) if not name.strip()]
    if unnamed:
        raise InvalidValueError(
            f"a CSV file names its columns in the first line, column {unnamed[0]} has no name. "
            "Name it, or take others: columns=[…]."
        )
    other = next((d for d in OTHERS if d in schema.names[0] and d != delimiter), None)
    if len(schema) == 1 and other:
        raise InvalidValueError(
            f"a CSV file has {delimiter!r} between values, got one column {schema.names[0]!r:.80}. "
            f"Give its own: delimiter={other!r}."
        )
    for f in schema:
        if pa.types.is_binary(f.type):
            raise InvalidValueError(
                "a CSV file is UTF-8, and this column is not. Convert the file: "
                "iconv -f latin1 -t utf-8.",
                column=f.name,
            )
    return schema


def _arrow_types(schema: Mapping[str, Any]) -> dict[str, pa.DataType]:
    """Return the Arrow types in which columns are read, for those that the user gave a type.

    >>> _arrow_types({"x": "float32", "t": "text"})
    {'x': DataType(float), 't': DataType(string)}
    """
    found: dict[str, pa.DataType] = {}
    for name, spec in schema.items():
        htype = resolve(spec)
        if not isinstance(htype, Scalar) or htype.dtype.startswith("complex"):
            found[name] = pa.string()
        elif htype.dtype == "float16":  # which Arrow does not read from texts
            found[name] = pa.float32()
        elif not htype.dtype.startswith("timedelta"):
            found[name] = pa.from_numpy_dtype(htype.dtype)
    return found
