"""Export of a view as TFRecord or ArrayRecord files of serialized ``tf.train.Example``."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from deeplake_lite import checks
from deeplake_lite.dataset.export.shards.example_columns import (
    SIDECAR,
    serialize_rows,
    sidecar,
    warn_of_losses,
)
from deeplake_lite.dataset.export.shards.plan import Part
from deeplake_lite.dataset.export.shards.record_frames import frame
from deeplake_lite.dataset.export.shards.tfds_files import DATASET, SPLIT, tfds_files
from deeplake_lite.dataset.export.shards.writer import write_shards
from deeplake_lite.errors import MissingPackageError, StorageError
from deeplake_lite.remote.executor import check_executor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from deeplake_lite.dataset.export.shards.plan import Shard
    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes.cells import Cells

    type Write = Callable[[bytes], object]


def write_tfrecord(
    view: View, path: str | Path, shard_bytes: int | str, executor: Any
) -> list[Path]:
    """Write the rows of a view; see `View.to_tfrecord`."""
    return _write(view, path, shard_bytes, executor, "tfrecord", _tfrecord)


def write_arrayrecord(
    view: View, path: str | Path, shard_bytes: int | str, executor: Any
) -> list[Path]:
    """Write the rows of a view; see `View.to_arrayrecord`."""
    try:
        import array_record.python.array_record_module  # noqa: F401
    except ImportError:
        raise MissingPackageError.needed("array-record", "array-record", "to_arrayrecord") from None
    return _write(view, path, shard_bytes, executor, "array_record", _array_record)


def _write(
    view: View,
    path: str | Path,
    shard_bytes: int | str,
    executor: Any,
    suffix: str,
    open_file: _Open,
) -> list[Path]:
    """Write the rows of a view to files with the given suffix, and the columns' types to a file."""
    method = f"to_{suffix.replace('_', '')}"
    root = Path(checks.location("path", path)).expanduser()
    max_bytes, executor = checks.memory("shard_bytes", shard_bytes), check_executor(executor)
    warn_of_losses(view, method)
    types = sidecar(view)
    part = Part(
        view,
        view.schema.fields,
        lambda number, count: f"{DATASET}-{SPLIT}.{suffix}-{number:05d}-of-{count:05d}",
        partial(_records, open_file),
        max_bytes=max_bytes,
        min_files=1,
    )
    return write_shards(
        root,
        [part],
        method=method,
        options={"shard_bytes": max_bytes},
        executor=executor,
        finish=lambda parts: _write_index(
            root, tfds_files(view, suffix, parts[0]) | {SIDECAR: types}
        ),
    )


def _write_index(root: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        (root / name).write_bytes(data)


class _Open(Protocol):
    """A function that opens a file for records, and yields a function that writes a record."""

    def __call__(self, path: Path, /) -> AbstractContextManager[Write]: ...


@contextlib.contextmanager
def _records(open_file: _Open, path: Path, shard: Shard) -> Iterator[_Records]:
    with open_file(path) as write:
        yield _Records(write, shard)


@dataclass
class _Records:
    """A file of records that is open for writing."""

    _write: Write
    _shard: Shard

    def write(self, cells: Mapping[str, Cells], first: int) -> None:  # noqa: ARG002 (of the protocol)
        """Write a record for each row."""
        for data in serialize_rows(self._shard.part.fields, cells):
            self._write(data)

    def finish(self) -> Mapping[str, Any]:
        """Return an empty dict, because the files have no index."""
        return {}


@contextlib.contextmanager
def _tfrecord(path: Path) -> Iterator[Write]:
    with open(path, "wb", buffering=2**20) as file:
        yield lambda data: file.write(frame(data))


@contextlib.contextmanager
def _array_record(path: Path) -> Iterator[Write]:
    from array_record.python.array_record_module import ArrayRecordWriter

    # One record per group, as in TFDS, so that loaders can read single records.
    writer = ArrayRecordWriter(str(path), "group_size:1")
    try:
        yield writer.write
    finally:
        with _as_storage_error(path):
            writer.close()


@contextlib.contextmanager
def _as_storage_error(path: Path) -> Iterator[None]:
    try:
        yield
    except (RuntimeError, ValueError) as error:
        raise StorageError(
            f"{str(path)!r} cannot be written: {error}. Free some space, or choose another path."
        ) from error
