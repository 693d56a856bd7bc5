"""An object store with a given latency, which serves the files of a folder over the S3 protocol.

The store is read-only. It handles hundreds of requests at a time, waits for the latency before each
reply, and counts requests. ``python -m deeplake_lite.testing.slow_store FOLDER --latency 0.05``
prints the URL of the store, and serves the files until its standard input ends.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from deeplake_lite.testing.http_server import HttpServer, Reply, Request, Response
from deeplake_lite.testing.static_server import etag_of, file_response

if TYPE_CHECKING:
    from collections.abc import Mapping

BUCKET = "lakes"
"""Name of the only bucket."""

NOT_FOUND = b"<Error><Code>NoSuchKey</Code><Message>There is no such key.</Message></Error>"


def storage_options(endpoint: str) -> dict[str, object]:
    """Return the storage options that `deeplake_lite.open` needs to read from a store.

    >>> storage_options("http://127.0.0.1:9000")["endpoint_url"]
    'http://127.0.0.1:9000'
    """
    keys = {"access_key_id": "key", "secret_access_key": "secret", "region": "us-east-1"}
    return {**keys, "endpoint_url": endpoint, "allow_http": True, "force_path_style": True}


class SlowStore(HttpServer):
    """A server thread that serves the files of a folder as objects in `BUCKET`.

    Parameters
    ----------
    folder : Path
        The folder to serve.
    latency : float
        Seconds before each response.

    Examples
    --------
    >>> import tempfile, urllib.request
    >>> with tempfile.TemporaryDirectory() as folder, SlowStore(Path(folder), 0.01) as store:
    ...     _ = Path(folder, "a.txt").write_text("abc")
    ...     urllib.request.urlopen(f"{store.endpoint}/lakes/a.txt").read(), store.requests
    (b'abc', 1)
    """

    def __init__(self, folder: Path, latency: float) -> None:
        super().__init__()
        self._folder, self._latency = folder, latency
        self.requests = self.bytes = 0
        """Numbers of requests and bytes that have been served."""

    async def reply(self, request: Request) -> Reply:
        """Return the reply to a request, after the latency."""
        await asyncio.sleep(self._latency)
        response = self._respond(request)
        self.requests += 1
        self.bytes += len(response.body)
        return Reply(response.encode(request.method))

    def _respond(self, request: Request) -> Response:
        address = urlsplit(request.target)
        _, bucket, *rest = unquote(address.path).split("/", 2)
        if request.method not in ("GET", "HEAD"):
            return Response(405, {})
        if bucket != BUCKET:
            return Response(404, {}, NOT_FOUND)
        if not rest or not rest[0]:
            return self._list({k: v[0] for k, v in parse_qs(address.query).items()})
        path = self._folder / rest[0]
        return (
            file_response(path, request.headers) if path.is_file() else Response(404, {}, NOT_FOUND)
        )

    def _list(self, query: Mapping[str, str]) -> Response:
        """List the keys with a prefix.

        As in S3, a key that has the delimiter after the prefix is not listed itself. Instead, its
        beginning up to that delimiter is listed once, as a common prefix.
        """
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
        return Response(200, {"Content-Type": "application/xml"}, body.encode())


def _entry(key: str, path: Path) -> str:
    stat = path.stat()
    when = datetime.fromtimestamp(stat.st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    return (
        f"<Contents><Key>{escape(key)}</Key><LastModified>{when}</LastModified>"
        f"<ETag>{etag_of(path)}</ETag><Size>{stat.st_size}</Size></Contents>"
    )


def main() -> None:
    """Serve a folder until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--latency", type=float, default=0.05)
    arguments = parser.parse_args()
    with SlowStore(arguments.folder, arguments.latency) as store:
        print(store.endpoint, flush=True)  # noqa: T201 the caller reads the address
        sys.stdin.read()


if __name__ == "__main__":
    main()
