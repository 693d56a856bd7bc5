"""The interface of sources, which have columns, may have a key, and yield blocks of rows.

Before `blocks` is called, a source reads only enough data to find its columns. To add a source,
write a class that implements `Source`, and a function that passes it to `writer.ingest`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from deeplake_lite.htypes import Htype
    from deeplake_lite.ingest.named_files import AllowedPaths


@dataclass(frozen=True)
class Skipped:
    """A row or a file that was skipped, with the reason."""

    path: str
    """Path of the file, or the name of the source and the number of the row."""

    reason: str
    """Reason why the row or file was skipped."""

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True)
class BadValue:
    """A value that cannot be read, which makes its row bad.

    >>> print(BadValue("mood", "must be UTF-8 text."))
    column 'mood': must be UTF-8 text.
    """

    column: str
    """Name of the column."""

    reason: str
    """Reason why the value is bad, as a sentence without a subject."""

    def __str__(self) -> str:
        return f"column {self.column!r}: {self.reason}"


class Names(Protocol):
    """A sequence of names of rows, such as a list of strings or `RowNames`."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> str: ...


@dataclass(frozen=True)
class Block:
    """A block of rows from a source."""

    columns: Mapping[str, Any]
    """Maps column names to values, as for `Dataset.append`. All columns have the same length."""

    row_names: Names
    """Name of each row in messages: a file, or ``"flowers.csv, row 17"``."""

    base: str | None = None
    """Folder from which relative paths of files start, or None for the working directory."""

    errors: Mapping[int, str | BadValue] = field(default_factory=dict)
    """Maps the positions of bad rows in the block to the reasons why they are bad. The values of
    bad rows are placeholders."""

    allowed_paths: Mapping[str, AllowedPaths] = field(default_factory=dict)
    """For columns whose paths come from the source: maps their names to the files that the paths
    may lead to. Other columns may have any path, because the user has written or declared them."""

    linked: Collection[str] = ()
    """Names of columns that describe the objects of a row, in addition to columns whose types have
    one item per object."""


class Source(Protocol):
    """Rows that can be ingested, from files, data in memory or other libraries."""

    @property
    def title(self) -> str:
        """Name of the source that users see, such as ``"photos"``."""

    @property
    def columns(self) -> Mapping[str, Htype]:
        """Type of each column."""

    @property
    def key(self) -> str | None:
        """Name of the column that identifies rows, or None if rows are only appended."""

    @property
    def rows(self) -> int | None:
        """Number of rows, or None if it is unknown."""

    @property
    def fingerprint(self) -> str | None:
        """A string that changes when the source changes, or None if there is no such string."""

    @property
    def left_out(self) -> Collection[Skipped]:
        """Files and records that are not rows. All are listed once all blocks have been read."""

    @property
    def metadata(self) -> Mapping[str, object]:
        """Items for the dataset's metadata.

        If an item is a dict, and the lake has a dict for the same key, the two are merged.
        """

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Raise SchemaError if float64 would round a decimal in one of the columns `names`.

        These are the columns whose types are inferred. Types that the user declares, or that the
        lake already has, may round decimals.
        """

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the rows from row `start` on, in blocks. The order of rows is always the same."""


@dataclass(frozen=True)
class RowNames:
    """Names of consecutive rows. Each name is built when it is accessed.

    >>> RowNames("flowers.csv", 10, 3)[2]
    'flowers.csv, row 12'
    """

    title: str
    """Name of the source."""

    start: int
    """Number of the first row, counted from 0."""

    count: int
    """Number of rows."""

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> str:
        return f"{self.title}, row {self.start + index}"
