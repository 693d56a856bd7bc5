"""Ingesting a version of a Lance dataset, whose rows are read in batches."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset.arrow.cells import METADATA
from deeplake_lite.errors import (
    InvalidValueError,
    LakeError,
    MissingPackageError,
    NotFoundError,
    OptionError,
)
from deeplake_lite.ingest.files import fingerprint_of
from deeplake_lite.ingest.huggingface.feature_table import simplified_features
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.tables.arrow_metadata import field_metadata, schema_metadata
from deeplake_lite.ingest.tables.pandas_index import kept_indexes, with_kept_indexes
from deeplake_lite.ingest.tables.tabular import (
    BATCH_BYTES,
    BATCH_ROWS,
    TabularSource,
    select_columns,
)
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deeplake_lite.ingest.options import Options, Types
    from deeplake_lite.ingest.result import IngestedDataset
    from deeplake_lite.ingest.source import Block


@takes_options
def from_lance(
    path: str | os.PathLike[str],
    url: str,
    *,
    version: int | str | None = None,
    on: str | None = None,
    columns: Sequence[str] | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest the rows of a Lance dataset into a lake.

    Parameters
    ----------
    path : str or Path
        The dataset: a folder, or a URL that Lance reads, such as ``"s3://bucket/flowers.lance"``.
    url : str
        URL of the lake, which is created if it does not exist.
    version : int or str, optional
        Number or tag of the dataset's version; by default the latest.
    on : str, optional
        The column that identifies rows. Rows that are already in the lake are updated if they
        differ. By default, all rows are appended.
    columns : sequence of str, optional
        The columns to ingest. By default, all columns.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, whose attribute ``ingested`` summarizes the import.

    Raises
    ------
    MissingPackageError
        If ``pylance`` is not installed.
    NotFoundError
        If the dataset or version does not exist.
    InvalidValueError
        If a file cannot be read, or a row is invalid.

    Notes
    -----
    Columns written by `View.to_lance` get the same types as in the lake from which they were
    exported. For other columns, the Arrow type determines the type, as in `from_parquet`. Blobs
    become bytes, unless you declare images: ``schema={"image": dl.Image()}``. Columns with blobs
    outside the dataset are rejected. The metadata of fields becomes the metadata of columns, and
    the metadata of the schema is stored in ``ds.metadata["lance"]``. The original types of structs,
    decimals, times of day and times with a time zone are stored in ``ds.metadata["arrow"]``, so
    that exports restore them. Read datasets from unknown sources in a process of their own, because
    a few kinds of damage make Lance end the process.

    Examples
    --------
    >>> import tempfile
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://lance-doc", {"label": dl.ClassLabel(["cat", "dog"])})
    >>> ds.append({"label": ["dog", "cat"]})
    >>> path = ds.to_lance(tempfile.mkdtemp())
    >>> dl.from_lance(path, "memory://from-lance")["label"].names
    ('cat', 'dog')
    """
    source = lance_source(
        path, version=version, key=on, columns=columns, schema=options.get("schema")
    )
    return ingest(source, url, column_metadata=field_metadata(source.arrow), **options)


