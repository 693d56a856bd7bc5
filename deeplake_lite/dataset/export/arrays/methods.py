"""The export methods for arrays and tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast, overload

from deeplake_lite.dataset.export import rows

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View


class ArrayExports:
    """Methods of a view that export arrays and tensors."""

    @overload
    def to_numpy(
        self, path: None = None, *, images: Literal["pixels", "files"] = ..., compress: bool = ...
    ) -> dict[str, NDArray[Any]]: ...
    @overload
    def to_numpy(
        self, path: str | Path, *, images: Literal["pixels", "files"] = ..., compress: bool = ...
    ) -> Path: ...
    def to_numpy(
        self,
        path: str | Path | None = None,
        *,
        images: Literal["pixels", "files"] = "pixels",
        compress: bool = False,
    ) -> dict[str, NDArray[Any]] | Path:
        """Return the rows as a dict of NumPy arrays, or write them to an npz file.

        Parameters
        ----------
        path : str or Path, optional
            The npz file. An existing file is replaced. By default, the arrays are returned.
        images : {"pixels", "files"}
            Whether to decode images and masks that are stored as files, or to export the encoded
            bytes.
        compress : bool
            Whether to compress the arrays in the file.

        Returns
        -------
        dict of ndarray, or Path
            If all values of column ``x`` have the same shape, ``x`` is one array. Otherwise, ``x``
            is their concatenation, and row i is ``x[x_offsets[i]:x_offsets[i + 1]]``, which must be
            reshaped to ``x_shapes[i]`` if more axes than the first vary. ``x_items`` has the items
            of sequences, ``x_valid`` is False for nulls, and ``x_names`` are the class names.

        Raises
        ------
        SchemaError
            When two arrays would have the same name.
        InvalidValueError
            When images have different dtypes.
        StorageError
            When the file cannot be written.

        Notes
        -----
        The file also has an array ``deeplake_lite`` that records the column types and all
        metadata, from which ``dl.from_numpy`` restores them. Nothing is pickled. Nulls are NaN,
        NaT, or -1 for classes. Strings are stored as an array of strings or, if a few are much
        longer than the others, as UTF-8 bytes with offsets. With ``images="pixels"``, the encoded
        bytes are not kept.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> schema = {"v": dl.Embedding(2), "tags": dl.Sequence("int8")}
        >>> ds = dl.create("memory://to-numpy-doc", schema)
        >>> ds.append({"v": [[1, 2], [3, 4]], "tags": [[5], [6, 7]]})
        >>> arrays = ds.to_numpy()
        >>> arrays["v"].tolist(), arrays["tags_items"].tolist(), arrays["tags_offsets"].tolist()
        ([[1.0, 2.0], [3.0, 4.0]], [5, 6, 7], [0, 1, 3])
        """
        return rows.to_numpy(cast("View", self).pin(), path, images, compress=compress)

    def to_torch(self, path: str | Path, *, images: Literal["pixels", "files"] = "pixels") -> Path:
        """Write the rows to a file of PyTorch tensors, which is independent of the lake.

        Parameters
        ----------
        path : str or Path
            The file, such as ``"train.pt"``. An existing file is replaced.
        images : {"pixels", "files"}
            Whether to decode images and masks that are stored as files, or to export the encoded
            bytes.

        Returns
        -------
        Path
            The file. ``torch.load(path, weights_only=True)`` returns a dict with the arrays of
            `to_numpy` as tensors, except that strings are lists, and times are int64.

        Raises
        ------
        SchemaError
            When two tensors would have the same name.
        InvalidValueError
            When images have different dtypes.
        StorageError
            When the file cannot be written.
        MissingPackageError
            When PyTorch is not installed.

        Notes
        -----
        All rows are held in memory. For a dataset that reads rows from the lake, use
        `pytorch_dataset`. ``dl.from_torch(path, url)`` restores the columns and their types.

        Examples
        --------
        >>> import tempfile
        >>> import torch
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://to-torch-doc", {"x": dl.Embedding(2), "label": "int64"})
        >>> ds.append({"x": [[1, 2], [3, 4]], "label": [0, 1]})
        >>> tensors = torch.load(ds.to_torch(f"{tempfile.mkdtemp()}/a.pt"), weights_only=True)
        >>> torch.utils.data.TensorDataset(tensors["x"], tensors["label"])[1]
        (tensor([3., 4.]), tensor(1))
        """
        return rows.to_torch(cast("View", self).pin(), path, images)
