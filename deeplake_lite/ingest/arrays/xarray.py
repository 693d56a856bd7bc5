"""Ingesting xarray datasets."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from deeplake_lite import checks
from deeplake_lite.codecs.limits import DEFAULT_LIMITS
from deeplake_lite.dataset.write.tables import Exported, variable_htype, variable_values
from deeplake_lite.errors import NotFoundError, OptionError, SchemaError
from deeplake_lite.htypes import Htype, Sequence, Text
from deeplake_lite.ingest.arrays.array_source import (
    ArraySource,
    Part,
    array_htype,
    blocks_of,
    has_nat,
)
from deeplake_lite.ingest.arrays.attributes import (
    MAX_ITEMS,
    attribute_dtypes,
    json_attributes,
    json_value,
)
from deeplake_lite.ingest.arrays.numpy_files import reading
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.source import Skipped
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Mapping

    import xarray as xr

    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset

VARIABLE_BYTES = 1_024
"""Estimated size of a string in bytes."""


@takes_options
def from_xarray(
    dataset: xr.Dataset | xr.DataArray,
    url: str,
    *,
    dim: str | None = None,
    on: str | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest an xarray dataset; one of its dimensions becomes the rows.

    Parameters
    ----------
    dataset : xarray.Dataset or xarray.DataArray
        The dataset, which may be lazy, because it is read block by block.
    url : str
        URL of the lake, which is created if it does not exist.
    dim : str, optional
        The dimension that becomes the rows. By default, this is the dimension that is the first in
        most variables, provided that all variables have it.
    on : str, optional
        The column that identifies rows. Rows that are already in the lake are updated if they
        differ. By default, all rows are appended.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, whose attribute ``ingested`` summarizes the import. Each variable and
        coordinate with the dimension `dim` becomes a column. Other variables, and attributes such
        as units, are stored in ``ds.metadata["xarray"]``, from which `View.to_xarray` restores
        them.

    Raises
    ------
    NotFoundError
        If the dimension does not exist.
    OptionError
        If `dim` is missing, and the variables have no common first dimension.
    SchemaError
        If no variable has the dimension, if no type can store a variable, or if a coordinate is a
        MultiIndex.

    Notes
    -----
    Times of cftime, which xarray uses for calendars other than the standard one, are stored as
    numbers by the CF conventions: the attributes ``units`` and ``calendar`` give their meaning.
    ``xarray.decode_cf(ds.to_xarray())`` restores them.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> import deeplake_lite as dl
    >>> temperature = xr.DataArray(np.zeros((3, 2)), dims=("time", "station"), attrs={"units": "K"})
    >>> ds = dl.from_xarray(xr.Dataset({"t": temperature}), "memory://from-xarray", dim="time")
    >>> ds.schema["t"].htype, ds.metadata["xarray"]["columns"]["t"]
    (Array('float64', (2,)), {'dims': ['time', 'station'], 'attributes': {'units': 'K'}})
    """
    data: Any = dataset
    if hasattr(data, "to_dataset") and not hasattr(data, "data_vars"):
        data = data.to_dataset(name=data.name or "values")
    if not hasattr(data, "data_vars") or not hasattr(data, "variables"):
        raise OptionError(
            "dataset must be an xarray.Dataset or DataArray, but its type is "
            f"{type(dataset).__name__}. Pass other arrays to dl.from_arrays."
        )
    dim = _first_dimension(data) if dim is None else checks.text("dim", dim)
    if dim not in data.sizes:
        raise NotFoundError.named("dimension", dim, list(map(str, data.sizes)))
    _check_indexes(data, dim)
    data = _encode_times(data)
    columns = {
        _name(name): XarrayColumn(variable, dim, str(name))
        for name, variable in data.variables.items()
        if dim in variable.dims
    }
    if not columns:
        raise SchemaError(
            f"dataset must have a variable with the dimension {dim!r}, but there is none. Choose "
            "another dimension: dim=…."
        )
    source = ArraySource(
        "xarray", (Part("xarray", columns),), on, types_of(options.get("schema")),
        left_out=_left_out(data, dim), metadata={"xarray": _metadata(data, dim)},
        limits=options.get("limits", DEFAULT_LIMITS),
    )  # fmt: skip
    return ingest(source, url, **options)


