"""The same steps on an object store with each library: ours, Lance and Deep Lake.

Each library runs in a process of its own and is imported there. A scan reads every cell of every
column into memory, without decoding the images.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Any

import numpy as np

import deeplake_lite as dl

from . import corpus, lakes

COLUMNS = ("image", "text", "boxes", "label", "embedding", "score")

type Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Store:
    """Where the datasets of a library are: a bucket, and the address of its server."""

    bucket: str
    endpoint: str
    key: str
    secret: str

    def url(self, name: str) -> str:
        return f"s3://{self.bucket}/{name}"


class Tool(ABC):
    """A library that keeps datasets on a store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @abstractmethod
    def create(self, name: str) -> Any:
        """Create an empty dataset with six columns."""

    @abstractmethod
    def append(self, lake: Any, columns: Columns) -> object:
        """Append rows, and commit."""

    @abstractmethod
    def open(self, name: str) -> Any: ...

    @abstractmethod
    def read_first_row(self, lake: Any) -> object: ...

    @abstractmethod
    def scan(self, lake: Any) -> object: ...

    @abstractmethod
    def list_commits(self, lake: Any) -> Sequence[object]: ...


class Ours(Tool):
    @property
    def options(self) -> dict[str, object]:
        return {
            "endpoint_url": self.store.endpoint,
            "access_key_id": self.store.key,
            "secret_access_key": self.store.secret,
            "region": "us-east-1",
            "allow_http": True,
            "force_path_style": True,
        }

    def create(self, name: str) -> Any:
        schema = {column: lakes.wide_schema()[column] for column in COLUMNS}
        return dl.create(self.store.url(name), schema, storage_options=self.options)

    def append(self, lake: Any, columns: Columns) -> object:
        lake.append(columns)
        return lake.commit("rows")

    def open(self, name: str) -> Any:
        return dl.open(self.store.url(name), storage_options=self.options)

    def read_first_row(self, lake: Any) -> object:
        return lake[0]

    def scan(self, lake: Any) -> object:
        return lake.to_arrow()

    def list_commits(self, lake: Any) -> Sequence[object]:
        return lake.log()


class Lance(Tool):
    @property
    def options(self) -> dict[str, str]:
        return {
            "endpoint": self.store.endpoint,
            "access_key_id": self.store.key,
            "secret_access_key": self.store.secret,
            "region": "us-east-1",
            "allow_http": "true",
        }

    def create(self, name: str) -> Any:
        return self.write(arrow_table(wide_rows(1)).slice(0, 0), self.store.url(name))

    def append(self, lake: Any, columns: Columns) -> object:
        return self.write(arrow_table(columns), lake, mode="append")

    def write(self, table: Any, target: Any, **options: Any) -> Any:
        import lance

        return lance.write_dataset(table, target, storage_options=self.options, **options)

    def open(self, name: str) -> Any:
        import lance

        return lance.dataset(self.store.url(name), storage_options=self.options)

    def read_first_row(self, lake: Any) -> object:
        return lake.take([0]).to_pylist()

    def scan(self, lake: Any) -> object:
        return lake.to_table()

    def list_commits(self, lake: Any) -> Sequence[object]:
        return lake.versions()


class DeepLake(Tool):
    """Appends 100 rows at a time, which is the fastest; see `peers`."""

    @property
    def options(self) -> dict[str, str]:
        return {
            "endpoint_url": self.store.endpoint,
            "aws_access_key_id": self.store.key,
            "aws_secret_access_key": self.store.secret,
            "aws_region": "us-east-1",
        }

    def create(self, name: str) -> Any:
        import deeplake
        from deeplake import types

        schema = {
            "image": types.Image(sample_compression="jpeg"),
            "text": types.Text(),
            "boxes": types.Array("float32", dimensions=2),
            "label": types.Int64(),
            "embedding": types.Embedding(128),
            "score": types.Float32(),
        }
        return deeplake.create(self.store.url(name), creds=self.options, schema=schema)

    def append(self, lake: Any, columns: Columns) -> object:
        for rows in batched(range(len(columns["label"])), 100):
            part = slice(rows[0], rows[-1] + 1)
            lake.append({name: values[part] for name, values in columns.items()})
        return lake.commit()

    def open(self, name: str) -> Any:
        import deeplake

        return deeplake.open_read_only(self.store.url(name), creds=self.options)

    def read_first_row(self, lake: Any) -> object:
        return lake[0].to_dict()

    def scan(self, lake: Any) -> object:
        images = lake["image"].get_bytes(slice(0, len(lake)))
        return images, [lake[name][:] for name in COLUMNS if name != "image"]

    def list_commits(self, lake: Any) -> Sequence[object]:
        return list(lake.history)


def wide_rows(count: int) -> dict[str, Any]:
    """Return rows of all columns; the images repeat after 1,000."""
    images = lakes.repeat(corpus.jpeg_crops(min(count, lakes.POOL), corpus.SIZE, seed=5), count)
    columns = lakes.wide_columns(0, images)
    return {name: columns[name] for name in COLUMNS}


def arrow_table(columns: Columns) -> Any:
    """Return an Arrow table with bytes as large binary, and vectors as lists of a fixed size."""
    import pyarrow as pa

    boxes = [cell.tolist() for cell in columns["boxes"]]
    vectors = np.asarray(columns["embedding"], np.float32)
    arrays = {
        "image": pa.array(columns["image"], pa.large_binary()),
        "text": pa.array(columns["text"]),
        "boxes": pa.array(boxes, pa.list_(pa.list_(pa.float32(), 4))),
        "label": pa.array(columns["label"]),
        "embedding": pa.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1]),
        "score": pa.array(columns["score"]),
    }
    return pa.table(arrays)


TOOLS: dict[str, type[Tool]] = {"deeplake_lite": Ours, "Lance": Lance, "Deep Lake": DeepLake}
