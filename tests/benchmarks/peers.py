"""The peers, each set up the way that measured best on these bytes (two cores).

Deep Lake takes encoded images in appends of 100 rows (one append of 20,000 is slower), raw arrays
as slices of one 4-D array, and random rows as `get_bytes` of a list with simplejpeg in threads
(its own decoder takes twice the time). WebDataset writes without its encoder. Lance reads random
rows with `take`, decoded without a copy.
"""

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import deeplake
import icechunk
import lance
import numpy as np
import pyarrow as pa
import simplejpeg
import webdataset
import zarr
from deeplake import types
from numpy.typing import NDArray
from zarr.core.buffer import Buffer, default_buffer_prototype

DECODERS = ThreadPoolExecutor(os.cpu_count())
DEEP_LAKE_WIDE = {
    "image": types.Image(sample_compression="jpeg"),
    "thumb": types.Image(sample_compression="jpeg"),
    "text": types.Text(),
    "boxes": types.Array("float32", dimensions=2),
    "label": types.Int64(),
    "embedding": types.Embedding(128),
    "width": types.Int32(),
    "time": types.Int64(),
    "score": types.Float32(),
    "weight": types.Float64(),
}

type Columns = Mapping[str, Sequence[Any]]


def deep_lake_create(folder: Path, schema: dict[str, Any] | None = None) -> deeplake.Dataset:
    image = {"image": types.Image(sample_compression="jpeg")}
    return deeplake.create(f"file://{folder}/lake", schema=schema or image)


def deep_lake_open(folder: Path) -> deeplake.ReadOnlyDataset:
    return deeplake.open_read_only(f"file://{folder}/lake")


def deep_lake_ingest(folder: Path, columns: Columns, schema: dict[str, Any] | None = None) -> None:
    lake = deep_lake_create(folder, schema)
    for start in range(0, len(next(iter(columns.values()))), 100):
        lake.append({name: values[start : start + 100] for name, values in columns.items()})
    lake.commit()


def deep_lake_raw(folder: Path, arrays: NDArray[np.uint8]) -> None:
    lake = deep_lake_create(folder, {"array": types.Array("uint8", shape=list(arrays.shape[1:]))})
    for start in range(0, len(arrays), 20):
        lake.append({"array": arrays[start : start + 20]})
    lake.commit()


def deep_lake_images(lake: deeplake.ReadOnlyDataset, rows: list[int]) -> list[NDArray[np.uint8]]:
    return decode(lake["image"].get_bytes(rows))


def deep_lake_row(lake: deeplake.ReadOnlyDataset, row: int) -> dict[str, Any]:
    return lake[row].to_dict()


def deep_lake_encoded(lake: deeplake.ReadOnlyDataset) -> list[bytes]:
    return lake["image"].get_bytes(slice(0, len(lake)))


def webdataset_ingest(folder: Path, jpegs: Sequence[bytes]) -> None:
    pattern = f"{folder}/%06d.tar"
    with webdataset.ShardWriter(pattern, maxsize=256e6, verbose=0, encoder=False) as writer:
        for i, data in enumerate(jpegs):
            writer.write({"__key__": f"{i:08d}", "jpg": data})


def lance_table(columns: Columns) -> pa.Table:
    return pa.table({name: arrow_array(values) for name, values in columns.items()})


def arrow_array(values: Sequence[Any]) -> pa.Array:
    """Return bytes as large binary, rows of vectors as fixed-size lists, boxes as lists of four."""
    first = values[0]
    if isinstance(first, bytes):
        return pa.array(values, pa.large_binary())
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return pa.FixedSizeListArray.from_arrays(values.ravel(), values.shape[1])
    if isinstance(first, np.ndarray):
        return pa.array([cell.tolist() for cell in values], pa.list_(pa.list_(pa.float32(), 4)))
    return pa.array(values)


def lance_ingest(folder: Path, columns: Columns, *, mode: str = "create") -> None:
    lance.write_dataset(lance_table(columns), folder / "lance", mode=mode)


def lance_open(folder: Path) -> lance.LanceDataset:
    return lance.dataset(folder / "lance")


def lance_images(lake: lance.LanceDataset, rows: list[int]) -> list[NDArray[np.uint8]]:
    return decode(arrow_bytes(lake.take(rows, columns=["image"])["image"]))


def lance_row(lake: lance.LanceDataset, row: int) -> dict[str, Any]:
    result = lake.take([row])
    cells = {name: result[name][0].as_py() for name in result.column_names}
    pictures = {name: simplejpeg.decode_jpeg(cells[name]) for name in ("image", "thumb")}
    arrays = {name: np.asarray(cells[name], np.float32) for name in ("boxes", "embedding")}
    return {**cells, **pictures, **arrays}


def arrow_bytes(column: pa.ChunkedArray) -> list[NDArray[np.uint8]]:
    return [np.frombuffer(cell.as_buffer(), np.uint8) for cell in column]


def decode(samples: Iterable[Any]) -> list[NDArray[np.uint8]]:
    return list(DECODERS.map(simplejpeg.decode_jpeg, samples))


def icechunk_write(folder: Path, data: NDArray[np.uint8], chunk: int) -> list[str]:
    """Write one array of whole chunks without a codec; return the chunks' keys."""
    session = icechunk_repository(folder, icechunk.Repository.create).writable_session("main")
    count = len(data) // chunk
    options = {"shape": (count * chunk,), "chunks": (chunk,), "dtype": "u1", "compressors": None}
    zarr.create_array(session.store, name="values", **options)[:] = data[: count * chunk]
    session.commit("values")
    return [f"values/c/{i}" for i in range(count)]


def icechunk_store(folder: Path) -> icechunk.IcechunkStore:
    return icechunk_repository(folder, icechunk.Repository.open).readonly_session("main").store


def icechunk_repository(folder: Path, method: Any) -> icechunk.Repository:
    icechunk.set_logs_filter("error")  # it warns about local folders at every open
    return method(icechunk.local_filesystem_storage(str(folder / "icechunk")))


def icechunk_read(store: icechunk.IcechunkStore, keys: Sequence[str]) -> list[Buffer | None]:
    async def read() -> list[Buffer | None]:
        return await asyncio.gather(*(store.get(key, default_buffer_prototype()) for key in keys))

    return asyncio.run(read())
