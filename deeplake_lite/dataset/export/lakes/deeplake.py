"""Export of a view as a Deep Lake 4 dataset."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeplake_lite import checks
from deeplake_lite.dataset.arrow.cells import HTYPE, METADATA
from deeplake_lite.dataset.export.atomic_files import as_storage_errors
from deeplake_lite.dataset.export.folder import new_folder
from deeplake_lite.dataset.export.lakes.deeplake_columns import Column, column_of
from deeplake_lite.dataset.export.lakes.package import load_deeplake
from deeplake_lite.dataset.export.portable import is_file, read_blocks
from deeplake_lite.errors import ExportWarning, LakeError, SchemaError, StorageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.view import View

FILE_ROWS = 128
"""Rows per block if any column holds files."""

BLOCK_ROWS = 2_048
"""Rows per block if no column holds files."""


def write_deeplake(view: View, path: str | Path, message: str) -> Path:
    """Write the rows of a view; see `View.to_deeplake`."""
    deeplake = load_deeplake("to_deeplake")
    root = Path(checks.location("path", path)).expanduser().absolute()
    text = checks.text("message", message)
    columns = _columns(view)
    with as_storage_errors(root), new_folder(root, "to_deeplake"):
        _clear(root)
        try:
            dataset = deeplake.create(str(root))
            _describe(dataset, view, columns)
            dataset.commit("created")
            _append(dataset, view, columns)
            dataset.commit(text or "export of deeplake_lite")
        except LakeError:
            raise
        except (OSError, RuntimeError, ValueError, TypeError) as error:
            raise _failure(root, error) from error
        except Exception as error:
            if not type(error).__module__.startswith("deeplake."):
                raise
            raise _failure(root, error) from error
    return root


def _failure(root: Path, error: Exception) -> StorageError:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return StorageError(
        f"{str(root)!r} cannot be written: {reason}. Free some space, or choose another path."
    )


def _clear(root: Path) -> None:
    """Remove the empty folder, which Deep Lake would mistake for a dataset."""
    shutil.rmtree(root, ignore_errors=True)


def _columns(view: View) -> list[Column]:
    """Return the columns that can be written, and warn about losses.

    Raises SchemaError if no column can be written.
    """
    columns, losses = list[Column](), list[str]()
    for f in view.schema:
        column, loss = column_of(view, f)
        if column is not None:
            columns.append(column)
        if loss:
            losses.append(f"{f.name!r} {loss}")
    if not columns:
        raise SchemaError(
            "to_deeplake needs a column that Deep Lake supports, but this view has only "
            f"{', '.join(map(repr, view.columns)) or 'no columns'}. Add a column of another type."
        )
    if losses:
        warnings.warn(f"to_deeplake: {'; '.join(losses)}.", ExportWarning, stacklevel=5)
    return columns


def _describe(dataset: Any, view: View, columns: list[Column]) -> None:
    """Add the columns to a new dataset, and write the metadata of the dataset and its columns."""
    _write_metadata(dataset.metadata, view.rows.table.metadata)
    for column in columns:
        dataset.add_column(column.field.name, column.kind)
        items = dataset[column.field.name].metadata
        _write_metadata(items, column.field.metadata)
        items[HTYPE] = json.dumps(column.field.htype.get_config())
        classes = column.field.htype.classes
        pixels = column.field.htype.pixels
        names = classes.names if classes is not None else pixels.names if pixels is not None else ()
        if names:
            items["class_names"] = list(names)


def _write_metadata(items: Any, metadata: Mapping[str, object]) -> None:
    """Write each metadata value that Deep Lake supports, and all metadata as JSON."""
    for key, value in metadata.items():
        if isinstance(value, str | bool | int | float):
            items[key] = value
    if metadata:
        items[METADATA] = json.dumps(dict(metadata))


def _append(dataset: Any, view: View, columns: list[Column]) -> None:
    """Append the rows block by block."""
    fields = [column.field for column in columns]
    rows = FILE_ROWS if any(is_file(f.htype) for f in fields) else BLOCK_ROWS
    for block in read_blocks(view, fields, "to_deeplake", rows):
        values = {c.field.name: c.values(block[c.field.name]) for c in columns}
        if len(next(iter(values.values()))):
            dataset.append(values)
