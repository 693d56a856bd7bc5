"""Export of a view as a Lance dataset, in batches of limited size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from deeplake_lite import checks
from deeplake_lite.dataset.arrow.cells import array_of, field_of, user_metadata
from deeplake_lite.dataset.export.atomic_files import as_storage_errors
from deeplake_lite.dataset.export.folder import new_folder
from deeplake_lite.dataset.export.portable import is_file, read_blocks
from deeplake_lite.errors import LakeError, MissingPackageError, SchemaError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.dataset.view import View

FILE_ROWS = 256
"""Rows per batch if any column holds files."""

BLOCK_ROWS = 4_096
"""Rows per batch if no column holds files."""


def write_lance(view: View, path: str | Path, rows_per_file: int) -> Path:
    """Write the rows of a view; see `View.to_lance`."""
    try:
        import lance
    except ImportError as error:
        raise MissingPackageError.needed("pylance", "lance", "to_lance") from error
    root = Path(checks.location("path", path)).expanduser()
    max_rows = checks.integer("rows_per_file", rows_per_file, 1)
    if not view.columns:
        raise SchemaError("to_lance needs a column, but this view has none. Select a column.")
    schema = pa.schema([field_of(f) for f in view.schema], user_metadata(view.rows.table.metadata))
    source = _Batches(view, schema)
    with as_storage_errors(root), new_folder(root, "to_lance"):
        try:
            lance.write_dataset(
                pa.RecordBatchReader.from_batches(schema, source.read()),
                str(root),
                max_rows_per_file=max_rows,
            )
        except Exception as error:
            if source.error is not None:
                raise source.error from None
            reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
            raise StorageError(
                f"{str(root)!r} cannot be written: {reason}. Free some space, or choose another "
                "path."
            ) from error
    return root


class _Batches:
    """The batches of a view, which Lance requests in another thread, and the error of a read."""

    def __init__(self, view: View, schema: pa.Schema) -> None:
        self._view, self._schema = view, schema
        self.error: BaseException | None = None
        """The error from reading the view, which Lance would convert to a string."""

    def read(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches."""
        fields = self._view.schema.fields
        rows = FILE_ROWS if any(is_file(f.htype) for f in fields) else BLOCK_ROWS
        try:
            for block in read_blocks(self._view, fields, "to_lance", rows):
                arrays = [array_of(f.htype, block[f.name]) for f in fields]
                yield pa.record_batch(arrays, schema=self._schema)
        except LakeError as error:
            self.error = error
            raise
