"""Export of a view to a folder: samples as files, a folder per class, and all columns in a CSV.

Many tools read this layout: ``tulip/000041.jpg``, and a table ``metadata.csv`` with the column
``file_name``, which is empty for null images. Files are numbered by row. Other columns that hold
files, pixels or arrays are also written as files, below ``_columns``; the table lists the paths of
these files, and `from_folder` skips the folder ``_columns``. Names are sanitized, so no file is
written outside the export's folder.
"""

from __future__ import annotations

import contextlib
import csv
import json
import re
import shutil
import warnings
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import checks, codecs
from deeplake_lite.dataset.export.atomic_files import as_storage_errors
from deeplake_lite.dataset.export.folder_names import Folders
from deeplake_lite.dataset.export.portable import (
    has_nulls,
    is_file,
    read_blocks,
    values_of,
    warn_of_metadata,
)
from deeplake_lite.dataset.export.strings import fits_table, table_cell
from deeplake_lite.errors import ExistsError, ExportWarning, InvalidValueError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field

TABLE = "metadata.csv"
"""Name of the table."""

FILE_NAMES = "file_name"
"""Header of the table's column that holds the path of each sample's file."""

COLUMNS = "_columns"
"""Name of the folder for the files of all other columns."""

_BLOCK_ROWS = 256
_EXTENSIONS = {"jpeg": "jpg", "tiff": "tif"}


def write_folder(view: View, path: str | Path, image: str | None, label: str | None) -> Path:
    """Write the rows of a view as files; see `View.to_folder`."""
    samples, labels = _choose_image(view, image), _choose_label(view, label)
    root = Path(checks.location("path", path)).expanduser()
    _warn_of_losses(view)
    with as_storage_errors(root), new_folder(root, "to_folder"):
        _write(view, root, samples, labels)
    return root


def _warn_of_losses(view: View) -> None:
    """Warn about nulls, which CSV files store like empty strings, and about lost metadata."""
    names = [f.name for f in view.schema if f.htype.sql == "text" and has_nulls(view, f)]
    if names:
        warnings.warn(
            f"to_folder writes the nulls of {', '.join(map(repr, names))} as empty cells, which "
            "many programs that read CSV files treat as empty strings.",
            ExportWarning,
            stacklevel=5,
        )
    warn_of_metadata(view, "to_folder", "a table", of_dataset=True, stacklevel=6)


def _write(view: View, root: Path, samples: Field, labels: Field | None) -> None:
    """Write a file per row from the column `samples`, in a folder per class, and the table."""
    others = [f for f in view.schema if f is not samples]
    fields = [samples, *others]
    classes = Folders(root, [TABLE, COLUMNS])
    files = _Files(root, Folders(root / COLUMNS), max(6, len(str(len(view)))))
    row = 0
    with (root / TABLE).open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, quoting=csv.QUOTE_STRINGS)
        table.writerow([FILE_NAMES, *(header_of(f.name) for f in others)])
        for block in read_blocks(view, fields, "to_folder", _BLOCK_ROWS):
            values = {f.name: values_of(f.htype, block[f.name]) for f in fields}
            for i, sample in enumerate(values[samples.name]):
                folder = classes.of(values[labels.name][i]) if labels else root
                name = files.write(folder, f"{row:0{files.digits}}", samples.htype, sample)
                cells = (files.cell(row, f, values[f.name][i]) for f in others)
                table.writerow([name or "", *cells])
                row += 1


def header_of(column: str) -> str:
    """Return the header of a column in the table. ``file_name`` is reserved for the paths.

    An underscore is appended to ``file_name``, ``file_name_`` etc., which keeps headers unique.

    >>> header_of("file_name"), header_of("file_name_"), header_of("file")
    ('file_name_', 'file_name__', 'file')
    """
    return f"{column}_" if re.fullmatch(f"{FILE_NAMES}_*", column) else column


def column_of(header: str) -> str:
    """Return the name of the column for which `header_of` returns the given header.

    >>> column_of("file_name_"), column_of("file_name__"), column_of("file")
    ('file_name', 'file_name_', 'file')
    """
    return header[:-1] if re.fullmatch(f"{FILE_NAMES}_+", header) else header


