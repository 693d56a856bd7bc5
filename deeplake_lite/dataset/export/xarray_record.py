"""Restoration of the dimension names, attributes and variables that `dl.from_xarray` recorded.

The record in ``ds.metadata["xarray"]`` holds the names of dimensions, attributes, coordinates, and
the variables without the dimension of rows. Parts of the record that do not fit the columns are
ignored, because columns may have been edited since, and anyone can write metadata.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.schema import free_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deeplake_lite.schema import Field

_NUMBERS = re.compile(
    r"bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)"
    r"|(datetime|timedelta)64\[(Y|M|W|D|h|m|s|ms|us|ns)\]"
)

LARGEST_TEXT = 256 * 2**20
"""Size in bytes above which strings are kept as objects, not as NumPy's fixed-width strings."""


@dataclass
class Layout:
    """The names, attributes and additional variables of an exported dataset."""

    row: str = "row"
    """Name of the dimension of the rows."""

    axes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Maps each column to the names of its dimensions after the dimension of the rows."""

    columns: dict[str, dict[str, object]] = field(default_factory=dict)
    """Maps each column to its recorded attributes."""

    coordinates: set[str] = field(default_factory=set)
    """Names of the columns and variables that are coordinates."""

    variables: dict[str, xr.Variable] = field(default_factory=dict)
    """Variables without the dimension of the rows."""

    attributes: dict[str, object] = field(default_factory=dict)
    """Recorded attributes of the dataset."""


def layout_of(
    metadata: Mapping[str, object], fields: Sequence[Field], taken: Iterable[str]
) -> Layout:
    """Return the layout for the dense columns of a lake.

    Parameters
    ----------
    metadata : mapping
        Metadata of the lake.
    fields : sequence of Field
        The columns, which must all be dense.
    taken : iterable of str
        Names of all columns, including those that are left out.

    Examples
    --------
    >>> from deeplake_lite.schema import Schema
    >>> schema = Schema.build({"t": "float64", "wind": "float64"})
    >>> record = {"dim": "time", "columns": {"t": {"dims": ["time"], "attributes": {"unit": "K"}}}}
    >>> layout = layout_of({"xarray": record}, schema.fields, ["t", "wind"])
    >>> layout.row, layout.columns
    ('time', {'t': {'unit': 'K'}})
    """
    record, names = _mapping(metadata.get("xarray")), set(taken)
    layout = Layout()
    dim = record.get("dim")
    if isinstance(dim, str):
        _restore(layout, record, dim, fields, names)
    _name_others(layout, fields, names, None if _is_no_index(dim, fields) else dim)
    return layout


def _is_no_index(dim: object, fields: Sequence[Field]) -> bool:
    """Return whether a column has the row dimension's name, but not a dtype for an index."""
    return any(f.name == dim and f.htype.value_dtype == "float16" for f in fields)


def _restore(
    layout: Layout, record: Mapping[str, Any], dim: str, fields: Sequence[Field], names: set[str]
) -> None:
    """Copy those parts of a record that match the columns to the layout."""
    sizes = {d: n for d, n in _mapping(record.get("sizes")).items() if _is_size(n)}
    layout.attributes = restore_attributes(record)
    for name, item in _mapping(record.get("variables")).items():
        variable = None if name in names else _variable(_mapping(item), dim, sizes)
        if variable is not None:
            layout.variables[name] = variable
            layout.coordinates |= {name} if _is_coordinate(item) else set()
    recorded = _mapping(record.get("columns"))
    for f in fields:
        assert isinstance(f.htype.layout, Dense)
        item, shape = _mapping(recorded.get(f.name)), f.htype.layout.shape
        dims = _dims(item.get("dims"))
        if dims is None or dim not in dims or len(dims) != len(shape) + 1:
            continue
        axes = [d for d in dims if d != dim]
        fits = [sizes.setdefault(d, n) == n for d, n in zip(axes, shape, strict=True)]
        layout.axes[f.name] = tuple(d if ok else "" for d, ok in zip(axes, fits, strict=True))
        layout.columns[f.name] = restore_attributes(item)
        layout.coordinates |= {f.name} if _is_coordinate(item) else set()


