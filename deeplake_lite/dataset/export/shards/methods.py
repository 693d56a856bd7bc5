"""The export methods for shards: files that hold many samples each."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deeplake_lite.dataset.export import rows

if TYPE_CHECKING:
    from pathlib import Path

    from deeplake_lite.dataset.view import View


class ShardExports:
    """Methods of a view that export shards for streaming loaders."""

    def to_webdataset(self, path: str | Path, *, shard_bytes: int | str = "512MiB") -> list[Path]:
        """Write the rows as WebDataset's tar files: a sample per row, a file per column.

        Parameters
        ----------
        path : str or Path
            A folder that is new or empty.
        shard_bytes : int or str
            Size of its files, in bytes or as ``"1GB"``, at which the next tar file begins.

        Returns
        -------
        list of Path
            The tar files, ``000000.tar`` and so on. They depend only on the rows: the same view
            gives the same bytes.

        Raises
        ------
        ExistsError
            When the folder is not empty.
        SchemaError
            When no column can be a file.
        InvalidValueError
            For a row with only nulls, and for a ``key`` that WebDataset would read as another one.
        StorageError
            When a file cannot be written. Files that were written before the error are removed.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns are left out: sequences of files.

        Notes
        -----
        The column ``key`` names the samples; otherwise, they are numbered. Image files and other
        bytes are written as they are stored, strings as ``.txt``, classes and integers as ``.cls``,
        arrays as ``.npy``, and everything else as ``.json``. A null has no file.
        ``dl.from_webdataset(folder, url, schema=ds.schema)`` reads them back, with the types that
        tar files cannot hold.

        Examples
        --------
        >>> import tarfile, tempfile
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://webdataset-doc", {"txt": "text", "score": "float32"})
        >>> ds.append({"txt": ["a rose"], "score": [0.5]})
        >>> paths = ds.to_webdataset(tempfile.mkdtemp())
        >>> with tarfile.open(paths[0]) as tar:
        ...     tar.getnames()
        ['000000000.txt', '000000000.score.json']
        """
        return rows.to_webdataset(cast("View", self).pin(), path, shard_bytes)
