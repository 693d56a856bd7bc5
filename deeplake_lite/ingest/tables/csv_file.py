"""Reading CSV files with Arrow, and inferring column types that reproduce every value exactly."""

from __future__ import annotations

import codecs
import csv
import re
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.types as kinds

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.ingest.source import Skipped
from deeplake_lite.ingest.tables.quotes import check_quotes
from deeplake_lite.ingest.tables.tabular import reading, select_columns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

AT_ONCE = 256 * 2**20
"""Maximum size in bytes of a file that is read as a whole, so that inferred types fit all rows."""

BLOCK_BYTES = 16 * 2**20
"""Size in bytes of the blocks in which a larger file is read."""

MAX_LISTED = 5
"""Maximum number of column names that a message lists."""

DELIMITERS = (",", ";", "\t", "|")
"""Usual delimiters of CSV files."""

HEADER_BYTES = 2**16
"""Number of bytes at the start of a file in which the end of the first line is searched for."""

NULLS = arrow_csv.ConvertOptions().null_values
"""Strings that mean null in columns of numbers, dates and booleans, such as "" and "NA".

In a column of strings, they are ordinary strings.
"""

NAN = ("NaN", "nan", "-NaN", "-nan")
"""Strings in `NULLS` that mean NaN in a column of floats."""

NULLS_OF_FLOATS = [text for text in NULLS if text not in NAN]
"""Strings that mean null in columns of floats."""

