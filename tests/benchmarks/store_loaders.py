"""Loaders that read the same JPEGs from an object store, each set up for speed.

All decode with simplejpeg, in two threads or two processes. Where a loader keeps files on this
machine, they are in a folder of its own, which is empty at first.

- Lance: four threads take the rows of a batch each, ahead of two that decode them.
- MosaicML: shards by default, which PyTorch's DataLoader with two processes reads.
- One at a time: PyTorch's DataLoader with two processes. Each requests one object per image with
  boto3, and waits for the reply, as most people's first loader for a store does.
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import deeplake_lite as dl

from .loader_peers import (
    LanceBatches,
    image_table,
    mosaic_batches,
    tensor,
    torch_loader,
    write_mosaic,
)
from .loaders import BATCH, WORKERS, Batches, Pairs
from .store_tools import Lance, Ours, Store

TAKERS = 4
"""Batches that Lance takes at a time: the fastest of 1, 4, 8 and 16 at 50 ms. Without latency, 8
and 16 were faster in one of two noisy trials with 3,000 images."""


@dataclass(frozen=True)
class FarEntrant:
    """A contender that keeps the images on a store."""

    write: Callable[[Store, Sequence[bytes]], object]
    batches: Callable[[Store, int, Path], Batches]
    """Open the data of a number of images; the folder is for files on this machine."""


# ---- ours


def write_ours(store: Store, jpegs: Sequence[bytes]) -> None:
    schema: dict[str, Any] = {"image": dl.Image("jpeg"), "label": "int64"}
    lake = dl.create(store.url("ours"), schema, storage_options=Ours(store).options)
    lake.append({"image": jpegs, "label": np.arange(len(jpegs))})
    lake.commit("images")


def our_batches(store: Store, **options: Any) -> Batches:
    view = Ours(store).open("ours")
    return Pairs(view.batches(BATCH, shuffle=True, num_workers=WORKERS, **options))


def our_cached_batches(store: Store, _count: int, folder: Path) -> Batches:
    os.environ["XDG_CACHE_HOME"] = str(folder)
    return our_batches(store, cache="disk")


# ---- Lance


def write_lance(store: Store, jpegs: Sequence[bytes]) -> None:
    Lance(store).write(image_table(jpegs), store.url("lance"))


def lance_batches(store: Store, _count: int, _folder: Path) -> Batches:
    return LanceBatches(Lance(store).open("lance"), TAKERS)


# ---- MosaicML


def write_mosaic_shards(store: Store, jpegs: Sequence[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_mosaic(Path(folder), jpegs)
        for path in Path(folder).iterdir():
            client(store).upload_file(str(path), store.bucket, f"mosaic/{path.name}")


def cached_mosaic_batches(store: Store, _count: int, folder: Path) -> Batches:
    os.environ["S3_ENDPOINT_URL"] = store.endpoint
    os.environ["AWS_ACCESS_KEY_ID"] = store.key
    os.environ["AWS_SECRET_ACCESS_KEY"] = store.secret
    os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
    return mosaic_batches(folder, store.url("mosaic"))


# ---- one object per image


def client(store: Store) -> Any:
    import boto3

    return boto3.client(
        "s3",
        endpoint_url=store.endpoint,
        region_name="us-east-1",
        aws_access_key_id=store.key,
        aws_secret_access_key=store.secret,
    )


def write_objects(store: Store, jpegs: Sequence[bytes]) -> None:
    s3 = client(store)

    def put(row: int) -> None:
        s3.put_object(Bucket=store.bucket, Key=f"images/{row:05d}.jpg", Body=jpegs[row])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(len(jpegs))))


@dataclass
class Objects:
    """A map-style dataset over objects. Each process has its own client."""

    store: Store
    count: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, row: int) -> tuple[Any, int]:
        key = f"images/{row:05d}.jpg"
        reply = self.client.get_object(Bucket=self.store.bucket, Key=key)
        return tensor(reply["Body"].read()), row

    @cached_property
    def client(self) -> Any:
        return client(self.store)


def object_batches(store: Store, count: int, _folder: Path) -> Batches:
    return torch_loader(Objects(store, count), batch_size=BATCH, shuffle=True)


ENTRANTS = {
    "deeplake_lite": FarEntrant(write_ours, lambda store, *_: our_batches(store)),
    "deeplake_lite, warm cache": FarEntrant(write_ours, our_cached_batches),
    "Lance": FarEntrant(write_lance, lance_batches),
    "MosaicML": FarEntrant(write_mosaic_shards, cached_mosaic_batches),
    "one at a time": FarEntrant(write_objects, object_batches),
}
