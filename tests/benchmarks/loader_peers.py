"""Loaders of the peers, each set up for speed on these bytes: two cores, local files.

Where the user's code decodes, it uses simplejpeg, as ours does. Each loader imports its own
package, because each is raced in a process of its own.

- Lance: one thread takes a batch's rows with `take`, ahead of two that decode into the batch.
- Grain: an ArrayRecord file of single records, for random access, and two reading threads.
- tf.data: shards of TFRecords in parallel, a shuffle buffer of 1,000, its own decoder in a pool of
  two threads under AUTOTUNE, any order.
- PyTorch's DataLoader with two processes for all others; its own collation puts batches into
  shared memory. LitData: chunks of 16 MB. MosaicML: shards by default. WebDataset: shards of 16
  MB, so that both workers have about as many, shuffled, and a buffer of 1,000. Hugging Face: Arrow
  files, and a transform that gets a batch's rows at once. Deep Lake: `pytorch()`, with its own
  decoder.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import batched
from pathlib import Path
from typing import Any

import numpy as np
import simplejpeg

from .loaders import (
    AHEAD,
    BATCH,
    WORKERS,
    Batches,
    Entrant,
    Pairs,
    corpus_shape,
    listed,
    write_list,
)

SHARD = 16_000_000
"""Bytes per shard, for the formats that have shards."""


def torch_loader(dataset: Any, **options: Any) -> Any:
    from torch.utils.data import DataLoader

    return DataLoader(dataset, num_workers=WORKERS, **options)


def tensor(data: bytes) -> Any:
    import torch

    return torch.from_numpy(simplejpeg.decode_jpeg(data))


# ---- PyTorch


@dataclass
class Files:
    """A map-style dataset over files."""

    paths: Sequence[Path]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, row: int) -> tuple[Any, int]:
        return tensor(self.paths[row].read_bytes()), row


def torch_batches(folder: Path) -> Batches:
    return torch_loader(Files(listed(folder)), batch_size=BATCH, shuffle=True)


# ---- WebDataset


def write_webdataset(folder: Path, jpegs: Sequence[bytes]) -> None:
    import webdataset

    pattern = f"{folder}/%06d.tar"
    with webdataset.ShardWriter(pattern, maxsize=SHARD, verbose=0, encoder=False) as writer:
        for row, data in enumerate(jpegs):
            writer.write({"__key__": f"{row:08d}", "jpg": data, "cls": str(row).encode()})


def webdataset_batches(folder: Path) -> Batches:
    import webdataset
    from torch.utils.data import default_collate

    shards = sorted(map(str, folder.glob("*.tar")))
    samples = webdataset.WebDataset(shards, shardshuffle=len(shards), empty_check=False)
    samples = samples.shuffle(1000).to_tuple("jpg", "cls").map_tuple(tensor, int)
    return torch_loader(samples.batched(BATCH, collation_fn=default_collate), batch_size=None)


# ---- LitData


def write_litdata(folder: Path, jpegs: Sequence[bytes]) -> None:
    from litdata.streaming import Cache

    cache = Cache(str(folder), chunk_bytes=SHARD)
    for row, data in enumerate(jpegs):
        cache[row] = {"image": data, "label": row}
    cache.done()
    cache.merge()


def litdata_batches(folder: Path) -> Batches:
    from litdata import StreamingDataLoader, StreamingDataset

    samples = StreamingDataset(
        str(folder), shuffle=True, drop_last=False, transform=decoded_sample, max_cache_size="100GB"
    )
    loader = StreamingDataLoader(samples, batch_size=BATCH, num_workers=WORKERS, drop_last=False)
    return Pairs(loader)


def decoded_sample(sample: dict[str, Any]) -> dict[str, Any]:
    return {"image": tensor(sample["image"]), "label": sample["label"]}


# ---- MosaicML Streaming


def write_mosaic(folder: Path, jpegs: Sequence[bytes]) -> None:
    from streaming import MDSWriter

    with MDSWriter(out=str(folder), columns={"image": "bytes", "label": "int"}) as writer:
        for row, data in enumerate(jpegs):
            writer.write({"image": data, "label": row})


def mosaic_batches(folder: Path, remote: str | None = None) -> Batches:
    """Return batches of a folder, or of a remote one whose shards are copied into this folder."""
    from streaming import StreamingDataset

    class Images(StreamingDataset):
        def __getitem__(self, row: Any) -> Any:
            return decoded_sample(super().__getitem__(row))

    samples = Images(local=str(folder), remote=remote, shuffle=True, batch_size=BATCH)
    for stream in samples.streams if remote else ():
        # The client that has downloaded the index keeps its connection. Two worker processes that
        # are forked from this one would use it at once, and save one another's replies as shards.
        stream._downloader.clean_up()
    return Pairs(torch_loader(samples, batch_size=BATCH))


# ---- Hugging Face datasets


def write_hugging_face(folder: Path, jpegs: Sequence[bytes]) -> None:
    import datasets

    table = {"image": list(jpegs), "label": list(range(len(jpegs)))}
    datasets.Dataset.from_dict(table).save_to_disk(folder / "arrow")


def hugging_face_batches(folder: Path) -> Batches:
    import datasets

    samples = datasets.load_from_disk(str(folder / "arrow")).with_transform(decoded_columns)
    return Pairs(torch_loader(samples, batch_size=BATCH, shuffle=True))


def decoded_columns(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {**columns, "image": [tensor(data) for data in columns["image"]]}


# ---- Deep Lake


def write_deep_lake(folder: Path, jpegs: Sequence[bytes]) -> None:
    import deeplake
    from deeplake import types

    schema = {"image": types.Image(sample_compression="jpeg"), "label": types.Int64()}
    lake = deeplake.create(f"file://{folder}/lake", schema=schema)
    for rows in batched(range(len(jpegs)), 100):
        lake.append({"image": [jpegs[row] for row in rows], "label": list(rows)})
    lake.commit()


def deep_lake_batches(folder: Path) -> Batches:
    import deeplake

    lake = deeplake.open_read_only(f"file://{folder}/lake")
    return Pairs(torch_loader(lake.pytorch(), batch_size=BATCH, shuffle=True))


# ---- Lance


def write_lance(folder: Path, jpegs: Sequence[bytes]) -> None:
    import lance

    lance.write_dataset(image_table(jpegs), folder / "lance")


def image_table(jpegs: Sequence[bytes]) -> Any:
    import pyarrow as pa

    columns = {"image": pa.array(jpegs, pa.large_binary()), "label": pa.array(range(len(jpegs)))}
    return pa.table(columns)


@dataclass
class LanceBatches:
    """Takes rows in one thread or more, ahead of the threads that decode them."""

    lake: Any
    takers: int = 1

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        order = np.random.default_rng().permutation(self.lake.count_rows()).tolist()
        pending: deque[Future[Any]] = deque()
        with ThreadPoolExecutor(self.takers) as takers, ThreadPoolExecutor(WORKERS) as decoders:
            for rows in batched(order, BATCH):
                table = takers.submit(self.lake.take, list(rows))
                pending.append(decoders.submit(self.decode, table))
                if len(pending) == WORKERS * AHEAD + self.takers - 1:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()

    def decode(self, taken: Future[Any]) -> tuple[Any, Any]:
        table = taken.result()
        images = np.empty((len(table), *corpus_shape()), np.uint8)
        for image, cell in zip(images, table["image"], strict=True):
            simplejpeg.decode_jpeg(np.frombuffer(cell.as_buffer(), np.uint8), buffer=image)
        return images, table["label"].to_numpy()


def lance_batches(folder: Path) -> Batches:
    import lance

    return LanceBatches(lance.dataset(folder / "lance"))


# ---- Grain


def write_array_record(folder: Path, jpegs: Sequence[bytes]) -> None:
    from array_record.python.array_record_module import ArrayRecordWriter

    writer = ArrayRecordWriter(str(folder / "images.array_record"), "group_size:1,uncompressed")
    for row, data in enumerate(jpegs):
        writer.write(row.to_bytes(8, "little") + data)
    writer.close()


def grain_batches(folder: Path) -> Batches:
    import grain

    source = grain.sources.ArrayRecordDataSource([str(folder / "images.array_record")])
    records = grain.MapDataset.source(source).seed(0).shuffle().map(decoded_record)
    reading = grain.ReadOptions(num_threads=WORKERS, prefetch_buffer_size=2 * BATCH)
    return records.to_iter_dataset(reading).batch(BATCH)


def decoded_record(record: bytes) -> tuple[Any, int]:
    return simplejpeg.decode_jpeg(memoryview(record)[8:]), int.from_bytes(record[:8], "little")


# ---- tf.data


def write_tf_records(folder: Path, jpegs: Sequence[bytes]) -> None:
    import tensorflow as tf

    shards = batched(enumerate(jpegs), max(1, SHARD * len(jpegs) // sum(map(len, jpegs))))
    for number, shard in enumerate(shards):
        with tf.io.TFRecordWriter(str(folder / f"{number:05d}.tfrecord")) as writer:
            for row, data in shard:
                image = tf.train.Feature(bytes_list=tf.train.BytesList(value=[data]))
                label = tf.train.Feature(int64_list=tf.train.Int64List(value=[row]))
                features = tf.train.Features(feature={"image": image, "label": label})
                writer.write(tf.train.Example(features=features).SerializeToString())


def tf_data_batches(folder: Path) -> Batches:
    import tensorflow as tf

    features = {"image": tf.io.FixedLenFeature([], tf.string)}
    features["label"] = tf.io.FixedLenFeature([], tf.int64)

    def decoded(example: Any) -> tuple[Any, Any]:
        result = tf.io.parse_single_example(example, features)
        image = tf.io.decode_jpeg(result["image"], channels=3)
        return tf.ensure_shape(image, corpus_shape()), result["label"]

    shards = tf.data.Dataset.list_files(f"{folder}/*.tfrecord", shuffle=True)
    records = tf.data.TFRecordDataset(shards, num_parallel_reads=WORKERS).shuffle(1000)
    options = tf.data.Options()
    options.threading.private_threadpool_size = WORKERS
    options.deterministic = False
    records = records.map(decoded, num_parallel_calls=tf.data.AUTOTUNE).batch(BATCH)
    return records.prefetch(tf.data.AUTOTUNE).with_options(options)


PEERS = {
    "Lance": Entrant(write_lance, lance_batches),
    "Grain": Entrant(write_array_record, grain_batches),
    "tf.data": Entrant(write_tf_records, tf_data_batches),
    "LitData": Entrant(write_litdata, litdata_batches),
    "Hugging Face": Entrant(write_hugging_face, hugging_face_batches),
    "PyTorch": Entrant(write_list, torch_batches),
    "WebDataset": Entrant(write_webdataset, webdataset_batches),
    "MosaicML": Entrant(write_mosaic, mosaic_batches),
    "Deep Lake": Entrant(write_deep_lake, deep_lake_batches),
}
