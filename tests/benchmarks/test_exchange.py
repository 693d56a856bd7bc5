"""Import and export of other formats, compared with the packages that define them."""

import copy
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import deeplake_lite as dl
from tests.evaluate import coco

from . import corpus, lakes, processes
from .exchange_peers import FORMATS, Format, Samples, write_parquet
from .harness import (
    OURS,
    Figures,
    at_most,
    at_most_times,
    in_fresh_folder,
    timed,
)

pytestmark = [
    pytest.mark.bench,
    pytest.mark.filterwarnings("ignore::deeplake_lite.errors.ExportWarning", "ignore"),
]

SMALL_ROWS = 1_000_000
"""Rows of the Parquet file with small images."""


@pytest.fixture(scope="module")
def samples(jpegs) -> Samples:
    labels = np.random.default_rng(0).integers(len(lakes.NAMES), size=len(jpegs)).tolist()
    return list(zip(jpegs, labels, strict=True))


@pytest.fixture(scope="module")
def lake(samples, work) -> "dl.Dataset":
    images, labels = zip(*samples, strict=True)
    schema = {"image": dl.Image("jpeg"), "label": dl.ClassLabel(lakes.NAMES)}
    return lakes.filled(str(work / "lake"), schema, image=images, label=labels)


@pytest.mark.parametrize("name", FORMATS)
def test_export(race, report, samples, lake, work, name):
    form = FORMATS[name]

    def contender(write: Callable[[Path], object]):
        return partial(in_fresh_folder, work, lambda folder: timed(partial(write, folder)))

    rounds = race(
        {
            OURS: contender(lambda folder: form.export(folder, lake)),
            form.peer: contender(lambda folder: form.write(folder, samples)),
        },
    )
    report.add(
        f"export of {len(samples):,} JPEGs and labels: {name}",
        rounds,
        at_most_times(1.25, form.peer, "s"),
    )


@pytest.mark.parametrize("name", FORMATS)
def test_import(race, report, samples, work, name):
    form, folder = FORMATS[name], work / f"written by {FORMATS[name].peer}"
    folder.mkdir()
    form.write(folder, samples)

    def ours(new: Path) -> Figures:
        return timed(lambda: form.ingest(folder, str(new / "lake")))

    rounds = race(
        {
            OURS: partial(
                in_fresh_folder,
                work,
                lambda new: timed(lambda: form.ingest(folder, str(new / "l"))),
            ),
            f"{form.peer}, reading": lambda: timed(lambda: count(form, folder)),
        },
    )
    targets = [at_most_times(0.5, "webdataset, reading", "s")] if name == "WebDataset" else []
    report.add(f"import of {len(samples):,} JPEGs and labels: {name}", rounds, *targets)


def count(form: Format, folder: Path) -> int:
    return sum(1 for _ in form.read(folder))


def test_parquet_of_small_images(race, report, work):
    pool = corpus.jpeg_crops(1_000, 16, seed=0)
    folder = work / "small"
    folder.mkdir()
    samples = [(pool[i % len(pool)], i % len(lakes.NAMES)) for i in range(SMALL_ROWS)]
    write_parquet(folder, samples)
    del samples

    def by_hand(new: Path) -> Figures:
        return timed(lambda: read_and_append(folder / "part.parquet", new / "lake"))

    def ours(new: Path) -> Figures:
        return timed(lambda: dl.from_parquet(folder, str(new / "lake"), progress=False))

    rounds = race(
        {
            OURS: partial(in_fresh_folder, work, ours),
            "pyarrow and append": partial(in_fresh_folder, work, by_hand),
        },
        rounds=3,
    )
    report.add(
        f"import of {SMALL_ROWS:,} images of 16x16 from Parquet of Hugging Face",
        rounds,
        at_most_times(1 / 0.7, "pyarrow and append", "s"),
    )


def read_and_append(file: Path, folder: Path) -> None:
    """Read a file with pyarrow, and append its rows to a lake."""
    schema = {"image": dl.Image("auto"), "label": dl.ClassLabel(lakes.NAMES)}
    lake = dl.create(str(folder), schema)
    for batch in pq.ParquetFile(file).iter_batches(16_384):
        images = batch["image"].field("bytes")
        lake.append({"image": images.to_pylist(), "label": batch["label"].to_numpy()})
    lake.commit("rows")


