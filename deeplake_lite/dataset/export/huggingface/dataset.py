"""Export of a view as a Hugging Face dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deeplake_lite.dataset.arrow.casts import with_extensions
from deeplake_lite.dataset.export.huggingface.features import (
    FeatureExport,
    find_misfits,
)
from deeplake_lite.dataset.export.portable import warn_of_metadata
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
            "to_huggingface needs the package datasets. Install it: pip install datasets. Or write "
            "files without it: to_parquet(…)."
        ) from error
    warn_of_metadata(view, "to_huggingface", "features")
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
    info = {
        key: text for key in DESCRIPTIONS if isinstance(text := export.source_info.get(key), str)
    }
    return datasets.Dataset(table, info=datasets.DatasetInfo(features=features, **info))


def _as_feature(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Convert a column to the Arrow type of its feature, which may be an extension type."""
    return pa.chunked_array([with_extensions(chunk, kind) for chunk in column.chunks], kind)
