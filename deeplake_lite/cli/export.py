"""The command that exports rows to a folder of files, a Parquet file or a CSV file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deeplake_lite import checks
from deeplake_lite.cli.app import Json, Url, Version, app, command, open_lake, print_json
from deeplake_lite.dataset.export.atomic_files import atomic_write
from deeplake_lite.errors import ExistsError, InvalidValueError, SchemaError
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.dataset.view import View

BLOCK_ROWS = 1_024
"""Number of rows to read and write at a time."""


@app.command()
@command
def export(
    url: Url,
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder to write to.")],
    format_: Annotated[
        str, typer.Option("--format", metavar="folder|parquet|csv", help="Format to write.")
    ] = "folder",
    version: Version = None,
    view: Annotated[str | None, typer.Option(help="Export only the rows of a saved view.")] = None,
    image: Annotated[
        str | None, typer.Option(help="Image column to write as files, if there are several.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Label column to name folders after, if there are several.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write rows to DIR as image files in a folder per class, as a Parquet file, or as a CSV file.

    A table next to the image files has the other columns. A CSV file cannot store columns of files,
    pixels and arrays; the command prints the names of the columns that it leaves out.
    """
    checks.choice("--format", format_, tuple(FORMATS))
    if format_ != "folder" and (image or label):
        raise InvalidValueError(
            f"--image and --label need --format folder, but the format is {format_}. Omit these "
            "options, or choose --format folder."
        )
    ds = open_lake(url, version)
    rows = ds if view is None else ds.views()[view]
    options = {"image": image, "label": label} if format_ == "folder" else {}
    export = FORMATS[format_](rows, folder, **options)
    if as_json:
        left_out = export.left_out
        return print_json({"path": str(export.path), "rows": len(rows), "left_out": left_out})
    if export.left_out:
        typer.echo(
            f"left out, because {format_} cannot store them: {', '.join(export.left_out)}", err=True
        )
    return typer.echo(f"{pluralize(len(rows), 'row')} written to {export.path}")


@dataclass(frozen=True)
class Exported:
    """The result of an export."""

    path: Path
    """The written file or folder."""

    left_out: list[str]
    """Names of columns that the format cannot store."""


def export_folder(view: View, folder: str, **options: Any) -> Exported:
    """Write image files to one folder per class, and the other columns to a table."""
    return Exported(view.to_folder(folder, **options), [])


def export_parquet(view: View, folder: str) -> Exported:
    """Write a Parquet file."""
    import pyarrow.parquet as pq

    path, schema = _new_file(view, folder, ".parquet"), view[:0].to_arrow().schema
    with atomic_write(path) as draft, pq.ParquetWriter(draft, schema) as writer:
        for start in range(0, len(view), BLOCK_ROWS):
            writer.write_table(view[start : start + BLOCK_ROWS].to_arrow())
    return Exported(path, [])


def export_csv(view: View, folder: str) -> Exported:
    """Write a CSV file of all columns except files, pixels and arrays."""
    import csv

    from deeplake_lite.dataset.export.portable import read_blocks, values_of
    from deeplake_lite.dataset.export.strings import fits_table, table_cell

    fields = [f for f in view.schema if fits_table(f.htype)]
    if not fields:
        raise SchemaError(
            "CSV cannot store files, pixels or arrays, and this view has no other columns. Choose "
            "--format folder or --format parquet."
        )
    path = _new_file(view, folder, ".csv")
    with atomic_write(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, quoting=csv.QUOTE_STRINGS)
        table.writerow([f.name for f in fields])
        for block in read_blocks(view, fields, "csv"):
            columns = [
                [table_cell(value, f.htype) for value in values_of(f.htype, block[f.name])]
                for f in fields
            ]
            table.writerows(zip(*columns, strict=True))
    return Exported(path, [f.name for f in view.schema if f not in fields])


FORMATS: dict[str, Callable[..., Exported]] = {
    "folder": export_folder,
    "parquet": export_parquet,
    "csv": export_csv,
}
"""The export function for each format name."""


def _new_file(view: View, folder: str, suffix: str) -> Path:
    """Return the path of a new file named after the lake. Raises ExistsError if the file exists."""
    stem = PurePosixPath(view.url.rstrip("/").rpartition("/")[2]).stem or "rows"
    path = Path(folder).expanduser() / f"{stem}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        raise ExistsError(f"The file {str(path)!r} already exists. Choose another folder.")
    return path
