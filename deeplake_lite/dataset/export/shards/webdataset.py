"""Export of a view as WebDataset tar files, with a sample per row and a file per column."""

from __future__ import annotations

import contextlib
import io
import json
import re
import tarfile
import warnings
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import checks
from deeplake_lite.dataset.export.folder import extension
from deeplake_lite.dataset.export.portable import is_file, metadata_of, values_of
from deeplake_lite.dataset.export.shards.plan import Part
from deeplake_lite.dataset.export.shards.writer import write_shards
from deeplake_lite.dataset.export.strings import with_shapes
from deeplake_lite.errors import ExportWarning, InvalidValueError, SchemaError
from deeplake_lite.remote.executor import check_executor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.export.shards.plan import Shard
    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field

BLOCK = 512
"""Size in bytes of a tar header, and of a block. Content is padded to whole blocks."""

NOT_FILES = ("key", "shard")
"""Columns that `from_webdataset` adds, and whose values do not come from files."""

SIDECAR = "deeplake_lite.json"
"""Name of the file that records the column types."""

_IMAGE_ENDS = frozenset({"bmp", "jpeg", "jpg", "png", "tif", "tiff", "webp"})
"""Extensions of image files."""

RESERVED = re.compile(r"__[^/]*__(?:/|$)")
"""Pattern of the start of paths that WebDataset skips, because they are reserved for metadata."""

IMAGE = "*"
"""Placeholder for the extension of an image file, which depends on the file's content."""


def write_webdataset(
    view: View, path: str | Path, shard_bytes: int | str, executor: Any
) -> list[Path]:
    """Write the rows of a view; see `View.to_webdataset`."""
    root = Path(checks.location("path", path)).expanduser()
    max_bytes, executor = checks.memory("shard_bytes", shard_bytes), check_executor(executor)
    columns = _columns(view)
    key = view.schema["key"] if "key" in view.columns else None
    key = key if key is not None and key.htype.sql == "text" else None
    fields = [column.field for column in columns] + ([key] if key is not None else [])
    part = Part(
        view,
        fields,
        lambda number, _: f"{number:06d}.tar",
        partial(_open_file, columns, key),
        max_bytes=max_bytes,
        row_bytes=partial(_row_bytes, [column.field.name for column in columns]),
        min_files=1,
    )
    note = _note(view, columns)

    def finish(_: object) -> None:
        (root / SIDECAR).write_text(json.dumps(note), "utf-8")

    options = {"shard_bytes": max_bytes, "note": note}
    return write_shards(
        root,
        [part],
        method="to_webdataset",
        options=options,
        executor=executor,
        finish=finish,
    )


def _note(view: View, columns: Sequence[_Column]) -> dict[str, Any]:
    """Return the content of the sidecar file: the column types, and the lake's metadata."""
    return {
        "columns": {
            c.field.name: {"extension": c.extension, "htype": c.field.htype.get_config()}
            for c in columns
        },
        **metadata_of(view),
    }


