"""A CSV file as Arrow reads it: its rows, and types that hold every value as it is written."""

from __future__ import annotations

import codecs
import csv
import re
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.types as kinds

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.ingest.quotes import check_quotes
from deeplake_lite.ingest.source import Skipped
from deeplake_lite.ingest.tabular import chosen, reading

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

AT_ONCE = 256 * 2**20
"""Smaller files are read at once: their types are those of all rows, not of the first block."""

BLOCK_BYTES = 16 * 2**20
"""Of larger files."""

MOST_LISTED = 5
"""Names of columns in a message, at the most."""

DELIMITERS = (",", ";", "\t", "|")
"""Delimiters of files that are called CSV."""

HEADER_BYTES = 2**16
"""The first line is looked for in so many bytes."""

NULLS = arrow_csv.ConvertOptions().null_values
"""Texts that stand for a missing number, date or truth value: empty, and what pandas reads as such.

In a column of texts they are texts, whatever is beside them.
"""

NAN = ("NaN", "nan", "-NaN", "-nan")
"""Those of them that are values of a float."""

NULLS_OF_FLOATS = [text for text in NULLS if text not in NAN]
"""Texts that stand for a missing float."""

_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Encodings that files begin to say, by their marks; that of UTF-16 begins one of UTF-32."""

_WORDS = {word: [word, word.title(), word.upper()] for word in ("true", "false")}
"""Truth values; 1 and 0 beside them are texts, as they would not come back."""

_CODE = "^([+-]?0[0-9xX]|-0+$)"
"""Matches leading zeros, hexadecimal digits and -0: a number would not give them back."""

_LONG = "[0-9.]{16,}|[eE][+-]?[0-9]{3}"
"""Matches numbers that a float64 may not give back: long ones, very large and very small ones."""


@dataclass(frozen=True)
class CsvFile:
    """A CSV file, and how Arrow is to read it."""

    path: str
    delimiter: str = ","

    skips: bool = False
    """Whether records of too few or too many values are left out, instead of an error."""

    keeps_blank_lines: bool = True
    """Whether an empty line of a file of a single column is an empty value, instead of no row."""

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
        if not self.is_large:
            return self.rows(texts)
        with reading(self.path), self._open(texts) as reader:
            check_encoding(self.path)
            check_quotes(self.path, self.delimiter)
            return pa.Table.from_batches([reader.read_next_batch()])

    def rows(self, texts: Iterable[str]) -> pa.Table:
        """Return all rows, some columns as text. Raises InvalidValueError."""
        with reading(self.path):
            check_encoding(self.path)
            check_quotes(self.path, self.delimiter)
            try:
                return arrow_csv.read_csv(self._whole_lines(), **self._how(texts))
            except pa.ArrowInvalid:  # only a single thread says in which row
                return arrow_csv.read_csv(self._whole_lines(), **self._how(texts, threads=False))

    def stream(self, texts: Iterable[str], columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some columns, block by block. Raises InvalidValueError."""
        hint = "Its type was found in the first rows. Give one: schema={'column': 'text'}."
        with reading(self.path, hint), self._open(texts) as reader:
            for batch in reader:
                yield batch.select(columns)

    @cached_property
    def _blank_lines(self) -> int | None:
        """How many empty lines are before the header; None where an empty line is no row.

        It is a row of a file of one column, and none of any other.
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

    def _whole_lines(self) -> str | pa.BufferReader:
        """Return what Arrow reads: the file, or a header with the newline that it lacks."""
        with pa.input_stream(self.path) as stream:
            start = stream.read(HEADER_BYTES)
        is_bare = start.strip() and len(start) < HEADER_BYTES and not re.search(rb"[\r\n]", start)
        return pa.BufferReader(start + b"\n") if is_bare else self.path

    def _open(self, texts: Iterable[str]) -> arrow_csv.CSVStreamingReader:
        return arrow_csv.open_csv(self.path, **self._how(texts))

    def _how(self, texts: Iterable[str], *, threads: bool = True) -> dict[str, Any]:
        """Return Arrow's options. With threads, it does not number the records it skips."""
        blank = self._blank_lines
        parsing = arrow_csv.ParseOptions(
            delimiter=self.delimiter, newlines_in_values=True, ignore_empty_lines=blank is None
        )
        if self.skips:
            parsing.invalid_row_handler = self._leave_out
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

    def _leave_out(self, row: arrow_csv.InvalidRow) -> str:
        """Note a record of too few or too many values, and tell Arrow to skip it."""
        names, values = row.expected_columns, row.actual_columns
        reason = f"must have a value for each of {names} columns, but it has {values}"
        place = f"{self.title}, record {row.number}, the header being 1"
        self.left_out[row.number] = Skipped(place, reason)
        return "skip"