def _first_dimension(data: Any) -> str:
    """Return the dimension that is the first dimension of most variables.

    Raises OptionError if there is no such dimension, or if a variable does not have it.
    """
    dims = [tuple(map(str, v.dims)) for v in data.data_vars.values() if v.dims]
    if dims:
        first, count = Counter(variable_dims[0] for variable_dims in dims).most_common(1)[0]
        if 2 * count > len(dims) and all(first in variable_dims for variable_dims in dims):
            return first
    names = [str(name) for name in data.sizes]
    if not names:
        raise OptionError(
            "dataset must have a dimension that becomes the rows, but it has none. Add one: "
            "dataset.expand_dims('row')."
        )
    raise OptionError(
        "dim must name the dimension that becomes the rows, because the variables have no common "
        f"first dimension; the dimensions are {', '.join(map(repr, names))}. Pass one of them, "
        f"such as dim={names[0]!r}."
    )


def _check_indexes(data: Any, dim: str) -> None:
    """Raise SchemaError if a variable is a MultiIndex, whose values are tuples."""
    for name, variable in data.variables.items():
        levels = getattr(variable, "level_names", None)
        if levels and dim in variable.dims:
            raise SchemaError(
                f"A column cannot hold the MultiIndex {name!r}, but it can hold each of its levels "
                f"{', '.join(map(repr, levels))}. Pass dataset.reset_index({name!r})."
            )


def _encode_times(data: Any) -> Any:
    """Return the dataset with times of cftime encoded as numbers, with unit and calendar.

    Raises SchemaError if times cannot be encoded.
    """
    encoded = {
        name: _encode(str(name), variable)
        for name, variable in data.variables.items()
        if _has_cftime(variable)
    }
    coordinates = {name: variable for name, variable in encoded.items() if name in data.coords}
    rest = {name: variable for name, variable in encoded.items() if name not in coordinates}
    return data.assign(rest).assign_coords(coordinates) if encoded else data


def _encode(name: str, variable: Any) -> Any:
    """Encode the times of a variable by the CF conventions.

    Raises SchemaError if this is impossible.
    """
    from xarray.conventions import encode_cf_variable

    try:
        encoded, reason = encode_cf_variable(variable, name=name), "some of its values are missing"
    except Exception as error:  # cftime and xarray raise many types of errors
        encoded, reason = variable, str(error)
    if _has_cftime(encoded):
        raise SchemaError(
            f"Times of cftime must have a CF encoding, but {name!r} cannot be encoded: {reason}. "
            "Correct the variable, or convert it: "
            "dataset.convert_calendar('standard', use_cftime=False)."
        )
    return encoded


def _has_cftime(variable: Any) -> bool:
    """Return whether values are times of cftime, which xarray uses for non-standard calendars."""
    if getattr(variable.dtype, "kind", None) != "O":
        return False
    values = variable[(slice(1_000),) * variable.ndim].to_numpy().ravel().tolist()
    return any(type(value).__module__.startswith("cftime") for value in values)


def _name(name: object) -> str:
    return checks.text("a variable name", name)


def _metadata(data: Any, dim: str) -> Mapping[str, object]:
    """Return the metadata from which `View.to_xarray` restores the dataset.

    It contains attributes, dimensions, and the variables without the dimension of the rows.
    """
    columns, others = dict[str, object](), dict[str, object]()
    for name, variable in data.variables.items():
        item = {"dims": [str(d) for d in variable.dims], **_attributes(variable.attrs)}
        if name in data.coords:
            item["coordinate"] = True
        if dim in variable.dims:
            columns[str(name)] = item
        elif variable.size <= MAX_ITEMS:
            values = json_value(variable.to_numpy())
            others[str(name)] = {**item, "dtype": _dtype_name(variable.dtype), "values": values}
    sizes = {str(d): int(n) for d, n in data.sizes.items() if d != dim}
    items = {"dim": dim, "sizes": sizes, "columns": columns, "variables": others}
    return {k: v for k, v in {**items, **_attributes(data.attrs)}.items() if v}


