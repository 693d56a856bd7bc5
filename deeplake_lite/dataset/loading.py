"""The methods of views, and of mixes of views, that return loaders for training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, cast, overload

from deeplake_lite.dataset import lazy_calls
from deeplake_lite.dataset.keywords import with_signature

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


class Loadable:
    """The loader methods that views and mixes of views share."""

    def _with_defaults(self, options: LoaderOptions) -> LoaderOptions:
        """Return the options, with this source's defaults for keywords that the user left out."""
        return options

    @with_signature
    def batches(self, batch_size: int, **options: Unpack[LoaderOptions]) -> Loader:
        """Return a loader that yields batches of rows as dicts of arrays.

        Each epoch contains every row once, in an order that depends only on the version, the view,
        the seed and the epoch. The number of workers, the number of ranks and the memory do not
        affect the order. Each iteration over the loader starts the next epoch. To resume in the
        middle of an epoch, save `Loader.state_dict`, which is exact to the sample.

        Parameters
        ----------
        batch_size : int
            Number of rows in a batch, per rank.
        columns : sequence of str, optional
            Columns to load, all by default. Other columns are not read. A saved state can be
            resumed with other columns, except with ``shuffle="block"``.
        shuffle : bool or {"exact", "block"}
            ``"exact"`` draws a pseudorandom permutation of all rows, which our tests cannot tell
            from a uniform shuffle. ``"block"`` shuffles blocks of rows, and then the rows within
            a few blocks at a time, for lakes in remote stores, or far larger than memory. True
            chooses ``"exact"`` for up to 8 GiB of stored data, or up to `memory_budget` (with
            ``cache="disk"``, `disk_budget`) if you set a smaller one, and ``"block"`` for more. The
            loader's repr shows the choice and the reason.
        seed : int
            Seed of the order and of random transforms.
        drop_last : bool
            Short for ``last="drop"``.
        last : {"uneven", "drop", "pad"}, optional
            How to handle rows that do not fill a batch: return a smaller batch (the default on one
            rank), drop the rows, or repeat rows until all ranks have the same number of full
            batches (the default on several ranks). ``batch["_padding"]`` marks repeated rows.
        transform : callable, optional
            Function from a sample, a dict by column, to a sample. If it has a parameter ``rng``, it
            receives a `numpy.random.Generator` that depends only on the seed, the epoch and the
            row, and if a row is repeated within an epoch, on the repetition. Generators that the
            transform holds (of NumPy, `random` or torch) are seeded for each sample, so its results
            do not depend on the number of threads; each thread calls its own copy of such a
            transform. With ``workers="processes"`` or ``num_workers=0``, the global generators of
            `random`, `numpy.random` and torch are also seeded for each sample. Otherwise, threads
            share them, so random numbers that are drawn from them differ from run to run. Import
            torch at the top of the transform's module.
        batch_transform : callable, optional
            Like `transform`, but for a whole batch.
        collate : {"stack", "pad", "list", "ragged"}, mapping or callable, optional
            How to combine the values of a batch, for all columns to which it applies or by column
            name; or a function of a list of samples. By default, values are stacked if all rows
            have the same shape, and otherwise returned as a list. ``"pad"`` adds a mask, such as
            ``batch["boxes_mask"]``, which covers the axes up to the last one of variable size. It
            adds no mask if all values of the column in this version (not just those of the view)
            have the same shape, unless a transform may change it. ``"ragged"`` returns a
            `RaggedBatch`.
        size : (height, width) or mapping, optional
            Size to which images are scaled, for all image columns or by column name. JPEG files are
            decoded at the smallest sufficient scale. Masks, and boxes, keypoints and polygons in
            pixels, are scaled with the image of their row; if there are several image columns, an
            error asks which one is meant. In a `Sequence`, each item is scaled; if the images are a
            sequence, too, each item is scaled with the image of the same index.
        mode : {"RGB", "L", "RGBA"} or mapping, optional
            Mode to which 8-bit images are converted when they are read, for all image columns or by
            column name, so that grayscale and color images can be stacked. To convert for all
            readers, see `Dataset.set_mode`.
        rank, world_size : int, optional
            Index of this process, and number of processes that share each global batch. By default,
            those of torch.distributed, jax.distributed, torchrun or SLURM.
        memory_budget : int or str, optional
            Memory that the loader may use, in bytes or as ``"4GB"`` or ``"512 MiB"``. By default, a
            quarter of the free memory, and at least 64 MiB. The loader always holds three batches,
            both encoded and decoded, even if they exceed the budget: one being read, one being
            prepared and one waiting. The budget does not include chunks that are being decompressed
            and memory that transforms allocate.
        cache : {"encoded", "decoded", "disk", None}
            Form in which rows are cached for the next epoch, as far as the budget allows, or None
            to cache nothing. ``"disk"`` stores rows in files that all loaders on this machine
            share.
        disk_budget : int or str, optional
            Maximum total size of the ``cache="disk"`` files of all loaders on this machine, as
            bytes or ``"20 GB"``. By default, half of the disk space that is free or taken by these
            files. If the files do not fit, rows whose next use is furthest away are removed first.
        workers : {"threads", "processes"}
            How batches are prepared. Processes pay off for transforms in pure Python that take at
            least a few tenths of a millisecond per sample. They start with the first iteration and
            run until `Loader.close`. Functions are sent to them with pickle, so define functions in
            a module, or install cloudpickle. Rows are read in this process, so uncommitted edits
            are visible.
        num_workers : int, optional
            Number of workers. By default, the number of cores, but at most 8 threads, because more
            threads slow each other down. With 0, the calling thread does the work.
        on_error : {"raise", "skip"}
            Whether to raise an error for a row that cannot be decoded or for which the transform
            fails, or to skip the row and record it in `Loader.skipped`. Its batch then has fewer
            rows, or is padded with ``last="pad"``. A batch whose rows all fail is omitted, so
            that its rank has fewer batches than the others. If all rows of an epoch fail, iteration
            raises LoaderError.
        row_ids : bool
            Whether to add row ids as ``batch["_row_id"]``. Pass them to `Dataset.update` to write
            predictions back.
        progress : bool
            Whether to show a progress bar for each epoch.

        Returns
        -------
        Loader
            In a batch, numbers are arrays ``(batch, *shape)``, and strings, JSON and values of
            different shapes are lists. For a nullable column ``name``, an array is accompanied by
            ``batch["name_valid"]``, which is False for nulls, and a list has None for nulls.
            Columns that a transform does not change are collated as without a transform.

        Raises
        ------
        ColumnNotFoundError
            When a named column does not exist in the view.
        OptionError
            When options are invalid or contradict each other.
        LoaderError
            When functions cannot be sent to worker processes. During iteration, when a row cannot
            be decoded or a transform fails (the error names the row's id and column), or when a
            worker process dies.

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
        return lazy_calls.batches(self, batch_size=batch_size, **self._with_defaults(options))

    @with_signature
    def pytorch(
        self, batch_size: int, *, device: object = None, **options: Unpack[LoaderOptions]
    ) -> TorchLoader:
        """Return a loader like `batches` that yields PyTorch tensors.

        It replaces a DataLoader in your own training loop, in Lightning's ``Trainer.fit``, and with
        torch.distributed and Accelerate. To keep using a DataLoader, see `pytorch_dataset`.

        Parameters
        ----------
        batch_size : int
            Number of rows in a batch, per rank.
        device : torch.device or str, optional
            Device for the tensors. Copies to a GPU run while the GPU computes the previous step.
        **options
            As for `batches`.

        Returns
        -------
        TorchLoader
            Tensors share the memory of the NumPy batch. Classes are int64, as loss functions expect
            them. Times are int64 counts of the column's unit. ``collate="ragged"`` returns nested
            tensors. Images have their channels last; ``x.permute(0, 3, 1, 2)`` puts them first.

        Raises
        ------
        MissingPackageError
            When PyTorch is not installed.
        OptionError
            When options are invalid or contradict each other, or PyTorch does not find the GPU.

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
        return lazy_calls.pytorch(
            self, device, batch_size=batch_size, **self._with_defaults(options)
        )

    @with_signature
    def tensorflow(self, batch_size: int, **options: Unpack[LoaderOptions]) -> Any:
        """Return the batches that `batches` yields as a `tf.data.Dataset`.

        Parameters
        ----------
        batch_size : int
            Number of rows in a batch, per rank.
        **options
            As for `batches`.

        Returns
        -------
        tf.data.Dataset
            Each element is a dict from column names to tensors, with a static element spec. The
            dataset's attribute ``loader`` is the underlying `Loader`, with `state_dict` and
            `set_epoch`. Each iteration is the next epoch. Values of different shapes are
            ``tf.RaggedTensor``, strings and JSON are ``tf.string``, and times are int64 counts of
            their unit. Every nullable column ``name`` is accompanied by ``"name_valid"``.

        Raises
        ------
        MissingPackageError
            When TensorFlow is not installed.
        LoaderError
            When a transform fails on the first rows, from which its result types are determined.

        Notes
        -----
        Keras expects pairs: pass ``batch_transform=lambda b: (b["image"], b["label"])``, or use
        ``.map``. The batch axis is static with ``drop_last=True`` or ``last="pad"``. After a
        ``.prefetch``, `state_dict` counts prefetched batches as consumed.
        """
        return lazy_calls.tensorflow(self, batch_size=batch_size, **self._with_defaults(options))

    @with_signature
    def jax(
        self, batch_size: int, *, sharding: object = None, **options: Unpack[LoaderOptions]
    ) -> JaxLoader:
        """Return a loader like `batches` that yields JAX arrays.

        Parameters
        ----------
        batch_size : int
            Number of rows in a batch, per rank.
        sharding : jax.sharding.Sharding, optional
            Layout of the arrays over the devices of all processes. With a sharding, the last batch
            is padded.
        **options
            As for `batches`.

        Returns
        -------
        JaxLoader
            On the CPU, arrays share the memory of the NumPy batch. On other devices, the next batch
            is transferred before the current one is returned. Values of different shapes are padded
            to the largest shape in the view, with a mask ``batch["name_mask"]``. Strings stay
            lists, and times stay NumPy arrays.

        Raises
        ------
        MissingPackageError
            When JAX is not installed.
        LoaderError
            When an int64 does not fit in an int32, to which JAX is limited without x64.
        OptionError
            When batches cannot be divided evenly among the devices.

        Notes
        -----
        Without ``jax_enable_x64``, 64-bit numbers become 32-bit numbers, and row ids become a list
        of int. A smaller batch makes `jit` compile again. ``last="pad"`` avoids this, even if
        ``on_error="skip"`` skips rows; ``drop_last=True`` avoids it as long as no row is skipped.
        If a transform returns new values of different shapes, specify how to combine them, such as
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
        return lazy_calls.jax(self, sharding, batch_size=batch_size, **self._with_defaults(options))


class LoadableRows(Loadable):
    """The loader methods of a view, including those that a mix of views does not have."""

    @overload
    def pytorch_dataset(
        self, style: Literal["map"] = "map", **options: Unpack[DatasetOptions]
    ) -> TorchDataset: ...
    @overload
    def pytorch_dataset(
        self, style: Literal["iterable"], **options: Unpack[IterableOptions]
    ) -> TorchIterableDataset: ...
    def pytorch_dataset(
        self, style: str = "map", **options: Unpack[IterableOptions]
    ) -> TorchDataset | TorchIterableDataset:
        """Return the rows as a PyTorch dataset, for use with your own DataLoader.

        Parameters
        ----------
        style : {"map", "iterable"}
            ``"map"`` looks up samples by index, for samplers. ``"iterable"`` yields samples in the
            order of the epoch, divided among workers and ranks.
        columns : sequence of str, optional
            Columns of a sample, all by default. Other columns are not read.
        transform : callable, optional
            Function from a sample, a dict of NumPy values with None for null, to a sample; see
            `batches`. The global generators of `random`, `numpy.random` and torch are seeded by the
            DataLoader, not for each sample.
        size : (height, width) or mapping, optional
            Size to which images are scaled, for all image columns or by column name.
        mode : {"RGB", "L", "RGBA"} or mapping, optional
            Mode to which images are converted when they are read.
        collate : {"stack", "pad", "list", "ragged"} or mapping, optional
            How ``dataset.collate`` combines values. Pass it as ``DataLoader(collate_fn=)``.
        row_ids : bool
            Whether to add the row id as ``sample["_row_id"]``.
        seed : int
            Seed of the order and of random transforms.
        shuffle, last, rank, world_size, memory_budget
            For ``"iterable"`` only, as for `batches`. The workers share the memory budget. With
            ``last="pad"``, the default on several ranks, some ranks may get a row twice, and
            repeated rows are not marked.

        Returns
        -------
        TorchDataset or TorchIterableDataset
            Samples are dicts of tensors. Strings and JSON stay Python values, and null is None.
            The dataset can be pickled if the rows are committed.

        Raises
        ------
        MissingPackageError
            When PyTorch is not installed.
        OptionError
            When the style is unknown, or an option does not apply to the style.

        Notes
        -----
        Each worker opens the lake, which is not possible in a forked process. Pass
        ``multiprocessing_context="spawn"`` or ``"forkserver"`` to the DataLoader. The loader of
        `pytorch` needs no worker processes.

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
