"""The export methods of a view: tables, datasets of other libraries, and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from deeplake_lite.dataset.export import rows
from deeplake_lite.dataset.export.annotations.methods import AnnotationExports
from deeplake_lite.dataset.export.arrays.methods import ArrayExports
from deeplake_lite.dataset.export.huggingface.methods import HuggingFaceExports
from deeplake_lite.dataset.export.lakes.methods import LakeExports
from deeplake_lite.dataset.export.shards.methods import ShardExports

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa
    import xarray as xr

    from deeplake_lite.dataset.view import View


class Exports(AnnotationExports, ArrayExports, HuggingFaceExports, LakeExports, ShardExports):
    """Methods of a view that export its rows for other libraries and tools."""

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table.

        Returns
        -------
        pyarrow.Table
            Numbers and times are primitives, and classes are dictionary-encoded names. Vectors are
            fixed-size lists, arrays of fixed shape are Arrow tensors (``to_numpy_ndarray`` returns
            them as NumPy arrays), and boxes and other arrays of varying shape are nested lists.
            Files are binary values with the stored bytes, text and JSON are strings, and links are
            URLs. The metadata of each field holds the configuration of its type.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> schema = {"label": dl.ClassLabel(["a", "b"]), "v": dl.Embedding(2)}
        >>> ds = dl.create("memory://arrow-doc", schema)
        >>> ds.append({"label": [1, 0], "v": [[1, 2], [3, 4]]})
        >>> ds.to_arrow().to_pylist()
        [{'label': 'b', 'v': [1.0, 2.0]}, {'label': 'a', 'v': [3.0, 4.0]}]
        """
        return rows.to_arrow(cast("View", self).pin())

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a DataFrame.

        Returns
        -------
        pandas.DataFrame
            Nullable columns have pandas' nullable dtypes, classes are categories, text is strings,
            and array columns hold one ndarray per row. Images are the encoded bytes;
            ``ds["image"][i]`` decodes one.

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
        return rows.to_pandas(cast("View", self).pin())

    def to_polars(self) -> Any:
        """Return the rows as a polars DataFrame.

        Returns
        -------
        polars.DataFrame
            Values are as in `to_arrow`, except that classes are an Enum, arrays of fixed shape are
            polars arrays, and times in seconds become milliseconds. Images are the encoded bytes,
            JSON values are strings, durations in months and years are integers, and complex numbers
            are pairs of floats.

        Raises
        ------
        MissingPackageError
            When polars is not installed.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://polars-doc", {"x": "int8", "label": dl.ClassLabel(["a", "b"])})
        >>> ds.append({"x": [1, 2], "label": ["b", "a"]})
        >>> ds.to_polars().rows()
        [(1, 'b'), (2, 'a')]
        """
        return rows.to_polars(cast("View", self).pin())

    def to_xarray(self) -> xr.Dataset:
        """Return the columns of fixed shape as lazy variables over a dimension of rows.

        Returns
        -------
        xarray.Dataset
            Values are read when they are used. Nulls are NaN (nullable integers become floats),
            NaT, or -1 for classes. The coordinate ``row_id`` holds the ids of the rows, and the
            attribute ``ragged_columns`` lists the columns that are left out. The metadata of the
            dataset and of columns are attributes. The row dimension is called ``row``.

        Notes
        -----
        If `from_xarray` created the lake, its dimension names, attributes, coordinates and
        variables without rows are restored. Columns that were renamed or reshaped since then have
        the default dimensions, such as ``v_0``.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://to-xarray-doc", {"v": dl.Embedding(2), "t": "text"})
        >>> ds.append({"v": [[1, 2], [3, 4]], "t": ["a", "b"]})
        >>> ds.to_xarray()["v"][:, 1].values
        array([2., 4.], dtype=float32)
        """
        return rows.to_xarray(cast("View", self).pin())

    def to_folder(
        self, path: str | Path, *, image: str | None = None, label: str | None = None
    ) -> Path:
        """Write an image column as files, with a folder per class, and the other columns as a CSV.

        Parameters
        ----------
        path : str or Path
            A new or empty folder.
        image : str, optional
            The column whose samples become files, without re-encoding. Required unless there is
            exactly one image column.
        label : str, optional
            The column that names the folders. Required if there are several class columns.

        Returns
        -------
        Path
            The folder. The file of row 41 is ``tulip/000041.jpg``, for example. The table
            ``metadata.csv`` has the ``file_name`` and all other columns of each row, with boxes,
            vectors and lists as JSON. Files, images and arrays of other columns are written below
            ``_columns``, and the table has their paths.

        Raises
        ------
        ExistsError
            When the folder is not empty.
        StorageError
            When the disk is full, or the folder cannot be written. Files that were written before
            the error are removed.
        SchemaError
            When no column is suitable, or several are and none was chosen.

        Warns
        -----
        ExportWarning
            Before anything is written, if a column of strings has nulls, or if the dataset or a
            column has metadata, which is left out.

        Notes
        -----
        ``dl.from_folder(folder, labels=f"{folder}/metadata.csv")`` reads the folder back. A class
        named ``a/b`` has the folder ``a_b``, but keeps its name in the table. A null image has no
        ``file_name``. If the lake has a column named ``file_name``, its header in the table is
        ``file_name_``, and ``from_folder`` restores the name.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> import deeplake_lite as dl
        >>> schema = {"image": "image", "label": dl.ClassLabel(["rose"])}
        >>> ds = dl.create("memory://folder-doc", schema)
        >>> ds.append({"image": [np.zeros((4, 4), "uint8")], "label": ["rose"]})
        >>> root = ds.to_folder(tempfile.mkdtemp())
        >>> sorted(p.relative_to(root).as_posix() for p in root.rglob("*.*"))
        ['metadata.csv', 'rose/000000.png']
        """
        return rows.to_folder(cast("View", self).pin(), path, image=image, label=label)
