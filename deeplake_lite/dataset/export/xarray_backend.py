"""The xarray engine, which opens the dense columns of a lake as lazy variables.

``xr.open_dataset("flowers.lake", engine="deeplake_lite")`` finds this module through its entry
point, and ``view.to_xarray()`` passes a view to it. A variable reads rows only when they are used.
Ragged columns are left out and listed in the attribute ``ragged_columns``. The names and attributes
that `dl.from_xarray` recorded are restored; see `xarray_record`.
"""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np
import xarray as xr
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from deeplake_lite.dataset.arrow.times import common_times
from deeplake_lite.dataset.export.xarray_record import layout_of
from deeplake_lite.dataset.opening import open as open_lake
from deeplake_lite.dataset.read.values import copy_if_shared
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.cells import DenseCells
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.schema import free_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from numpy.typing import NDArray

    from deeplake_lite.dataset.export.xarray_record import Layout
    from deeplake_lite.schema import Field


LARGEST_EXACT = 2**53
"""Largest integer up to which float64 represents all integers exactly."""


class LakeBackend(BackendEntrypoint):
    """The xarray engine ``"deeplake_lite"``.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://xarray-doc", {"x": "int32", "name": "text"})
    >>> ds.append({"x": [1, 2, 3], "name": ["a", "b", "c"]})
    >>> commit = ds.commit("three rows")
    >>> opened = xr.open_dataset("memory://xarray-doc", engine="deeplake_lite")
    >>> opened["x"].dims, opened["x"][::2].values, opened.attrs["ragged_columns"]
    (('row',), array([1, 3], dtype=int32), ['name'])
    """

    description: ClassVar[str] = "Dense columns of a deeplake_lite lake"
    url: ClassVar[str] = ""
    open_dataset_parameters = (
        "filename_or_obj",
        "drop_variables",
        "version",
        "branch",
        "storage_options",
    )

    @override
    def open_dataset(  # type: ignore[override]
        self,
        filename_or_obj: str | os.PathLike[str] | View,
        *,
        drop_variables: str | Iterable[str] | None = None,
        version: str | datetime | None = None,
        branch: str = "main",
        storage_options: Mapping[str, object] | None = None,
    ) -> xr.Dataset:
        """Open a lake, or return a view, as a dataset of lazy variables.

        Parameters
        ----------
        filename_or_obj : str, path or View
            URL or path of a lake, or a view.
        drop_variables : str or iterable of str, optional
            Columns to leave out.
        version : str or datetime, optional
            A tag, branch, commit id or time.
        branch : str
            The branch to open if no version is given.
        storage_options : mapping, optional
            Options for the object store, such as credentials.
        """
        if isinstance(filename_or_obj, View):
            view = filename_or_obj
        else:
            address = os.fspath(filename_or_obj)
            view = open_lake(
                address, version=version, branch=branch, storage_options=storage_options
            )
        dropped = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
        return lazy_dataset(view, dropped)

    @override
    def guess_can_open(self, filename_or_obj: object) -> bool:
        """Return whether an object is a view, or looks like the URL or path of a lake."""
        if isinstance(filename_or_obj, View):
            return True
        if not isinstance(filename_or_obj, str | os.PathLike):
            return False
        address = os.fspath(filename_or_obj)
        if address.rstrip("/").endswith(".lake"):
            return True
        parts = ("snapshots", "transactions")
        return "://" not in address and all((Path(address) / part).is_dir() for part in parts)


