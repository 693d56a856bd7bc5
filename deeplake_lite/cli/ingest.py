"""Commands that ingest files into a lake, one for each format."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from deeplake_lite.cli.app import Url  # noqa: TC001 (typer evaluates annotations)
from deeplake_lite.cli.ingest_options import Columns, Images, NoImages, On, group, ingests


@group.command("auto")
@ingests
def ingest_auto(
    source: Annotated[str, typer.Argument(metavar="SRC", help="File, folder or 'pattern'.")],
    url: Url,
    **options: Any,
) -> Any:
    """Recognise the format of files, and ingest the files."""
    from deeplake_lite.ingest.detection.api import recognise

    data, file_format = recognise(source)
    typer.echo(f"{source} is read as {file_format.name}", err=True)
    return file_format.load()(data, url, **options)


@group.command("folder")
@ingests
def ingest_folder(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder of images.")],
    url: Url,
    label: Annotated[str, typer.Option(help="Name of the column of labels.")] = "label",
    labels: Annotated[str | None, typer.Option(help="CSV file of file names and labels.")] = None,
    file_column: Annotated[
        str | None, typer.Option(help="Column of file names in the CSV file. Detected by default.")
    ] = None,
    **options: Any,
) -> Any:
    """Ingest a folder of images, with folders for classes or splits, or with a CSV of labels."""
    from deeplake_lite.ingest.folders.folder import from_folder

    return from_folder(source, url, label=label, labels=labels, file_column=file_column, **options)


@group.command("parquet")
@ingests
def ingest_parquet(
    source: Annotated[str, typer.Argument(metavar="SRC", help="File, folder or 'pattern'.")],
    url: Url,
    on: On = None,
    **options: Any,
) -> Any:
    """Ingest the rows of Parquet files."""
    from deeplake_lite.ingest.tables.parquet import from_parquet

    return from_parquet(source, url, on=on, **options)


@group.command("deeplake")
@ingests
def ingest_deeplake(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder or URL of the dataset.")],
    url: Url,
    history: Annotated[
        bool,
        typer.Option(
            "--history/--no-history",
            help="Whether to ingest all versions as commits, or only the last version.",
        ),
    ] = True,
    on: On = None,
    **options: Any,
) -> Any:
    """Ingest a dataset of Deep Lake 4 or 3 with its history."""
    from deeplake_lite.ingest.deeplake.source import from_deeplake

    return from_deeplake(source, url, history=history, on=on, **options)


@group.command("lance")
@ingests
def ingest_lance(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder or URL of the dataset.")],
    url: Url,
    dataset_version: Annotated[
        str | None, typer.Option(help="Number or tag of the version. By default, the latest.")
    ] = None,
    on: On = None,
    **options: Any,
) -> Any:
    """Ingest a version of a Lance dataset."""
    from deeplake_lite.ingest.lance.source import from_lance

    is_number = dataset_version is not None and dataset_version.isdecimal()
    version = int(dataset_version) if is_number and dataset_version else dataset_version
    return from_lance(source, url, version=version, on=on, **options)


@group.command("huggingface")
@ingests
def ingest_huggingface(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SRC", help="Folder written by save_to_disk, or folder of Parquet files."
        ),
    ],
    url: Url,
    on: On = None,
    **options: Any,
) -> Any:
    """Ingest a Hugging Face dataset with its classes, files and splits."""
    from deeplake_lite.ingest.huggingface.source import from_huggingface

    return from_huggingface(source, url, on=on, **options)


@group.command("csv")
@ingests
def ingest_csv(
    source: Annotated[str, typer.Argument(metavar="SRC", help="File with a header line.")],
    url: Url,
    on: On = None,
    delimiter: Annotated[str, typer.Option(help="Character between values.")] = ",",
    **options: Any,
) -> Any:
    """Ingest the rows of a CSV file."""
    from deeplake_lite.ingest.tables.csv import from_csv

    return from_csv(source, url, on=on, delimiter=delimiter, **options)


@group.command("coco")
@ingests
def ingest_coco(
    source: Annotated[str, typer.Argument(metavar="SRC", help="File of annotations.")],
    url: Url,
    images: Images = None,
    no_images: NoImages = False,
    **options: Any,
) -> Any:
    """Ingest a COCO file of instances, keypoints or captions, with their images."""
    from deeplake_lite.ingest.coco.source import from_coco

    return from_coco(source, url, images=False if no_images else images, **options)


@group.command("litdata")
@ingests
def ingest_litdata(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder with index.json.")],
    url: Url,
    on: On = None,
    **options: Any,
) -> Any:
    """Ingest chunks written by LitData's optimize."""
    from deeplake_lite.ingest.shards.litdata import from_litdata

    return from_litdata(source, url, on=on, **options)


