"""What makes loaders for training, of a view or of a mix of views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, cast, overload

from deeplake_lite.dataset import lazy_calls
from deeplake_lite.dataset.keywords import signed

if TYPE_CHECKING:
    from deeplake_lite.dataset.keywords import DatasetOptions, IterableOptions, LoaderOptions
    from deeplake_lite.dataset.lazy_calls import (
        JaxLoader,
        Loader,
        TorchDataset,
        TorchIterableDataset,
        TorchLoader,
    )
    from deeplake_lite.dataset.view import View


class Loads:
    """The methods of a view, and of a mix of views, that make loaders."""

    def _with_own(self, options: LoaderOptions) -> LoaderOptions:
        """Return keywords with those that this sets where they are left out."""
        return options

    @signed
    def batches(self, batch_size: int, **options: Unpack[LoaderOptions]) -> Loader:
        """Return a loader: batches of the rows as dicts of arrays, epoch after epoch.

        Every row comes once an epoch, in an order that depends on the version, the view, the seed
        and the epoch alone: not on the number of workers or ranks, nor on memory. Each time
        through is the next epoch, which starts at its first batch; `Loader.state_dict` is where it
        is, to the sample.

        Parameters
        ----------
        batch_size : int
            Rows of a batch, per rank.
        columns : sequence of str, optional
            Those of a batch, all if left out. Others are not read. A state goes on with others.
        shuffle : bool or {"exact", "block"}
            ``"exact"``: a pseudorandom permutation of all rows, statistically indistinguishable
            from a uniform shuffle in our tests. ``"block"``: blocks of rows, and then rows within
            some blocks: for lakes far larger than memory, or far away. True: exact up to 8 GiB as
            stored. The loader's repr says which and why.
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
            `numpy.random.Generator` that depends on seed, epoch and row alone. Generators that a
            transform holds itself (of NumPy, `random` or torch) are seeded for each sample, so that
            it draws the same, however many threads there are; threads call copies of such an
            object. The global generators of `random`, `numpy.random` and torch are seeded for each
            sample with ``workers="processes"`` and ``num_workers=0``. Threads share them, so what
            is drawn from them there differs from run to run. Import torch at the top of its module.
        batch_transform : callable, optional
            The same for a batch.
        collate : {"stack", "pad", "list", "ragged"}, mapping or callable, optional
            How values go together, of all columns that it fits or by name; or a function of a list
            of samples. Left out: stacked where all rows have one shape, a list otherwise. ``"pad"``
            adds a mask, ``batch["boxes_mask"]``, with the axes up to the last whose size the type
            leaves open. There is none for a column whose values all have one shape in this version,
            whatever the view, unless a transform may change that. ``"ragged"`` gives a
            `RaggedBatch`.
        size : (height, width) or mapping, optional
            Brings pictures to one size, of all image columns or by name; a JPEG is decoded at the
            least scale that will do. Boxes, keypoints and polygons in pixels, and masks, follow the
            picture of their row; with several columns of pictures it is not clear which, and an
            error says so. In a `Sequence` each item does; where the pictures are a sequence, too,
            items follow the picture of their number.
        mode : {"RGB", "L", "RGBA"} or mapping, optional
            Converts pictures as they are read, of all image columns or by name: grey ones and ones
            in colour then go together. 8-bit pictures only. `Dataset.set_mode` does so for good.
        rank, world_size : int, optional
            Which share of each batch of all ranks; found under torch.distributed, jax.distributed,
            torchrun and SLURM.
        memory_budget : int or str, optional
            Bytes that may be held, also as ``"4GB"`` or ``"512 MiB"``; a quarter of what is free if
            left out, and 64 MiB at least. Three batches are held even where they take more, as
            they are stored and as they are decoded: one is read, one is made, one waits. Chunks
            that are being decompressed, and memory that a transform takes, come on top.
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
            out and noted in `Loader.skipped`. Its batch has fewer rows then; with ``last="pad"`` it
            is filled up. A batch of which no row is left is left out.
        row_ids : bool
            Whether batches have the rows' ids, as ``batch["_row_id"]``: what `Dataset.update` takes
            to write predictions back.
        progress : bool
            Whether a bar shows how far the epoch is.

        Returns
        -------
        Loader
            Numbers as arrays ``(batch, *shape)``; text, JSON, and what has no one shape, as lists.
            A nullable column that is an array brings ``batch["name_valid"]``, False where null; a
            list has None there. What a transform hands on as it got it is put together as ever.

        Raises
        ------
        ColumnNotFoundError
            For a column that the view does not have.
        OptionError
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
        return lazy_calls.batches(self, batch_size=batch_size, **self._with_own(options))

    @signed
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
        OptionError
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
        return lazy_calls.pytorch(self, device, batch_size=batch_size, **self._with_own(options))

    @signed
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
            counts of their unit. Every nullable column brings ``"name_valid"``.

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
        return lazy_calls.tensorflow(self, batch_size=batch_size, **self._with_own(options))

    @signed
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
        OptionError
            For batches that do not divide over the devices.

        Notes
        -----
        Without ``jax_enable_x64``, 64-bit numbers become 32-bit ones, and row ids a list of int. A
        smaller batch makes `jit` compile again: ``last="pad"`` avoids it, also where
        ``on_error="skip"`` leaves rows out; ``drop_last=True`` avoids it where nothing is left out.
        Of what a transform makes anew, say how what differs in shape goes together:
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
        return lazy_calls.jax(self, sharding, batch_size=batch_size, **self._with_own(options))


class LoadsRows(Loads):
    """The methods of a view alone."""

    @overload
    def pytorch_dataset(
        self, style: Literal["map"] = "map", **options: Unpack[DatasetOptions]
    ) -> TorchDataset: ...
    @overload
    def pytorch_dataset(
        self, style: Literal["iterable"], **options: Unpack[IterableOptions]
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
            The global generators of `random`, `numpy.random` and torch are the DataLoader's here:
            nothing seeds them for each sample.
        size : (height, width) or mapping, optional
            Brings pictures to one size, of all image columns or by name.
        mode : {"RGB", "L", "RGBA"} or mapping, optional
            Converts pictures as they are read.
        collate : {"stack", "pad", "list", "ragged"} or mapping, optional
            How ``dataset.collate``, meant for ``DataLoader(collate_fn=)``, puts values together.
        row_ids : bool
            Whether samples have the row's id, as ``sample["_row_id"]``.
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
        OptionError
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
        return lazy_calls.pytorch_dataset(cast("View", self), style, **options)
