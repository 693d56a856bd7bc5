"""Ingesting ArrayRecord files."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Any, Unpack

from deeplake_lite import checks
from deeplake_lite.errors import InvalidValueError, MissingPackageError, StorageError
from deeplake_lite.htypes.files import scheme_of
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.shards.example_source import Contents, ExampleSource
from deeplake_lite.ingest.shards.record_files import (
    ARRAY_RECORD,
    MAX_BYTES,
    Record,
    name_of,
    open_file,
    record_files,
)
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset
    from deeplake_lite.ingest.shards.tar_samples import Location

READ_ROWS = 64
READ_BYTES = 16 * 2**20
"""Maximum number of records that are read at a time, and their approximate total size in bytes."""

_SEQUENTIAL = "readahead_buffer_size:4M,max_parallelism:1"
"""Options of the reader. By default, each of its threads would read 16 MB ahead."""

_ERRORS = (RuntimeError, ValueError, IndexError, OSError)
"""Errors that the package ``array-record`` raises."""


@takes_options
def from_arrayrecord(
    files: Location | Sequence[Location],
    url: str,
    *,
    features: Mapping[str, Any] | Sequence[str] | None = None,
    on: str | None = None,
    contents: Contents = "auto",
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest the records of ArrayRecord files, such as those of TensorFlow Datasets and Grain.

    Parameters
    ----------
    files : str, Path or sequence of them
        ArrayRecord files: paths, folders, patterns such as ``"train.array_record-*"``, and URLs.
        Files at URLs are copied to a temporary folder one by one.
    url : str
        URL of the lake, which is created if it does not exist.
    features : mapping or sequence of str, optional
        The features to ingest, as for `from_tfrecord`.
    on : str, optional
        The column that identifies rows. Rows that are already in the lake are updated if they
        differ. By default, all rows are appended, unless the same files were ingested before.
    contents : {"auto", "example", "bytes"}
        Whether records are ``tf.train.Example``, with one column per feature, or other bytes, which
        are stored in the column ``record``. With "auto", this is inferred from the first records.
    **options
        See `Options`. If records are bytes, ``schema={"record": …}`` declares their type: an image,
        text, JSON, or an `Array` with the bytes' dtype.

    Returns
    -------
    Dataset
        The committed dataset, with one row per record. The dataset's attribute ``ingested``
        summarizes the import. Types are inferred as in `from_tfrecord`.

    Raises
    ------
    MissingPackageError
        If ``array-record`` is not installed.
    NotFoundError
        If there are no files.
    InvalidValueError
        If a file is damaged or truncated, or a record does not fit the columns; with
        ``on_error="skip"``, such records are skipped.
    StorageError
        If a file cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://to-arrayrecord", {"name": "text", "petals": "int64"})
    >>> ds.append({"name": ["rose", "lily"], "petals": [5, 6]})
    >>> files = ds.to_arrayrecord(tempfile.mkdtemp())
    >>> dl.from_arrayrecord(files, "memory://from-arrayrecord")[1]
    {'name': 'lily', 'petals': np.int64(6)}
    """
    checks.choice("contents", contents, ("auto", "example", "bytes"))
    given = options.get("storage_options")
    access = {} if given is None else checks.mapping("storage_options", given)
    paths = record_files(files, ARRAY_RECORD)
    try:
        import array_record.python.array_record_module  # noqa: F401
    except ImportError:
        raise MissingPackageError.needed(
            "array-record", "array-record", "from_arrayrecord"
        ) from None
    source = ExampleSource(
        tuple(paths),
        array_records,
        access,
        types_of(options.get("schema")),
        features,
        on,
        "example" if features is not None else contents,
    )
    metadata = source.described.metadata
    return ingest(
        source, url, column_metadata=metadata.of_columns, lineage=metadata.lineage, **options
    )


def array_records(path: str, options: Mapping[str, Any]) -> Iterator[Record]:
    """Yield the records of a file.

    Raises
    ------
    InvalidValueError
        If the file is not an ArrayRecord file, or if its index is damaged. If only a record is
        damaged, its `error` is set.
    StorageError
        If the file cannot be opened.
    """
    from array_record.python.array_record_module import ArrayRecordReader

    name = name_of(path)
    with _on_this_machine(path, options) as here:
        with _translating_errors(name, 0):
            reader = ArrayRecordReader(here, _SEQUENTIAL)
        try:
            with _translating_errors(name, 0):
                count = reader.num_records()
            if not reader.ok():  # the package does not raise an error itself
                raise _damaged(name, 0, "its index is damaged or missing")
            first, step, size = 0, 1, 0
            while first < count:
                stop = min(first + step, count)
                for record in _records(reader, here, name, first, stop):
                    size = max(size, len(record.data))
                    yield record
                first, step = stop, max(1, min(READ_ROWS, READ_BYTES // max(size, 1)))
        finally:
            with contextlib.suppress(Exception):  # raises the error again for damaged files
                reader.close()


def _records(reader: Any, path: str, name: str, first: int, stop: int) -> Iterator[Record]:
    """Yield the records from number `first` up to `stop` (exclusive).

    If any of these records is damaged, each record is read separately, with another reader.
    """
    from array_record.python.array_record_module import ArrayRecordReader

    rows: list[bytes] | None = None
    with contextlib.suppress(*_ERRORS):
        rows = reader.read(first, stop)
    if rows is not None and reader.ok() and len(rows) == stop - first:
        for number, data in enumerate(rows, first):
            yield _record(name, number, data)
    elif stop - first == 1:
        yield Record(
            b"", f"{name}, record {first}", "a record must be complete, but this record is damaged."
        )
    else:
        for number in range(first, stop):
            with _translating_errors(name, number):
                other = ArrayRecordReader(path, _SEQUENTIAL)
            try:
                yield from _records(other, path, name, number, number + 1)
            finally:
                with contextlib.suppress(*_ERRORS):
                    other.close()


def _record(name: str, number: int, data: bytes) -> Record:
    """Return a record. If its data is too large for a cell, leave out the data and set `error`."""
    place = f"{name}, record {number}"
    if len(data) > MAX_BYTES:
        return Record(
            b"",
            place,
            f"a record may have at most {MAX_BYTES:,} bytes, but this record has {len(data):,}.",
        )
    return Record(data, place)


@contextlib.contextmanager
def _on_this_machine(path: str, options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the path of a file on this machine, or of a temporary copy of a file at a URL.

    Raises StorageError if the file cannot be read.
    """
    if scheme_of(path) is None:
        if not os.path.isfile(path):
            raise StorageError(f"{path!r} cannot be read: it is not a file. Check the path.")
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        here = os.path.join(folder, "file")
        with open_file(path, options) as source, open(here, "wb") as target:
            shutil.copyfileobj(source, target, 2**20)
        yield here


@contextlib.contextmanager
def _translating_errors(name: str, record: int) -> Iterator[None]:
    """Turn errors of the package ``array-record`` into InvalidValueError."""
    try:
        yield
    except _ERRORS as error:
        raise _damaged(name, record, str(error).splitlines()[0] if str(error) else "") from error


def _damaged(name: str, record: int, reason: str) -> InvalidValueError:
    return InvalidValueError(
        f"{name!r} must be a complete ArrayRecord file, but it cannot be read from record "
        f"{record:,} on: {reason}. Fetch the file again."
    )
