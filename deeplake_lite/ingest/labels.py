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
from deeplake_lite.ingest.csv import csv_source, named_by_numbers, written_types
from deeplake_lite.ingest.csv_file import csv_table, delimiter_of
from deeplake_lite.ingest.file_names import FileNames, find_column
from deeplake_lite.ingest.layout import own_columns, picture_column
from deeplake_lite.ingest.options import types_of
from deeplake_lite.ingest.source import Skipped
from deeplake_lite.schema import free_name

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Mapping

    from deeplake_lite.htypes import Htype
    from deeplake_lite.ingest.layout import Found, Scanned
    from deeplake_lite.ingest.options import Types


@dataclass(frozen=True)
class Labels:
    """The rows of a table, in the order of the files that they name."""

    files: tuple[Found, ...]
    """The files, sorted by path."""

    columns: dict[str, Any]
    """The columns but for that of the file names: lists of values where `types` has their type,
    but for that of classes whose names are still to be found."""

    missing: tuple[Skipped, ...]
    """Rows that name a file that is not there."""

    types: Mapping[str, Any]
    """Types of columns that the user asked for, or that the lake has."""

    image: str
    """Name of the column of pictures."""

    schema: Mapping[str, Any]
    """Types that the user asked for, of these columns and of the folder's own."""

    base: str
    """Folder of the table, where relative paths in it start."""


@dataclass(frozen=True)
class Asked:
    """How to read the columns of a table: what the user says of them, and the lake."""

    label: str
    """The column of labels, if the table has it."""

    file_column: str | None = None
    """The column with the file names; found if left out."""

    schema: Types = None
    """Types that the user gives. Those of names that both the folder and the table have are the
    table's."""

    known: Mapping[str, Htype] = field(default_factory=dict)
    """Types of the lake that takes the rows."""

    def types(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Return the types of columns of a table, by the names that they get."""
        given, known = types_of(self.schema), written_types(self.known)
        if isinstance(known.get(self.label), ClassLabel):
            known[self.label] = ClassLabel()  # the table may have more of them
        found = {new: known[new] for new in names.values() if new in known}
        found |= {new: given[old] for old, new in names.items() if old in given}
        return found | {new: given[new] for new in names.values() if new in given}

    def rest(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Return the types that the user gives to columns that are not the table's."""
        given = types_of(self.schema)
        used = {old for old, new in names.items() if new not in given}
        return {name: given[name] for name in given.keys() - used}


def read_labels(
    table: str | os.PathLike[str], folder: Path, found: Scanned, asked: Asked
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
    asked : Asked
        What is known of its columns, which are read as `from_csv` reads them.

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
    rows = csv_table(str(path))
    files = [*found.pictures, *found.others]
    file_names = FileNames([f.path for f in files], len(found.pictures), folder, path)
    chosen = asked.file_column or find_column(rows, file_names, asked.label, path)
    if chosen not in rows.schema.names:
        raise NotFoundError.named("column", chosen, rows.schema.names)
    order, missing = _order(rows.column(chosen).to_pylist(), file_names, path)
    listed = tuple(sorted((files[at] for at in order), key=lambda f: f.path))
    row_of = {files[at].path: row for at, row in order.items()}
    others = [name for name in rows.schema.names if name != chosen]
    image = picture_column(asked.schema, others)
    names = _renamed(others, own_columns(image, listed))
    types = asked.types(names)
    columns = _columns(path, names, types, asked.known, [row_of[f.path] for f in listed])
    schema = {**asked.rest(names), **replace(asked, known={}).types(names)}
    return Labels(listed, columns, missing, types, image, schema, str(path.parent))


def _renamed(columns: list[str], own: Collection[str]) -> dict[str, str]:
    """Return the names that columns of a table get beside those that the folder has itself.

    >>> _renamed(["path", "x"], ["image", "path"])
    {'path': 'path_', 'x': 'x'}
    """
    taken = {*own, *columns}
    return {name: free_name(name, taken) if name in own else name for name in columns}


def _columns(
    path: Path,
    names: Mapping[str, str],
    types: Mapping[str, Any],
    known: Mapping[str, Htype],
    at: list[int],
) -> dict[str, Any]:
    """Return some rows of a table by the names that its columns get, as their types take them."""
    numbered = {*named_by_numbers(known)}
    texts = [old for old, new in names.items() if new in numbered]
    given = {old: types[new] for old, new in names.items() if new in types}
    classes = [old for old, type_ in given.items() if resolve(type_) == ClassLabel()]
    taken = csv_table(str(path), texts, classes).take(pa.array(at, pa.int64()))
    columns: dict[str, Any] = {new: ArrowColumn.of(taken.column(old)) for old, new in names.items()}
    declared = {old: type_ for old, type_ in given.items() if old not in classes}
    typed = _typed(path, declared, texts) if declared else {}
    return columns | {names[old]: [values[row] for row in at] for old, values in typed.items()}


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
