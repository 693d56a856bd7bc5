"""Images on an object store as a PyTorch DataLoader reads them, one by one or concurrently."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from http.client import HTTPConnection
from pathlib import Path
from shutil import copyfile
from typing import Any
from urllib.parse import urlsplit

from .loader_peers import tensor, torch_loader
from .loaders import BATCH, Batches, listed


def write_files(folder: Path, source: Path) -> None:
    """Copy the raced images into the folder that the store serves."""
    (folder / "images").mkdir()
    for row, path in enumerate(listed(source)):
        copyfile(path, folder / "images" / f"{row:05d}.jpg")


class FarFiles:
    """A map-style dataset over files of a store; each thread reuses its connection.

    Parameters
    ----------
    endpoint : str
        Address of the store.
    count : int
        Rows.
    at_a_time : int
        Requests in flight, per worker.
    """

    def __init__(self, endpoint: str, count: int, at_a_time: int) -> None:
        self.endpoint, self.count, self.at_a_time = endpoint, count, at_a_time

    def __len__(self) -> int:
        return self.count

    def __getitems__(self, rows: Sequence[int]) -> list[tuple[Any, int]]:
        if self.at_a_time == 1:
            return [self.sample(row) for row in rows]
        return list(self.pool.map(self.sample, rows))

    def sample(self, row: int) -> tuple[Any, int]:
        self.connection.request("GET", f"/lakes/images/{row:05d}.jpg")
        return tensor(self.connection.getresponse().read()), row

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.at_a_time)

    @cached_property
    def threads(self) -> threading.local:
        return threading.local()

    @property
    def connection(self) -> HTTPConnection:
        if not hasattr(self.threads, "connection"):
            self.threads.connection = HTTPConnection(urlsplit(self.endpoint).netloc)
        return self.threads.connection


def far_batches(endpoint: str, count: int, at_a_time: int) -> Batches:
    return torch_loader(FarFiles(endpoint, count, at_a_time), batch_size=BATCH, shuffle=True)
