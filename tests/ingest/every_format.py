"""A small dataset in every format that can be ingested, with numbered records.

Tests that hold for all formats use them: of bad records, of damage, of kills.
"""

from __future__ import annotations

import io
import struct
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from PIL import Image

import deeplake_lite as dl
from deeplake_lite.errors import ExportWarning

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WIDTH, HEIGHT = 16, 12


@dataclass(frozen=True)
class Format:
    """A format."""

    write: Callable[[Path, int], Path]
    """Writes records with the numbers from 0 on into a new folder; returns what to ingest."""

    ingest: Callable[..., Any]
    """The function that ingests it, given a path and a URL."""

    column: str = "n"
    """The column with the numbers of the records."""

    def numbers(self, ds: dl.Dataset) -> list[int]:
        """Return the numbers of the records of a lake, in its order."""
        return [number_of(value) for value in ds[self.column][:]]


def number_of(value: Any) -> int:
    """Return the number of a record: the digits of a text, or the first number of an array."""
    if isinstance(value, str):
        return int("".join(c for c in value if c.isdigit()))
    return int(np.ravel(value)[0])


def png(number: int) -> bytes:
    """Return a PNG file, different for each number."""
    file = io.BytesIO()
    Image.new("RGB", (WIDTH, HEIGHT), (number % 256, number // 256 % 256, 7)).save(file, "PNG")
    return file.getvalue()


# ---- tables and shards


def columns_of(count: int) -> dict[str, Any]:
    """Return the columns of a table."""
    return {
        "n": np.arange(count),
        "text": [f"té {n}" for n in range(count)],
        "vector": np.arange(3 * count, dtype=np.float32).reshape(count, 3),
        "json": [{"n": n, "k": [None, "a"]} for n in range(count)],
    }


def table(count: int, *names: str) -> dl.Dataset:
    """Return a lake of columns; by default all of them."""
    types = {
        "n": "int64", "text": "text", "vector": dl.Array("float32", (3,)), "json": "json",
        "image": dl.Image("png"),
    }  # fmt: skip
    chosen = names or tuple(types)
    rows = {**columns_of(count), "image": [png(n) for n in range(count)]}
    ds = dl.create(f"memory://table-{uuid4().hex}", {name: types[name] for name in chosen})
    if count:
        ds.append({name: rows[name] for name in chosen})
    return ds


def exported(method: str, name: str = "", *names: str, **options: Any) -> Any:
    """Return a function that writes a table by one of the exports of a lake."""

    def write(folder: Path, count: int) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExportWarning)
            getattr(table(count, *names), method)(folder / (name or "data"), **options)
        return folder / (name or "data")

    return write


def write_csv(folder: Path, count: int) -> Path:
    """Write a CSV file."""
    folder.mkdir(parents=True, exist_ok=True)
    table(count, "n", "text", "vector").to_pandas().to_csv(folder / "data.csv", index=False)
    return folder / "data.csv"


def write_hdf5(folder: Path, count: int) -> Path:
    """Write an HDF5 file with chunks, strings, an enumeration and a compound dataset."""
    import h5py

    folder.mkdir(parents=True, exist_ok=True)
    columns = columns_of(count)
    with h5py.File(folder / "data.h5", "w") as file:
        file.create_dataset("n", data=columns["n"], chunks=(8,), fletcher32=True)
        file.create_dataset("vector", data=columns["vector"], chunks=(4, 3), compression=4)
        file["text"] = columns["text"]
        kind = h5py.enum_dtype({"even": 0, "odd": 1}, basetype="i1")
        file.create_dataset("parity", data=(columns["n"] % 2).astype("i1"), dtype=kind)
        pairs = np.zeros(count, [("a", "i4"), ("b", "f8", (2,))])
        pairs["a"] = columns["n"]
        file["g/pairs"] = pairs
        file["g"].attrs["unit"] = "K"
    return folder / "data.h5"


def write_zarr(folder: Path, count: int) -> Path:
    """Write a Zarr group with chunks."""
    import zarr

    columns = columns_of(count)
    group = zarr.create_group(folder / "data.zarr")
    group.create_array("n", data=columns["n"], chunks=(4,))
    group.create_array("vector", data=columns["vector"], chunks=(4, 3))
    group.attrs["unit"] = "K"
    return folder / "data.zarr"


def write_npz(folder: Path, count: int) -> Path:
    """Write a compressed npz file."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = columns_of(count)
    np.savez_compressed(
        folder / "data.npz", n=columns["n"], vector=columns["vector"], t=np.array(columns["text"])
    )
    return folder / "data.npz"


def write_npy(folder: Path, count: int) -> Path:
    """Write an npy file."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "n.npy", np.arange(count))
    return folder / "n.npy"


def write_idx(folder: Path, count: int) -> Path:
    """Write IDX files of images and labels."""
    folder.mkdir(parents=True, exist_ok=True)
    images = np.repeat(np.arange(count, dtype=np.uint8), 16).reshape(count, 4, 4)
    labels = np.arange(count) % 3
    for name, head, values in (
        ("train-images-idx3-ubyte", struct.pack(">HBB3I", 0, 8, 3, count, 4, 4), images),
        ("train-labels-idx1-ubyte", struct.pack(">HBBI", 0, 8, 1, count), labels),
    ):
        (folder / name).write_bytes(head + values.astype(np.uint8).tobytes())
    return folder


def write_huggingface(folder: Path, count: int) -> Path:
    """Write a dataset as ``save_to_disk`` of Hugging Face does."""
    folder.mkdir(parents=True, exist_ok=True)
    table(count, "n", "text", "image").to_huggingface().save_to_disk(str(folder / "data"))
    return folder / "data"


# ---- annotated images


def annotated(count: int) -> dl.Dataset:
    """Return a lake of images with objects."""
    names = ["cat", "dög"]
    schema = {
        "image": dl.Image("png"), "path": "text", "boxes": dl.Boxes("xyxy"),
        "labels": dl.Sequence(dl.ClassLabel(names)), "split": dl.ClassLabel(["train", "val"]),
    }  # fmt: skip
    ds = dl.create(f"memory://annotated-{uuid4().hex}", schema)
    if count:
        ds.append({
            "image": [png(n) for n in range(count)],
            "path": [f"{n:03}.png" for n in range(count)],
            "boxes": [np.float32([[1, 2, 9, 8]] * (n % 3)).reshape(-1, 4) for n in range(count)],
            "labels": [[names[n % 2]] * (n % 3) for n in range(count)],
            "split": ["train"] * count,
        })  # fmt: skip
    return ds


def annotations(method: str, path: str = "data") -> Any:
    """Return a function that writes annotated images by one of the exports of a lake."""

    def write(folder: Path, count: int) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExportWarning)
            getattr(annotated(count), method)(folder / path.partition("/")[0])
        return folder / path

    return write