@group.command("mds")
@ingests
def ingest_mds(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder with index.json.")],
    url: Url,
    on: On = None,
    **options: Any,
) -> Any:
    """Ingest MDS shards of MosaicML's streaming datasets."""
    from deeplake_lite.ingest.shards.mds import from_mds

    return from_mds(source, url, on=on, **options)


@group.command("webdataset")
@ingests
def ingest_webdataset(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="Tar file, folder, 'pattern' or URL.")
    ],
    url: Url,
    on: On = None,
    **options: Any,
) -> Any:
    """Ingest the samples in WebDataset tar files."""
    from deeplake_lite.ingest.shards.webdataset import from_webdataset

    return from_webdataset(source, url, on=on, **options)


@group.command("tfrecord")
@ingests
def ingest_tfrecord(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="TFRecord file, folder, 'pattern' or URL.")
    ],
    url: Url,
    on: On = None,
    **options: Any,
) -> Any:
    """Ingest the records of TFRecord files, including those of TensorFlow Datasets."""
    from deeplake_lite.ingest.shards.tfrecord import from_tfrecord

    return from_tfrecord(source, url, on=on, **options)


@group.command("arrayrecord")
@ingests
def ingest_arrayrecord(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="ArrayRecord file, folder, 'pattern' or URL.")
    ],
    url: Url,
    on: On = None,
    contents: Annotated[
        str,
        typer.Option(metavar="auto|example|bytes", help="Content of records. Detected by default."),
    ] = "auto",
    **options: Any,
) -> Any:
    """Ingest the records of ArrayRecord files, including those of TensorFlow Datasets."""
    from deeplake_lite.ingest.shards.arrayrecord import from_arrayrecord

    return from_arrayrecord(source, url, on=on, contents=contents, **options)  # type: ignore[arg-type]


@group.command("numpy")
@ingests
def ingest_numpy(
    source: Annotated[str, typer.Argument(metavar="SRC", help="File, folder or 'pattern'.")],
    url: Url,
    on: On = None,
    columns: Columns = None,
    **options: Any,
) -> Any:
    """Ingest the arrays in NumPy's npy and npz files."""
    from deeplake_lite.ingest.arrays.numpy import from_numpy

    return from_numpy(source, url, on=on, columns=columns or None, **options)


@group.command("idx")
@ingests
def ingest_idx(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder, file or 'pattern'.")],
    url: Url,
    classes: Annotated[
        list[str] | None,
        typer.Option("--class", help="Name of a class. Repeat for all classes, in order."),
    ] = None,
    **options: Any,
) -> Any:
    """Ingest images and labels from IDX files, such as MNIST."""
    from deeplake_lite.ingest.arrays.idx import from_idx

    return from_idx(source, url, classes=classes or None, **options)


@group.command("hdf5")
@ingests
def ingest_hdf5(
    source: Annotated[str, typer.Argument(metavar="SRC", help="File, folder or 'pattern'.")],
    url: Url,
    on: On = None,
    columns: Columns = None,
    **options: Any,
) -> Any:
    """Ingest the datasets of HDF5 files."""
    from deeplake_lite.ingest.arrays.hdf5 import from_hdf5

    return from_hdf5(source, url, on=on, columns=columns or None, **options)


