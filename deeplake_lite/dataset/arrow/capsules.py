"""Import of other libraries' tables and columns through Arrow's C interface.

In this interface, a name ends at its first NUL character, and polars exports Python objects as
their addresses in memory. Names with a NUL and columns of Python objects are therefore rejected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.foreign import is_column

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa


def arrow_table(table: Any) -> pa.Table:
    """Convert any object that exports an Arrow table, such as a polars DataFrame, to pyarrow.

    Raises
    ------
    InvalidValueError
        If the object is not a table, or a column has a type that Arrow lacks.

    Examples
    --------
    >>> import pyarrow as pa
    >>> arrow_table(pa.record_batch({"x": [1]})).num_rows
    1
    """
    import pyarrow as pa

    if isinstance(table, pa.Table):
        return table
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if _is_polars(table):
        for name, kind in table.schema.items():
            _check_name(name)
            _check_polars(kind, name)
    try:
        return pa.table(table)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidValueError(
            f"rows must be a table that Arrow can read, but this {type(table).__name__} cannot be "
            f"read: {str(error).rstrip('.')}. Pass a dict of columns: {{'x': values}}."
        ) from error


def polars_column(series: Any) -> pa.ChunkedArray:
    """Convert a polars Series to an Arrow column. Raises InvalidValueError for Python objects."""
    import pyarrow as pa

    _check_name(series.name)
    _check_polars(series.dtype, None)
    return pa.chunked_array(series)


def is_wrong_table(data: object) -> bool:
    """Return whether an object that was passed as rows is a single column or a polars LazyFrame."""
    return is_column(type(data)) or _is_lazy(data)


def table_hint(data: object) -> str:
    """Return the sentence of an error message that suggests another argument in place of `data`.

    >>> import pandas as pd
    >>> table_hint(pd.Series([1], name="age"))
    "Pass a dict that maps the column's name to its values: {'age': values}."
    """
    if _is_lazy(data):
        return "Call .collect() to get the rows of a LazyFrame."
    name = getattr(data, "name", None) or "x"
    return f"Pass a dict that maps the column's name to its values: {{{brief(name)}: values}}."


def _is_lazy(data: object) -> bool:
    return _is_polars(data) and type(data).__name__ == "LazyFrame"


def _is_polars(values: object) -> bool:
    return type(values).__module__.partition(".")[0] == "polars"


_UNREADABLE = {
    "Object": "Python objects, which polars exports as addresses in memory. Pass a list: "
    "series.to_list()",
    "Int128": "integers of 128 bits, which no column can store. Cast them with "
    "series.cast(pl.Int64), or pl.String to store their digits",
    "UInt128": "integers of 128 bits, which no column can store. Cast them with "
    "series.cast(pl.UInt64), or pl.String to store their digits",
}
"""Maps polars types that cannot be imported to a description of their values and a way out."""


def _check_polars(kind: object, name: str | None) -> None:
    """Reject a polars type that Arrow lacks, even within lists and structs."""
    for type_name in _type_names(kind):
        if type_name in _UNREADABLE:
            raise InvalidValueError(
                f"values must have a type that Arrow supports, but values of type {kind} are "
                f"{_UNREADABLE[type_name]}.",
                column=name,
            )


def _check_name(name: str) -> None:
    """Reject a name with a NUL, because polars aborts the process when it exports such a name."""
    if "\0" in name:
        raise InvalidValueError(
            f"names of columns and fields must not contain a NUL, but one is {brief(name)}. Rename "
            "the column or field."
        )


def _type_names(kind: Any) -> Iterator[str]:
    """Yield the names of a polars type and of the types within it."""
    yield kind.base_type().__name__
    if getattr(kind, "inner", None) is not None:
        yield from _type_names(kind.inner)
    for f in getattr(kind, "fields", None) or ():
        _check_name(f.name)
        yield from _type_names(f.dtype)
