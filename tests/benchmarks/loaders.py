"""Contenders in the loader race: ours, and an upper bound that no loader can beat.

All return the same 20,000 JPEGs, 64 at a time, shuffled, as arrays or tensors (rows, 250, 250, 3)
uint8 with row numbers as labels, and may use two threads or two processes.
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
    """A contender that writes the images in its own format and returns batches of them."""

    write: Callable[[Path, Sequence[bytes]], object]
    """Write to an existing folder."""
    batches: Callable[[Path], Batches]
    """Open the written data; each `iter` of the result is an epoch."""


def write_lake(folder: Path, jpegs: Sequence[bytes]) -> None:
    lake = dl.create(str(folder / "lake"), {"image": dl.Image("jpeg"), "label": "int64"})
    lake.append({"image": jpegs, "label": np.arange(len(jpegs))})
    lake.commit("images")


def ours(folder: Path, framework: str = "batches", **options: Any) -> Batches:
    """Return the result of `View.batches`, or of its counterpart for a framework."""
    view = dl.open(str(folder / "lake"))
    loader = getattr(view, framework)(BATCH, shuffle=True, num_workers=WORKERS, **options)
    return Pairs(loader)


@dataclass(frozen=True)
class Pairs:
    """Batches of dicts, converted to pairs."""

    loader: Iterable[dict[str, Any]]

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return ((batch["image"], batch["label"]) for batch in self.loader)


def write_list(folder: Path, jpegs: Sequence[bytes]) -> None:
    """Record how many images of the corpus are raced, for contenders that read them from there."""
    (folder / "count").write_text(str(len(jpegs)))


def listed(folder: Path) -> list[Path]:
    count = int((folder / "count").read_text())
    return sorted(corpus.folder().glob("*.jpg"))[:count]


@dataclass
class DecodeLimit:
    """The decoder alone: bytes in memory, preallocated batches, nothing handed over."""

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
        images.block_until_ready()  # JAX returns arrays before they are computed
    if tuple(images.shape[1:]) != corpus_shape() or "uint8" not in str(images.dtype):
        raise AssertionError(f"images are {images.shape} {images.dtype}")


def check_rows(labels: Iterable[Any], count: int) -> None:
    """Check that every row appears once."""
    result = np.sort(np.concatenate([np.asarray(some) for some in labels]))
    if not np.array_equal(result, np.arange(count)):
        raise AssertionError(f"{len(result)} rows, {len(np.unique(result))} different, of {count}")


OURS = {
    "deeplake_lite": Entrant(write_lake, ours),
    "deeplake_lite, PyTorch": Entrant(write_lake, lambda folder: ours(folder, "pytorch")),
    "deeplake_lite, TensorFlow": Entrant(write_lake, lambda folder: ours(folder, "tensorflow")),
    "deeplake_lite, JAX": Entrant(write_lake, lambda folder: ours(folder, "jax")),
    "decode limit": Entrant(write_list, decode_limit),
}
