"""The export methods for other lake formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deeplake_lite.dataset.export import rows

if TYPE_CHECKING:
    from pathlib import Path

    from deeplake_lite.dataset.view import View


class LakeExports:
    """Methods of a view that export its rows to other lake formats."""

    def to_deeplake(self, path: str | Path, *, message: str = "") -> Path:
        """Write the rows as a Deep Lake 4 dataset, in one commit.

        Parameters
        ----------
        path : str or Path
            A new or empty folder.
        message : str
            Commit message.

        Returns
        -------
        Path
            The folder, which ``deeplake.open`` opens.

        Raises
        ------
        MissingPackageError
            If ``deeplake`` is not installed.
        ExistsError
            When the folder is not empty.
        SchemaError
            When Deep Lake supports none of the columns.
        StorageError
            When a file cannot be written. Files that were written before the error are removed.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns are left out or written in another form.

        Notes
        -----
        JPEG and PNG files are not re-encoded. Classes, boxes, masks, polygons, embeddings, arrays,
        numbers and strings have the corresponding types of Deep Lake. Times are written as
        integers, complex numbers as pairs, JSON as strings, and images of several formats as bytes.
        The metadata of each column records its type, from which `from_deeplake` restores the same
        columns.

        Examples
        --------
        >>> import deeplake, tempfile
        >>> import deeplake_lite as dl
        >>> schema = {"label": dl.ClassLabel(["cat", "dog"]), "v": dl.Embedding(2)}
        >>> ds = dl.create("memory://to-deeplake-doc", schema)
        >>> ds.append({"label": ["dog", "cat"], "v": [[0, 1], [1, 0]]})
        >>> other = deeplake.open_read_only(str(ds.to_deeplake(tempfile.mkdtemp())))
        >>> other["label"].metadata["class_names"], other["label"][0:2].tolist()
        (['cat', 'dog'], [1, 0])
        """
        return rows.to_deeplake(cast("View", self).pin(), path, message)

    def to_lance(self, path: str | Path, *, rows_per_file: int = 1_048_576) -> Path:
        """Write the rows as a Lance dataset.

        Parameters
        ----------
        path : str or Path
            A new or empty folder.
        rows_per_file : int
            Maximum number of rows per fragment. Each fragment is a file.

        Returns
        -------
        Path
            The folder, which ``lance.dataset`` opens.

        Raises
        ------
        MissingPackageError
            If ``pylance`` is not installed.
        ExistsError
            When the folder is not empty.
        StorageError
            When a file cannot be written. Files that were written before the error are removed.

        Notes
        -----
        The columns are those of `to_arrow`. The metadata of each field records its type, from which
        `from_lance` restores the same columns. Lance's file names are random.

        Examples
        --------
        >>> import tempfile
        >>> import lance
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://to-lance-doc", {"x": "int32", "v": dl.Embedding(2)})
        >>> ds.append({"x": [1, 2], "v": [[0, 1], [1, 0]]})
        >>> lance.dataset(ds.to_lance(tempfile.mkdtemp())).to_table().to_pylist()
        [{'x': 1, 'v': [0.0, 1.0]}, {'x': 2, 'v': [1.0, 0.0]}]
        """
        return rows.to_lance(cast("View", self).pin(), path, rows_per_file)
