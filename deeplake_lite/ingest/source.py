"""The interface of sources: their columns, their key, and blocks of rows.

Before `blocks` is called, a source reads only what it needs to find its columns. To add a source,
write a class that implements `Source`, and a function that passes it to `writer.ingest`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from deeplake_lite.htypes import Htype
    from deeplake_lite.ingest.named_files import Reach


@dataclass(frozen=True)
class Skipped:
    """A row or a file that was skipped."""

    path: str
    """Path of the file, or the source and the number of the row."""

    reason: str
    """Why it was skipped."""

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True)
class BadValue:
    """A value that cannot be read, as a reason why its row is bad.

    >>> print(BadValue("mood", "must be UTF-8 text."))
    column 'mood': must be UTF-8 text.
    """

    column: str
    """Name of the column."""

    reason: str
    """What is wrong with the value, as a sentence."""

    def __str__(self) -> str:
        return f"column {self.column!r}: {self.reason}"


class Names(Protocol):
    """Names of rows: a list of strings, or `Places`."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> str: ...


@dataclass(frozen=True)
class Block:
    """A block of rows of a source."""

    columns: Mapping[str, Any]
    """Values by column, as for `Dataset.append`; all have the same length."""

    places: Names
    """Name of each row in messages: a file, or ``"flowers.csv, row 17"``."""

    base: str | None = None
    """Folder to which paths of files are relative; None for the working directory."""

    errors: Mapping[int, str | BadValue] = field(default_factory=dict)
    """Why rows are bad, by their number in the block; their values are placeholders."""

    reach: Mapping[str, Reach] = field(default_factory=dict)
    """The files that columns may name, by column; columns that are not in it may name any file,
    because the user has written or declared them."""

    linked: Collection[str] = ()
    """Columns that describe the objects of a row, in addition to those with an item for each."""


class Source(Protocol):
    """Rows that can be ingested."""

    @property
    def title(self) -> str:
        """Name of the source for users: ``"photos"``."""

    @property
    def columns(self) -> Mapping[str, Htype]:
        """Type of each column."""

    @property
    def key(self) -> str | None:
        """The column that identifies rows; None if rows are only appended."""

    @property
    def rows(self) -> int | None:
        """Number of rows, or None if it is unknown."""

    @property
    def fingerprint(self) -> str | None:
        """Identifies the source and its content; None for data in memory, which has no name."""

    @property
    def left_out(self) -> Collection[Skipped]:
        """Files and records that are not rows. Complete once all blocks have been read."""

    @property
    def metadata(self) -> Mapping[str, object]:
        """Items of the dataset's metadata; dicts are merged with those that the lake has."""

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Reject decimals that float64 rounds, in columns whose type was inferred from the source.

        Raises SchemaError. A type that the user or the lake declares may round them.
        """

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the rows from `start` on, always in the same order."""


@dataclass(frozen=True)
class Places:
    """Names of consecutive rows, which are built on access.

    >>> Places("flowers.csv", 10, 3)[2]
    'flowers.csv, row 12'
    """

    title: str
    """Name of the source."""

    start: int
    """Number of the first row, from 0."""

    count: int
    """Number of rows."""

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> str:
        return f"{self.title}, row {self.start + index}"
