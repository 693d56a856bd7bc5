"""A proxy in front of an object store, which delays requests and makes some of them fail.

Tests use it to see whether a program loses data when its network or its store is unreliable, and to
count the requests of an operation.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, fields
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from deeplake_lite.errors import OptionError
from deeplake_lite.testing.http_server import HttpServer, Reply, Request, Response

RETRY_AFTER = 1
"""Seconds in the header Retry-After of replies with status 503."""

_ERRORS = {
    "forbidden": (403, "AccessDenied"),
    "failed": (500, "InternalError"),
    "busy": (503, "SlowDown"),
}
"""Status and error code of each reply that the proxy sends without asking the store."""


@dataclass(frozen=True)
class Faults:
    """Probabilities with which requests fail. The sum must not exceed 1.

    >>> Faults(lost=0.05, busy=0.05)
    Faults(lost=0.05, truncated=0.0, stalled=0.0, forbidden=0.0, failed=0.0, busy=0.05)
    >>> Faults(lost=0.8, busy=0.7)
    Traceback (most recent call last):
      ...
    deeplake_lite.errors.OptionError: The probabilities of faults must be at least 0 and add up to
    at most 1, but they are lost=0.8, busy=0.7.
    """

    lost: float = 0.0
    """The store carries out the request, but the connection is closed without a reply."""
    truncated: float = 0.0
    """The connection is closed within the reply."""
    stalled: float = 0.0
    """The reply arrives `Proxy.stall` seconds late."""
    forbidden: float = 0.0
    """The reply has status 403. The store does not get the request."""
    failed: float = 0.0
    """The reply has status 500. The store does not get the request."""
    busy: float = 0.0
    """The reply has status 503 and the header Retry-After. The store does not get the request."""

    def __post_init__(self) -> None:
        chances = {field.name: getattr(self, field.name) for field in fields(self)}
        if min(chances.values()) < 0 or sum(chances.values()) > 1 + 1e-9:
            given = ", ".join(f"{name}={chance}" for name, chance in chances.items() if chance)
            raise OptionError(
                "The probabilities of faults must be at least 0 and add up to at most 1, but they "
                f"are {given}."
            )

    @classmethod
    def spread(cls, chance: float, *names: str) -> Faults:
        """Return faults with the total probability `chance`, divided equally between the kinds.

        Parameters
        ----------
        chance : float
            The probability that a request fails in any way.
        names : str
            Names of the kinds of faults; by default, all of them.

        Examples
        --------
        >>> Faults.spread(0.1, "lost", "busy")
        Faults(lost=0.05, truncated=0.0, stalled=0.0, forbidden=0.0, failed=0.0, busy=0.05)
        """
        kinds = names or tuple(field.name for field in fields(cls))
        return cls(**dict.fromkeys(kinds, chance / len(kinds)))

    def draw(self, chance: random.Random) -> str | None:
        """Draw the fault of a request, or None."""
        number = chance.random()
        for field in fields(self):
            number -= getattr(self, field.name)
            if number < 0:
                return field.name
        return None


NO_FAULTS = Faults()


class Exchange(NamedTuple):
    """A request that the proxy has replied to."""

    operation: str
    """The kind of request: ``get``, ``put``, ``head``, ``list``, ``copy``, ``delete``, …"""
    target: str
    """Path and query."""
    fault: str | None
    """Name of the injected fault, which is a field of `Faults`, or None."""
    status: int
    """Status of the reply, or 0 if no reply was sent."""
    sent: int
    """Number of bytes in the body of the request."""
    received: int
    """Number of bytes in the reply."""


class Proxy(HttpServer):
    """A server thread that forwards requests to a store.

    Parameters
    ----------
    endpoint : str
        Address of the store, such as ``http://127.0.0.1:9000``. Signatures of requests stay valid
        if the store computes them for any host, as SeaweedFS and MinIO do.
    latency : float
        Seconds before each reply.
    bandwidth : float, optional
        Bytes per second that all connections share. By default, it is unlimited.
    faults : Faults
        Probabilities of faults. The attribute can be changed at any time.
    seed : int
        Seed of the faults. The same requests in the same order have the same faults.
    stall : float
        Additional seconds before a stalled reply.

    Examples
    --------
    >>> import tempfile, urllib.request
    >>> from pathlib import Path
    >>> from deeplake_lite.testing.slow_store import SlowStore
    >>> with tempfile.TemporaryDirectory() as folder, SlowStore(Path(folder), 0) as store:
    ...     _ = Path(folder, "a.txt").write_text("abc")
    ...     with Proxy(store.endpoint, latency=0.01) as proxy:
    ...         urllib.request.urlopen(f"{proxy.endpoint}/lakes/a.txt").read()
    ...         proxy.requests, proxy.operations
    b'abc'
    (1, Counter({'get': 1}))
    """

    def __init__(
        self,
        endpoint: str,
        *,
        latency: float = 0.0,
        bandwidth: float | None = None,
        faults: Faults = NO_FAULTS,
        seed: int = 0,
        stall: float = 0.5,
    ) -> None:
        super().__init__()
        place = urlsplit(endpoint)
        if place.scheme != "http" or place.hostname is None:
            raise OptionError(
                f"A proxy forwards to an address that begins with http://, but it is {endpoint!r}."
            )
        self._address = place.hostname, place.port or 80
        self.latency, self.bandwidth, self.faults, self.stall = latency, bandwidth, faults, stall
        self.exchanges: list[Exchange] = []
        """All requests so far. Empty the list to count from zero."""
        self._chance, self._is_free_at = random.Random(seed), 0.0

    @property
    def requests(self) -> int:
        """Number of requests."""
        return len(self.exchanges)

    @property
    def bytes(self) -> int:
        """Number of bytes in the bodies of requests and in replies."""
        return sum(each.sent + each.received for each in self.exchanges)

    @property
    def operations(self) -> Counter[str]:
        """Number of requests by operation."""
        return Counter(each.operation for each in self.exchanges)

    @property
    def faulty(self) -> Counter[str]:
        """Number of requests by fault, without those that succeeded."""
        return Counter(each.fault for each in self.exchanges if each.fault)

    async def reply(self, request: Request) -> Reply:
        """Return the store's reply to a request, or a fault."""
        fault = self.faults.draw(self._chance)
        await asyncio.sleep(self.latency)
        await self._transfer(len(request.body))
        if fault in _ERRORS:
            reply = Reply(_refuse(fault).encode(request.method))
        else:
            reply = await self._forward(request)
        if fault == "stalled":
            await asyncio.sleep(self.stall)
        if fault == "lost":
            reply = Reply(b"", is_whole=False)
        if fault == "truncated":
            reply = Reply(reply.data[: self._chance.randrange(len(reply.data))], is_whole=False)
        await self._transfer(len(reply.data))
        status = int(reply.data[9:12]) if len(reply.data) >= 12 else 0
        operation = operation_of(request)
        exchange = (operation, request.target, fault, status, len(request.body), len(reply.data))
        self.exchanges.append(Exchange(*exchange))
        return reply

    async def _transfer(self, size: int) -> None:
        """Wait until `size` bytes are transferred, after the transfers of other connections."""
        if self.bandwidth is None:
            return
        now = asyncio.get_running_loop().time()
        self._is_free_at = max(now, self._is_free_at) + size / self.bandwidth
        await asyncio.sleep(self._is_free_at - now)

    async def _forward(self, request: Request) -> Reply:
        """Return the store's whole reply to a request."""
        headers = {n: v for n, v in request.headers.items() if n not in ("connection", "expect")}
        lines = [f"{request.method} {request.target} HTTP/1.1", "connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        try:
            reader, writer = await asyncio.open_connection(*self._address)
        except OSError:
            return Reply(Response(502, {}).encode(request.method))
        try:
            writer.write("\r\n".join([*lines, "", ""]).encode() + request.body)
            await writer.drain()
            data = await reader.read()
        finally:
            writer.close()
        while data.startswith(b"HTTP/1.1 100 "):
            data = data.partition(b"\r\n\r\n")[2]
        head, end, body = data.partition(b"\r\n\r\n")
        kept = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
        names = {line.partition(b":")[0].lower() for line in kept}
        has_end = bool(names & {b"content-length", b"transfer-encoding"})
        is_empty = head[9:12] in (b"204", b"304")
        return Reply(b"\r\n".join(kept) + end + body, has_end or is_empty)


def _refuse(fault: str) -> Response:
    """Return the response of the proxy to a request that it does not forward."""
    status, code = _ERRORS[fault]
    headers = {"Content-Type": "application/xml"}
    if status == 503:
        headers["Retry-After"] = str(RETRY_AFTER)
    body = f"<Error><Code>{code}</Code><Message>A fault of the proxy.</Message></Error>"
    return Response(status, headers, body.encode())


def operation_of(request: Request) -> str:
    """Return the operation that a request of the S3 protocol performs, such as ``"get"``.

    >>> operation_of(Request("GET", "/lakes/?list-type=2&prefix=a", {}))
    'list'
    >>> operation_of(Request("PUT", "/lakes/a/repo", {"x-amz-copy-source": "lakes/b"}))
    'copy'
    """
    query = parse_qs(urlsplit(request.target).query, keep_blank_values=True)
    if "list-type" in query:
        return "list"
    if "uploads" in query or "uploadId" in query:
        return "multipart"
    if request.method == "POST" and "delete" in query:
        return "delete"
    return "copy" if "x-amz-copy-source" in request.headers else request.method.lower()
