"""A lake of plain dicts: what every version is to hold, without a thought for storage.

A `Content` is what one version holds: columns, rows by id, notes. `merge` brings two lines of edits
together by the same rules as the lake: three-way by row, cell, column and note. A `ModelLake` holds
the commits and branches, a `ModelHandle` the edits of one open transaction.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from deeplake_lite.htypes.json_values import same_json
from deeplake_lite.testing.values import stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deeplake_lite.htypes import Htype

type Side = Literal["raise", "ours", "theirs"]
type Conflict = tuple[str, str | None, int | None]
"""Kind, name of the column or note, row id."""
type Doubt = tuple[str, ...]
"""What has no agreed base value: a kind, and the ids of the column and the row, or a note's key."""


@dataclass(frozen=True)
class ModelColumn:
    """A column, but for its cells."""

    name: str
    """What users call it."""
    htype: Htype
    """What its values mean."""


@dataclass
class Content:
    """What one version holds."""

    columns: dict[str, ModelColumn] = field(default_factory=dict)
    """By column id, in order."""
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Frozen cells by column id, by row id, in order."""
    notes: dict[str, Any] = field(default_factory=dict)
    """Metadata."""

    def copy(self) -> Content:
        """Return one that can be changed on its own."""
        return deepcopy(self)

    def by_name(self, name: str) -> str:
        """Return the id of a column."""
        return next(c for c, column in self.columns.items() if column.name == name)

    def append(self, ids: Iterable[int], data: Mapping[str, Sequence[Any]]) -> None:
        """Add rows; columns that `data` leaves out get their default."""
        ids = list(ids)
        cells = {}
        for c, column in self.columns.items():
            default = [column.htype.default] * len(ids)
            cells[c] = stored(column.htype, data.get(column.name, default))
        self.rows |= {i: {c: cells[c][n] for c in cells} for n, i in enumerate(ids)}

    def set_cells(self, ids: Iterable[int], name: str, values: Sequence[Any]) -> None:
        """Change cells of one column."""
        c = self.by_name(name)
        for i, value in zip(ids, stored(self.columns[c].htype, values), strict=True):
            self.rows[i][c] = value

    def add_column(self, c: str, column: ModelColumn, values: Sequence[Any] | None) -> None:
        """Add a column, with one value per row or its default."""
        given = [column.htype.default] * len(self.rows) if values is None else values
        for row, value in zip(self.rows.values(), stored(column.htype, given), strict=True):
            row[c] = value
        self.columns[c] = column

    def drop_column(self, name: str) -> None:
        """Remove a column."""
        c = self.by_name(name)
        del self.columns[c]
        for row in self.rows.values():
            del row[c]

    def rename_column(self, old: str, new: str) -> None:
        """Give a column another name."""
        c = self.by_name(old)
        self.columns[c] = replace(self.columns[c], name=new)


@dataclass(frozen=True)
class ModelChanges:
    """What one version has that an older one had not, and the other way round."""

    added: list[int]
    """Row ids, in order."""
    removed: list[int]
    """Row ids, in the old order."""
    cells: dict[str, set[int]]
    """Row ids by column id."""


def difference(a: Content, b: Content) -> ModelChanges:
    """Return what `b` changed, relative to `a`."""
    both, shared = a.rows.keys() & b.rows.keys(), a.columns.keys() & b.columns.keys()
    cells = {c: {i for i in both if a.rows[i][c] != b.rows[i][c]} for c in shared}
    return ModelChanges(
        added=[i for i in b.rows if i not in a.rows],
        removed=[i for i in a.rows if i not in b.rows],
        cells={c: ids for c, ids in cells.items() if ids},
    )


class NoDefaultError(Exception):
    """Rows meet a column that has no default and takes no null."""


class Missing:
    """Stands for a note that is not there."""

    def __deepcopy__(self, _: object) -> Missing:
        return self


MISSING = Missing()


@dataclass(frozen=True)
class Base:
    """What two versions come from."""

    content: Content
    """One version, or what merging several gives."""
    doubts: frozenset[Doubt] = frozenset()
    """On what those several do not agree."""


def merge(
    base: Base, ours: Content, theirs: Content, side: Side
) -> tuple[Content, set[Conflict], frozenset[Doubt]]:
    """Return our content with what they changed since `base`, and what both changed, told twice.

    "raise" resolves as "ours" does.
    """
    merger = _Merger(base, ours, theirs, side == "theirs")
    return merger.content(), merger.conflicts, frozenset(merger.doubts)


class _Merger:
    """One merge."""

    def __init__(self, base: Base, ours: Content, theirs: Content, wins: bool) -> None:
        self.base, self.ours, self.theirs, self.wins = base.content, ours, theirs, wins
        self.open = base.doubts
        self.conflicts: set[Conflict] = set()
        self.doubts: set[Doubt] = set()

    def _collide(self, conflict: Conflict, *doubt: Any) -> None:
        self.conflicts.add(conflict)
        self.doubts.add(tuple(map(str, doubt)))

    def _in_doubt(self, *doubt: Any) -> bool:
        return tuple(map(str, doubt)) in self.open

    def _has_base(self, c: str) -> bool:
        """Tell whether both sides come from one column."""
        return c in self.base.columns and not self._in_doubt("column", c)

    def _changed(self, side: Content, i: int, c: str) -> bool:
        """Tell whether a side has another cell than the base, or may have."""
        if c not in side.columns or i not in side.rows:
            return False
        return self._in_doubt("cell", c, i) or side.rows[i][c] != self.base.rows[i][c]

    def _touched(self, side: Content, i: int) -> bool:
        """Tell whether a side changed a row of the base, or may have."""
        return any(self._has_base(c) and self._changed(side, i, c) for c in self.base.columns)

    def content(self) -> Content:
        columns = self._columns()
        kept = {i: self._row(i, columns) for i in self.ours.rows if self._stays(i)}
        missing = [i for i in self.theirs.rows if i not in self.ours.rows]
        new = {i for i in missing if i not in self.base.rows and not self._in_doubt("row", i)}
        added = [i for i in missing if i in new]
        revived = sorted(i for i in missing if i not in new and self._revived(i))
        rows = kept | {i: self._copied(i, self.theirs, columns) for i in added + revived}
        notes = {
            k: self._choose(
                ("metadata", k, None),
                ("note", k),
                *(side.notes.get(k, MISSING) for side in (self.base, self.ours, self.theirs)),
            )
            for k in {**self.ours.notes, **self.theirs.notes}
        }
        return Content(columns, rows, {k: v for k, v in notes.items() if v is not MISSING})

    def _choose(self, what: Conflict, doubt: Doubt, base: Any, ours: Any, theirs: Any) -> Any:
        if same_json(ours, theirs):
            return ours
        if not self._in_doubt(*doubt):
            if same_json(theirs, base):
                return ours
            if same_json(ours, base):
                return theirs
        self._collide(what, *doubt)
        return theirs if self.wins else ours

    def _columns(self) -> dict[str, ModelColumn]:
        ours, theirs = self.ours.columns, self.theirs.columns
        found: dict[str, ModelColumn] = {}
        for c in ours | theirs:
            if c in ours and c in theirs:
                found[c] = self._column(c, ours[c], theirs[c])
            elif c not in self.base.columns and not self._in_doubt("column", c):
                found[c] = (ours | theirs)[c]
            elif (kept := self._dropped(c)) is not None:
                found[c] = kept
        return self._named(found)

    def _column(self, c: str, ours: ModelColumn, theirs: ModelColumn) -> ModelColumn:
        base = self.base.columns[c] if self._has_base(c) else None
        what = ("column", ours.name, None)
        names = (base.name if base else MISSING, ours.name, theirs.name)
        name = self._choose(what, ("name", c), *names)
        b, o, t = base.htype if base else None, ours.htype, theirs.htype
        if b and not self._in_doubt("default", c) and (t in (o, b) or o == b):
            return ModelColumn(name, o if t in (o, b) else t)
        defaults = (b.default if b else MISSING, o.default, t.default)
        default = self._choose(what, ("default", c), *defaults)
        return ModelColumn(name, replace(o, nullable=o.nullable or t.nullable, default=default))

    def _dropped(self, c: str) -> ModelColumn | None:
        """Merge a column that one side dropped: it goes, unless the other side needs it."""
        ours, theirs = self.ours.columns.get(c), self.theirs.columns.get(c)
        side = self.ours if theirs is None else self.theirs
        if self._has_base(c):
            changed = any(self._changed(side, i, c) for i in self._shared(side))
            added = any(i not in self.base.rows for i in side.rows if not self._in_doubt("row", i))
            if side.columns[c] == self.base.columns[c] and not changed and not added:
                return None
        name = (self.base if self._has_base(c) else side).columns[c].name
        self._collide(("column", name, None), "column", c)
        return theirs if self.wins else ours

    def _shared(self, side: Content) -> list[int]:
        """Return the rows that a side has from the base."""
        return [i for i in side.rows if i in self.base.rows and not self._in_doubt("row", i)]

    def _named(self, columns: dict[str, ModelColumn]) -> dict[str, ModelColumn]:
        """Settle names that come twice: the winner's stay, and columns that it has not go."""
        winner = (self.theirs if self.wins else self.ours).columns
        while twice := self._clashing(columns):
            renamed = any(c in winner and columns[c].name != winner[c].name for c in twice)
            for c in twice:
                name = columns[c].name
                self._collide(("column", name, None), "name" if renamed else "column", c)
            if renamed:
                for c in twice & winner.keys():
                    columns[c] = replace(columns[c], name=winner[c].name)
            else:
                columns = {
                    c: column for c, column in columns.items() if c not in twice - winner.keys()
                }
        return columns

    @staticmethod
    def _clashing(columns: dict[str, ModelColumn]) -> set[str]:
        def clash(a: str, b: str) -> bool:
            return a == b or a.startswith(b + "/") or b.startswith(a + "/")

        return {
            c
            for c in columns
            for d in columns
            if c != d and clash(columns[c].name, columns[d].name)
        }

    def _stays(self, i: int) -> bool:
        """Tell whether a row of ours stays; one that they removed and we changed is a conflict."""
        if i in self.theirs.rows:
            return True
        if self._in_doubt("row", i) or (i in self.base.rows and self._touched(self.ours, i)):
            self._collide(("row", None, i), "row", i)
            return not self.wins
        return i not in self.base.rows

    def _revived(self, i: int) -> bool:
        """Tell whether a row that we removed comes back: one that they changed is a conflict."""
        if not self._in_doubt("row", i) and not self._touched(self.theirs, i):
            return False
        self._collide(("row", None, i), "row", i)
        return self.wins

    def _row(self, i: int, columns: dict[str, ModelColumn]) -> dict[str, Any]:
        if i not in self.theirs.rows:
            return self._copied(i, self.ours, columns)
        return {c: self._cell(i, c, column) for c, column in columns.items()}

    def _cell(self, i: int, c: str, column: ModelColumn) -> Any:
        if c not in self.theirs.columns:
            return self.ours.rows[i][c]
        if c not in self.ours.columns:
            return self.theirs.rows[i][c]
        ours, theirs = self.ours.rows[i][c], self.theirs.rows[i][c]
        if i in self.base.rows and not self._in_doubt("row", i) and self._has_base(c):
            if not self._changed(self.theirs, i, c):
                return ours
            if not self._changed(self.ours, i, c):
                return theirs
        if ours != theirs:
            self._collide(("cell", column.name, i), "cell", c, i)
        return theirs if self.wins else ours

    def _copied(self, i: int, source: Content, columns: dict[str, ModelColumn]) -> dict[str, Any]:
        """Return a row of one side; columns that only the other side has get their default."""
        missing = [column for c, column in columns.items() if c not in source.columns]
        if any(column.htype.default is None and not column.htype.nullable for column in missing):
            raise NoDefaultError
        return {
            c: source.rows[i][c]
            if c in source.columns
            else stored(column.htype, [column.htype.default])[0]
            for c, column in columns.items()
        }


