"""Ingest CSV files. Small files are read as a whole, and large files in blocks.

Columns of numbers and columns with a declared type are read as strings, and each block of strings
is converted later. So if a value cannot be converted, the error names its row, or only that row is
skipped.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from datetime import time
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deeplake_lite.brief import brief
from deeplake_lite.dataset.arrow.types import is_text
from deeplake_lite.dataset.opening import exists
from deeplake_lite.dataset.opening import open as open_lake
from deeplake_lite.dataset.read.values import with_none
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes import Scalar, resolve
from deeplake_lite.htypes.json_values import object_of
from deeplake_lite.htypes.layouts import Nested
from deeplake_lite.ingest.classes import takes_class_numbers
from deeplake_lite.ingest.files import find_files, fingerprint, folder_of
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.tables.csv_file import (
    NULLS,
    NULLS_OF_FLOATS,
    CsvFile,
    convert,
    misfits,
    read_typed_rows,
    with_nulls,
)
from deeplake_lite.ingest.tables.tabular import TabularSource
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Mapping
    from collections.abc import Sequence as Rows

    from deeplake_lite.htypes import Htype
    from deeplake_lite.ingest.encoding import OnError
    from deeplake_lite.ingest.options import Options, Types
    from deeplake_lite.ingest.result import IngestedDataset


_COARSE = [f"datetime64[{unit}]" for unit in ("Y", "M", "W", "h", "m")]
"""Dtypes of timestamps that are read as strings, because Arrow does not have their units."""

_COUNT = re.compile(r"[+-]?[0-9]{1,19}")
"""Pattern of durations that are written as an integer, which counts the column's unit."""

