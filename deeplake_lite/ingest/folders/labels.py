"""Labels of images from a CSV with a column of file names."""

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
from deeplake_lite.ingest.folders.file_names import FileNames, find_column, is_empty
from deeplake_lite.ingest.folders.layout import File, image_column, own_columns
from deeplake_lite.ingest.options import types_of
from deeplake_lite.ingest.source import Skipped
from deeplake_lite.ingest.tables.columns import ArrowColumn
from deeplake_lite.ingest.tables.csv import (
    csv_source,
    named_by_numbers,
    read_types,
)
from deeplake_lite.ingest.tables.csv_file import HEADER_BYTES, csv_table, delimiter_of
from deeplake_lite.ingest.tables.tabular import reading
from deeplake_lite.schema import free_name

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Mapping

    from deeplake_lite.htypes import Htype
    from deeplake_lite.ingest.folders.layout import FolderScan
    from deeplake_lite.ingest.options import Types


_OTHER_FORMATS = {
    "JSON": re.compile(rb"\s*(\{|\[\s*[\[\]{\"])"),
    "Parquet": re.compile(rb"PAR1"),
    "Arrow": re.compile(rb"ARROW1"),
    "an Excel file or a ZIP archive": re.compile(rb"PK\x03\x04"),
}
"""Maps the name of each other format to a pattern that matches the first bytes of its files."""


@dataclass(frozen=True)
class Labels:
    """The rows of a table, sorted by the files that they name."""

    files: tuple[File, ...]
    """The files that the table names, and a placeholder for each row without a file, sorted by
    path. The path of a placeholder is the name of the row."""

    without_file: frozenset[str]
    """Names of the rows without a file, whose images are null."""

    columns: dict[str, Any]
    """Maps the names of columns to their values, without the column of file names. A column whose
    type is in `types` is a list of values, unless its class names are collected later."""

    missing: tuple[Skipped, ...]
    """Rows whose file does not exist, and rows without a file if images must not be null."""

    types: Mapping[str, Any]
    """Maps the names of columns to the types that the user declares or that the lake has."""

    image: str
    """Name of the column of images."""

    schema: Mapping[str, Any]
    """Maps names of the table's and the folder's columns to the types that the user declares."""

    base: str
    """Folder of the table, from which relative paths in the table start."""


@dataclass(frozen=True)
class TableOptions:
    """Options for reading the columns of a table."""

    label: str
    """Name of the column of labels, which the table need not have."""

    file_column: str | None = None
    """Name of the column of file names, or None to search for the column."""

    schema: Types = None
    """Types that the user declares.

    If a column of the folder and a column of the table have the same name, the type applies to the
    column of the table.
    """

    known: Mapping[str, Htype] = field(default_factory=dict)
    """Maps the names of the lake's columns to their types."""

    def types(self, names: Mapping[str, str]) -> dict[str, object]:
        """Return a dict from the new names of a table's columns to their declared or known types.

        `names` maps the names of columns in the table to their new names in the lake.
        """
        declared, known = types_of(self.schema), read_types(self.known)
        label = known.get(self.label)
        if label is not None and label.classes is not None:
            known[self.label] = ClassLabel()  # the table may have new classes
        types: dict[str, object] = {new: known[new] for new in names.values() if new in known}
        types |= {new: declared[old] for old, new in names.items() if old in declared}
        return types | {new: declared[new] for new in names.values() if new in declared}

    def takes_null(self, column: str) -> bool:
        """Return whether a column may have nulls. A new column without a declared type may."""
        types = {**types_of(self.schema), **self.known}
        return column not in types or resolve(types[column]).nullable

    def rest(self, names: Mapping[str, str]) -> dict[str, object]:
        """Return the declared types of columns that the table does not have.

        `names` maps the names of columns in the table to their new names in the lake.
        """
        declared = types_of(self.schema)
        used = {old for old, new in names.items() if new not in declared}
        return {name: declared[name] for name in declared.keys() - used}


def read_labels(
    table: str | os.PathLike[str], folder: Path, scanned: FolderScan, options: TableOptions
) -> Labels:
    """Read a CSV, and return its rows in the order of the files.

    Parameters
    ----------
    table : str or Path
        The CSV; the path is relative to the working directory or to `folder`.
    folder : Path
        The folder of the images.
    scanned : FolderScan
        The files of the folder. If a name is ambiguous, it refers to the file whose name has the
        suffix of an image.
    options : TableOptions
        Options for reading the columns. Otherwise, columns are read as in `from_csv`.

    Raises
    ------
    NotFoundError
        If there is no such table or column.
    InvalidValueError
        If the table is not a CSV, if it names a file twice, or if the column of file names cannot
        be found or is ambiguous.
    """
    path = Path(table) if Path(table).exists() else folder / table
    if path.is_dir():
        raise InvalidValueError(
            f"labels must be a CSV file, but {str(path)!r} is a folder. Leave labels= out if "
            "its subfolders are the classes."
        )
    if not path.is_file():
        raise NotFoundError(
            f"There is no file {str(table)!r} in the working directory or in {str(folder)!r}. "
            "Check the path."
        )
    _check_is_csv(path)
    rows = csv_table(str(path))
    files = [*scanned.images, *scanned.others]
    file_names = FileNames([f.path for f in files], len(scanned.images), folder, path)
    file_column = options.file_column or find_column(rows, file_names, options.label, path)
    if file_column not in rows.schema.names:
        raise NotFoundError.named("column", file_column, rows.schema.names)
    headers = [name for name in rows.schema.names if name != file_column]
    others = _original_names(headers, file_column)
    image = image_column(options.schema, others.values())
    values = rows.column(file_column).to_pylist()
    order = _Order.of(values, file_names, path, options.takes_null(image))
    listed = [files[at] for at in order.files]
    without_file = [File(place, 0) for place in order.without_file]
    all_files = tuple(sorted([*listed, *without_file], key=lambda f: f.path))
    row_of = {files[at].path: row for at, row in order.files.items()} | order.without_file
    names = _new_names(others, own_columns(image, listed))
    types = options.types(names)
    columns = _columns(path, names, types, options.known, [row_of[f.path] for f in all_files])
    schema = {**options.rest(names), **replace(options, known={}).types(names)}
    return Labels(
        all_files,
        frozenset(order.without_file),
        columns,
        tuple(order.missing),
        types,
        image,
        schema,
        str(path.parent),
    )


