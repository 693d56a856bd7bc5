"""Ingesting IDX files, the format of MNIST."""

from __future__ import annotations

import gzip
import math
import os
import re
import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Unpack

import numpy as np

from deeplake_lite import checks
from deeplake_lite.codecs.limits import DEFAULT_LIMITS
from deeplake_lite.errors import InvalidValueError, LakeError, NotFoundError, OptionError
from deeplake_lite.htypes import ClassLabel, Htype, Image
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.ingest.arrays.array_source import ArraySource, Constant, Part, array_htype
from deeplake_lite.ingest.arrays.numpy_files import read_exactly, reading, reading_stream
from deeplake_lite.ingest.files import find_files, fingerprint
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.source import Skipped
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset

type Location = str | os.PathLike[str]

_DTYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
"""Maps the type codes in headers of IDX files to dtypes."""

_NAME = re.compile(
    r"(?P<start>.*?)[-_.]?(?P<kind>images?|labels?)[-_.]idx\d[-_.]"
    r"(?:ubyte|byte|short|int|float|double)"
)
_SPLITS = {"t10k": "test", "valid": "validation", "val": "validation"}
_IN_NAME = re.compile(r"(?:.*[-_.])?(t10k|train|test|valid|val|validation)")
"""Matches the start of a file name that ends with a split, such as ``emnist-letters-train``."""

_COLUMNS = {"images": "image", "labels": "label"}

PIECE = 2**20
"""Number of bytes that are skipped at a time."""


