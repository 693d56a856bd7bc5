"""Commands that ingest files into a lake."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from deeplake_lite.cli.app import Json, Url, app, command, print_json, print_some
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.ingest.result import IngestedDataset


class _Group(typer.core.TyperGroup):
    """Commands by format; without the name of one, the format of the source is recognised."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        first = args[0] if args else ""
        is_word = first.isidentifier() and not os.path.exists(first)  # the name of a format
        is_source = not (first in self.commands or first.startswith("-") or is_word)
        return super().resolve_command(ctx, ["auto", *args] if is_source else args)


group = typer.Typer(
    cls=_Group,
    help="Ingest files into a lake, which is created if it does not exist. Without the name of a "
    "format, as in `ingest SRC URL`, it is recognised.",
    no_args_is_help=True,
)
app.add_typer(group, name="ingest")

On = Annotated[
    str | None,
    typer.Option(
        help="Key column, to update rows whose key exists. By default, all rows are added, "
        "unless the same file was ingested before."
    ),
]

Images = Annotated[
    str | None, typer.Option(help="Folder of the images; looked for near the file by default.")
]
NoImages = Annotated[bool, typer.Option("--no-images", help="Ingest the annotations alone.")]


Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="Column to ingest, by default all; repeat it."),
]


def _options(
    on_error: Annotated[
        str, typer.Option(metavar="raise|skip", help="Fail on a bad row, or skip it.")
    ] = "raise",
    check: Annotated[
        str, typer.Option(metavar="header|full", help="How files are checked; full decodes them.")
    ] = "header",
    update: Annotated[
        bool,
        typer.Option("--update/--no-update", help="Update rows whose key exists, or skip them."),
    ] = True,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite edits in the lake with the source.")
    ] = False,
    commit_every: Annotated[
        int | None, typer.Option(help="Commit after this many rows; a rerun continues from there.")
    ] = None,
    branch: Annotated[str, typer.Option(help="Branch to write to.")] = "main",
    message: Annotated[str, typer.Option(help="Commit message.")] = "",
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type", metavar="COLUMN=TYPE", help="Type of a column, such as species=class_label."
        ),
    ] = None,
) -> dict[str, object]:
    """Check the options that every ingest has, and return them as keywords."""
    if commit_every is not None and commit_every < 1:
        raise InvalidValueError(f"--commit-every must be at least 1, but it is {commit_every}.")
    if force and not update:
        raise InvalidValueError("--force and --no-update exclude each other. Leave one out.")
    return {
        "on_error": _one_of("--on-error", on_error, "raise", "skip"),
        "check": _one_of("--check", check, "header", "full"),
        "update": "force" if force else update,
        "commit_every": commit_every,
        "branch": branch,
        "message": message,
        "schema": _types(types or []),
    }


def _ingests(function: Callable[..., IngestedDataset]) -> Callable[..., None]:
    """Add the options of every ingest to a command, and print the result of its function."""
    shared = inspect.signature(_options, eval_str=True)
    own = inspect.signature(function, eval_str=True)

    @command
    @functools.wraps(function)
    def run(**arguments: Any) -> None:
        as_json = arguments.pop("as_json")
        options = _options(**{name: arguments.pop(name) for name in shared.parameters})
        _report(function(**arguments, progress=sys.stderr.isatty(), **options), as_json)

    own_parameters = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    last = inspect.Parameter("as_json", own_parameters[0].kind, default=False, annotation=Json)
    parameters = [*own_parameters, *shared.parameters.values(), last]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


@group.command("auto")
@_ingests
def ingest_auto(
    source: Annotated[str, typer.Argument(metavar="SRC", help="File, folder or 'pattern'.")],
    url: Url,
    **options: Any,
) -> Any:
    """Ingest files of any format, which is recognised."""
    from deeplake_lite.ingest.detection.api import recognise

    data, known = recognise(source)
    typer.echo(f"{source} is read as {known.name}", err=True)
    return known.load()(data, url, **options)


@group.command("folder")
@_ingests
def ingest_folder(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder of images.")],
    url: Url,
    label: Annotated[str, typer.Option(help="Name of the column of labels.")] = "label",
    labels: Annotated[str | None, typer.Option(help="CSV file of file names and labels.")] = None,
    file_column: Annotated[
        str | None, typer.Option(help="Column of file names in that file; detected by default.")
    ] = None,
    **options: Any,
) -> Any:
    """Ingest a folder of images: a folder per class, per split and class, or a CSV of labels."""
    from deeplake_lite.ingest.folders.folder import from_folder

    return from_folder(source, url, label=label, labels=labels, file_column=file_column, **options)


@group.command("parquet")
@_ingests
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
@_ingests
def ingest_deeplake(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder or URL of the dataset.")],
    url: Url,
    history: Annotated[
        bool,
        typer.Option("--history/--no-history", help="All versions as commits, or only the last."),
    ] = True,
    on: On = None,
    **options: Any,
) -> Any:
    """Ingest a dataset of Deep Lake, version 4 or 3, with its history."""
    from deeplake_lite.ingest.deeplake.source import from_deeplake

    return from_deeplake(source, url, history=history, on=on, **options)


