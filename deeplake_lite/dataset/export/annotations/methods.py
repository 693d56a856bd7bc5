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
            The JSON file. An existing file is replaced.
        images : str or Path, optional
            A new or empty folder for the image files. By default, no image files are written.

        Returns
        -------
        Path
            The JSON file.

        Raises
        ------
        SchemaError
            If there is no column of boxes, outlines, keypoints or captions, or if the rows belong
            to several splits.
        ExistsError
            When the folder for the image files is not empty.
        InvalidValueError
            If the columns of a row disagree on the number of annotations, if a ``path`` leads out
            of the folder, or if two images have the same id or path.
        StorageError
            If a file cannot be written.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns or metadata are left out, because COCO cannot
            represent them, or if objects are null (their images have no annotations).

        Notes
        -----
        Columns are recognized by the names that `from_coco` uses, or else by type, if only one
        fits: boxes of any format, labels (a sequence of classes), segmentation (a sequence of
        polygons), and keypoints. Rows that were ingested from COCO are written with all values of
        the file, except for cells that have been edited since. Annotations without an id get a new
        one, and missing areas are computed.

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
            A new or empty folder.
        task : {"detect", "segment", "pose", "obb"}, optional
            The content of the label files: boxes, outlines (without boxes), boxes with keypoints,
            or oriented boxes (as outlines). By default, "pose" if there is a column of keypoints,
            or else "segment" if there is a column of outlines, or else "detect".

        Returns
        -------
        Path
            The folder. Images are in ``images/train`` etc., according to the column ``split``, and
            named after the column ``path``. They are not re-encoded.

        Raises
        ------
        ExistsError
            When the folder is not empty.
        SchemaError
            When the column of images, of labels, or of the task's shapes is missing, or there are
            several such columns.
        InvalidValueError
            When a row has more or fewer labels than objects, or two images have the same name.
        StorageError
            When a file cannot be written. Files that were written before the error are removed.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns or metadata are left out, if objects are null
            (their images have no objects), if an object has several outlines (they are
            joined), if an object extends beyond its image (it is clipped, or left out if it lies
            outside), or, for "obb", if an outline does not have four corners (it becomes the
            smallest rectangle around them).

        Notes
        -----
        `from_yolo` reads the folder back. Columns are recognized by the names that it uses, or else
        by type: boxes of any format, labels (a sequence of classes), segmentation (a sequence of
        polygons), and keypoints.

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
            A new or empty folder.

        Returns
        -------
        Path
            The folder, with ``JPEGImages``, ``Annotations`` and ``ImageSets/Main`` (a list for each
            class of the column ``split``). Image files are named after the column ``path``, and not
            re-encoded.

        Raises
        ------
        ExistsError
            When the folder is not empty.
        SchemaError
            When a column of shapes or labels is missing, or there are several.
        InvalidValueError
            When a row has more or fewer labels than boxes, two images have the same name, or a name
            is not allowed in file names or in XML.
        StorageError
            When a file cannot be written. Files that were written before the error are removed.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns or metadata are left out (VOC has boxes, but no
            outlines), or if objects are null (their images have no objects).

        Notes
        -----
        `from_voc` reads the folder back. Rows that were imported from VOC are written with all
        values of their XML files, except for cells that have been edited since. Boxes are not
        rounded to whole pixels, although some tools expect that.

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
        """Write the rows in the format "CVAT for images 1.1", which CVAT imports.

        Parameters
        ----------
        path : str or Path
            A ZIP file (``.zip``) for annotations and images, an XML file (``.xml``) for annotations
            only, or a new or empty folder for ``annotations.xml`` and ``images``. Existing files
            are replaced.

        Returns
        -------
        Path
            The file or the folder.

        Raises
        ------
        ExistsError
            When the folder is not empty.
        SchemaError
            When a column of shapes or labels is missing, or there are several.
        InvalidValueError
            When a row has more or fewer labels than shapes, two images have the same path, or a
            name is not allowed in XML.
        StorageError
            When a file cannot be written.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns or metadata are left out, if objects are null
            (their images have no objects), or if an object has several shapes.

        Notes
        -----
        Each object is written as the first of these shapes that it has: mask, polygon, polyline,
        points, box. Keypoints that are named or hidden become skeletons. The column ``split``
        becomes the subset. `from_cvat` reads the result back.

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
        """Write the rows as tasks that Label Studio imports.

        Parameters
        ----------
        path : str or Path
            A JSON file (``.json``) for the tasks, or a new or empty folder for ``tasks.json`` and
            ``images``. An existing file is replaced.
        predictions : bool
            Whether to write the objects as predictions with scores, for annotators to start from.

        Returns
        -------
        Path
            The file or the folder.

        Raises
        ------
        ExistsError
            When the folder is not empty.
        SchemaError
            When a column of shapes or labels is missing, or there are several.
        InvalidValueError
            When a row has more or fewer labels than shapes, two images have the same path, or the
            size of an image is unknown.
        StorageError
            When a file cannot be written.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns or metadata are left out, if objects are null
            (their images have no objects), or if an object has several shapes.

        Notes
        -----
        Tasks refer to images in Label Studio's local storage, so set ``LOCAL_FILES_DOCUMENT_ROOT``
        to the folder ``images``. If there is a column ``data``, its values are written instead.
        New regions refer to controls named ``label`` (rectangles), ``polygon``, ``keypoint`` and
        ``brush``; use these names in the labelling configuration. `from_labelstudio` reads the
        file back.

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
            A new or empty folder.

        Returns
        -------
        Path
            The folder, with ``metadata.json``, ``samples.json``, ``data`` (image files, named after
            the column ``path`` and not re-encoded) and ``fields`` (segmentation masks).

        Raises
        ------
        ExistsError
            When the folder is not empty.
        SchemaError
            When a column of labels is missing, or there are several.
        InvalidValueError
            When a row has more or fewer labels than shapes, two images have the same path, or the
            size of an image is unknown.
        StorageError
            When a file cannot be written. Files that were written before the error are removed.

        Warns
        -----
        ExportWarning
            Before anything is written, if columns or metadata are left out, if objects are null
            (their images have no objects), or if an object has several shapes.

        Notes
        -----
        Boxes and masks become detections in the field ``ground_truth``. Outlines and lines are in
        the field ``polylines``, and keypoints in ``keypoints``. Classes of images become
        classifications, segmentation masks become segmentations, and the column ``split`` becomes
        a tag. `from_fiftyone` reads the folder back, and so does FiftyOne::

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
