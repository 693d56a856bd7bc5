"""Labels of pictures that come in a table: a CSV with a column of file names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deeplake_lite.dataset.values import with_none
from deeplake_lite.errors import InvalidValueError, NotFoundError
from deeplake_lite.htypes import ClassLabel, resolve
from deeplake_lite.ingest.columns import ArrowColumn
from deeplake_lite.ingest.csv import csv_source
from deeplake_lite.ingest.csv_file import csv_table, delimiter_of
from deeplake_lite.ingest.file_names import FileNames, find_column
from deeplake_lite.ingest.source import Skipped
from deeplake_lite.schema import free_name

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Mapping

    from deeplake_lite.ingest.layout import Found, Scanned


@dataclass(frozen=True)
class Labels:
    """The rows of a table, in the order of the files that they name."""

    files: tuple[Found, ...]
    """The files, sorted by path."""

    columns: dict[str, Any]
    """The columns but for that of the file names: lists of values where `schema` has their type,
    but for that of classes whose names are still to be found."""

    missing: tuple[Skipped, ...]
    """Rows that name a file that is not there."""

    schema: Mapping[str, Any] = field(default_factory=dict)
    """Types that the user asked for, or that the lake has."""

    base: str | None = None
    """Folder of the table, where relative paths in it start."""

    def beside(self, own: Collection[str]) -> Labels:
        """Return the same with other names for columns whose names the folder has itself."""
        taken = {*own, *self.columns}
        names = {name: free_name(name, taken) if name in own else name for name in self.columns}
        columns = {names[name]: values for name, values in self.columns.items()}
        schema = {names[name]: type_ for name, type_ in self.schema.items()}
        return replace(self, columns=columns, schema=schema)


def read_labels(
    table: str | os.PathLike[str],
    folder: Path,
    found: Scanned,
    *,
    label: str,
    file_column: str | None,
    schema: Mapping[str, Any],
    named: Collection[str] = (),
) -> Labels:
    """Read a CSV and put its rows into the order of the files.

    Parameters
    ----------
    table : str or Path
        The CSV, from here or from `folder`.
    folder : Path
        Where the pictures are.
    found : Scanned
        What is there. Names mean files that are pictures by their names, if they can.
    label : str
        The column of labels, if the table has it.
    file_column : str, optional
        The column with the file names; found if left out.
    schema : mapping
        Types of some columns, which are read as `from_csv` reads them.
    named : collection of str
        Columns in which a number is the name of a class.

    Raises
    ------
    NotFoundError
        When there is no such table or column.
    InvalidValueError
        When it names a file twice, or no column names files, or several do.
    """
    path = Path(table) if Path(table).exists() else folder / table
    if not path.is_file():
        raise NotFoundError(f"There is no file {str(table)!r}, here or in {str(folder)!r}.")
    classes = [name for name, type_ in schema.items() if resolve(type_) == ClassLabel()]
    rows = csv_table(str(path), named, classes)
    files = [*found.pictures, *found.others]
    names = FileNames([f.path for f in files], len(found.pictures), folder, path)
    chosen = file_column or find_column(rows, names, label, path)
    if chosen not in rows.schema.names:
        raise NotFoundError.named("column", chosen, rows.schema.names)
    order, missing = _order(rows.column(chosen).to_pylist(), names, path)
    listed = tuple(sorted((files[at] for at in order), key=lambda f: f.path))
    row_of = {files[at].path: row for at, row in order.items()}
    taken = rows.drop_columns([chosen]).take(pa.array([row_of[f.path] for f in listed], pa.int64()))
    columns: dict[str, Any] = {n: ArrowColumn.of(taken.column(n)) for n in taken.schema.names}
    given = {name: schema[name] for name in columns if name in schema}
    declared = {name: given[name] for name in given if name not in classes}
    if declared:
        typed = _typed(path, declared, named)
        at = [row_of[f.path] for f in listed]
        columns |= {name: [values[row] for row in at] for name, values in typed.items()}
    return Labels(listed, columns, missing, given, str(path.parent))


def _typed(path: Path, given: Mapping[str, Any], named: Collection[str]) -> dict[str, list[Any]]:
    """Return all values of some columns, as their types take them. Raises InvalidValueError."""
    delimiter = delimiter_of(str(path))
    source = csv_source(path, columns=[*given], delimiter=delimiter, schema=given, named=named)
    found: dict[str, list[Any]] = {name: [] for name in given}
    for block in source.blocks():
        for name, values in found.items():
            values.extend(with_none(block.columns[name]))
    return found


def _order(
    values: list[Any], names: FileNames, path: Path
) -> tuple[dict[int, int], tuple[Skipped, ...]]:
    """Return the table's row of each file that it names, and rows without a file."""
    order: dict[int, int] = {}
    missing = []
    for row, value in enumerate(values):
        at = names.find(value)
        if at is None:
            missing.append(Skipped(f"{path.name}, row {row}", f"there is no file {value!r}"))
        elif at in order:
            raise InvalidValueError(
                f"{path.name}, row {row}: {value!r} is named twice, in row {order[at]} too. "
                "Leave one out."
            )
        else:
            order[at] = row
    return order, tuple(missing)


def class_numbers(column: ArrowColumn) -> bool:
    """Tell whether a column holds whole numbers from 0 on, which may stand for classes."""
    array = column.array
    if not pa.types.is_integer(array.type) or array.null_count == len(array):
        return False
    return bool(pc.min(array).as_py() >= 0)
