"""Labels of pictures that come in a table: a CSV with a column of file names."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deeplake_lite.dataset.export.folder import FILE_NAMES, column_of
from deeplake_lite.dataset.read.values import with_none
from deeplake_lite.errors import InvalidValueError, NotFoundError
from deeplake_lite.htypes import ClassLabel, resolve
from deeplake_lite.ingest.columns import ArrowColumn
from deeplake_lite.ingest.csv import (
    csv_source,
    named_by_numbers,
    read_types,
)
from deeplake_lite.ingest.csv_file import HEADER_BYTES, csv_table, delimiter_of
from deeplake_lite.ingest.file_names import FileNames, find_column, is_empty
from deeplake_lite.ingest.layout import Found, own_columns, picture_column
from deeplake_lite.ingest.options import types_of
from deeplake_lite.ingest.source import Skipped
from deeplake_lite.ingest.tabular import reading
from deeplake_lite.schema import free_name

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Mapping

    from deeplake_lite.htypes import Htype
    from deeplake_lite.ingest.layout import Scanned
    from deeplake_lite.ingest.options import Types


_OTHER_FORMATS = {
    "JSON": re.compile(rb"\s*(\{|\[\s*[\[\]{\"])"),
    "Parquet": re.compile(rb"PAR1"),
    "Arrow": re.compile(rb"ARROW1"),
    "an Excel file or a ZIP archive": re.compile(rb"PK\x03\x04"),
}
"""Formats of tables that are no CSV, by what their files begin with."""


@dataclass(frozen=True)
class Labels:
    """The rows of a table, in the order of the files that they name."""

    files: tuple[Found, ...]
    """The files, sorted by path; and rows without one, by the name of the row."""

    bare: frozenset[str]
    """Names of the rows without a file, whose pictures are null."""

    columns: dict[str, Any]
    """The columns but for that of the file names: lists of values where `types` has their type,
    but for that of classes whose names are still to be found."""

    missing: tuple[Skipped, ...]
    """Rows that name a file that is not there, or none where no picture is null."""

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
        given, known = types_of(self.schema), read_types(self.known)
        label = known.get(self.label)
        if label is not None and label.classes is not None:
            known[self.label] = ClassLabel()  # the table may have more of them
        found = {new: known[new] for new in names.values() if new in known}
        found |= {new: given[old] for old, new in names.items() if old in given}
        return found | {new: given[new] for new in names.values() if new in given}

    def takes_null(self, column: str) -> bool:
        """Tell whether a column may have nulls: as the lake has it, as it is given, or else yes."""
        types = {**types_of(self.schema), **self.known}
        return column not in types or resolve(types[column]).nullable

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
        When it is no CSV, or names a file twice, or no column names files, or several do.
    """
    path = Path(table) if Path(table).exists() else folder / table
    if path.is_dir():
        raise InvalidValueError(
            f"labels must be a CSV file, but {str(path)!r} is a folder. Leave labels= out where "
            "its folders are the classes."
        )
    if not path.is_file():
        raise NotFoundError(f"There is no file {str(table)!r}, here or in {str(folder)!r}.")
    _check_is_csv(path)
    rows = csv_table(str(path))
    files = [*found.pictures, *found.others]
    file_names = FileNames([f.path for f in files], len(found.pictures), folder, path)
    chosen = asked.file_column or find_column(rows, file_names, asked.label, path)
    if chosen not in rows.schema.names:
        raise NotFoundError.named("column", chosen, rows.schema.names)
    others = _columns_meant([name for name in rows.schema.names if name != chosen], chosen)
    image = picture_column(asked.schema, others.values())
    order = _Order.of(rows.column(chosen).to_pylist(), file_names, path, asked.takes_null(image))
    found_files = [files[at] for at in order.files]
    bare = [Found(place, 0) for place in order.bare]
    listed = tuple(sorted([*found_files, *bare], key=lambda f: f.path))
    row_of = {files[at].path: row for at, row in order.files.items()} | order.bare
    names = _renamed(others, own_columns(image, found_files))
    types = asked.types(names)
    columns = _columns(path, names, types, asked.known, [row_of[f.path] for f in listed])
    schema = {**asked.rest(names), **replace(asked, known={}).types(names)}
    skipped, base = tuple(order.missing), str(path.parent)
    return Labels(listed, frozenset(order.bare), columns, skipped, types, image, schema, base)


def _check_is_csv(path: Path) -> None:
    """Refuse a file of another format, whatever it is called. Raises InvalidValueError."""
    with reading(str(path)), pa.input_stream(str(path)) as stream:
        start = stream.read(HEADER_BYTES).removeprefix(codecs.BOM_UTF8)
    for name, begins in _OTHER_FORMATS.items():
        if begins.match(start):
            raise InvalidValueError(
                f"labels must be a CSV file, but {str(path)!r} is {name}. Write its rows to a CSV "
                "with a column of file names, as pandas' to_csv does."
            )


def _columns_meant(headers: list[str], chosen: str) -> dict[str, str]:
    """Return the columns that headers mean beside the chosen one, which names the files.

    >>> _columns_meant(["file_name_", "x"], "file_name")
    {'file_name_': 'file_name', 'x': 'x'}
    """
    return {header: column_of(header) if chosen == FILE_NAMES else header for header in headers}


def _renamed(columns: Mapping[str, str], own: Collection[str]) -> dict[str, str]:
    """Return the names that columns of a table get beside those that the folder has itself.

    >>> _renamed({"path": "path", "file_name_": "file_name"}, ["image", "path"])
    {'path': 'path_', 'file_name_': 'file_name'}
    """
    taken = {*own, *columns.values()}
    return {
        header: free_name(name, taken) if name in own else name for header, name in columns.items()
    }


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
    rows = csv_table(str(path), texts, classes)
    taken = rows.take(pa.array(at, pa.int64()))
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


@dataclass(frozen=True)
class _Order:
    """What the rows of a table name."""

    files: dict[int, int] = field(default_factory=dict)
    """The row of each file that is named, by the position of the file."""

    bare: dict[str, int] = field(default_factory=dict)
    """Rows that name no file, by what they are called."""

    missing: list[Skipped] = field(default_factory=list)

    @classmethod
    def of(cls, values: list[Any], names: FileNames, path: Path, takes_null: bool) -> _Order:
        """Look up values of a table, where pictures may be null or not.

        Raises
        ------
        InvalidValueError
            When a file is named twice.
        """
        found = cls()
        for row, value in enumerate(values):
            place, at = f"{path.name}, row {row}", names.find(value)
            if is_empty(value) and takes_null:
                found.bare[place] = row
            elif is_empty(value):
                found.missing.append(Skipped(place, "it names no file, and no picture may be null"))
            elif at is None:
                found.missing.append(Skipped(place, f"there is no file {value!r}"))
            elif at in found.files:
                raise InvalidValueError(
                    f"{place}: {value!r} is named twice, in row {found.files[at]} too. "
                    "Leave one out."
                )
            else:
                found.files[at] = row
        return found


def class_numbers(column: ArrowColumn) -> bool:
    """Tell whether a column holds whole numbers from 0 on, which may stand for classes."""
    array = column.array
    if not pa.types.is_integer(array.type) or array.null_count == len(array):
        return False
    return bool(pc.min(array).as_py() >= 0)
