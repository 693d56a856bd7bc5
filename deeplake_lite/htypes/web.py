"""Reading of files from web servers, with a check of every redirect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, override
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Callable
    from http.client import HTTPMessage
    from typing import IO

_SECONDS = 60  # how long to wait for a server's next bytes


def read_web(url: str, permit: Callable[[str], None] | None = None) -> bytes:
    """Return the body of a web server's response.

    Parameters
    ----------
    url : str
        An http or https URL.
    permit : callable, optional
        Function that is called with the target of each redirect, and raises an error to reject it.

    Raises
    ------
    OSError
        If there is no successful response.
    """
    try:
        with build_opener(_Redirects(permit)).open(url, timeout=_SECONDS) as response:
            data: bytes = response.read()
    except HTTPError as error:
        error.close()  # the error holds the response
        raise
    return data


class _Redirects(HTTPRedirectHandler):
    """A handler for urllib that follows redirects only to permitted addresses."""

    def __init__(self, permit: Callable[[str], None] | None) -> None:
        self._permit = permit

    @override
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Any:
        if self._permit:
            try:
                self._permit(newurl)
            except InvalidValueError:
                fp.close()
                raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)
