"""Read a lake with only zarr and icechunk, following deeplake_lite/storage/FORMAT.md.

Run it: python examples/read_with_zarr.py
"""

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


def read(url: str) -> dict[str, list]:
    """Read all rows without deeplake_lite, and return the values of each column by name."""
    icechunk.set_logs_filter("error")
    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(url))
    root = zarr.open_group(repository.readonly_session("main").store, mode="r")
    document = root.attrs["deeplake_lite"]
    assert document["format"] == 1
    group = root[str(document["generation"])]
    slots = np.arange(document["slots"]) if document["ordered"] else group["rows/slot"][:]
    columns = {c["name"]: group[c["id"]] for c in document["schema"]["columns"]}
    return {
        "score": columns["score"]["data"][:][slots].tolist(),
        "vector": columns["vector"]["data"][:][slots].tolist(),
        "name": [text(columns["name"], start, n) for start, n in extents(columns["name"], slots)],
    }


def extents(column: zarr.Group, slots: np.ndarray) -> list[list[int]]:
    """Return the start and the length of each row's bytes."""
    return column["extents"][:][slots].tolist()


def text(column: zarr.Group, start: int, length: int) -> str:
    """Return a string, given its extent. A negative start says that the bytes are in the tail."""
    array, begin = (column["tail"], ~start) if start < 0 else (column["values"], start)
    return bytes(array[begin : begin + length]).decode()


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
