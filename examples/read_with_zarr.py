"""Read a lake with only zarr and icechunk, following deeplake_lite/storage/FORMAT.md.

Run it: python examples/read_with_zarr.py
"""

import base64
import math
import tempfile

import icechunk
import numpy as np
import zarr

import deeplake_lite as dl


def make(url: str) -> None:
    """Write a small lake with deeplake_lite."""
    ds = dl.create(url, {"score": "float32", "vector": dl.Embedding(4), "name": "text"})
    ds.append({
        "score": [0.5, 1.5, 2.5],
        "vector": np.arange(12).reshape(3, 4),
        "name": ["rose", "", "tulip"],
    })  # fmt: skip
    ds.delete([1])
    ds.commit("two flowers")


class Lake:
    """The arrays of a lake's latest version. Recent entries are in a log in the root document."""

    def __init__(self, url: str) -> None:
        icechunk.set_logs_filter("error")
        repository = icechunk.Repository.open(icechunk.local_filesystem_storage(url))
        root = zarr.open_group(repository.readonly_session("main").store, mode="r")
        self.document = root.attrs["deeplake_lite"]
        assert self.document["format"] == 2
        self.group = root.get(str(self.document["generation"]))
        self.log = base64.b64decode(self.document["log"]["data"])

    def entries(self, path: str, dtype: str, *shape: int) -> np.ndarray:
        """Return all entries of an array: those of the Zarr array, then those of the log."""
        stored = self.group.get(path) if self.group else None
        first = np.empty((0, *shape), dtype) if stored is None else stored[:]
        at, _, rows, updates = self.document["log"]["arrays"].get(path, (0, 0, 0, 0))
        size = np.dtype(dtype).itemsize * math.prod(shape)
        added = np.frombuffer(self.log, dtype, rows * math.prod(shape), at)
        slots = np.frombuffer(self.log, "int64", updates, at + rows * size)
        values = np.frombuffer(
            self.log, dtype, updates * math.prod(shape), at + rows * size + updates * 8
        )
        first[slots] = values.reshape(updates, *shape)
        return np.concatenate([first, added.reshape(rows, *shape)])

    def slots(self) -> np.ndarray:
        """Return the slots of the rows, in order."""
        if not self.document["ordered"]:
            return self.entries("rows/slot", "int64")
        deleted = [np.arange(a, b) for a, b in self.entries("rows/deleted", "int64", 2)]
        return np.delete(
            np.arange(self.document["slots"]), np.concatenate([[], *deleted]).astype(int)
        )

    def texts(self, path: str) -> list[str]:
        """Return the strings of all slots: UTF-8 in one of two arrays of bytes."""
        tail = bytes(self.entries(f"{path}/tail", "uint8"))
        values = self.group.get(f"{path}/values") if self.group else None
        extents = self.entries(f"{path}/extents", "int64", 2).tolist()
        return [
            (tail[~start : ~start + n] if start < 0 else bytes(values[start : start + n])).decode()
            for start, n in extents
        ]


def read(url: str) -> dict[str, list]:
    """Read all rows without deeplake_lite, and return the values of each column by name."""
    lake = Lake(url)
    ids = {column["name"]: column["id"] for column in lake.document["schema"]["columns"]}
    slots, names = lake.slots(), lake.texts(ids["name"])
    return {
        "score": lake.entries(f"{ids['score']}/data", "float32")[slots].tolist(),
        "vector": lake.entries(f"{ids['vector']}/data", "float32", 4)[slots].tolist(),
        "name": [names[slot] for slot in slots],
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        url = f"{scratch}/flowers.lake"
        make(url)
        rows = read(url)
        print(rows)
        ds = dl.open(url)
        assert rows["score"] == ds["score"][:].tolist()
        assert rows["vector"] == ds["vector"][:].tolist()
        assert rows["name"] == ds["name"][:]


if __name__ == "__main__":
    main()
