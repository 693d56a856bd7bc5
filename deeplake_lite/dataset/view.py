"""Rows of one version, read-only: what every selection of rows can do, and a Dataset too.

A view pins a snapshot, or the open transaction of the handle it came from. Indexing with a name
gives a column, with an integer a row, with anything else another view.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, overload

import numpy as np

from deeplake_lite.dataset import export, show, splits, upward
from deeplake_lite.dataset.column import Column
from deeplake_lite.dataset.positions import in_brackets, is_position, one_position
from deeplake_lite.dataset.reading import read_row, read_rows
from deeplake_lite.errors import ColumnNotFoundError, UncommittedError
from deeplake_lite.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa
    import xarray as xr
    from numpy.typing import NDArray

    from deeplake_lite.dataset.upward import (
        Browser,
        JaxLoader,
        Loader,
        LoaderOptions,
        TorchDataset,
        TorchIterableDataset,
        TorchLoader,
    )
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.repo import Repository
    from deeplake_lite.storage.table import Table


@dataclass(frozen=True)
class Lake:
    """What the views of one handle share."""

    repository: Repository
    """Where the versions are."""
    options: Mapping[str, Any]
    """What the object store needs."""
    allow: tuple[str, ...] = ()
    """Roots under which linked files are read."""


class View:
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
        lake: Lake,
        table: Table,
        slots: NDArray[np.int64],
        names: tuple[str, ...],
        origin: str,
    ) -> None:
        self._lake, self._pinned, self._slots, self._names = lake, table, slots, names
        self.origin = origin
        """How the rows were chosen, such as ``"[3:9]"`` or a query."""
        self._record: Any = None  # of the query that made it

    # ---- what it is

    @property
    def url(self) -> str:
        """Where the lake is."""
        return self._lake.repository.url

    @property
    def version(self) -> str:
        """Id of the commit that the view reads, or builds on."""
        return self._table.snapshot_id

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
        table, slots = self._located()
        return table.ids(slots)

    @property
    def nbytes(self) -> int:
        """Stored size of the rows' cells, bytes."""
        table, slots = self._located()
        return sum(table.nbytes(f.id, slots) for f in self._fields())

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

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
            return self._column(index)
        if is_position(index):
            return read_row(self, self._fields(), one_position(int(index), len(self)))
        if isinstance(index, list | tuple) and index and all(isinstance(n, str) for n in index):
            return self._select(tuple(index))
        positions = in_brackets(index, len(self))
        return View(self._lake, *self._located(positions), self.columns, _origin(index))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows, read a block at a time."""
        return read_rows(self, self._fields())

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

        Where a row goes depends on its id and the seed alone, so rows that are added later do not
        move the others between the parts much: see Notes.

        Parameters
        ----------
        fractions : sequence or mapping of float
            Size of each part, by name if the parts have names; they add up to 1.
        by : str, optional
            A column whose values each part is to have in the same proportions (stratified).
        group : str, optional
            A column whose equal values are to stay in one part (grouped), such as a patient's id.
        seed : int
            Another seed, another split.

        Returns
        -------
        tuple or dict of View
            One per fraction, by name if they were named; rows in the order of this view.

        Raises
        ------
        ValueError
            For fractions that are no parts of a whole, or for both `by` and `group`.
        ColumnNotFoundError
            For a column that the view does not have.

        Notes
        -----
        Rows (or groups) are ranked by xxh3_64 of their id and the seed, and the ranking is cut at
        the fractions; with `by`, within each value.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://split-doc", {"x": "int32"})
        >>> ds.append({"x": range(10)})
        >>> train, val = ds.split([0.8, 0.2], seed=1)
        >>> len(train), len(val)
        (8, 2)
        >>> parts = ds.split({"train": 0.5, "val": 0.5})
        >>> len(parts["val"])
        5
        """
        if isinstance(fractions, Mapping):
            parts = self.split(list(fractions.values()), by=by, group=group, seed=seed)
            return {n: part._called(f"split {n}") for n, part in zip(fractions, parts, strict=True)}
        found = splits.split(self, fractions, by=by, group=group, seed=seed)
        return tuple(self[rows]._called(f"split {i}") for i, rows in enumerate(found))

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table.

        Returns
        -------
        pyarrow.Table
            Numbers and times as primitives, classes as a dictionary of their names, vectors as
            fixed-size lists, arrays of one shape as Arrow's tensors (``to_numpy_ndarray`` gives
            them back), boxes and other arrays of varying shape as nested lists, files as the bytes
            that are stored, text and JSON as strings, links as their address. The metadata of each
            field holds the configuration of its type.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> schema = {"label": dl.ClassLabel(["a", "b"]), "v": dl.Embedding(2)}
        >>> ds = dl.create("memory://arrow-doc", schema)
        >>> ds.append({"label": [1, 0], "v": [[1, 2], [3, 4]]})
        >>> ds.to_arrow().to_pylist()
        [{'label': 'b', 'v': [1.0, 2.0]}, {'label': 'a', 'v': [3.0, 4.0]}]
        """
        return export.to_arrow(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a DataFrame.

        Returns
        -------
        pandas.DataFrame
            Nullable columns in pandas' nullable dtypes, classes as categories, text as strings,
            arrays as one ndarray per row. Pictures stay encoded, as bytes: ``ds["image"][i]``
            decodes one.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> schema = {"x": dl.Scalar("int8", nullable=True), "t": "text"}
        >>> ds = dl.create("memory://pandas-doc", schema)
        >>> ds.append({"x": [1, None], "t": ["a", "b"]})
        >>> ds.to_pandas()
              x  t
        0     1  a
        1  <NA>  b
        """
        return export.to_pandas(self)

    def to_xarray(self) -> xr.Dataset:
        """Return the columns of fixed shape as lazy variables over a ``row`` dimension.

        Returns
        -------
        xarray.Dataset
            Nothing is read before it is asked for. Null is NaN (integers become floats), NaT, or
            -1 for a class. The coordinate ``row_id`` has the rows' ids; the attribute
            ``ragged_columns`` names the columns left out.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://to-xarray-doc", {"v": dl.Embedding(2), "t": "text"})
        >>> ds.append({"v": [[1, 2], [3, 4]], "t": ["a", "b"]})
        >>> ds.to_xarray()["v"][:, 1].values
        array([2., 4.], dtype=float32)
        """
        return export.to_xarray(self)

    def to_folder(
        self, path: str | Path, *, image: str | None = None, label: str | None = None
    ) -> Path:
        """Write the samples of an image column as files, a folder per class, and the rest as a CSV.

        Parameters
        ----------
        path : str or Path
            A folder that is new or empty.
        image : str, optional
            Column of the samples, written as they are stored; the only image column if left out.
        label : str, optional
            Column that names the folders; the only one of classes if left out.

        Returns
        -------
        Path
            The folder: ``tulip/000041.jpg`` for row 41, and ``metadata.csv`` with all columns of
            each row beside its ``file_name``: boxes, vectors and lists as JSON; other files, pixels
            and arrays by the path of a file below ``_columns``.

        Raises
        ------
        ExistsError
            When the folder holds something.
        SchemaError
            When there are several columns to choose from, or none.

        Examples
        --------
        >>> import deeplake_lite as dl, tempfile
        >>> schema = {"image": "image", "label": dl.ClassLabel(["rose"])}
        >>> ds = dl.create("memory://folder-doc", schema)
        >>> ds.append({"image": [np.zeros((4, 4), "uint8")], "label": ["rose"]})
        >>> root = ds.to_folder(tempfile.mkdtemp())
        >>> sorted(p.relative_to(root).as_posix() for p in root.rglob("*.*"))
        ['metadata.csv', 'rose/000000.png']
        """
        return export.to_folder(self, path, image=image, label=label)

    def query(
        self,
        text: str,
        params: Sequence[Any] | Mapping[str, Any] = (),
        *,
        sources: Mapping[str, View] | None = None,
    ) -> View:
        """Answer a question in the tensor query language with another view.

        Parameters
        ----------
        text : str
            A SELECT. Without FROM, and by the names ``dataset`` and ``ds``, it asks this view;
            FROM also takes the URLs of lakes.
        params : sequence or mapping
            Values of ``?`` in order, or of ``$name``: numbers, texts, dates, arrays.
        sources : mapping, optional
            Other views by the names that FROM has for them.

        Returns
        -------
        View
            Rows of this view, or new rows where the query makes some. Columns and tensors are read
            when they are looked at.

        Raises
        ------
        QuerySyntaxError
            With the line and a caret.
        QueryTypeError
            For values of the wrong kind or shape.
        ColumnNotFoundError, NotFoundError
            For a column or a function that there is not, with the nearest names.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://query-doc", {"x": "int32", "v": dl.Embedding(2)})
        >>> ds.append({"x": [1, 2, 3], "v": [[1, 0], [0, 1], [3, 4]]})
        >>> ds.query("SELECT x WHERE L2_NORM(v) > ? OR x = 1", [2])["x"][:]
        array([1, 3], dtype=int32)
        >>> ds.query("SELECT x % 2 AS odd, MEAN(v) AS v GROUP BY odd ORDER BY odd")["v"][:]
        array([[0., 1.],
               [2., 2.]], dtype=float32)
        """
        return upward.query(self, text, params, sources)

    async def query_async(
        self,
        text: str,
        params: Sequence[Any] | Mapping[str, Any] = (),
        *,
        sources: Mapping[str, View] | None = None,
    ) -> View:
        """Answer as `query` does, in a thread; a task that is cancelled ends the query.

        Examples
        --------
        >>> import asyncio
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://query-async-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2, 3]})
        >>> asyncio.run(ds.query_async("SELECT x WHERE x > 1"))["x"][:]
        array([2, 3], dtype=int32)
        """
        return await upward.query_async(self, text, params, sources)

    def suspects(
        self,
        label: str,
        by: Literal["embedding", "scores"] = "embedding",
        *,
        column: str | None = None,
        neighbours: int = 10,
    ) -> View:
        """Rank the rows by how likely their label is wrong, the most suspicious first.

        Parameters
        ----------
        label : str
            Column of one label per row: classes, texts or numbers.
        by : {"embedding", "scores"}
            What contradicts a label: the labels of the nearest vectors, by cosine, or what a model
            that did not see the row gives each class.
        column : str, optional
            Column of the vectors, or of the probabilities, one per class. Left out: the one called
            as `by` is, or the only one of its kind.
        neighbours : int
            Vectors that have a say about a label.

        Returns
        -------
        View
            The rows that have a label and a vector, with two columns more: ``suspicion``, 0 to 1,
            and ``suggested``, the label that speaks most for itself; it is the row's own where
            nothing speaks against that.

        Raises
        ------
        ColumnNotFoundError
            For a column that the view does not have.
        SchemaError
            For columns of other types, or when several may be meant.
        InvalidValueError
            For scores that are no probabilities.

        Notes
        -----
        Neighbours are exact up to 16,384 rows; beyond, each row is compared with the 1,024 of the
        nearest clusters. By scores it is confident learning: Northcutt, Jiang, Chuang (JAIR 2021),
        https://arxiv.org/abs/1911.00068; by neighbours see Bahri, Jiang, Gupta (ICML 2020),
        https://arxiv.org/abs/2004.12289.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> schema = {"label": dl.ClassLabel(["x", "y"]), "embedding": dl.Embedding(2)}
        >>> ds = dl.create("memory://suspects-doc", schema)
        >>> vectors = [[9, 1], [9, 2], [9, 3], [9, 0], [1, 9], [2, 9], [3, 9], [0, 9]]
        >>> ds.append({"label": ["x", "x", "x", "y", "y", "y", "y", "y"], "embedding": vectors})
        >>> found = ds.suspects("label", neighbours=3)
        >>> found[0]["label"], found[0]["suggested"], found[0]["suspicion"]
        (np.int32(1), np.int32(0), np.float32(1.0))
        >>> len(found.query("SELECT * WHERE suggested != label"))
        1
        """
        return upward.suspects(self, label, by, column, neighbours)

    def batches(
        self,
        batch_size: int,
        *,
        columns: Sequence[str] | None = None,
        shuffle: bool | str = False,
        seed: int = 0,
        drop_last: bool = False,
        last: str | None = None,
        transform: Callable[..., Any] | None = None,
        batch_transform: Callable[..., Any] | None = None,
        collate: str | Mapping[str, str] | Callable[[list[Any]], Any] | None = None,
        size: tuple[int, int] | Mapping[str, tuple[int, int]] | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        memory_budget: int | None = None,
        cache: str | None = "encoded",
        workers: str = "threads",
        num_workers: int | None = None,
        on_error: str = "raise",
        row_ids: bool = False,
        progress: bool = False,
    ) -> Loader:
        """Return a loader: batches of the rows as dicts of arrays, epoch after epoch.

        Every row comes once an epoch, in an order that depends on the version, the view, the seed
        and the epoch alone: not on the number of workers or ranks, nor on memory. Each `iter` is
        the next epoch; `Loader.state_dict` is where it is, to the sample.

        Parameters
        ----------
        batch_size : int
            Rows of a batch, per rank.
        columns : sequence of str, optional
            Those of a batch, all if left out. Others are not read.
        shuffle : bool or {"exact", "block"}
            ``"exact"``: any order is as likely as any other. ``"block"``: blocks of rows, and then
            rows within some blocks: for lakes far larger than memory, or far away. True: exact up
            to 8 GiB as stored. The loader's repr says which and why.
        seed : int
            Of the order, and of what transforms draw.
        drop_last : bool
            ``last="drop"``.
        last : {"uneven", "drop", "pad"}, optional
            What becomes of rows that do not fill a batch: a smaller batch (as on one rank), none,
            or rows repeated and marked in ``batch["_padding"]``, so that all ranks get as many
            batches (as on several).
        transform : callable, optional
            From a sample, a dict by column, to a sample. One with a parameter ``rng`` gets a
            `numpy.random.Generator` that depends on seed, epoch and row alone. One without draws
            from the generators of `random`, `numpy.random` and torch: in threads, which share
            them, what it draws differs from run to run. With ``workers="processes"`` they are
            seeded for each sample, so that it does not; import torch at the top of its module.
        batch_transform : callable, optional
            The same for a batch.
        collate : {"stack", "pad", "list", "ragged"}, mapping or callable, optional
            How values go together, of all columns that it fits or by name; or a function of a list
            of samples. Left out: stacked where all rows have one shape, a list otherwise. ``"pad"``
            adds a mask, ``batch["boxes_mask"]``, with the axes up to the last whose size the type
            leaves open; ``"ragged"`` gives a `RaggedBatch`.
        size : (height, width) or mapping, optional
            Brings pictures to one size, of all image columns or by name; a JPEG is decoded at the
            least scale that will do.
        rank, world_size : int, optional
            Which share of each batch of all ranks; found under torch.distributed, jax.distributed,
            torchrun and SLURM.
        memory_budget : int, optional
            Bytes that may be held; a quarter of what is free if left out.
        cache : {"encoded", "decoded", "disk", None}
            What is kept of the rows for the next epoch, as far as the budget goes.
        workers : {"threads", "processes"}
            Who makes batches. Processes are for transforms in pure Python, of at least some tenths
            of a millisecond per sample; they are started by the first `iter`, and stay until
            `Loader.close`. Functions are sent to them: they are to be of a module, or cloudpickle
            installed. The rows are read here, so edits need not be committed.
        num_workers : int, optional
            How many, as many as there are cores if left out; 0 for none but the caller.
        on_error : {"raise", "skip"}
            Whether a row that does not decode, or that the transform fails on, raises, or is left
            out and noted in `Loader.skipped`. A batch of which no row is left is left out.
        row_ids : bool
            Whether batches have the rows' ids, as ``batch["_row_id"]``.
        progress : bool
            Whether a bar shows how far the epoch is.

        Returns
        -------
        Loader
            Numbers as arrays ``(batch, *shape)``; text, JSON, and what has no one shape, as lists.
            A nullable column brings ``batch["name_valid"]``, False where null.

        Raises
        ------
        ColumnNotFoundError
            For a column that the view does not have.
        ValueError
            For options that contradict each other.
        LoaderError
            As batches are made: for a row that does not decode, or that the transform fails on,
            with its id and column; for a worker process that died. For functions that cannot be
            sent to worker processes.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://batches-doc", {"x": "int32", "name": "text"})
        >>> ds.append({"x": range(5), "name": list("abcde")})
        >>> loader = ds.batches(2, shuffle=True, seed=1)
        >>> for batch in loader:
        ...     print(batch["x"], batch["name"])
        [3 0] ['d', 'a']
        [1 2] ['b', 'c']
        [4] ['e']
        """
        options = dict(locals())
        return upward.batches(options.pop("self"), **options)

    def pytorch(
        self, batch_size: int, *, device: Any = None, **options: Unpack[LoaderOptions]
    ) -> TorchLoader:
        """Return a loader as `batches` does, of tensors of PyTorch.

        It takes the place of a DataLoader: in a loop, in Lightning's ``Trainer.fit``, under
        torch.distributed and Accelerate. `pytorch_dataset` is for those who keep theirs.

        Parameters
        ----------
        batch_size : int
            Rows of a batch, per rank.
        device : torch.device or str, optional
            Where tensors are to be: copied to a GPU while the step before is computed.
        **options
            As for `batches`.

        Returns
        -------
        TorchLoader
            Tensors share the memory of the NumPy batch. Classes are int64, as losses want them;
            times are int64, counts of the column's unit; ``collate="ragged"`` gives nested tensors;
            pictures have their channels last, ``x.permute(0, 3, 1, 2)`` puts them first.

        Raises
        ------
        MissingPackageError
            Where PyTorch is not installed.
        ValueError
            For options that contradict each other, or a GPU that PyTorch does not see.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://pytorch-doc", {"x": "float32", "label": dl.ClassLabel(["a"])})
        >>> ds.append({"x": [1, 2, 3], "label": ["a", "a", "a"]})
        >>> for batch in ds.pytorch(2):
        ...     print(batch["x"], batch["label"])
        tensor([1., 2.]) tensor([0, 0])
        tensor([3.]) tensor([0])
        """
        return upward.pytorch(self, device, batch_size=batch_size, **options)

    @overload
    def pytorch_dataset(
        self,
        style: Literal["map"] = "map",
        *,
        columns: Sequence[str] | None = None,
        transform: Callable[..., Any] | None = None,
        size: tuple[int, int] | Mapping[str, tuple[int, int]] | None = None,
        collate: str | Mapping[str, str] | None = None,
        seed: int = 0,
    ) -> TorchDataset: ...
    @overload
    def pytorch_dataset(
        self,
        style: Literal["iterable"],
        *,
        columns: Sequence[str] | None = None,
        transform: Callable[..., Any] | None = None,
        size: tuple[int, int] | Mapping[str, tuple[int, int]] | None = None,
        collate: str | Mapping[str, str] | None = None,
        seed: int = 0,
        shuffle: bool | str = False,
        last: str | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        memory_budget: int | None = None,
    ) -> TorchIterableDataset: ...
    def pytorch_dataset(self, style: str = "map", **options: Any) -> Any:
        """Return the rows as a dataset for a DataLoader of one's own.

        Parameters
        ----------
        style : {"map", "iterable"}
            By number, for samplers; or one after the other, shared among workers and ranks.
        columns : sequence of str, optional
            Those of a sample, all if left out. Others are not read.
        transform : callable, optional
            From a sample, a dict of NumPy values with None for null, to a sample; see `batches`.
        size : (height, width) or mapping, optional
            Brings pictures to one size, of all image columns or by name.
        collate : {"stack", "pad", "list", "ragged"} or mapping, optional
            How ``dataset.collate``, meant for ``DataLoader(collate_fn=)``, puts values together.
        seed : int
            Of the order, and of what transforms draw.
        shuffle, last, rank, world_size, memory_budget
            Of ``"iterable"`` alone, as for `batches`; workers share the memory. With
            ``last="pad"``, as on several ranks, some get a row twice, which is not marked.

        Returns
        -------
        TorchDataset or TorchIterableDataset
            Samples are dicts of tensors; text and JSON are as they are, and null is None. It can
            be pickled, once the rows are committed.

        Raises
        ------
        MissingPackageError
            Where PyTorch is not installed.
        ValueError
            For another style, or an option that the style does not have.

        Notes
        -----
        Workers open the lake for themselves, which a forked process cannot: give the DataLoader
        ``multiprocessing_context="spawn"`` or ``"forkserver"``. `pytorch` needs no workers.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> from torch.utils.data import DataLoader
        >>> ds = dl.create("memory://pytorch-dataset-doc", {"x": "int32", "name": "text"})
        >>> ds.append({"x": [1, 2, 3], "name": ["a", "b", "c"]})
        >>> dataset = ds.pytorch_dataset()
        >>> for batch in DataLoader(dataset, batch_size=2, collate_fn=dataset.collate):
        ...     print(batch)
        {'x': tensor([1, 2], dtype=torch.int32), 'name': ['a', 'b']}
        {'x': tensor([3], dtype=torch.int32), 'name': ['c']}
        """
        return upward.pytorch_dataset(self, style, **options)

    def tensorflow(self, batch_size: int, **options: Unpack[LoaderOptions]) -> Any:
        """Return batches as `batches` gives them as a `tf.data.Dataset`.

        Parameters
        ----------
        batch_size : int
            Rows of a batch, per rank.
        **options
            As for `batches`.

        Returns
        -------
        tf.data.Dataset
            Of dicts by column, with a static element spec; its attribute ``loader`` is the `Loader`
            behind it, with `state_dict` and `set_epoch`. Each iteration is the next epoch. What
            differs in shape is ``tf.RaggedTensor``; text and JSON are ``tf.string``, times int64
            counts of their unit. A nullable column brings ``"name_valid"``.

        Raises
        ------
        MissingPackageError
            Where TensorFlow is not installed.
        LoaderError
            For a transform that fails on the first rows, which show what it gives.

        Notes
        -----
        Keras wants pairs: ``batch_transform=lambda b: (b["image"], b["label"])``, or the same with
        ``.map``. The batch axis is static with ``drop_last=True`` or ``last="pad"``. A
        ``.prefetch`` behind takes batches that `state_dict` then counts as handed out.
        """
        return upward.tensorflow(self, batch_size=batch_size, **options)

    def jax(
        self, batch_size: int, *, sharding: Any = None, **options: Unpack[LoaderOptions]
    ) -> JaxLoader:
        """Return a loader as `batches` does, of arrays of JAX.

        Parameters
        ----------
        batch_size : int
            Rows of a batch, per rank.
        sharding : jax.sharding.Sharding, optional
            How arrays are laid out over devices, of all processes. The last batch is padded then.
        **options
            As for `batches`.

        Returns
        -------
        JaxLoader
            Arrays share the memory of the NumPy batch where the device is the CPU; the next batch
            is brought to the device before this one is handed over. What differs in shape is
            padded to the largest of the view and has ``batch["name_mask"]``; text stays a list,
            and times stay NumPy's.

        Raises
        ------
        MissingPackageError
            Where JAX is not installed.
        LoaderError
            For an int64 that does not fit int32, which is what JAX has without x64.
        ValueError
            For batches that do not divide over the devices.

        Notes
        -----
        Without ``jax_enable_x64``, 64-bit numbers become 32-bit ones, and row ids a list of int. A
        smaller last batch makes `jit` compile again: ``drop_last=True`` or ``last="pad"`` avoid it.
        Behind a transform, say how what differs in shape goes together:
        ``collate={"boxes": "pad"}``.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://jax-doc", {"x": "float32", "boxes": dl.Boxes()})
        >>> ds.append({"x": [1, 2], "boxes": [[[0, 0, 9, 9]], []]})
        >>> for batch in ds.jax(2):
        ...     print(batch["x"] + 1, batch["boxes_mask"].tolist())
        [2. 3.] [[True], [False]]
        """
        return upward.jax(self, sharding, batch_size=batch_size, **options)

    def explain(self) -> str:
        """Return how the view came about: the plan of its query, with rows and times.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://explain-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 2, 3]})
        >>> print(ds.query("SELECT x WHERE x > 1").explain())
        result [3 -> 2 rows, ... ms]
        ├─ read when looked at      x
        └─ sql  SELECT t1.row AS c0 FROM t1 WHERE (t1.x > 1)
           ├─ t1 = dataset, 3 rows: x [3 -> 3 rows, 12 B read, ... ms]
        """
        return upward.explain(self)

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
        NotFoundError
            For what is no name.

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
        from deeplake_lite.dataset import saved

        saved.save(self, name, overwrite=overwrite)

    def materialize(self, url: str, *, message: str = "materialized") -> Any:
        """Write the rows contiguously as a lake of their own.

        Encoded samples are copied byte for byte, and rows keep their ids, unless one comes twice.

        Parameters
        ----------
        url : str
            A new or empty place, as for `create`.
        message : str
            Of the commit.

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
        from deeplake_lite.dataset import saved

        return saved.materialize(self, url, message)

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
        return upward.browse(self, cache_bytes=cache_bytes)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.columns)

    def __repr__(self) -> str:
        return show.view_text(self)

    def _repr_html_(self) -> str:
        return show.view_html(self)

    # ---- within the package

    @property
    def _table(self) -> Table:
        return self._pinned

    def _live(self) -> NDArray[np.int64]:
        """Return the slots of the rows."""
        return self._located()[1]

    def _at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the slots of some rows."""
        return self._located(positions)[1]

    def _located(
        self, positions: NDArray[np.int64] | None = None
    ) -> tuple[Table, NDArray[np.int64]]:
        """Return a table and the slots in it of some rows, or of all: slots mean nothing elsewhere.

        A handle's table may be another one a moment later, when a thread commits.
        """
        return self._pinned, self._slots if positions is None else self._slots[positions]

    def _fields(self) -> tuple[Field, ...]:
        schema = self._table.schema
        return tuple(schema[name] for name in self._names)

    def _column(self, name: str) -> Column:
        if name not in self.columns:
            raise ColumnNotFoundError.named("column", name, self.columns)
        return Column(self, name)

    def _select(self, names: tuple[str, ...]) -> View:
        for name in names:
            self._column(name)
        return View(self._lake, *self._located(), names, self.origin)

    def _taken(self, slots: NDArray[np.int64], names: tuple[str, ...], origin: str) -> View:
        """Return some slots of the same table."""
        taken = View(self._lake, self._table, slots, names, origin)
        taken._record = self._record
        return taken

    def __reduce__(self) -> tuple[Any, ...]:
        from deeplake_lite.dataset import pickles

        return pickles.view_parts(self)

    def _called(self, origin: str) -> Self:
        self.origin = origin
        return self

    def _check_committed(self, purpose: str) -> None:
        """Refuse what only a commit can stand behind. Raises UncommittedError."""
        if self._table.edits:
            raise UncommittedError(
                f"{purpose} needs a version that stays. Commit first: ds.commit('…')."
            )


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
