"""The export methods for images with annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from deeplake_lite.dataset.export import rows

if TYPE_CHECKING:
    from pathlib import Path

    from deeplake_lite.dataset.view import View


class AnnotationExports:
    """Methods of a view that export images with annotations."""

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

    def to_voc(self, path: str | Path) -> Path:
        """Write the rows as a PASCAL VOC dataset: images, XML files, masks and lists of images.

        Parameters
        ----------
        path : str or Path
            A folder that is new or empty.

        Returns
        -------
        Path
            The folder, with ``JPEGImages``, ``Annotations`` and ``ImageSets/Main`` (a list for each
            class of the column ``split``). Image files are written as they are stored, and named
            after the column ``path``.

        Raises
        ------
        ExistsError
            When the folder is not empty.
        SchemaError
            When there is no column of boxes or of labels, or several.
        InvalidValueError
            For a row with more or fewer labels than boxes, for two images of one name, and for
            names that cannot be those of files, or that XML cannot hold.
        StorageError
            When a file cannot be written. Files that were written before the error are removed.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns are left out: VOC has boxes, but no outlines.

        Notes
        -----
        `from_voc` reads the folder back. Rows that were imported from VOC are written with all
        values of their XML files, except for cells that have been edited since. Other tools may
        expect boxes in whole pixels; boxes with fractions of pixels are written as such.

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
        >>> ds = dl.create("memory://voc-doc", schema)
        >>> image = np.zeros((20, 40), "uint8")
        >>> ds.append({"image": [image], "boxes": [[[0, 0, 20, 10]]], "labels": [["cat"]]})
        >>> root = ds.to_voc(tempfile.mkdtemp())
        >>> "<xmin>1</xmin>" in (root / "Annotations/000000000000.xml").read_text()
        True
        """
        return rows.to_voc(cast("View", self).pin(), path)

    def to_cvat(self, path: str | Path) -> Path:
        """Write the rows as "CVAT for images 1.1", which CVAT imports.

        Parameters
        ----------
        path : str or Path
            A ZIP file (``.zip``) with annotations and images; an XML file (``.xml``) of annotations
            alone; or a folder, new or empty, for ``annotations.xml`` and ``images``. Files are
            replaced if they exist.

        Returns
        -------
        Path
            The file or the folder.

        Raises
        ------
        ExistsError
            When the folder is not empty.
        SchemaError
            When there is no column of shapes or of labels, or several.
        InvalidValueError
            For a row with more or fewer labels than shapes, for two images of one path, and for
            names that XML cannot hold.
        StorageError
            When a file cannot be written.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns are left out, or objects have several shapes.

        Notes
        -----
        An object is written as a mask, a polygon, a polyline, points, or a box: the first of these
        that it has. Keypoints with names, or with hidden points, become skeletons. The column
        ``split`` becomes the subset. `from_cvat` reads the result back.

        Examples
        --------
        >>> import tempfile
        >>> import deeplake_lite as dl
        >>> schema = {"boxes": dl.Boxes("xyxy"), "labels": dl.Sequence(dl.ClassLabel(["cat"]))}
        >>> ds = dl.create("memory://cvat-doc", schema)
        >>> ds.append({"boxes": [[[0, 0, 20, 10]]], "labels": [["cat"]]})
        >>> path = ds.to_cvat(f"{tempfile.mkdtemp()}/cats.xml")
        >>> '<box label="cat"' in path.read_text()
        True
        """
        return rows.to_cvat(cast("View", self).pin(), path)

    def to_labelstudio(self, path: str | Path, *, predictions: bool = False) -> Path:
        """Write the rows as tasks of Label Studio, which it imports.

        Parameters
        ----------
        path : str or Path
            A JSON file of tasks (``.json``), which is replaced if it exists; or a folder, new or
            empty, for ``tasks.json`` and ``images``.
        predictions : bool
            Write the objects as predictions, with their scores, so that annotators start from them.

        Returns
        -------
        Path
            The file or the folder.

        Raises
        ------
        ExistsError
            When the folder is not empty.
        SchemaError
            When there is no column of shapes or of labels, or several.
        InvalidValueError
            For a row with more or fewer labels than shapes, for two images of one path, and for an
            image whose size is unknown.
        StorageError
            When a file cannot be written.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns are left out, or objects have several shapes.

        Notes
        -----
        Images are named by their place in Label Studio's local storage, unless rows have a column
        ``data``: serve the folder ``images`` with ``LOCAL_FILES_DOCUMENT_ROOT``. The controls of
        new regions are named ``label`` (rectangles), ``polygon``, ``keypoint`` and ``brush``; use
        these names in the labelling configuration. `from_labelstudio` reads the file back.

        Examples
        --------
        >>> import json, tempfile
        >>> import deeplake_lite as dl
        >>> schema = {
        ...     "width": "int32",
        ...     "height": "int32",
        ...     "boxes": dl.Boxes("xyxy"),
        ...     "labels": dl.Sequence(dl.ClassLabel(["cat"])),
        ... }
        >>> ds = dl.create("memory://labelstudio-doc", schema)
        >>> size = {"width": [40], "height": [20]}
        >>> ds.append({**size, "boxes": [[[0, 0, 20, 10]]], "labels": [["cat"]]})
        >>> path = ds.to_labelstudio(f"{tempfile.mkdtemp()}/cats.json", predictions=True)
        >>> json.loads(path.read_text())[0]["predictions"][0]["result"][0]["value"]["width"]
        50.0
        """
        return rows.to_labelstudio(cast("View", self).pin(), path, predictions)

    def to_fiftyone(self, path: str | Path) -> Path:
        """Write the rows as a dataset that FiftyOne imports as ``FiftyOneDataset``.

        Parameters
        ----------
        path : str or Path
            A folder that is new or empty.

        Returns
        -------
        Path
            The folder, with ``metadata.json``, ``samples.json``, ``data`` (image files as they are
            stored, named after the column ``path``) and ``fields`` (masks of classes).

        Raises
        ------
        ExistsError
            When the folder is not empty.
        SchemaError
            When there is no column of labels, or several.
        InvalidValueError
            For a row with more or fewer labels than shapes, for two images of one path, and for an
            image whose size is unknown.
        StorageError
            When a file cannot be written. Files that were written before the error are removed.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns are left out, or objects have several shapes.

        Notes
        -----
        Boxes and masks are detections in the field ``ground_truth``, outlines and lines are in
        ``polylines``, and keypoints in ``keypoints``. Classes of images become classifications,
        masks of classes segmentations, and the column ``split`` a tag. `from_fiftyone` reads the
        folder back, and so does FiftyOne::

            fiftyone.Dataset.from_dir(path, dataset_type=fiftyone.types.FiftyOneDataset)

        Examples
        --------
        >>> import json, tempfile
        >>> import deeplake_lite as dl
        >>> schema = {
        ...     "width": "int32",
        ...     "height": "int32",
        ...     "boxes": dl.Boxes("xyxy"),
        ...     "labels": dl.Sequence(dl.ClassLabel(["cat"])),
        ... }
        >>> ds = dl.create("memory://fiftyone-doc", schema)
        >>> size = {"width": [40], "height": [20]}
        >>> ds.append({**size, "boxes": [[[0, 0, 20, 10]]], "labels": [["cat"]]})
        >>> root = ds.to_fiftyone(tempfile.mkdtemp())
        >>> (sample,) = json.loads((root / "samples.json").read_text())["samples"]
        >>> sample["ground_truth"]["detections"][0]["bounding_box"]
        [0.0, 0.0, 0.5, 0.5]
        """
        return rows.to_fiftyone(cast("View", self).pin(), path)
