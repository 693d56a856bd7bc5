"""How a file comes from a web server, asking before every address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, override
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Callable
    from http.client import HTTPMessage
    from typing import IO

_SECONDS = 60  # that a server may stay silent


def read_web(url: str, permit: Callable[[str], None] | None = None) -> bytes:
    """Return what a web server answers.

    Parameters
    ----------
    url : str
        http or https.
    permit : callable, optional
        Called with every URL that the server redirects to; raises to refuse it.

    Raises
    ------
    OSError
        When there is no good answer.
    """
    try:
        with build_opener(_Redirects(permit)).open(url, timeout=_SECONDS) as response:
            data: bytes = response.read()
    except HTTPError as error:
        error.close()
        raise
    return data


class _Redirects(HTTPRedirectHandler):
    """Follows redirects to where it is permitted."""

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
