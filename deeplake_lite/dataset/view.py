"""The public class `View`: a read-only selection of rows and columns of one version of a lake.

A view reads one snapshot, or the open transaction of a dataset as it was when the view was created.
Indexing a view with a name returns a column, and indexing with an integer returns a row. Any other
index returns another view. A Dataset is also a view.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from deeplake_lite.dataset import lazy_calls
from deeplake_lite.dataset.column import Column
from deeplake_lite.dataset.export.methods import Exports
from deeplake_lite.dataset.loading import LoadableRows
from deeplake_lite.dataset.mapping import Mappable
from deeplake_lite.dataset.querying import Queryable
from deeplake_lite.dataset.read.positions import is_position, resolve_index, resolve_position
from deeplake_lite.dataset.read.reading import read_row, read_rows
from deeplake_lite.dataset.read.values import copy_if_shared
from deeplake_lite.errors import ColumnNotFoundError
from deeplake_lite.lazy import LazyModule
from deeplake_lite.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset import show
    from deeplake_lite.dataset.lazy_calls import Browser
    from deeplake_lite.dataset.saved import named_views, pickles
    from deeplake_lite.dataset.selection import RowSelection
    from deeplake_lite.dataset.splits import parts as splitting
    from deeplake_lite.dataset.splits.parts import Fold
    from deeplake_lite.schema import Field
else:
    named_views = LazyModule("deeplake_lite.dataset.saved.named_views")
    pickles = LazyModule("deeplake_lite.dataset.saved.pickles")
    show = LazyModule("deeplake_lite.dataset.show")
    splitting = LazyModule("deeplake_lite.dataset.splits.parts")


class View(LoadableRows, Exports, Queryable, Mappable):
    """Some rows and columns of one version of a lake.

    Views are returned by indexing, queries and splits. Do not call the constructor yourself.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://view-doc", {"x": "int32", "name": "text"})
    >>> ds.append({"x": [1, 2, 3], "name": ["a", "b", "c"]})
    >>> view = ds[[2, 0]]
    >>> view["x"][:], view[0]
    (array([3, 1], dtype=int32), {'x': np.int32(3), 'name': 'c'})
    """

    def __init__(
        self,
        rows: RowSelection,
        names: tuple[str, ...],
        origin: str,
        *,
        record: object = None,
    ) -> None:
        self._rows, self._names = rows, names
        self.origin = origin
        """How the rows were selected, such as ``"[3:9]"``, or the text of a query."""
        self.record = record
        """Plan and timings of the query behind the view, for `explain`; None if there is no
        query."""

    # ---- properties

    @property
    def url(self) -> str:
        """URL of the lake."""
        return self.rows.lake.repository.url

    @property
    def version(self) -> str:
        """Id of the commit that the view reads, or that its uncommitted edits build on."""
        return self.rows.table.snapshot_id

    @property
    def schema(self) -> Schema:
        """Names and types of the view's columns, in the order of the columns."""
        return Schema(self._fields())

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the view's columns."""
        return tuple(f.name for f in self._fields())

    @property
    def row_ids(self) -> NDArray[np.int64]:
        """Ids of the rows, (n,) int64, which are the same on every branch and in every version."""
        table, slots = self.rows.locate()
        return copy_if_shared(table.ids(slots))

    @property
    def rows(self) -> RowSelection:
        """The rows as they are at this moment, for code that reads cells from storage directly."""
        return self._rows

    @property
    def nbytes(self) -> int:
        """Stored size of the rows' cells, in bytes."""
        view = self.pin()
        table, slots = view.rows.locate()
        return sum(table.nbytes(f.id, slots) for f in view.schema)

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.columns

    # ---- reading

    @overload
    def __getitem__(self, index: str) -> Column: ...
    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: Any) -> View: ...
    def __getitem__(self, index: Any) -> Any:
        """Return a column for a name, a row for an integer, or a view for any other index."""
        if isinstance(index, str):
            self._check_columns([index])
            return Column(self, index)
        view = self.pin()
        if is_position(index):
            return read_row(view, view.schema.fields, resolve_position(int(index), len(view)))
        if isinstance(index, list | tuple) and index and all(isinstance(n, str) for n in index):
            return view.select(tuple(index))
        positions = resolve_index(index, len(view))
        return View(view.rows.take(positions), view.columns, _origin(index))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Return an iterator over the rows as dicts. Rows are read a block at a time."""
        view = self.pin()
        return read_rows(view, view.schema.fields)

    # ---- splitting and saving

    @overload
    def split(
        self,
        fractions: Mapping[str, float],
        *,
        by: str | None = None,
        group: str | None = None,
        seed: int = 0,
    ) -> dict[str, View]: ...
    @overload
    def split(
        self,
        fractions: Sequence[float],
        *,
        by: str | None = None,
        group: str | None = None,
        seed: int = 0,
    ) -> tuple[View, ...]: ...
    def split(
        self,
        fractions: Mapping[str, float] | Sequence[float],
        *,
        by: str | None = None,
        group: str | None = None,
        seed: int = 0,
    ) -> dict[str, View] | tuple[View, ...]:
        """Split the rows into parts, such as training and validation sets, reproducibly.

        The split depends only on the ids of the rows and on the seed. The order of the rows, the
        version and the machine do not matter.

        Parameters
        ----------
        fractions : sequence or mapping of float
            Fraction of the rows for each part: a list, or a dict from the names of the parts to
            fractions. The fractions must add up to 1.
        by : str, optional
            Column to stratify by: each part gets the column's values in the same proportions. A row
            may have several values, as in a column of type ``ClassLabel(multiple=True)`` or of
            lists.
        group : str, optional
            Column to group by, such as a patient's id: rows with equal values stay in the same
            part. `group` can be combined with `by`.
        seed : int
            Seed of the split.

        Returns
        -------
        tuple or dict of View
            One view per fraction, in a dict if the parts have names. Rows are in the order of this
            view.

        Raises
        ------
        OptionError
            When the fractions are not valid, or a part with a fraction above 0 would be empty.
        ColumnNotFoundError
            When a named column does not exist in the view.

        Notes
        -----
        Part sizes match the fractions to within one row. Remaining rows are assigned by largest
        remainder over all classes together, so that a small part still gets its share of many
        small classes. Each part gets its share of every class, rounded down or up. If rows have
        several labels, the part sizes are still exact, and the label proportions are as close as
        iterative stratification [1]_ can bring them. Groups are never divided, so part sizes are
        as close as the groups allow. Repeated rows stay in one part.

        Because sizes are exact, adding or deleting rows moves some other rows to another part. The
        parts are cut from a ranking of the rows by a hash of id and seed, so only rows next to a
        cut move: about as many as were added, and with `by` at most about one more per class. With
        `group`, or with several labels per row, more rows may move. To make a split permanent,
        store the part's name in a column, or `save` the views.

        .. [1] K. Sechidis, G. Tsoumakas, I. Vlahavas: On the Stratification of Multi-Label Data.
           ECML PKDD 2011.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://split-doc", {"x": "int32", "y": dl.ClassLabel(["a", "b"])})
        >>> ds.append({"x": range(10), "y": [0, 1] * 5})
        >>> train, val = ds.split([0.8, 0.2], by="y", seed=1)
        >>> len(train), val["y"].names, sorted(val["y"][:].tolist())
        (8, ('a', 'b'), [0, 1])
        >>> parts = ds.split({"train": 0.5, "val": 0.5})
        >>> len(parts["val"])
        5
        """
        names = tuple(fractions) if isinstance(fractions, Mapping) else ()
        sizes = list(fractions.values()) if isinstance(fractions, Mapping) else fractions
        view = self.pin()
        parts = splitting.split(view, sizes, by=by, group=group, seed=seed, names=names)
        views = [
            View(view.rows.take(positions), view.columns, f"split {name}")
            for name, positions in zip(names or range(len(parts)), parts, strict=True)
        ]
        return dict(zip(names, views, strict=True)) if names else tuple(views)

    def folds(
        self, k: int, *, by: str | None = None, group: str | None = None, seed: int = 0
    ) -> tuple[Fold, ...]:
        """Split the rows into k folds for cross-validation.

        Parameters
        ----------
        k : int
            Number of folds, at least 2.
        by, group, seed
            As for `split`.

        Returns
        -------
        tuple of Fold
            Pairs of views, ``train`` and ``test``. Each row is in exactly one ``test`` view, and in
            the ``train`` views of all other folds.

        Raises
        ------
        OptionError
            When a fold would be empty, because there are fewer rows, or groups, than folds.
        ColumnNotFoundError
            When a named column does not exist in the view.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://folds-doc", {"x": "int32", "y": dl.ClassLabel(["a", "b"])})
        >>> ds.append({"x": range(10), "y": [0, 1] * 5})
        >>> for train, test in ds.folds(5, by="y"):
        ...     print(len(train), sorted(test["y"][:].tolist()))
        8 [0, 1]
        8 [0, 1]
        8 [0, 1]
        8 [0, 1]
        8 [0, 1]
        """
        view = self.pin()
        tests = splitting.folds(view, k, by=by, group=group, seed=seed)
        all_positions = np.arange(len(view))

        def part(positions: NDArray[np.int64], fold: int, name: str) -> View:
            return View(view.rows.take(positions), view.columns, f"fold {fold} of {k}, {name}")

        return tuple(
            splitting.Fold(
                part(np.setdiff1d(all_positions, test), n, "train"), part(test, n, "test")
            )
            for n, test in enumerate(tests)
        )

    def save(self, name: str, *, overwrite: bool = False) -> None:
        """Save the view in the lake under a name: its version, rows, columns and origin.

        `Dataset.views` lists the saved views and opens them by name. Saving a view does not create
        a new version of the data.

        Parameters
        ----------
        name : str
            Name of the view. It must not be empty, and must not contain a slash.
        overwrite : bool
            Whether to replace an existing view of that name.

        Raises
        ------
        ExistsError
            When a view of that name exists and `overwrite` is false.
        UncommittedError
            When the view contains uncommitted edits.
        InvalidValueError
            When the name is not valid, or the view does not belong to a lake.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://save-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2, 3]})
        >>> version = ds.commit("three rows")
        >>> ds[::-1].save("backwards")
        >>> dl.open(ds.url).views()["backwards"]["x"][:]
        array([3, 2, 1], dtype=int32)
        """
        named_views.save(self.pin(), name, overwrite=overwrite)

    def materialize(
        self,
        url: str,
        *,
        message: str = "materialized",
        storage_options: Mapping[str, object] | None = None,
    ) -> Any:
        """Write the rows contiguously to a new lake.

        Encoded values are copied byte for byte. Rows keep their ids, unless a row occurs twice.
        Indexes are not copied; build them in the new lake.

        Parameters
        ----------
        url : str
            A new or empty location, as for `create`.
        message : str
            Commit message.
        storage_options : mapping, optional
            Options of the object store at `url`, as for `dl.open`.

        Returns
        -------
        Dataset
            The new lake, on its branch ``main``.

        Raises
        ------
        ExistsError
            When the location is not empty.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://materialize-doc", {"x": "int32", "t": "text"})
        >>> ds.append({"x": [1, 2, 3], "t": ["a", "b", "c"]})
        >>> copy = ds[[2, 0]][["t"]].materialize("memory://materialized")
        >>> copy.columns, copy["t"][:]
        (('t',), ['c', 'a'])
        """
        return named_views.materialize(self.pin(), url, message, storage_options)

    # ---- showing

    def browse(self, *, cache_bytes: int = 256 * 2**20) -> Browser:
        """Return a notebook widget to view, filter, select and edit the rows.

        Parameters
        ----------
        cache_bytes : int
            Memory for cached thumbnails, in bytes.

        Returns
        -------
        Browser
            A widget. Its ``query``, ``view`` and ``selected`` can be read, set and observed, and
            ``selected_view()`` returns the selected rows.

        Notes
        -----
        The widget needs no server and no network: all data comes from the notebook's kernel. It
        shows the rows as they are at this moment; call `Browser.refresh` to see newer rows.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://browse-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2, 3]})
        >>> w = ds.browse()
        >>> w.query = "SELECT * WHERE x > 1"
        >>> w
        Browser of browse-doc: 2 rows, 'SELECT * WHERE x > 1'
        """
        return lazy_calls.browse(self, cache_bytes=cache_bytes)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.columns)

    def __repr__(self) -> str:
        return show.view_text(self)

    def _repr_html_(self) -> str:
        return show.view_html(self)

    # ---- for code that builds on views

    def pin(self) -> View:
        """Return a view of the current rows, which later edits and commits do not change."""
        return self

    def checked(self) -> View:
        """Return this view for copying. Each read is verified; damage raises DamagedError."""
        view = self.pin()
        return View(view.rows.checked(), view.columns, view.origin, record=view.record)

    def select(self, names: tuple[str, ...]) -> View:
        """Return the same rows with only the columns in `names`, which may be empty.

        Raises
        ------
        ColumnNotFoundError
            When a named column does not exist in the view.
        """
        self._check_columns(names)
        return View(self.rows, names, self.origin)

    def field(self, name: str) -> Field:
        """Return the entry of the schema for a column.

        Raises
        ------
        ColumnNotFoundError
            When the view has no column of that name.
        """
        self._check_columns([name])
        return self.rows.table.schema[name]

    def _fields(self) -> tuple[Field, ...]:
        schema = self.rows.table.schema
        return tuple(schema[name] for name in self._names)

    def _check_columns(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self:
                raise ColumnNotFoundError.named("column", name, self.columns)

    def __reduce__(self) -> tuple[object, ...]:
        return pickles.view_parts(self)


def _origin(index: Any) -> str:
    """Return a short string that describes an index.

    >>> _origin(slice(3, 9)), _origin([5, 2])
    ('[3:9]', '2 rows')
    """
    if index is Ellipsis:
        return "[...]"
    if isinstance(index, slice):
        ends = ["" if n is None else str(n) for n in (index.start, index.stop, index.step)]
        return f"[{':'.join(ends if index.step is not None else ends[:2])}]"
    return "mask" if np.asarray(index).dtype == bool else f"{len(index):,} rows"
