"""Labels of pictures that come in a table: a CSV with a column of file names.

Which column holds the names is found by looking at the files: the one most of whose values are
paths, names or stems of files that are there.
"""

from __future__ import annotations

import os
import posixpath
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deeplake_lite.dataset.arrow_types import is_text
from deeplake_lite.dataset.values import with_none
from deeplake_lite.errors import InvalidValueError, NotFoundError
from deeplake_lite.htypes import ClassLabel, resolve
from deeplake_lite.ingest.columns import ArrowColumn
from deeplake_lite.ingest.csv import csv_source
from deeplake_lite.ingest.csv_file import csv_table, delimiter_of
from deeplake_lite.ingest.source import Skipped
from deeplake_lite.schema import free_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from deeplake_lite.ingest.layout import Found, Scanned

PROBED = 1_000
"""Rows that are looked at to find the column of file names."""


@dataclass(frozen=True)
class Labels:
    """The rows of a table, in the order of the files that they name."""

    files: tuple[Found, ...]
    """The files, sorted by path."""

    columns: dict[str, Any]
    """The columns but for that of the file names: lists of values where `schema` has their type."""

    missing: tuple[Skipped, ...]
    """Rows that name a file that is not there."""

    schema: Mapping[str, Any] = field(default_factory=dict)
    """Types that the user asked for."""

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
    file_column: str | None,
    schema: Mapping[str, Any],
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
    file_column : str, optional
        The column with the file names; found if left out.
    schema : mapping
        Types of some columns, which are read as `from_csv` reads them.

    Raises
    ------
    NotFoundError
        When there is no such table or column.
    InvalidValueError
        When it names a file twice, or no column names files.
    """
    path = Path(table) if Path(table).exists() else folder / table
    if not path.is_file():
        raise NotFoundError(f"There is no file {str(table)!r}, here or in {str(folder)!r}.")
    rows = csv_table(str(path))
    files = [*found.pictures, *found.others]
    names = _Names([f.path for f in files], len(found.pictures), folder, path)
    chosen = file_column or _find_column(rows, names, path)
    if chosen not in rows.schema.names:
        raise NotFoundError.named("column", chosen, rows.schema.names)
    order, missing = _order(rows.column(chosen).to_pylist(), names, path)
    listed = tuple(sorted((files[at] for at in order), key=lambda f: f.path))
    row_of = {files[at].path: row for at, row in order.items()}
    taken = rows.drop_columns([chosen]).take(pa.array([row_of[f.path] for f in listed], pa.int64()))
    columns: dict[str, Any] = {n: ArrowColumn.of(taken.column(n)) for n in taken.schema.names}
    given = {n: schema[n] for n in columns if n in schema and resolve(schema[n]) != ClassLabel()}
    if given:
        typed = _typed(path, given)
        at = [row_of[f.path] for f in listed]
        columns |= {name: [values[row] for row in at] for name, values in typed.items()}
    return Labels(listed, columns, missing, given, str(path.parent))


def _typed(path: Path, given: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return all values of some columns, as their types take them. Raises InvalidValueError."""
    source = csv_source(path, columns=[*given], delimiter=delimiter_of(str(path)), schema=given)
    found: dict[str, list[Any]] = {name: [] for name in given}
    for block in source.blocks():
        for name, values in found.items():
            values.extend(with_none(block.columns[name]))
    return found


class _Names:
    """Position of a file by what a table calls it, where that means one file.

    A name alone, with or without its suffix, is that of a file in any folder. A path is one from
    the folder, or from the table's; or else its end is that of a file's path, by whole folders, as
    where files were moved. One that names a file elsewhere means none of these.

    Parameters
    ----------
    files : sequence of str
        Paths below the folder, of which the first `pictures` come before the others.
    folder, table : Path
        Where they are, and the table that names them.
    """

    def __init__(self, files: Sequence[str], pictures: int, folder: Path, table: Path) -> None:
        self._folder, self._base = (
            Path(os.path.abspath(folder)),
            Path(os.path.abspath(table)).parent,
        )
        self._paths: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        for start, stop in ((pictures, len(files)), (0, pictures)):
            some = files[start:stop]
            for found, forms in (
                (self._names, (_stem, _name)),
                (self._paths, (_without_suffix, str)),
            ):
                for form in forms:
                    found |= _unique([(form(path), at) for at, path in enumerate(some, start)])
            self._ends |= _unique(
                [pair for at, p in enumerate(some, start) for pair in _ends(p, at)]
            )

    def find(self, name: Any) -> int | None:
        """Return the position of the file that a value of the table means."""
        text = posixpath.normpath(str(name).strip().replace("\\", "/"))
        if text in self._paths:
            return self._paths[text]
        if "/" not in text:
            return self._names.get(text)
        path = Path(os.path.normpath(self._base / text))
        if path.is_relative_to(self._folder):
            below = path.relative_to(self._folder).as_posix()
            if below in self._paths:
                return self._paths[below]
        if os.path.lexists(path):
            return None
        parts = text.split("/")
        for at in range(1, len(parts)):
            end = "/".join(parts[at:])
            if end in self._paths and ("/" in end or parts[at - 1] == self._folder.name):
                return self._paths[end]
        return self._ends.get(text)


def _unique(pairs: list[tuple[str, int]]) -> dict[str, int]:
    """Return the positions of texts that occur once."""
    counts = Counter(text for text, _ in pairs)
    return {text: at for text, at in pairs if counts[text] == 1}


def _ends(path: str, at: int) -> Iterator[tuple[str, int]]:
    """Yield the ends of a path that have a folder, but for the whole path.

    >>> list(_ends("a/b/c.png", 0))
    [('b/c.png', 0)]
    """
    parts = path.split("/")
    for first in range(1, len(parts) - 1):
        yield "/".join(parts[first:]), at


def _name(path: str) -> str:
    return PurePosixPath(path).name


def _stem(path: str) -> str:
    return PurePosixPath(path).stem


def _without_suffix(path: str) -> str:
    return PurePosixPath(path).with_suffix("").as_posix()


def _find_column(rows: pa.Table, names: _Names, path: Path) -> str:
    """Return the column that names files."""
    hits = {
        f.name: sum(names.find(v) is not None for v in rows.column(f.name)[:PROBED].to_pylist())
        for f in rows.schema
        if is_text(f.type) or pa.types.is_integer(f.type)
    }
    best: str | None = max(hits, key=lambda name: hits[name], default=None)
    if best is None or not hits[best]:
        listed = ", ".join(map(repr, rows.schema.names))
        raise InvalidValueError(
            f"no column of {str(path)!r} names files of the folder: {listed}. "
            "Say which one is to: file_column=…."
        )
    return best


def _order(
    values: list[Any], names: _Names, path: Path
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
