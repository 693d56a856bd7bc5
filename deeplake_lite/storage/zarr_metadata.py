"""The metadata documents of Zarr arrays and groups, as defined by the Zarr v3 specification.

Zarr itself would write the same documents, but importing Zarr takes longer than a small commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

GROUP: dict[str, Any] = {"zarr_format": 3, "node_type": "group", "attributes": {}}
"""Metadata of a group without attributes."""


def array_metadata(
    shape: Sequence[int],
    chunks: Sequence[int],
    dtype: str,
    codecs: Sequence[object],
    names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return the metadata of an array whose fill value is 0.

    Parameters
    ----------
    shape, chunks : sequence of int
        Shape of the array, and of its chunks.
    dtype : str
        Name of a Zarr v3 core dtype.
    codecs : sequence of object
        Codecs that follow the codec ``bytes``.
    names : sequence of str, optional
        Names of the dimensions.

    Examples
    --------
    >>> metadata = array_metadata((3,), (2,), "complex64", [])
    >>> metadata["fill_value"], metadata["codecs"]
    ([0.0, 0.0], [{'name': 'bytes', 'configuration': {'endian': 'little'}}])
    """
    zero = np.zeros((), dtype).item()
    size = np.dtype(dtype).itemsize
    to_bytes: dict[str, object] = {"name": "bytes"}
    if size > 1:
        to_bytes["configuration"] = {"endian": "little"}
    metadata = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": [zero.real, zero.imag] if isinstance(zero, complex) else zero,
        "codecs": [to_bytes, *codecs],
        "attributes": {},
        "storage_transformers": [],
    }
    return metadata if names is None else {**metadata, "dimension_names": list(names)}
