"""Lakes for the benchmarks: one with a single image column, one with ten columns of any length."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import deeplake_lite as dl

from . import corpus

BATCH = 50_000
POOL = 1000  # distinct thumbnails, boxes, … of the wide lake; their rows repeat
NAMES = ["cat", "coffee", "person", "motorcycle", "temple", "flower", "cell", "galaxy"]


def image_lake(folder: Path, jpegs: Sequence[bytes] = ()) -> "dl.Dataset":
    lake = dl.create(str(folder / "lake"), {"image": dl.Image("jpeg")})
    if jpegs:
        lake.append({"image": jpegs})
    lake.commit("images")
    return lake


def filled(url: str, schema: dict[str, Any], **columns: Any) -> "dl.Dataset":
    lake = dl.create(url, schema)
    lake.append(columns)
    lake.commit("rows")
    return lake


def raw_lake(folder: Path, arrays: np.ndarray) -> None:
    lake = dl.create(str(folder / "lake"), {"array": dl.Array("uint8", arrays.shape[1:])})
    lake.append({"array": arrays})
    lake.commit("arrays")


def open_lake(folder: Path, **options: Any) -> "dl.Dataset":
    return dl.open(str(folder / "lake"), **options)


def wide_schema() -> dict[str, Any]:
    return {
        "image": dl.Image("jpeg"),
        "thumb": dl.Image("jpeg"),
        "text": dl.Text(),
        "boxes": dl.Boxes("xyxy"),
        "label": dl.ClassLabel(NAMES),
        "embedding": dl.Embedding(128),
        "width": "int32",
        "time": "int64",
        "score": "float32",
        "weight": "float64",
    }


def wide_columns(start: int, images: Sequence[bytes]) -> dict[str, Any]:
    """Return ten columns of len(images) rows; the same for the same `start`."""
    count, rng = len(images), np.random.default_rng(start)
    thumbs = corpus.jpeg_crops(POOL, 24, seed=start)
    boxes = [rng.uniform(0, 250, (i % 5, 4)).astype(np.float32) for i in range(POOL)]
    return {
        "image": images,
        "thumb": repeat(thumbs, count),
        "text": [f"photograph {i} of a {NAMES[i % 8]}" for i in range(start, start + count)],
        "boxes": repeat([np.sort(b.reshape(-1, 2, 2), 1).reshape(-1, 4) for b in boxes], count),
        "label": rng.integers(len(NAMES), size=count),
        "embedding": rng.standard_normal((count, 128), dtype=np.float32),
        "width": rng.integers(1, 4000, count, dtype=np.int32),
        "time": rng.integers(2**40, size=count),
        "score": rng.random(count, dtype=np.float32),
        "weight": rng.random(count),
    }


def build_wide(folder: Path, rows: int) -> Path:
    """Append `rows` rows of small images in batches, to bound memory; one commit at the end."""
    lake = dl.create(str(folder / "lake"), wide_schema())
    images = corpus.jpeg_crops(POOL, 48, seed=3)
    for start in range(0, rows, BATCH):
        lake.append(wide_columns(start, repeat(images, min(BATCH, rows - start))))
    lake.commit("wide")
    return folder


def repeat[T](items: list[T], count: int) -> list[T]:
    return [items[i % len(items)] for i in range(count)]
