"""Checking and encoding blocks of rows, optionally skipping bad rows.

A block is encoded column by column. If bad rows are to be skipped and a column rejects a value, the
column is encoded again, row by row in threads, to find all bad rows.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deeplake_lite.dataset.write.transfer import Transfer, naming_types, wrap_source
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.cells import Cells, concat, take
from deeplake_lite.htypes.files import rebase_paths
from deeplake_lite.htypes.reencoding import add_notice, collect_notices
from deeplake_lite.ingest.classes import check_class_numbers
from deeplake_lite.ingest.named_files import with_named_files
from deeplake_lite.ingest.source import BadValue, Skipped
from deeplake_lite.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.base import Check
    from deeplake_lite.ingest.source import Block, Names
    from deeplake_lite.schema import Field

type OnError = Literal["raise", "skip"]

_SKIP = 'To skip such rows, pass on_error="skip".'

THREADS = 8
"""Number of threads that encode single rows. They mostly wait for files to be read."""


@dataclass(frozen=True)
class Encoded:
    """An encoded block of rows, without the bad rows."""

    cells: Mapping[str, Cells]
    """Maps the ids of columns to their encoded cells."""

    row_names: Names
    """Name of each row in messages."""

    taken: int
    """Number of rows of the source in the block, including bad rows and rows that were not read."""

    skipped: tuple[Skipped, ...] = ()
    """The bad rows, with the reasons why they are bad."""

    bad: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """Positions of the bad rows in the block."""

    keys: Cells | None = None
    """Cells of the first column for all rows, including bad rows."""

    unread: int = 0
    """Number of rows that are already in the lake, so that only their keys were read."""

    linked: Collection[str] = ()
    """Ids of columns whose cells belong together, because they describe the objects of a row."""

    reencoded: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Maps the ids of columns to notices about values that lost detail when re-encoded."""

    def __len__(self) -> int:
        return len(self.row_names)


def encode(block: Block, fields: Sequence[Field], check: Check, on_error: OnError) -> Encoded:
    """Check and encode a block of rows.

    Raises
    ------
    InvalidValueError
        For the first bad row, unless bad rows are skipped.
    """
    block = with_named_files(block, fields)
    good, cells = np.ones(len(block.row_names), bool), dict[str, Cells]()
    reasons = dict(block.errors)
    if reasons and on_error == "raise":
        row = min(reasons)
        raise _error(block.row_names[row], reasons[row])
    reencoded: dict[str, list[str]] = {}
    for f in fields:
        with collect_notices() as reencoded[f.id]:
            try:
                cells[f.id] = _encode(f.htype, _values(block, f), check)
            except InvalidValueError as error:
                if on_error == "raise" or error.row is None:
                    raise _with_place(error, f.name, block) from error.__cause__
                cells[f.id], bad = _encode_rows(f.htype, _values(block, f), check)
                for row, reason in bad.items():
                    reasons.setdefault(row, BadValue(f.name, reason))
    good[list(reasons)] = False
    skipped = tuple(Skipped(block.row_names[row], str(reasons[row])) for row in sorted(reasons))
    rows = np.flatnonzero(~good)
    linked = [f.id for f in fields if f.htype.is_per_object or f.name in block.linked]
    encoded = Encoded(
        cells, block.row_names, len(good), skipped, rows, keys=cells[fields[0].id], linked=linked,
        reencoded=reencoded,
    )  # fmt: skip
    return select(encoded, good)


def _encode(htype: Htype, values: Any, check: Check) -> Cells:
    """Encode values. If they come from a column of a lake, errors name both columns' types."""
    if not isinstance(values, Transfer):
        return htype.encode(values, check=check)
    with naming_types(values.of, htype):
        return htype.encode(values[:], check=check)


def _part(values: Any, row: int) -> object:
    """Return a sequence of length 1 with the value of one row of a column."""
    return values.at([row]) if isinstance(values, Transfer) else values[row : row + 1]


def _values(block: Block, f: Field) -> Any:
    """Return the values of a column, prefixing relative paths of files with the block's folder."""
    column = block.columns[f.name]
    values = wrap_source(column, f.htype)
    if values is column:  # class numbers in a column of a lake are unambiguous
        check_class_numbers(values, f.htype)
    if block.base is None or not f.htype.takes_files or isinstance(values, Transfer):
        return values
    return [rebase_paths(value, block.base) for value in values]


def select(encoded: Encoded, rows: NDArray[np.bool_]) -> Encoded:
    """Return a block with only some of its rows. Its field `taken` still counts all rows."""
    if rows.all():
        return encoded
    indices = np.flatnonzero(rows)
    cells = {c: take(column, indices) for c, column in encoded.cells.items()}
    return replace(encoded, cells=cells, row_names=[encoded.row_names[i] for i in indices.tolist()])


@contextmanager
def pause_collector() -> Iterator[None]:
    """Pause the garbage collector, which would repeatedly visit the many new objects of a block.

    For JSON annotations, the visits would take a quarter of the time. Garbage is collected between
    blocks.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def read_ahead[T](blocks: Iterable[T]) -> Iterator[T]:
    """Yield the items of an iterable, while another thread already computes the next item.

    >>> list(read_ahead(iter([1, 2, 3])))
    [1, 2, 3]
    """
    iterator, end = iter(blocks), object()

    def read() -> object:
        with pause_collector():
            return next(iterator, end)

    with Pool(1) as pool:
        job = pool.submit(read)
        try:
            while (block := job.result()) is not end:
                job = pool.submit(read)
                yield block  # type: ignore[misc]
        finally:
            job.wait()  # so that no thread is still reading after an error or interrupt


@cache
def _pool() -> Pool:
    return Pool(THREADS)


def _encode_rows(htype: Htype, values: Any, check: Check) -> tuple[Cells, dict[int, str]]:
    """Encode rows one by one. Return the cells, and a dict from positions of bad rows to reasons.

    The cells of bad rows are placeholders.
    """

    def encode_row(i: int) -> tuple[Cells | str, list[str]]:
        with collect_notices() as notices:
            try:
                return _encode(htype, _part(values, i), check), notices
            except InvalidValueError as error:
                return str(error.args[0]), notices

    pairs = _pool().map(encode_row, range(len(values)))
    rows = [result for result, _ in pairs]
    for notice in [notice for _, notices in pairs for notice in notices]:
        add_notice(notice)
    bad = {i: reason for i, reason in enumerate(rows) if isinstance(reason, str)}
    blank = htype.encode([htype.blank])
    return concat([blank if isinstance(row, str) else row for row in rows]), bad


def _error(place: str, reason: str | BadValue) -> InvalidValueError:
    """Return the error for a bad row."""
    if isinstance(reason, BadValue):
        return InvalidValueError(f"{place}: {reason.reason} {_SKIP}", column=reason.column)
    return InvalidValueError(f"{place}: {reason} {_SKIP}")


def _with_place(error: InvalidValueError, column: str, block: Block) -> InvalidValueError:
    """Return an error with the column, the name of the row in the source, and a hint."""
    if error.row is None:
        return error.at(column=column)
    place, message = block.row_names[error.row], str(error.args[0])
    return type(error)(
        f"{message if place in message else f'{place}: {message}'} {_SKIP}",
        column=column,
    )