@dataclass(frozen=True)
class ModelCommit:
    """One version."""

    content: Content
    """What it holds. Nobody changes it."""
    parents: tuple[str, ...]
    """Ids of the versions that it was made from."""
    number: int
    """Later commits have higher ones."""


@dataclass
class ModelLake:
    """All versions."""

    commits: dict[str, ModelCommit] = field(default_factory=dict)
    """By id."""
    branches: dict[str, str] = field(default_factory=dict)
    """Id of each branch's tip."""

    def commit(self, branch: str, id_: str, content: Content, *merged: str) -> None:
        """Make `content` the next version of a branch."""
        parents = (*([self.branches[branch]] if branch in self.branches else []), *merged)
        self.commits[id_] = ModelCommit(content.copy(), parents, len(self.commits))
        self.branches[branch] = id_

    def ancestors(self, id_: str) -> set[str]:
        """Return a version and all that it was made from."""
        found, todo = set[str](), [id_]
        while todo:
            if (version := todo.pop()) not in found:
                found.add(version)
                todo += self.commits[version].parents
        return found

    def merge_bases(self, b: str, *a: str) -> list[str]:
        """Return the versions that `b` and any of `a` have seen; none that another follows."""
        common = set().union(*map(self.ancestors, a)) & self.ancestors(b)
        seen = {p for c in common for p in self.ancestors(c) - {c}}
        return sorted(common - seen, key=lambda c: -self.commits[c].number)

    def merged_base(self, bases: list[str]) -> Base:
        """Return what a merge compares with; of several versions, what merging them gives."""
        content, doubts = self.commits[bases[0]].content, frozenset[Doubt]()
        for i, other in enumerate(bases[1:], 1):
            older = self.merged_base(self.merge_bases(other, *bases[:i]))
            content, _, more = merge(older, content, self.commits[other].content, "ours")
            doubts |= more
        return Base(content, doubts)


