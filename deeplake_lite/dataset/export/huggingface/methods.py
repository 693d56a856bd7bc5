"""The export methods for Hugging Face."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from deeplake_lite.dataset.export import rows

if TYPE_CHECKING:
    from pathlib import Path

    from deeplake_lite.dataset.view import View


class HuggingFaceExports:
    """Methods of a view that export its rows for Hugging Face."""

    def to_huggingface(self) -> Any:
        """Return the rows as a Hugging Face dataset, in memory.

        Returns
        -------
        datasets.Dataset
            Classes are ClassLabel, images are Image (with the encoded bytes), arrays of fixed shape
            are Array2D to Array5D, and JSON is Json. Other values are numbers, strings, lists and
            structs, as in `to_arrow`.

        Raises
        ------
        MissingPackageError
            If ``datasets`` is not installed.

        Warns
        -----
        ExportWarning
            If a column was edited and no longer fits the type that it was imported from.

        Notes
        -----
        Columns that were imported from features or Arrow types get these back: structs, time zones,
        decimals, times of day, and file paths.

        ``datasets.Dataset(ds.to_arrow())`` fails for tensors, which ``datasets`` cannot read.
        `from_huggingface` restores the same columns and cells. Types without a feature, such as
        boxes and masks, are recorded in the ``id`` of features. They survive ``map``,
        ``save_to_disk`` and ``push_to_hub`` as long as the feature is unchanged, except that
        nullability and defaults are inferred from the data. Features with different ids are
        unequal, so to concatenate another dataset, cast it first:
        ``other.cast(exported.features)``.
        """
        return rows.to_huggingface(cast("View", self).pin())

    def to_parquet(
        self,
        path: str | Path,
        *,
        rows_per_file: int = 50_000,
        executor: Any = None,
    ) -> Path:
        """Write the rows as Parquet files with a dataset card, as on the Hugging Face Hub.

        Parameters
        ----------
        path : str or Path
            A new or empty folder, or one where the same export was interrupted.
        rows_per_file : int
            Maximum number of rows per file.
        executor : int or object, optional
            Writes the files: by default, up to one process per core, and at most 8; a number of
            processes; or an object with a method ``submit``, such as a client of Dask, whose
            workers can read the lake and share the folder.

        Returns
        -------
        Path
            The folder, with ``README.md`` and ``data/train-00000-of-00001.parquet``. If there is a
            class column named ``split``, each split has its own files, without that column.

        Raises
        ------
        ExistsError
            When the folder is not empty, unless the same export was interrupted there.
        StorageError
            When the disk is full, or the folder cannot be written.

        Warns
        -----
        ExportWarning
            If the order of rows changes, because each split has its own files, or if a column was
            edited and no longer fits the type that it was imported from.

        Notes
        -----
        Columns have the features that `to_huggingface` describes. ``datasets.load_dataset(folder)``
        reads the folder. `from_huggingface` restores the lake's types from the folder, and
        `from_parquet` from single files.

        If the process is killed, the disk is full or you press Ctrl-C, repeat the call to write the
        missing files. After any other error, everything that was written is removed.

        Examples
        --------
        >>> import tempfile
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://parquet-doc", {"label": dl.ClassLabel(["cat", "dog"])})
        >>> ds.append({"label": ["dog", "cat", "dog"]})
        >>> folder = ds.to_parquet(tempfile.mkdtemp(), rows_per_file=2)
        >>> sorted(path.name for path in folder.rglob("*.parquet"))
        ['train-00000-of-00002.parquet', 'train-00001-of-00002.parquet']
        >>> dl.from_huggingface(folder, "memory://parquet-doc-2")["label"].names
        ('cat', 'dog')
        """
        return rows.to_parquet(cast("View", self).pin(), path, rows_per_file, executor)
