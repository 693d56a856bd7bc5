"""An object store that takes its time: files of a folder over S3's protocol, on this machine.

It reads only, answers hundreds of requests at a time, each after the latency, and counts them.
``python -m deeplake_lite.testing.slow_store FOLDER --latency 0.05`` serves until its standard input
ends; it prints its address first.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import sys
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Mapping

BUCKET = "lakes"
"""The one bucket."""

NOT_FOUND = b"<Error><Code>NoSuchKey</Code><Message>There is no such key.</Message></Error>"
REASONS = {200: "OK", 206: "Partial Content", 404: "Not Found", 405: "Method Not Allowed"}


def storage_options(endpoint: str) -> dict[str, Any]:
    """Return what `deeplake_lite.open` needs to read from a store like this.

    >>> storage_options("http://127.0.0.1:9000")["endpoint_url"]
    'http://127.0.0.1:9000'
    """
    keys = {"access_key_id": "key", "secret_access_key": "secret", "region": "us-east-1"}
    return {**keys, "endpoint_url": endpoint, "allow_http": True, "force_path_style": True}


class Answer(NamedTuple):
    """What goes back."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Wanted:
    """What a request asks for."""

    method: str
    target: str
    headers: Mapping[str, str]


class SlowStore:
    """Serves the files of a folder as the bucket `BUCKET`, from a thread.

    Parameters
    ----------
    folder : Path
        Its files are the objects.
    latency : float
        Seconds before each answer.

    Examples
    --------
    >>> import tempfile, urllib.request
    >>> with tempfile.TemporaryDirectory() as folder, SlowStore(Path(folder), 0.01) as store:
    ...     _ = Path(folder, "a.txt").write_text("abc")
    ...     urllib.request.urlopen(f"{store.endpoint}/lakes/a.txt").read(), store.requests
    (b'abc', 1)
    """

    def __init__(self, folder: Path, latency: float) -> None:
        self._folder, self._latency = folder, latency
        self.requests = self.bytes = 0
        """Answered so far."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def endpoint(self) -> str:
        """Address of the store."""
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}"

    def __enter__(self) -> Self:
        self._thread.start()
        begun = asyncio.start_server(self._talk, "127.0.0.1", 0, backlog=1024)
        self._server = asyncio.run_coroutine_threadsafe(begun, self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        self._writers.add(writer)
        try:
            while (wanted := await _request(reader)) is not None:
                await asyncio.sleep(self._latency)
                answer = self._answer(wanted)
                self.requests += 1
                self.bytes += len(answer.body)
                writer.write(_head(answer))
                if wanted.method != "HEAD":
                    writer.write(answer.body)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the other side has gone
        finally:
            self._writers.discard(writer)
            writer.close()

    def _answer(self, wanted: Wanted) -> Answer:
        address = urlsplit(wanted.target)
        _, bucket, *rest = unquote(address.path).split("/", 2)
        if wanted.method not in ("GET", "HEAD"):
            return Answer(405, {})
        if bucket != BUCKET:
            return Answer(404, {}, NOT_FOUND)
        if not rest or not rest[0]:
            return self._listed({k: v[0] for k, v in parse_qs(address.query).items()})
        path = self._folder / rest[0]
        return _file(path, wanted.headers) if path.is_file() else Answer(404, {}, NOT_FOUND)

    def _listed(self, query: Mapping[str, str]) -> Answer:
        """Return the keys that begin with a prefix, or what of them the delimiter ends."""
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
        folder = self._folder / prefix.rpartition("/")[0]
        objects, prefixes = [], set()
        for path in sorted(folder.rglob("*")) if folder.is_dir() else []:
            key = path.relative_to(self._folder).as_posix()
            if not key.startswith(prefix) or not path.is_file():
                continue
            if delimiter and delimiter in key[len(prefix) :]:
                prefixes.add(prefix + key[len(prefix) :].split(delimiter)[0] + delimiter)
            else:
                objects.append(_entry(key, path))
        common = [
            f"<CommonPrefixes><Prefix>{escape(p)}</Prefix></CommonPrefixes>"
            for p in sorted(prefixes)
        ]
        count = len(objects) + len(common)
        body = (
            '<?xml version="1.0" encoding="UTF-8"?>'
            '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{count}</KeyCount>"
            "<MaxKeys>1000000</MaxKeys><IsTruncated>false</IsTruncated>"
            f"{''.join(objects)}{''.join(common)}</ListBucketResult>"
        )
        return Answer(200, {"Content-Type": "application/xml"}, body.encode())


def _entry(key: str, path: Path) -> str:
    stat = path.stat()
    when = datetime.fromtimestamp(stat.st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    return (
        f"<Contents><Key>{escape(key)}</Key><LastModified>{when}</LastModified>"
        f"<ETag>{_etag(path)}</ETag><Size>{stat.st_size}</Size></Contents>"
    )


def _file(path: Path, headers: Mapping[str, str]) -> Answer:
    """Return a file, or the range of its bytes that is asked for."""
    size = path.stat().st_size
    found = {
        "ETag": _etag(path),
        "Last-Modified": formatdate(path.stat().st_mtime, usegmt=True),
        "Accept-Ranges": "bytes",
        "Content-Type": "application/octet-stream",
    }
    if "range" not in headers:
        return Answer(200, found, path.read_bytes())
    first, _, last = headers["range"].removeprefix("bytes=").partition("-")
    start = int(first) if first else max(0, size - int(last))
    stop = min(size, int(last) + 1) if first and last else size
    with path.open("rb") as file:
        file.seek(start)
        body = file.read(stop - start)
    return Answer(206, {**found, "Content-Range": f"bytes {start}-{stop - 1}/{size}"}, body)


def _etag(path: Path) -> str:
    stat = path.stat()
    return f'"{hashlib.md5(f"{path}{stat.st_size}{stat.st_mtime_ns}".encode()).hexdigest()}"'


async def _request(reader: asyncio.StreamReader) -> Wanted | None:
    """Return the next request of a connection; None where there is no other."""
    line = (await reader.readline()).decode().strip()
    if not line:
        return None
    method, target, _ = line.split(" ", 2)
    headers: dict[str, str] = {}
    while field := (await reader.readline()).decode().strip():
        name, _, value = field.partition(":")
        headers[name.strip().lower()] = value.strip()
    await reader.readexactly(int(headers.get("content-length", 0)))
    return Wanted(method, target, headers)


def _head(answer: Answer) -> bytes:
    headers = {**answer.headers, "Content-Length": str(len(answer.body))}
    lines = [f"HTTP/1.1 {answer.status} {REASONS[answer.status]}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def main() -> None:
    """Serve a folder until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--latency", type=float, default=0.05)
    arguments = parser.parse_args()
    with SlowStore(arguments.folder, arguments.latency) as store:
        print(store.endpoint, flush=True)  # noqa: T201 the protocol
        sys.stdin.read()


if __name__ == "__main__":
    main()
