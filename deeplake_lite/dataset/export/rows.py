"""Export of a view's rows, with a function for each format.

Each format has a module of its own, which may import the format's library. The functions here
import the format's module when they are called, so that ``import deeplake_lite`` stays fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.export.portable import read_all, read_blocks

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa
    import xarray as xr
    from numpy.typing import NDArray

    from deeplake_lite.dataset.export.annotations.yolo import Task
    from deeplake_lite.dataset.view import View


def to_arrow(view: View) -> pa.Table:
    """Return the rows as an Arrow table; see `View.to_arrow`."""
    import pyarrow as pa

    from deeplake_lite.dataset.arrow.cells import array_of, field_of, user_metadata

    fields = view.schema.fields
    schema = pa.schema([field_of(f) for f in fields], user_metadata(view.rows.table.metadata))
    batches = [
        pa.record_batch([array_of(f.htype, block[f.name]) for f in fields], schema=schema)
        for block in read_blocks(view, fields, "to_arrow")
    ]
    return pa.Table.from_batches(batches, schema)


def to_pandas(view: View) -> pd.DataFrame:
    """Return the rows as a DataFrame; see `View.to_pandas`."""
    import pandas as pd

    from deeplake_lite.dataset.export.frame import column_of

    cells = read_all(view, "to_pandas")
    columns = {f.name: column_of(f.htype, cells[f.name]) for f in view.schema}
    return pd.DataFrame(columns, index=pd.RangeIndex(len(view)), copy=False)


def to_polars(view: View) -> Any:
    """Return the rows as a polars DataFrame; see `View.to_polars`."""
    from deeplake_lite.dataset.export.polars_frame import to_frame

    return to_frame(view)


def to_xarray(view: View) -> xr.Dataset:
    """Return the dense columns as lazy variables of an xarray dataset; see `View.to_xarray`."""
    import xarray as xr

    from deeplake_lite.dataset.export.xarray_backend import LakeBackend

    return xr.open_dataset(view, engine=LakeBackend)  # type: ignore[arg-type]


def to_numpy(
    view: View, path: str | Path | None, images: str, *, compress: bool
) -> dict[str, NDArray[Any]] | Path:
    """Return the rows as NumPy arrays, or write them to files; see `View.to_numpy`."""
    from deeplake_lite.dataset.export.arrays.numpy import write_numpy

    return write_numpy(view, path, images, compress=compress)


def to_torch(view: View, path: str | Path, images: str) -> Path:
    """Write the rows as tensors; see `View.to_torch`."""
    from deeplake_lite.dataset.export.arrays.torch import write_torch

    return write_torch(view, path, images)


def to_coco(view: View, path: str | Path, images: str | Path | None) -> Path:
    """Write the rows as a COCO file; see `View.to_coco`."""
    from deeplake_lite.dataset.export.annotations.coco import write_coco

    return write_coco(view, path, images)


def to_huggingface(view: View) -> Any:
    """Return the rows as a Hugging Face dataset; see `View.to_huggingface`."""
    from deeplake_lite.dataset.export.huggingface.dataset import to_dataset

    return to_dataset(view)


def to_parquet(view: View, path: str | Path, rows_per_file: int, executor: Any) -> Path:
    """Write the rows as Parquet files; see `View.to_parquet`."""
    from deeplake_lite.dataset.export.huggingface.parquet import write_parquet

    return write_parquet(view, path, rows_per_file, executor)


def to_folder(view: View, path: str | Path, image: str | None, label: str | None) -> Path:
    """Write the rows as files; see `View.to_folder`."""
    from deeplake_lite.dataset.export.folder import write_folder

    return write_folder(view, path, image, label)


def to_yolo(view: View, path: str | Path, task: Task | None) -> Path:
    """Write the rows as a YOLO dataset; see `View.to_yolo`."""
    from deeplake_lite.dataset.export.annotations.yolo import write_yolo

    return write_yolo(view, path, task)


def to_voc(view: View, path: str | Path) -> Path:
    """Write the rows as a PASCAL VOC dataset; see `View.to_voc`."""
    from deeplake_lite.dataset.export.annotations.voc import write_voc

    return write_voc(view, path)


def to_cvat(view: View, path: str | Path) -> Path:
    """Write the rows as a CVAT file; see `View.to_cvat`."""
    from deeplake_lite.dataset.export.annotations.cvat import write_cvat

    return write_cvat(view, path)


def to_labelstudio(view: View, path: str | Path, predictions: bool) -> Path:
    """Write the rows as Label Studio tasks; see `View.to_labelstudio`."""
    from deeplake_lite.dataset.export.annotations.labelstudio import write_labelstudio

    return write_labelstudio(view, path, predictions)


def to_fiftyone(view: View, path: str | Path) -> Path:
    """Write the rows as a FiftyOne dataset; see `View.to_fiftyone`."""
    from deeplake_lite.dataset.export.annotations.fiftyone import write_fiftyone

    return write_fiftyone(view, path)


def to_deeplake(view: View, path: str | Path, message: str) -> Path:
    """Write the rows as a Deep Lake dataset; see `View.to_deeplake`."""
    from deeplake_lite.dataset.export.lakes.deeplake import write_deeplake

    return write_deeplake(view, path, message)


def to_lance(view: View, path: str | Path, rows_per_file: int) -> Path:
    """Write the rows as a Lance dataset; see `View.to_lance`."""
    from deeplake_lite.dataset.export.lakes.lance import write_lance

    return write_lance(view, path, rows_per_file)


def to_webdataset(
    view: View, path: str | Path, shard_bytes: int | str, executor: Any
) -> list[Path]:
    """Write the rows as tar files; see `View.to_webdataset`."""
    from deeplake_lite.dataset.export.shards.webdataset import write_webdataset

    return write_webdataset(view, path, shard_bytes, executor)


def to_tfrecord(view: View, path: str | Path, shard_bytes: int | str, executor: Any) -> list[Path]:
    """Write the rows as TFRecord files; see `View.to_tfrecord`."""
    from deeplake_lite.dataset.export.shards.records import write_tfrecord

    return write_tfrecord(view, path, shard_bytes, executor)


def to_arrayrecord(
    view: View, path: str | Path, shard_bytes: int | str, executor: Any
) -> list[Path]:
    """Write the rows as ArrayRecord files; see `View.to_arrayrecord`."""
    from deeplake_lite.dataset.export.shards.records import write_arrayrecord

    return write_arrayrecord(view, path, shard_bytes, executor)


def to_mds(
    view: View,
    path: str | Path,
    shard_bytes: int | str,
    compression: str | None,
    executor: Any,
) -> Path:
    """Write the rows as MDS shards; see `View.to_mds`."""
    from deeplake_lite.dataset.export.shards.mds import write_mds

    return write_mds(view, path, shard_bytes, compression, executor)


def to_litdata(
    view: View,
    path: str | Path,
    chunk_bytes: int | str,
    compression: str | None,
    executor: Any,
) -> Path:
    """Write the rows as LitData chunks; see `View.to_litdata`."""
    from deeplake_lite.dataset.export.shards.litdata import write_litdata

    return write_litdata(view, path, chunk_bytes, compression, executor)
