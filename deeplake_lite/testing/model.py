"""A model of a lake in plain dicts, for comparison with real lakes.

A `Content` is the content of one version: columns, rows by id, and metadata. `merge` merges two
versions by the same rules as a lake, which are a three-way merge of rows, cells, columns and
metadata keys. A `ModelLake` holds the commits and branches, and a `ModelHandle` holds the edits of
an open transaction.

A merge has two sides: "theirs" is merged into "ours". Both sides derive from a common version, the
base of the merge.
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
"""The kind of a conflict, such as "cell"; the name of the column or metadata key; the row id."""
type Unresolved = tuple[str, ...]
"""Key of a value that differs between several merge bases, such as ("cell", column id, row id).
"""


@dataclass(frozen=True)
class ModelColumn:
    """A column without its cells."""

    name: str
    """Name of the column."""
    htype: Htype
    """Type of the column."""


@dataclass
class Content:
    """The content of one version."""

    columns: dict[str, ModelColumn] = field(default_factory=dict)
    """Columns by id, in the order of the columns."""
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Rows by id, in the order of the rows. Each row maps column ids to frozen cells."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Metadata by key."""

    def copy(self) -> Content:
        """Return a copy that can be changed independently."""
        return deepcopy(self)

    def by_name(self, name: str) -> str:
        """Return the id of the column named `name`."""
        return next(c for c, column in self.columns.items() if column.name == name)

    def append(self, ids: Iterable[int], data: Mapping[str, Sequence[Any]]) -> None:
        """Add rows. Columns that `data` lacks get their default value."""
        ids = list(ids)
        cells = {}
        for c, column in self.columns.items():
            default = [column.htype.default] * len(ids)
            cells[c] = stored(column.htype, data.get(column.name, default))
        self.rows |= {i: {c: cells[c][n] for c in cells} for n, i in enumerate(ids)}

    def set_cells(self, ids: Iterable[int], name: str, values: Sequence[object]) -> None:
        """Set cells of one column."""
        c = self.by_name(name)
        for i, value in zip(ids, stored(self.columns[c].htype, values), strict=True):
            self.rows[i][c] = value

    def add_column(self, c: str, column: ModelColumn, values: Sequence[object] | None) -> None:
        """Add a column with one value per row, or with its default if there are no values."""
        cells = [column.htype.default] * len(self.rows) if values is None else values
        for row, value in zip(self.rows.values(), stored(column.htype, cells), strict=True):
            row[c] = value
        self.columns[c] = column

    def drop_column(self, name: str) -> None:
        """Remove a column."""
        c = self.by_name(name)
        del self.columns[c]
        for row in self.rows.values():
            del row[c]

    def rename_column(self, old: str, new: str) -> None:
        """Rename a column."""
        c = self.by_name(old)
        self.columns[c] = replace(self.columns[c], name=new)


@dataclass(frozen=True)
class ModelChanges:
    """The changes between two versions."""

    added: list[int]
    """Ids of added rows, in the order of the rows."""
    removed: list[int]
    """Ids of removed rows, in the order that the rows had before."""
    cells: dict[str, set[int]]
    """Maps the id of a column to the ids of the rows whose cells in this column changed."""


def difference(a: Content, b: Content) -> ModelChanges:
    """Return the changes from `a` to `b`."""
    both, shared = a.rows.keys() & b.rows.keys(), a.columns.keys() & b.columns.keys()
    cells = {c: {i for i in both if a.rows[i][c] != b.rows[i][c]} for c in shared}
    return ModelChanges(
        added=[i for i in b.rows if i not in a.rows],
        removed=[i for i in a.rows if i not in b.rows],
        cells={c: ids for c, ids in cells.items() if ids},
    )


class NoDefaultError(Exception):
    """A new column has no value for existing rows, as it has no default and is not nullable."""


class Missing:
    """Placeholder for a metadata key that does not exist."""

    def __deepcopy__(self, _: object) -> Missing:
        return self


MISSING = Missing()


@dataclass(frozen=True)
class Base:
    """The common version from which the two sides of a merge derive."""

    content: Content
    """Content of the only merge base, or of several merge bases merged into one."""
    unresolved: frozenset[Unresolved] = frozenset()
    """Values that differ between several merge bases."""