@takes_options
def from_idx(
    files: Location | Sequence[Location],
    url: str,
    *,
    classes: Sequence[str] | None = None,
    on: str | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    r"""Ingest images and labels of IDX files, such as those of MNIST, Fashion-MNIST and EMNIST.

    Parameters
    ----------
    files : str, Path or sequence of them
        A folder, or paths and patterns of files, which may be compressed with gzip.
    url : str
        URL of the lake, which is created if it does not exist.
    classes : sequence of str, optional
        Names of the classes 0, 1, and so on. By default, the numbers themselves are the names.
    on : str, optional
        The column that identifies rows. By default, all rows are appended, unless the same files
        were ingested before.
    **options
        See `Options`. ``schema={"image": dl.Array("uint8", (28, 28))}`` stores pixels instead of
        PNG files.

    Returns
    -------
    Dataset
        The committed dataset, with the columns ``image`` (PNG, which the dataset browser shows),
        ``label``, and ``split`` if there are several splits. The names of files show which images
        and labels belong together, such as ``train-images-idx3-ubyte`` and
        ``train-labels-idx1-ubyte``; ``t10k`` is the split ``test``.

    Raises
    ------
    NotFoundError
        If there are no IDX files.
    InvalidValueError
        If a file is damaged, if the images or labels of a split are missing, or if a label has no
        class.

    Examples
    --------
    >>> import struct, tempfile
    >>> from pathlib import Path
    >>> import deeplake_lite as dl
    >>> root = Path(tempfile.mkdtemp())
    >>> header = struct.pack(">HBB3I", 0, 8, 3, 2, 4, 4)
    >>> _ = (root / "train-images-idx3-ubyte").write_bytes(header + bytes(32))
    >>> header = struct.pack(">HBBI", 0, 8, 1, 2)
    >>> _ = (root / "train-labels-idx1-ubyte").write_bytes(header + b"\1\0")
    >>> ds = dl.from_idx(root, "memory://from-idx", classes=["shirt", "dress"])
    >>> ds["label"].names, ds["label"][:].tolist(), ds["image"][0].shape
    (('shirt', 'dress'), [1, 0], (4, 4))
    """
    names = None if classes is None else _class_names(classes)
    paths, left_out = _find_idx_files(files)
    parts = _parts(paths, names)
    splits = list(dict.fromkeys(part.title for part in parts))
    if len(splits) > 1:
        kind = ClassLabel(splits)
        parts = [
            Part(p.title, {**p.columns, "split": Constant(p.title, len(p), kind)}) for p in parts
        ]
    source = ArraySource(
        Path(paths[0]).name if len(paths) == 1 else "IDX files",
        tuple(parts), on, types_of(options.get("schema")), fingerprint(paths[0], paths), left_out,
        limits=options.get("limits", DEFAULT_LIMITS),
    )  # fmt: skip
    return ingest(source, url, **options)


def _class_names(classes: Any) -> tuple[str, ...]:
    """Check the names of classes that the user gives, and return them.

    Raises OptionError if they are invalid.
    """
    names = () if isinstance(classes, str) else checks.names("classes", classes)
    if not names or len(set(names)) < len(names):
        raise OptionError(
            "classes must be a list of distinct names, such as ['shirt', 'dress'], but it is "
            f"{classes!r:.80}. Correct the names."
        )
    return names


def _find_idx_files(files: Any) -> tuple[list[str], list[Skipped]]:
    """Return the paths of the IDX files, and a list of the other files in the same folders.

    Raises NotFoundError if there are no IDX files, and OptionError if `files` is not a path or a
    list of paths.
    """
    if isinstance(files, str | os.PathLike):
        files = [files]
    elif not isinstance(files, list | tuple) or not files:
        raise OptionError(f"files must be a path or a list of paths, but it is {files!r:.80}.")
    paths, left_out = list[str](), list[Skipped]()
    for file in files:
        in_folder = Path(checks.location("files", file)).expanduser().is_dir()
        matches = find_files(file, "" if in_folder else "IDX")
        for path in matches:
            if in_folder and not _NAME.match(Path(path).name):
                _check_is_other(path)
                left_out.append(Skipped(path, "its name is not the name of an IDX file"))
            else:
                paths.append(path)
    if not paths:
        raise NotFoundError(
            f"There is no IDX file such as train-images-idx3-ubyte at {files[0]!r}. Check the path."
        )
    return paths, left_out


def _check_is_other(path: str) -> None:
    """Raise InvalidValueError if a file is an IDX file, although its name does not say so."""
    try:
        len(IdxFile(path))
    except (LakeError, OSError):
        return
    raise InvalidValueError(
        f"The name of an IDX file must contain 'images' or 'labels', as in "
        f"train-labels-idx1-ubyte, but it is {Path(path).name!r}. Rename the file, or move it to "
        "another folder."
    )


def _parts(paths: Sequence[str], classes: tuple[str, ...] | None) -> list[Part]:
    """Return a part with images and labels for each split.

    Raises InvalidValueError if the files do not fit together.
    """
    splits: dict[str, dict[str, IdxFile]] = {}
    for path in paths:
        match = _NAME.match(Path(path).name)
        kind = f"{match['kind'].rstrip('s')}s" if match else "labels"
        start = match["start"] if match else Path(path).name
        column = _COLUMNS[kind] if match else "values"
        in_name = _IN_NAME.fullmatch(start)
        split = in_name[1] if in_name else start or "train"
        columns = splits.setdefault(_SPLITS.get(split, split), {})
        if column in columns:
            raise InvalidValueError(
                f"A split must have one file of {kind}, but both "
                f"{Path(columns[column].path).name!r} and {Path(path).name!r} belong to {split!r}. "
                "Pass only one of these files."
            )
        columns[column] = IdxFile(path)
    several = {column for columns in splits.values() for column in columns}
    for split, columns in splits.items():
        if missing := several - columns.keys():
            raise InvalidValueError(
                f"Each split must have the same kinds of files, but {split!r} has no file of "
                f"{min(missing).rstrip('s')}s, unlike other splits. Add this file, or pass only "
                "the files of complete splits."
            )
    numbers = _numbers(splits)
    names = classes or tuple(map(str, range(numbers)))
    if numbers > len(names):
        raise InvalidValueError(
            f"classes must have a name for each label from 0 to {numbers - 1}, but it has "
            f"{pluralize(len(names), 'name')}. Add the missing names."
        )
    return [
        Part(split, {column: _column(column, columns[column], names) for column in sorted(columns)})
        for split, columns in splits.items()
    ]


def _numbers(splits: dict[str, dict[str, IdxFile]]) -> int:
    """Return the number of classes, which is the largest label plus 1.

    Raises InvalidValueError if a label is negative or not an integer.
    """
    files = [columns["label"] for columns in splits.values() if "label" in columns]
    most = -1
    for file in files:
        if file.shape[1:] or file.dtype.kind not in "iu":
            raise InvalidValueError(
                f"{file.title} must have one integer per row, but its shape is {file.shape}, and "
                f"its dtype is {file.dtype}. Check the file."
            )
        for block in _blocks(file):
            most = max(most, int(block.max()))
            if block.min() < 0:
                raise InvalidValueError(
                    f"{file.title} must not have negative labels, but it has {block.min()}. Check "
                    "the file."
                )
    if most >= 2**16:
        raise InvalidValueError(
            f"A label must be less than 65,536, but the largest label is {most:,}. Check the files "
            "of labels."
        )
    return most + 1


def _blocks(file: IdxFile) -> Iterator[np.ndarray[Any, Any]]:
    for start in range(0, len(file), PIECE):
        yield file.read(start, min(start + PIECE, len(file)))


def _column(name: str, file: IdxFile, names: tuple[str, ...]) -> Any:
    return Labels(file, names) if name == "label" else file


@dataclass
class IdxFile:
    """An array in an IDX file: a header of big-endian numbers, followed by values in C order."""

    path: str
    _stream: IO[bytes] | None = None
    _at: int = 0

    @property
    def title(self) -> str:
        """Name of the file in messages."""
        return Path(self.path).name

    def __len__(self) -> int:
        return self.shape[0]

    @cached_property
    def _header(self) -> tuple[np.dtype[Any], tuple[int, ...]]:
        with reading(self.title), self._open() as stream:
            zero, kind, axes = struct.unpack(">HBB", read_exactly(stream, 4))
            if zero or kind not in _DTYPES or not axes:
                raise InvalidValueError(
                    f"{self.title!r} must begin with two zero bytes, a known type and the number "
                    f"of axes, but it begins with {zero}, {kind}, {axes}. Check that it is an IDX "
                    "file."
                )
            shape = struct.unpack(f">{axes}I", read_exactly(stream, 4 * axes))
        dtype = np.dtype(_DTYPES[kind])
        claim = math.prod(shape) * dtype.itemsize
        if not self._is_compressed and os.path.getsize(self.path) != 4 + 4 * axes + claim:
            raise InvalidValueError(
                f"{self.title!r} must have {4 + 4 * axes + claim:,} bytes for shape {shape}, but "
                f"it has {os.path.getsize(self.path):,}. Check the file."
            )
        if not math.prod(shape[1:]):
            raise InvalidValueError(
                f"{self.title!r} must have values, but its shape is {shape}. Leave this file out."
            )
        return dtype, shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the values."""
        return self._header[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self._header[1]

    @property
    def htype(self) -> Htype:
        """Type of the column: images for uint8 values with height and width, otherwise arrays."""
        shape = self.shape[1:]
        is_image = len(shape) == 2 or (len(shape) == 3 and shape[2] in (3, 4))
        if self.dtype == np.uint8 and is_image:
            return Image("png")
        return array_htype(self.dtype, shape)

    @property
    def row_bytes(self) -> int:
        """Size of a value in bytes."""
        return int(math.prod(self.shape[1:]) * self.dtype.itemsize)

    @cached_property
    def _is_compressed(self) -> bool:
        with open(self.path, "rb") as file:
            return file.read(2) == b"\x1f\x8b"

    def _open(self) -> IO[bytes]:
        return gzip.open(self.path) if self._is_compressed else open(self.path, "rb")  # type: ignore[return-value]

    def read(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        """Return the given rows. This is fast if they follow the rows that were read last."""
        first = 4 + 4 * len(self.shape) + start * self.row_bytes
        with reading_stream(self.title, start):
            if self._stream is None or self._at > first:
                self._close()
                self._stream, self._at = self._open(), 0
            while self._at < first:
                self._at += len(read_exactly(self._stream, min(PIECE, first - self._at)))
            data = read_exactly(self._stream, (stop - start) * self.row_bytes)
            self._at += len(data)
            if stop == len(self):
                if self._stream.read(1):  # at the end, gzip verifies the checksum
                    raise EOFError("it has more values than its header says")
                self._close()
        return np.frombuffer(data, self.dtype).reshape(stop - start, *self.shape[1:])

    def _close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = None


@dataclass(frozen=True)
class Labels:
    """A column of labels, which maps the numbers in an IDX file to class names."""

    file: IdxFile
    names: tuple[str, ...]
    row_bytes: int = 8

    def __len__(self) -> int:
        return len(self.file)

    @property
    def htype(self) -> Htype:
        """Type of the column, with the names of all classes."""
        return ClassLabel(self.names)

    def read(self, start: int, stop: int) -> list[str]:
        """Return the name of the class of each of the given rows."""
        return [self.names[number] for number in self.file.read(start, stop).tolist()]
