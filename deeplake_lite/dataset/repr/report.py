"""The report of `Dataset.verify`, with every damaged cell, version, branch and tag."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import groupby

from deeplake_lite.htypes.words import pluralize

MAX_LINES = 20
"""Maximum number of lines of damage that a report prints."""


@dataclass(frozen=True)
class Damaged:
    """A damaged cell, column, index, version, branch or tag."""

    column: str | None
    """Name of the column, or None if the index of rows, a branch, tag or version is damaged."""
    row: int | None
    """Position of the row, or None if the column as a whole cannot be read."""
    row_id: int | None
    """Id of the row, or None if the id cannot be read."""
    reason: str
    """Description of the damage."""
    ref: str | None = None
    """A branch or tag that points to the wrong version, such as "tag 'v1'"."""
    version: str | None = None
    """Commit id of a damaged version in the history of a branch or tag."""
    index: str | None = None
    """A damaged index, such as "text index on 'title' (bm25)". The rows are not affected."""


@dataclass(frozen=True)
class Report:
    """The result of `verify`. It is truthy if there is no damage."""

    version: str
    """Commit id of the version that was read."""
    rows: int
    """Number of rows that were read."""
    columns: int
    """Number of columns that were read."""
    damaged: list[Damaged] = field(default_factory=list)
    """Every damaged cell, every branch and tag that points to the wrong version, every damaged
    version in their histories, and every damaged index."""

    def __bool__(self) -> bool:
        return not self.damaged

    def __repr__(self) -> str:
        read = f"version {self.version}: {pluralize(self.rows, 'row')}, "
        read += pluralize(self.columns, "column")
        if not self.damaged:
            return f"{read}: all bytes are intact"
        lines = _lines(self.damaged)
        more = f"\n  … {len(lines) - MAX_LINES} more" if len(lines) > MAX_LINES else ""
        refs = sum(d.ref is not None for d in self.damaged)
        versions = sum(d.version is not None for d in self.damaged)
        indexes = sum(d.index is not None for d in self.damaged)
        cells = len(self.damaged) - refs - versions - indexes
        parts = [
            (cells, "damaged cell"), (refs, "wrong ref"), (versions, "damaged version"),
            (indexes, "damaged index"),
        ]  # fmt: skip
        counts = ", ".join(pluralize(n, noun) for n, noun in parts if n)
        return f"{read}, {counts}:\n" + "\n".join(lines[:MAX_LINES]) + more


def without_hint(reason: str) -> str:
    """Return an error message without the hint to run `verify`, which has just been run.

    >>> without_hint("bytes: Chunk 3 is missing. Run ds.verify().")
    'bytes: Chunk 3 is missing.'
    """
    return re.sub(r"\s*Run ds\.verify\(\)[^.]*\.", "", reason)


def _lines(damaged: list[Damaged]) -> list[str]:
    """Return a line for each column and reason, with the affected rows.

    >>> print(*_lines([Damaged("x", row, None, "is missing") for row in (0, 1, 2, 7)]))
      column 'x', rows 0–2, 7: is missing
    """
    rows: dict[tuple[str, str], list[int]] = {}
    for d in damaged:
        part = "index" if d.column is None else f"column {d.column!r}"
        part = d.ref or d.index or (part if d.version is None else f"version {d.version}")
        rows.setdefault((part, d.reason), []).extend([] if d.row is None else [d.row])
    return [f"  {part}{_row_ranges(where)}: {reason}" for (part, reason), where in rows.items()]


def _row_ranges(rows: list[int]) -> str:
    """Format row numbers. Consecutive numbers are shortened to a range.

    >>> _row_ranges([4]), _row_ranges([2, 3, 4]), _row_ranges([])
    (', row 4', ', rows 2–4', '')
    """
    # Consecutive numbers differ from their index by the same amount.
    runs = [
        [row for _, row in run]
        for _, run in groupby(enumerate(sorted(rows)), lambda pair: pair[1] - pair[0])
    ]
    ranges = [f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs[:MAX_LINES]]
    ranges += ["…"] if len(runs) > MAX_LINES else []
    return f", row{'s' if len(rows) > 1 else ''} {', '.join(ranges)}" if rows else ""
