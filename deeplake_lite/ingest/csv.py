"""Rows of CSV files: small files at once, large files block by block.

Columns of numbers, and columns to which the user gave a type, are read as text and converted block
by block. Where a value does not convert, the error then names its row, or the row is left out; the
rest of the file is still read.
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
from deeplake_lite.ingest.csv_file import (
    NULLS,
    NULLS_OF_FLOATS,
    CsvFile,
    converted,
    misfits,
    nullable,
    typed_rows,
)
from deeplake_lite.ingest.files import find_files, fingerprint, folder_of
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.tabular import TabularSource
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
"""Moments that are read as texts, because Arrow has no such units."""

_COUNT = re.compile(r"[+-]?[0-9]{1,19}")
"""Matches durations that are counts of their column's unit."""

_CLOCK = re.compile(r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?")
"""Matches durations that are times of a day."""


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
    A column that the lake has, or that `schema` names, is read by its type, and a value that the
    type does not take is an error of its row. Other types are found by Arrow: integers, floats,
    truth values, dates, timestamps, text. In columns of
    these, empty values are null, and so are words such as ``NA``, ``n/a``, ``NaN`` and ``null``
    that pandas reads as missing; ``nan`` is NaN in a column of floats. In a column of texts they
    are texts: empty ones and words. A column of nothing else is one of texts, unless the lake has
    it with another type.

    What an integer or a float would not give back, such as the code 01234 or a number of thirty
    digits, makes a column of texts. A float gives a number back if, written with as many digits as
    the file has, it is the same number: 1.10 and 0.10000000000000001 are floats, but
    12345678901234567.5 and 1e-400 are texts. Spaces around a number, and a plus before it, are no
    part of it.

    Empty lines are left out, as by other readers. In a file of a single column, though, an empty
    line is an empty value, also at the end of the file.

    ``schema={"species": "class_label"}`` makes classes of the texts of a column; integers are kept
    as the numbers of classes without names. In a column of a lake, a class is looked up by its
    name, which may be a number; only where no class is called like one, integers are class
    numbers.

    Paths of pictures, ``schema={"image": dl.Image("jpeg")}``, start at the folder of the CSV unless
    they are absolute.
    Values of a column that is declared as JSON, an array, boxes or a sequence, here or in the lake
    that takes them, are read as JSON: ``[[0, 0, 8, 8]]``.

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
    """Rows of record batches, in which some columns are still to be converted from text."""

    texts: frozenset[str] = field(default=frozenset(), kw_only=True)
    """Columns that are read as text and converted to their type in `arrow`."""

    def _values(self, batch: pa.RecordBatch, name: str) -> Any:
        """Return the values of a column, in the form that a CSV file has for its type."""
        values = self._converted(batch, name)
        return parse_values(values, self.columns[name]) if name in self.schema else values

    def _converted(self, batch: pa.RecordBatch, name: str) -> Any:
        """Return the values of a column. Those that do not convert stay text: errors of rows."""
        if name not in self.texts:
            return super()._values(batch, name)
        kind = self.arrow.field(name).type
        exact = name not in self.schema or takes_class_numbers(self.columns[name])
        texts = nullable(batch.column(name), kind)
        wrong = list(misfits(texts, kind, exact=exact))
        if not wrong:
            return super()._values(pa.record_batch({name: texts.cast(kind)}), name)
        if exact:
            raise InvalidValueError(
                f"{self.title} has {kind} in its first rows, but later "
                f"{brief(texts[wrong[0]].as_py())}. Give its type: schema={{{name!r}: 'text'}}.",
                column=name,
            )
        fits = pa.array(~np.isin(np.arange(len(texts)), wrong))
        right = pc.if_else(fits, texts, None).cast(kind)
        values = list(with_none(super()._values(pa.record_batch({name: right}), name)))
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

    Numbers are names of classes in the columns `named`. Raises NotFoundError, InvalidValueError.
    """
    files = find_files(path, ".csv")
    if len(files) != 1:
        raise InvalidValueError(f"{str(path)!r} means {len(files)} files. Ingest them one by one.")
    file = CsvFile(files[0], delimiter, skips=on_error == "skip")
    given = types_of(schema)
    classes = [n for n, spec in given.items() if takes_class_numbers(resolve(spec))]
    rows, arrow, texts = typed_rows(
        file, _arrow_types(given), columns, classes={*classes} - {*named}
    )
    full = () if file.is_large else (f.name for f in arrow if not converted(rows, f).null_count)
    return CsvSource(
        title=file.title,
        arrow=arrow,
        read=partial(file.stream, texts) if file.is_large else partial(_batches, rows),
        key=key,
        rows=None if file.is_large else rows.num_rows,
        fingerprint=fingerprint(path, files),
        full=frozenset(full),
        schema=given,
        left_out=file.left_out.values(),
        base=folder_of(files),
        texts=frozenset(f.name for f in arrow if f.name in texts and not is_text(f.type)),
    )


def lake_types(url: str, options: Options) -> dict[str, Htype]:
    """Return the types of a lake's columns; none where there is no lake yet."""
    store = options.get("storage_options")
    if not exists(url, storage_options=store):
        return {}
    ds = open_lake(url, branch=options.get("branch", "main"), storage_options=store)
    return {f.name: f.htype for f in ds.schema}


def read_types(known: Mapping[str, Htype]) -> dict[str, Htype]:
    """Return the types by which a CSV file is read whose rows go to the columns of a lake.

    They are the lake's: a type that was found in the file would be that of all values, so that a
    single wrong one made every row wrong. Classes without names are read as their numbers.

    >>> from deeplake_lite.htypes import ClassLabel
    >>> read_types({"a": Scalar("int8"), "b": ClassLabel(), "c": ClassLabel(["cat"])})
    {'a': Scalar('int8'), 'b': Scalar('int64', nullable=True), 'c': ClassLabel(['cat'])}
    """
    numbers = Scalar("int64", nullable=True)
    return {name: numbers if _has_no_names(htype) else htype for name, htype in known.items()}


def named_by_numbers(known: Mapping[str, Htype]) -> list[str]:
    """Return the columns of a lake whose classes have numbers as names.

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
    """Tell whether a CSV file has the values of a type as JSON.

    >>> from deeplake_lite.htypes import Boxes, ClassLabel, Image, Json, Text
    >>> [written_as_json(h) for h in (Json(), Boxes(), ClassLabel(["a"], multiple=True))]
    [True, True, True]
    >>> [written_as_json(h) for h in (Text(), ClassLabel(["a"]), Image())]
    [False, False, False]
    """
    if isinstance(htype.layout, Nested) or htype.layout.dtype == "json":
        return True
    return isinstance(htype.blank, list | np.ndarray) and not htype.takes_files


def parse_values(values: Any, htype: Htype) -> Any:
    """Return the values of texts: JSON, complex numbers, durations, moments of a coarse unit.

    An empty text is None. What is not JSON stays text, which an array does not take. In a column of
    JSON, which takes any text, it becomes bytes. Values of other types are what they are.

    >>> from deeplake_lite.htypes import Boxes, Json
    >>> parse_values(['{"a": 1}', "", "x"], Json()), parse_values(["[1, 2]", "x"], Boxes())
    ([{'a': 1}, None, b'x'], [[1, 2], 'x'])
    >>> parse_values(["(1+2j)", ""], Scalar("complex64"))
    [(1+2j), None]
    >>> parse_values(["5", "5 s", "00:05", "NA"], Scalar("timedelta64[s]"))
    [np.timedelta64(5,'s'), '5 s', datetime.time(0, 5), None]
    """
    if _is_coarse(htype):
        return [_trimmed(v) if isinstance(v, str) else v for v in with_none(values)]
    if _is_span(htype):
        return [_span(v, htype) if isinstance(v, str) else v for v in with_none(values)]
    if not written_as_json(htype):
        return [_number(v, htype) for v in with_none(values)] if _is_complex(htype) else values
    wrong = str.encode if htype.sql == "json" else str
    return [
        _of_json(_parse(value, wrong), htype) if isinstance(value, str) else value
        for value in values
    ]


def _of_json(value: Any, htype: Htype) -> Any:
    """Return what JSON has of a value, with spans and complex numbers in it.

    >>> from deeplake_lite.htypes import Sequence
    >>> _of_json([5, None], Sequence("timedelta64[s]"))
    [np.timedelta64(5,'s'), None]
    """
    if isinstance(value, list):
        return [_of_json(item, htype.item or htype) for item in value]
    return value if htype.item is not None else _number(value, htype)


def _number(value: Any, htype: Htype) -> Any:
    """Return a count as a span of a type's unit, a text as a complex number; others as they are."""
    dtype = htype.value_dtype
    if dtype.startswith("timedelta64") and isinstance(value, int | np.integer):
        return np.int64(value).astype(dtype)
    if dtype.startswith("complex") and isinstance(value, str):
        return _complex(value)
    return value


def _is_span(htype: Htype) -> bool:
    return htype.scalar is not None and htype.scalar.startswith("timedelta64")


def _is_coarse(htype: Htype) -> bool:
    """Tell whether values are moments in a unit that Arrow does not have."""
    return htype.scalar in _COARSE


def _is_complex(htype: Htype) -> bool:
    return htype.scalar is not None and htype.scalar.startswith("complex")


def _trimmed(text: str) -> str | None:
    """Return a text without space around it; None where it stands for nothing."""
    return None if text.strip() in NULLS else text.strip()


def _span(text: str, htype: Htype) -> Any:
    """Return a count of a type's unit, or a time since midnight; others as the type reads them.

    >>> _span(" +5", Scalar("timedelta64[ms]")), _span("soon", Scalar("timedelta64[ms]"))
    (np.timedelta64(5,'ms'), 'soon')
    """
    trimmed = _trimmed(text)
    if trimmed is None:
        return None
    if _COUNT.fullmatch(trimmed) and abs(int(trimmed)) < 2**63:
        return _number(int(trimmed), htype)
    try:
        return time.fromisoformat(trimmed) if _CLOCK.fullmatch(trimmed) else trimmed
    except ValueError:
        return trimmed


def _is_parsed(htype: Htype) -> bool:
    """Tell whether values are read as texts, of which `parse_values` makes them."""
    return _is_complex(htype) or _is_coarse(htype) or _is_span(htype)


def _complex(text: str) -> Any:
    """Return a complex number, None for a null; a text that float64 does not reach as it is.

    >>> _complex("1e400"), _complex("1+infj"), _complex("1e-400")
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


def _parse(text: str, wrong: Any) -> Any:
    try:
        return json.loads(text, object_pairs_hook=object_of, parse_float=_float) if text else None
    except (ValueError, RecursionError):
        return wrong(text)


def _float(text: str) -> float:
    """Return the number of a JSON text. Raises ValueError for one beyond float64's range."""
    number = float(text)
    is_zero = not re.search("[1-9]", re.split("[eE]", text)[0])
    if math.isinf(number) or (number == 0 and not is_zero):
        raise ValueError(f"{text} is beyond the range of float64")
    return number


def _arrow_types(schema: Mapping[str, Any]) -> dict[str, pa.DataType]:
    """Return the Arrow types in which columns are read, for those that the user gave a type.

    >>> _arrow_types({"x": "float32", "t": "text"})
    {'x': DataType(float), 't': DataType(string)}
    """
    found: dict[str, pa.DataType] = {}
    for name, spec in schema.items():
        htype = resolve(spec)
        if htype.scalar is None or _is_parsed(htype):
            found[name] = pa.string()
        elif htype.scalar == "float16":  # which Arrow does not read from texts
            found[name] = pa.float32()
        else:
            found[name] = pa.from_numpy_dtype(htype.scalar)
    return found
