"""Dataclasses with the data that the reprs of datasets, columns and diffs show.

The dataset layer reads the data (names, counts, previews), and `text` and `pages` draw it. Strings
are as the user wrote them, neither escaped nor shortened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from deeplake_lite.htypes.base import Picture

if TYPE_CHECKING:
    from datetime import datetime

type Axis = int | tuple[int, int] | None
"""Size of an axis: an integer, a pair (minimum, maximum) if rows differ, or None if unknown."""

type Content = Picture | str | None
"""The preview of a cell (see `Htype.preview`), or None for a null."""

type ChangeKind = Literal["added", "removed", "changed"]


@dataclass(frozen=True)
class ColumnSummary:
    """One line of the table of columns."""

    name: str
    """Name of the column, as in the schema."""

    htype: str
    """Name of the type, such as ``"Image"``."""

    dtype: str = ""
    """Dtype of the values, such as ``"uint8"``; empty if it is not informative."""

    shape: tuple[Axis, ...] = ()
    """Shape of one value; empty for scalars."""

    nbytes: int | None = None
    """Stored size in bytes; None if it is not known."""

    note: str = ""
    """Further properties, such as ``"jpeg"``, ``"10 classes"`` or ``"nullable"``."""


@dataclass(frozen=True)
class PreviewCell:
    """The preview of one cell."""

    column: str
    """Name of the column."""

    content: Content
    """An image, a string, or None for a null."""


@dataclass(frozen=True)
class PreviewRow:
    """One row of a preview. Images are drawn in a strip, and strings in a table below it."""

    row: int
    """Position of the row."""

    cells: tuple[PreviewCell, ...]
    """The cells, in the order of the columns."""

    caption: str = ""
    """Caption of the row's images, usually the name of its class."""


@dataclass(frozen=True)
class Tally:
    """The number of rows in each class, in each bin of a histogram, or with each value."""

    column: str
    """Name of the column."""

    counts: tuple[tuple[str, int], ...]
    """Names and numbers of rows, in the order of the classes, bins or values."""

    noun: str = "class"
    """Noun for an entry of `counts`: ``"class"``, ``"bin"`` or ``"value"``."""

    def leading(self, most: int) -> tuple[tuple[str, int], ...]:
        """Return at most `most` counts to show.

        These are the largest classes, or the first bins or values.

        >>> Tally("label", (("a", 1), ("b", 3), ("c", 2))).leading(2)
        (('b', 3), ('c', 2))
        """
        if len(self.counts) <= most or self.noun != "class":
            return self.counts[:most]
        return tuple(sorted(self.counts, key=lambda pair: -pair[1])[:most])


@dataclass(frozen=True)
class VersionLine:
    """One version of the history."""

    id: str
    """Id of the commit."""

    message: str
    """Commit message."""

    when: datetime
    """Time of the commit."""

    names: tuple[str, ...] = ()
    """Branches and tags that point to the version."""


@dataclass(frozen=True)
class DatasetSummary:
    """The data that the repr of a Dataset or View shows.

    Examples
    --------
    >>> digits = DatasetSummary("digits", rows=1797, branch="main", commit="7F3K")
    >>> digits.version
    'main@7F3K'
    """

    title: str
    """Name of the dataset."""

    rows: int
    """Number of rows."""

    url: str = ""
    """URL or path of the lake."""

    kind: str = "Dataset"
    """``"Dataset"`` or ``"View"``."""

    branch: str = ""
    """Branch or tag; empty if the dataset was opened by commit id."""

    commit: str = ""
    """Id of the commit; empty before the first commit."""

    dirty: str = ""
    """Description of uncommitted edits, such as ``"12 rows edited"``; empty if there are none."""

    nbytes: int | None = None
    """Stored size in bytes; None if it is not known."""

    origin: str = ""
    """Origin of a view: its query, or a selection such as ``"rows 3:9"``."""

    columns: tuple[ColumnSummary, ...] = ()
    """All columns. Pages show only the first columns."""

    previews: tuple[PreviewRow, ...] = ()
    """Previews of a few rows."""

    tallies: tuple[Tally, ...] = ()
    """Counts of classes, with a tally for each column of classes."""

    versions: tuple[VersionLine, ...] = ()
    """The last versions, newest first."""

    @property
    def version(self) -> str:
        """Branch and commit as one word, such as ``main@7F3K``."""
        return "@".join(filter(None, (self.branch, self.commit)))


@dataclass(frozen=True)
class ColumnPage:
    """The data that the repr of a Column shows."""

    column: ColumnSummary
    """The column."""

    rows: int
    """Number of rows."""

    title: str = ""
    """Name of the dataset."""

    version: str = ""
    """Branch and commit, such as ``"main@7F3K"``."""

    facts: tuple[tuple[str, str], ...] = ()
    """Names and values of facts, such as ``("min", "0")`` and ``("nulls", "12")``."""

    previews: tuple[PreviewRow, ...] = ()
    """Previews of a few rows."""

    tally: Tally | None = None
    """Counts of classes, or a histogram."""


@dataclass(frozen=True)
class SchemaChange:
    """A column that was added, removed or renamed, or whose type changed."""

    kind: ChangeKind
    """Kind of the change."""

    column: str
    """Name of the column."""

    detail: str = ""
    """Details, such as ``"float32"`` or ``"renamed from s"``."""


@dataclass(frozen=True)
class CellChange:
    """One value before and after a change."""

    column: str
    """Name of the column."""

    before: Content = None
    """The old value; None if it was null or the row did not exist."""

    after: Content = None
    """The new value; None if it is null or the row was removed."""


@dataclass(frozen=True)
class DiffExample:
    """A row that differs."""

    kind: ChangeKind
    """Whether the row was added, removed or changed."""

    row: int
    """Position of the row in the new version, or in the old version if the row was removed."""

    cells: tuple[CellChange, ...] = ()
    """The changed cells; for an added or removed row, a few of its cells."""

    picture: Picture | None = None
    """The row's image, which helps users to recognise the row."""


@dataclass(frozen=True)
class DiffSummary:
    """The data that the repr of a Diff shows.

    Examples
    --------
    >>> DiffSummary("main", "fix").empty
    True
    """

    a: str
    """The old version, as the user named it."""

    b: str
    """The new version, as the user named it."""

    added: int = 0
    """Number of rows that were added."""

    removed: int = 0
    """Number of rows that were removed."""

    changed: int = 0
    """Number of rows with at least one changed cell."""

    columns: tuple[tuple[str, int], ...] = ()
    """Pairs of a column with changed cells and the number of its changed cells."""

    schema: tuple[SchemaChange, ...] = ()
    """Columns that were added, removed or changed."""

    examples: tuple[DiffExample, ...] = ()
    """A few rows that differ."""

    @property
    def empty(self) -> bool:
        """Whether the two versions are equal."""
        return not (self.added or self.removed or self.changed or self.columns or self.schema)
