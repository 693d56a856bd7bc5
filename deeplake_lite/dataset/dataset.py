"""The public class `Dataset`: one version of a lake, which can be read, edited and committed.

A Dataset is a view of all rows of its version. Each of its methods only calls the module that
implements the operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, overload

from deeplake_lite.dataset import lazy_calls
from deeplake_lite.dataset.indexing import Indexable
from deeplake_lite.dataset.metadata import Change, Metadata
from deeplake_lite.dataset.versions import history
from deeplake_lite.dataset.versions.transaction import Transaction
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import ReadOnlyError
from deeplake_lite.lazy import LazyModule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, MutableMapping

    from deeplake_lite.dataset import maintenance, publishing
    from deeplake_lite.dataset.handle import Handle
    from deeplake_lite.dataset.lazy_calls import Origin
    from deeplake_lite.dataset.repr.report import Report
    from deeplake_lite.dataset.saved import evaluations, named_views, pickles
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
    evaluations = LazyModule("deeplake_lite.dataset.saved.evaluations")
    maintenance = LazyModule("deeplake_lite.dataset.maintenance")
    merging = LazyModule("deeplake_lite.dataset.versions.merge")
    named_views = LazyModule("deeplake_lite.dataset.saved.named_views")
    publishing = LazyModule("deeplake_lite.dataset.publishing")
    pickles = LazyModule("deeplake_lite.dataset.saved.pickles")
    upserts = LazyModule("deeplake_lite.dataset.write.upserts")


class Dataset(View, Indexable):
    """All rows of one version of a lake, which can be read, edited and committed.

    `create` and `open` return datasets. Edits are collected in an open transaction, and nobody else
    sees them until `commit`. Threads may share a dataset and its transaction: each read sees a
    consistent set of rows, and edits run one at a time.

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
        """The branch, table and open transaction, for code that edits tables directly."""

    # ---- properties

    @property
    def current_branch(self) -> str | None:
        """The branch that commits go to; None if the dataset is read-only."""
        return self.handle.branch

    @property
    def read_only(self) -> bool:
        """Whether this is a fixed version, opened with ``version=``, that cannot be edited."""
        return self.handle.branch is None

    @property
    def metadata(self) -> MutableMapping[str, Any]:
        """The dataset's metadata, a dict of JSON values: ``ds.metadata["licence"] = "CC-BY"``."""
        return Metadata(lambda: self.handle.table.state.metadata, self._change_metadata)

    @property
    def branches(self) -> dict[str, str]:
        """A dict that maps the name of each branch to the commit id of its tip."""
        return history.branches(self.handle.repository)

    @property
    def tags(self) -> dict[str, str]:
        """A dict that maps the name of each tag to the commit id that it refers to."""
        return history.tags(self.handle.repository)

    # ---- rows

    @overload
    def append(self, data: Data | View, *, check: Check = ..., key: None = ...) -> None: ...

    @overload
    def append(self, data: Data | View, *, check: Check = ..., key: str) -> bool: ...

    def append(
        self, data: Data | View, *, check: Check = "header", key: str | None = None
    ) -> bool | None:
        """Append rows. If any row is invalid, none is appended.

        Parameters
        ----------
        data : mapping, iterable of mappings, DataFrame, Arrow table, or View
            Column names with n values each, or one dict per row. Columns that are left out get
            their default, or null. The stored values of a view are copied without decoding in all
            columns whose types agree.
        check : {"header", "full"}
            How encoded files are checked: only their header and end, or by decoding them.
        key : str, optional
            Name of this batch of rows, such as ``"batch-17"``. If this version or the open
            transaction has a batch with this key, nothing is appended, and `data` is not read. If
            another writer commits a batch with this key first, the commit leaves out the rows of
            this batch. So a task that is repeated, at any time and on any machine, appends its rows
            once.

        Returns
        -------
        bool, optional
            With a key, whether the rows were appended.

        Raises
        ------
        InvalidValueError
            When a value is invalid; the error names the column and the row. The dataset stays
            unchanged.
        ColumnNotFoundError
            When a named column does not exist in the schema.
        ReadOnlyError
            When the dataset is read-only.
        UncommittedError
            When `data` is a generator that edits this dataset or moves it to another version. No
            row is appended.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://append-doc", {"x": "int32", "t": dl.Text(default="?")})
        >>> ds.append({"x": [1, 2], "t": ["a", "b"]})
        >>> ds.append([{"x": 3}, {"x": 4, "t": "d"}])
        >>> ds["x"][:], ds["t"][:]
        (array([1, 2, 3, 4], dtype=int32), ['a', 'b', '?', 'd'])

        A batch with a key is appended once:

        >>> [ds.append({"x": [5]}, key="batch-17") for attempt in range(3)]
        [True, False, False]
        >>> len(ds)
        5
        """
        return edits.append(self.handle, data, check, key)

    @overload
    def extend(self, data: Data | View, *, check: Check = ..., key: None = ...) -> None: ...

    @overload
    def extend(self, data: Data | View, *, check: Check = ..., key: str) -> bool: ...

    def extend(
        self, data: Data | View, *, check: Check = "header", key: str | None = None
    ) -> bool | None:
        """Append rows; an alias of `append`."""
        return edits.append(self.handle, data, check, key)

    def has_key(self, key: str) -> bool:
        """Return whether a batch was appended with a key, in this version or the open transaction.

        Parameters
        ----------
        key : str
            The key that was passed to `append`.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://has-key-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2]}, key="batch-17")
        True
        >>> ds.has_key("batch-17"), ds.has_key("batch-18")
        (True, False)
        """
        return edits.has_key(self.handle, key)

    def update(
        self, rows: object = None, data: Mapping[str, object] | None = None, *, ids: object = None
    ) -> None:
        """Change cells of the given rows. If any value is invalid, no cell is changed.

        Parameters
        ----------
        rows : int, slice, sequence of int, boolean mask, or View
            Positions of the rows, (n,) int without repeats; a mask, (len(ds),) bool; or a view of
            any version or branch of this lake, whose rows are matched by their ids.
        data : mapping
            Maps column names to new values: n values, or a single value for all n rows. Other
            columns are unchanged.
        ids : sequence of int, optional
            Ids of the rows, (n,) int64 in any order, instead of `rows`. For example,
            ``view.row_ids``, or ``batch["_row_id"]`` from a loader with ``row_ids=True`` (an array
            or a tensor).

        Raises
        ------
        InvalidValueError
            When a column does not accept a value, the number of values differs from the number of
            rows, a row is repeated, an id does not exist, or the view is of another lake. The
            dataset stays unchanged.
        ColumnNotFoundError
            When a named column does not exist in the schema.
        RowIndexError
            When a position is out of range.
        ReadOnlyError
            When the dataset is read-only.

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

    def delete(self, rows: object) -> None:
        """Delete rows. Older versions still have them.

        Parameters
        ----------
        rows : int, slice, sequence of int, boolean mask, or View
            Positions of the rows, or a view of this lake. Repeated rows count once.

        Raises
        ------
        RowIndexError
            When a position is out of range.
        InvalidValueError
            When the view is of another lake.
        ReadOnlyError
            When the dataset is read-only.

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
        """Append rows with new keys, and update existing rows whose cells differ.

        If any row is invalid, nothing is changed.

        Parameters
        ----------
        data : mapping or sequence of mappings
            As for `append`.
        on : str
            The key column, whose values identify rows, such as a column of paths.
        check : {"header", "full"}
            As for `append`.

        Returns
        -------
        Upserted
            How many rows were added, changed and left unchanged.

        Raises
        ------
        InvalidValueError
            When a key occurs twice, in `data` or in the lake, or a column does not accept a value.
            The dataset stays unchanged.
        ColumnNotFoundError
            When a named column does not exist in the schema.
        ReadOnlyError
            When the dataset is read-only.

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
        htype: object,
        *,
        values: object = None,
        compute: Callable[[dict[str, Any]], object] | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add a column.

        Parameters
        ----------
        name : str
            Name of the new column; ``a/b`` puts it into the group ``a``.
        htype : Htype or str
            Type of the values: an htype such as ``dl.Text()``, or a dtype name such as
            ``"float32"``.
        values : optional
            One value per row, or a single value for all rows. Without it, existing rows get the
            type's default, or null.
        compute : callable, optional
            Function from a row, as a dict, to the value of the new column. Pass it instead of
            `values`.
        metadata : mapping, optional
            Metadata of the column, a dict of JSON values.

        Raises
        ------
        SchemaError
            When the name is taken.
        InvalidValueError
            When the type does not accept a value, or the number of values differs from the number
            of rows. The column is not added.
        ReadOnlyError
            When the dataset is read-only.

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
        """Rename a column. No data is rewritten, and merges match the column under either name.

        Parameters
        ----------
        old, new : str
            Current and new name.

        Raises
        ------
        ColumnNotFoundError
            When there is no column `old`.
        SchemaError
            When `new` is taken.
        ReadOnlyError
            When the dataset is read-only.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://rename-doc", {"x": "int32"})
        >>> ds.rename_column("x", "count")
        >>> ds.columns
        ('count',)
        """
        edits.change_schema(self.handle, lambda schema: schema.rename(old, new))

    def set_default(self, name: str, value: object) -> None:
        """Set the value that a column gets in future appends that leave it out."""
        edits.change_schema(self.handle, lambda schema: edits.retype(schema, name, default=value))

    def set_nullable(self, name: str) -> None:
        """Allow nulls in a column. Existing values stay as they are."""
        edits.set_nullable(self.handle, name)

    def set_mode(self, name: str, mode: str | None) -> None:
        """Set the mode to which the images of a column are converted when they are read.

        This applies to existing and future images. The stored files stay as they are. To convert
        images for a single loader only, pass ``mode=`` to the loader.

        Parameters
        ----------
        name : str
            Name of a column of type `Image`.
        mode : {"RGB", "L", "RGBA"}, optional
            The mode, as for `Image`, or None to read images in the mode of their files.

        Raises
        ------
        InvalidValueError
            When the column holds a 16-bit image, which cannot be converted. The dataset stays
            unchanged.
        SchemaError
            When the column has another type, or its codec does not support the mode.

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
        """Add classes to a column of labels. Existing classes keep their numbers.

        Parameters
        ----------
        name : str
            Name of a column of type `ClassLabel`, or of a `Sequence` of it.
        names : sequence of str
            Names of the new classes, which are numbered after the existing ones.

        Raises
        ------
        ColumnNotFoundError
            When there is no such column.
        SchemaError
            When the column's type has no class names, or already has one of the names.
        ReadOnlyError
            When the dataset is read-only.

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
        """Remove a column. Older versions still have it.

        Parameters
        ----------
        name : str
            Name of the column.

        Raises
        ------
        ColumnNotFoundError
            When there is no such column.
        ReadOnlyError
            When the dataset is read-only.

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
        """Commit the edits as the branch's next version.

        If other writers have committed in the meantime, the new version has the rows that all
        writers have appended, and all their edits of different cells.

        Parameters
        ----------
        message : str
            Description of the change, for the log.

        Returns
        -------
        str
            Id of the new version. Without edits, nothing is written and the current id is returned.

        Raises
        ------
        ConflictError
            When another writer changed the same cell, row or column. The edits are not lost; see
            `rebase`.
        ReadOnlyError
            When the dataset is read-only.

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
        """Return the history of this version.

        Returns
        -------
        list of Commit
            Commits, newest first, each with ``id``, ``parent``, ``message``, ``time`` (UTC) and
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
        """Return a summary of the uncommitted edits.

        Returns
        -------
        Status
            Rows added and removed, cells updated by column, and changes to the schema and metadata.
            It is false if there is nothing to commit.

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
        """Discard all uncommitted edits.

        A commit that was interrupted, or not confirmed by the store, may still have succeeded. In
        that case, the committed edits stay, and only edits made after that commit are discarded.

        Raises
        ------
        StorageError
            When an earlier commit was not confirmed, and the store cannot be asked whether it
            succeeded.

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
        """Return a context manager that commits the edits of its block, or discards them on error.

        If the commit at the end fails, the edits stay uncommitted, as after any failed `commit`.
        Commit again, or discard them.

        Parameters
        ----------
        message : str
            Commit message.

        Returns
        -------
        Transaction
            Context manager that yields this Dataset.

        Raises
        ------
        UncommittedError
            When there are uncommitted edits at the start of the block.
        ConflictError
            When another writer changed the same cell in the meantime; see `commit`.
        StorageError
            When the store did not confirm the commit, for example because the disk is full.

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
        """Create a branch at the current version, without switching to it; see `checkout`.

        Parameters
        ----------
        name : str
            Name of the branch, of letters, digits and ``._+-/``.

        Raises
        ------
        ExistsError
            When a branch or tag of that name exists.
        SchemaError
            When the name is not valid.

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
            history.check_new_name(repository, "branch", name)
            with history.keep_version(repository, self.version):
                history.check_related(repository, self.version)
                repository.create_branch(name, self.version)

    def checkout(self, branch: str) -> Self:
        """Switch this dataset to the tip of a branch.

        Parameters
        ----------
        branch : str
            Name of the branch.

        Returns
        -------
        Dataset
            This dataset.

        Raises
        ------
        UncommittedError
            When there are uncommitted edits.
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
        """Delete a branch. Its versions stay until they are vacuumed."""
        repository = self.handle.repository
        with repository.lock():
            history.check_branch(repository, name)
            if name == "main":
                raise ReadOnlyError(
                    "The branch 'main' cannot be deleted, because every lake must have it."
                )
            if name == self.handle.branch:
                raise ReadOnlyError(
                    f"Branch {name!r} cannot be deleted, because this dataset is on it. Check out "
                    "another branch first."
                )
            repository.delete_branch(name)

    def tag(self, name: str) -> None:
        """Give the current version a permanent name.

        Parameters
        ----------
        name : str
            Name of the tag, as for `branch`.

        Raises
        ------
        UncommittedError
            When there are uncommitted edits.
        ExistsError
            When a branch or tag of that name exists.
        SchemaError
            When the name is not valid.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://tag-doc", {"x": "int32"})
        >>> ds.tag("v1.0")
        >>> dl.open(ds.url, version="v1.0").version == ds.version
        True
        """
        self.handle.check_clean("tagging a version")
        repository = self.handle.repository
        with repository.lock():
            history.check_new_name(repository, "tag", name)
            with history.keep_version(repository, self.version):
                history.check_related(repository, self.version)
                repository.create_tag(name, self.version)

    def delete_tag(self, name: str) -> None:
        """Delete a tag. Its version stays until it is vacuumed.

        The name cannot be used for another tag, because a tag must always refer to the same
        version.

        Parameters
        ----------
        name : str
            Name of the tag.

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
        """Move to the newest version of the branch. Raises UncommittedError if there are edits."""
        self.handle.refresh()
        return self

    def diff(self, a: Version | None = None, b: Version | None = None) -> Diff:
        """Return the differences between version `a` and version `b`, with rows matched by id.

        Parameters
        ----------
        a : str, datetime, date or Commit, optional
            Older version: a branch, tag, commit id, time, or commit from ``ds.log()``. By default,
            the current version without uncommitted edits.
        b : optional
            Newer version, in the same forms. By default, this dataset with its uncommitted edits.

        Returns
        -------
        Diff
            Rows added and removed, cells changed, and changes to the schema and metadata. It is
            falsy if the versions are equal.

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
        """Merge another branch, tag or commit into this branch, with rows matched by id.

        Parameters
        ----------
        branch : str, datetime, date or Commit
            Version to merge.
        on_conflict : {"raise", "ours", "theirs"}
            Which value to keep if both sides changed the same cell since their common ancestor:
            "ours" keeps the value of this branch, "theirs" keeps the value of `branch`.
        message : str, optional
            Message of the merge commit.

        Returns
        -------
        str
            Id of the new version; the current id if there is nothing to merge.

        Raises
        ------
        ConflictError
            When the sides conflict. The error lists every conflicting row and column, and nothing
            is written.
        UncommittedError
            When there are uncommitted edits.
        VersionNotFoundError
            When there is no such version.
        ReadOnlyError
            When the dataset is read-only.

        Notes
        -----
        After criss-cross merges, two branches have several merge bases. These are merged with each
        other first. Where they conflict, there is no common base value, so any difference between
        the two branches is a conflict. Git's recursive strategy works the same way.

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
        """Move the uncommitted edits onto the newest version of the branch.

        They are still uncommitted afterwards.

        Parameters
        ----------
        on_conflict : {"raise", "ours", "theirs"}
            Which value to keep if the edits and the branch changed the same cell: "ours" keeps
            the uncommitted value, "theirs" keeps the value on the branch.

        Returns
        -------
        Dataset
            This dataset.

        Raises
        ------
        ConflictError
            When both sides changed the same cell and `on_conflict` is "raise". The edits stay as
            they are.
        ReadOnlyError
            When the dataset is read-only.

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
        """Bring back the rows, columns and metadata of an older version as uncommitted edits.

        Commit to keep them, or discard them to undo the restore.

        Parameters
        ----------
        version : str, datetime, date or Commit
            Tag, branch, commit id, time, or commit from ``ds.log()``.

        Raises
        ------
        UncommittedError
            When there are uncommitted edits.
        VersionNotFoundError
            When there is no such version.
        ReadOnlyError
            When the dataset is read-only.

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

    # ---- views and maintenance

    def lineage(self, column: str) -> Origin | None:
        """Return the origin of a column's values: the job that last filled the column.

        Parameters
        ----------
        column : str
            Name of the column.

        Returns
        -------
        Origin or None
            The job's function, parameters and input version, and the origins of its input columns.
            None if no job of `map` filled the column.

        Raises
        ------
        ColumnNotFoundError
            When there is no such column.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://lineage-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2]})
        >>> before = ds.commit("two rows")
        >>> def double(batch):
        ...     return batch["x"] * 2
        >>> job = ds.map(double, into={"y": "int32"})
        >>> origin = ds.lineage("y")
        >>> origin.function, origin.inputs, origin.input_version == before, origin.rows
        ('double', {'x': None}, True, 2)
        """
        return lazy_calls.lineage(self, column)

    def views(self) -> named_views.SavedViews:
        """Return the saved views of the lake, by name.

        Returns
        -------
        SavedViews
            Mapping from names to views. A view is opened when it is looked up.

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

    def evaluations(self) -> evaluations.SavedEvaluations:
        """Return the saved evaluations of the lake, by name.

        Returns
        -------
        SavedEvaluations
            Mapping from names to evaluations, with a method ``delete``.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://dataset-evaluations-doc", {"label": "text", "guess": "text"})
        >>> ds.append({"label": ["cat", "dog"], "guess": ["cat", "cat"]})
        >>> version = ds.commit("predictions")
        >>> ds.evaluate("guess", "label").save("baseline")
        >>> list(ds.evaluations()), ds.evaluations()["baseline"].summary["accuracy"]
        (['baseline'], 0.5)
        """
        return evaluations.SavedEvaluations(self.handle.lake)

    def optimize(self, *, shuffle: bool = False, seed: int = 0) -> str:
        """Rewrite the data contiguously, in the order of the rows or shuffled.

        This frees no space by itself, because older versions keep their chunks until `vacuum`.

        Parameters
        ----------
        shuffle : bool
            Whether to put the rows into a random order, so that sequential reads are shuffled.
        seed : int
            Seed of the random order.

        Returns
        -------
        str
            Id of the new version.

        Raises
        ------
        UncommittedError
            When there are uncommitted edits.
        ConflictError
            When other writers keep committing to the branch in the meantime. Their commits are
            kept.
        ReadOnlyError
            When the dataset is read-only.

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
            self.handle.check_clean("optimizing the lake")
            self.handle.check_writable()
            return maintenance.optimize(self.handle, shuffle=shuffle, seed=seed)

    def vacuum(
        self, *, older_than: object = None, spare: object = "24h", dry_run: bool = False
    ) -> maintenance.Vacuumed:
        """Delete files that no version needs, and leftovers of killed processes.

        Parameters
        ----------
        older_than : str, timedelta or datetime, optional
            An age, such as ``"30d"`` (s, m, h, d or w), or a time. Versions older than this expire
            before files are deleted, unless a branch, tag, saved view or merge needs them. By
            default, no version expires.
        spare : str or timedelta
            Files younger than this stay even if no version needs them, because another process may
            be about to commit them, or may still be reading them. In a local folder, the files of
            open transactions always stay. On an object store, other processes' transactions are
            not visible: choose an age longer than any of them takes, and at least 10 minutes.
        dry_run : bool
            Whether to only count the files instead of deleting them. A dry run still deletes
            leftovers of killed processes and locks out other writers, so it needs write
            permission.

        Returns
        -------
        Vacuumed
            Numbers of expired versions and of deleted bytes and objects, and the reason if nothing
            was deleted.

        Raises
        ------
        OptionError
            When an age is not valid, or `spare` is too short for an object store.
        StorageError
            When the lake's folder cannot be written, even with `dry_run`.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://vacuum-doc", {"x": "int32"})
        >>> done = ds.vacuum(spare="1h")
        >>> done.bytes, done.why
        (0, 'No version expires without older_than=. Every object is needed by a version.')
        """
        return maintenance.vacuum(self.handle, older_than, spare, dry_run=dry_run)

    def publish(
        self,
        url: str,
        *,
        overwrite: bool = False,
        storage_options: Mapping[str, object] | None = None,
    ) -> publishing.Published:
        """Copy this version, without its history, to a new lake that others can read.

        Any web server can serve the folder of the new lake, and it can be uploaded to the Hugging
        Face hub. There, ``dl.open("https://…")`` or ``dl.open("hf://…")`` reads it. Rows are
        written contiguously, and keep their ids. Encoded values are copied byte for byte. Bytes of
        deleted rows and of earlier versions are not copied.

        Metadata is copied, and so are the tags, saved views and saved evaluations of this version.
        If a view also reads other versions or lakes, it is left out. Indexes are left out, too,
        since rows are in other places; build them in the new lake. Its only commit has the message
        of this version, and its id and time under ``"published"`` in the metadata.

        Parameters
        ----------
        url : str
            A new or empty location, as for `create`. If this version has already been published
            there, nothing is written.
        overwrite : bool
            Whether to replace a published lake in the folder. It stays until the new one is
            complete. Other lakes are not replaced, and neither are lakes on an object store.
        storage_options : mapping, optional
            Options of the object store at `url`, as for `dl.open`.

        Returns
        -------
        Published
            The new lake's URL and version; the numbers of rows, files and bytes; the names of the
            tags, views and evaluations that were copied; and a list of the parts that were left
            out.

        Raises
        ------
        UncommittedError
            When there are uncommitted edits.
        ExistsError
            When the location is not empty.
        DamagedError
            When a cell is damaged. Nothing is published then.
        ReadOnlyError
            When `url` is on a web server.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://publish-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2, 3]})
        >>> version = ds.commit("three rows")
        >>> ds.tag("v1")
        >>> done = ds.publish("memory://published")
        >>> done.tags, done.left_out
        (('v1',), ('1 older version',))
        >>> [commit.message for commit in dl.open("memory://published", version="v1").log()]
        ['three rows']
        """
        with self.handle.locked():
            return publishing.publish(
                self.handle, url, overwrite=overwrite, storage_options=storage_options
            )

    def verify(self) -> Report:
        """Read all data of this version and compare it with its hashes and checksums.

        For every version in the history of a branch or tag, this also reads the snapshot, the
        commit's metadata and the transaction log. In a local folder, it reads the manifests too,
        and checks that all listed chunks exist. This takes about a millisecond per version,
        or a few requests on an object store. To check the cells of an older version, open that
        version and verify it. The indexes of this version and its ancestors are read, too; a
        damaged index can be dropped and built again.

        Returns
        -------
        Report
            The version that was read, every damaged cell by column and row, every damaged
            version, and every damaged index. It is truthy if no damage was found.

        Raises
        ------
        UncommittedError
            When there are uncommitted edits.

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
        """The rows as they are at this moment, for code that reads cells from storage directly."""
        return self.handle.rows()

    def pin(self) -> View:
        """Return a view of the current rows, which later edits and commits do not change."""
        rows = self.rows
        return View(rows, rows.table.schema.names, self.origin)

    def __reduce__(self) -> tuple[object, ...]:
        return pickles.dataset_parts(self)

    def _fields(self) -> tuple[Field, ...]:
        return self.handle.table.schema.fields

    def _change_metadata(self, change: Change) -> None:
        self.handle.edit(lambda table: table.set_document(metadata=change(table.state.metadata)))
