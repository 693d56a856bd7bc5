"""Reading a column of which some values cannot be read.

A source reads a block of rows at a time. If reading a block fails, the block is halved repeatedly
until the bad rows are found.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.read.values import with_none
from deeplake_lite.dataset.write.tables import Exported
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.ingest.source import BadValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deeplake_lite.ingest.source import Names

    type Read = Callable[[int, int], Any]
    """Function that takes the numbers of a first row and of the row after the last row, and returns
    the values of these rows."""

    type Part = tuple[int, int, Any]
    """A tuple of a first row, the row after the last row, and the values of these rows, or the
    InvalidValueError that reading them raised."""


class RestUnreadableError(InvalidValueError):
    """Raised if a stream is damaged, so that neither the requested nor later rows can be read."""


def read_column(
    name: str, row_names: Names, read: Read, blank: Any
) -> tuple[Any, dict[int, BadValue]]:
    """Return the values of a block of rows, with `blank` in place of values that cannot be read.

    Parameters
    ----------
    name : str
        The column.
    row_names : Names
        Name of each row in messages.
    read : callable
        Function that reads the values of a range of rows in the block.
    blank : object
        The placeholder for bad values.

    Returns
    -------
    (values, dict that maps positions in the block to bad values)

    Raises
    ------
    InvalidValueError
        If no row of the block can be read, because the file is damaged or the type does not fit.
    """
    try:
        parts = list(readable_parts(read, 0, len(row_names)))
    except RestUnreadableError as damage:
        raise damage.at(column=name) from damage.__cause__
    bad = {start: part for start, _, part in parts if isinstance(part, InvalidValueError)}
    if not bad:
        return (parts[0][2] if parts else read(0, 0)), {}
    if len(bad) == len(row_names) > 1 and all(error.row is None for error in bad.values()):
        first = bad[0]
        raise type(first)(f"{row_names[0]}: {first.args[0]}", column=name) from first.__cause__
    return _join(parts, blank), {row: BadValue(name, e.args[0]) for row, e in bad.items()}


def readable_parts(read: Read, start: int, stop: int) -> Iterator[Part]:
    """Yield the values of the rows from `start` up to `stop` in as few parts as possible.

    A part for a row that cannot be read has an error in place of values.
    """
    try:
        values = read(start, stop)
    except RestUnreadableError:
        raise
    except InvalidValueError as error:
        if stop - start <= 1:
            yield start, stop, error
            return
    else:
        yield start, stop, values
        return
    middle = (start + stop) // 2
    yield from readable_parts(read, start, middle)
    yield from readable_parts(read, middle, stop)


def _join(parts: list[Part], blank: Any) -> Any:
    """Join the values of all parts, with blanks in place of errors."""
    exported = next((part for _, _, part in parts if isinstance(part, Exported)), None)
    rows = list[Any]()
    for _, _, part in parts:
        if isinstance(part, InvalidValueError):
            rows.append(blank if exported is None else exported.of.blank)
        else:
            rows.extend(with_none(part.values if isinstance(part, Exported) else part))
    return rows if exported is None else replace(exported, values=rows)