def _name_others(layout: Layout, fields: Sequence[Field], names: set[str], dim: object) -> None:
    """Give the dimensions without a recorded name a name that is not in use."""
    used = {d for dims in layout.axes.values() for d in dims}
    used |= {str(d) for variable in layout.variables.values() for d in variable.dims}
    taken = names | used | layout.variables.keys()
    layout.row = dim if isinstance(dim, str) else free_name("row", taken)
    taken.add(layout.row)
    for f in fields:
        assert isinstance(f.htype.layout, Dense)
        recorded = layout.axes.get(f.name, ("",) * len(f.htype.layout.shape))
        layout.axes[f.name] = tuple(
            d or free_name(f"{f.name}_{i}", taken) for i, d in enumerate(recorded)
        )
    used.add(layout.row)
    for name in [name for name, v in layout.variables.items() if not v.dims and name in used]:
        del layout.variables[name]  # xarray allows no scalar with the name of a dimension
    layout.coordinates &= names | layout.variables.keys()


def restore_attributes(item: Mapping[str, Any]) -> dict[str, object]:
    """Return recorded attributes, as NumPy values, tuples or bytes where the record has the type.

    >>> restore_attributes({"attributes": {"a": [1, "nan"]}, "attribute_dtypes": {"a": "float32"}})
    {'a': array([ 1., nan], dtype=float32)}
    >>> restore_attributes({"attributes": {"a": [0, 1]}, "attribute_dtypes": {"a": "tuple"}})
    {'a': (0, 1)}
    """
    dtypes = _mapping(item.get("attribute_dtypes"))
    values = _mapping(item.get("attributes"))
    attributes = dict(values)
    for name in values.keys() & dtypes.keys():
        match values[name], dtypes[name]:
            case list(items), "tuple":
                attributes[name] = tuple(items)
            case str(text), "bytes":
                attributes[name] = text.encode()
        array = _array(values[name], dtypes[name])
        if array is not None and array.dtype.kind in "biufcmM":
            attributes[name] = array if array.ndim else array[()]
    return attributes


def _variable(item: Mapping[str, Any], dim: str, sizes: dict[str, int]) -> xr.Variable | None:
    """Return a recorded variable, or None if its values do not fit its dimensions."""
    dims, dtype = _dims(item.get("dims")), item.get("dtype")
    if dims is None or dim in dims or "values" not in item:
        return None
    array = _array(item["values"], dtype)
    if array is None:
        return None
    shape = tuple(sizes[d] for d in dims) if sizes.keys() >= set(dims) else array.shape
    is_empty = array.size == 0 == math.prod(shape)  # nested lists cannot express the shape (0, 3)
    if len(shape) != len(dims) or (array.shape != shape and not is_empty):
        return None
    sizes.update(zip(dims, shape, strict=True))
    wide = np.float64 if array.dtype == np.float16 else array.dtype  # pandas has no float16 index
    return xr.Variable(dims, array.astype(wide).reshape(shape), restore_attributes(item))


def _array(values: Any, dtype: object) -> np.ndarray[Any, Any] | None:
    """Convert JSON values to an array of a dtype. Return None if they are not values of the dtype.

    >>> _array(["2026-01-01", "NaT"], "datetime64[D]"), _array([1, [2]], "int8")
    (array(['2026-01-01',        'NaT'], dtype='datetime64[D]'), None)
    """
    if not isinstance(dtype, str):
        return None
    try:
        if _NUMBERS.fullmatch(dtype):
            with np.errstate(all="ignore"):
                return np.array(values, dtype)
        array = np.array(values, object)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None
    items = array.ravel().tolist()
    if dtype == "object" and all(isinstance(v, str | int | float | None) for v in items):
        return array
    if dtype not in ("str", "bytes") or not all(isinstance(v, str) for v in items):
        return None
    if dtype == "bytes":
        return np.array([v.encode() for v in items], "S").reshape(array.shape)
    longest = max(map(len, items), default=0)
    return array if 4 * longest * len(items) > LARGEST_TEXT else array.astype("U")


def _dims(value: object) -> list[str] | None:
    """Return a recorded list of dimension names, or None if a name is repeated or not a string."""
    if not isinstance(value, list) or not all(isinstance(d, str) and d for d in value):
        return None
    return value if len(set(value)) == len(value) else None


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_coordinate(item: object) -> bool:
    return _mapping(item).get("coordinate") is True


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
