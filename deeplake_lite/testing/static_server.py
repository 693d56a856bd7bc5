"""Web servers for the files of a folder: a static one, and an imitation of Hugging Face's hub.

Both are read-only and support range requests. The hub answers under the addresses
``/datasets/USER/REPO/resolve/REVISION/PATH``. It redirects large files to another server, as the
real hub redirects them to a content delivery network.
"""

from __future__ import annotations

import hashlib
from email.utils import formatdate
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from deeplake_lite.testing.http_server import HttpServer, Reply, Request, Response

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LARGE = 1_000
"""Files of at least this many bytes are redirected by the hub."""


class StaticServer(HttpServer):
    """A server thread that serves the files of a folder, as nginx does.

    Parameters
    ----------
    folder : Path
        The folder to serve.

    Examples
    --------
    >>> import tempfile, urllib.request
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder, StaticServer(Path(folder)) as server:
    ...     _ = Path(folder, "a.txt").write_text("abc")
    ...     request = urllib.request.Request(f"{server.endpoint}/a.txt")
    ...     request.add_header("Range", "bytes=1-")
    ...     urllib.request.urlopen(request).read()
    b'bc'
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.received: list[Request] = []
        """All requests so far. Empty the list to start anew."""

    async def reply(self, request: Request) -> Reply:
        """Return the reply to a request."""
        self.received.append(request)
        return Reply(self._respond(request).encode(request.method))

    def _respond(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return Response(405, {})
        path = self._folder / unquote(urlsplit(request.target).path).lstrip("/")
        if ".." in path.parts or not path.is_file():
            return Response(404, {})
        return file_response(path, request.headers)


class Hub(HttpServer):
    """A server thread that imitates the part of Hugging Face's hub that serves files.

    Parameters
    ----------
    folder : Path
        The folder of a dataset's repository.
    files : StaticServer
        A server for the same folder, to which large files are redirected.
    repository : str
        Name of the dataset, ``USER/REPO``.
    revisions : tuple of str
        Names of the branches, tags and commits.
    token : str, optional
        If given, the dataset is private, and requests need the header ``Authorization: Bearer
        TOKEN``. Without it, the reply has status 401, as for a dataset that does not exist.

    Examples
    --------
    >>> import tempfile, urllib.request
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder, StaticServer(Path(folder)) as files:
    ...     _ = Path(folder, "a.txt").write_bytes(bytes(5_000))
    ...     with Hub(Path(folder), files, "me/flowers") as hub:
    ...         address = f"{hub.endpoint}/datasets/me/flowers/resolve/main/a.txt"
    ...         len(urllib.request.urlopen(address).read()), len(files.received)
    (5000, 1)
    """

    def __init__(
        self,
        folder: Path,
        files: StaticServer,
        repository: str,
        *,
        revisions: tuple[str, ...] = ("main",),
        token: str | None = None,
    ) -> None:
        super().__init__()
        self._folder, self._files, self._repository = folder, files, repository
        self._revisions, self._token = revisions, token
        self.received: list[Request] = []
        """All requests so far. Empty the list to start anew."""

    async def reply(self, request: Request) -> Reply:
        """Return the reply to a request."""
        self.received.append(request)
        return Reply(self._respond(request).encode(request.method))

    def _respond(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return Response(405, {})
        begin, _, rest = urlsplit(request.target).path.partition("/resolve/")
        revision, _, name = rest.partition("/")
        is_allowed = self._token in (None, request.headers.get("authorization", "")[7:])
        if begin != f"/datasets/{self._repository}" or not is_allowed:
            return Response(401, {"X-Error-Code": "RepoNotFound"}, b"Invalid username or password.")
        if unquote(revision) not in self._revisions:
            return Response(404, {"X-Error-Code": "RevisionNotFound"}, b"Invalid rev id")
        path = self._folder / unquote(name)
        if ".." in path.parts or not path.is_file():
            return Response(404, {"X-Error-Code": "EntryNotFound"}, b"Entry not found")
        if path.stat().st_size >= LARGE:
            return Response(302, {"Location": f"{self._files.endpoint}/{quote(unquote(name))}"})
        return file_response(path, request.headers)


def file_response(path: Path, headers: Mapping[str, str]) -> Response:
    """Return a response with the bytes of a file, or with the requested range of its bytes."""
    size = path.stat().st_size
    response_headers = {
        "ETag": etag_of(path),
        "Last-Modified": formatdate(path.stat().st_mtime, usegmt=True),
        "Accept-Ranges": "bytes",
        "Content-Type": "application/octet-stream",
    }
    if "range" not in headers:
        return Response(200, response_headers, path.read_bytes())
    first, _, last = headers["range"].removeprefix("bytes=").partition("-")
    start = int(first) if first else max(0, size - int(last))
    stop = min(size, int(last) + 1) if first and last else size
    with path.open("rb") as file:
        file.seek(start)
        body = file.read(stop - start)
    response_headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    return Response(206, response_headers, body)


def etag_of(path: Path) -> str:
    """Return the entity tag of a file, which changes with its size and modification time."""
    stat = path.stat()
    return f'"{hashlib.md5(f"{path}{stat.st_size}{stat.st_mtime_ns}".encode()).hexdigest()}"'
