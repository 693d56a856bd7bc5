"""A server thread that speaks HTTP, for object stores that tests and benchmarks run."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

REASONS = {
    200: "OK",
    206: "Partial Content",
    302: "Found",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
}
LIMIT = 2**20
"""Maximum number of bytes in a line of a request's or response's head."""


@dataclass(frozen=True)
class Request:
    """An HTTP request."""

    method: str
    target: str
    headers: Mapping[str, str]
    """Values of the headers by name. The names are in lower case."""
    body: bytes = b""
    """The body as it was transferred. A chunked body includes the sizes of its chunks."""


class Response(NamedTuple):
    """An HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    def encode(self, method: str = "GET") -> bytes:
        r"""Return the bytes of the response to a request, given the request's method.

        >>> Response(404, {}, b"none").encode()
        b'HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone'
        """
        headers = {**self.headers, "Content-Length": str(len(self.body))}
        lines = [f"HTTP/1.1 {self.status} {REASONS[self.status]}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode()
        return head if method == "HEAD" else head + self.body


class Reply(NamedTuple):
    """The bytes to send to a client after its request."""

    data: bytes
    is_whole: bool = True
    """Whether the connection can be used for the next request."""


class HttpServer(ABC):
    """A base class for servers that run in a thread, during a ``with`` block."""

    def __init__(self) -> None:
        self._writers: set[asyncio.StreamWriter] = set()

    @abstractmethod
    async def reply(self, request: Request) -> Reply:
        """Return the reply to a request."""

    @property
    def endpoint(self) -> str:
        """URL of the server."""
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}"

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        start = asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024, limit=LIMIT)
        self._server = asyncio.run_coroutine_threadsafe(start, self._loop).result()
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
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Respond to the requests of one connection."""
        self._writers.add(writer)
        try:
            while (request := await _read_request(reader, writer)) is not None:
                data, is_whole = await self.reply(request)
                writer.write(data)
                await writer.drain()
                if not is_whole or request.headers.get("connection", "").lower() == "close":
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has closed the connection, or the server stops
        finally:
            self._writers.discard(writer)
            writer.close()


async def _read_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Request | None:
    """Return the next request of a connection, or None if there are no more."""
    line = (await reader.readline()).decode().strip()
    if not line:
        return None
    method, target, _ = line.split(" ", 2)
    headers: dict[str, str] = {}
    while field := (await reader.readline()).decode().strip():
        name, _, value = field.partition(":")
        headers[name.strip().lower()] = value.strip()
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _read_chunks(reader)
    else:
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, target, headers, body)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    """Return a chunked body, including the sizes of its chunks."""
    body = b""
    while True:
        line = await reader.readuntil(b"\r\n")
        size = int(line.split(b";")[0], 16)
        body += line + await reader.readexactly(size + 2 if size else 0)
        if not size:
            break
    while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
        body += line
    return body + line