def csv_table(
    path: str,
    texts: Collection[str] = (),
    classes: Collection[str] = (),
) -> pa.Table:
    """Return all rows of a table of labels, in types that hold every value as it is written.

    An empty line is no row: in a file of a single column, which names files, it names none.
    The delimiter is the first of `DELIMITERS` that the header has. Columns of `texts` are read as
    texts; so are those of `classes` unless all their values are integers. Raises InvalidValueError.
    """
    given = dict.fromkeys((*texts, *classes), pa.string())
    file = CsvFile(path, delimiter_of(path), keeps_blank_lines=False)
    numbers = {*classes} - {*texts}
    rows, types, _ = typed_rows(file, given, classes=numbers, at_once=True)
    return pa.table([converted(rows, f) for f in types], types)


def delimiter_of(path: str) -> str:
    """Return the first of `DELIMITERS` that a file's header has. Raises InvalidValueError."""
    with reading(path):
        check_encoding(path)
    with reading(path), pa.input_stream(path) as stream:
        header = stream.read(HEADER_BYTES).split(b"\n")[0]
    return next((d for d in DELIMITERS if d.encode() in header), ",")


def typed_rows(
    file: CsvFile,
    given: Mapping[str, pa.DataType],
    columns: Sequence[str] | None = None,
    *,
    classes: Collection[str] = (),
    at_once: bool = False,
) -> tuple[pa.Table, pa.Schema, list[str]]:
    """Return the first rows, or all; the columns and their types; and which are read as text.

    Parameters
    ----------
    file : CsvFile
    given : mapping
        Types of some columns. Those of the others are found.
    columns : sequence of str, optional
        The columns to take, all if left out.
    classes : collection of str
        Columns of `given` that have their type unless all their values are integers.
    at_once : bool
        Whether a large file is read as a whole, too.
    """
    read = file.rows if at_once else file.first_rows
    known = given.keys() - set(classes)
    rows = read(known)
    found = _labelled(rows.schema, columns, file.delimiter)
    numbers = [
        f.name
        for f in found
        if f.name not in known and _is_number(f.type)
        if f.name not in classes or kinds.is_integer(f.type)
    ]
    words = [f.name for f in found if f.name not in given and kinds.is_null(f.type)]
    words = words if rows.num_rows else []
    texts = [*dict.fromkeys((*given, *numbers, *words))]
    if len(texts) > len(known):
        rows = read(texts)
    types = {**given, **dict.fromkeys(words, pa.string())}
    types |= {name: _exact_type(rows.column(name), found.field(name).type) for name in numbers}
    return rows, pa.schema([f.with_type(types.get(f.name, f.type)) for f in found]), texts


# ---- converting


def _is_number(kind: pa.DataType) -> bool:
    return bool(kinds.is_integer(kind) or kinds.is_floating(kind))


def converted(rows: pa.Table, f: pa.Field) -> pa.ChunkedArray:
    """Return a column in its type; null where a text does not convert."""
    column = rows.column(f.name)
    if column.type == f.type:
        return column
    texts = nullable(column, f.type)
    try:
        return texts.cast(f.type)
    except pa.ArrowInvalid:
        return texts


def nullable[T: (pa.Array, pa.ChunkedArray)](texts: T, kind: pa.DataType) -> T:
    """Return texts without space around them and a plus, null where they stand for nothing.

    >>> nullable(pa.array([" +5", "NA", "nan"]), pa.int64()).to_pylist()
    ['5', None, None]
    >>> nullable(pa.array([" 5", "NA", "nan"]), pa.float64()).to_pylist()
    ['5', None, 'nan']
    """
    trimmed = pc.utf8_trim_whitespace(texts)
    if _any_plus(trimmed):
        trimmed = pc.replace_substring_regex(trimmed, pattern=r"^\+([0-9.])", replacement=r"\1")
    nulls = NULLS_OF_FLOATS if kinds.is_floating(kind) else NULLS
    return pc.if_else(pc.is_in(trimmed, pa.array(nulls)), None, trimmed)


def _any_plus(texts: pa.Array | pa.ChunkedArray) -> bool:
    """Tell whether a text begins with a plus, which Arrow does not know before an integer."""
    return bool(pc.any(pc.starts_with(texts, "+")).as_py())


