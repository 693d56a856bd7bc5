"""The export methods of a view: tables, datasets of other libraries, and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from deeplake_lite.dataset.export import rows

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa
    import xarray as xr

    from deeplake_lite.dataset.view import View


class Exports:
    """Methods of a view that export its rows for other libraries and tools."""

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table.

        Returns
        -------
        pyarrow.Table
            Numbers and times are primitives, and classes are dictionaries of their names. Vectors
            are fixed-size lists, arrays of one shape are Arrow tensors (``to_numpy_ndarray``
            returns them as NumPy arrays), and boxes and other arrays of varying shape are nested
            lists. Files are the stored bytes, text and JSON are strings, and links are their
            addresses. The metadata of each field holds the configuration of its type.

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
            and arrays are one ndarray per row. Images stay encoded, as bytes; ``ds["image"][i]``
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
            Values are read when they are used. Null is NaN (nullable integers become floats), NaT,
            or -1 for a class. The coordinate ``row_id`` has the ids of the rows, and the attribute
            ``ragged_columns`` lists the columns that are left out.

        Examples
        --------
        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://to-xarray-doc", {"v": dl.Embedding(2), "t": "text"})
        >>> ds.append({"v": [[1, 2], [3, 4]], "t": ["a", "b"]})
        >>> ds.to_xarray()["v"][:, 1].values
        array([2., 4.], dtype=float32)
        """
        return rows.to_xarray(cast("View", self).pin())

    def to_coco(self, path: str | Path, *, images: str | Path | None = None) -> Path:
        """Write the rows as a COCO file: images, annotations and categories.

        Parameters
        ----------
        path : str or Path
            The JSON file, which is replaced if it exists.
        images : str or Path, optional
            Folder for the image files, which is new or empty. By default, none are written.

        Returns
        -------
        Path
            The JSON file.

        Raises
        ------
        SchemaError
            If there is no column of boxes, outlines, keypoints or captions, or if there are rows of
            several splits.
        ExistsError
            When the folder for the image files is not empty.
        InvalidValueError
            For a row whose columns disagree on the number of annotations, for a ``path`` that
            leads out of the folder, and for two images of one id or path.
        StorageError
            If a file cannot be written.

        Warns
        -----
        ExportWarning
            If there are columns that COCO cannot hold.

        Notes
        -----
        Columns are found by the names that `from_coco` gives them, or else by their types, if only
        one fits: boxes of any format, labels (a sequence of classes), segmentation (a sequence of
        polygons), keypoints. Rows that were ingested from COCO are written with all values of the
        file, except for cells that have been edited since. Annotations that have no id get new
        ones, and areas that are missing are computed.

        Examples
        --------
        >>> import json, tempfile
        >>> import deeplake_lite as dl
        >>> schema = {"boxes": dl.Boxes("xyxy"), "labels": dl.Sequence(dl.ClassLabel(["cat"]))}
        >>> ds = dl.create("memory://coco-doc", schema)
        >>> ds.append({"boxes": [[[0, 0, 20, 10]]], "labels": [["cat"]]})
        >>> path = ds.to_coco(f"{tempfile.mkdtemp()}/cats.json")
        >>> json.loads(path.read_text())["annotations"][0]["bbox"]
        [0.0, 0.0, 20.0, 10.0]
        """
        return rows.to_coco(cast("View", self).pin(), path, images)

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

        Notes
        -----
        ``datasets.Dataset(ds.to_arrow())`` does not work if there are tensors, which that package
        cannot read. `from_huggingface` returns the same columns and cells, as long as their
        features are not changed: the dataset has the types of the lake in its metadata. Functions
        of ``datasets`` that write rows again, such as ``map`` and ``save_to_disk``, drop that
        metadata. Then boxes, for example, become arrays of numbers.
        """
        return rows.to_huggingface(cast("View", self).pin())

    def to_parquet(self, path: str | Path, *, rows_per_file: int = 50_000) -> Path:
        """Write the rows as Parquet files with a dataset card, as on the hub of Hugging Face.

        Parameters
        ----------
        path : str or Path
            A folder that is new or empty.
        rows_per_file : int
            Most rows of a file.

        Returns
        -------
        Path
            The folder: ``README.md`` and ``data/train-00000-of-00001.parquet``. If a column named
            ``split`` has classes, each of them has its own files, without that column.

        Raises
        ------
        ExistsError
            When the folder is not empty.
        StorageError
            When the disk is full, or the folder cannot be written. Files that were written before
            the error are removed.

        Warns
        -----
        ExportWarning
            If rows change their order, because each split has its own files.

        Notes
        -----
        Columns have the features that `to_huggingface` describes; ``datasets.load_dataset`` of the
        folder reads them. `from_huggingface` restores the lake's types, and `from_parquet` those of
        single files.

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
        return rows.to_parquet(cast("View", self).pin(), path, rows_per_file)

    def to_folder(
        self, path: str | Path, *, image: str | None = None, label: str | None = None
    ) -> Path:
        """Write an image column as files, with a folder per class, and the other columns as a CSV.

        Parameters
        ----------
        path : str or Path
            A folder that is new or empty.
        image : str, optional
            The column whose samples become files, as they are stored. Needed if there are several
            image columns, or none.
        label : str, optional
            The column that names the folders. Needed if there are several columns of classes.

        Returns
        -------
        Path
            The folder. The file of row 41 is ``tulip/000041.jpg``, for example. The table
            ``metadata.csv`` has the ``file_name`` and all other columns of each row. In the table,
            boxes, vectors and lists are JSON; for other files, pixels and arrays, it has the paths
            of files below ``_columns``.

        Raises
        ------
        ExistsError
            When the folder is not empty.
        StorageError
            When the disk is full, or the folder cannot be written. Files that were written before
            the error are removed.
        SchemaError
            When there are several columns to choose from, or none.

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

    def to_yolo(
        self, path: str | Path, *, task: Literal["detect", "segment", "pose", "obb"] | None = None
    ) -> Path:
        """Write the rows as a YOLO dataset: image files, label files and a data.yaml.

        Parameters
        ----------
        path : str or Path
            A folder that is new or empty.
        task : {"detect", "segment", "pose", "obb"}, optional
            What label files hold: boxes, outlines (their boxes are not written), boxes with
            keypoints, or outlines of four corners. By default, "pose" with a column of keypoints,
            or else "segment" with a column of outlines, or else "detect".

        Returns
        -------
        Path
            The folder. Images are in ``images/train`` and so on, by the column ``split``, and named
            after the column ``path``; their files are written as they are stored.

        Raises
        ------
        ExistsError
            When the folder is not empty.
        SchemaError
            When there is no column of images, of labels or of what the task needs, or several.
        InvalidValueError
            For a row with more or fewer labels than objects, and for two images of one name.
        StorageError
            When a file cannot be written. Files that were written before the error are removed.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns are left out, objects have several outlines
            (which are joined), or objects reach beyond their image (which are clipped).

        Notes
        -----
        `from_yolo` reads the folder back. Columns are found by the names that it gives them, or
        else by their types: boxes of any format, labels (a sequence of classes), segmentation (a
        sequence of polygons), keypoints.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> import deeplake_lite as dl
        >>> schema = {
        ...     "image": dl.Image("png"),
        ...     "boxes": dl.Boxes("xyxy"),
        ...     "labels": dl.Sequence(dl.ClassLabel(["cat"])),
        ... }
        >>> ds = dl.create("memory://yolo-doc", schema)
        >>> image = np.zeros((20, 40), "uint8")
        >>> ds.append({"image": [image], "boxes": [[[0, 0, 20, 10]]], "labels": [["cat"]]})
        >>> root = ds.to_yolo(tempfile.mkdtemp())
        >>> (root / "labels/train/000000000000.txt").read_text()
        '0 0.25 0.25 0.5 0.5'
        """
        return rows.to_yolo(cast("View", self).pin(), path, task)
