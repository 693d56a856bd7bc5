"""A version of a lake that can be read, edited and committed: the handle that users hold.

A Dataset is a view of all rows of its version. Its methods are short: each calls the module that
knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from deeplake_lite.dataset.notes import Change, Notes
from deeplake_lite.dataset.versions import history
from deeplake_lite.dataset.versions.transaction import Transaction
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import ReadOnlyError
from deeplake_lite.lazy import LazyModule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, MutableMapping

    from deeplake_lite.dataset import maintenance
    from deeplake_lite.dataset.handle import Handle
    from deeplake_lite.dataset.repr.report import Report
    from deeplake_lite.dataset.saved import named_views, pickles
    from deeplake_lite.dataset.selection import RowSelection
    from deeplake_lite.dataset.versions import changes
    from deeplake_lite.dataset.versions import commit as commits
    from deeplake_lite.dataset.versions import diff as diffs
    from deeplake_lite.dataset.versions import merge as merging
    from deeplake_lite.dataset.versions.diff import Diff, Status
    from deeplake_lite.dataset.versions.history import Version
    from deeplake_lite.dataset.versions.merge_plan import Resolution
    from deeplake_lite.dataset.write import edits, upserts
    from deeplake_lite.dataset.write.blocks import Data
    from deeplake_lite.htypes.base import Check
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.repo import Commit
else:
    changes = LazyModule("deeplake_lite.dataset.versions.changes")
    commits = LazyModule("deeplake_lite.dataset.versions.commit")
    diffs = LazyModule("deeplake_lite.dataset.versions.diff")
    edits = LazyModule("deeplake_lite.dataset.write.edits")
    maintenance = LazyModule("deeplake_lite.dataset.maintenance")
    merging = LazyModule("deeplake_lite.dataset.versions.merge")
    named_views = LazyModule("deeplake_lite.dataset.saved.named_views")
    pickles = LazyModule("deeplake_lite.dataset.saved.pickles")
    upserts = LazyModule("deeplake_lite.dataset.write.upserts")


class Dataset(View):
    """All rows of one version of a lake, and the way to the next.

    Made by `create` and `open`. Edits go to the handle's open transaction; nobody else sees them
    until `commit`. Threads may share a handle, and with it the transaction: each read has the rows
    of one moment, and edits wait for each other.

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

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle.rows(), (), "")
        self.handle = handle
        """The state behind the methods: for code that edits tables itself."""

    # ---- what it is

    @property
    def current_branch(self) -> str | None:
        """The branch that commits go to; None for a version that never moves."""
        return self.handle.branch

    @property
    def read_only(self) -> bool:
        """Whether this is a version that never moves."""
        return self.handle.branch is None

    @property
    def metadata(self) -> MutableMapping[str, Any]:
        """Notes on the dataset, JSON: ``ds.metadata["licence"] = "CC-BY"``."""
        return Notes(lambda: self.handle.table.state.metadata, self._change_notes)

    @property
    def branches(self) -> dict[str, str]:
        """Commit id of each branch's tip."""
        return history.branches(self.handle.repository)

    @property
    def tags(self) -> dict[str, str]:
        """Commit id of each tag."""
        return history.tags(self.handle.repository)

    # ---- rows

    def append(self, data: Data | View, *, check: Check = "header") -> None:
        """Add rows at the end, all of them or none.

        Parameters
        ----------
        data : mapping, iterable of mappings, DataFrame, Arrow table, or View
            Columns by name, n values each, or one dict per row. Columns that are left out get their
            default, or null. What is stored of a view's columns is copied as it is where the types
            are the same.
        check : {"header", "full"}
            How samples that come as files are checked: header and end, or by decoding them.

        Raises
        ------
        InvalidValueError
            With the column and the row; the dataset is as before.
        ColumnNotFoundError
            For a column that the schema does not have.
        ReadOnlyError
            When this is a version that never moves.
        UncommittedError
            Where a generator of rows edits the handle that they go to, or moves it to another
            version: none of the rows is added.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://append-doc", {"x": "int32", "t": dl.Text(default="?")})
        >>> ds.append({"x": [1, 2], "t": ["a", "b"]})
        >>> ds.append([{"x": 3}, {"x": 4, "t": "d"}])
        >>> ds["x"][:], ds["t"][:]
        (array([1, 2, 3, 4], dtype=int32), ['a', 'b', '?', 'd'])
        """
        edits.append(self.handle, data, check)

    def extend(self, data: Data | View, *, check: Check = "header") -> None:
        """Add rows; another name of `append`."""
        self.append(data, check=check)

    def update(
        self, rows: Any = None, data: Mapping[str, Any] | None = None, *, ids: Any = None
    ) -> None:
        """Change cells of some rows, all of them or none.

        Parameters
        ----------
        rows : int, slice, sequence of int, boolean mask, or View
            Positions, (n,) int, each once; or (len(ds),) bool; or a view of this lake, of any
            version or branch: its rows are found by their ids.
        data : mapping
            n values by column name, or one value for all n rows; other columns stay.
        ids : sequence of int, optional
            In place of `rows`, the rows' ids in any order, (n,) int64: ``batch["_row_id"]`` of a
            loader with ``row_ids=True``, also as a tensor, or ``view.row_ids``.

        Raises
        ------
        InvalidValueError
            For a value that its column refuses, another number of values than of rows, a row that
            comes twice, an id that no row has, or a view of other rows; the dataset is as before.
        ColumnNotFoundError
            For a column that the schema does not have.
        RowIndexError
            For a row that is not there.
        ReadOnlyError
            When this is a version that never moves.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://update-doc", {"x": "int32", "part": dl.Text(nullable=True)})
        >>> ds.append({"x": [1, 2, 3]})
        >>> ds.update([2, 0], {"x": [30, 10], "part": "train"})
        >>> ds["part"][1] = "val"
        >>> ds["x"][:], ds["part"][:]
        (array([10,  2, 30], dtype=int32), ['train', 'val', 'train'])
        >>> ds.update(ds.query("SELECT * WHERE x > 5"), {"part": "large"})
        >>> for batch in ds.batches(2, columns=["x"], shuffle=True, row_ids=True):
        ...     ds.update(ids=batch["_row_id"], data={"part": [f"{x} of 3" for x in batch["x"]]})
        >>> ds["part"][:]
        ['10 of 3', '2 of 3', '30 of 3']
        """
        edits.update(self.handle, rows, data, ids)

    def delete(self, rows: Any) -> None:
        """Remove some rows; older versions keep them.

        Parameters
        ----------
        rows : int, slice, sequence of int, boolean mask, or View
            Positions, or the rows of a view of this lake; one that comes twice counts once.

        Raises
        ------
        RowIndexError
            For a row that is not there.
        InvalidValueError
            For a view whose rows are not rows of this lake.
        ReadOnlyError
            When this is a version that never moves.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://delete-doc", {"x": "int32"})
        >>> ds.append({"x": range(6)})
        >>> ds.delete([0, -1])
        >>> ds.delete(ds["x"][:] == 2)
        >>> ds.delete(ds.query("SELECT * WHERE x = 3"))
        >>> ds["x"][:]
        array([1, 4], dtype=int32)
        """
        edits.delete(self.handle, rows)

    def upsert(self, data: Data, *, on: str, check: Check = "header") -> upserts.Upserted:
        """Append the rows whose key is new, change those that differ, leave the rest.

        All of it is done, or nothing.

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

        Raises
        ------
        InvalidValueError
            For a key that comes twice, in `data` or in the lake, and for values that a column
            refuses; the dataset is as before.
        ColumnNotFoundError
            For a column that the schema does not have.
        ReadOnlyError
            When this is a version that never moves.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://upsert-doc", {"path": "text", "n": "int32"})
        >>> ds.append({"path": ["a", "b"], "n": [1, 2]})
        >>> ds.upsert({"path": ["b", "c"], "n": [20, 3]}, on="path")
        Upserted(added=1, changed=1, unchanged=0)
        >>> ds["n"][:]
        array([ 1, 20,  3], dtype=int32)
        """
        return upserts.upsert(self.handle, data, on, check)

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
            What its values mean: ``dl.Text()``, or a dtype name such as ``"float32"``.
        values : optional
            One value per row, or one for all. Left out, the rows get the type's default, or null.
        compute : callable, optional
            Gets each row as a dict and returns its value, instead of `values`.
        metadata : mapping, optional
            Notes on the column, JSON.

        Raises
        ------
        SchemaError
            For a name that is taken.
        InvalidValueError
            For a value that the type refuses, or another number of values than of rows; no column
            is added then.
        ReadOnlyError
            When this is a version that never moves.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://add-column-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2]})
        >>> ds.add_column("note", dl.Text(nullable=True))
        >>> ds.add_column("double", "int32", compute=lambda row: 2 * row["x"])
        >>> ds[1]
        {'x': np.int32(2), 'note': None, 'double': np.int32(4)}
        """
        edits.add_column(self.handle, name, htype, values, compute, metadata)

    def rename_column(self, old: str, new: str) -> None:
        """Give a column another name; nothing is rewritten, and merges know that it is the same.

        Parameters
        ----------
        old, new : str
            The name that it has, and the one that it gets.

        Raises
        ------
        ColumnNotFoundError
            When there is no column `old`.
        SchemaError
            When `new` is taken.
        ReadOnlyError
            When this is a version that never moves.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://rename-doc", {"x": "int32"})
        >>> ds.rename_column("x", "count")
        >>> ds.columns
        ('count',)
        """
        edits.change_schema(self.handle, lambda schema: schema.rename(old, new))

    def set_default(self, name: str, value: Any) -> None:
        """Set what a column holds in rows whose append leaves it out; rows that are there stay."""
        edits.change_schema(self.handle, lambda schema: edits.retype(schema, name, default=value))

    def set_nullable(self, name: str) -> None:
        """Let a column take nulls from now on; values that are there stay."""
        edits.set_nullable(self.handle, name)

    def set_mode(self, name: str, mode: str | None) -> None:
        """Convert the pictures of a column, those that are there and those to come, when read.

        Files stay as they are stored; a loader's ``mode=`` converts for one loader alone.

        Parameters
        ----------
        name : str
            A column of type Image.
        mode : {"RGB", "L", "RGBA"}, optional
            As for `Image`; None for pictures as their files have them.

        Raises
        ------
        InvalidValueError
            For a picture of 16 bits, which has no mode; the dataset is as before.
        SchemaError
            For a column of another type, or a mode that its codec does not have.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> import numpy as np
        >>> ds = dl.create("memory://mode-doc", {"image": dl.Image("png")})
        >>> ds.append({"image": [np.zeros((2, 3), "uint8"), np.zeros((2, 3, 3), "uint8")]})
        >>> ds.set_mode("image", "RGB")
        >>> [image.shape for image in ds["image"][:]]
        [(2, 3, 3), (2, 3, 3)]
        """
        edits.set_mode(self.handle, name, mode)

    def add_classes(self, name: str, names: Iterable[str]) -> None:
        """Give a column of labels more classes; those that it has keep their numbers.

        Parameters
        ----------
        name : str
            Name of a column of `ClassLabel`.
        names : sequence of str
            The new classes, to come behind those that are there.

        Raises
        ------
        ColumnNotFoundError
            When there is no such column.
        SchemaError
            When its type has no names of classes, or it has one of the names already.
        ReadOnlyError
            When this is a version that never moves.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://add-classes-doc", {"label": dl.ClassLabel(["cat", "dog"])})
        >>> ds.add_classes("label", ["bird"])
        >>> ds.append({"label": ["bird", "cat"]})
        >>> ds["label"].names, ds["label"][:]
        (('cat', 'dog', 'bird'), array([2, 0], dtype=int32))
        """
        edits.add_classes(self.handle, name, names)

    def drop_column(self, name: str) -> None:
        """Remove a column; older versions keep it.

        Parameters
        ----------
        name : str
            Its name.

        Raises
        ------
        ColumnNotFoundError
            When there is none of that name.
        ReadOnlyError
            When this is a version that never moves.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://drop-doc", {"x": "int32", "y": "int32"})
        >>> ds.drop_column("y")
        >>> ds.columns
        ('x',)
        """
        edits.change_schema(self.handle, lambda schema: schema.drop(name))

    # ---- versions

    def commit(self, message: str = "") -> str:
        """Make the edits the branch's next version.

        Other writers' commits in between are kept: appends of both survive, edits of different
        cells too.

        Parameters
        ----------
        message : str
            What was done, for the log.

        Returns
        -------
        str
            The version's id. Without edits nothing is written, and the id is the current one.

        Raises
        ------
        ConflictError
            When somebody else changed the same cell, row or column. Nothing is lost: see `rebase`.
        ReadOnlyError
            When this is a version that never moves.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://commit-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2]})
        >>> ds.commit("two rows") == ds.version == ds.log()[0].id
        True
        """
        return commits.commit(self.handle, message, {})

    def log(self) -> list[Commit]:
        """Return the commits that led to this version.

        Returns
        -------
        list of Commit
            Newest first, each with ``id``, ``parent``, ``message``, ``time`` (UTC) and
            ``metadata``.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://log-doc", {"x": "int32"})
        >>> ds.append({"x": [1]})
        >>> version = ds.commit("one row")
        >>> [commit.message for commit in ds.log()]
        ['one row', 'created']
        """
        return history.history(self.handle.repository, self.version)

    def status(self) -> Status:
        """Return what the open transaction has done so far.

        Returns
        -------
        Status
            Rows added and removed, cells updated by column, changes of schema and notes; false when
            there is nothing to commit.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://status-doc", {"x": "int32"})
        >>> ds.status()
        clean
        >>> ds.append({"x": [1, 2]})
        >>> ds.status(), ds.status().added
        (2 rows added, 2)
        """
        return diffs.Status.of(self.handle.table)

    def discard(self) -> None:
        """Forget the edits of the open transaction, and stay at the version that they build on.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://discard-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2]})
        >>> ds.discard()
        >>> len(ds)
        0
        """
        self.handle.discard()

    def transaction(self, message: str = "") -> Transaction:
        """Commit what happens within, or discard it when an error leaves the block.

        When the commit at the end fails, the edits stay in this handle, as after any `commit` that
        fails: commit again, or discard them.

        Parameters
        ----------
        message : str
            Of the commit.

        Returns
        -------
        Transaction
            For a ``with`` block, in which it is this Dataset.

        Raises
        ------
        UncommittedError
            When there are edits already.
        ConflictError
            When somebody else changed the same cell meanwhile; see `commit`.
        StorageError
            When the store did not confirm the commit, such as on a full disk.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://transaction-doc", {"x": "int32"})
        >>> with ds.transaction("two rows"):
        ...     ds.append({"x": [1, 2]})
        >>> ds.log()[0].message
        'two rows'
        """
        return Transaction(self, message)

    def branch(self, name: str) -> None:
        """Start a branch at the current version; `checkout` goes there.

        Parameters
        ----------
        name : str
            Letters, digits and ``._+-/``; no branch or tag has it.

        Raises
        ------
        ExistsError
            When a branch or tag has the name.
        SchemaError
            When it cannot be one.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://branch-doc", {"x": "int32"})
        >>> ds.branch("fix")
        >>> ds.current_branch, sorted(ds.branches)
        ('main', ['fix', 'main'])
        """
        repository = self.handle.repository
        with repository.lock():
            known = history.check_new_name(repository, "branch", name)
            with history.kept(repository, self.version):
                history.check_related(repository, self.version, known)
                repository.create_branch(name, self.version)

    def checkout(self, branch: str) -> Self:
        """Go to the tip of a branch, in place.

        Parameters
        ----------
        branch : str
            Its name.

        Returns
        -------
        Dataset
            This one.

        Raises
        ------
        UncommittedError
            When there are edits.
        VersionNotFoundError
            When there is no such branch.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://checkout-doc", {"x": "int32"})
        >>> ds.branch("fix")
        >>> ds.checkout("fix").current_branch
        'fix'
        """
        self.handle.checkout(branch)
        return self

    def delete_branch(self, name: str) -> None:
        """Forget a branch; its versions stay until they are vacuumed."""
        repository = self.handle.repository
        with repository.lock():
            history.check_branch(repository, name)
            if name in (self.handle.branch, "main"):
                raise ReadOnlyError(
                    f"Branch {name!r} is in use. Check out another one first; 'main' stays."
                )
            repository.delete_branch(name)

    def tag(self, name: str) -> None:
        """Name the current version for good.

        Parameters
        ----------
        name : str
            As for `branch`.

        Raises
        ------
        UncommittedError
            When there are edits.
        ExistsError
            When a branch or tag has the name.
        SchemaError
            When it cannot be one.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://tag-doc", {"x": "int32"})
        >>> ds.tag("v1.0")
        >>> dl.open(ds.url, version="v1.0").version == ds.version
        True
        """
        self.handle.check_clean("a version is tagged")
        repository = self.handle.repository
        with repository.lock():
            known = history.check_new_name(repository, "tag", name)
            with history.kept(repository, self.version):
                history.check_related(repository, self.version, known)
                repository.create_tag(name, self.version)

    def delete_tag(self, name: str) -> None:
        """Forget a tag; its version stays until it is vacuumed.

        Whoever looks a tag up must never find another version than before: its name is not free
        again.

        Parameters
        ----------
        name : str
            Its name.

        Raises
        ------
        VersionNotFoundError
            When there is no such tag.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://delete-tag-doc", {"x": "int32"})
        >>> ds.tag("v1")
        >>> ds.delete_tag("v1")
        >>> ds.tags
        {}
        """
        repository = self.handle.repository
        with repository.lock():
            history.check_tag(repository, name)
            repository.delete_tag(name)

    def refresh(self) -> Self:
        """Go to what the branch's tip has become. Raises UncommittedError when there are edits."""
        self.handle.refresh()
        return self

    def diff(self, a: Version | None = None, b: Version | None = None) -> Diff:
        """Return what changed from version `a` to version `b`, by row id, never by position.

        Parameters
        ----------
        a : str, datetime, date or Commit, optional
            Branch, tag, commit id, time, or a commit of ``ds.log()``; the current version if
            left out.
        b : optional
            The same; this dataset, edits included, if left out.

        Returns
        -------
        Diff
            Rows added and removed, cells changed, changes of schema and notes; false when nothing
            is.

        Raises
        ------
        VersionNotFoundError
            When there is no such version.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://dataset-diff-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2]})
        >>> first = ds.commit("two rows")
        >>> ds["x"][0] = 10
        >>> diff = ds.diff(first)
        >>> diff.before("x"), diff.after("x")
        (array([1], dtype=int32), array([10], dtype=int32))
        """
        repository = self.handle.repository
        older = self.handle.open(self.version if a is None else history.resolve(repository, a))
        newer = self.handle.table if b is None else self.handle.open(history.resolve(repository, b))
        names = [history.version_name(v) for v in (a or self.version, b or self.handle.lake.name)]
        return diffs.Diff(
            self.handle.lake,
            older,
            newer,
            changes.difference(older, newer, by_meaning=True),
            *names,
        )

    def merge(
        self, branch: Version, *, on_conflict: Resolution = "raise", message: str = ""
    ) -> str:
        """Bring the edits of another branch, tag or commit into this one, by row, cell and column.

        Parameters
        ----------
        branch : str, datetime, date or Commit
            What to merge.
        on_conflict : {"raise", "ours", "theirs"}
            Whose value counts where both changed the same cell since they parted. "ours" is this
            branch.
        message : str, optional
            Of the merge commit.

        Returns
        -------
        str
            The new version's id; the current one when there is nothing to bring.

        Raises
        ------
        ConflictError
            With every conflicting row and column, before anything is written.
        UncommittedError
            When there are edits.
        VersionNotFoundError
            When there is no such version.
        ReadOnlyError
            When this is a version that never moves.

        Notes
        -----
        Where two branches have merged each other crosswise there are several versions that both
        come from. They are merged first; where they conflict no value is agreed upon, and a
        difference of the two sides is a conflict, as in git's recursive strategy.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://merge-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2]})
        >>> version = ds.commit("two rows")
        >>> ds.branch("fix")
        >>> fix = dl.open(ds.url, branch="fix")
        >>> fix["x"][1] = 20
        >>> version = fix.commit("corrected")
        >>> ds["x"][0] = 10
        >>> version = ds.commit("meanwhile")
        >>> version = ds.merge("fix")
        >>> ds["x"][:]
        array([10, 20], dtype=int32)
        """
        return merging.merge(self.handle, branch, on_conflict, message)

    def rebase(self, *, on_conflict: Resolution = "raise") -> Self:
        """Put the open transaction's edits onto what the branch's tip has become.

        What comes after is a commit.

        Parameters
        ----------
        on_conflict : {"raise", "ours", "theirs"}
            Whose value counts where both changed the same cell. "ours" are this handle's edits.

        Returns
        -------
        Dataset
            This one.

        Raises
        ------
        ConflictError
            When both changed the same and no side is chosen; the edits stay as they are.
        ReadOnlyError
            When this is a version that never moves.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://rebase-doc", {"x": "int32"})
        >>> ds.append({"x": [1]})
        >>> version = ds.commit("one row")
        >>> other = dl.open(ds.url)
        >>> ds["x"][0], other["x"][0] = 10, 20
        >>> version = ds.commit("first")
        >>> version = other.rebase(on_conflict="ours").commit("second")
        >>> ds.refresh()["x"][:]
        array([20], dtype=int32)
        """
        commits.rebase(self.handle, on_conflict)
        return self

    def restore(self, version: Version) -> None:
        """Stage an older version's rows, columns and notes; commit to keep, discard to go back.

        Parameters
        ----------
        version : str, datetime, date or Commit
            Tag, branch, commit id, time, or a commit of ``ds.log()``.

        Raises
        ------
        UncommittedError
            When there are edits.
        VersionNotFoundError
            When there is no such version.
        ReadOnlyError
            When this is a version that never moves.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://restore-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2]})
        >>> first = ds.commit("two rows")
        >>> ds.delete(0)
        >>> version = ds.commit("one less")
        >>> ds.restore(first)
        >>> ds.status()
        1 row added, rows reordered
        >>> ds["x"][:]
        array([1, 2], dtype=int32)
        """
        merging.restore(self.handle, version)

    # ---- views and upkeep

    def views(self) -> named_views.SavedViews:
        """Return the saved views by name; indexing opens one.

        Returns
        -------
        SavedViews
            A mapping from names to views.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://views-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2, 3]})
        >>> version = ds.commit("three rows")
        >>> ds[ds["x"][:] > 1].save("large")
        >>> list(ds.views()), ds.views()["large"]["x"][:]
        (['large'], array([2, 3], dtype=int32))
        """
        return named_views.SavedViews(self.handle.lake)

    def optimize(self, *, shuffle: bool = False, seed: int = 0) -> str:
        """Rewrite the lake contiguously, in the rows' order or shuffled.

        Frees nothing by itself: older versions keep their chunks until `vacuum`.

        Parameters
        ----------
        shuffle : bool
            Whether the rows are put into a random order, so that reading in order is a shuffle.
        seed : int
            Another seed, another order.

        Returns
        -------
        str
            The new version's id.

        Raises
        ------
        UncommittedError
            When there are edits.
        ConflictError
            When the branch moves again and again meanwhile. What others committed is kept.
        ReadOnlyError
            When this is a version that never moves.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://optimize-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2, 3]})
        >>> ds.delete(1)
        >>> version = ds.commit("fragmented")
        >>> ds.optimize() == ds.version
        True
        >>> ds["x"][:]
        array([1, 3], dtype=int32)
        """
        with self.handle.locked():
            self.handle.check_clean("a lake is optimised")
            self.handle.check_writable()
            return maintenance.optimize(self.handle, shuffle=shuffle, seed=seed)

    def vacuum(
        self, *, older_than: Any = None, spare: Any = "24h", dry_run: bool = False
    ) -> maintenance.Vacuumed:
        """Delete what no version needs any more, and what killed processes left.

        Parameters
        ----------
        older_than : str, timedelta or datetime, optional
            Versions older than this expire first (``"30d"``; s, m, h, d or w), but for those that a
            branch, a tag, a saved view or a merge needs. Without it, none does.
        spare : str or timedelta
            Objects younger than this stay, even if no version needs them: somebody may be about to
            commit them, or still read them. On a local folder, those of open transactions stay
            anyway. On an object store nobody can see the transactions of others: choose longer than
            any of them takes, and at least 10 minutes.
        dry_run : bool
            Whether to only count.

        Returns
        -------
        Vacuumed
            How many versions expired, the bytes and objects deleted, and why if there were none.

        Raises
        ------
        OptionError
            For an age that is none, and for a `spare` that is too short on an object store.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://vacuum-doc", {"x": "int32"})
        >>> done = ds.vacuum(spare="1h")
        >>> done.bytes, done.why
        (0, 'No version expires without older_than=; versions need every object.')
        """
        return maintenance.vacuum(self.handle, older_than, spare, dry_run=dry_run)

    def verify(self) -> Report:
        """Read everything again and compare it with hashes and checksums.

        Of all versions in the histories of branches and tags, the snapshots, the notes of commits
        and the logs of what they wrote are read, too; on a local folder also the manifests, and
        whether the chunks that they name are there. That takes about a millisecond per version, and
        on an object store a few requests. To compare the cells of an older version, open and verify
        it.

        Returns
        -------
        Report
            The version that was read, and every damaged cell, by column and row, and every damaged
            version; true if all is well.

        Raises
        ------
        UncommittedError
            When there are edits.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://verify-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2, 3]})
        >>> version = ds.commit("three rows")
        >>> ds.verify()
        version ...: 3 rows, 1 column: all bytes are intact
        """
        return maintenance.verify(self.handle)

    # ---- for code that builds on datasets

    @property
    def rows(self) -> RowSelection:
        """The rows as storage has them at this moment: for code that reads cells itself."""
        return self.handle.rows()

    def pin(self) -> View:
        """Return a view of the rows as they are now, which later edits and commits don't change."""
        rows = self.rows
        return View(rows, rows.table.schema.names, self.origin)

    def __reduce__(self) -> tuple[Any, ...]:
        return pickles.dataset_parts(self)

    def _fields(self) -> tuple[Field, ...]:
        return self.handle.table.schema.fields

    def _change_notes(self, change: Change) -> None:
        self.handle.edit(lambda table: table.set_document(metadata=change(table.state.metadata)))
