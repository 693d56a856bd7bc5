"""Tables and columns that other libraries hand to Arrow, checked for what they lose on the way.

Names go through Arrow's C interface as texts that end at a NUL, and polars gives objects as their
addresses in memory.
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
    """Return what gives itself to Arrow, such as a DataFrame of polars, as a table.

    Raises
    ------
    InvalidValueError
        For what is no table, and for columns of types that Arrow does not have.

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
            f"rows must be a table that Arrow reads, but {type(table).__name__} is none: "
            f"{str(error).rstrip('.')}. Give columns by name: {{'x': values}}."
        ) from error


def polars_column(series: Any) -> pa.ChunkedArray:
    """Return a Series of polars as a column of Arrow. Raises InvalidValueError for objects."""
    import pyarrow as pa

    _check_name(series.name)
    _check_polars(series.dtype, None)
    return pa.chunked_array(series)


def wrong_table(given: Any) -> bool:
    """Tell whether what was given for rows is a single column, or a query of polars."""
    return is_column(type(given)) or _is_lazy(given)


def way_out(given: Any) -> str:
    """Return what to write in place of what is no table.

    >>> import pandas as pd
    >>> way_out(pd.Series([1], name="age"))
    "A column goes by its name: {'age': values}."
    """
    if _is_lazy(given):
        return "A query of polars gives its rows on .collect()."
    name = getattr(given, "name", None) or "x"
    return f"A column goes by its name: {{{brief(name)}: values}}."


def _is_lazy(given: Any) -> bool:
    return _is_polars(given) and type(given).__name__ == "LazyFrame"


def _is_polars(values: Any) -> bool:
    return type(values).__module__.partition(".")[0] == "polars"


_UNREADABLE = {
    "Object": "Python objects, which Arrow gets as addresses in memory. Give them as a list: "
    "series.to_list()",
    "Int128": "integers of 128 bits, which no column holds. Cast them: series.cast(pl.Int64), or "
    "pl.String for their digits",
    "UInt128": "integers of 128 bits, which no column holds. Cast them: series.cast(pl.UInt64), or "
    "pl.String for their digits",
}


def _check_polars(kind: Any, name: str | None) -> None:
    """Refuse a type of polars that Arrow does not have, also within lists and structs."""
    for part in _parts(kind):
        if part in _UNREADABLE:
            raise InvalidValueError(
                f"values must have a type that Arrow has, but {kind} are {_UNREADABLE[part]}.",
                column=name,
            )


def _check_name(name: str) -> None:
    """Refuse a name with a NUL: polars ends the process where it hands one to Arrow."""
    if "\0" in name:
        raise InvalidValueError(f"names must have no NUL, but there is {brief(name)}. Rename it.")


def _parts(kind: Any) -> Iterator[str]:
    """Yield the names of a type of polars and of those within it."""
    yield kind.base_type().__name__
    if getattr(kind, "inner", None) is not None:
        yield from _parts(kind.inner)
    for f in getattr(kind, "fields", None) or ():
        _check_name(f.name)
        yield from _parts(f.dtype)
