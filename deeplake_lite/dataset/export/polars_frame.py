"""Export of a view's rows to a polars DataFrame, via Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deeplake_lite import checks
from deeplake_lite.dataset.arrow.cells import array_of
from deeplake_lite.dataset.export.portable import read_all
from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells


def to_frame(view: View) -> Any:
    """Return the rows as a DataFrame; see `View.to_polars`."""
    polars = checks.package("polars", "polars", "to_polars")
    cells, columns = read_all(view, "to_polars"), list[Any]()
    for f in view.schema:
        try:
            columns.append(_series(polars, f.name, f.htype, cells[f.name]))
        except (pa.ArrowException, polars.exceptions.PolarsError) as error:
            raise InvalidValueError(
                f"polars cannot represent these values: {error}. Leave the column out.",
                column=f.name,
            ) from error
    return polars.DataFrame(columns)


def _series(polars: Any, name: str, htype: Htype, cells: Cells) -> Any:
    """Return a column as a Series, with classes as an Enum and tensors as nested arrays."""
    array = _plain(array_of(htype, cells))
    series = polars.from_arrow(pa.chunked_array([array])).alias(name)
    classes = htype.classes
    if classes is None or htype.item is not None or not pa.types.is_string(array.type):
        return series
    return series.cast(polars.Enum(list(classes.names)))


def _plain(array: pa.Array) -> pa.Array:
    """Convert an array to a type that polars supports.

    >>> _plain(pa.array(["a", "b"]).dictionary_encode()).type
    DataType(string)
    """
    if isinstance(array, pa.FixedShapeTensorArray):
        return _nested(array, array.type.shape)
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    if pa.types.is_timestamp(array.type) and array.type.unit == "s":
        return array.cast(pa.timestamp("ms", array.type.tz))
    if pa.types.is_duration(array.type) and array.type.unit == "s":
        return array.cast(pa.duration("ms"))
    return array


def _nested(array: pa.FixedShapeTensorArray, shape: list[int]) -> pa.Array:
    """Convert tensors to nested lists of fixed size. Null tensors become null lists."""
    values = array.storage.values.slice(
        array.storage.offset * array.storage.type.list_size,
        len(array) * array.storage.type.list_size,
    )
    for size in reversed(shape[1:]):
        values = pa.FixedSizeListArray.from_arrays(values, size)
    return pa.FixedSizeListArray.from_arrays(values, shape[0], mask=array.is_null())