class LakeArray(BackendArray):
    """A column as a lazy array, which reads only the indexed rows.

    Parameters
    ----------
    read : callable
        Returns the values of rows, given their positions, (n,) int64.
    shape : tuple of int
        Shape of the whole array.
    dtype : dtype
        Dtype of the values.
    """

    def __init__(
        self,
        read: Callable[[NDArray[np.int64]], NDArray[Any]],
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> None:
        self._read, self.shape, self.dtype = read, shape, dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the elements that an xarray index selects."""
        sizes = zip(key.tuple, self.shape, strict=True)
        index = type(key)(tuple(_forward_if_empty(part, size) for part, size in sizes))
        support = indexing.IndexingSupport.OUTER
        return indexing.explicit_indexing_adapter(index, self.shape, support, self._take)

    def _take(self, key: tuple[Any, ...]) -> object:
        """Read the rows of an outer index, then index the other axes one by one."""
        rows = np.arange(self.shape[0])[key[0]]
        values = self._read(np.atleast_1d(rows))
        for axis in range(len(key) - 1, 0, -1):
            values = values[(slice(None),) * axis + (key[axis],)]
        return values if np.ndim(rows) else values[0]


def _forward_if_empty(part: object, size: int) -> object:
    """Return an index unchanged, unless it is an empty slice, which gets a step of 1.

    xarray 2026.9 fails on ``[0:0:-1]``.
    """
    if isinstance(part, slice) and not len(range(*part.indices(size))):
        return slice(0, 0, 1)
    return part


def lazy_dataset(view: View, dropped: set[str]) -> xr.Dataset:
    """Return the dense columns of a view as lazy variables."""
    fields = [f for f in view.schema if f.name not in dropped]
    dense = [f for f in fields if isinstance(f.htype.layout, Dense)]
    names = {f.name for f in view.schema}
    metadata = view.rows.table.metadata
    layout = layout_of(metadata, dense, names)
    pinned = view[:]  # the variables read rows later, when the dataset may have changed
    variables = {f.name: _variable(pinned, f, layout) for f in dense}
    variables |= {name: v for name, v in layout.variables.items() if name not in dropped}
    row_ids = LakeArray(partial(_read_ids, pinned), (len(view),), np.dtype(np.int64))
    used = {str(d) for variable in variables.values() for d in variable.dims}
    ids = free_name("row_id", names | used | variables.keys() | {layout.row})
    coordinates = {ids: xr.Variable((layout.row,), indexing.LazilyIndexedArray(row_ids))}
    coordinates |= {n: variables.pop(n) for n in layout.coordinates if n in variables}
    attributes = {
        **_as_attributes({key: value for key, value in metadata.items() if key != "xarray"}),
        **layout.attributes,
        "url": view.url,
        "version": view.version,
        "ragged_columns": [f.name for f in fields if f not in dense],
    }
    return xr.Dataset(variables, coordinates, attributes)


def _variable(view: View, f: Field, layout: Layout) -> xr.Variable:
    """Return a column as a lazy variable."""
    assert isinstance(f.htype.layout, Dense)
    empty = _filled(f, f.htype.encode([]))
    shape = (len(view), *f.htype.layout.shape)
    array = LakeArray(partial(_read, view, f), shape, empty.dtype)
    dims = (layout.row, *layout.axes[f.name])
    attributes = {**layout.columns.get(f.name, {}), **_attributes(f)}
    return xr.Variable(dims, indexing.LazilyIndexedArray(array), attributes)


def _read(view: View, f: Field, rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return the values of a column in the given rows."""
    table, slots = view.rows.locate(rows)
    return _filled(f, table.read([f.id], slots)[f.id])


def _read_ids(view: View, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ids of the given rows."""
    return view[rows].row_ids


def _attributes(f: Field) -> dict[str, object]:
    """Return the attributes of a variable: the column's metadata, htype and class names.

    Class names follow the CF conventions for flags, see section 3.5 of
    https://cfconventions.org/cf-conventions/cf-conventions.html.
    """
    attributes = _as_attributes(f.metadata)
    attributes["htype"] = json.dumps(f.htype.get_config())
    if (classes := f.htype.classes) is not None and classes.names:
        attributes["flag_values"] = np.arange(len(classes.names), dtype=np.int32)
        attributes["flag_meanings"] = " ".join(n.replace(" ", "_") for n in classes.names)
    return attributes


def _as_attributes(metadata: Mapping[str, object]) -> dict[str, object]:
    """Convert metadata to attributes: strings and numbers stay, other values become JSON text."""
    return {
        key: value if isinstance(value, str | int | float) else json.dumps(value)
        for key, value in metadata.items()
    }


def _filled(f: Field, cells: object) -> NDArray[Any]:
    """Decode cells. Nulls become NaN, NaT, or -1 for classes, as is usual in xarray."""
    assert isinstance(cells, DenseCells)
    values = common_times(f.htype.decode(cells.values, ()))
    if not f.htype.nullable:
        return copy_if_shared(values)
    null = np.zeros(len(values), bool) if cells.valid is None else ~cells.valid
    _check_exact(f, values[~null])
    values = values.astype(_with_nulls(f, values.dtype))
    values[null] = _null(f, values.dtype)
    return values


def _check_exact(f: Field, values: NDArray[Any]) -> None:
    """Raise InvalidValueError if converting a nullable column to float64 would round an integer."""
    is_class = f.htype.classes is not None
    if is_class or values.dtype.kind not in "iu" or values.itemsize < 8:
        return
    lowest = 0 if values.dtype.kind == "u" else -LARGEST_EXACT
    beyond = (values > LARGEST_EXACT) | (values < lowest)
    if beyond.any():
        raise InvalidValueError(
            "xarray has no nullable integers and stores them as float64, which is exact only up to "
            f"2**53, but one value is {values[beyond][0]}. Leave the column out with "
            f"drop_variables={f.name!r}, or export it with to_arrow() or to_pandas().",
            column=f.name,
        )


def _with_nulls(f: Field, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a dtype that can hold both the values and NaN. xarray chooses the same dtypes."""
    if f.htype.classes is not None or dtype.kind in "fcmM":
        return dtype
    return np.dtype(np.float32 if dtype.itemsize <= 2 else np.float64)


def _null(f: Field, dtype: np.dtype[Any]) -> object:
    if f.htype.classes is not None:
        return -1
    return np.array("NaT", dtype) if dtype.kind in "mM" else np.nan