@dataclass(frozen=True)
class _Files:
    """Writer of files for values that do not fit in a table."""

    root: Path
    """The folder to which paths in the table are relative."""
    columns: Folders
    """A folder for each column."""
    digits: int
    """Number of digits of row numbers in file names."""

    def cell(self, row: int, f: Field, value: Any) -> object:
        """Return the text for a table cell: the value, or the path of a new file that holds it."""
        if value is None or fits_table(f.htype):
            return table_cell(value, f.htype)
        folder, number = self.columns.of(f.name), f"{row:0{self.digits}}"
        if f.htype.item is None:
            return self.write(folder, number, f.htype, value)
        paths = [self.item(folder, f"{number}-{n}", f.htype.item, v) for n, v in enumerate(value)]
        return json.dumps(paths)

    def item(self, folder: Path, number: str, htype: Htype, value: Any) -> Any:
        """Write an item of a sequence to files, and return the path, or nested lists of paths."""
        if htype.item is not None and value is not None:
            return [self.item(folder, f"{number}-{n}", htype.item, v) for n, v in enumerate(value)]
        return self.write(folder, number, htype, value)

    def write(self, folder: Path, number: str, htype: Htype, value: Any) -> str | None:
        """Write a value to a file, and return the file's path relative to the root, or None."""
        if value is None:
            return None
        if isinstance(value, np.ndarray):
            data, suffix = _as_file(htype, value)
        else:
            data, suffix = value, extension(value)
        path = folder / f"{number}.{suffix}"
        path.write_bytes(data)
        return path.relative_to(self.root).as_posix()


def _as_file(htype: Htype, value: NDArray[Any]) -> tuple[bytes, str]:
    """Encode an array as PNG if possible, else as npy. Return the bytes and the file extension."""
    is_png = value.dtype == np.uint8 or (value.dtype == np.uint16 and value.ndim == 2)
    if htype.is_image and is_png:
        return bytes(codecs.get("png").encode(value)), "png"
    file = BytesIO()
    np.save(file, value, allow_pickle=False)
    return file.getvalue(), "npy"


def extension(data: bytes) -> str:
    """Return the file extension for an image file's format, or "bin" if the format is unknown."""
    try:
        name = codecs.sniff(data).name
    except InvalidValueError:
        return "bin"
    return _EXTENSIONS.get(name, name)


@contextlib.contextmanager
def new_folder(path: Path, method: str) -> Iterator[None]:
    """Create a folder. If the ``with`` block fails, remove the folder, or empty it if it existed.

    Parameters
    ----------
    path : Path
        The folder.
    method : str
        Name of the export, for messages.

    Raises
    ------
    ExistsError
        When the path exists and is not an empty folder.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        reason = "is not empty" if path.is_dir() else "is a file"
        raise ExistsError(
            f"{method} writes to a new or empty folder, but {str(path)!r} {reason}. Choose another "
            "path."
        )
    is_new = not path.exists()
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for part in [path] if is_new else list(path.iterdir()):
            shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink()
        raise


def _choose_image(view: View, image: str | None) -> Field:
    """Return the column whose samples become files: the user's choice, or the only candidate."""
    candidates = [f for f in view.schema if is_file(f.htype) or f.htype.is_image]
    if image is not None:
        return _field_among(view, image, candidates, "image", "holds no files")
    images = [f for f in candidates if f.htype.is_image]
    if len(images) == 1:
        return images[0]
    if not candidates:
        raise SchemaError(
            "to_folder needs a column of images or files, but this view has none. Write a table "
            "instead: to_arrow(), to_pandas(), or deeplake-lite export --format csv or parquet."
        )
    names = ", ".join(repr(f.name) for f in images or candidates)
    raise SchemaError(
        "to_folder writes the files of one column, but several columns hold files. Choose "
        f"one with image='…': {names}."
    )


def _choose_label(view: View, label: str | None) -> Field | None:
    """Return the column whose values name the folders: the user's choice, or the only class column.

    Return None if the user chose none and there is no class column.
    """
    if label is not None:
        candidates = [f for f in view.schema if _names_folders(f.htype)]
        return _field_among(view, label, candidates, "label", "does not name one folder per row")
    classes = [f for f in view.schema if f.htype.sql == "class"]
    if len(classes) > 1:
        names = ", ".join(repr(f.name) for f in classes)
        raise SchemaError(
            "Only one column can name the folders, but there are several candidates. Choose one "
            f"with label='…': {names}."
        )
    return classes[0] if classes else None


def _field_among(view: View, name: str, candidates: Iterable[Field], role: str, why: str) -> Field:
    """Return the column `name`. Raises SchemaError, with the reason, if it is no candidate."""
    field = view.field(name)
    if field not in candidates:
        names = ", ".join(repr(f.name) for f in candidates)
        other = f"Choose another {role} column: {names}."
        hint = other if names else f"The view has no suitable {role} column."
        raise SchemaError(
            f"{role}= cannot be column {name!r}, because its type {field.htype} {why}. {hint}"
        )
    return field


def _names_folders(htype: Htype) -> bool:
    """Return whether folders can be named after the values of a type."""
    return htype.sql in ("class", "text") or htype.scalar is not None