def write_coco(folder: Path, count: int) -> Path:
    """Write a COCO file with its images."""
    ds = annotated(count)
    (folder / "images").mkdir(parents=True, exist_ok=True)
    ds.to_coco(folder / "instances.json", images=folder / "images")
    return folder / "instances.json"


def write_folder(folder: Path, count: int) -> Path:
    """Write a folder of images in folders of classes."""
    for n in range(count):
        path = folder / "data" / "ab"[n % 2] / f"{n:03}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(n))
    return folder / "data"


FORMATS: dict[str, Format] = {
    "csv": Format(write_csv, dl.from_csv),
    "parquet": Format(exported("to_parquet", "data.parquet"), dl.from_parquet),
    "huggingface": Format(write_huggingface, dl.from_huggingface),
    "webdataset": Format(exported("to_webdataset"), dl.from_webdataset),
    "mds": Format(exported("to_mds"), dl.from_mds),
    "mds, compressed": Format(exported("to_mds", compression="zstd"), dl.from_mds),
    "litdata": Format(exported("to_litdata"), dl.from_litdata),
    "litdata, compressed": Format(exported("to_litdata", compression="zstd"), dl.from_litdata),
    "tfrecord": Format(exported("to_tfrecord"), dl.from_tfrecord),
    "arrayrecord": Format(exported("to_arrayrecord"), dl.from_arrayrecord),
    "torch": Format(exported("to_torch", "data.pt"), dl.from_torch),
    "numpy": Format(exported("to_numpy", "data.npz", compress=True), dl.from_numpy),
    "npz": Format(write_npz, dl.from_numpy),
    "npy": Format(write_npy, dl.from_numpy),
    "hdf5": Format(write_hdf5, dl.from_hdf5),
    "zarr": Format(write_zarr, dl.from_zarr),
    "idx": Format(write_idx, dl.from_idx, "image"),
    "folder": Format(write_folder, dl.from_folder, "path"),
    "coco": Format(write_coco, dl.from_coco, "path"),
    "yolo": Format(annotations("to_yolo"), dl.from_yolo, "path"),
    "voc": Format(annotations("to_voc"), dl.from_voc, "path"),
    "cvat": Format(annotations("to_cvat", "data/annotations.xml"), dl.from_cvat, "path"),
    "labelstudio": Format(
        annotations("to_labelstudio", "data/tasks.json"), dl.from_labelstudio, "path"
    ),
    "fiftyone": Format(annotations("to_fiftyone"), dl.from_fiftyone, "path"),
}
"""The formats of files."""

APART = {
    "lance": Format(exported("to_lance"), dl.from_lance),
    "deeplake": Format(exported("to_deeplake", "", "n", "text", "vector"), dl.from_deeplake),
}
"""Formats whose packages cannot share a process with all others."""