def merge(
    base: Base, ours: Content, theirs: Content, side: Side
) -> tuple[Content, set[Conflict], frozenset[Unresolved]]:
    """Merge the changes from `base` to `theirs` into `ours`.

    Returns the merged content, the conflicts, and the keys of the conflicting values. These values
    count as unresolved if the merged content is used as the base of another merge. If `side` is
    "raise", conflicts are resolved as if it were "ours".
    """
    merger = _Merger(base, ours, theirs, side == "theirs")
    return merger.content(), merger.conflicts, frozenset(merger.unresolved)


class _Merger:
    """One merge. If `wins` is true, conflicts are resolved in favour of "theirs", else "ours"."""

    def __init__(self, base: Base, ours: Content, theirs: Content, wins: bool) -> None:
        self.base, self.ours, self.theirs, self.wins = base.content, ours, theirs, wins
        self.base_unresolved = base.unresolved
        self.conflicts: set[Conflict] = set()
        self.unresolved: set[Unresolved] = set()

    def _collide(self, conflict: Conflict, *key: object) -> None:
        self.conflicts.add(conflict)
        self.unresolved.add(tuple(map(str, key)))

    def _is_unresolved(self, *key: object) -> bool:
        return tuple(map(str, key)) in self.base_unresolved

    def _has_base(self, c: str) -> bool:
        """Return whether a column, which both sides have, derives from a column of the base."""
        return c in self.base.columns and not self._is_unresolved("column", c)

    def _is_changed(self, side: Content, i: int, c: str) -> bool:
        """Return whether a side's cell differs from the base, or is unresolved in the base."""
        if c not in side.columns or i not in side.rows:
            return False
        return self._is_unresolved("cell", c, i) or side.rows[i][c] != self.base.rows[i][c]

    def _is_touched(self, side: Content, i: int) -> bool:
        """Return whether a side changed a cell in a row of the base."""
        return any(self._has_base(c) and self._is_changed(side, i, c) for c in self.base.columns)

    def content(self) -> Content:
        """Return the merged content, and record the conflicts."""
        columns = self._columns()
        ours = {i: self._row(i, columns) for i in self.ours.rows if self._stays(i)}
        missing = [i for i in self.theirs.rows if i not in self.ours.rows]
        new = {i for i in missing if i not in self.base.rows and not self._is_unresolved("row", i)}
        added = [i for i in missing if i in new]
        revived = sorted(i for i in missing if i not in new and self._is_revived(i))
        rows = ours | {i: self._copy_row(i, self.theirs, columns) for i in added + revived}
        metadata = {
            k: self._choose(
                ("metadata", k, None),
                ("metadata", k),
                *(side.metadata.get(k, MISSING) for side in (self.base, self.ours, self.theirs)),
            )
            for k in {**self.ours.metadata, **self.theirs.metadata}
        }
        return Content(columns, rows, {k: v for k, v in metadata.items() if v is not MISSING})

    def _choose(
        self, conflict: Conflict, key: Unresolved, base: object, ours: object, theirs: object
    ) -> Any:
        """Merge three versions of a value. If both sides changed the value, record a conflict."""
        if same_json(ours, theirs):
            return ours
        if not self._is_unresolved(*key):
            if same_json(theirs, base):
                return ours
            if same_json(ours, base):
                return theirs
        self._collide(conflict, *key)
        return theirs if self.wins else ours

    def _columns(self) -> dict[str, ModelColumn]:
        ours, theirs = self.ours.columns, self.theirs.columns
        columns: dict[str, ModelColumn] = {}
        for c in ours | theirs:
            if c in ours and c in theirs:
                columns[c] = self._column(c, ours[c], theirs[c])
            elif c not in self.base.columns and not self._is_unresolved("column", c):
                columns[c] = (ours | theirs)[c]
            elif (column := self._merge_dropped(c)) is not None:
                columns[c] = column
        return self._resolve_names(columns)

    def _column(self, c: str, ours: ModelColumn, theirs: ModelColumn) -> ModelColumn:
        base = self.base.columns[c] if self._has_base(c) else None
        conflict = ("column", ours.name, None)
        names = (base.name if base else MISSING, ours.name, theirs.name)
        name = self._choose(conflict, ("name", c), *names)
        b, o, t = base.htype if base else None, ours.htype, theirs.htype
        if b and not self._is_unresolved("default", c) and (t in (o, b) or o == b):
            return ModelColumn(name, o if t in (o, b) else t)
        defaults = (b.default if b else MISSING, o.default, t.default)
        default = self._choose(conflict, ("default", c), *defaults)
        return ModelColumn(name, replace(o, nullable=o.nullable or t.nullable, default=default))

    def _merge_dropped(self, c: str) -> ModelColumn | None:
        """Return a column that one side dropped, or None if it stays dropped."""
        ours, theirs = self.ours.columns.get(c), self.theirs.columns.get(c)
        side = self.ours if theirs is None else self.theirs
        if self._has_base(c):
            changed = any(self._is_changed(side, i, c) for i in self._shared(side))
            added = any(
                i not in self.base.rows for i in side.rows if not self._is_unresolved("row", i)
            )
            if side.columns[c] == self.base.columns[c] and not changed and not added:
                return None
        name = (self.base if self._has_base(c) else side).columns[c].name
        self._collide(("column", name, None), "column", c)
        return theirs if self.wins else ours

    def _shared(self, side: Content) -> list[int]:
        """Return the ids of the rows that a side shares with the base."""
        return [i for i in side.rows if i in self.base.rows and not self._is_unresolved("row", i)]

    def _resolve_names(self, columns: dict[str, ModelColumn]) -> dict[str, ModelColumn]:
        """Return the columns under unique names.

        If two columns have the same name, they get the names that they have on the winning side. If
        names still clash, columns that the winning side lacks are dropped.
        """
        winner = (self.theirs if self.wins else self.ours).columns
        while clashing := self._find_clashes(columns):
            renamed = any(c in winner and columns[c].name != winner[c].name for c in clashing)
            for c in clashing:
                name = columns[c].name
                self._collide(("column", name, None), "name" if renamed else "column", c)
            if renamed:
                for c in clashing & winner.keys():
                    columns[c] = replace(columns[c], name=winner[c].name)
            else:
                columns = {
                    c: column for c, column in columns.items() if c not in clashing - winner.keys()
                }
        return columns

    @staticmethod
    def _find_clashes(columns: dict[str, ModelColumn]) -> set[str]:
        def clash(a: str, b: str) -> bool:
            return a == b or a.startswith(b + "/") or b.startswith(a + "/")

        return {
            c
            for c in columns
            for d in columns
            if c != d and clash(columns[c].name, columns[d].name)
        }

    def _stays(self, i: int) -> bool:
        """Return whether a row of "ours" stays in the merged content.

        If "theirs" removed the row, but "ours" changed it, record a conflict.
        """
        if i in self.theirs.rows:
            return True
        is_old = i in self.base.rows
        if self._is_unresolved("row", i) or (is_old and self._is_touched(self.ours, i)):
            self._collide(("row", None, i), "row", i)
            return not self.wins
        return not is_old

    def _is_revived(self, i: int) -> bool:
        """Return whether a row that "ours" removed is nevertheless in the merged content.

        If "theirs" changed the row, record a conflict. The row returns if "theirs" wins.
        """
        if not self._is_unresolved("row", i) and not self._is_touched(self.theirs, i):
            return False
        self._collide(("row", None, i), "row", i)
        return self.wins

    def _row(self, i: int, columns: dict[str, ModelColumn]) -> dict[str, object]:
        if i not in self.theirs.rows:
            return self._copy_row(i, self.ours, columns)
        return {c: self._cell(i, c, column) for c, column in columns.items()}

    def _cell(self, i: int, c: str, column: ModelColumn) -> object:
        if c not in self.theirs.columns:
            return self.ours.rows[i][c]
        if c not in self.ours.columns:
            return self.theirs.rows[i][c]
        ours, theirs = self.ours.rows[i][c], self.theirs.rows[i][c]
        if i in self.base.rows and not self._is_unresolved("row", i) and self._has_base(c):
            if not self._is_changed(self.theirs, i, c):
                return ours
            if not self._is_changed(self.ours, i, c):
                return theirs
        if ours != theirs:
            self._collide(("cell", column.name, i), "cell", c, i)
        return theirs if self.wins else ours

    def _copy_row(
        self, i: int, source: Content, columns: dict[str, ModelColumn]
    ) -> dict[str, object]:
        """Return a row of one side, with defaults in columns that only the other side has."""
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
    """A version of the lake, as a commit creates it."""

    content: Content
    """Content of the version, which is never changed."""
    parents: tuple[str, ...]
    """Ids of the parent versions."""
    number: int
    """Number of the commit, which is higher than the numbers of earlier commits."""