@group.command("zarr")
@ingests
def ingest_zarr(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder of a group or array.")],
    url: Url,
    on: On = None,
    columns: Columns = None,
    **options: Any,
) -> Any:
    """Ingest the arrays of a Zarr group."""
    from deeplake_lite.ingest.arrays.zarr import from_zarr

    return from_zarr(source, url, on=on, columns=columns or None, **options)


@group.command("torch")
@ingests
def ingest_torch(
    source: Annotated[str, typer.Argument(metavar="SRC", help="File written by to_torch.")],
    url: Url,
    on: On = None,
    **options: Any,
) -> Any:
    """Ingest a file of PyTorch tensors written by to_torch."""
    from deeplake_lite.ingest.arrays.torch import from_torch

    return from_torch(source, url, on=on, **options)


@group.command("tfds")
@ingests
def ingest_tfds(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="Folder or name of a dataset that TFDS prepared.")
    ],
    url: Url,
    on: On = None,
    split: Annotated[
        list[str] | None, typer.Option(help="Split to ingest. Repeat for several. By default, all.")
    ] = None,
    **options: Any,
) -> Any:
    """Ingest a dataset of TensorFlow Datasets."""
    from deeplake_lite.ingest.arrays.tfds import from_tfds

    return from_tfds(source, url, on=on, split=split or None, **options)


@group.command("yolo")
@ingests
def ingest_yolo(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="Folder of the dataset, or its data.yaml.")
    ],
    url: Url,
    task: Annotated[
        str | None,
        typer.Option(metavar="detect|segment|pose|obb|classify", help="Inferred by default."),
    ] = None,
    **options: Any,
) -> Any:
    """Ingest a YOLO dataset of images with label files."""
    from deeplake_lite.ingest.yolo.source import from_yolo

    return from_yolo(source, url, task=task, **options)  # type: ignore[arg-type]


@group.command("voc")
@ingests
def ingest_voc(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="Folder of JPEGImages and Annotations.")
    ],
    url: Url,
    origin: Annotated[
        int,
        typer.Option(metavar="1|0", help="Number of the first pixel. Use 0 for exports from CVAT."),
    ] = 1,
    **options: Any,
) -> Any:
    """Ingest a PASCAL VOC dataset of images with XML files, such as those from labelImg."""
    from deeplake_lite.ingest.annotations.voc import from_voc

    return from_voc(source, url, origin=origin, **options)  # type: ignore[arg-type]


@group.command("cvat")
@ingests
def ingest_cvat(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="annotations.xml, its folder, or a ZIP file.")
    ],
    url: Url,
    images: Images = None,
    no_images: NoImages = False,
    **options: Any,
) -> Any:
    """Ingest a "CVAT for images 1.1" export, or the tracks of a "CVAT for video 1.1" export."""
    from deeplake_lite.ingest.annotations.cvat import from_cvat

    return from_cvat(source, url, images=False if no_images else images, **options)


@group.command("labelstudio")
@ingests
def ingest_labelstudio(
    source: Annotated[str, typer.Argument(metavar="SRC", help="JSON file of tasks.")],
    url: Url,
    images: Images = None,
    no_images: NoImages = False,
    **options: Any,
) -> Any:
    """Ingest tasks that Label Studio exported as JSON."""
    from deeplake_lite.ingest.annotations.labelstudio import from_labelstudio

    return from_labelstudio(source, url, images=False if no_images else images, **options)


@group.command("fiftyone")
@ingests
def ingest_fiftyone(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="Folder with metadata.json and samples.json.")
    ],
    url: Url,
    label_field: Annotated[
        str | None, typer.Option(help="Field with the objects. By default, ground_truth.")
    ] = None,
    images: Images = None,
    no_images: NoImages = False,
    **options: Any,
) -> Any:
    """Ingest a dataset that FiftyOne exported as FiftyOneDataset."""
    from deeplake_lite.ingest.annotations.fiftyone import from_fiftyone

    folder = False if no_images else images
    return from_fiftyone(source, url, label_field=label_field, images=folder, **options)
