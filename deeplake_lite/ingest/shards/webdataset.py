"""Ingesting tar files in the format of WebDataset."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from tokenize import TokenError
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.codecs.limits import DEFAULT_LIMITS, Limits
from deeplake_lite.htypes import Array, Bytes, Htype, Image, Json, Scalar, Text, resolve
from deeplake_lite.htypes.files import scheme_of
from deeplake_lite.ingest.files import fingerprint
from deeplake_lite.ingest.folders.layout import SUFFIXES
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.parts import Part, part_of
from deeplake_lite.ingest.shards.notes import restore_value
from deeplake_lite.ingest.shards.tar_samples import Sample, samples, tar_files
from deeplake_lite.ingest.shards.webdataset_note import TarNote
from deeplake_lite.ingest.source import Block, Skipped
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from deeplake_lite.ingest.options import Options, Types
    from deeplake_lite.ingest.result import IngestedDataset
    from deeplake_lite.ingest.shards.tar_samples import Location

BLOCK_ROWS = 1_024
BLOCK_BYTES = 32 * 2**20
"""A block is complete when its files have at least this number of bytes."""

SAMPLED = 1_000
"""Number of samples from which columns and their types are inferred, from the first file."""

_UNREADABLE = (ValueError, EOFError, SyntaxError, TokenError, TypeError, KeyError)
"""Errors that NumPy raises for a damaged header of an npy file."""

_TEXT = ("txt", "text", "transcript")
_INTEGER = ("cls", "cls2", "class", "count", "index", "inx", "id")


@takes_options
def from_webdataset(
    tars: Location | Sequence[Location],
    url: str,
    *,
    on: str | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest the samples in WebDataset's tar files.

    Parameters
    ----------
    tars : str, Path or sequence of them
        Tar files, which may be compressed: paths, folders, patterns such as ``"train-*.tar"`` and
        ``"train-{000..146}.tar"``, and URLs such as ``s3://…`` and ``https://…``.
    url : str
        URL of the lake, which is created if it does not exist.
    on : str, optional
        The column that identifies rows, such as ``"key"`` if keys are unique. Rows that are already
        in the lake are updated if they differ. By default, all rows are appended, unless the same
        files were ingested before.
    **options
        See `Options`. ``schema=`` declares the types of columns, such as
        ``{"cls": dl.ClassLabel(["cat", "dog"])}`` or ``{"emb": dl.Embedding(512)}``, and files are
        read accordingly.

    Returns
    -------
    Dataset
        The committed dataset, with one row per sample: ``key``, ``shard`` (the name of the tar
        file), and one column per extension. Image files are in ``image``, unless a sample has
        several image files; ``txt`` becomes text, ``json`` JSON, ``cls`` a number, ``npy`` an
        array, and every other extension bytes. Dots in an extension become underscores, and its
        last part is left out if it only determines how the file is read: ``seg.PNG`` becomes
        ``seg``. Extensions are converted to lower case, as in WebDataset. The dataset's attribute
        ``ingested`` summarizes the import.

    Raises
    ------
    NotFoundError
        If there are no tar files.
    InvalidValueError
        If a file is not a complete tar file, or if a sample does not fit the columns, which are
        inferred from the first samples; with ``on_error="skip"``, such samples are skipped.
    StorageError
        If a tar file cannot be opened.

    Examples
    --------
    >>> import io, tarfile, tempfile
    >>> import deeplake_lite as dl
    >>> path = f"{tempfile.mkdtemp()}/flowers-000.tar"
    >>> with tarfile.open(path, "w") as tar:
    ...     for name, data in {"1.txt": b"a rose", "1.cls": b"3"}.items():
    ...         info = tarfile.TarInfo(name)
    ...         info.size = len(data)
    ...         tar.addfile(info, io.BytesIO(data))
    >>> ds = dl.from_webdataset(path, "memory://from-webdataset")
    >>> ds[0]
    {'key': '1', 'shard': 'flowers-000.tar', 'txt': 'a rose', 'cls': np.int64(3)}
    """
    given = options.get("storage_options")
    access = {} if given is None else checks.mapping("storage_options", given)
    given_limits = options.get("limits")
    limits = given_limits if isinstance(given_limits, Limits) else DEFAULT_LIMITS
    source = webdataset_source(tars, access, options.get("schema"), on, limits)
    metadata = source.note.metadata
    return ingest(
        source, url, column_metadata=metadata.of_columns, lineage=metadata.lineage, **options
    )


