"""A version of a lake that can be read, edited and committed: the handle that users hold.

A Dataset is a view of all rows of its version. Its methods are short: each calls the module that
knows.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from deeplake_lite.dataset import maintenance, saved, upserts, versions
from deeplake_lite.dataset.changes import difference
from deeplake_lite.dataset.column import Notes
from deeplake_lite.dataset.diff import Diff, Status
from deeplake_lite.dataset.incoming import copy_blocks, incoming_blocks, is_sequence, named_columns
from deeplake_lite.dataset.merge import (
    RESOLUTIONS,
    Resolution,
    apply,
    check_conflicts,
    plan_merge,
    plan_restore,
    slots_of,
)
from deeplake_lite.dataset.positions import is_position, many_positions
from deeplake_lite.dataset.updates import cells_for
from deeplake_lite.dataset.view import Lake, View
from deeplake_lite.errors import (
    ConflictError,
    InvalidValueError,
    ReadOnlyError,
    UncommittedError,
)
from deeplake_lite.schema import Schema
from deeplake_lite.storage.repo import Repository
from deeplake_lite.storage.table import MovedError, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping
    from datetime import datetime

    from numpy.typing import NDArray

    from deeplake_lite.dataset.incoming import Data
    from deeplake_lite.htypes.base import Check
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.repo import Commit

TRIES = 20
"""Times that a commit on an object store is written again when it loses the race."""


class Dataset(View):
    """All rows of one version of a lake, and the way to the next.

    Made by `create` and `open`. Edits go to the handle's open transaction; nobody else sees them
    until `commit`.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://dataset-doc", {"x": "int32"})
    >>> ds.append({"x": [1, 2, 3]})
    >>> first = ds.commit("three rows")
    >>> ds.update([0], {"x": [10]})
    >>> ds.status()
    1 cell updated
    >>> ds["x"][:]
    array([10,  2,  3], dtype=int32)
    >>> dl.open(ds.url, version=first)["x"][:]
    array([1, 2, 3], dtype=int32)
    """

    def __init__(self, lake: Lake, table: Table, *, branch: str | None, name: str) -> None:
        super().__init__(lake, table, np.empty(0, np.int64), (), "")
        self._branch, self._name = branch, name
        self._guard = threading.RLock()

    # ---- what it is

    @property
    def current_branch(self) -> str | None:
        """The branch that commits go to; None for a version that never moves."""
        return self._branch

    @property
    def read_only(self) -> bool:
        """Whether this is a version that never moves."""
        return self._branch is None

    @property
    def metadata(self) -> MutableMapping[str, Any]:
        """Notes on the dataset, JSON: ``ds.metadata["licence"] = "CC-BY"``."""
        return Notes(self._table.state.metadata, self._set_metadata)

    @property
    def branches(self) -> dict[str, str]:
        """Commit id of each branch's tip."""
        return versions.branches(self._lake.repository)

    @property
    def tags(self) -> dict[str, str]:
        """Commit id of each tag."""
        return versions.tags(self._lake.repository)

    # ---- rows

    def append(self, data: Data | View, *, check: Check = "header") -> None:
        """Add rows at the end, all of them or none.

        Parameters
        ----------
        data : mapping, iterable of mappings, DataFrame, Arrow table, or View
            Columns by name, or one dict per row. Columns that are left out get their default. What
            is stored of a view's columns is copied as it is where the types are the same.
        check : {"header", "full"}
            How samples that come as files are checked: header and end, or by decoding them.

        Raises
        ------
        InvalidValueError
            With the column and the row; the dataset is as before.
        ColumnNotFoundError
            For a column that the schema does not have.
        """
        if isinstance(data, View):
            fields = self._table.schema.fields
            blocks = copy_blocks(data._table, data._live(), data._fields(), fields)
        else:
            blocks = incoming_blocks(data, self._table.schema, check)
        with self._editing() as table:
            table.append(blocks)

    def extend(self, data: Data | View, *, check: Check = "header") -> None:
        """Add rows; another name of `append`."""
        self.append(data, check=check)

    def update(self, rows: Any, data: Mapping[str, Any]) -> None:
        """Change cells of some rows, all of them or none.

        Parameters
        ----------
        rows : int, slice, sequence of int, or boolean mask
            Positions.
        data : mapping
            One value per row, or one for all of them, by column name.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://update-doc", {"x": "int32", "part": dl.Text(nullable=True)})
        >>> ds.append({"x": [1, 2, 3]})
        >>> ds.update([0, 2], {"x": [10, 30], "part": "train"})
        >>> ds["x"][:], ds["part"][:]
        (array([10,  2, 30], dtype=int32), ['train', None, 'train'])
        """
        positions = many_positions([rows] if is_position(rows) else rows, len(self))
        if len(np.unique(positions)) != len(positions):
            raise InvalidValueError("an update names each row once; some rows come twice.")
        schema = self._table.schema
        columns = named_columns(data, schema)
        fields = {name: schema[name] for name in columns}
        cells = {f.id: cells_for(f, columns[n], len(positions)) for n, f in fields.items()}
        self._put(positions, cells)

    def _put(self, positions: NDArray[np.int64], cells: Mapping[str, Cells]) -> None:
        """Change the cells at some positions, by column id."""
        with self._editing() as table:
            if len(positions):
                table.update(table.rows.at(positions), cells)

    def delete(self, rows: Any) -> None:
        """Remove some rows: a position, a slice, a list or a boolean mask."""
        rows = [rows] if is_position(rows) else rows
        positions = np.unique(many_positions(rows, len(self)))
        if len(positions):
            with self._editing() as table:
                table.delete(positions)

    def upsert(self, data: Data, *, on: str, check: Check = "header") -> upserts.Upserted:
        """Append the rows whose key is new, change those that differ, leave the rest.

        Parameters
        ----------
        data : mapping or sequence of mappings
            As for `append`.
        on : str
            Column whose values tell rows apart, such as a path.
        check : {"header", "full"}
            As for `append`.

        Returns
        -------
        Upserted
            How many rows were added, changed and left.
        """
        return upserts.upsert(self, data, on, check)

    # ---- columns

    def add_column(
        self,
        name: str,
        htype: Any,
        *,
        values: Any = None,
        compute: Callable[[dict[str, Any]], Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a column.

        Parameters
        ----------
        name : str
            Its name; ``a/b`` puts it into the group ``a``.
        htype : Htype or str
            What its values mean.
        values : optional
            One value per row, or one for all. Left out, the rows get the type's default, or null.
        compute : callable, optional
            Gets each row as a dict and returns its value, instead of `values`.
        metadata : mapping, optional
            Notes on the column.
        """
        schema = self._table.schema.add(name, htype, metadata)
        added = schema[name]
        if values is None and compute is not None:
            values = [compute(row) for row in self]
        if callable(values):
            raise InvalidValueError(
                "values are one per row, or one for all, got a function. Give it as compute=.",
                column=name,
            )
        if values is not None and not is_sequence(values):
            values = list(values) if isinstance(values, Iterator) else [values] * len(self)
        if values is not None and len(values) != len(self):
            raise InvalidValueError(
                f"a new column takes one value per row: {len(self)} rows, got {len(values)}.",
                column=name,
            )
        with self._editing() as table:
            table.add_column(added, upserts.column_blocks(table, added, values))

    def rename_column(self, old: str, new: str) -> None:
        """Give a column another name; nothing is rewritten."""
        schema = self._table.schema.rename(old, new)
        with self._editing() as table:
            table.set_document(schema=schema)

    def set_default(self, name: str, value: Any) -> None:
        """Set what a column holds in rows whose append leaves it out; rows that are there stay."""
        f = self._table.schema[name]
        changed = replace(f, htype=replace(f.htype, default=value))
        fields = tuple(changed if g is f else g for g in self._table.schema)
        with self._editing() as table:
            table.set_document(schema=Schema(fields))

    def set_nullable(self, name: str) -> None:
        """Let a column take nulls from now on; values that are there stay."""
        f = self._table.schema[name]
        if f.htype.nullable:
            return
        changed = replace(f, htype=replace(f.htype, nullable=True))
        fields = tuple(changed if g is f else g for g in self._table.schema)
        with self._editing() as table:
            table.set_document(schema=Schema(fields))

    def drop_column(self, name: str) -> None:
        """Remove a column; older versions keep it."""
        schema = self._table.schema.drop(name)
        with self._editing() as table:
            table.set_document(schema=schema)

    # ---- versions

    def commit(self, message: str = "") -> str:
        """Make the edits the branch's next version; return its id.

        Without edits nothing is written, and the id is the current one. Other writers' commits in
        between are kept: appends of both survive, edits of different cells too.

        Raises
        ------
        ConflictError
            When somebody else changed the same cell, row or column. Nothing is lost: see `rebase`.
        """
        return self._commit(message, {})

    def log(self) -> list[Commit]:
        """Return the commits up to this version, newest first."""
        return versions.history(self._lake.repository, self.version)

    def status(self) -> Status:
        """Return what the open transaction has done so far."""
        return Status.of(self._table)

    def discard(self) -> None:
        """Forget the edits of the open transaction."""
        with self._guard:
            self._go_to(self.version)

    @contextlib.contextmanager
    def transaction(self, message: str = "") -> Iterator[Self]:
        """Commit what happens within, or discard it when an error leaves.

        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://transaction-doc", {"x": "int32"})
        >>> with ds.transaction("two rows"):
        ...     ds.append({"x": [1, 2]})
        >>> ds.log()[0].message
        'two rows'
        """
        self._check_clean("a transaction begins")
        try:
            yield self
        except BaseException:
            self.discard()
            raise
        self.commit(message)

    def branch(self, name: str) -> None:
        """Start a branch at the current version; `checkout` goes there."""
        repository = self._lake.repository
        versions.check_new_name(repository, "branch", name)
        repository.create_branch(name, self.version)

    def checkout(self, branch: str) -> Self:
        """Go to the tip of a branch. Raises UncommittedError when there are edits."""
        with self._guard:
            self._check_clean("another branch is checked out")
            self._pinned = self._open(versions.check_branch(self._lake.repository, branch))
            self._branch = self._name = branch
        return self

    def delete_branch(self, name: str) -> None:
        """Forget a branch; its versions stay until they are vacuumed."""
        versions.check_branch(self._lake.repository, name)
        if name in (self._branch, "main"):
            raise ReadOnlyError(
                f"Branch {name!r} is in use. Check out another one first; 'main' stays."
            )
        self._lake.repository.delete_branch(name)

    def tag(self, name: str) -> None:
        """Name the current version for good."""
        self._check_clean("a version is tagged")
        versions.check_new_name(self._lake.repository, "tag", name)
        self._lake.repository.create_tag(name, self.version)

    def refresh(self) -> Self:
        """Go to what the branch's tip has become. Raises UncommittedError when there are edits."""
        return self if self._branch is None else self.checkout(self._branch)

    def diff(self, a: str | datetime | None = None, b: str | datetime | None = None) -> Diff:
        """Return what changed from version `a` to version `b`.

        Parameters
        ----------
        a : str or datetime, optional
            Branch, tag, commit id or time; the current version if left out.
        b : str or datetime, optional
            The same; this dataset, edits included, if left out.
        """
        repository = self._lake.repository
        older = self._open(self.version if a is None else versions.resolve(repository, a))
        newer = self._table if b is None else self._open(versions.resolve(repository, b))
        names = str(a or self.version), str(b or self._name)
        return Diff(self._lake, older, newer, difference(older, newer), *names)

    def merge(self, branch: str, *, on_conflict: Resolution = "raise", message: str = "") -> str:
        """Bring the edits of another branch, tag or commit into this one; return the new id.

        Parameters
        ----------
        branch : str
            What to merge.
        on_conflict : {"raise", "ours", "theirs"}
            Whose value counts where both changed the same cell since they parted. "ours" is this
            branch.
        message : str, optional
            Of the merge commit.

        Raises
        ------
        ConflictError
            With every conflicting row and column, before anything is written.
        """
        _check_resolution(on_conflict)
        with self._guard:
            self._check_clean("branches are merged")
            self.refresh()
            self._check_writable()
            repository = self._lake.repository
            theirs_id = versions.resolve(repository, branch)
            bases = versions.merge_bases(repository, self.version, theirs_id)
            if bases == [theirs_id]:
                return self.version
            base, theirs = self._merged_base(bases), self._open(theirs_id)
            mine, other = difference(base, self._pinned), difference(base, theirs)
            plan, conflicts = plan_merge(base, self._pinned, theirs, mine, other, on_conflict)
            if on_conflict == "raise":
                check_conflicts(
                    conflicts, "Choose a side: ds.merge(…, on_conflict='ours' or 'theirs')."
                )
            before, self._pinned = self._pinned, self._pinned.edit().on_branch(str(self._branch))
            try:
                apply(plan, self._pinned, theirs)
                return self._commit(
                    message or f"merge {branch}", {"merge": theirs_id, "merged": branch}, force=True
                )
            except BaseException:
                self._pinned.release()
                self._pinned = before
                raise
            finally:
                base.release()

    def rebase(self, *, on_conflict: Resolution = "raise") -> Self:
        """Put the open transaction's edits onto what the branch's tip has become.

        Parameters
        ----------
        on_conflict : {"raise", "ours", "theirs"}
            Whose value counts where both changed the same cell. "ours" are this handle's edits.
        """
        _check_resolution(on_conflict)
        with self._guard, self._lake.repository.lock():
            self._check_writable()
            tip = self._open(self._lake.repository.tip(str(self._branch)))
            self._take_landed(tip.snapshot_id)
            if self._pinned.edits and tip.snapshot_id != self.version:
                self._pinned = self._copied_onto(tip, on_conflict)
            elif not self._pinned.edits:
                self._pinned = tip
        return self

    def restore(self, version: str | datetime) -> None:
        """Stage an older version's rows, columns and notes; commit to keep, discard to go back."""
        self._check_clean("an older version is restored")
        old = self._open(versions.resolve(self._lake.repository, version))
        plan = plan_restore(old, difference(self._pinned, old))
        with self._editing() as table:
            try:
                apply(plan, table, old)
                table.arrange(slots_of(table, old.ids(old.rows.live())))
            except BaseException:
                self.discard()
                raise

    # ---- views and upkeep

    def views(self) -> saved.SavedViews:
        """Return the saved views by name; indexing opens one."""
        return saved.SavedViews(self._lake)

    def optimize(self, *, shuffle: bool = False, seed: int = 0) -> str:
        """Rewrite the lake contiguously, in the rows' order or shuffled; return the new version.

        Frees nothing by itself: older versions keep their chunks until `vacuum`.
        """
        with self._guard:
            self._check_clean("a lake is optimised")
            self._check_writable()
            return maintenance.optimize(self, shuffle=shuffle, seed=seed)

    def vacuum(self, *, older_than: Any = None, dry_run: bool = False) -> maintenance.Vacuumed:
        """Delete what no version needs any more.

        Parameters
        ----------
        older_than : str, timedelta or datetime, optional
            Versions older than this expire first (``"30d"``), but for those that a branch, a tag, a
            saved view or a merge needs. Without it, none does.
        dry_run : bool
            Whether to only count.
        """
        return maintenance.vacuum(self, older_than, dry_run=dry_run)

    def verify(self) -> maintenance.Report:
        """Read everything again and compare it with hashes and checksums."""
        return maintenance.verify(self)

    # ---- within the package

    @property
    def _table(self) -> Table:
        return self._pinned

    def _live(self) -> NDArray[np.int64]:
        return self._pinned.rows.live()

    def _at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._pinned.rows.at(positions)

    def __len__(self) -> int:
        return len(self._pinned)

    def _fields(self) -> tuple[Field, ...]:
        return self._pinned.schema.fields

    def _open(self, snapshot_id: str) -> Table:
        repository = self._lake.repository
        return Table.open(repository, repository.reader(snapshot_id))

    @contextlib.contextmanager
    def _editing(self) -> Iterator[Table]:
        """Give the table that takes edits, made when the first comes."""
        with self._guard:
            self._check_writable()
            if self._pinned.edits is None:
                self._pinned = self._pinned.edit().on_branch(str(self._branch))
            yield self._pinned

    def _commit(self, message: str, metadata: Mapping[str, Any], *, force: bool = False) -> str:
        with self._guard:
            self._check_writable()
            if not self._pinned.edits and not force:
                return self.version
            repository, branch = self._lake.repository, str(self._branch)
            with repository.lock():
                for _ in range(TRIES):
                    tip_id = repository.tip(branch)
                    if self._take_landed(tip_id) and not self._pinned.edits:
                        return self.version
                    if force and tip_id != self.version:
                        raise ConflictError(f"Branch {branch!r} moved meanwhile. Merge again.")
                    self._check_tip(tip_id)
                    try:
                        done = self._pinned.commit(branch, tip_id, message, metadata)
                    except MovedError:
                        self._pinned = self._copied_onto(self._open(tip_id), "raise")
                    except ConflictError:
                        if not self._moved(branch):
                            raise
                    else:
                        return self._go_to(done)
            raise ConflictError(
                f"The branch moved {TRIES} times while this commit was written. Try again."
            )

    def _go_to(self, version: str) -> str:
        """Read a version instead of the open transaction, whose place is free then."""
        opened = self._open(version)
        self._pinned.release()
        self._pinned = opened
        return version

    def _take_landed(self, tip_id: str) -> bool:
        """Go to the commit that a try made although its reply was lost; later edits are kept."""
        landed, edits = self._pinned.landed(tip_id), self._pinned.edits
        if landed is None or edits is None:
            return False
        if landed.transaction == edits.transaction:
            self._go_to(landed.id)
        else:
            there = self._open(landed.id)
            self._pinned = self._copied_onto(there, "raise", base=there)
        return True

    def _moved(self, branch: str) -> bool:
        return self._lake.repository.tip(branch) != self.version

    def _check_tip(self, tip_id: str) -> None:
        """Refuse to commit what somebody else has changed too. Raises ConflictError."""
        edits = self._pinned.edits
        if tip_id == self.version or edits is None or not edits.touches_old:
            return
        base, tip = self._open(self.version), self._open(tip_id)
        mine, other = difference(base, self._pinned), difference(base, tip)
        _, conflicts = plan_merge(base, tip, self._pinned, other, mine, "ours")
        check_conflicts(
            conflicts, "Choose a side: ds.rebase(on_conflict='ours' or 'theirs'), then commit."
        )

    def _copied_onto(
        self, tip: Table, on_conflict: Resolution, *, base: Table | None = None
    ) -> Table:
        """Return the open transaction's edits since `base`, its version, copied onto `tip`."""
        mine = self._pinned
        base = base or self._open(self.version)
        ours, theirs = difference(base, mine), difference(base, tip)
        side: Resolution = "theirs" if on_conflict == "ours" else "ours"
        plan, conflicts = plan_merge(base, tip, mine, theirs, ours, side)
        if on_conflict == "raise":
            check_conflicts(conflicts, "Choose a side: ds.rebase(on_conflict='ours' or 'theirs').")
        target = tip.edit().on_branch(str(self._branch))
        try:
            apply(plan, target, mine)
        except BaseException:
            target.release()
            raise
        mine.release()
        return target

    def _merged_base(self, bases: list[str]) -> Table:
        """Return the version that a merge compares with; of several, what merging them gives."""
        base = self._open(bases[0])
        for i, other_id in enumerate(bases[1:], 1):
            other = self._open(other_id)
            below = versions.merge_bases(self._lake.repository, bases[i - 1], other_id)
            older = self._merged_base(below)
            mine, theirs = difference(older, base), difference(older, other)
            plan, _ = plan_merge(older, base, other, mine, theirs, "ours")
            if base.edits is None:
                base = base.edit().on_branch(str(self._branch))
            apply(plan, base, other)
        return base

    def _set_metadata(self, notes: dict[str, Any]) -> None:
        with self._editing() as table:
            table.set_document(metadata=notes)

    def _set_column_metadata(self, name: str, notes: dict[str, Any]) -> None:
        schema = self._table.schema.replace_metadata(name, notes)
        with self._editing() as table:
            table.set_document(schema=schema)

    def _check_writable(self) -> None:
        if self._branch is None:
            raise ReadOnlyError(
                f"Version {self._name!r} never moves. "
                f"Open a branch to write: dl.open({self.url!r})."
            )

    def _check_clean(self, purpose: str) -> None:
        if self._pinned.edits:
            raise UncommittedError(
                f"There are uncommitted edits ({self.status()}): before {purpose}, "
                "keep them with ds.commit('…') or drop them with ds.discard()."
            )


def _check_resolution(on_conflict: str) -> None:
    if on_conflict not in RESOLUTIONS:
        raise ValueError(f"on_conflict is one of {', '.join(RESOLUTIONS)}, got {on_conflict!r}.")


def create(
    url: str,
    schema: Mapping[str, Any] | Schema,
    *,
    metadata: Mapping[str, Any] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset:
    """Make a new lake.

    Parameters
    ----------
    url : str
        A folder that is new or empty, ``memory://name``, ``s3://bucket/prefix``, ``gs://…`` or
        ``az://…``.
    schema : mapping
        Type of each column, by name: an htype such as ``dl.Image("jpeg")``, or a dtype name.
    metadata : mapping, optional
        Notes on the dataset, JSON.
    storage_options : mapping, optional
        What an object store needs: region, endpoint_url, credentials. By default its environment
        variables.

    Raises
    ------
    ExistsError
        Where there is a lake already, or a folder with other files.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> schema = {"image": dl.Image("jpeg"), "label": dl.ClassLabel(["rose"])}
    >>> ds = dl.create("memory://flowers", schema)
    >>> ds.columns
    ('image', 'label')
    """
    built = schema if isinstance(schema, Schema) else Schema.build(schema)
    notes = dict(metadata or {})
    with Repository.creating(str(url), storage_options) as repository:
        Table.create(repository, built, notes)
    return open(str(url), storage_options=storage_options)


def open(
    url: str,
    *,
    version: str | datetime | None = None,
    branch: str = "main",
    allow: list[str] | tuple[str, ...] = (),
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset:
    """Open a lake: a branch to write to, or a version that never moves.

    Parameters
    ----------
    url : str
        Where the lake is.
    version : str or datetime, optional
        A tag, branch, commit id (or its beginning) or time. The dataset is then read-only.
    branch : str
        The branch to open when no version is given.
    allow : list of str
        Roots under which linked files may be read: folders or URL prefixes.
    storage_options : mapping, optional
        What an object store needs.

    Raises
    ------
    LakeNotFoundError
        When there is no lake.
    VersionNotFoundError
        When there is no such version or branch.
    FormatError
        When a newer release wrote it.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://open-doc", {"x": "int32"})
    >>> dl.open("memory://open-doc").columns
    ('x',)
    """
    repository = Repository.open(str(url), storage_options)
    roots = (allow,) if isinstance(allow, str) else tuple(map(str, allow))
    lake = Lake(repository, dict(storage_options or {}), roots)
    if version is None:
        return _at_branch(lake, branch)
    reader = repository.reader(versions.resolve(repository, version))
    return Dataset(lake, Table.open(repository, reader), branch=None, name=str(version))


def exists(url: str, *, storage_options: Mapping[str, Any] | None = None) -> bool:
    """Tell whether there is a lake at `url`."""
    return Repository.exists(str(url), storage_options)


def _at_branch(lake: Lake, branch: str) -> Dataset:
    tip = versions.check_branch(lake.repository, branch)
    table = Table.open(lake.repository, lake.repository.reader(tip))
    return Dataset(lake, table, branch=branch, name=branch)