def _exact_type(texts: pa.ChunkedArray, kind: pa.DataType) -> pa.DataType:
    """Return the type that holds all numbers as they are written: `kind`, uint64, or texts.

    Space around a number, and a plus before it, are no part of it. Arrow takes +5 for a float.

    >>> _exact_type(pa.chunked_array([["1", "18446744073709551615"]]), pa.float64())
    DataType(uint64)
    >>> _exact_type(pa.chunked_array([["02139", "10115"]]), pa.int64())
    DataType(string)
    """
    signed = _any_plus(pc.utf8_trim_whitespace(texts))
    for exact in (pa.int64(), pa.uint64(), kind) if signed else (kind, pa.uint64()):
        if _converts(nullable(texts, exact), exact, exact=True):
            return exact
    return pa.string()


def misfits(texts: pa.Array, kind: pa.DataType, *, exact: bool, first: int = 0) -> Iterator[int]:
    """Yield the rows whose texts do not convert, found by halving."""
    if _converts(texts, kind, exact=exact):
        return
    if len(texts) == 1:
        yield first
        return
    half = len(texts) // 2
    yield from misfits(texts[:half], kind, exact=exact, first=first)
    yield from misfits(texts[half:], kind, exact=exact, first=first + half)


def _converts(texts: pa.Array | pa.ChunkedArray, kind: pa.DataType, *, exact: bool) -> bool:
    """Tell whether all texts are of a type; `exact`: and it gives the numbers back as written.

    >>> long = pa.array(["12345678901234567"])
    >>> _converts(long, pa.float64(), exact=False), _converts(long, pa.float64(), exact=True)
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
        return False  # a number that the type does not reach
    if not exact:
        return True
    is_long = pc.match_substring_regex(texts, _LONG)
    differs = pc.not_equal(numbers.cast(pa.string()), texts)
    long = texts.filter(pc.and_(is_long, differs)).to_pylist()
    return all(map(_comes_back, long))


def _comes_back(text: str) -> bool:
    """Tell whether a float64, written with as many digits as a text has, is the number it says.

    >>> [_comes_back(text) for text in ("0.10000000000000001", "12345678901234567.5", "1e-400")]
    [True, False, False]
    """
    number = Decimal(text)
    if not number.is_finite():
        return True
    digits = max(len(number.as_tuple().digits), 1)
    return Decimal(f"{float(text):.{digits - 1}e}") == number


# ---- headers


def check_encoding(path: str) -> None:
    """Refuse a file that says to be UTF-16 or UTF-32. Raises InvalidValueError."""
    with pa.input_stream(path) as stream:
        start = stream.read(len(codecs.BOM_UTF32))
    name = next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)
    if name:
        raise InvalidValueError(
            f"a CSV file is UTF-8, but {path!r} begins with the mark of {name.upper()}. Convert "
            f"the file: iconv -f {name} -t utf-8."
        )


def _labelled(schema: pa.Schema, columns: Sequence[str] | None, delimiter: str) -> pa.Schema:
    """Return the chosen columns.

    Raises
    ------
    InvalidValueError
        For a header without names or of another delimiter, and texts that are not UTF-8.
    """
    try:
        schema.names  # noqa: B018 - decodes them
    except UnicodeDecodeError as error:
        raise InvalidValueError(
            "a CSV file is UTF-8, but the names of its columns are not. Convert the file: "
            "iconv -f latin1 -t utf-8."
        ) from error
    other = next((d for d in DELIMITERS if d in schema.names[0] and d != delimiter), None)
    if len(schema) == 1 and other:
        raise InvalidValueError(
            f"values of a CSV file must be separated by {delimiter!r}, but this one has a single "
            f"column, {brief(schema.names[0], 80)}. Give its delimiter: delimiter={other!r}."
        )
    if columns is None:
        _check_named(schema.names)
    taken = chosen(schema, columns)
    for f in taken:
        if pa.types.is_binary(f.type):
            raise InvalidValueError(
                "a CSV file is UTF-8, and this column is not. Convert the file: "
                "iconv -f latin1 -t utf-8.",
                column=f.name,
            )
    return taken


def _check_named(names: list[str]) -> None:
    """Refuse columns without names, such as the one of an index that pandas wrote."""
    named = [name for name in names if name.strip()]
    if len(named) == len(names):
        return
    position = next(i for i, name in enumerate(names) if not name.strip())
    others = f"{named}" if len(named) <= MOST_LISTED else f"[{named[0]!r}, …]"
    raise InvalidValueError(
        f"a CSV file names its columns in the first line, column {position} has no name. Name it, "
        f"or take the others: columns={others}. pandas leaves its index out with "
        "df.to_csv(path, index=False)."
    )