def webdataset_source(
    tars: Location | Sequence[Location],
    access: Mapping[str, Any],
    schema: Types = None,
    key: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> WebDatasetSource:
    """Return the source for tar files. Raises the same errors as `tar_files`."""
    return WebDatasetSource(tuple(tar_files(tars)), access, types_of(schema), key, limits)


@dataclass(frozen=True)
class WebDatasetSource:
    """The source for the samples in tar files. A sample is a group of files that share a key."""

    files: tuple[str, ...]
    """Paths and URLs of the tar files."""

    access: Mapping[str, Any]
    """Options of the object store, for URLs."""

    schema: Mapping[str, object]
    """Maps the names of columns to the types that the user declares."""

    key: str | None = None
    """Name of the column that identifies rows, such as ``key``, or None to append all rows."""

    limits: Limits = DEFAULT_LIMITS
    """Limits on the memory that a file in a tar file may take."""

    rows: None = None
    """None, because the number of samples is unknown before all files are read."""

    @property
    def metadata(self) -> Mapping[str, object]:
        """Metadata of the lake from which the files were exported. Empty if it is unknown."""
        return self.note.metadata.of_dataset

    @cached_property
    def note(self) -> TarNote:
        """The note next to the files.

        It is empty if the first samples have other extensions, or if the user declares other
        columns.
        """
        note = TarNote.next_to(self.files)
        fits = all(note.column(e) is not None for sample in self._first for e in sample)
        return note if fits and self.schema.keys() <= {*note.types, "key", "shard"} else TarNote()

    _left_out: dict[str, Skipped] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Name of the first file, and the number of other files."""
        first = self.files[0].rpartition("/")[2]
        return first if len(self.files) == 1 else f"{first} and {len(self.files) - 1} more"

    @cached_property
    def fingerprint(self) -> str | None:
        """A string that changes when the files change, or None if there are URLs."""
        if any(scheme_of(file) is not None for file in self.files):
            return None
        return fingerprint(self.files[0], self.files)

    @property
    def left_out(self) -> Collection[Skipped]:
        """Files that belong to no sample. All are listed once all tar files have been read."""
        return self._left_out.values()

    @cached_property
    def _first(self) -> list[dict[str, str]]:
        """For each of the first samples, a dict from extensions to the results of `_content`."""
        first = islice(self._samples_of(self.files[0], {}), SAMPLED)
        return [{e: _content(e, data) for e, data in sample.files.items()} for sample in first]

    def _samples_of(self, file: str, left_out: dict[str, Skipped]) -> Iterator[Sample]:
        return samples(file, self.access, left_out, self.limits)

    @cached_property
    def names(self) -> dict[str, str]:
        """Maps extensions to names of columns. Empty if the note determines the columns."""
        if self.note.types:
            return {}
        extensions = dict.fromkeys(e for sample in self._first for e in sample)
        images = {e for e in extensions if _is_image(e) and "." not in e}
        have_one = all(len(images & sample.keys()) <= 1 for sample in self._first)
        names = dict[str, str]()
        for extension in extensions:
            if extension in images and have_one:
                names[extension] = "image"
            else:
                taken = {
                    *names.values(),
                    "key",
                    "shard",
                    *(["image"] if images and have_one else []),
                }
                names[extension] = _column(extension, taken)
        return names

    @cached_property
    def columns(self) -> dict[str, Htype]:
        """Type of each column."""
        types: dict[str, Htype] = {"key": Text(), "shard": Text(), **self.note.types}
        for extension, name in self.names.items():
            if name in types:
                continue
            extensions = [e for e, other in self.names.items() if other == name]
            contents = [sample[e] for sample in self._first for e in extensions if e in sample]
            htype = _htype(extension, contents)
            if len(contents) < len(self._first):
                htype = replace(htype, nullable=True)
            types[name] = htype
        return types

    @cached_property
    def _types(self) -> dict[str, Htype]:
        """Type of each column. A type that the user declares replaces the inferred type."""
        return {**self.columns, **{n: resolve(s) for n, s in self.schema.items()}}

    @cached_property
    def _bytes(self) -> frozenset[str]:
        """Names of the columns of type `Bytes`, which store any file unchanged."""
        return frozenset(name for name, t in self._types.items() if t.bare == Bytes())

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Accept all columns, because no inferred type rounds numbers."""

    def divided(self) -> list[Part]:
        """Return the tar files as sources of their own."""
        known = ("note", "names", "columns")
        return [Part(part_of(self, *known, files=(file,), _left_out={})) for file in self.files]

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the samples from number `start` on, in blocks."""
        types, row = self._types, 0
        for file in self.files:
            rows, size = list[Sample](), 0
            for sample in self._samples_of(file, self._left_out):
                row += 1
                if row <= start:
                    continue
                rows.append(sample)
                size += sum(map(len, sample.files.values()))
                if len(rows) == BLOCK_ROWS or size >= BLOCK_BYTES:
                    yield self._block(file, rows, types)
                    rows, size = [], 0
            if rows:
                yield self._block(file, rows, types)

    def _block(self, file: str, rows: Sequence[Sample], types: Mapping[str, Htype]) -> Block:
        shard, errors = file.rpartition("/")[2], dict[int, str]()
        columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in self.columns}
        columns["key"], columns["shard"] = [sample.key for sample in rows], [shard] * len(rows)
        extensions = dict.fromkeys(e for sample in rows for e in sample.files)
        names = {e: self.note.column(e) or self.names.get(e) for e in extensions}
        for i, sample in enumerate(rows):
            for extension, data in sample.files.items():
                if (name := names[extension]) is None:
                    errors[i] = (
                        f"a sample may have no extensions except {', '.join(self._known)}, which "
                        f"the first samples have, but it also has {extension!r}."
                    )
                    continue
                try:
                    columns[name][i] = self._value(extension, data, name, types[name])
                except ValueError as error:
                    errors[i] = f"{extension} must be {error}, but it is {brief(data, 60)}."
        for name, values in columns.items():
            for i in errors:
                if values[i] is None:
                    values[i] = types[name].blank
        return Block(columns, [f"{shard}, {sample.key}" for sample in rows], errors=errors)

    @property
    def _known(self) -> Iterable[str]:
        return self.note.names or self.names

    def _value(self, extension: str, data: bytes, name: str, htype: Htype) -> object:
        """Convert a file to a value of the column `name`. Raises ValueError if this fails."""
        value = data if name in self._bytes else _value(extension, data, htype)
        if not self.note.types:
            return value
        if htype.sql == "class" and _has_class(htype, value):
            return htype.named([value])[0]
        return restore_value(htype, value) if extension.endswith("json") else value


def _has_class(htype: Htype, value: object) -> bool:
    """Return whether a value is a class number, and the type has a name for it."""
    names = htype.labels.names if htype.labels is not None else ()
    return isinstance(value, int) and 0 <= value < len(names)


def _is_image(extension: str) -> bool:
    return f".{extension.rpartition('.')[2].lower()}" in SUFFIXES


def _column(extension: str, taken: Collection[str]) -> str:
    """Return the name of the column for an extension.

    >>> _column("seg.png", []), _column("cls", []), _column("a.b.json", []), _column("x.pth", [])
    ('seg', 'cls', 'a_b', 'x_pth')
    """
    start, _, last = extension.rpartition(".")
    is_plain = _is_image(extension) or last in (*_TEXT, *_INTEGER, "json", "npy")
    name = (start if start and is_plain else extension).replace(".", "_") or "file"
    while name in taken:
        name += "_"
    return name


def _content(extension: str, data: bytes) -> str:
    """Return a short description of a file's content, which helps to determine the column type.

    For example, "float32 2" describes an array with two axes. For files whose extension alone
    determines the column type, and for invalid files, the description is "".

    >>> _content("cls", b"7"), _content("cls", b"cat"), _content("txt", b"7")
    ('integer', '', '')
    """
    last = extension.rpartition(".")[2].lower()
    if last in _INTEGER:
        return "integer" if _is_integer(data) else ""
    if last != "npy":
        return ""
    try:
        array = _array(data)
    except ValueError:
        return ""
    return f"{array.dtype.name} {array.ndim}"


def _htype(extension: str, contents: Sequence[str]) -> Htype:
    """Infer the type of a column from an extension and the results of `_content` for its files."""
    last = extension.rpartition(".")[2].lower()
    if _is_image(extension):
        return Image("auto")
    if last in _TEXT:
        return Text()
    if last == "json":
        return Json()
    kinds = {*contents}
    if last in _INTEGER and kinds == {"integer"}:
        return Scalar("int64")
    if last == "npy" and len(kinds) == 1 and "" not in kinds:
        dtype, axes = kinds.pop().split()
        try:
            return Array(dtype, (None,) * int(axes) if int(axes) else None)
        except ValueError:
            return Bytes()
    return Bytes()


def _is_integer(data: bytes) -> bool:
    try:
        return abs(int(data)) < 2**63
    except ValueError:
        return False


def _value(extension: str, data: bytes, htype: Htype) -> object:
    """Convert a file to a value of the type `htype`.

    Raises ValueError if this fails. Its text names the required content of the file, such as
    "JSON".
    """
    last = extension.rpartition(".")[2].lower()
    if htype.takes_files and last not in ("npy", "json"):
        return data
    if last == "npy":
        return _array(data)
    if last == "json" or htype.sql == "json":
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise ValueError("JSON") from None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("UTF-8 text") from None
    if htype.sql == "text":
        return text
    if htype.classes is not None and not text.strip().lstrip("-").isdigit():
        return text.strip()
    try:
        return int(text)
    except ValueError:
        raise ValueError("an integer") from None


def _array(data: bytes) -> np.ndarray[Any, Any]:
    """Decode an npy file. Raises ValueError if it is invalid or has Python objects."""
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except (*_UNREADABLE, OSError, MemoryError, OverflowError) as error:
        raise ValueError("an npy file without Python objects") from error
    match array:
        case np.ndarray():
            return array
    raise ValueError("an npy file, not npz")
