"""Rows of CSV files, by Arrow: small ones at once, large ones block by block."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa
import pyarrow.csv as arrow_csv

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes import Scalar, resolve
from deeplake_lite.ingest.files import find_files, fingerprint, folder_of
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.tabular import TabularSource, chosen, reading
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from deeplake_lite.ingest.options import Options, Types
    from deeplake_lite.ingest.result import IngestedDataset

AT_ONCE = 256 * 2**20
"""Smaller files are read at once: their types are those of all rows, not of the first block."""

BLOCK_BYTES = 16 * 2**20
"""Of larger files."""

OTHERS = (";", "\t", "|", ",")
"""What stands between the values of files that are called CSV, too."""


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
    are null, but for texts. ``schema={"species": "class_label"}`` makes classes of the texts of a
    column. Paths of pictures, ``schema={"image": dl.Image("jpeg")}``, start at the folder of the
    CSV unless they are absolute.

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
    schema: Types = None,
) -> TabularSource:
    """Return the source for a CSV file. Raises NotFoundError, InvalidValueError."""
    files = find_files(path, ".csv")
    if len(files) != 1:
        raise InvalidValueError(f"{str(path)!r} means {len(files)} files. Ingest them one by one.")
    file, given = files[0], types_of(schema)
    options = {
        "read_options": arrow_csv.ReadOptions(block_size=BLOCK_BYTES),
        "parse_options": arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        "convert_options": arrow_csv.ConvertOptions(column_types=_arrow_types(given)),
    }
    title, print_ = Path(file).name, fingerprint(files)
    if Path(file).stat().st_size > AT_ONCE:
        with reading(file), arrow_csv.open_csv(file, **options) as opened:
            arrow = chosen(_labelled(opened.schema, delimiter), columns)
        stream = partial(_stream, file, options)
        source = TabularSource(title, arrow, stream, key, fingerprint=print_, schema=given)
        return replace(source, base=folder_of(files))
    with reading(file):
        table = arrow_csv.read_csv(file, **options)
    arrow = chosen(_labelled(table.schema, delimiter), columns)
    full = frozenset(name for name in arrow.names if not table.column(name).null_count)
    read = partial(_batches, table)
    source = TabularSource(title, arrow, read, key, table.num_rows, print_, full, given)
    return replace(source, base=folder_of(files))


def _batches(table: pa.Table, columns: list[str]) -> Iterator[pa.RecordBatch]:
    yield from table.select(columns).to_batches()


def _stream(file: str, options: Mapping[str, Any], columns: list[str]) -> Iterator[pa.RecordBatch]:
    hint = "A type was found in the first rows; give it: schema={'column': 'float64'} or 'text'."
    with reading(file, hint), arrow_csv.open_csv(file, **options) as reader:
        for batch in reader:
            yield batch.select(columns)


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
