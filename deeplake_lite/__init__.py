"""A versioned dataset lake for deep learning, used from a notebook.

>>> import deeplake_lite as dl
>>> ds = dl.create("memory://first-lake", {"x": "int32", "name": "text"})
>>> ds.append({"x": [1, 2], "name": ["a", "b"]})
>>> commit = ds.commit("two rows")
>>> ds[1]
{'x': np.int32(2), 'name': 'b'}
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deeplake_lite.codecs.limits import Limits
    from deeplake_lite.dataset.column import Column
    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.opening import create, exists, open
    from deeplake_lite.dataset.versions.diff import Diff
    from deeplake_lite.dataset.view import View
    from deeplake_lite.errors import (
        ColumnAttributeError,
        ColumnNotFoundError,
        ConflictError,
        DamagedError,
        ExistsError,
        ExportWarning,
        ForkedError,
        FormatError,
        IndexWarning,
        InvalidValueError,
        JobError,
        LakeError,
        LakeNotFoundError,
        LoaderError,
        MissingPackageError,
        NotFoundError,
        OptionError,
        QueryError,
        QuerySyntaxError,
        QueryTypeError,
        ReadOnlyError,
        ReencodedWarning,
        RowIndexError,
        SchemaError,
        StorageError,
        TooLargeError,
        UncommittedError,
        UnsafeStoreError,
        VersionNotFoundError,
    )
    from deeplake_lite.evaluate import Comparison, Evaluation, compare
    from deeplake_lite.htypes import (
        Array,
        Boxes,
        Bytes,
        ClassLabel,
        Embedding,
        Htype,
        Image,
        Json,
        Keypoints,
        Link,
        Mask,
        Polygons,
        Scalar,
        Sequence,
        Text,
    )
    from deeplake_lite.index import Index
    from deeplake_lite.ingest import ingest
    from deeplake_lite.ingest.annotations.cvat import from_cvat
    from deeplake_lite.ingest.annotations.fiftyone import from_fiftyone
    from deeplake_lite.ingest.annotations.labelstudio import from_labelstudio
    from deeplake_lite.ingest.annotations.voc import from_voc
    from deeplake_lite.ingest.arrays.hdf5 import from_hdf5
    from deeplake_lite.ingest.arrays.idx import from_idx
    from deeplake_lite.ingest.arrays.numpy import from_numpy
    from deeplake_lite.ingest.arrays.tensorflow import from_tensorflow
    from deeplake_lite.ingest.arrays.tfds import from_tfds
    from deeplake_lite.ingest.arrays.torch import from_torch
    from deeplake_lite.ingest.arrays.xarray import from_xarray
    from deeplake_lite.ingest.arrays.zarr import from_zarr
    from deeplake_lite.ingest.coco.source import from_coco
    from deeplake_lite.ingest.deeplake.source import from_deeplake
    from deeplake_lite.ingest.folders.folder import from_folder
    from deeplake_lite.ingest.huggingface.source import from_huggingface
    from deeplake_lite.ingest.lance.source import from_lance
    from deeplake_lite.ingest.result import Ingested, IngestedDataset
    from deeplake_lite.ingest.shards.arrayrecord import from_arrayrecord
    from deeplake_lite.ingest.shards.litdata import from_litdata
    from deeplake_lite.ingest.shards.mds import from_mds
    from deeplake_lite.ingest.shards.tfrecord import from_tfrecord
    from deeplake_lite.ingest.shards.webdataset import from_webdataset
    from deeplake_lite.ingest.source import Skipped
    from deeplake_lite.ingest.tables.arrays import from_arrays
    from deeplake_lite.ingest.tables.csv import from_csv
    from deeplake_lite.ingest.tables.dataframe import from_dataframe
    from deeplake_lite.ingest.tables.parquet import from_parquet
    from deeplake_lite.ingest.yolo.source import from_yolo
    from deeplake_lite.loader.mix import mix
    from deeplake_lite.map import Job, JobInfo, Mapped, Origin, jobs
    from deeplake_lite.query import query
    from deeplake_lite.query.registering import function
    from deeplake_lite.schema import Schema
    from deeplake_lite.widget.browser import Browser
    from deeplake_lite.widget.difference import browse_diff

_HOMES = {
    "codecs.limits": "Limits",
    "dataset.column": "Column",
    "dataset.dataset": "Dataset",
    "dataset.opening": "create exists open",
    "dataset.versions.diff": "Diff",
    "dataset.view": "View",
    "errors": (
        "ColumnAttributeError ColumnNotFoundError ConflictError DamagedError ExistsError "
        "ExportWarning ForkedError FormatError IndexWarning "
        "InvalidValueError JobError LakeError LakeNotFoundError LoaderError MissingPackageError "
        "NotFoundError OptionError QueryError QuerySyntaxError QueryTypeError "
        "ReadOnlyError ReencodedWarning RowIndexError SchemaError StorageError TooLargeError "
        "UncommittedError UnsafeStoreError VersionNotFoundError"
    ),
    "evaluate": "Comparison Evaluation compare",
    "htypes": (
        "Array Boxes Bytes ClassLabel Embedding "
        "Htype Image Json Keypoints Link "
        "Mask Polygons Scalar Sequence Text"
    ),
    "index": "Index",
    "ingest": "ingest",
    "ingest.tables.arrays": "from_arrays",
    "ingest.annotations.cvat": "from_cvat",
    "ingest.annotations.fiftyone": "from_fiftyone",
    "ingest.annotations.labelstudio": "from_labelstudio",
    "ingest.annotations.voc": "from_voc",
    "ingest.coco.source": "from_coco",
    "ingest.tables.csv": "from_csv",
    "ingest.tables.dataframe": "from_dataframe",
    "ingest.deeplake.source": "from_deeplake",
    "ingest.folders.folder": "from_folder",
    "ingest.arrays.hdf5": "from_hdf5",
    "ingest.arrays.idx": "from_idx",
    "ingest.arrays.numpy": "from_numpy",
    "ingest.arrays.tensorflow": "from_tensorflow",
    "ingest.arrays.tfds": "from_tfds",
    "ingest.arrays.torch": "from_torch",
    "ingest.arrays.xarray": "from_xarray",
    "ingest.arrays.zarr": "from_zarr",
    "ingest.huggingface.source": "from_huggingface",
    "ingest.lance.source": "from_lance",
    "ingest.tables.parquet": "from_parquet",
    "ingest.result": "Ingested IngestedDataset",
    "ingest.source": "Skipped",
    "ingest.shards.litdata": "from_litdata",
    "ingest.shards.mds": "from_mds",
    "ingest.shards.arrayrecord": "from_arrayrecord",
    "ingest.shards.tfrecord": "from_tfrecord",
    "ingest.shards.webdataset": "from_webdataset",
    "ingest.yolo.source": "from_yolo",
    "loader.mix": "mix",
    "map": "Job JobInfo Mapped Origin jobs",
    "query": "query",
    "query.registering": "function",
    "widget.difference": "browse_diff",
    "schema": "Schema",
    "widget.browser": "Browser",
}
"""Maps each module to its public names. A module is imported when one of its names is first
used."""

_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("deeplake-lite")  # slow to import
    if name not in _MODULES:
        module = sys.modules[__name__]  # with `obj`, Python suggests the most similar name
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}", name=name, obj=module
        )
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: object) -> None:
    """Add the cell magic ``%%tql``, which queries views. ``%load_ext deeplake_lite`` calls this."""
    import_module(f"{__name__}.query.magic").load(shell)


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]


__all__ = [
    "Array",
    "Boxes",
    "Browser",
    "Bytes",
    "ClassLabel",
    "Column",
    "ColumnAttributeError",
    "ColumnNotFoundError",
    "Comparison",
    "ConflictError",
    "DamagedError",
    "Dataset",
    "Diff",
    "Embedding",
    "Evaluation",
    "ExistsError",
    "ExportWarning",
    "ForkedError",
    "FormatError",
    "Htype",
    "Image",
    "Index",
    "IndexWarning",
    "Ingested",
    "IngestedDataset",
    "InvalidValueError",
    "Job",
    "JobError",
    "JobInfo",
    "Json",
    "Keypoints",
    "LakeError",
    "LakeNotFoundError",
    "Limits",
    "Link",
    "LoaderError",
    "Mapped",
    "Mask",
    "MissingPackageError",
    "NotFoundError",
    "OptionError",
    "Origin",
    "Polygons",
    "QueryError",
    "QuerySyntaxError",
    "QueryTypeError",
    "ReadOnlyError",
    "ReencodedWarning",
    "RowIndexError",
    "Scalar",
    "Schema",
    "SchemaError",
    "Sequence",
    "Skipped",
    "StorageError",
    "Text",
    "TooLargeError",
    "UncommittedError",
    "UnsafeStoreError",
    "VersionNotFoundError",
    "View",
    "browse_diff",
    "compare",
    "create",
    "exists",
    "from_arrayrecord",
    "from_arrays",
    "from_coco",
    "from_csv",
    "from_cvat",
    "from_dataframe",
    "from_deeplake",
    "from_fiftyone",
    "from_folder",
    "from_hdf5",
    "from_huggingface",
    "from_idx",
    "from_labelstudio",
    "from_lance",
    "from_litdata",
    "from_mds",
    "from_numpy",
    "from_parquet",
    "from_tensorflow",
    "from_tfds",
    "from_tfrecord",
    "from_torch",
    "from_voc",
    "from_webdataset",
    "from_xarray",
    "from_yolo",
    "from_zarr",
    "function",
    "ingest",
    "jobs",
    "mix",
    "open",
    "query",
]