@dataclass(frozen=True)
class LanceSource(TabularSource):
    """The rows of a version of a Lance dataset."""

    dataset: Any = None
    """Lance's object for the version."""

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the rows from row `start` on. Fragments that end before this row are not read."""
        batches = partial(_read, self.dataset, self.title, start=start)
        yield from replace(self, read=batches).blocks_of(start)

    def blocks_of(self, start: int) -> Iterator[Block]:
        """Yield the rows that `read` returns. The first of these rows has the number `start`."""
        row = start
        for batch in self.read(self.arrow.names):
            yield from self.blocks_in(batch, row)
            row += batch.num_rows


def lance_source(
    path: str | os.PathLike[str],
    *,
    version: int | str | None = None,
    key: str | None = None,
    columns: Sequence[str] | None = None,
    schema: Types = None,
) -> LanceSource:
    """Return the source for a dataset.

    Raises NotFoundError or InvalidValueError if it does not exist or cannot be read.
    """
    location = checks.location("path", path)
    if "://" not in location:
        location = str(Path(location).expanduser())
    dataset = _open(location, _version(version))
    title = os.path.basename(location.rstrip("/")) or location
    with _reading(title):
        arrow = _scanner(dataset, None).projected_schema
        rows = dataset.count_rows()
        state = (dataset.version, str(dataset.versions()[-1]["timestamp"]), rows)
    return LanceSource(
        title=title,
        arrow=select_columns(with_kept_indexes(arrow), columns),
        read=partial(_read, dataset, title),
        key=key,
        rows=rows,
        fingerprint=fingerprint_of([os.path.abspath(location)], state),
        schema=types_of(schema),
        metadata=_metadata(arrow),
        base=None if "://" in location else location,
        allowed_paths="inside",
        dataset=dataset,
    )


def _version(version: object) -> int | str | None:
    """Convert a version to a type that Lance accepts. Raises OptionError if it is invalid."""
    if version is None or isinstance(version, str):
        return version
    if isinstance(version, bool | np.bool_) or not isinstance(version, int | np.integer):
        raise OptionError(f"version must be an integer or a tag, but it is {brief(version, 80)}.")
    if not 0 < version < 2**63:
        raise OptionError(f"version must be a positive integer, but it is {version}.")
    return int(version)


def _open(location: str, version: int | str | None) -> Any:
    """Open a version of a dataset.

    Raises NotFoundError if there is no such version, InvalidValueError if it cannot be read, and
    MissingPackageError if Lance is not installed.
    """
    try:
        import lance
    except ImportError as error:
        raise MissingPackageError.needed("pylance", "lance", "from_lance") from error
    with _reading(location):
        try:
            newest = lance.dataset(location)
        except ValueError as error:
            if "not found" not in str(error).lower():
                raise
            raise NotFoundError(
                f"There is no Lance dataset at {location!r}. Check the path."
            ) from error
        if version is None:
            return newest
        known = [*newest.tags.list()] if isinstance(version, str) else _numbers(newest)
        if version not in known:
            raise NotFoundError.named("version", version, map(str, known))
        return newest.checkout_version(version)


def _numbers(dataset: Any) -> list[int]:
    """Return the version numbers of a dataset."""
    return [version["version"] for version in dataset.versions()]


def _scanner(dataset: Any, columns: list[str] | None, start: int = 0) -> Any:
    """Return a scanner for the rows from row `start` on, which yields batches of limited size."""
    return dataset.scanner(
        columns=columns,
        offset=start or None,
        batch_size=BATCH_ROWS,
        batch_size_bytes=BATCH_BYTES,
        batch_readahead=1,
        fragment_readahead=1,
        scan_in_order=True,
        blob_handling="all_binary",
    )


def _read(
    dataset: Any, title: str, columns: list[str], *, start: int = 0
) -> Iterator[pa.RecordBatch]:
    """Yield batches with the given columns, from row `start` on.

    Raises InvalidValueError if they cannot be read.
    """
    with _reading(title):
        stored = {new: old for old, new in kept_indexes(dataset.schema).items()}
        names, columns = columns, [stored.get(name, name) for name in columns]
        _check_blobs(dataset, title, columns)
        batches, row = iter(_scanner(dataset, columns, start).to_batches()), start
        while True:
            with _reading(f"{title}, from row {row:,} on" if row else title):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch.rename_columns(names) if stored else batch
            row += batch.num_rows


def _check_blobs(dataset: Any, title: str, columns: list[str]) -> None:
    """Check that no blob is outside the dataset, because it could be any file on this machine.

    Raises
    ------
    InvalidValueError
        If a column refers to a blob outside the dataset.
    """
    descriptions = dataset.scanner(blob_handling="blobs_descriptions").projected_schema
    for name in columns:
        kind = descriptions.field(name).type
        if not (pa.types.is_struct(kind) and kind.get_field_index("blob_uri") >= 0):
            continue
        scan = dataset.scanner(columns=[name], blob_handling="blobs_descriptions")
        for batch in scan.to_batches():
            uris = pc.struct_field(batch.column(0), "blob_uri")
            if pc.any(pc.not_equal(uris, "")).as_py():
                raise InvalidValueError(
                    f"Blobs must be stored in the dataset, but column {name!r} of {title!r} refers "
                    "to files outside the dataset. Rewrite the dataset with Lance and "
                    "external_blob_mode='ingest', or leave the column out: columns=[…]."
                )


def _metadata(schema: pa.Schema) -> dict[str, object]:
    """Return the metadata for the lake.

    If the dataset was exported from a lake, the result is the metadata of that lake. Metadata of
    other datasets is stored under ``lance``, and Arrow types that the lake simplifies are stored
    under ``arrow``, as for Parquet files.
    """
    is_exported = METADATA.encode() in (schema.metadata or {})
    simplified = {} if is_exported else simplified_features(schema)
    arrow = {"arrow": {"features": simplified}} if simplified else {}
    return {**arrow, **schema_metadata(schema, "lance")}


@contextmanager
def _reading(title: str) -> Iterator[None]:
    """Turn Lance's errors, including panics of its Rust code, into InvalidValueError."""
    try:
        yield
    except (LakeError, MemoryError, GeneratorExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        is_panic = type(error).__name__ == "PanicException"
        if not is_panic and not isinstance(
            error, OSError | ValueError | RuntimeError | KeyError | pa.ArrowException
        ):
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InvalidValueError(
            f"{title!r} cannot be read: {brief(reason, 300)}. Check the dataset."
        ) from error