@group.command("lance")
@_ingests
def ingest_lance(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder or URL of the dataset.")],
    url: Url,
    dataset_version: Annotated[
        str | None, typer.Option(help="Number or tag of the version; by default the latest.")
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
@_ingests
def ingest_huggingface(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="Folder of save_to_disk or of Parquet files.")
    ],
    url: Url,
    on: On = None,
    **options: Any,
) -> Any:
    """Ingest a dataset of Hugging Face, with its classes, files and splits."""
    from deeplake_lite.ingest.huggingface.source import from_huggingface

    return from_huggingface(source, url, on=on, **options)


@group.command("csv")
@_ingests
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
@_ingests
def ingest_coco(
    source: Annotated[str, typer.Argument(metavar="SRC", help="File of annotations.")],
    url: Url,
    images: Images = None,
    no_images: NoImages = False,
    **options: Any,
) -> Any:
    """Ingest a COCO file: instances, keypoints or captions, with their images."""
    from deeplake_lite.ingest.coco.source import from_coco

    return from_coco(source, url, images=False if no_images else images, **options)


@group.command("litdata")
@_ingests
def ingest_litdata(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder with index.json.")],
    url: Url,
    on: On = None,
    **options: Any,
) -> Any:
    """Ingest chunks that LitData has optimized."""
    from deeplake_lite.ingest.shards.litdata import from_litdata

    return from_litdata(source, url, on=on, **options)


@group.command("mds")
@_ingests
def ingest_mds(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder with index.json.")],
    url: Url,
    on: On = None,
    **options: Any,
) -> Any:
    """Ingest MDS shards, the format of MosaicML's streaming datasets."""
    from deeplake_lite.ingest.shards.mds import from_mds

    return from_mds(source, url, on=on, **options)


@group.command("webdataset")
@_ingests
def ingest_webdataset(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="Tar file, folder, 'pattern' or URL.")
    ],
    url: Url,
    on: On = None,
    **options: Any,
) -> Any:
    """Ingest the samples of WebDataset's tar files."""
    from deeplake_lite.ingest.shards.webdataset import from_webdataset

    return from_webdataset(source, url, on=on, **options)


@group.command("tfrecord")
@_ingests
def ingest_tfrecord(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="TFRecord file, folder, 'pattern' or URL.")
    ],
    url: Url,
    on: On = None,
    **options: Any,
) -> Any:
    """Ingest the records of TFRecord files, also those of TensorFlow Datasets."""
    from deeplake_lite.ingest.shards.tfrecord import from_tfrecord

    return from_tfrecord(source, url, on=on, **options)


@group.command("arrayrecord")
@_ingests
def ingest_arrayrecord(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="ArrayRecord file, folder, 'pattern' or URL.")
    ],
    url: Url,
    on: On = None,
    contents: Annotated[
        str,
        typer.Option(metavar="auto|example|bytes", help="What records hold; found by default."),
    ] = "auto",
    **options: Any,
) -> Any:
    """Ingest the records of ArrayRecord files, also those of TensorFlow Datasets."""
    from deeplake_lite.ingest.shards.arrayrecord import from_arrayrecord

    return from_arrayrecord(source, url, on=on, contents=contents, **options)  # type: ignore[arg-type]


@group.command("numpy")
@_ingests
def ingest_numpy(
    source: Annotated[str, typer.Argument(metavar="SRC", help="File, folder or 'pattern'.")],
    url: Url,
    on: On = None,
    columns: Columns = None,
    **options: Any,
) -> Any:
    """Ingest the arrays of NumPy's npy and npz files."""
    from deeplake_lite.ingest.arrays.numpy import from_numpy

    return from_numpy(source, url, on=on, columns=columns or None, **options)


@group.command("idx")
@_ingests
def ingest_idx(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder, file or 'pattern'.")],
    url: Url,
    classes: Annotated[
        list[str] | None, typer.Option("--class", help="Name of a class, in order; repeat it.")
    ] = None,
    **options: Any,
) -> Any:
    """Ingest images and labels of IDX files, such as those of MNIST."""
    from deeplake_lite.ingest.arrays.idx import from_idx

    return from_idx(source, url, classes=classes or None, **options)


@group.command("hdf5")
@_ingests
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
@_ingests
def ingest_zarr(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder of a group or an array.")],
    url: Url,
    on: On = None,
    columns: Columns = None,
    **options: Any,
) -> Any:
    """Ingest the arrays of a Zarr group."""
    from deeplake_lite.ingest.arrays.zarr import from_zarr

    return from_zarr(source, url, on=on, columns=columns or None, **options)


@group.command("torch")
@_ingests
def ingest_torch(
    source: Annotated[str, typer.Argument(metavar="SRC", help="File that to_torch has written.")],
    url: Url,
    on: On = None,
    **options: Any,
) -> Any:
    """Ingest a file of PyTorch tensors that to_torch has written."""
    from deeplake_lite.ingest.arrays.torch import from_torch

    return from_torch(source, url, on=on, **options)


