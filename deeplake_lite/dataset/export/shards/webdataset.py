"""Export of a view as WebDataset's tar files: a sample per row, a file per column."""

from __future__ import annotations

import io
import json
import tarfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import checks
from deeplake_lite.dataset.export.atomic_files import as_storage_errors
from deeplake_lite.dataset.export.folder import extension, new_folder
from deeplake_lite.dataset.export.portable import is_file, read_blocks, values_of
from deeplake_lite.dataset.export.strings import plain
from deeplake_lite.errors import ExportWarning, InvalidValueError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field

SHARD_BYTES = 512 * 2**20
"""Size of a tar file at which the next one begins, in bytes."""

OWN = ("key", "shard")
"""Columns of `from_webdataset` that are not files."""

BLOCK_ROWS = 256

_PLAIN = ("txt", "json", "cls", "npy")
"""Extensions that are used without a name for a column of that name."""


def write_webdataset(view: View, path: str | Path, shard_bytes: int | str) -> list[Path]:
    """Write the rows of a view; see `View.to_webdataset`."""
    root = Path(checks.location("path", path)).expanduser()
    most = checks.memory("shard_bytes", shard_bytes)
    columns = _columns(view)
    with as_storage_errors(root), new_folder(root, "to_webdataset"):
        writer = _Shards(root, most)
        with writer:
            for key, files in _samples(view, columns):
                writer.write(key, files)
    return writer.paths


@dataclass(frozen=True)
class _Column:
    """A column, and how its values become files."""

    field: Field

    suffix: str
    """Extension of its files; that of an image file is known only by its content."""

    encode: Callable[[Any], bytes]
    """Function from a value to the content of a file."""

    def file(self, value: Any) -> tuple[str, bytes]:
        """Return the extension and the content of the file of a value."""
        name, data = _safe(self.field.name), self.encode(value)
        suffix = extension(data) if self.suffix == "image" else self.suffix
        if name == suffix or (self.suffix == "image" and name == "image"):
            return suffix, data
        return f"{name}.{suffix}" if suffix else name, data


def _columns(view: View) -> list[_Column]:
    """Return the columns that become files; warn of the others. Raises SchemaError."""
    found, rest = list[_Column](), list[str]()
    for f in view.schema:
        if f.name in OWN:
            continue
        column = _column(f)
        if column is None:
            rest.append(f.name)
        else:
            found.append(column)
    if not found:
        raise SchemaError(
            "to_webdataset needs a column that can be a file, but this view has only "
            f"{', '.join(map(repr, view.columns))}."
        )
    if rest:
        verb = "is" if len(rest) == 1 else "are"
        warnings.warn(
            f"to_webdataset: {', '.join(map(repr, rest))} {verb} left out, because a sequence of "
            "files cannot be one file.",
            ExportWarning,
            stacklevel=5,
        )
    return found


def _column(f: Field) -> _Column | None:
    """Return how a column becomes files; None if it cannot."""
    htype = f.htype
    if is_file(htype):
        return _Column(f, "image" if htype.is_image else "", bytes)
    if htype.item is not None:
        return None if _holds_files(htype.item) else _Column(f, "json", _json)
    if htype.classes is not None:
        return _Column(f, "cls", _integer(htype))
    if htype.sql == "text":
        return _Column(f, "txt", str.encode)
    if htype.sql == "json":
        return _Column(f, "json", _json)
    if htype.scalar is not None:
        is_integer = np.dtype(htype.scalar).kind in "iu"
        return _Column(f, "cls", _text) if is_integer else _Column(f, "json", _json)
    return _Column(f, "npy", _npy) if htype.axes is not None else _Column(f, "json", _json)


def _holds_files(htype: Htype) -> bool:
    return _holds_files(htype.item) if htype.item is not None else is_file(htype)


def _integer(htype: Htype) -> Callable[[Any], bytes]:
    """Return the function from the name of a class to its number."""
    assert htype.classes is not None
    numbers = {name: n for n, name in enumerate(htype.classes.names)}
    return lambda value: _text(numbers.get(value, value))


def _text(value: Any) -> bytes:
    return str(int(value)).encode()


def _json(value: Any) -> bytes:
    return json.dumps(plain(value), ensure_ascii=False).encode()


def _npy(value: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(value), allow_pickle=False)
    return file.getvalue()


def _samples(
    view: View, columns: Sequence[_Column]
) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """Yield the key and the files of each row. Raises InvalidValueError."""
    key = view.schema["key"] if "key" in view.columns else None
    key = key if key is not None and key.htype.sql == "text" else None
    fields = [column.field for column in columns] + ([key] if key is not None else [])
    digits, row, last = max(9, len(str(len(view)))), 0, None
    for block in read_blocks(view, fields, "to_webdataset", BLOCK_ROWS):
        values = {f.name: values_of(f.htype, block[f.name]) for f in fields}
        for i in range(len(block[fields[0].name])):
            name = f"{row:0{digits}}" if key is None else str(values["key"][i])
            _check_key(name, last, row)
            files = [
                column.file(value)
                for column in columns
                if (value := values[column.field.name][i]) is not None
            ]
            if not files:
                raise InvalidValueError(
                    f"Row {row:,} must have a value, because a sample without files does not "
                    "exist, but it has only nulls. Leave it out.",
                    row=row,
                )
            yield name, files
            row, last = row + 1, name


def _check_key(key: str, last: str | None, row: int) -> None:
    """Reject a key that would be read as another one. Raises InvalidValueError."""
    base = key.rpartition("/")[2]
    if not base or "." in base or "\0" in key or key == last:
        raise InvalidValueError(
            "A key must differ from that of the previous row, and its last part must not be empty "
            f"or have a dot, but that of row {row:,} is {key!r}. Correct the column 'key', or "
            "leave it out of the view: rows are then numbered.",
            row=row,
        )


class _Shards:
    """Tar files in a folder, one after the other."""

    def __init__(self, root: Path, most: int) -> None:
        self.paths: list[Path] = []
        self._root, self._most, self._size = root, most, 0
        self._tar: tarfile.TarFile | None = None

    def __enter__(self) -> _Shards:
        return self

    def __exit__(self, *error: object) -> None:
        if self._tar is not None:
            self._tar.close()

    def write(self, key: str, files: Sequence[tuple[str, bytes]]) -> None:
        """Write a sample; begin a new tar file if this one is full."""
        if self._tar is None or self._size >= self._most:
            self.__exit__()
            path = self._root / f"{len(self.paths):06d}.tar"
            self._tar = tarfile.open(path, "w", format=tarfile.GNU_FORMAT)  # noqa: SIM115 (closed by exit)
            self._size = 0
            self.paths.append(path)
        for suffix, data in files:
            info = tarfile.TarInfo(f"{key}.{suffix}")  # of user 0 and time 0, so always the same
            info.size = len(data)
            self._tar.addfile(info, io.BytesIO(data))
            self._size += len(data)


def _safe(name: str) -> str:
    """Return the name of a column as part of an extension.

    >>> _safe("left/mask")
    'left_mask'
    """
    return name.replace("/", "_").replace("\0", "_")
