"""Reading the splits of ``datasets`` objects as Arrow batches, without decoding files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from itertools import batched
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deeplake_lite.dataset.arrow.features import FILES, read_metadata, type_of
from deeplake_lite.errors import InvalidValueError, LakeError
from deeplake_lite.ingest.huggingface.feature_table import (
    DESCRIPTIONS,
    FeatureTable,
    has_null_items,
    has_values,
)
from deeplake_lite.ingest.huggingface.part import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.dataset.arrow.leaves import Leaf

ROWS = 256
"""Number of rows in a batch."""


def is_dataset(value: object) -> bool:
    """Return whether a value is an object of the package ``datasets``.

    >>> is_dataset([1])
    False
    """
    return any(cls.__module__.partition(".")[0] == "datasets" for cls in type(value).__mro__)


def object_parts(dataset: Any) -> list[Part]:
    """Return a `Part` for each split of a dataset.

    Raises InvalidValueError if a split has no columns.
    """
    if isinstance(dataset, Mapping):
        return [_part(split_dataset, str(split)) for split, split_dataset in dataset.items()]
    if not hasattr(dataset, "with_format"):
        raise InvalidValueError(
            "dataset must be a Dataset, IterableDataset or DatasetDict, but it is "
            f"{type(dataset).__name__}. Load the dataset: datasets.load_dataset(…)."
        )
    return [_part(dataset, str(dataset.split or "train"))]


def _part(dataset: Any, split: str) -> Part:
    """Return a `Part` for a split. Raises InvalidValueError if the split has no columns."""
    is_stream = not hasattr(dataset, "data")
    if is_stream and dataset.features is None:
        dataset = _with_features(dataset, split)
    if dataset.features is None:
        raise InvalidValueError(
            f"A dataset must have columns, but split {split!r} has neither rows nor features. "
            "Leave this split out."
        )
    schema = dataset.features.arrow_schema
    features = json.loads(json.dumps(dataset.features.to_dict()))  # without tuples
    metadata = {"info": {"features": features}}
    if not is_stream:
        metadata = {**read_metadata(dataset.data.schema), **metadata}
    has_paths = partial(_has_paths, None if is_stream else dataset.data)
    read = partial(_read, dataset, schema, split)
    checks = () if is_stream else (partial(_has_null_items, dataset.data),)
    table = FeatureTable.of(schema, metadata, read, has_paths, *checks)
    return Part(
        split,
        table,
        metadata,
        rows=None if is_stream else len(dataset),
        full=frozenset() if is_stream else _full_columns(dataset.data, table),
        info={key: getattr(dataset.info, key, None) for key in DESCRIPTIONS},
    )


def _with_features(stream: Any, split: str) -> Any:
    """Cast a stream to the features that its first rows have.

    Raises InvalidValueError if a row cannot be read.
    """
    from datasets import Dataset

    try:
        return stream.cast(Dataset.from_list(list(stream.take(ROWS))).features)
    except Exception as error:  # from any library that the stream uses
        raise _unreadable(split, 0, error) from error


def _unreadable(split: str, row: int, error: Exception) -> InvalidValueError:
    """Return the error for rows that cannot be read, from row `row` on."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InvalidValueError(
        f"Split {split!r} cannot be read from row {row:,} on: {reason.rstrip('.')}. Check the "
        "dataset."
    )


def _read(
    dataset: Any, schema: pa.Schema, split: str, columns: list[str]
) -> Iterator[pa.RecordBatch]:
    """Yield batches with some columns of a split.

    Raises InvalidValueError for errors of any type, even in the user's functions.
    """
    wanted = pa.schema([schema.field(name) for name in columns])
    row = 0
    try:
        for table in _tables(dataset.select_columns(columns)):
            table = table.select(columns).cast(wanted).combine_chunks()
            yield from table.to_batches()
            row += table.num_rows
    except LakeError:
        raise
    except Exception as error:  # from any library that the dataset uses, or a user's function
        raise _unreadable(split, row, error) from error


def _tables(dataset: Any) -> Iterator[Any]:
    """Yield the rows as Arrow tables whose columns have the types of the features."""
    if hasattr(dataset, "data") or getattr(dataset._ex_iterable, "iter_arrow", None):  # noqa: SLF001
        yield from dataset.with_format("arrow").iter(ROWS)
        return
    from datasets import Dataset  # a stream of Python objects, which `datasets` encodes

    undecoded = dataset.decode(False)
    for rows in batched(undecoded, ROWS):
        yield Dataset.from_list(list(rows), features=dataset.features).data.table


def _has_paths(table: Any, paths: Leaf) -> bool:
    """Return whether any file in a column has a path. For streams, return True."""
    if table is None:
        return True
    return any(has_values(part) for part in _chunks(table, paths))


def _has_null_items(table: Any, leaf: Leaf) -> bool:
    return any(map(has_null_items, _chunks(table, leaf)))


def _chunks(table: Any, leaf: Leaf) -> Iterator[pa.Array]:
    """Yield the chunks of an Arrow column, reduced to the part that `leaf` describes."""
    return (leaf.part(chunk) for chunk in table.column(leaf.path[0]).chunks)


def _full_columns(table: Any, of: FeatureTable) -> frozenset[str]:
    """Return the names of columns without nulls, except for columns of paths.

    Columns of paths may get nulls later.
    """
    paths = {leaf.paths.name for leaf in of.leaves.values() if leaf.paths is not None}
    return frozenset(
        name
        for name, leaf in of.leaves.items()
        if name not in paths and not any(_has_nulls(part, leaf) for part in _chunks(table, leaf))
    )


def _has_nulls(array: pa.Array, leaf: Leaf) -> bool:
    kind = type_of(leaf.feature)
    if kind in FILES and pa.types.is_struct(array.type):
        return bool(pc.struct_field(array, "bytes").null_count)
    least = pc.min(array).as_py() if kind == "ClassLabel" else None
    return array.null_count > 0 or (isinstance(least, int) and least < 0)