def _row_bytes(names: Sequence[str], sizes: Mapping[str, NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the size of each row in a tar file, where each value has a header and whole blocks."""
    return np.sum([BLOCK + -(-sizes[name] // BLOCK) * BLOCK for name in names], axis=0)


@dataclass(frozen=True)
class _Column:
    """A column whose values become files."""

    field: Field

    extension: str
    """Extension of the column's files."""

    encode: Callable[[Any], bytes]
    """Function that converts a value to the content of a file."""

    def file(self, value: Any) -> tuple[str, bytes]:
        """Return the extension and the content of the file for a value."""
        data = self.encode(value)
        if self.extension.endswith(IMAGE):
            return self.extension.removesuffix(IMAGE) + extension(data), data
        return self.extension, data


def _columns(view: View) -> list[_Column]:
    """Return the columns whose values become files, and warn about other columns.

    Raises SchemaError if the values of no column can be files.
    """
    columns, left_out = list[_Column](), list[str]()
    for f in view.schema:
        if f.name in NOT_FILES:
            continue
        column = _column(f)
        if column is None:
            left_out.append(f.name)
        else:
            while any(_clash(column.extension, other.extension) for other in columns):
                new = f"image.{IMAGE}" if column.extension == IMAGE else f"_{column.extension}"
                column = replace(column, extension=new)
            columns.append(column)
    if not columns:
        raise SchemaError(
            "to_webdataset needs a column whose values can be files, but this view has only "
            f"{', '.join(map(repr, view.columns))}. Add a column of another type."
        )
    if left_out:
        verb = "is" if len(left_out) == 1 else "are"
        warnings.warn(
            f"to_webdataset: {', '.join(map(repr, left_out))} {verb} left out, because WebDataset "
            "stores each value as one file, but here each value is a sequence of files.",
            ExportWarning,
            stacklevel=5,
        )
    return columns


def _clash(a: str, b: str) -> bool:
    """Return whether files of one sample with these extensions may have equal names, ignoring case.

    >>> _clash("a_b.txt", "A_b.txt"), _clash("left.*", "left.jpg"), _clash("*", "txt")
    (True, True, False)
    """
    stems, ends = zip(*((stem, end) for stem, _, end in (
        extension.lower().rpartition(".") for extension in (a, b)
    )), strict=True)  # fmt: skip
    if stems[0] != stems[1]:
        return False
    return ends[0] == ends[1] or (IMAGE in ends and not {*ends}.isdisjoint(_IMAGE_ENDS))


def _column(f: Field) -> _Column | None:
    """Return a column with its file extension and encoder, or None if values cannot be files."""
    form = _form(f.htype)
    if form is None:
        return None
    suffix, encode = form
    name = _safe(f.name)
    if name == suffix or (suffix == IMAGE and name == "image"):
        return _Column(f, suffix, encode)
    return _Column(f, f"{name}.{suffix}" if suffix else name, encode)


def _form(htype: Htype) -> tuple[str, Callable[[Any], bytes]] | None:
    """Return the file extension and encoder of a type, or None if its values cannot be files."""
    if is_file(htype):
        return IMAGE if htype.is_image else "", bytes
    if htype.item is not None:
        return None if _holds_files(htype.item) else ("json", _json)
    if htype.classes is not None:
        return "cls", _integer(htype)
    if htype.sql == "text":
        return "txt", str.encode
    if htype.sql == "json":
        return "json", _json
    if htype.scalar is not None:
        return ("cls", _text) if np.dtype(htype.scalar).kind in "iu" else ("json", _json)
    return ("npy", _npy) if isinstance(htype.blank, np.ndarray) else ("json", _json)


def _holds_files(htype: Htype) -> bool:
    return _holds_files(htype.item) if htype.item is not None else is_file(htype)


def _integer(htype: Htype) -> Callable[[Any], bytes]:
    """Return a function that encodes the name of a class as its number."""
    assert htype.classes is not None
    return partial(_number, {name: n for n, name in enumerate(htype.classes.names)})


def _number(numbers: Mapping[str, int], value: Any) -> bytes:
    return _text(numbers.get(value, value))


def _text(value: Any) -> bytes:
    return str(int(value)).encode()


def _json(value: Any) -> bytes:
    return json.dumps(with_shapes(value), ensure_ascii=False).encode()


def _npy(value: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(value), allow_pickle=False)
    return file.getvalue()


@contextlib.contextmanager
def _open_file(
    columns: Sequence[_Column], key: Field | None, path: Path, shard: Shard
) -> Iterator[_Tar]:
    """Open a tar file for writing."""
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        yield _Tar(tar, columns, key, shard)


class _Tar:
    """A tar file that is open for writing."""

    def __init__(
        self, tar: tarfile.TarFile, columns: Sequence[_Column], key: Field | None, shard: Shard
    ) -> None:
        self._tar, self._columns, self._key = tar, columns, key
        view, first = shard.part.view, shard.rows.start
        self._digits = max(9, len(str(len(view))))
        # Keys of consecutive samples must differ, even if the samples are in different files.
        self._last = view[key.name][first - 1] if key is not None and first else None

    def write(self, cells: Mapping[str, Cells], first: int) -> None:
        """Write a sample for each row. Raises InvalidValueError if a value cannot be written."""
        fields = [column.field for column in self._columns]
        values = {f.name: values_of(f.htype, cells[f.name]) for f in fields}
        keys: Any = self._key
        if self._key is not None:
            keys = values_of(self._key.htype, cells[self._key.name])
        for i in range(len(cells[fields[0].name])):
            row = first + i
            name = f"{row:0{self._digits}}" if keys is None else keys[i]
            _check_key(name, self._last, row)
            files = [
                column.file(value)
                for column in self._columns
                if (value := values[column.field.name][i]) is not None
            ]
            if not files:
                raise InvalidValueError(
                    "must have a value, because a sample needs at least one file, but "
                    "it has only nulls. Leave the row out.",
                    row=row,
                )
            self._add(name, files)
            self._last = name

    def _add(self, key: str, files: Sequence[tuple[str, bytes]]) -> None:
        for suffix, data in files:
            info = tarfile.TarInfo(f"{key}.{suffix}")  # user 0 and time 0: bytes are reproducible
            info.size = len(data)
            self._tar.addfile(info, io.BytesIO(data))
        self._tar.members = []  # type: ignore[attr-defined]  # would grow with every file

    def finish(self) -> Mapping[str, Any]:
        """Return an empty dict, because tar files have no index."""
        return {}


def _check_key(key: str | None, last: str | None, row: int) -> None:
    """Raise InvalidValueError if WebDataset would read the samples' keys back differently.

    `last` is the key of the previous row.
    """
    base = "" if key is None else key.rpartition("/")[2]
    if key is None or not base or "." in base or "\0" in key or key == last or RESERVED.match(key):
        raise InvalidValueError(
            "A key must differ from the previous row's key, its last part must not be empty or "
            "contain a dot, and its first part must not begin and end with two underscores, but "
            f"the key of row {row:,} is {key!r}. Correct the column 'key', or leave this column "
            "out of the view to number the rows.",
            row=row,
        )


def _safe(name: str) -> str:
    """Replace characters of a column's name that an extension cannot contain.

    >>> _safe("left/mask")
    'left_mask'
    """
    return name.replace("/", "_").replace("\0", "_")