class ConflictsError(Exception):
    """Both sides changed the same; `conflicts` says what."""

    def __init__(self, conflicts: set[Conflict]) -> None:
        super().__init__(conflicts)
        self.conflicts = conflicts


@dataclass
class ModelHandle:
    """One open handle: where it stands, and its edits."""

    lake: ModelLake
    """Shared by all handles."""
    branch: str
    """Where commits go."""
    version: str
    """What the edits build on."""
    content: Content
    """Edits included."""
    dirty: bool = False
    """Whether there are any."""

    @classmethod
    def open(cls, lake: ModelLake, branch: str) -> ModelHandle:
        """Return a handle at a branch's tip."""
        tip = lake.branches[branch]
        return cls(lake, branch, tip, lake.commits[tip].content.copy())

    @property
    def tip(self) -> str:
        """What the branch has become."""
        return self.lake.branches[self.branch]

    def go(self, version: str) -> None:
        """Stand at a version, without edits."""
        self.version, self.dirty = version, False
        self.content = self.lake.commits[version].content.copy()

    def rebased(self, side: Side) -> Content:
        """Return the edits on top of the tip; "ours" are the edits. Raises ConflictsError."""
        base, tip = (self.lake.commits[v].content for v in (self.version, self.tip))
        if self.tip == self.version:
            return self.content
        winner: Side = "theirs" if side == "ours" else "ours"
        merged, conflicts, _ = merge(Base(base), tip, self.content, winner)
        if side == "raise" and conflicts:
            raise ConflictsError(conflicts)
        return merged

    def merged(self, theirs: str, side: Side) -> Content:
        """Return the content with another version merged in. Raises ConflictsError."""
        base = self.lake.merged_base(self.lake.merge_bases(theirs, self.version))
        other = self.lake.commits[theirs].content
        content, conflicts, _ = merge(base, self.content, other, side)
        if side == "raise" and conflicts:
            raise ConflictsError(conflicts)
        return content
