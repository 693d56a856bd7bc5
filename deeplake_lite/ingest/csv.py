"""Rows of CSV files, by Arrow: small ones at once, large ones block by block."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa
import pyarrow.csv as arrow_csv

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes import Scalar, resolve
from deeplake_lite.ingest.files import find_files, fingerprint
from deeplake_lite.ingest.tabular import TabularSource, chosen, not_read
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset

AT_ONCE = 256 * 2**20
"""Smaller files are read at once: their types are those of all rows, not of the first block."""

BLOCK_BYTES = 16 * 2**20
"""Of larger files."""


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
        schema, branch, on_error, check, update, commit_every, message, progress, storage_options:
        see `ingest.options.Options`.

    Returns
    -------
    Dataset
        Committed; its ``ingested`` tells what was done.

    Notes
    -----
    Types are found by Arrow: integers, floats, truth values, dates, timestamps, text. Empty values
    are null, but for texts. ``schema={"species": "class_label"}`` makes classes of the texts of a
    column.

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
        path, key=on, columns=columns, delimiter=delimiter, schema=options.get("schema")
    )
    return ingest(source, url, **options)


def csv_source(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    columns: Sequence[str] | None = None,
    delimiter: str = ",",
    schema: Mapping[str, Any] | None = None,
) -> TabularSource:
    """Return the source for a CSV file. Raises NotFoundError, InvalidValueError."""
    file = find_files(path, ".csv")
    if len(file) != 1:
        raise InvalidValueError(f"{str(path)!r} means {len(file)} files. Ingest them one by one.")
    given = schema or {}
    convert = arrow_csv.ConvertOptions(column_types=_arrow_types(given))
    parse = arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    read = arrow_csv.ReadOptions(block_size=BLOCK_BYTES)
    options = {"read_options": read, "parse_options": parse, "convert_options": convert}
    rows, full = None, frozenset[str]()
    opened: Any
    try:
        if Path(file[0]).stat().st_size <= AT_ONCE:
            opened = arrow_csv.read_csv(file[0], **options)
            rows = opened.num_rows
            full = frozenset(name for name in opened.schema.names if not _nulls(opened, name))
        else:
            opened = arrow_csv.open_csv(file[0], **options)
    except (pa.ArrowException, OSError) as error:
        raise not_read(str(path), error) from error
    arrow = _labelled(chosen(opened.schema, columns))
    whole = partial(_stream, file[0], options) if rows is None else partial(_batches, opened)
    return TabularSource(
        Path(file[0]).name, arrow, whole, key, rows, fingerprint(file), full, given
    )


def _batches(table: pa.Table, columns: list[str]) -> Iterator[pa.RecordBatch]:
    yield from table.select(columns).to_batches()


def _stream(file: str, options: Mapping[str, Any], columns: list[str]) -> Iterator[pa.RecordBatch]:
    try:
        with arrow_csv.open_csv(file, **options) as reader:
            for batch in reader:
                yield batch.select(columns)
    except pa.ArrowInvalid as error:
        hint = (
            "Its type was found in the first rows; give it: schema={'column': 'float64'} or 'text'."
        )
        raise InvalidValueError(f"{file!r}: {str(error).splitlines()[0]}. {hint}") from error
    except (pa.ArrowException, OSError) as error:
        raise not_read(file, error) from error


def _labelled(schema: pa.Schema) -> pa.Schema:
    """Refuse a file whose header does not name every column."""
    unnamed = [i for i, name in enumerate(schema.names) if not name.strip()]
    if unnamed:
        raise InvalidValueError(
            f"a CSV file names its columns in the first line, column {unnamed[0]} has no name. "
            "Name it, or take others: columns=[…]."
        )
    return schema


def _nulls(table: pa.Table, name: str) -> int:
    return int(table.column(table.schema.names.index(name)).null_count)


def _arrow_types(schema: Mapping[str, Any]) -> dict[str, pa.DataType]:
    """Return the Arrow types in which columns are read, for those that the user gave a type.

    >>> _arrow_types({"x": "float32", "t": "text"})
    {'x': DataType(float), 't': DataType(string)}
    """
    found: dict[str, pa.DataType] = {}
    for name, spec in schema.items():
        htype = resolve(spec)
        if not isinstance(htype, Scalar):
            found[name] = pa.string()
        elif not htype.dtype.startswith("timedelta"):
            found[name] = pa.from_numpy_dtype(htype.dtype)
    return found
