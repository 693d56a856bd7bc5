"""Rows of one version, read-only: what every selection of rows can do, and a Dataset too.

A view pins a snapshot, or the open transaction of the handle it came from, as it was then. Indexing
with a name gives a column, with an integer a row, with anything else another view.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from deeplake_lite.dataset import lazy_calls
from deeplake_lite.dataset.column import Column
from deeplake_lite.dataset.export.methods import Exports
from deeplake_lite.dataset.loading import LoadsRows
from deeplake_lite.dataset.querying import Asks
from deeplake_lite.dataset.read.positions import in_brackets, is_position, one_position
from deeplake_lite.dataset.read.reading import read_row, read_rows
from deeplake_lite.dataset.read.values import owned
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


class View(LoadsRows, Exports, Asks):
    """Some rows and columns of one version of a lake.

    Views come from indexing a dataset; nobody makes them by hand.

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
        """How the rows were chosen, such as ``"[3:9]"`` or a query."""
        self.record = record
        """How a query made the view, for `explain`; None for rows that were chosen directly."""

    # ---- what it is

    @property
    def url(self) -> str:
        """Where the lake is."""
        return self.rows.lake.repository.url

    @property
    def version(self) -> str:
        """Id of the commit that the view reads, or builds on."""
        return self.rows.table.snapshot_id

    @property
    def schema(self) -> Schema:
        """The view's columns, in order."""
        return Schema(self._fields())

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the view's columns."""
        return tuple(f.name for f in self._fields())

    @property
    def row_ids(self) -> NDArray[np.int64]:
        """Ids of the rows, (n,) int64: the same on every branch and in every version."""
        table, slots = self.rows.locate()
        return owned(table.ids(slots))

    @property
    def rows(self) -> RowSelection:
        """The rows as storage has them at this moment: for code that reads cells itself."""
        return self._rows

    @property
    def nbytes(self) -> int:
        """Stored size of the rows' cells, bytes."""
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
        """Return a column (by name), a row (by position), or a view (slice, list, mask, names)."""
        if isinstance(index, str):
            self._check_columns([index])
            return Column(self, index)
        view = self.pin()
        if is_position(index):
            return read_row(view, view.schema.fields, one_position(int(index), len(view)))
        if isinstance(index, list | tuple) and index and all(isinstance(n, str) for n in index):
            return view.select(tuple(index))
        positions = in_brackets(index, len(view))
        return View(view.rows.take(positions), view.columns, _origin(index))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows, read a block at a time."""
        view = self.pin()
        return read_rows(view, view.schema.fields)

    # ---- going elsewhere

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
        """Split the rows, the same way wherever the same rows are.

        Where a row goes depends on the rows that there are, their ids, and the seed: not on their
        order, the version, or the machine.

        Parameters
        ----------
        fractions : sequence or mapping of float
            Size of each part, by name if the parts have names; they add up to 1.
        by : str, optional
            A column whose values each part is to have in the same proportions (stratified). Rows
            may have several: ``ClassLabel(multiple=True)``, lists.
        group : str, optional
            A column whose equal values are to stay in one part (grouped), such as a patient's id.
            Goes together with `by`.
        seed : int
            Another seed, another split.

        Returns
        -------
        tuple or dict of View
            One per fraction, by name if they were named; rows in the order of this view.

        Raises
        ------
        OptionError
            For fractions that are no parts of a whole, and where a part would be empty, unless its
            fraction is 0.
        ColumnNotFoundError
            For a column that the view does not have.

        Notes
        -----
        Parts have the size that their fractions say, to the row: what does not divide goes by
        largest remainder, over all classes together, so that many small classes do not all miss the
        small part. Of each class, a part has its share rounded down or up. With several labels per
        row, this holds for the parts' sizes, and labels are as close as iterative stratification
        [1]_ brings them; groups are never cut, so that sizes are as close as groups allow. A row
        that the view has twice stays in one part.

        Since sizes are exact, rows that are added or deleted move some of the others. The parts are
        cut from a ranking of the rows by a hash of id and seed, so that only rows next to a cut
        move: about as many as were added, and with `by` at most about one more of each class. With
        `group` or several labels per row, more may move. To keep parts for good, store them in a
        column, or `save` them.

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
        """Cut the rows into k folds, for cross-validation: each is the test set once.

        Parameters
        ----------
        k : int
            How many, at least 2.
        by, group, seed
            As for `split`.

        Returns
        -------
        tuple of Fold
            Pairs of views, ``train`` and ``test``. Each row is in one ``test`` and in all other
            ``train``.

        Raises
        ------
        OptionError
            Where a fold would be empty: for fewer rows, or groups, than folds.
        ColumnNotFoundError
            For a column that the view does not have.

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
        """Keep the view under a name, with the lake: its version, its rows and its origin.

        `Dataset.views` lists what is kept, and opens it by name. It is no new version of the data.

        Parameters
        ----------
        name : str
            Not empty, without a slash.
        overwrite : bool
            Whether a view of that name is replaced.

        Raises
        ------
        ExistsError
            When there is a view of that name, unless it is to be overwritten.
        UncommittedError
            When the view has edits that are not committed.
        InvalidValueError
            For a name that is empty or has a slash, and for a view of no lake.

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
        storage_options: Mapping[str, Any] | None = None,
    ) -> Any:
        """Write the rows contiguously as a lake of their own.

        Encoded samples are copied byte for byte, and rows keep their ids, unless one comes twice.

        Parameters
        ----------
        url : str
            A new or empty place, as for `create`.
        message : str
            Of the commit.
        storage_options : mapping, optional
            What an object store needs for `url`, as for `dl.open`.

        Returns
        -------
        Dataset
            The copy, on its branch ``main``.

        Raises
        ------
        ExistsError
            Where there is something already.

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
        """Return a browser for the notebook: look, filter, select, mend and commit.

        Parameters
        ----------
        cache_bytes : int
            Memory that small pictures may take.

        Returns
        -------
        Browser
            A widget. Its ``query``, ``view`` and ``selected`` can be read, set and observed;
            ``selected_view()`` gives the selected rows.

        Notes
        -----
        It needs no server and no network; what it shows stays in the notebook's kernel. Rows are
        those of now: `Browser.refresh` takes what was added since.

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
        """Return a view of the rows as they are now, which later edits and commits don't change."""
        return self

    def select(self, names: tuple[str, ...]) -> View:
        """Return the same rows with some columns, which may be none.

        Raises
        ------
        ColumnNotFoundError
            For a column that the view does not have.
        """
        self._check_columns(names)
        return View(self.rows, names, self.origin)

    def field(self, name: str) -> Field:
        """Return the schema's entry for a column.

        Raises
        ------
        ColumnNotFoundError
            For a column that the view does not have.
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

    def __reduce__(self) -> tuple[Any, ...]:
        return pickles.view_parts(self)


def _origin(index: Any) -> str:
    """Return a short text for an index.

    >>> _origin(slice(3, 9)), _origin([5, 2])
    ('[3:9]', '2 rows')
    """
    if index is Ellipsis:
        return "[...]"
    if isinstance(index, slice):
        ends = ["" if n is None else str(n) for n in (index.start, index.stop, index.step)]
        return f"[{':'.join(ends if index.step is not None else ends[:2])}]"
    return "mask" if np.asarray(index).dtype == bool else f"{len(index):,} rows"
