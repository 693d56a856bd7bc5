"""The export methods for shards: files that hold many samples each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

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
        executor: Any = None,
    ) -> list[Path]:
        """Write the rows as WebDataset tar files, with a sample per row and a file per column.

        Parameters
        ----------
        path : str or Path
            A new or empty folder, or one where the same export was interrupted.
        shard_bytes : int or str
            Maximum size of a tar file, in bytes or as ``"1GB"``. A larger sample has its own file.
        executor : int or object, optional
            Writes the tar files: by default, up to one process per core, and at most 8; a number of
            processes; or an object with a method ``submit``, such as a client of Dask, whose
            workers can read the lake and share the folder.

        Returns
        -------
        list of Path
            The tar files, ``000000.tar`` etc. Their bytes depend only on the rows.

        Raises
        ------
        ExistsError
            When the folder is not empty, unless the same export was interrupted there.
        SchemaError
            When no column's values can be files.
        InvalidValueError
            When a row has only nulls, or WebDataset could not read back a ``key``.
        StorageError
            When a file cannot be written, for example because the disk is full.

        Warns
        -----
        ExportWarning
            Before anything is written, if sequences of files are left out.

        Notes
        -----
        The column ``key`` names the samples. Without it, they are numbered. Image files and other
        bytes are written as they are stored, strings as ``.txt``, classes and integers as ``.cls``,
        arrays as ``.npy``, and everything else as ``.json``. Nulls have no file. Next to the tar
        files, ``deeplake_lite.json`` records the column types, from which
        ``dl.from_webdataset(folder, url)`` restores them.

        If the process is killed, the disk is full or you press Ctrl-C, repeat the call to write the
        missing tar files. After any other error, everything that was written is removed.

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
        return rows.to_webdataset(cast("View", self).pin(), path, shard_bytes, executor)

    def to_tfrecord(
        self,
        path: str | Path,
        *,
        shard_bytes: int | str = "200MiB",
        executor: Any = None,
    ) -> list[Path]:
        """Write the rows as TFRecord files, with a ``tf.train.Example`` per row.

        Parameters
        ----------
        path : str or Path
            A new or empty folder, or one where the same export was interrupted.
        shard_bytes : int or str
            Maximum size of the cells in a file, in bytes or as ``"1GB"``. A larger row has its own
            file.
        executor : int or object, optional
            Writes the files: by default, up to one process per core, and at most 8; a number of
            processes; or an object with a method ``submit``, such as a client of Dask, whose
            workers can read the lake and share the folder.

        Returns
        -------
        list of Path
            The files, ``data-train.tfrecord-00000-of-00004`` etc. They depend only on the rows.
            Next to them, ``deeplake_lite.json`` records the column types, from which
            ``dl.from_tfrecord(folder, url)`` restores them.

        Raises
        ------
        ExistsError
            When the folder is not empty, unless the same export was interrupted there.
        InvalidValueError
            When a number exceeds the range of float32.
        StorageError
            When a file cannot be written, for example because the disk is full.

        Warns
        -----
        ExportWarning
            Before anything is written, if float64 numbers are rounded to float32, because an
            Example has no float64.

        Notes
        -----
        Image files and other bytes are written as they are stored, strings as UTF-8, JSON as text,
        and classes, booleans and times as int64. Arrays are flattened; if several axes vary, they
        are stored as ``x/value`` and ``x/shape``. Nested lists are stored as
        ``x/ragged_flat_values`` and ``x/ragged_row_lengths_0``, as in TensorFlow Datasets;
        ``x/valid_0`` is 0 for nulls in lists. Null cells have no feature.

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
        return rows.to_tfrecord(cast("View", self).pin(), path, shard_bytes, executor)

    def to_arrayrecord(
        self,
        path: str | Path,
        *,
        shard_bytes: int | str = "200MiB",
        executor: Any = None,
    ) -> list[Path]:
        """Write the rows as ArrayRecord files, for random access to a ``tf.train.Example`` per row.

        Parameters
        ----------
        path : str or Path
            A new or empty folder, or one where the same export was interrupted.
        shard_bytes : int or str
            Maximum size of the cells in a file, in bytes or as ``"1GB"``. A larger row has its own
            file.
        executor : int or object, optional
            Writes the files: by default, up to one process per core, and at most 8; a number of
            processes; or an object with a method ``submit``, such as a client of Dask, whose
            workers can read the lake and share the folder.

        Returns
        -------
        list of Path
            The files, ``data-train.array_record-00000-of-00004`` etc. They depend only on the
            rows. The features and the additional file are those of `to_tfrecord`.

        Raises
        ------
        MissingPackageError
            If ``array-record`` is not installed.
        ExistsError
            When the folder is not empty, unless the same export was interrupted there.
        InvalidValueError
            When a number exceeds the range of float32.
        StorageError
            When a file cannot be written, for example because the disk is full.

        Warns
        -----
        ExportWarning
            Before anything is written, if float64 numbers are rounded to float32, because an
            Example has no float64.

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
        return rows.to_arrayrecord(cast("View", self).pin(), path, shard_bytes, executor)

    def to_mds(
        self,
        path: str | Path,
        *,
        shard_bytes: int | str = "64MiB",
        compression: str | None = None,
        executor: Any = None,
    ) -> Path:
        """Write the rows as MDS shards, for MosaicML's streaming datasets.

        Parameters
        ----------
        path : str or Path
            A new or empty folder, or one where the same export was interrupted.
        shard_bytes : int or str
            Maximum size of a shard before compression, in bytes or as ``"1GB"``; less than 4 GiB.
        compression : str, optional
            ``"zstd"`` or ``"gz"``, optionally with a level: ``"zstd:7"``.
        executor : int or object, optional
            Writes the shards: by default, up to one process per core, and at most 8; a number of
            processes; or an object with a method ``submit``, such as a client of Dask, whose
            workers can read the lake and share the folder.

        Returns
        -------
        Path
            The folder, with ``index.json`` and ``shard.00000.mds`` etc. If there is a class column
            named ``split``, each split has its own folder, without that column.

        Raises
        ------
        ExistsError
            When the folder is not empty, unless the same export was interrupted there.
        SchemaError
            When samples can hold none of the columns.
        StorageError
            When the disk is full, or the folder cannot be written.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns are left out (sequences of files), become bytes
            (arrays of complex numbers, arrays and files with nulls), or if splits change the order
            of rows.

        Notes
        -----
        Image files are written as they are stored, with the encoding ``jpeg`` or ``png``; for
        both, ``streaming`` detects the format with Pillow. Strings are written as ``str``, numbers
        as ``int`` or ``int8`` to ``float64``, classes as their numbers, arrays as ``ndarray``, and
        everything else, such as numbers with nulls, as ``json``. `from_mds` restores the lake's
        types, which ``index.json`` records.

        If the process is killed, the disk is full or you press Ctrl-C, repeat the call to write the
        missing shards. After any other error, everything that was written is removed.

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
        return rows.to_mds(cast("View", self).pin(), path, shard_bytes, compression, executor)

    def to_litdata(
        self,
        path: str | Path,
        *,
        chunk_bytes: int | str = "64MiB",
        compression: str | None = None,
        executor: Any = None,
    ) -> Path:
        """Write the rows as LitData chunks, for Lightning's streaming datasets.

        Parameters
        ----------
        path : str or Path
            A new or empty folder, or one where the same export was interrupted.
        chunk_bytes : int or str
            Maximum size of a chunk before compression, in bytes or as ``"1GB"``; less than 4 GiB.
        compression : str, optional
            ``"zstd"``, optionally with a level: ``"zstd:7"``.
        executor : int or object, optional
            Writes the chunks: by default, up to one process per core, and at most 8; a number of
            processes; or an object with a method ``submit``, such as a client of Dask, whose
            workers can read the lake and share the folder.

        Returns
        -------
        Path
            The folder, with ``index.json`` and ``chunk-0-0.bin`` etc. If there is a class column
            named ``split``, each split has its own folder, without that column.

        Raises
        ------
        ExistsError
            When the folder is not empty, unless the same export was interrupted there.
        SchemaError
            When samples can hold none of the columns.
        StorageError
            When the disk is full, or the folder cannot be written.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns are left out (sequences of files), become bytes
            (arrays and files with nulls), or if splits change the order of rows.

        Notes
        -----
        Image files are written as they are stored, with the serializer ``jpeg``, which decodes all
        formats that torchvision supports. Strings are written as ``str``, numbers as ``bool``,
        ``int`` or ``float``, classes as their numbers, arrays as ``numpy``, and everything else,
        such as numbers with nulls, as ``json``. `from_litdata` restores the lake's types, which
        ``index.json`` records.

        If the process is killed, the disk is full or you press Ctrl-C, repeat the call to write the
        missing chunks. After any other error, everything that was written is removed.

        When ``litdata.StreamingDataset`` reads compressed chunks of a local folder, it replaces
        the compressed chunks with decompressed chunks.

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
        return rows.to_litdata(view, path, chunk_bytes, compression, executor)
