"""What there is to show of a dataset, a column or a diff: small frozen values, read before drawing.

The dataset layer fills them in (names, counts, previews); `text` and `pages` turn them into lines
and HTML. Strings are as the user wrote them, neither escaped nor clipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from deeplake_lite.htypes.base import Picture

if TYPE_CHECKING:
    from datetime import datetime

type Axis = int | tuple[int, int] | None
"""Length of an axis: the same in all rows, from–to, or not known."""

type Content = Picture | str | None
"""What `Htype.preview` gave; None where the cell is null."""

type ChangeKind = Literal["added", "removed", "changed"]


@dataclass(frozen=True)
class ColumnSummary:
    """One line of the table of columns."""

    name: str
    """As in the schema."""

    htype: str
    """Such as ``"Image"``."""

    dtype: str = ""
    """Such as ``"uint8"``; empty where it says nothing."""

    shape: tuple[Axis, ...] = ()
    """Shape of one value; empty for scalars."""

    nbytes: int | None = None
    """Stored size, or None where it is not known."""

    note: str = ""
    """The rest in a few words: ``"jpeg"``, ``"10 classes"``, ``"nullable"``."""


@dataclass(frozen=True)
class PreviewCell:
    """One value, as its htype shows it."""

    column: str
    """Name of the column."""

    content: Content
    """Picture, text, or None for null."""


@dataclass(frozen=True)
class PreviewRow:
    """One row: its pictures go into the strip, its texts into the table below."""

    row: int
    """Position."""

    cells: tuple[PreviewCell, ...]
    """In the order of the columns."""

    caption: str = ""
    """Under the row's pictures, usually the name of its class."""


@dataclass(frozen=True)
class Tally:
    """How many rows have which class, or fall into which bin."""

    column: str
    """Name of the column."""

    counts: tuple[tuple[str, int], ...]
    """Name and number of rows, in the order of the classes or bins."""

    noun: str = "class"
    """What is counted: ``"class"`` (of many, the largest show) or ``"bin"`` (kept in order)."""

    def leading(self, most: int) -> tuple[tuple[str, int], ...]:
        """Return the counts to show: all if they are few, else the largest classes or first bins.

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
    """Of the commit, as the user may type it."""

    message: str
    """Of the commit."""

    when: datetime
    """Time of the commit."""

    names: tuple[str, ...] = ()
    """Branches and tags that stand there."""


@dataclass(frozen=True)
class DatasetSummary:
    """What a Dataset or a View shows of itself.

    Examples
    --------
    >>> digits = DatasetSummary("digits", rows=1797, branch="main", commit="7F3K")
    >>> digits.version
    'main@7F3K'
    """

    title: str
    """Name of the dataset."""

    rows: int
    """How many."""

    url: str = ""
    """Where the lake is."""

    kind: str = "Dataset"
    """``"Dataset"`` or ``"View"``."""

    branch: str = ""
    """Branch or tag; empty when opened by commit."""

    commit: str = ""
    """Id of the commit; empty before the first."""

    dirty: str = ""
    """Uncommitted edits in words, such as ``"12 rows edited"``; empty when clean."""

    nbytes: int | None = None
    """Stored size, or None where it is not known."""

    origin: str = ""
    """How a view came about: its query, or ``"rows 3:9"``."""

    columns: tuple[ColumnSummary, ...] = ()
    """All of them; pages show the first ones."""

    previews: tuple[PreviewRow, ...] = ()
    """The first rows."""

    tallies: tuple[Tally, ...] = ()
    """Counts of classes."""

    versions: tuple[VersionLine, ...] = ()
    """Newest first."""

    @property
    def version(self) -> str:
        """Branch and commit as one word, ``main@7F3K``."""
        return "@".join(filter(None, (self.branch, self.commit)))


@dataclass(frozen=True)
class ColumnPage:
    """What a Column shows of itself."""

    column: ColumnSummary
    """The column."""

    rows: int
    """How many."""

    title: str = ""
    """Name of the dataset."""

    version: str = ""
    """Such as ``"main@7F3K"``."""

    facts: tuple[tuple[str, str], ...] = ()
    """Name and value: ``("min", "0")``, ``("nulls", "12")``."""

    previews: tuple[PreviewRow, ...] = ()
    """The first rows."""

    tally: Tally | None = None
    """Counts of classes or bins."""


@dataclass(frozen=True)
class SchemaChange:
    """One column that came, went or changed its type or name."""

    kind: ChangeKind
    """What happened."""

    column: str
    """Name of the column."""

    detail: str = ""
    """Such as ``"float32"`` or ``"renamed from s"``."""


@dataclass(frozen=True)
class CellChange:
    """One value, before and after."""

    column: str
    """Name of the column."""

    before: Content = None
    """None where it was null, or the row was not there."""

    after: Content = None
    """None where it is null, or the row is gone."""


@dataclass(frozen=True)
class DiffExample:
    """One row that differs."""

    kind: ChangeKind
    """What happened to the row."""

    row: int
    """Position: in the first version for removed rows, otherwise in the second."""

    cells: tuple[CellChange, ...] = ()
    """What changed; of an added or removed row, a few of its values."""

    picture: Picture | None = None
    """The row's image, to recognise it by."""


@dataclass(frozen=True)
class DiffSummary:
    """What a Diff shows of itself.

    Examples
    --------
    >>> DiffSummary("main", "fix").empty
    True
    """

    a: str
    """Version before, as the user named it."""

    b: str
    """Version after."""

    added: int = 0
    """Rows."""

    removed: int = 0
    """Rows."""

    changed: int = 0
    """Rows with at least one changed cell."""

    columns: tuple[tuple[str, int], ...] = ()
    """Column and number of its changed cells."""

    schema: tuple[SchemaChange, ...] = ()
    """Columns that came, went or changed."""

    examples: tuple[DiffExample, ...] = ()
    """A few rows that differ."""

    @property
    def empty(self) -> bool:
        """Whether the two versions hold the same."""
        return not (self.added or self.removed or self.changed or self.columns or self.schema)