_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Maps byte order marks to encodings. UTF-32 is first, because its mark begins with the mark of
UTF-16."""

_WORDS = {word: [word, word.title(), word.upper()] for word in ("true", "false")}
"""Spellings of booleans. 1 and 0 remain integers, because an export writes booleans as words."""

_CODE = "^([+-]?0[0-9xX]|-0+$)"
"""Pattern of strings that a number cannot reproduce: leading zeros, hexadecimal numbers and -0."""

_LONG = "[0-9.]{16,}|[eE][+-]?[0-9]{3}"
"""Pattern of numbers that float64 may not reproduce, because they are long, very large or very
small."""


@dataclass(frozen=True)
class CsvFile:
    """A CSV file, and options for reading it."""

    path: str
    delimiter: str = ","

    skips: bool = False
    """Whether records with too few or too many values are skipped instead of raising an error."""

    keeps_blank_lines: bool = True
    """Whether an empty line is an empty value if the file has a single column."""

    left_out: dict[int, Skipped] = field(default_factory=dict)
    """Maps the number of each skipped record to its place in the file and the reason."""

    @property
    def title(self) -> str:
        """The file's name."""
        return Path(self.path).name

    @cached_property
    def is_large(self) -> bool:
        """Whether the file is read in blocks instead of as a whole."""
        return Path(self.path).stat().st_size > AT_ONCE

    def first_rows(self, texts: Iterable[str]) -> pa.Table:
        """Return all rows, or only the first block of a large file.

        `texts` has the names of the columns that are read as strings.

        Raises
        ------
        InvalidValueError
            If the file cannot be read.
        """
        if not self.is_large:
            return self.rows(texts)
        with reading(self.path), self._open(texts) as reader:
            check_encoding(self.path)
            check_quotes(self.path, self.delimiter)
            return pa.Table.from_batches([reader.read_next_batch()])

    def rows(self, texts: Iterable[str]) -> pa.Table:
        """Return all rows. `texts` has the names of the columns that are read as strings.

        Raises InvalidValueError if the file cannot be read.
        """
        with reading(self.path):
            check_encoding(self.path)
            check_quotes(self.path, self.delimiter)
            try:
                return arrow_csv.read_csv(self._input(), **self._options(texts))
            except pa.ArrowInvalid:  # with a single thread, the error names the row
                return arrow_csv.read_csv(self._input(), **self._options(texts, threads=False))

    def stream(self, texts: Iterable[str], columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows in blocks, but only some columns.

        `texts` has the names of the columns that are read as strings. Raises InvalidValueError if
        the file cannot be read.
        """
        hint = "Types are inferred from the first rows. Declare a type: schema={'column': 'text'}."
        with reading(self.path, hint), self._open(texts) as reader:
            for batch in reader:
                yield batch.select(columns)

    @cached_property
    def _blank_lines(self) -> int | None:
        """Number of empty lines before the header, or None if empty lines are ignored.

        They are not ignored if the file has a single column and `keeps_blank_lines` is true.
        """
        if not self.keeps_blank_lines:
            return None
        with pa.input_stream(self.path) as stream:
            start = stream.read(HEADER_BYTES).removeprefix(codecs.BOM_UTF8)
        lines = start.decode(errors="replace").splitlines()
        blank = next((i for i, line in enumerate(lines) if line), len(lines))
        try:
            header = next(csv.reader(lines[blank:], delimiter=self.delimiter), [])
        except csv.Error:
            return None
        return blank if len(header) == 1 else None

    def _input(self) -> str | pa.BufferReader:
        """Return the file's path or, if the file only has a header without a newline, a buffer.

        The buffer has the header and a newline, without which Arrow does not accept the file.
        """
        with pa.input_stream(self.path) as stream:
            start = stream.read(HEADER_BYTES)
        is_bare = start.strip() and len(start) < HEADER_BYTES and not re.search(rb"[\r\n]", start)
        return pa.BufferReader(start + b"\n") if is_bare else self.path

    def _open(self, texts: Iterable[str]) -> arrow_csv.CSVStreamingReader:
        return arrow_csv.open_csv(self.path, **self._options(texts))

    def _options(self, texts: Iterable[str], *, threads: bool = True) -> dict[str, object]:
        """Return Arrow's options for reading the file.

        `threads` is ignored if records are skipped, because Arrow numbers them only without
        threads.
        """
        blank = self._blank_lines
        parsing = arrow_csv.ParseOptions(
            delimiter=self.delimiter, newlines_in_values=True, ignore_empty_lines=blank is None
        )
        if self.skips:
            parsing.invalid_row_handler = self._skip_record
        return {
            "read_options": arrow_csv.ReadOptions(
                block_size=BLOCK_BYTES,
                use_threads=threads and not self.skips,
                skip_rows=blank or 0,
            ),
            "parse_options": parsing,
            "convert_options": arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(texts, pa.string()),
                true_values=_WORDS["true"],
                false_values=_WORDS["false"],
            ),
        }

    def _skip_record(self, row: arrow_csv.InvalidRow) -> str:
        """List a row with too few or too many values in `left_out`, and tell Arrow to skip it."""
        columns, values = row.expected_columns, row.actual_columns
        reason = (
            f"a record must have {pluralize(columns, 'value')}, one for each column, but this "
            f"record has {values}"
        )
        place = f"{self.title}, record {row.number} (the header is record 1)"
        self.left_out[row.number] = Skipped(place, reason)
        return "skip"


def csv_table(
    path: str,
    texts: Collection[str] = (),
    classes: Collection[str] = (),
) -> pa.Table:
    """Return all rows of a CSV file with labels of files. Its types reproduce every value exactly.

    Empty lines are ignored, even in a file with a single column, because they name no file. The
    delimiter is the first of `DELIMITERS` that the header contains. `texts` has the names of the
    columns that are read as strings. `classes` has the names of other columns that are read as
    strings, unless all of their values are integers. Raises InvalidValueError if the file cannot be
    read.
    """
    declared = dict.fromkeys((*texts, *classes), pa.string())
    file = CsvFile(path, delimiter_of(path), keeps_blank_lines=False)
    numbers = {*classes} - {*texts}
    rows, types, _ = read_typed_rows(file, declared, classes=numbers, at_once=True)
    return pa.table([convert(rows, f) for f in types], types)


def delimiter_of(path: str) -> str:
    """Return the first of `DELIMITERS` that a file's header contains, or a comma.

    Raises InvalidValueError if the file cannot be read.
    """
    with reading(path):
        check_encoding(path)
    with reading(path), pa.input_stream(path) as stream:
        header = stream.read(HEADER_BYTES).split(b"\n")[0]
    return next((d for d in DELIMITERS if d.encode() in header), ",")


def read_typed_rows(
    file: CsvFile,
    declared: Mapping[str, pa.DataType],
    columns: Sequence[str] | None = None,
    *,
    classes: Collection[str] = (),
    at_once: bool = False,
) -> tuple[pa.Table, pa.Schema, list[str]]:
    """Read the rows of a file, or its first rows, and infer the types of its columns.

    If the file has columns of numbers, it is read twice. The first time, Arrow finds these columns.
    The second time, they are read as strings, to determine which type reproduces them exactly.

    Parameters
    ----------
    file : CsvFile
        The file.
    declared : mapping
        Maps names of columns to types. The types of other columns are inferred.
    columns : sequence of str, optional
        The columns to read. By default, all columns.
    classes : collection of str
        Names of columns in `declared` that become integers if all their values are integers.
    at_once : bool
        Whether to read even a large file as a whole.

    Returns
    -------
    rows : Table
        The rows that were read.
    types : Schema
        The columns with their types, to which `convert` converts the columns of `rows`.
    texts : list of str
        The names of the columns that were read as strings.
    """
    read = file.rows if at_once else file.first_rows
    known = declared.keys() - set(classes)
    rows = read(known)
    inferred = _check_columns(rows.schema, columns, file.delimiter)
    numbers = [
        f.name
        for f in inferred
        if f.name not in known and _is_number(f.type)
        if f.name not in classes or kinds.is_integer(f.type)
    ]
    others = [f for f in inferred if f.name not in declared]
    # A ratio such as 16:9 or a score looks like a time of day, so both stay strings.
    words = [f.name for f in others if kinds.is_null(f.type) or kinds.is_time(f.type)]
    words = words if rows.num_rows else []
    texts = [*dict.fromkeys((*declared, *numbers, *words))]
    if len(texts) > len(known):
        rows = read(texts)
    types = {**declared, **dict.fromkeys(words, pa.string())}
    types |= {name: _exact_type(rows.column(name), inferred.field(name).type) for name in numbers}
    return rows, pa.schema([f.with_type(types.get(f.name, f.type)) for f in inferred]), texts


# ---- converting


def _is_number(kind: pa.DataType) -> bool:
    return bool(kinds.is_integer(kind) or kinds.is_floating(kind))


def convert(rows: pa.Table, f: pa.Field) -> pa.ChunkedArray:
    """Return a column, converted to the type of the field `f`.

    If any string cannot be converted, return the strings.
    """
    column = rows.column(f.name)
    if column.type == f.type:
        return column
    texts = with_nulls(column, f.type)
    try:
        return texts.cast(f.type)
    except pa.ArrowInvalid:
        return texts


def with_nulls[T: (pa.Array, pa.ChunkedArray)](texts: T, kind: pa.DataType) -> T:
    """Return strings without surrounding whitespace and plus signs, and null if they mean null.

    Which strings mean null depends on the Arrow type `kind`.

    >>> with_nulls(pa.array([" +5", "NA", "nan"]), pa.int64()).to_pylist()
    ['5', None, None]
    >>> with_nulls(pa.array([" 5", "NA", "nan"]), pa.float64()).to_pylist()
    ['5', None, 'nan']
    """
    trimmed = pc.utf8_trim_whitespace(texts)
    if _any_plus_sign(trimmed):
        trimmed = pc.replace_substring_regex(trimmed, pattern=r"^\+([0-9.])", replacement=r"\1")
    nulls = NULLS_OF_FLOATS if kinds.is_floating(kind) else NULLS
    return pc.if_else(pc.is_in(trimmed, pa.array(nulls)), None, trimmed)


def _any_plus_sign(texts: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether any string begins with a plus sign. Arrow accepts none in integers."""
    return bool(pc.any(pc.starts_with(texts, "+")).as_py())


def _exact_type(texts: pa.ChunkedArray, kind: pa.DataType) -> pa.DataType:
    """Return a type that reproduces all numbers exactly: `kind`, an integer type, or strings.

    Whitespace around a number and a plus sign are ignored. Arrow infers a float for +5, so if there
    is a plus sign, integers are tried first.

    >>> _exact_type(pa.chunked_array([["1", "18446744073709551615"]]), pa.float64())
    DataType(uint64)
    >>> _exact_type(pa.chunked_array([["02139", "10115"]]), pa.int64())
    DataType(string)
    """
    signed = _any_plus_sign(pc.utf8_trim_whitespace(texts))
    for exact in (pa.int64(), pa.uint64(), kind) if signed else (kind, pa.uint64()):
        if _can_convert(with_nulls(texts, exact), exact, exact=True):
            return exact
    return pa.string()


def misfits(texts: pa.Array, kind: pa.DataType, *, exact: bool, first: int = 0) -> Iterator[int]:
    """Yield the positions of the strings that cannot be converted to a type.

    They are found by bisection. `first` is the position of the first string. `exact` has the same
    meaning as in `_can_convert`.
    """
    if _can_convert(texts, kind, exact=exact):
        return
    if len(texts) == 1:
        yield first
        return
    half = len(texts) // 2
    yield from misfits(texts[:half], kind, exact=exact, first=first)
    yield from misfits(texts[half:], kind, exact=exact, first=first + half)


def _can_convert(texts: pa.Array | pa.ChunkedArray, kind: pa.DataType, *, exact: bool) -> bool:
    """Return whether all strings can be converted to a type.

    If `exact` is true, the values must also reproduce the strings.

    >>> long = pa.array(["12345678901234567"])
    >>> _can_convert(long, pa.float64(), exact=False), _can_convert(long, pa.float64(), exact=True)
    (True, False)
    """
    if exact and pc.any(pc.match_substring_regex(texts, _CODE)).as_py():
        return False
    try:
        numbers = texts.cast(kind)
    except pa.ArrowInvalid:
        return False
    if not kinds.is_floating(kind):
        return True
    infinite = texts.filter(pc.fill_null(pc.is_inf(numbers), False))
    if not pc.all(pc.match_substring(infinite, "inf", ignore_case=True), min_count=0).as_py():
        return False  # a number is beyond the range of the type
    if not exact:
        return True
    is_long = pc.match_substring_regex(texts, _LONG)
    differs = pc.not_equal(numbers.cast(pa.string()), texts)
    long = texts.filter(pc.and_(is_long, differs)).to_pylist()
    return all(map(_is_reproducible, long))


def _is_reproducible(text: str) -> bool:
    """Return whether a float64 equals the number in a string, if written with as many digits.

    >>> numbers = ("0.10000000000000001", "12345678901234567.5", "1e-400")
    >>> [_is_reproducible(text) for text in numbers]
    [True, False, False]
    """
    number = Decimal(text)
    if not number.is_finite():
        return True
    digits = max(len(number.as_tuple().digits), 1)
    return Decimal(f"{float(text):.{digits - 1}e}") == number


# ---- headers


def check_encoding(path: str) -> None:
    """Raise InvalidValueError if a file has a byte order mark of UTF-16 or UTF-32."""
    with pa.input_stream(path) as stream:
        start = stream.read(len(codecs.BOM_UTF32))
    name = next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)
    if name:
        raise InvalidValueError(
            f"A CSV file must be UTF-8, but {path!r} begins with the byte order mark of "
            f"{name.upper()}. Convert the file: iconv -f {name} -t utf-8."
        )


