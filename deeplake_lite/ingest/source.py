"""What a source of rows is: its columns, its key, and blocks of values.

A source reads nothing but what it needs to know its columns until `blocks` is asked for. A new
source is one file in this folder with a class like these and a function that hands it to
`writer.ingest`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from deeplake_lite.htypes import Htype


@dataclass(frozen=True)
class Skipped:
    """A row, or a file, that was left out."""

    path: str
    """Which file, or which row of which source."""

    reason: str
    """Why."""

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Names(Protocol):
    """Names of rows: a list of texts, or `Places`."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> str: ...


@dataclass(frozen=True)
class Block:
    """Some rows on their way in."""

    columns: Mapping[str, Any]
    """Values by column, as `Dataset.append` takes them; all of one length."""

    places: Names
    """What each row is called where it is reported: a file, or ``"flowers.csv, row 17"``."""

    base: str | None = None
    """Folder that relative paths of files start from; None for the working directory."""


class Source(Protocol):
    """Rows that can be taken in."""

    @property
    def title(self) -> str:
        """What the rows come from, for people: ``"photos"``."""

    @property
    def columns(self) -> Mapping[str, Htype]:
        """Type of each column."""

    @property
    def key(self) -> str | None:
        """The column that tells rows apart; None where rows are only ever appended."""

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known."""

    @property
    def fingerprint(self) -> str | None:
        """Changes with the source's content; None for what has no name to be found under again."""

    @property
    def left_out(self) -> Collection[Skipped]:
        """Files and records that are not rows. Complete once all blocks have been read."""

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Refuse decimals that float64 rounds in columns whose type was found in the source.

        Raises SchemaError. A type that the user or the lake declares may round them.
        """

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the rows from `start` on, in an order that is always the same."""


@dataclass(frozen=True)
class Places:
    """Names of consecutive rows, made when asked for.

    >>> Places("flowers.csv", 10, 3)[2]
    'flowers.csv, row 12'
    """

    title: str
    """What the rows come from."""

    start: int
    """Number of the first, from 0."""

    count: int
    """How many there are."""

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> str:
        return f"{self.title}, row {self.start + index}"