def _attributes(attributes: Mapping[str, Any]) -> dict[str, object]:
    """Return a dict of attributes as JSON values, and of the types that JSON would lose."""
    items = {
        "attributes": json_attributes(attributes.items()),
        "attribute_dtypes": attribute_dtypes(attributes.items()),
    }
    return {name: item for name, item in items.items() if item}


def _dtype_name(dtype: Any) -> str:
    """Return the name of a dtype, without the length of strings."""
    kind = dtype.kind if isinstance(dtype, np.dtype) else "O"
    usual = dtype.name if kind != "O" else "object"
    return {"U": "str", "T": "str", "S": "bytes"}.get(kind, str(usual))


def _left_out(data: Any, dim: str) -> tuple[Skipped, ...]:
    """Return the variables that are not ingested: those too large for the metadata of the lake."""
    skipped = list[Skipped]()
    for name, variable in data.variables.items():
        if dim not in variable.dims and variable.size > MAX_ITEMS:
            reason = (
                f"it does not have the dimension {dim!r}, and its {variable.size:,} values are too "
                f"many for metadata, which may have at most {MAX_ITEMS:,}"
            )
            skipped.append(Skipped(f"xarray, {name}", reason))
    return tuple(skipped)


@dataclass(frozen=True)
class XarrayColumn:
    """A variable whose dimension `dim` becomes the rows."""

    variable: Any
    dim: str
    title: str

    @cached_property
    def _rows_first(self) -> Any:
        rest = [d for d in self.variable.dims if d != self.dim]
        return self.variable.transpose(self.dim, *rest)

    def __len__(self) -> int:
        return int(self.variable.sizes[self.dim])

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        return tuple(self._rows_first.shape[1:])

    @cached_property
    def htype(self) -> Htype:
        """Type of the values. It is nullable if a time is NaT (not a time)."""
        dtype = self.variable.dtype
        if not isinstance(dtype, np.dtype) or dtype.kind in "OT":
            htype: Htype = Text()
            for _ in self._shape:
                htype = Sequence(htype)
            return htype
        of = variable_htype(self._rows_first)
        if of is not None and self._keeps(of):
            return of
        htype = array_htype(dtype, self._shape)
        return replace(htype, nullable=True) if dtype.kind in "mM" and has_nat(self) else htype

    def _keeps(self, of: Htype) -> bool:
        """Return whether the values fit the type `of`, which `View.to_xarray` recorded."""
        if self.variable.dtype.kind in "mM":
            return self.variable.dtype == np.dtype(of.value_dtype) and (
                of.nullable or not has_nat(self)
            )
        if not of.nullable:  # the dtype decides
            return isinstance(self.read(0, 0), Exported)
        return all(isinstance(block, Exported) for block in blocks_of(self))

    @property
    def row_bytes(self) -> int:
        """Size in bytes of a row's values, or an estimate for strings."""
        dtype = self.variable.dtype
        is_fixed = isinstance(dtype, np.dtype) and dtype.kind not in "OT"
        return math.prod(self._shape) * (dtype.itemsize if is_fixed else VARIABLE_BYTES)

    def read(self, start: int, stop: int) -> Any:
        """Return the values of the given rows."""
        with reading(self.title):
            values: Any = variable_values(self._rows_first[start:stop])
        if isinstance(values, Exported):
            return values
        if values.dtype.kind in "OT" or (values.dtype.kind in "US" and values.ndim > 1):
            return values.astype(object).tolist()
        return values
