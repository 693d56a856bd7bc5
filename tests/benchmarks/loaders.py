"""Entrants to the race of the loaders: ours, and what no loader can beat.

All give the same 20,000 JPEGs, 64 at a time, shuffled, as arrays or tensors (rows, 250, 250, 3)
uint8 with the rows' numbers as labels, and may use two threads or two processes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import batched
from pathlib import Path
from typing import Any

import numpy as np
import simplejpeg

import deeplake_lite as dl

from . import corpus

BATCH, WORKERS, AHEAD = 64, 2, 4

type Batches = Iterable[tuple[Any, Any]]
"""Images and labels."""


@dataclass(frozen=True)
class Entrant:
    """Who writes the images in a form of its own, and gives batches of them."""

    write: Callable[[Path, Sequence[bytes]], object]
    """To a folder that is there."""
    batches: Callable[[Path], Batches]
    """Opens what was written; each `iter` of what it returns is an epoch."""


def write_lake(folder: Path, jpegs: Sequence[bytes]) -> None:
    lake = dl.create(str(folder / "lake"), {"image": dl.Image("jpeg"), "label": "int64"})
    lake.append({"image": jpegs, "label": np.arange(len(jpegs))})
    lake.commit("images")


def ours(folder: Path, framework: str = "batches", **options: Any) -> Batches:
    """Return what `View.batches`, or its like for a framework, gives."""
    view = dl.open(str(folder / "lake"))
    loader = getattr(view, framework)(BATCH, shuffle=True, num_workers=WORKERS, **options)
    return Pairs(loader)


@dataclass(frozen=True)
class Pairs:
    """Batches that are dicts, as pairs."""

    loader: Iterable[dict[str, Any]]

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return ((batch["image"], batch["label"]) for batch in self.loader)


def write_list(folder: Path, jpegs: Sequence[bytes]) -> None:
    """Note how many images of the corpus are raced; who needs no more reads them there."""
    (folder / "count").write_text(str(len(jpegs)))


def listed(folder: Path) -> list[Path]:
    count = int((folder / "count").read_text())
    return sorted(corpus.folder().glob("*.jpg"))[:count]


@dataclass
class DecodeLimit:
    """The decoder alone: bytes in memory, batches that are there already, nothing handed over."""

    jpegs: Sequence[bytes]
    epoch: int = 0

    def __post_init__(self) -> None:
        self.out = [np.ones((BATCH, *corpus_shape()), np.uint8) for _ in range(WORKERS)]

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        self.epoch += 1
        order = np.random.default_rng(self.epoch).permutation(len(self.jpegs))
        rows = list(batched(order.tolist(), BATCH))
        with ThreadPoolExecutor(WORKERS) as pool:
            shares = pool.map(
                lambda first: self.decode(rows[first::WORKERS], first), range(WORKERS)
            )
            for share in shares:
                yield from share

    def decode(self, batches: Sequence[Sequence[int]], worker: int) -> list[tuple[Any, Any]]:
        out = self.out[worker]
        for rows in batches:
            for image, row in zip(out, rows, strict=False):
                simplejpeg.decode_jpeg(self.jpegs[row], buffer=image)
        return [(out[: len(rows)], rows) for rows in batches]


def corpus_shape() -> tuple[int, int, int]:
    return corpus.SIZE, corpus.SIZE, 3


def decode_limit(folder: Path) -> Batches:
    return DecodeLimit([path.read_bytes() for path in listed(folder)])


def check_images(images: Any) -> None:
    if hasattr(images, "block_until_ready"):
        images.block_until_ready()  # JAX hands arrays over that are still on their way
    if tuple(images.shape[1:]) != corpus_shape() or "uint8" not in str(images.dtype):
        raise AssertionError(f"images are {images.shape} {images.dtype}")


def check_rows(labels: Iterable[Any], count: int) -> None:
    """Tell whether every row came once."""
    found = np.sort(np.concatenate([np.asarray(some) for some in labels]))
    if not np.array_equal(found, np.arange(count)):
        raise AssertionError(f"{len(found)} rows, {len(np.unique(found))} different, of {count}")


OURS = {
    "deeplake_lite": Entrant(write_lake, ours),
    "deeplake_lite, PyTorch": Entrant(write_lake, lambda folder: ours(folder, "pytorch")),
    "deeplake_lite, TensorFlow": Entrant(write_lake, lambda folder: ours(folder, "tensorflow")),
    "deeplake_lite, JAX": Entrant(write_lake, lambda folder: ours(folder, "jax")),
    "decode limit": Entrant(write_list, decode_limit),
}
