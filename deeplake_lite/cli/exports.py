"""Rows of a lake as files in a folder: one function per format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from deeplake_lite.errors import ExistsError, SchemaError
from deeplake_lite.htypes import ClassLabel, Json, Scalar, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field

BLOCK_ROWS = 1_024
"""Rows that are read and written at a time."""


@dataclass(frozen=True)
class Exported:
    """What an export wrote."""

    path: Path
    """The file, or the folder."""

    left_out: list[str]
    """Columns that the format does not hold."""


def export_folder(view: View, folder: str) -> Exported:
    """Write pictures as files, in a folder per class, and a table beside them."""
    return Exported(view.to_folder(folder), [])


def export_parquet(view: View, folder: str) -> Exported:
    """Write a Parquet file."""
    import pyarrow.parquet as pq

    path, tables = _new_file(view, folder, ".parquet"), _tables(view)
    first = next(tables)
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)
    return Exported(path, [])


def export_csv(view: View, folder: str) -> Exported:
    """Write a CSV file of the columns that are text, numbers, truth values, times or classes."""
    import pyarrow.csv as arrow_csv

    names = [f.name for f in view.schema if _is_plain(f)]
    left_out = [name for name in view.columns if name not in names]
    if not names:
        raise SchemaError("CSV holds texts, numbers and classes; there is no such column.")
    path, tables = _new_file(view, folder, ".csv"), map(_plain, _tables(view[names]))
    first = next(tables)
    with arrow_csv.CSVWriter(path, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)
    return Exported(path, left_out)


FORMATS: dict[str, Callable[[View, str], Exported]] = {
    "folder": export_folder,
    "parquet": export_parquet,
    "csv": export_csv,
}
"""By name; a new format is a function and a line here."""


def _tables(view: View) -> Iterator[pa.Table]:
    """Yield the rows as tables: at least one, which may be empty."""
    for start in range(0, max(len(view), 1), BLOCK_ROWS):
        yield view[start : start + BLOCK_ROWS].to_arrow()


def _plain(table: pa.Table) -> pa.Table:
    """Return a table with texts for classes and durations, which CSV lacks."""
    import pyarrow as pa

    def plain(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_dictionary(kind):
            return pa.string()
        if pa.types.is_duration(kind):
            return pa.int64()
        return pa.float32() if pa.types.is_float16(kind) else kind

    fields = [pa.field(f.name, plain(f.type)) for f in table.schema]
    return table.cast(pa.schema(fields))


def _is_plain(f: Field) -> bool:
    """Tell whether CSV holds a column."""
    match f.htype:
        case Scalar(dtype=dtype):
            return not dtype.startswith("complex")
        case ClassLabel(multiple=multiple):
            return not multiple
    return isinstance(f.htype, Text | Json)


def _new_file(view: View, folder: str, suffix: str) -> Path:
    """Return the path of a new file, named like the lake. Raises ExistsError."""
    stem = PurePosixPath(view.url.rstrip("/").rpartition("/")[2]).stem or "rows"
    path = Path(folder).expanduser() / f"{stem}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        raise ExistsError(f"There is a file {str(path)!r} already. Choose another folder.")
    return path