def _check_columns(schema: pa.Schema, columns: Sequence[str] | None, delimiter: str) -> pa.Schema:
    """Check the header of a file, and return a schema with the selected columns.

    Raises
    ------
    InvalidValueError
        If the header lacks names or has another delimiter, or if strings are not UTF-8.
    """
    try:
        schema.names  # noqa: B018 - decodes them
    except UnicodeDecodeError as error:
        raise InvalidValueError(
            "A CSV file must be UTF-8, but the names of its columns are not. Convert the file: "
            "iconv -f latin1 -t utf-8."
        ) from error
    other = next((d for d in DELIMITERS if d in schema.names[0] and d != delimiter), None)
    if len(schema) == 1 and other:
        raise InvalidValueError(
            f"The values of a CSV file must be separated by {delimiter!r}, but the header seems to "
            f"use another delimiter: {brief(schema.names[0], 80)}. Pass delimiter={other!r}."
        )
    if columns is None:
        _check_names(schema.names)
    selected = select_columns(schema, columns)
    for f in selected:
        if pa.types.is_binary(f.type):
            raise InvalidValueError(
                "a CSV file must be UTF-8, but this column is not. Convert the file: "
                "iconv -f latin1 -t utf-8.",
                column=f.name,
            )
    return selected


def _check_names(names: list[str]) -> None:
    """Raise InvalidValueError if a column has no name, such as an index that pandas has written."""
    named = [name for name in names if name.strip()]
    if len(named) == len(names):
        return
    position = next(i for i, name in enumerate(names) if not name.strip())
    others = f"{named}" if len(named) <= MAX_LISTED else f"[{named[0]!r}, …]"
    raise InvalidValueError(
        "The first line of a CSV file must name all of its columns, but column "
        f"{position} has no name. Add a name, or select the other columns: columns={others}. To "
        "write a CSV without pandas' index, use df.to_csv(path, index=False)."
    )
