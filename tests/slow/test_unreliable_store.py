"""An object store whose replies fail, stall or are cut 10 % of the time loses nothing.

Two writers take turns to append and commit. Now and then a branch is made, committed to, merged
and deleted, and a vacuum deletes old versions and the remains of failed attempts.
"""

import asyncio
import contextlib
import random
import sys
import threading
from datetime import timedelta

import boto3
import numpy as np
import pytest
from moto.server import ThreadedMotoServer

import deeplake_lite as dl

COMMITS = 200
MERGE_EVERY, VACUUM_EVERY = 10, 25
BAD = 0.1
STALL_SECONDS = 0.5
UNAVAILABLE = b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Proxy:
    """Forwards requests to a server, and now and then fails them, stalls or cuts the reply.

    A failed request may have been carried out nevertheless: only its reply is lost.
    """

    def __init__(self, host, port, seed):
        self.host, self.port, self.chance = host, port, random.Random(seed)
        self.bad, self.counts = 0.0, {"good": 0, "refused": 0, "lost": 0, "stalled": 0, "cut": 0}
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        begun = asyncio.start_server(self.talk, "127.0.0.1", 0)
        self.server = asyncio.run_coroutine_threadsafe(begun, self.loop).result()
        host, port = self.server.sockets[0].getsockname()[:2]
        self.endpoint = f"http://{host}:{port}"
        return self

    def __exit__(self, *_):
        async def stop():
            self.server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(stop(), self.loop).result(30)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(30)
        self.loop.close()

    async def talk(self, reader, writer):
        """Answer one request, and close the connection."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await self.answer(reader, writer)
        writer.close()

    async def answer(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        fate = self.chance.choice(list(self.counts)[1:]) if self.is_bad() else "good"
        self.counts[fate] += 1
        if b"expect: 100-continue" in head.lower():
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        length = next(
            (
                int(line[15:])
                for line in head.lower().split(b"\r\n")
                if line[:15] == b"content-length:"
            ),
            0,
        )
        body = await reader.readexactly(length)
        if fate == "refused":
            writer.write(UNAVAILABLE)
            await writer.drain()
            return
        reply = await self.ask(head, body)
        if fate == "stalled":
            await asyncio.sleep(STALL_SECONDS)
        if fate == "lost":
            return
        writer.write(reply[: self.chance.randrange(len(reply))] if fate == "cut" else reply)
        await writer.drain()

    def is_bad(self):
        return self.chance.random() < self.bad

    async def ask(self, head, body):
        """Return the server's whole reply."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        first, _, rest = head.partition(b"\r\n")
        lines = [n for n in rest.split(b"\r\n") if n and not n.lower().startswith(b"connection:")]
        writer.write(b"\r\n".join([first, *lines, b"Connection: close", b"", b""]) + body)
        await writer.drain()
        reply = await reader.read()
        writer.close()
        return reply


@pytest.fixture
def proxy():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    address = {"endpoint_url": f"http://{host}:{port}", "region_name": "us-east-1"}
    client = boto3.client("s3", **address, **keys)
    client.create_bucket(Bucket="lakes")
    client.close()
    with Proxy(host, port, seed=3) as proxy:
        yield proxy
    server.stop()


def rows_of(start):
    sizes = [4_300_000 if start % 30 == 0 else 2_000, 100]
    return {
        "x": [start, start + 1],
        "data": [bytes([(start + i) % 256]) * size for i, size in enumerate(sizes)],
    }


class Writer:
    """Repeats operations on a lake until they are acknowledged, however often the store fails."""

    refused = 0

    def __init__(self, url, options):
        self.url, self.options = url, options
        self.ds = dl.open(url, storage_options=options)

    def insist(self, action):
        """Repeat an idempotent operation until it is acknowledged."""
        while True:
            try:
                return action()
            except dl.StorageError:
                Writer.refused += 1

    def add(self, ds, start):
        self.insist(lambda: ds.append(rows_of(start)))  # all of them or none
        self.insist(lambda: ds.commit(f"{start}"))

    def merge(self, name, start):
        """Merge rows through a branch, whose creation and deletion may have gone unacknowledged."""
        self.insist(lambda: name in self.ds.branches or self.make_branch(name))
        own = self.insist(lambda: dl.open(self.url, branch=name, storage_options=self.options))
        self.add(own, start)
        self.insist(lambda: self.ds.merge(name))
        self.insist(lambda: name not in self.ds.branches or self.ds.delete_branch(name))

    def make_branch(self, name):
        with contextlib.suppress(dl.ExistsError):  # the engine's retry meets its first attempt
            self.ds.branch(name)

    def vacuum(self):
        self.insist(lambda: self.ds.vacuum(older_than="0s", spare="0s"))


def test_nothing_acknowledged_is_lost_on_an_unreliable_store(proxy, trials, monkeypatch):
    monkeypatch.setattr("deeplake_lite.dataset.maintenance.MIN_AGE", timedelta(0))
    options = {
        "access_key_id": "key",
        "secret_access_key": "secret",
        "region": "us-east-1",
        "endpoint_url": proxy.endpoint,
        "allow_http": True,
        "force_path_style": True,
    }
    ds = dl.create("s3://lakes/bad", {"x": "int64", "data": "bytes"}, storage_options=options)
    writers = [Writer(ds.url, options) for _ in range(2)]
    proxy.bad = BAD
    acknowledged, merges, vacuums = [], 0, 0
    for n in range(trials(COMMITS)):
        writer, start = writers[n % 2], 2 * n
        if n % MERGE_EVERY == MERGE_EVERY - 1:
            writer.merge(f"branch-{n}", start)
            merges += 1
        else:
            writer.add(writer.ds, start)
        acknowledged += [start, start + 1]
        if n % VACUUM_EVERY == VACUUM_EVERY - 1:
            writer.vacuum()
            vacuums += 1
            for other in writers:  # what it was working on may be gone
                other.insist(other.ds.refresh)
    proxy.bad = 0.0
    ds = dl.open(ds.url, storage_options=options)
    result = ds["x"][:].tolist()
    sys.stdout.write(
        f"{merges} merges, {vacuums} vacuums, {Writer.refused} refused, {proxy.counts}\n"
    )
    assert sorted(result) == acknowledged
    assert len(np.unique(ds.row_ids)) == len(ds)
    for row in ds:
        assert row["data"] == rows_of(row["x"] // 2 * 2)["data"][row["x"] % 2]
    assert list(ds.branches) == ["main"]
    assert ds.verify()
    assert min(proxy.counts.values()) > 0
