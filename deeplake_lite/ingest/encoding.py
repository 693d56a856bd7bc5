"""From a block of values to checked cells, a few threads at work, bad rows raised or set aside.

A block is encoded column by column. When a column refuses a value and rows may be skipped, it is
encoded row by row instead, in threads, to find every bad row at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deeplake_lite.dataset.write.transfer import Transfer, naming_types, wrap_source
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.cells import Cells, concat, take
from deeplake_lite.htypes.files import rebased
from deeplake_lite.htypes.reencoding import add_notice, collect_notices
from deeplake_lite.ingest.classes import check_class_numbers
from deeplake_lite.ingest.source import Skipped
from deeplake_lite.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.base import Check
    from deeplake_lite.ingest.source import Block, Names
    from deeplake_lite.schema import Field

type OnError = Literal["raise", "skip"]

THREADS = 8
"""That read and check rows one by one; they wait for files more than they compute."""


@dataclass(frozen=True)
class Encoded:
    """A block that was checked."""

    cells: Mapping[str, Cells]
    """Cells by column id, bad rows left out."""

    places: Names
    """What each row that is left is called."""

    taken: int
    """Rows of the source that this accounts for."""

    skipped: tuple[Skipped, ...] = ()
    """The rows that were left out."""

    bad: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """Which rows of the block these are."""

    unread: int = 0
    """Rows that are there already and were not read any further."""

    reencoded: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What was encoded anew with losses, by column id."""

    def __len__(self) -> int:
        return len(self.places)


def encode(block: Block, fields: Sequence[Field], check: Check, on_error: OnError) -> Encoded:
    """Check and encode a block.

    Raises
    ------
    InvalidValueError
        For the first bad row, unless rows are to be skipped.
    """
    good, cells = np.ones(len(block.places), bool), dict[str, Cells]()
    reasons: dict[int, str] = {}
    reencoded: dict[str, list[str]] = {}
    for f in fields:
        with collect_notices() as reencoded[f.id]:
            try:
                cells[f.id] = _encode(f.htype, _values(block, f), check)
            except InvalidValueError as error:
                if on_error == "raise" or error.row is None:
                    raise _placed(error, f.name, block) from error.__cause__
                cells[f.id], bad = _encode_rows(f.htype, _values(block, f), check)
                for row, reason in bad.items():
                    reasons.setdefault(row, f"column {f.name!r}: {reason}")
    good[list(reasons)] = False
    skipped = tuple(Skipped(block.places[row], why) for row, why in sorted(reasons.items()))
    rows = np.flatnonzero(~good)
    done = Encoded(cells, block.places, len(good), skipped, rows, reencoded=reencoded)
    return select(done, good)


def _encode(htype: Htype, values: Any, check: Check) -> Cells:
    """Encode values; errors of those that another type gave name both types."""
    if not isinstance(values, Transfer):
        return htype.encode(values, check=check)
    with naming_types(values.of, htype):
        return htype.encode(values[:], check=check)


def _part(values: Any, row: int) -> Any:
    """Return the values of a single row."""
    return values.at([row]) if isinstance(values, Transfer) else values[row : row + 1]


def _values(block: Block, f: Field) -> Any:
    """Return a column's values; relative paths of files start where the table is."""
    given = block.columns[f.name]
    values = wrap_source(given, f.htype)
    if values is given:  # of no lake, which would have known its classes
        check_class_numbers(values, f.htype)
    if block.base is None or not f.htype.takes_files or isinstance(values, Transfer):
        return values
    return [rebased(value, block.base) for value in values]


def select(encoded: Encoded, rows: NDArray[np.bool_]) -> Encoded:
    """Return a block with only some of its rows; how many it accounts for stays."""
    if rows.all():
        return encoded
    kept = np.flatnonzero(rows)
    cells = {c: take(some, kept) for c, some in encoded.cells.items()}
    return replace(encoded, cells=cells, places=[encoded.places[i] for i in kept.tolist()])


def ahead[T](blocks: Iterable[T]) -> Iterator[T]:
    """Yield from an iterator that works one block ahead, in a thread of its own.

    >>> list(ahead(iter([1, 2, 3])))
    [1, 2, 3]
    """
    iterator, end = iter(blocks), object()
    with Pool(1) as pool:
        coming = pool.submit(next, iterator, end)
        try:
            while (block := coming.result()) is not end:
                coming = pool.submit(next, iterator, end)
                yield block  # type: ignore[misc]
        finally:
            coming.wait()  # nothing is read any more when this has ended


@cache
def _pool() -> Pool:
    return Pool(THREADS)


def _encode_rows(htype: Htype, values: Any, check: Check) -> tuple[Cells, dict[int, str]]:
    """Encode rows one by one, blanks in place of bad ones; return the cells, and reasons by row."""

    def one(i: int) -> tuple[Cells | str, list[str]]:
        with collect_notices() as notices:
            try:
                return _encode(htype, _part(values, i), check), notices
            except InvalidValueError as error:
                return str(error.args[0]), notices

    pairs = _pool().map(one, range(len(values)))
    done = [found for found, _ in pairs]
    for notice in [notice for _, notices in pairs for notice in notices]:
        add_notice(notice)
    bad = {i: found for i, found in enumerate(done) if isinstance(found, str)}
    blank = htype.encode([htype.blank])
    return concat([blank if isinstance(found, str) else found for found in done]), bad


def _placed(error: InvalidValueError, column: str, block: Block) -> InvalidValueError:
    """Return the error with its place in the source, and the way out."""
    if error.row is None:
        return error.at(column=column)
    place, message = block.places[error.row], str(error.args[0])
    return type(error)(
        f"{message if place in message else f'{place}: {message}'} "
        'Or leave such rows out: on_error="skip".',
        column=column,
    )