@dataclass
class ModelLake:
    """All commits and branches."""

    commits: dict[str, ModelCommit] = field(default_factory=dict)
    """Commits by id."""
    branches: dict[str, str] = field(default_factory=dict)
    """Id of the tip of each branch."""

    def commit(self, branch: str, id_: str, content: Content, *merged: str) -> None:
        """Commit `content` to a branch as version `id_`. `merged` has the ids of more parents."""
        parents = (*([self.branches[branch]] if branch in self.branches else []), *merged)
        self.commits[id_] = ModelCommit(content.copy(), parents, len(self.commits))
        self.branches[branch] = id_

    def ancestors(self, id_: str) -> set[str]:
        """Return the ids of a version and of all its ancestors."""
        versions, todo = set[str](), [id_]
        while todo:
            if (version := todo.pop()) not in versions:
                versions.add(version)
                todo += self.commits[version].parents
        return versions

    def merge_bases(self, b: str, *a: str) -> list[str]:
        """Return the latest common ancestors of `b` and any version in `a`.

        A common ancestor is left out if another common ancestor descends from it.
        """
        common = set().union(*map(self.ancestors, a)) & self.ancestors(b)
        older = {p for c in common for p in self.ancestors(c) - {c}}
        return sorted(common - older, key=lambda c: -self.commits[c].number)

    def merged_base(self, bases: list[str]) -> Base:
        """Return the base of a merge: the only merge base, or several of them merged into one."""
        content, unresolved = self.commits[bases[0]].content, frozenset[Unresolved]()
        for i, other in enumerate(bases[1:], 1):
            older = self.merged_base(self.merge_bases(other, *bases[:i]))
            content, _, more = merge(older, content, self.commits[other].content, "ours")
            unresolved |= more
        return Base(content, unresolved)