@group.command("tfds")
@_ingests
def ingest_tfds(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="Folder of a prepared dataset, or its name.")
    ],
    url: Url,
    on: On = None,
    split: Annotated[
        list[str] | None, typer.Option(help="Split to ingest, by default all; repeat it.")
    ] = None,
    **options: Any,
) -> Any:
    """Ingest a dataset of TensorFlow Datasets."""
    from deeplake_lite.ingest.arrays.tfds import from_tfds

    return from_tfds(source, url, on=on, split=split or None, **options)


@group.command("yolo")
@_ingests
def ingest_yolo(
    source: Annotated[str, typer.Argument(metavar="SRC", help="Folder, or its data.yaml.")],
    url: Url,
    task: Annotated[
        str | None,
        typer.Option(metavar="detect|segment|pose|obb|classify", help="Inferred by default."),
    ] = None,
    **options: Any,
) -> Any:
    """Ingest a YOLO dataset: images with label files."""
    from deeplake_lite.ingest.yolo.source import from_yolo

    return from_yolo(source, url, task=task, **options)  # type: ignore[arg-type]


@group.command("voc")
@_ingests
def ingest_voc(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="Folder of JPEGImages and Annotations.")
    ],
    url: Url,
    origin: Annotated[
        int, typer.Option(metavar="1|0", help="Number of the first pixel; 0 for CVAT's exports.")
    ] = 1,
    **options: Any,
) -> Any:
    """Ingest a PASCAL VOC dataset: images with XML files, as labelImg writes them, too."""
    from deeplake_lite.ingest.annotations.voc import from_voc

    return from_voc(source, url, origin=origin, **options)  # type: ignore[arg-type]


@group.command("cvat")
@_ingests
def ingest_cvat(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="annotations.xml, its folder, or a ZIP file.")
    ],
    url: Url,
    images: Images = None,
    no_images: NoImages = False,
    **options: Any,
) -> Any:
    """Ingest an export of CVAT: "CVAT for images 1.1", or the tracks of "CVAT for video 1.1"."""
    from deeplake_lite.ingest.annotations.cvat import from_cvat

    return from_cvat(source, url, images=False if no_images else images, **options)


@group.command("labelstudio")
@_ingests
def ingest_labelstudio(
    source: Annotated[str, typer.Argument(metavar="SRC", help="JSON file of tasks.")],
    url: Url,
    images: Images = None,
    no_images: NoImages = False,
    **options: Any,
) -> Any:
    """Ingest tasks that Label Studio has exported as JSON."""
    from deeplake_lite.ingest.annotations.labelstudio import from_labelstudio

    return from_labelstudio(source, url, images=False if no_images else images, **options)


@group.command("fiftyone")
@_ingests
def ingest_fiftyone(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="Folder with metadata.json and samples.json.")
    ],
    url: Url,
    label_field: Annotated[
        str | None, typer.Option(help="Field of the objects; ground_truth by default.")
    ] = None,
    images: Images = None,
    no_images: NoImages = False,
    **options: Any,
) -> Any:
    """Ingest a dataset that FiftyOne has exported as FiftyOneDataset."""
    from deeplake_lite.ingest.annotations.fiftyone import from_fiftyone

    folder = False if no_images else images
    return from_fiftyone(source, url, label_field=label_field, images=folder, **options)


def _one_of(option: str, value: str, *known: str) -> str:
    if value not in known:
        raise InvalidValueError(f"{option} must be {' or '.join(known)}, but it is {value!r}.")
    return value


def _types(options: list[str]) -> dict[str, str] | None:
    """Return the types of columns by name.

    >>> _types(["species=class_label"])
    {'species': 'class_label'}
    """
    pairs = [option.partition("=") for option in options]
    for option, (name, _, spec) in zip(options, pairs, strict=True):
        if not (name and spec):
            raise InvalidValueError(
                "--type must be COLUMN=TYPE, such as --type species=class_label, but it is "
                f"{option!r}."
            )
    return {name: spec for name, _, spec in pairs} or None


def _report(ds: IngestedDataset, as_json: bool) -> None:
    """Print the result of an ingest."""
    result = ds.ingested
    if as_json:
        print_json({
            "url": ds.url, "version": ds.version, "rows": len(ds), "added": result.added,
            "changed": result.changed, "unchanged": result.unchanged,
            "seconds": round(result.seconds, 3),
            "skipped": [{"path": s.path, "reason": s.reason} for s in result.skipped],
            "kept": [{"path": k.path, "columns": list(k.columns)} for k in result.kept],
            "repeated": result.repeated or None,
        })  # fmt: skip
        return
    print_some("skipped", map(str, result.skipped))
    print_some("kept", map(str, result.kept))
    if result.kept:
        typer.echo("--force overwrites the edits of these rows with the source", err=True)
    if result.repeated:
        typer.echo(
            f"version {result.repeated} already has these rows; --force adds them again", err=True
        )
    typer.echo(f"{result!r}; {ds.url} has {counted(len(ds), 'row')}")
