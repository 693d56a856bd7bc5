"""Recognising objects of other libraries without importing them."""

from __future__ import annotations

from collections.abc import Mapping

from deeplake_lite.ingest.detection.formats import Format

TYPES = {
    "pandas.DataFrame": ("a DataFrame", "from_dataframe", "tables.dataframe"),
    "polars.DataFrame": ("a DataFrame", "from_dataframe", "tables.dataframe"),
    "pyarrow.Table": ("an Arrow table", "from_dataframe", "tables.dataframe"),
    "datasets.Dataset": ("Hugging Face", "from_huggingface", "huggingface.source"),
    "datasets.IterableDataset": ("Hugging Face", "from_huggingface", "huggingface.source"),
    "datasets.DatasetDict": ("Hugging Face", "from_huggingface", "huggingface.source"),
    "datasets.IterableDatasetDict": ("Hugging Face", "from_huggingface", "huggingface.source"),
    "torch.Dataset": ("a PyTorch dataset", "from_torch", "arrays.torch"),
    "tensorflow.DatasetV2": ("a tf.data dataset", "from_tensorflow", "arrays.tensorflow"),
    "tensorflow_datasets.DatasetBuilder": ("a TFDS builder", "from_tfds", "arrays.tfds"),
    "xarray.Dataset": ("xarray", "from_xarray", "arrays.xarray"),
    "xarray.DataArray": ("xarray", "from_xarray", "arrays.xarray"),
    "zarr.Array": ("Zarr", "from_zarr", "arrays.zarr"),
    "zarr.Group": ("Zarr", "from_zarr", "arrays.zarr"),
    "h5py.Group": ("HDF5", "from_hdf5", "arrays.hdf5"),
    "deeplake.Dataset": ("a Deep Lake dataset", "from_deeplake", "deeplake.source"),
}
"""Maps the package and name of a class to the name, function and module of its format."""


CALLS = {
    "numpy.ndarray": 'Name the column: dl.from_arrays({"x": array}, url)',
    "torch.Tensor": 'Name the column: dl.from_arrays({"x": tensor}, url)',
    "polars.LazyFrame": "Collect its rows: dl.from_dataframe(data.collect(), url)",
    "lance.LanceDataset": ("Pass its path: dl.from_lance(data.uri, url, version=data.version)"),
    "h5py.Dataset": 'Read it, and name the column: dl.from_arrays({"x": data[:]}, url)',
}
"""Maps names of classes whose objects no function accepts to advice on how to ingest them. A name
consists of the package and the class."""


def call_for(data: object) -> str | None:
    """Return advice on how to ingest an object that no function accepts directly, or None.

    >>> import numpy as np
    >>> call_for(np.zeros(3))
    'Name the column: dl.from_arrays({"x": array}, url)'
    """
    return next((CALLS[name] for name in _names(data) if name in CALLS), None)


def _names(data: object) -> list[str]:
    """Return names such as "torch.Dataset" for the class of an object and for its base classes."""
    return [f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(data).__mro__]


def format_of_object(data: object) -> Format | None:
    """Return the format of an object, according to its class or a base class, or None.

    >>> import pandas as pd
    >>> format_of_object(pd.DataFrame()).function, format_of_object({"x": [1]}).function
    ('from_dataframe', 'from_arrays')
    """
    for name in _names(data):
        if name in TYPES:
            return Format(*TYPES[name], match=lambda place: place)
    if isinstance(data, Mapping):
        return Format("arrays", "from_arrays", "tables.arrays", match=lambda place: place)
    return None
