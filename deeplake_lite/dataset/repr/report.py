"""What reading a version again found: every damaged cell, and a few lines that say so."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import groupby

from deeplake_lite.htypes.words import counted

SHOWN = 20
"""Findings that a report prints."""


@dataclass(frozen=True)
class Damaged:
    """One damaged cell, or column."""

    column: str | None
    """Name of the column; None where it is the index of the rows, a branch, tag or version."""
    row: int | None
    """Position of the row; None where the column as a whole does not read."""
    row_id: int | None
    """Id of the row; None where that does not read."""
    reason: str
    """What was found."""
    ref: str | None = None
    """The branch or tag, such as "tag 'v1'", that names another version than it should."""
    version: str | None = None
    """Commit id of a version in the history of a branch or tag that is not as it was written."""


@dataclass(frozen=True)
class Report:
    """What `verify` found; true if all is well."""

    version: str
    """Commit id of what was read."""
    rows: int
    """Rows read."""
    columns: int
    """Columns read."""
    damaged: list[Damaged] = field(default_factory=list)
    """Every damaged cell, every branch and tag that names another version than it should, and every
    version in their histories that is not as it was written."""

    def __bool__(self) -> bool:
        return not self.damaged

    def __repr__(self) -> str:
        read = f"version {self.version}: {counted(self.rows, 'row')}, "
        read += counted(self.columns, "column")
        if not self.damaged:
            return f"{read}: all bytes are what was written"
        lines = _lines(self.damaged)
        more = f"\n  … {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
        refs = sum(d.ref is not None for d in self.damaged)
        past = sum(d.version is not None for d in self.damaged)
        cells = len(self.damaged) - refs - past
        parts = [(cells, "damaged cell"), (refs, "wrong ref"), (past, "damaged version")]
        lost = ", ".join(counted(n, what) for n, what in parts if n)
        return f"{read}, {lost}:\n" + "\n".join(lines[:SHOWN]) + more


def finding(reason: str) -> str:
    """Return what was found, without the advice to look for damage: that is done.

    >>> finding("bytes: Chunk 3 is missing. Run ds.verify().")
    'bytes: Chunk 3 is missing.'
    """
    return re.sub(r"\s*Run ds\.verify\(\)[^.]*\.", "", reason)


def _lines(damaged: list[Damaged]) -> list[str]:
    """Return a line per column and reason, with the rows that it holds for.

    >>> print(*_lines([Damaged("x", row, None, "is missing") for row in (0, 1, 2, 7)]))
      column 'x', rows 0–2, 7: is missing
    """
    rows: dict[tuple[str, str], list[int]] = {}
    for d in damaged:
        part = "index" if d.column is None else f"column {d.column!r}"
        part = d.ref or (part if d.version is None else f"version {d.version}")
        rows.setdefault((part, d.reason), []).extend([] if d.row is None else [d.row])
    return [f"  {part}{_place(where)}: {reason}" for (part, reason), where in rows.items()]


def _place(rows: list[int]) -> str:
    """Return which rows are meant, runs of them by their ends.

    >>> _place([4]), _place([])
    (', row 4', '')
    """
    runs = [
        [row for _, row in run]
        for _, run in groupby(enumerate(sorted(rows)), lambda pair: pair[1] - pair[0])
    ]
    shown = [f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs[:SHOWN]]
    shown += ["…"] if len(runs) > SHOWN else []
    return f", row{'s' if len(rows) > 1 else ''} {', '.join(shown)}" if rows else ""