def _check_is_csv(path: Path) -> None:
    """Raise InvalidValueError if the first bytes of a file show that it is not a CSV file."""
    with reading(str(path)), pa.input_stream(str(path)) as stream:
        start = stream.read(HEADER_BYTES).removeprefix(codecs.BOM_UTF8)
    for name, begins in _OTHER_FORMATS.items():
        if begins.match(start):
            raise InvalidValueError(
                f"labels must be a CSV file, but the format of {str(path)!r} is {name}. Write its "
                "rows to a CSV with a column of file names, for example with pandas' to_csv."
            )


def _original_names(headers: list[str], file_column: str) -> dict[str, str]:
    """Return a dict from headers to the names that columns had before `View.to_folder` wrote them.

    >>> _original_names(["file_name_", "x"], "file_name")
    {'file_name_': 'file_name', 'x': 'x'}
    """
    is_exported = file_column == FILE_NAMES
    return {header: column_of(header) if is_exported else header for header in headers}


def _new_names(columns: Mapping[str, str], folder_columns: Collection[str]) -> dict[str, str]:
    """Return a dict from the headers of a table to the names of columns in the lake.

    A column of the table is renamed if the folder itself has a column with its name.

    >>> _new_names({"path": "path", "file_name_": "file_name"}, ["image", "path"])
    {'path': 'path_', 'file_name_': 'file_name'}
    """
    taken = {*folder_columns, *columns.values()}
    return {
        header: free_name(name, taken) if name in folder_columns else name
        for header, name in columns.items()
    }


def _columns(
    path: Path,
    names: Mapping[str, str],
    types: Mapping[str, object],
    known: Mapping[str, Htype],
    at: list[int],
) -> dict[str, object]:
    """Return a dict from the new names of a table's columns to values of the rows at `at`."""
    numbered = {*named_by_numbers(known)}
    texts = [old for old, new in names.items() if new in numbered]
    types_by_header = {old: types[new] for old, new in names.items() if new in types}
    classes = [old for old, type_ in types_by_header.items() if resolve(type_) == ClassLabel()]
    rows = csv_table(str(path), texts, classes).take(pa.array(at, pa.int64()))
    columns: dict[str, object] = {
        new: ArrowColumn.of(rows.column(old)) for old, new in names.items()
    }
    declared = {old: type_ for old, type_ in types_by_header.items() if old not in classes}
    typed = _read_typed(path, declared, texts) if declared else {}
    return columns | {names[old]: [values[row] for row in at] for old, values in typed.items()}


def _read_typed(
    path: Path, types: Mapping[str, object], named: Collection[str]
) -> dict[str, list[object]]:
    """Return a dict from the headers of columns with declared types to all their values.

    Raises InvalidValueError if a value does not fit its type.
    """
    delimiter = delimiter_of(str(path))
    source = csv_source(path, columns=[*types], delimiter=delimiter, schema=types, named=named)
    columns: dict[str, list[Any]] = {name: [] for name in types}
    for block in source.blocks():
        for name, values in columns.items():
            values.extend(with_none(block.columns[name]))
    return columns


@dataclass(frozen=True)
class _Order:
    """The assignment of files to the rows of a table that name them."""

    files: dict[int, int] = field(default_factory=dict)
    """Maps the position of each file to the number of the row that names it."""

    without_file: dict[str, int] = field(default_factory=dict)
    """Maps the name, in messages, of each row without a file to the number of the row."""

    missing: list[Skipped] = field(default_factory=list)

    @classmethod
    def of(cls, values: list[Any], names: FileNames, path: Path, takes_null: bool) -> _Order:
        """Find the files that the values of a table name.

        If `takes_null` is true, images may be null in rows without a file name.

        Raises
        ------
        InvalidValueError
            If two rows name the same file.
        """
        order = cls()
        for row, value in enumerate(values):
            place, at = f"{path.name}, row {row}", names.find(value)
            if is_empty(value) and takes_null:
                order.without_file[place] = row
            elif is_empty(value):
                order.missing.append(Skipped(place, "it names no file, but images cannot be null"))
            elif at is None:
                order.missing.append(Skipped(place, f"there is no file {value!r}"))
            elif at in order.files:
                raise InvalidValueError(
                    f"{place}: each file must be named only once, but {value!r} is also named in "
                    f"row {order.files[at]}. Remove one of the rows."
                )
            else:
                order.files[at] = row
        return order


def class_numbers(column: ArrowColumn) -> bool:
    """Return whether all values of a column could be class numbers: integers from 0 on."""
    array = column.array
    if not pa.types.is_integer(array.type) or array.null_count == len(array):
        return False
    return bool(pc.min(array).as_py() >= 0)
