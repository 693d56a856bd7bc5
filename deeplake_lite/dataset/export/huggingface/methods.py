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
        """Return the rows as a dataset of Hugging Face, in memory.

        Returns
        -------
        datasets.Dataset
            Classes are ClassLabel, images Image (with the stored bytes of the files), arrays of one
            shape Array2D to Array5D, and JSON Json. Other values are numbers, strings, lists and
            structs, as in `to_arrow`.

        Raises
        ------
        MissingPackageError
            If ``datasets`` is not installed.

        Warns
        -----
        ExportWarning
            If a column no longer fits the type that it was imported from, because of an edit.

        Notes
        -----
        Columns that were imported from other features or Arrow types have these again: structs,
        time zones, decimals, times of day, paths of files.

        ``datasets.Dataset(ds.to_arrow())`` does not work if there are tensors, which that package
        cannot read. `from_huggingface` returns the same columns and cells. Types that features
        lack, such as boxes and masks, are recorded in the ``id`` of features. So they survive
        ``map``, ``save_to_disk`` and ``push_to_hub``, as long as the feature is not changed; nulls
        and defaults become those of the data. Features with different ids differ: to concatenate
        such a dataset with one from elsewhere, cast it first, ``other.cast(exported.features)``.
        """
        return rows.to_huggingface(cast("View", self).pin())

    def to_parquet(
        self,
        path: str | Path,
        *,
        rows_per_file: int = 50_000,
        num_workers: int | None = None,
    ) -> Path:
        """Write the rows as Parquet files with a dataset card, as on the hub of Hugging Face.

        Parameters
        ----------
        path : str or Path
            A folder that is new or empty, or one in which this export was interrupted.
        rows_per_file : int
            Maximum number of rows of a file.
        num_workers : int, optional
            Number of files that are written at a time; by default one per core, up to 8.

        Returns
        -------
        Path
            The folder: ``README.md`` and ``data/train-00000-of-00001.parquet``. If a column named
            ``split`` has classes, each of them has its own files, without that column.

        Raises
        ------
        ExistsError
            When the folder is not empty, unless the same export was interrupted there.
        StorageError
            When the disk is full, or the folder cannot be written.

        Warns
        -----
        ExportWarning
            If rows change their order, because each split has its own files. If a column no longer
            fits the type that it was imported from, because of an edit.

        Notes
        -----
        Columns have the features that `to_huggingface` describes; ``datasets.load_dataset`` of the
        folder reads them. `from_huggingface` restores the lake's types, and `from_parquet` those of
        single files.

        If the process is killed, the disk is full or you press Ctrl-C, the same call continues with
        the files that are missing. Any other error removes all that was written.

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
        return rows.to_parquet(cast("View", self).pin(), path, rows_per_file, num_workers)
