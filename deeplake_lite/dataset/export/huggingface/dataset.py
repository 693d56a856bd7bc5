"""Export of a view as a dataset of Hugging Face."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deeplake_lite.dataset.export.huggingface.features import (
    FeatureExport,
    find_misfits,
    warn_of_losses,
)
from deeplake_lite.errors import MissingPackageError

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View

DESCRIPTIONS = ("description", "citation", "homepage", "license")


def to_dataset(view: View) -> Any:
    """Return the rows as a dataset; see `View.to_huggingface`."""
    try:
        import datasets
    except ImportError as error:
        raise MissingPackageError(
            "to_huggingface needs datasets. Install it: pip install datasets. Or write files, "
            "which do not need it: to_parquet(…)."
        ) from error
    warn_of_losses(view, "to_huggingface")
    export = FeatureExport(view, find_misfits(view, "to_huggingface"))
    table = pa.Table.from_batches([*export.batches("to_huggingface")], export.schema)
    features = datasets.Features.from_dict(export.features)
    columns = [
        _as_feature(column, kind)
        for column, kind in zip(table.columns, features.arrow_schema.types, strict=True)
    ]
    table = pa.Table.from_arrays(columns, names=table.column_names).replace_schema_metadata(
        table.schema.metadata
    )
    info = {key: text for key in DESCRIPTIONS if isinstance(text := export.notes.get(key), str)}
    return datasets.Dataset(table, info=datasets.DatasetInfo(features=features, **info))


def _as_feature(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a column in the Arrow type of its feature, which may be an extension type."""
    return pa.chunked_array([_as_kind(chunk, kind) for chunk in column.chunks], kind)


def _as_kind(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array in a type that differs in its extension types, also in lists and structs."""
    if array.type == kind:
        return array
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, array)
    mask = array.is_null() if array.null_count else None
    if isinstance(kind, pa.StructType):
        parts = [_as_kind(array.field(f.name), f.type) for f in kind]
        return pa.StructArray.from_arrays(parts, [f.name for f in kind], mask=mask)
    if isinstance(kind, pa.ListType):
        items = _as_kind(array.values, kind.value_type)
        return pa.ListArray.from_arrays(array.offsets, items, mask=mask)
    return array.cast(kind)
