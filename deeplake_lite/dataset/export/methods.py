"""What takes the rows of a view elsewhere: Arrow, pandas, xarray, files."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deeplake_lite.dataset.export import rows

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa
    import xarray as xr

    from deeplake_lite.dataset.view import View


class Exports:
    """The methods of a view that copy its rows to what other libraries read."""

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table.

        Returns
        -------
        pyarrow.Table
            Numbers and times as primitives, classes as a dictionary of their names, vectors as
            fixed-size lists, arrays of one shape as Arrow's tensors (``to_numpy_ndarray`` gives
            them back), boxes and other arrays of varying shape as nested lists, files as the bytes
            that are stored, text and JSON as strings, links as their address. The metadata of each
            field holds the configuration of its type.

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
            Nullable columns in pandas' nullable dtypes, classes as categories, text as strings,
            arrays as one ndarray per row. Pictures stay encoded, as bytes: ``ds["image"][i]``
            decodes one.

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

    def to_xarray(self) -> xr.Dataset:
        """Return the columns of fixed shape as lazy variables over a ``row`` dimension.

        Returns
        -------
        xarray.Dataset
            Nothing is read before it is asked for. Null is NaN (integers become floats), NaT, or
            -1 for a class. The coordinate ``row_id`` has the rows' ids; the attribute
            ``ragged_columns`` names the columns left out.

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
        """Write the samples of an image column as files, a folder per class, and the rest as a CSV.

        Parameters
        ----------
        path : str or Path
            A folder that is new or empty.
        image : str, optional
            Column of the samples, written as they are stored; the only image column if left out.
        label : str, optional
            Column that names the folders; the only one of classes if left out.

        Returns
        -------
        Path
            The folder: ``tulip/000041.jpg`` for row 41, and ``metadata.csv`` with all columns of
            each row beside its ``file_name``: boxes, vectors and lists as JSON; other files, pixels
            and arrays by the path of a file below ``_columns``. The class ``a/b`` has the folder
            ``a_b``, and its own name in the table, which
            ``dl.from_folder(folder, labels=f"{folder}/metadata.csv")`` takes. A null picture has
            no ``file_name``. A column of the lake that is called so is ``file_name_`` in the table,
            and ``file_name`` again in the lake that takes it.

        Raises
        ------
        ExistsError
            When the folder holds something.
        StorageError
            When the disk is full, or takes no files; none of them stay then.
        SchemaError
            When there are several columns to choose from, or none.

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
