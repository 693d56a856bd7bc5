"""The export methods for shards: files that hold many samples each."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deeplake_lite.dataset.export import rows

if TYPE_CHECKING:
    from pathlib import Path

    from deeplake_lite.dataset.view import View


class ShardExports:
    """Methods of a view that export shards for streaming loaders."""

    def to_webdataset(
        self,
        path: str | Path,
        *,
        shard_bytes: int | str = "512MiB",
        num_workers: int | None = None,
    ) -> list[Path]:
        """Write the rows as WebDataset's tar files: a sample per row, a file per column.

        Parameters
        ----------
        path : str or Path
            A folder that is new or empty, or one in which this export was interrupted.
        shard_bytes : int or str
            Maximum size of a tar file, in bytes or as ``"1GB"``. A larger sample is alone in one.
        num_workers : int, optional
            Number of tar files that are written at a time; by default one per core, up to 8.

        Returns
        -------
        list of Path
            The tar files, ``000000.tar`` and so on. They depend only on the rows: the same view
            gives the same bytes.

        Raises
        ------
        ExistsError
            When the folder is not empty, unless the same export was interrupted there.
        SchemaError
            When no column can be a file.
        InvalidValueError
            For a row with only nulls, and for a ``key`` that WebDataset would read as another one.
        StorageError
            When a file cannot be written, for example because the disk is full.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns are left out, because they are sequences of
            files, or if columns have metadata, which is left out.

        Notes
        -----
        The column ``key`` names the samples; otherwise, they are numbered. Image files and other
        bytes are written as they are stored, strings as ``.txt``, classes and integers as ``.cls``,
        arrays as ``.npy``, and everything else as ``.json``. A null has no file.
        Next to the tar files, ``deeplake_lite.json`` records the types of the columns, so that
        ``dl.from_webdataset(folder, url)`` restores them.

        If the process is killed, the disk is full or you press Ctrl-C, the same call continues with
        the tar files that are missing. Any other error removes all that was written.

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
        return rows.to_webdataset(cast("View", self).pin(), path, shard_bytes, num_workers)

    def to_tfrecord(
        self,
        path: str | Path,
        *,
        shard_bytes: int | str = "200MiB",
        num_workers: int | None = None,
    ) -> list[Path]:
        """Write the rows as TFRecord files: a ``tf.train.Example`` per row.

        Parameters
        ----------
        path : str or Path
            A folder that is new or empty, or one in which this export was interrupted.
        shard_bytes : int or str
            Maximum size of the cells in a file, in bytes or as ``"1GB"``. A larger row is alone in
            one.
        num_workers : int, optional
            Number of files that are written at a time; by default one per core, up to 8.

        Returns
        -------
        list of Path
            The files, ``data-train.tfrecord-00000-of-00004`` and so on. They depend only on the
            rows. Next to them, ``deeplake_lite.json`` records the types of the columns, so that
            ``dl.from_tfrecord(folder, url)`` restores them.

        Raises
        ------
        ExistsError
            When the folder is not empty, unless the same export was interrupted there.
        InvalidValueError
            For a number that float32 cannot hold.
        StorageError
            When a file cannot be written, for example because the disk is full.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns of float64 are rounded to float32, because an
            Example has no float64, or if metadata of columns is left out.

        Notes
        -----
        Image files and other bytes are written as they are stored, strings as UTF-8, JSON as text,
        and classes, booleans and times as int64. Arrays are flat; if several axes are open,
        ``x/value`` and ``x/shape`` hold one. Lists in lists are ``x/ragged_flat_values`` and
        ``x/ragged_row_lengths_0``, as TensorFlow Datasets writes them; ``x/valid_0`` is 0 for a
        null in a list. A null has no feature.

        Examples
        --------
        >>> import tempfile
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://tfrecord-doc", {"label": dl.ClassLabel(["cat", "dog"])})
        >>> ds.append({"label": ["dog", "cat"]})
        >>> files = ds.to_tfrecord(tempfile.mkdtemp())
        >>> files[0].name
        'data-train.tfrecord-00000-of-00001'
        """
        return rows.to_tfrecord(cast("View", self).pin(), path, shard_bytes, num_workers)

    def to_arrayrecord(
        self,
        path: str | Path,
        *,
        shard_bytes: int | str = "200MiB",
        num_workers: int | None = None,
    ) -> list[Path]:
        """Write the rows as ArrayRecord files, with random access: a ``tf.train.Example`` per row.

        Parameters
        ----------
        path : str or Path
            A folder that is new or empty, or one in which this export was interrupted.
        shard_bytes : int or str
            Maximum size of the cells in a file, in bytes or as ``"1GB"``. A larger row is alone in
            one.
        num_workers : int, optional
            Number of files that are written at a time; by default one per core, up to 8.

        Returns
        -------
        list of Path
            The files, ``data-train.array_record-00000-of-00004`` and so on. They depend only on
            the rows. The features, and the file next to them, are those of `to_tfrecord`.

        Raises
        ------
        MissingPackageError
            If ``array-record`` is not installed.
        ExistsError
            When the folder is not empty, unless the same export was interrupted there.
        InvalidValueError
            For a number that float32 cannot hold.
        StorageError
            When a file cannot be written, for example because the disk is full.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns of float64 are rounded to float32, because an
            Example has no float64, or if metadata of columns is left out.

        Examples
        --------
        >>> import tempfile
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://arrayrecord-doc", {"label": dl.ClassLabel(["cat", "dog"])})
        >>> ds.append({"label": ["dog", "cat"]})
        >>> files = ds.to_arrayrecord(tempfile.mkdtemp())
        >>> files[0].name
        'data-train.array_record-00000-of-00001'
        """
        return rows.to_arrayrecord(cast("View", self).pin(), path, shard_bytes, num_workers)

    def to_mds(
        self,
        path: str | Path,
        *,
        shard_bytes: int | str = "64MiB",
        compression: str | None = None,
        num_workers: int | None = None,
    ) -> Path:
        """Write the rows as MDS shards, for the streaming datasets of MosaicML.

        Parameters
        ----------
        path : str or Path
            A folder that is new or empty, or one in which this export was interrupted.
        shard_bytes : int or str
            Maximum size of a shard before compression, in bytes or as ``"1GB"``; less than 4 GiB.
        compression : str, optional
            ``"zstd"`` or ``"gz"``, also with a level: ``"zstd:7"``.
        num_workers : int, optional
            Number of shards that are written at a time; by default one per core, up to 8.

        Returns
        -------
        Path
            The folder: ``index.json`` and ``shard.00000.mds``. If a column named ``split`` has
            classes, each of them has its own folder, without that column.

        Raises
        ------
        ExistsError
            When the folder is not empty, unless the same export was interrupted there.
        SchemaError
            When no column can be a part of a sample.
        StorageError
            When the disk is full, or the folder cannot be written.

        Warns
        -----
        ExportWarning
            Before anything is written: for columns that are left out (sequences of files), that
            become bytes (arrays of complex numbers, arrays and files with nulls) or that lose
            metadata, and if rows change their order because of splits.

        Notes
        -----
        Image files are written as they are stored, as ``jpeg`` or ``png``, which ``streaming``
        opens with Pillow; strings as ``str``, numbers as ``int``, ``int8`` to ``float64``, classes
        as their numbers, arrays as ``ndarray``, and everything else as ``json``, such as numbers
        with nulls. `from_mds` restores the lake's types, which are in ``index.json``.

        If the process is killed, the disk is full or you press Ctrl-C, the same call continues with
        the shards that are missing. Any other error removes all that was written.

        Examples
        --------
        >>> import tempfile
        >>> import deeplake_lite as dl
        >>> schema = {"text": "text", "label": dl.ClassLabel(["cat", "dog"])}
        >>> ds = dl.create("memory://mds-doc", schema)
        >>> ds.append({"text": ["a dog"], "label": ["dog"]})
        >>> folder = ds.to_mds(tempfile.mkdtemp())
        >>> sorted(path.name for path in folder.iterdir())
        ['index.json', 'shard.00000.mds']
        >>> dl.from_mds(folder, "memory://mds-doc-2")["label"].names
        ('cat', 'dog')
        """
        return rows.to_mds(cast("View", self).pin(), path, shard_bytes, compression, num_workers)

    def to_litdata(
        self,
        path: str | Path,
        *,
        chunk_bytes: int | str = "64MiB",
        compression: str | None = None,
        num_workers: int | None = None,
    ) -> Path:
        """Write the rows as chunks of LitData, for the streaming datasets of Lightning.

        Parameters
        ----------
        path : str or Path
            A folder that is new or empty, or one in which this export was interrupted.
        chunk_bytes : int or str
            Maximum size of a chunk before compression, in bytes or as ``"1GB"``; less than 4 GiB.
        compression : str, optional
            ``"zstd"``, also with a level: ``"zstd:7"``.
        num_workers : int, optional
            Number of chunks that are written at a time; by default one per core, up to 8.

        Returns
        -------
        Path
            The folder: ``index.json`` and ``chunk-0-0.bin``. If a column named ``split`` has
            classes, each of them has its own folder, without that column.

        Raises
        ------
        ExistsError
            When the folder is not empty, unless the same export was interrupted there.
        SchemaError
            When no column can be a part of a sample.
        StorageError
            When the disk is full, or the folder cannot be written.

        Warns
        -----
        ExportWarning
            Before anything is written: for columns that are left out (sequences of files), that
            become bytes (arrays and files with nulls) or that lose metadata, and if rows change
            their order because of splits.

        Notes
        -----
        Image files are written as they are stored, with the serializer ``jpeg``, which decodes
        every format that torchvision does; strings as ``str``, numbers as ``bool``, ``int`` and
        ``float``, classes as their numbers, arrays as ``numpy``, and everything else as ``json``,
        such as numbers with nulls. `from_litdata` restores the lake's types, which are in
        ``index.json``.

        If the process is killed, the disk is full or you press Ctrl-C, the same call continues with
        the chunks that are missing. Any other error removes all that was written.

        ``litdata.StreamingDataset`` replaces compressed chunks of a local folder by decompressed
        ones when it reads them.

        Examples
        --------
        >>> import tempfile
        >>> import deeplake_lite as dl
        >>> schema = {"text": "text", "label": dl.ClassLabel(["cat", "dog"])}
        >>> ds = dl.create("memory://litdata-doc", schema)
        >>> ds.append({"text": ["a dog"], "label": ["dog"]})
        >>> folder = ds.to_litdata(tempfile.mkdtemp())
        >>> sorted(path.name for path in folder.iterdir())
        ['chunk-0-0.bin', 'index.json']
        >>> dl.from_litdata(folder, "memory://litdata-doc-2")["label"].names
        ('cat', 'dog')
        """
        view = cast("View", self).pin()
        return rows.to_litdata(view, path, chunk_bytes, compression, num_workers)
