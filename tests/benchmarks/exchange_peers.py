"""Writers and readers of exchange formats: of this package, and of each format's own package.

The peers write from memory and are set up the way that measured best: large shards, no compression,
and batches where the format has them. MosaicML's writer hashes its shards with xxhash64, as ours
does. The process that imports TensorFlow must have imported Deep Lake before.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import batched
from pathlib import Path
from typing import Any

import deeplake
import lance
import pyarrow as pa
import pyarrow.parquet as pq
import webdataset
from array_record.python.array_record_module import ArrayRecordReader, ArrayRecordWriter

import deeplake_lite as dl

from . import peers
from .lakes import NAMES

SHARD_BYTES = 64 << 20
BATCH = 1_000

type Sample = tuple[bytes, int]
type Samples = Sequence[Sample]


@dataclass(frozen=True)
class Format:
    """A format: how the peer and this package write and read images with labels."""

    peer: str
    """The package that defines it."""

    write: Callable[[Path, Samples], object]
    """The peer writes samples into a folder, which exists and is empty."""

    read: Callable[[Path], Iterator[Any]]
    """The peer reads them: bytes and numbers, without decoding images."""

    export: Callable[[Path, "dl.View"], object]
    """This package writes a view into such a folder."""

    ingest: Callable[[Path, str], object]
    """This package reads what the peer has written into a new lake."""


def write_parquet(folder: Path, samples: Samples) -> None:
    hub_dataset(samples).to_parquet(folder / "part.parquet")


def hub_dataset(samples: Samples) -> Any:
    """Return a dataset of the package `datasets`, whose rows are in memory."""
    import datasets

    types = {"image": datasets.Image(), "label": datasets.ClassLabel(names=NAMES)}
    columns = {
        "image": [{"bytes": data, "path": None} for data, _ in samples],
        "label": [label for _, label in samples],
    }
    return datasets.Dataset.from_dict(columns, datasets.Features(types))


def read_parquet(folder: Path) -> Iterator[Any]:
    for file in sorted(folder.glob("*.parquet")):
        yield from pq.ParquetFile(file).iter_batches()


def write_webdataset(folder: Path, samples: Samples) -> None:
    pattern = f"{folder}/%06d.tar"
    with webdataset.ShardWriter(pattern, maxsize=SHARD_BYTES, verbose=0, encoder=False) as writer:
        for i, (data, label) in enumerate(samples):
            writer.write({"__key__": f"{i:08d}", "jpg": data, "cls": str(label).encode()})


def read_webdataset(folder: Path) -> Iterator[Any]:
    files = sorted(map(str, folder.glob("*.tar")))
    return iter(webdataset.WebDataset(files, shardshuffle=False))


def write_mds(folder: Path, samples: Samples) -> None:
    from streaming import MDSWriter

    columns = {"image": "bytes", "label": "int"}
    with MDSWriter(out=str(folder / "mds"), columns=columns, hashes=["xxh64"]) as writer:
        for data, label in samples:
            writer.write({"image": data, "label": label})


def read_mds(folder: Path) -> Iterator[Any]:
    from streaming import StreamingDataset

    return iter(StreamingDataset(local=str(folder / "mds"), batch_size=1, shuffle=False))


def write_litdata(folder: Path, samples: Samples) -> None:
    from litdata.streaming.writer import BinaryWriter

    writer = BinaryWriter(str(folder), chunk_bytes=SHARD_BYTES)
    for i, (data, label) in enumerate(samples):
        writer.add_item(i, {"image": data, "label": label})
    writer.done()
    writer.merge()


def read_litdata(folder: Path) -> Iterator[Any]:
    from litdata import StreamingDataset

    return iter(StreamingDataset(str(folder)))


def example(data: bytes, label: int) -> bytes:
    import tensorflow as tf

    feature = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[data])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def write_tfrecord(folder: Path, samples: Samples) -> None:
    import tensorflow as tf

    with tf.io.TFRecordWriter(str(folder / "part.tfrecord")) as writer:
        for data, label in samples:
            writer.write(example(data, label))


def read_tfrecord(folder: Path) -> Iterator[Any]:
    import tensorflow as tf

    features = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    records = tf.data.TFRecordDataset(sorted(map(str, folder.glob("*.tfrecord"))))
    return records.batch(64).map(lambda r: tf.io.parse_example(r, features)).as_numpy_iterator()


def write_arrayrecord(folder: Path, samples: Samples) -> None:
    writer = ArrayRecordWriter(str(folder / "part.array_record"), "group_size:1")
    for data, label in samples:
        writer.write(example(data, label))
    writer.close()


def read_arrayrecord(folder: Path) -> Iterator[Any]:
    reader = ArrayRecordReader(str(folder / "part.array_record"))
    for numbers in batched(range(reader.num_records()), BATCH):
        yield from reader.read(list(numbers))


def write_lance(folder: Path, samples: Samples) -> None:
    images, labels = zip(*samples, strict=True)
    table = pa.table({"image": pa.array(images, pa.large_binary()), "label": labels})
    lance.write_dataset(table, folder / "lance")


def read_lance(folder: Path) -> Iterator[Any]:
    return lance.dataset(folder / "lance").to_batches()


def write_deep_lake(folder: Path, samples: Samples) -> None:
    images, labels = zip(*samples, strict=True)
    schema = {
        "image": deeplake.types.Image(sample_compression="jpeg"),
        "label": deeplake.types.Int64(),
    }
    peers.deep_lake_ingest(folder, {"image": images, "label": labels}, schema)


def read_deep_lake(folder: Path) -> Iterator[Any]:
    lake = peers.deep_lake_open(folder)
    for start in range(0, len(lake), BATCH):
        yield (
            lake["image"].get_bytes(slice(start, start + BATCH)),
            lake["label"][start : start + BATCH],
        )


FORMATS = {
    "Parquet of Hugging Face": Format(
        "datasets", write_parquet, read_parquet,
        lambda folder, view: view.to_parquet(folder / "ours"),
        lambda folder, url: dl.from_parquet(folder, url, progress=False),
    ),
    "WebDataset": Format(
        "webdataset", write_webdataset, read_webdataset,
        lambda folder, view: view.to_webdataset(folder / "ours", shard_bytes=SHARD_BYTES),
        lambda folder, url: dl.from_webdataset(folder, url, progress=False),
    ),
    "Lance": Format(
        "pylance", write_lance, read_lance,
        lambda folder, view: view.to_lance(folder / "ours"),
        lambda folder, url: dl.from_lance(folder / "lance", url, progress=False),
    ),
    "Deep Lake": Format(
        "deeplake", write_deep_lake, read_deep_lake,
        lambda folder, view: view.to_deeplake(folder / "ours"),
        lambda folder, url: dl.from_deeplake(folder / "lake", url, progress=False),
    ),
    "MDS": Format(
        "mosaicml-streaming", write_mds, read_mds,
        lambda folder, view: view.to_mds(folder / "ours", shard_bytes=SHARD_BYTES),
        lambda folder, url: dl.from_mds(folder / "mds", url, progress=False),
    ),
    "LitData": Format(
        "litdata", write_litdata, read_litdata,
        lambda folder, view: view.to_litdata(folder / "ours", chunk_bytes=SHARD_BYTES),
        lambda folder, url: dl.from_litdata(folder, url, progress=False),
    ),
    "ArrayRecord": Format(
        "array-record", write_arrayrecord, read_arrayrecord,
        lambda folder, view: view.to_arrayrecord(folder / "ours"),
        lambda folder, url: dl.from_arrayrecord(folder / "part.array_record", url, progress=False),
    ),
    "TFRecord": Format(
        "tensorflow", write_tfrecord, read_tfrecord,
        lambda folder, view: view.to_tfrecord(folder / "ours"),
        lambda folder, url: dl.from_tfrecord(folder / "part.tfrecord", url, progress=False),
    ),
}  # fmt: skip
"""The last ones import TensorFlow, after which Deep Lake cannot be used."""
