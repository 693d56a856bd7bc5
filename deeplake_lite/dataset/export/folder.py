"""Samples as files: a folder per class, files as they are stored, and all columns in a CSV.

The layout is one that many tools read: ``tulip/000041.jpg``, and ``metadata.csv`` with a
``file_name`` per row, which is empty for a null picture. Files are numbered by row. Other columns
that are files, pixels or arrays are files, too, below ``_columns``, which `from_folder` passes
over: the table has their paths. No name leads out of the folder.
"""

from __future__ import annotations

import contextlib
import csv
import json
import re
import shutil
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import checks, codecs
from deeplake_lite.dataset.export.folder_names import Folders
from deeplake_lite.dataset.export.portable import is_file, read_blocks, values_of
from deeplake_lite.dataset.export.strings import fits_table, text_of
from deeplake_lite.dataset.export.whole_files import refusals_of
from deeplake_lite.errors import ExistsError, InvalidValueError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field

TABLE = "metadata.csv"

FILE_NAMES = "file_name"
"""Column of the table with the paths of the files."""

COLUMNS = "_columns"
"""Folder of the files of all columns but the one that is chosen."""

_BLOCK_ROWS = 256
_EXTENSIONS = {"jpeg": "jpg", "tiff": "tif"}


def write_folder(view: View, path: str | Path, image: str | None, label: str | None) -> Path:
    """Write the rows of a view as files; see `View.to_folder`."""
    picture, of_class = _choose_image(view, image), _choose_label(view, label)
    root = Path(checks.location("path", path)).expanduser()
    with refusals_of(root), _new_folder(root):
        _write(view, root, picture, of_class)
    return root


def _write(view: View, root: Path, picture: Field, of_class: Field | None) -> None:
    rest = [f for f in view.schema if f is not picture]
    fields = [picture, *rest]
    classes = Folders(root, [TABLE, COLUMNS])
    files = _Files(root, Folders(root / COLUMNS), max(6, len(str(len(view)))))
    row = 0
    with (root / TABLE).open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, quoting=csv.QUOTE_STRINGS)
        table.writerow([FILE_NAMES, *(header_of(f.name) for f in rest)])
        for block in read_blocks(view, fields, "to_folder", _BLOCK_ROWS):
            values = {f.name: values_of(f.htype, block[f.name]) for f in fields}
            for i, sample in enumerate(values[picture.name]):
                folder = classes.of(values[of_class.name][i]) if of_class else root
                name = files.write(folder, f"{row:0{files.digits}}", picture.htype, sample)
                table.writerow([name or "", *(files.cell(row, f, values[f.name][i]) for f in rest)])
                row += 1


def header_of(column: str) -> str:
    """Return the header of a column beside that of the paths: ``file_name`` becomes ``file_name_``.

    Names that end in more underscores get one more, too, so that each has a header of its own.

    >>> header_of("file_name"), header_of("file_name_"), header_of("file")
    ('file_name_', 'file_name__', 'file')
    """
    return f"{column}_" if re.fullmatch(f"{FILE_NAMES}_*", column) else column


def column_of(header: str) -> str:
    """Return the column that has a header beside that of the paths: the reverse of `header_of`.

    >>> column_of("file_name_"), column_of("file_name__"), column_of("file")
    ('file_name', 'file_name_', 'file')
    """
    return header[:-1] if re.fullmatch(f"{FILE_NAMES}_+", header) else header


@dataclass(frozen=True)
class _Files:
    """Writes values that a table does not hold, as files."""

    root: Path
    columns: Folders
    """A folder for each column."""
    digits: int
    """Of the number of a row."""

    def cell(self, row: int, f: Field, value: Any) -> Any:
        """Return a value as the table has it: itself, or the path of a file that is written."""
        if value is None or fits_table(f.htype):
            return text_of(value, f.htype)
        folder, number = self.columns.of(f.name), f"{row:0{self.digits}}"
        if f.htype.item is None:
            return self.write(folder, number, f.htype, value)
        paths = [self.item(folder, f"{number}-{n}", f.htype.item, v) for n, v in enumerate(value)]
        return json.dumps(paths)

    def item(self, folder: Path, number: str, htype: Htype, value: Any) -> Any:
        """Return an item of a sequence as its JSON has it."""
        if htype.item is not None and value is not None:
            return [self.item(folder, f"{number}-{n}", htype.item, v) for n, v in enumerate(value)]
        return self.write(folder, number, htype, value)

    def write(self, folder: Path, number: str, htype: Htype, value: Any) -> str | None:
        """Write a file; return its path within the root, nothing for a null."""
        if value is None:
            return None
        if isinstance(value, np.ndarray):
            data, suffix = _as_file(htype, value)
        else:
            data, suffix = value, _extension(value)
        path = folder / f"{number}.{suffix}"
        path.write_bytes(data)
        return path.relative_to(self.root).as_posix()


def _as_file(htype: Htype, value: NDArray[Any]) -> tuple[bytes, str]:
    """Return an array as a file and what its name ends with: pixels as PNG if it holds them."""
    is_png = value.dtype == np.uint8 or (value.dtype == np.uint16 and value.ndim == 2)
    if htype.is_image and is_png:
        return bytes(codecs.get("png").encode(value)), "png"
    file = BytesIO()
    np.save(file, value, allow_pickle=False)
    return file.getvalue(), "npy"


def _extension(data: bytes) -> str:
    """Return what files of this format end with."""
    try:
        name = codecs.sniff(data).name
    except InvalidValueError:
        return "bin"
    return _EXTENSIONS.get(name, name)


@contextlib.contextmanager
def _new_folder(path: Path) -> Iterator[None]:
    """Make a folder, which is empty again, or gone, where it is not filled. Raises ExistsError."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ExistsError(
            f"Files are written to a new or empty folder, got {str(path)!r}. Choose another name."
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
    """Return the column whose samples become files: the one that is named, or the only one."""
    known = [f for f in view.schema if is_file(f.htype) or f.htype.is_image]
    if image is not None:
        return _among(view, image, known, "image", "holds no files")
    pictures = [f for f in known if f.htype.is_image]
    if len(pictures) == 1:
        return pictures[0]
    if not known:
        raise SchemaError(
            "A folder takes the files of one column, and no column has files. Write a table "
            "instead: to_arrow(), to_pandas(), or deeplake-lite export --format csv or parquet."
        )
    names = ", ".join(repr(f.name) for f in pictures or known)
    raise SchemaError(
        f"A folder takes the files of one column. Choose it: image='…'. There are: {names}."
    )


def _choose_label(view: View, label: str | None) -> Field | None:
    """Return the column that names the folders: the one asked for, or the only one of classes."""
    if label is not None:
        known = [f for f in view.schema if _names_folders(f.htype)]
        return _among(view, label, known, "label", "does not name one folder per row")
    classes = [f for f in view.schema if f.htype.sql == "class"]
    if len(classes) > 1:
        names = ", ".join(repr(f.name) for f in classes)
        raise SchemaError(f"Folders are named by one column. Choose it: label='…', of {names}.")
    return classes[0] if classes else None


def _among(view: View, name: str, known: Iterable[Field], role: str, why: str) -> Field:
    field = view.field(name)
    if field not in known:
        names = ", ".join(repr(f.name) for f in known) or "none"
        raise SchemaError(
            f"Column {name!r} is {field.htype}, which {why}. Choose another {role}: {names}."
        )
    return field


def _names_folders(htype: Htype) -> bool:
    return htype.sql in ("class", "text") or htype.scalar is not None