def test_coco(race, report, work):
    file = write_coco(work / "instances.json", images=100_000, each=10)

    def ours(folder: Path) -> Figures:
        return processes.in_fresh_process("coco", file, folder / "lake")

    rounds = race(
        {
            OURS: partial(in_fresh_folder, work, ours),
            "pycocotools, reading": lambda: processes.in_fresh_process("pycocotools", file),
        },
        rounds=3,
        warm_up=False,
    )
    report.add(
        "import of COCO, 100,000 images and 1,000,000 boxes, memory added",
        rounds,
        at_most(30, "s"),
        at_most(2_000, "MB"),
    )


def write_coco(file: Path, *, images: int, each: int) -> Path:
    """Write a COCO document whose image files do not exist."""
    rng = np.random.default_rng(0)
    corners = rng.uniform(0, 400, (images * each, 2)).round(2).tolist()
    sizes = rng.uniform(10, 100, (images * each, 2)).round(2).tolist()
    document = {
        "images": [
            {"id": i, "file_name": f"{i:012d}.jpg", "width": 640, "height": 480}
            for i in range(images)
        ],
        "categories": [{"id": i, "name": f"class {i}"} for i in range(80)],
        "annotations": [
            {
                "id": i + 1, "image_id": i // each, "category_id": i % 80,
                "bbox": [*corner, *size], "area": size[0] * size[1], "iscrowd": 0,
                "segmentation": [],
            }
            for i, (corner, size) in enumerate(zip(corners, sizes, strict=True))
        ],
    }  # fmt: skip
    file.write_text(json.dumps(document))
    return file


@pytest.mark.parametrize("kind", ["boxes", "polygons"])
def test_evaluation(race, report, kind):
    names, rows = coco.random_rows(0, rows=10_000 if kind == "boxes" else 1_000, classes=80)
    lake = coco.lake(f"memory://evaluation of {kind}", names, rows)
    if kind == "polygons":
        for column in ("boxes", "predicted_boxes"):
            outlines = [[[outline(box)] for box in row[column]] for row in rows]
            lake.add_column(outlined(column), dl.Sequence(dl.Polygons()), values=outlines)
        for side in ("width", "height"):  # masks end at the borders of their image
            lake.add_column(side, "int64", values=[coco.SIZE] * len(rows))
    lake.commit("predictions")
    document, results = coco.annotations(names, rows, segmentation, predicted_segmentation)
    figures = dict[str, float]()

    def ours() -> None:
        columns = ("predicted_boxes", "boxes")
        columns = columns if kind == "boxes" else tuple(map(outlined, columns))
        figures["ours"] = lake.evaluate(*columns, labels="predicted_labels").summary["AP"]

    def theirs() -> Figures:
        copies = copy.deepcopy((document, results))  # pycocotools changes them
        form = "bbox" if kind == "boxes" else "segm"
        return timed(lambda: figures.update(theirs=float(coco.oracle(*copies, form).stats[0])))

    rounds = race({OURS: lambda: timed(ours), "pycocotools": theirs}, rounds=3)
    if len(figures) == 2:
        assert abs(figures["ours"] - figures["theirs"]) < 1e-6
    report.add(
        f"evaluation of {len(results):,} {kind} of 80 classes in {len(rows):,} images",
        rounds,
        at_most_times(1, "pycocotools", "s"),
    )


def outlined(column: str) -> str:
    return column.replace("boxes", "outlines")


def outline(box: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the corners (24, 2) of an ellipse in a box (x, y, width, height).

    They are float32, as in the lake, so that both evaluations draw the same pixels.
    """
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], 1)
    return (box[:2] + box[2:] / 2 * (1 + circle)).astype(np.float32)


def segmentation(row: dict[str, Any], number: int) -> dict[str, object]:
    return {"segmentation": [outline(row["boxes"][number]).ravel().tolist()]}


def predicted_segmentation(row: dict[str, Any], number: int) -> dict[str, object]:
    return {"segmentation": [outline(row["predicted_boxes"][number]).ravel().tolist()]}
