"""Splits of the objects of ``datasets``, whose rows are read as Arrow batches, without decoding."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from itertools import batched
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deeplake_lite.errors import InvalidValueError, LakeError
from deeplake_lite.ingest.huggingface.feature_table import DESCRIPTIONS, FeatureTable
from deeplake_lite.ingest.huggingface.features import read_metadata
from deeplake_lite.ingest.huggingface.part import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 256
"""Rows of a batch."""


def is_dataset(value: object) -> bool:
    """Return whether a value is a dataset, or a dict of datasets by split, of ``datasets``.

    >>> is_dataset([1])
    False
    """
    return any(cls.__module__.partition(".")[0] == "datasets" for cls in type(value).__mro__)


def object_parts(dataset: Any) -> list[Part]:
    """Return the splits of a dataset. Raises InvalidValueError for one that has no columns."""
    if isinstance(dataset, Mapping):
        return [_part(own, str(split)) for split, own in dataset.items()]
    if not hasattr(dataset, "with_format"):
        raise InvalidValueError(
            "dataset must be a Dataset, IterableDataset or DatasetDict, but it is "
            f"{type(dataset).__name__}. Load it first: datasets.load_dataset(…)."
        )
    return [_part(dataset, str(dataset.split or "train"))]


def _part(dataset: Any, split: str) -> Part:
    """Return a split."""
    is_stream = not hasattr(dataset, "data")
    if is_stream and dataset.features is None:
        dataset = _with_features(dataset, split)
    if dataset.features is None:
        raise InvalidValueError(
            f"A dataset must have columns, but {split!r} has no rows and no features. Leave it out."
        )
    schema = dataset.features.arrow_schema
    features = json.loads(json.dumps(dataset.features.to_dict()))  # without tuples
    metadata = {"info": {"features": features}}
    if not is_stream:
        metadata = {**read_metadata(dataset.data.schema), **metadata}
    has_paths = partial(_has_paths, None if is_stream else dataset.data)
    return Part(
        split,
        FeatureTable.of(schema, metadata, partial(_read, dataset, schema, split), has_paths),
        metadata,
        rows=None if is_stream else len(dataset),
        full=frozenset() if is_stream else _full_columns(dataset),
        info={key: getattr(dataset.info, key, None) for key in DESCRIPTIONS},
    )


def _with_features(stream: Any, split: str) -> Any:
    """Return a stream with the features of its first rows. Raises InvalidValueError."""
    from datasets import Dataset

    try:
        return stream.cast(Dataset.from_list(list(stream.take(ROWS))).features)
    except Exception as error:  # of any library that the stream reads
        raise _unreadable(split, 0, error) from error


def _unreadable(split: str, row: int, error: Exception) -> InvalidValueError:
    """Build the error for rows that cannot be read."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InvalidValueError(
        f"{split!r} cannot be read from row {row} on: {reason.rstrip('.')}. Check the dataset."
    )


def _read(
    dataset: Any, schema: pa.Schema, split: str, columns: list[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of columns; errors of the user's functions are ours."""
    wanted = pa.schema([schema.field(name) for name in columns])
    row = 0
    try:
        for table in _tables(dataset.select_columns(columns)):
            table = table.select(columns).cast(wanted).combine_chunks()
            yield from table.to_batches()
            row += table.num_rows
    except LakeError:
        raise
    except Exception as error:  # of any library that the dataset reads, or of a user's map
        raise _unreadable(split, row, error) from error


def _tables(dataset: Any) -> Iterator[Any]:
    """Yield the rows as Arrow tables of the types of the features."""
    if hasattr(dataset, "data") or getattr(dataset._ex_iterable, "iter_arrow", None):  # noqa: SLF001
        yield from dataset.with_format("arrow").iter(ROWS)
        return
    from datasets import Dataset  # a stream of Python objects, which `datasets` encodes

    undecoded = dataset.decode(False)
    for rows in batched(undecoded, ROWS):
        yield Dataset.from_list(list(rows), features=dataset.features).data.table


def _has_paths(table: Any, column: str) -> bool:
    """Return whether a column of files has any paths; True if only reading it would tell."""
    if table is None:
        return True
    chunks = table.column(column).chunks
    return any(_paths_of(chunk).null_count < len(chunk) for chunk in chunks)


def _paths_of(chunk: Any) -> pa.Array:
    return pc.struct_field(chunk, "path")


def _full_columns(dataset: Any) -> frozenset[str]:
    """Return the columns that have no nulls."""
    full = set()
    for name, feature in dataset.features.items():
        column = dataset.data.column(name)
        kind = type(feature).__name__
        if kind == "ClassLabel":
            least = pc.min(column).as_py()
            has_nulls = column.null_count > 0 or (least is not None and least < 0)
        elif kind in ("Image", "Audio", "Video") and pa.types.is_struct(column.type):
            has_nulls = any(pc.struct_field(c, "bytes").null_count for c in column.chunks)
        else:
            has_nulls = column.null_count > 0
        if not has_nulls:
            full.add(name)
    return frozenset(full)