class ConflictsError(Exception):
    """Both sides of a merge changed the same values, which `conflicts` lists."""

    def __init__(self, conflicts: set[Conflict]) -> None:
        super().__init__(conflicts)
        self.conflicts = conflicts


@dataclass
class ModelHandle:
    """An open handle on a branch, with the edits that are not committed yet."""

    lake: ModelLake
    """The lake, shared by all handles."""
    branch: str
    """The branch that the handle commits to."""
    version: str
    """Version that the edits build on."""
    content: Content
    """Content including the edits."""
    dirty: bool = False
    """Whether there are edits."""

    @classmethod
    def open(cls, lake: ModelLake, branch: str) -> ModelHandle:
        """Return a handle at the tip of a branch."""
        tip = lake.branches[branch]
        return cls(lake, branch, tip, lake.commits[tip].content.copy())

    @property
    def tip(self) -> str:
        """Id of the branch's tip."""
        return self.lake.branches[self.branch]

    def go(self, version: str) -> None:
        """Go to a version, and discard the edits."""
        self.version, self.dirty = version, False
        self.content = self.lake.commits[version].content.copy()

    def rebased(self, side: Side) -> Content:
        """Return the content of the tip with the edits of this handle.

        `side` says whose value wins a conflict: "ours" means the edits, "theirs" the changes of the
        tip, and "raise" raises ConflictsError.
        """
        base, tip = (self.lake.commits[v].content for v in (self.version, self.tip))
        if self.tip == self.version:
            return self.content
        winner: Side = "theirs" if side == "ours" else "ours"
        merged, conflicts, _ = merge(Base(base), tip, self.content, winner)
        if side == "raise" and conflicts:
            raise ConflictsError(conflicts)
        return merged

    def merged(self, theirs: str, side: Side) -> Content:
        """Return the merge of the content with another version. `side` is as in `rebased`."""
        base = self.lake.merged_base(self.lake.merge_bases(theirs, self.version))
        other = self.lake.commits[theirs].content
        content, conflicts, _ = merge(base, self.content, other, side)
        if side == "raise" and conflicts:
            raise ConflictsError(conflicts)
        return content
