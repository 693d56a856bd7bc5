"""Samples as files: a folder per class, files as they are stored, and the rest in a CSV.

The layout is one that many tools read: ``tulip/000041.jpg``, and ``metadata.csv`` with a
``file_name`` per row. Files are numbered by row. No name of a class leads out of the folder.
"""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import codecs
from deeplake_lite.dataset.portable import is_file, read_blocks, values_of
from deeplake_lite.errors import ExistsError, InvalidValueError, SchemaError
from deeplake_lite.htypes import ClassLabel, Image, Json, Link, Scalar, Text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field

TABLE = "metadata.csv"

_BLOCK_ROWS = 256
_EXTENSIONS = {"jpeg": "jpg", "tiff": "tif"}
_UNLABELLED = "unlabelled"
_UNSAFE = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_LONGEST = 100  # bytes of a folder's name


def write_folder(view: View, path: str | Path, image: str | None, label: str | None) -> Path:
    """Write the rows of a view as files; see `View.to_folder`."""
    picture, of_class = _choose_image(view, image), _choose_label(view, label)
    root = _new_folder(Path(path).expanduser())
    noted = [f for f in view.schema if f is not picture and _fits_csv(f.htype)]
    fields = list(dict.fromkeys([picture, *noted, *([of_class] if of_class else [])], None))
    folders, row, digits = Folders(root), 0, max(6, len(str(len(view))))
    with (root / TABLE).open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, quoting=csv.QUOTE_STRINGS)
        table.writerow([_free("file_name", [f.name for f in noted]), *(f.name for f in noted)])
        for block in read_blocks(view, fields, "to_folder", _BLOCK_ROWS):
            values = {f.name: values_of(f.htype, block[f.name]) for f in fields}
            for i, data in enumerate(map(_as_file, values[picture.name])):
                folder = folders.of(values[of_class.name][i]) if of_class else root
                name = _write_file(root, folder, f"{row:0{digits}}", data)
                table.writerow([name, *(_csv_value(values[f.name][i]) for f in noted)])
                row += 1
    return root


class Folders:
    """A folder for each class: made when first needed, of a safe name, never two classes in one.

    Parameters
    ----------
    root : Path
        Where they are made.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> folders = Folders(Path(mkdtemp()))
    >>> [folders.of(name).name for name in ("rose", "../etc", "Rose", None)]
    ['rose', '.._etc', 'Rose_2', 'unlabelled']
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._found: dict[str | None, Path] = {}
        self._taken = {TABLE}

    def of(self, value: Any) -> Path:
        """Return the folder of a class, or of any other value."""
        key = None if value is None else str(value)
        if key not in self._found:
            name = self._unique(_UNLABELLED if key is None else safe_name(key))
            self._found[key] = self._root / name
            self._found[key].mkdir()
        return self._found[key]

    def _unique(self, name: str) -> str:
        number, wanted = 2, name
        while _folded(name) in self._taken:
            name, number = f"{wanted}_{number}", number + 1
        self._taken.add(_folded(name))
        return name


def safe_name(name: str) -> str:
    """Return a name that is one folder on any system, and not a special one.

    >>> safe_name("a/b"), safe_name(".."), safe_name("CON"), safe_name("Grüne Iris. ")
    ('a_b', '_', '_CON', 'Grüne Iris')
    """
    name = _UNSAFE.sub("_", unicodedata.normalize("NFC", name))
    name = name.encode("utf-8", "ignore")[:_LONGEST].decode("utf-8", "ignore").strip().rstrip(". ")
    return f"_{name}" if not name or _RESERVED.fullmatch(name) else name


def _folded(name: str) -> str:
    """Return what file systems that ignore case compare."""
    return unicodedata.normalize("NFC", name).casefold()


def _write_file(root: Path, folder: Path, number: str, data: bytes | None) -> str:
    """Write a sample; return its path within the root, nothing for a null."""
    if data is None:
        return ""
    path = folder / f"{number}.{_extension(data)}"
    path.write_bytes(data)
    return path.relative_to(root).as_posix()


def _as_file(sample: Any) -> bytes | None:
    """Return a sample as a file: as it is stored, or pixels without a format as PNG or TIFF."""
    if not isinstance(sample, np.ndarray):
        return sample  # type: ignore[no-any-return]
    codec = codecs.get("png" if sample.dtype in (np.uint8, np.uint16) else "tiff")
    return bytes(codec.encode(sample))


def _extension(data: bytes) -> str:
    """Return what files of this format end with."""
    try:
        name = codecs.sniff(data).name
    except InvalidValueError:
        return "bin"
    return _EXTENSIONS.get(name, name)


def _new_folder(path: Path) -> Path:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ExistsError(
            f"Files are written to a new or empty folder, got {str(path)!r}. Choose another name."
        )
    path.mkdir(parents=True, exist_ok=True)
    return path


def _choose_image(view: View, image: str | None) -> Field:
    """Return the column whose samples become files: the one that is named, or the only one."""
    known = [f for f in view.schema if is_file(f.htype) or isinstance(f.htype, Image)]
    if image is not None:
        return _among(view, image, known, "image", "holds no files")
    pictures = [f for f in known if isinstance(f.htype, Image)]
    if len(pictures) == 1:
        return pictures[0]
    names = ", ".join(repr(f.name) for f in pictures or known) or "none"
    raise SchemaError(
        f"A folder takes the files of one column. Choose it: image='…'. There are: {names}."
    )


def _choose_label(view: View, label: str | None) -> Field | None:
    """Return the column that names the folders: the one asked for, or the only one of classes."""
    if label is not None:
        known = [f for f in view.schema if _names_folders(f.htype)]
        return _among(view, label, known, "label", "does not name one folder per row")
    classes = [f for f in view.schema if isinstance(f.htype, ClassLabel) and not f.htype.multiple]
    if len(classes) > 1:
        names = ", ".join(repr(f.name) for f in classes)
        raise SchemaError(f"Folders are named by one column. Choose it: label='…', of {names}.")
    return classes[0] if classes else None


def _among(view: View, name: str, known: Iterable[Field], role: str, why: str) -> Field:
    field = view[name]._field
    if field not in known:
        names = ", ".join(repr(f.name) for f in known) or "none"
        raise SchemaError(
            f"Column {name!r} is {field.htype}, which {why}. Choose another {role}: {names}."
        )
    return field


def _names_folders(htype: Htype) -> bool:
    return isinstance(htype, Scalar | Text) or (
        isinstance(htype, ClassLabel) and not htype.multiple
    )


def _fits_csv(htype: Htype) -> bool:
    return isinstance(htype, Scalar | Text | Json | Link | ClassLabel)


def _csv_value(value: Any) -> Any:
    """Return a value as the CSV has it: numbers bare, texts in quotes, lists as JSON, no null."""
    if isinstance(value, np.datetime64 | np.timedelta64 | np.complexfloating):
        return str(value)
    if isinstance(value, np.floating):
        return float(str(value))  # 0.1, not what float32 makes of it
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return value


def _free(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "_"
    return name