_CLOCK = re.compile(r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?")
"""Pattern of durations that are written as times of day, such as 16:09."""


@takes_options
def from_csv(
    path: str | os.PathLike[str],
    url: str,
    *,
    on: str | None = None,
    columns: Rows[str] | None = None,
    delimiter: str = ",",
    **options: Unpack[Options],
) -> IngestedDataset:
    r"""Ingest the rows of a CSV file into a lake.

    Parameters
    ----------
    path : str or Path
        A UTF-8 file with a header line; it may be compressed (``.csv.gz``).
    url : str
        URL of the lake, which is created if it does not exist.
    on : str, optional
        The column that identifies rows. Rows that are already in the lake are updated if they
        differ. By default, all rows are appended.
    columns : sequence of str, optional
        The columns to ingest. By default, all columns.
    delimiter : str
        The character between values.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, whose attribute ``ingested`` summarizes the import.

    Notes
    -----
    A column that exists in the lake or is declared in `schema` is read as that type, and a value
    that does not fit the type is an error. For other columns, Arrow infers the type: integers,
    floats, booleans, dates, timestamps, strings. Except in columns of strings, empty values are
    null, and so are words that pandas reads as missing values, such as ``NA``, ``n/a``, ``NaN`` and
    ``null``; in a column of floats, ``nan`` is NaN. In a column of strings, all of these are
    strings. A column without any other values becomes a column of strings, unless it has another
    type in the lake.

    If an integer or a float cannot reproduce a number, such as the code 01234 or a number of thirty
    digits, the column becomes strings. A float reproduces a number if the float, written with as
    many digits as in the file, is the same number: 1.10 and 0.10000000000000001 become floats, but
    12345678901234567.5 and 1e-400 become strings. Spaces around a number and a plus sign are
    ignored.

    Empty lines are ignored, except in a file with a single column. There, an empty line is an empty
    value, even at the end of the file.

    ``schema={"species": "class_label"}`` turns the strings of a column into classes; integers
    become class numbers without names. If the column exists in the lake, values are class names,
    which may look like numbers. Integers are class numbers only if no class has a number as its
    name.

    Times of day, such as 16:09, remain strings, because ratios and scores look the same. If you
    declare ``schema={"start": "timedelta64[s]"}``, they become durations since midnight.

    Paths of images, ``schema={"image": dl.Image("jpeg")}``, may be relative to the folder of the
    CSV. Values of JSON, arrays, boxes and sequences are written as JSON: ``[[0, 0, 8, 8]]``.

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
    known = lake_types(url, options)
    source = csv_source(
        path,
        key=on,
        columns=columns,
        delimiter=delimiter,
        schema={**read_types(known), **types_of(options.get("schema"))},
        named=named_by_numbers(known),
        on_error=options.get("on_error", "raise"),
    )
    return ingest(source, url, **options)


@dataclass(frozen=True)
class CsvSource(TabularSource):
    """The source for a CSV file. Some columns of its batches are read as strings and converted."""

    texts: frozenset[str] = field(default=frozenset(), kw_only=True)
    """Names of columns that are read as strings and then converted to their types in `arrow`."""

    def _values(self, batch: pa.RecordBatch, name: str) -> object:
        """Return the values of a column, parsed according to its type."""
        values = self._convert(batch, name)
        return parse_values(values, self.columns[name]) if name in self.schema else values

    def _convert(self, batch: pa.RecordBatch, name: str) -> object:
        """Convert a column to its Arrow type.

        Strings that cannot be converted remain, and cause an error when they are encoded.
        """
        if name not in self.texts:
            return super()._values(batch, name)
        kind = self.arrow.field(name).type
        exact = name not in self.schema or takes_class_numbers(self.columns[name])
        texts = with_nulls(batch.column(name), kind)
        wrong = list(misfits(texts, kind, exact=exact))
        if not wrong:
            return super()._values(pa.record_batch({name: texts.cast(kind)}), name)
        if exact:
            raise InvalidValueError(
                f"values must fit {kind}, the type of the first rows of {self.title}, but a later "
                f"value is {brief(texts[wrong[0]].as_py())}. Declare the column's type: "
                f"schema={{{name!r}: 'text'}}.",
                column=name,
            )
        fits = pa.array(~np.isin(np.arange(len(texts)), wrong))
        valid = pc.if_else(fits, texts, None).cast(kind)
        values = list(with_none(super()._values(pa.record_batch({name: valid}), name)))
        for row in wrong:
            values[row] = texts[row].as_py()
        return values


def csv_source(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    columns: Rows[str] | None = None,
    delimiter: str = ",",
    schema: Types = None,
    named: Collection[str] = (),
    on_error: OnError = "raise",
) -> CsvSource:
    """Return the source for a CSV file.

    `named` has the names of the columns of classes in which numbers are names of classes.
    Raises NotFoundError or InvalidValueError if the file does not exist or cannot be read.
    """
    files = find_files(path, ".csv")
    if len(files) != 1:
        raise InvalidValueError(
            f"path must be one CSV file, but {str(path)!r} matches {len(files)} files. Ingest the "
            "files one by one."
        )
    file = CsvFile(files[0], delimiter, skips=on_error == "skip")
    declared = types_of(schema)
    classes = [n for n, spec in declared.items() if takes_class_numbers(resolve(spec))]
    rows, arrow, texts = read_typed_rows(
        file, _arrow_types(declared), columns, classes={*classes} - {*named}
    )
    full = () if file.is_large else (f.name for f in arrow if not convert(rows, f).null_count)
    return CsvSource(
        title=file.title,
        arrow=arrow,
        read=partial(file.stream, texts) if file.is_large else partial(_batches, rows),
        key=key,
        rows=None if file.is_large else rows.num_rows,
        fingerprint=fingerprint(path, files),
        full=frozenset(full),
        schema=declared,
        left_out=file.left_out.values(),
        base=folder_of(files),
        texts=frozenset(f.name for f in arrow if f.name in texts and not is_text(f.type)),
    )


def lake_types(url: str, options: Options) -> dict[str, Htype]:
    """Return a dict from a lake's columns to their types. It is empty if there is no lake yet."""
    store = options.get("storage_options")
    if not exists(url, storage_options=store):
        return {}
    ds = open_lake(url, branch=options.get("branch", "main"), storage_options=store)
    return {f.name: f.htype for f in ds.schema}


def read_types(known: Mapping[str, Htype]) -> dict[str, Htype]:
    """Return the types with which to read the columns of a CSV file that exist in a lake.

    These are the lake's types, except that classes without names are read as numbers. If types were
    inferred instead, they would have to fit all values, so that a single invalid value would make
    all rows invalid.

    >>> from deeplake_lite.htypes import ClassLabel
    >>> read_types({"a": Scalar("int8"), "b": ClassLabel(), "c": ClassLabel(["cat"])})
    {'a': Scalar('int8'), 'b': Scalar('int64', nullable=True), 'c': ClassLabel(['cat'])}
    """
    numbers = Scalar("int64", nullable=True)
    return {name: numbers if _has_no_names(htype) else htype for name, htype in known.items()}


def named_by_numbers(known: Mapping[str, Htype]) -> list[str]:
    """Return the names of the columns of a lake in which a class has a number as its name.

    >>> from deeplake_lite.htypes import ClassLabel
    >>> named_by_numbers({"a": ClassLabel(["1", "2"]), "b": ClassLabel(["cat"]), "c": ClassLabel()})
    ['a']
    """
    return [
        name
        for name, htype in known.items()
        if htype.classes is not None and not takes_class_numbers(htype)
    ]


def _has_no_names(htype: Htype) -> bool:
    return htype.classes is not None and htype.item is None and not htype.classes.names


def _batches(rows: pa.Table, columns: list[str]) -> Iterator[pa.RecordBatch]:
    yield from rows.select(columns).to_batches()


def written_as_json(htype: Htype) -> bool:
    """Return whether the values of a type are written as JSON in a CSV file.

    >>> from deeplake_lite.htypes import Boxes, ClassLabel, Image, Json, Text
    >>> [written_as_json(h) for h in (Json(), Boxes(), ClassLabel(["a"], multiple=True))]
    [True, True, True]
    >>> [written_as_json(h) for h in (Text(), ClassLabel(["a"]), Image())]
    [False, False, False]
    """
    if isinstance(htype.layout, Nested) or htype.layout.dtype == "json":
        return True
    return isinstance(htype.blank, list | np.ndarray) and not htype.takes_files


def parse_values(values: Any, htype: Htype) -> object:
    """Convert strings to values of the type `htype`, if Arrow cannot do so.

    Arrow can parse neither JSON nor complex numbers, durations, and timestamps with units such as
    months. For all other types, values are returned unchanged.

    An empty string becomes None. Strings that are not valid remain strings, which cause an error
    when they are encoded. In JSON columns, which accept strings, they become bytes.

    >>> from deeplake_lite.htypes import Boxes, Json
    >>> parse_values(['{"a": 1}', "", "x"], Json()), parse_values(["[1, 2]", "x"], Boxes())
    ([{'a': 1}, None, b'x'], [[1, 2], 'x'])
    >>> parse_values(["(1+2j)", ""], Scalar("complex64"))
    [(1+2j), None]
    >>> parse_values(["5", "5 s", "00:05", "NA"], Scalar("timedelta64[s]"))
    [np.timedelta64(5,'s'), '5 s', datetime.time(0, 5), None]
    """
    if _is_coarse(htype):
        return [_trim(v) if isinstance(v, str) else v for v in with_none(values)]
    if _is_duration(htype):
        return [_parse_duration(v, htype) if isinstance(v, str) else v for v in with_none(values)]
    if not written_as_json(htype):
        return [_number(v, htype) for v in with_none(values)] if _is_complex(htype) else values
    wrong = str.encode if htype.sql == "json" else str
    return [
        _from_json(_parse_json(value, wrong), htype) if isinstance(value, str) else value
        for value in values
    ]


def _from_json(value: object, htype: Htype) -> object:
    """Convert the durations and complex numbers in a JSON value to values of a type.

    >>> from deeplake_lite.htypes import Sequence
    >>> _from_json([5, None], Sequence("timedelta64[s]"))
    [np.timedelta64(5,'s'), None]
    """
    if isinstance(value, list):
        return [_from_json(item, htype.item or htype) for item in value]
    return value if htype.item is not None else _number(value, htype)


def _number(value: object, htype: Htype) -> object:
    """Convert an integer to a duration, or a string to a complex number, if `htype` stores them.

    Other values are returned unchanged.
    """
    dtype = htype.value_dtype
    if dtype.startswith("timedelta64") and isinstance(value, int | np.integer):
        return np.int64(value).astype(dtype)
    if dtype.startswith("complex") and isinstance(value, str):
        return _parse_complex(value)
    return value


def _is_duration(htype: Htype) -> bool:
    return htype.scalar is not None and htype.scalar.startswith("timedelta64")


def _is_coarse(htype: Htype) -> bool:
    """Return whether the values of a type are timestamps with a unit that Arrow does not have."""
    return htype.scalar in _COARSE


def _is_complex(htype: Htype) -> bool:
    return htype.scalar is not None and htype.scalar.startswith("complex")


def _trim(text: str) -> str | None:
    """Return a string without surrounding whitespace, or None if it means null."""
    return None if text.strip() in NULLS else text.strip()


def _parse_duration(text: str, htype: Htype) -> object:
    """Parse a duration, which is a number of units or a time of day.

    Return None for null, and other strings without surrounding whitespace.

    >>> htype = Scalar("timedelta64[ms]")
    >>> _parse_duration(" +5", htype), _parse_duration("soon", htype)
    (np.timedelta64(5,'ms'), 'soon')
    """
    trimmed = _trim(text)
    if trimmed is None:
        return None
    if _COUNT.fullmatch(trimmed) and abs(int(trimmed)) < 2**63:
        return _number(int(trimmed), htype)
    try:
        return time.fromisoformat(trimmed) if _CLOCK.fullmatch(trimmed) else trimmed
    except ValueError:
        return trimmed


def _is_parsed(htype: Htype) -> bool:
    """Return whether `parse_values` must convert strings to the values of a type."""
    return _is_complex(htype) or _is_coarse(htype) or _is_duration(htype)


def _parse_complex(text: str) -> object:
    """Parse a complex number. Return None for null, and the string itself if it is not valid.

    A number is not valid if complex128 would turn it into infinity.

    >>> _parse_complex("1e400"), _parse_complex("1+infj"), _parse_complex("1e-400")
    ('1e400', (1+infj), 0j)
    """
    if text.strip() in NULLS_OF_FLOATS:
        return None
    try:
        number = complex(text)
    except ValueError:
        return text
    infinite = math.isinf(number.real) + math.isinf(number.imag)
    return text if infinite > text.casefold().count("inf") else number


def _parse_json(text: str, wrong: Any) -> object:
    """Parse a JSON document. Return None if it is empty, and `wrong(text)` if it is invalid."""
    try:
        if not text:
            return None
        return json.loads(text, object_pairs_hook=object_of, parse_float=_parse_float)
    except (ValueError, RecursionError):
        return wrong(text)


def _parse_float(text: str) -> float:
    """Parse a JSON number. Raises ValueError if it is too large or too small for float64."""
    number = float(text)
    is_zero = not re.search("[1-9]", re.split("[eE]", text)[0])
    if math.isinf(number) or (number == 0 and not is_zero):
        raise ValueError(f"{text} is beyond the range of float64")
    return number


def _arrow_types(schema: Mapping[str, object]) -> dict[str, pa.DataType]:
    """Return a dict from names of columns to the Arrow types with which they are read.

    >>> _arrow_types({"x": "float32", "t": "text"})
    {'x': DataType(float), 't': DataType(string)}
    """
    types: dict[str, pa.DataType] = {}
    for name, spec in schema.items():
        htype = resolve(spec)
        if htype.scalar is None or _is_parsed(htype):
            types[name] = pa.string()
        elif htype.scalar == "float16":  # Arrow cannot parse strings as float16
            types[name] = pa.float32()
        else:
            types[name] = pa.from_numpy_dtype(htype.scalar)
    return types
