"""Delete objects from a store with the S3 protocol, for which Icechunk has no function.

Requests are signed as described in
https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from deeplake_lite.lazy import LazyModule
from deeplake_lite.storage.repo.store_options import engine_options

if TYPE_CHECKING:
    import urllib.error as http_errors
    import urllib.request as http
    from collections.abc import Iterable, Mapping
else:
    http, http_errors = LazyModule("urllib.request"), LazyModule("urllib.error")

TIMEOUT = 30
"""Seconds to wait for the reply to a request."""

EMPTY = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True)
class Keys:
    """The keys that sign requests."""

    id: str
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


def find_keys(options: Mapping[str, object]) -> Keys | None:
    """Return the keys in storage options or in environment variables, or None if there are none.

    >>> find_keys({"access_key_id": "a", "secret_access_key": "b"})
    Keys(id='a')
    """
    get = options.get("get_credentials")
    found: Mapping[str, object] = options
    if callable(get):
        given, names = get(), ("access_key_id", "secret_access_key", "session_token")
        found = {name: getattr(given, name) for name in names}
    elif "access_key_id" not in options:
        found = {
            "access_key_id": os.environ.get("AWS_ACCESS_KEY_ID"),
            "secret_access_key": os.environ.get("AWS_SECRET_ACCESS_KEY"),
            "session_token": os.environ.get("AWS_SESSION_TOKEN"),
        }
    name, secret, token = (
        found.get(k) for k in ("access_key_id", "secret_access_key", "session_token")
    )
    if not name or not secret:
        return None
    return Keys(str(name), str(secret), str(token) if token else None)


def delete_objects(
    url: str, names: Iterable[str], options: Mapping[str, object], *, now: datetime | None = None
) -> list[str]:
    """Delete objects, and return the names of those that may still exist.

    Parameters
    ----------
    url : str
        The URL ``s3://bucket/prefix`` below which the objects lie.
    names : iterable of str
        Names of the objects, relative to `url`.
    options : mapping
        Storage options of the store.
    now : datetime, optional
        The time that the requests state.
    """
    options = engine_options("s3", options)
    is_anonymous = bool(options.get("anonymous"))
    keys = None if is_anonymous else find_keys(options)
    if keys is None and not is_anonymous:
        return list(names)
    when = now or datetime.now(UTC)
    requests = {name: _request(url, name, options) for name in names}
    for request in requests.values():
        if keys is not None:
            _sign(request, keys, _region(options), when)
    return [name for name, request in requests.items() if not _send(request)]


def _region(options: Mapping[str, object]) -> str:
    names = ("AWS_REGION", "AWS_DEFAULT_REGION")
    values = [options.get("region"), *map(os.environ.get, names), "us-east-1"]
    return str(next(filter(None, values)))


def _request(url: str, name: str, options: Mapping[str, object]) -> http.Request:
    """Return the unsigned request that deletes an object."""
    place = urlsplit(url)
    bucket, key = place.netloc, "/".join(filter(None, (place.path.strip("/"), name)))
    given = options.get("endpoint_url") or os.environ.get("AWS_ENDPOINT_URL")
    endpoint = urlsplit(str(given or f"https://s3.{_region(options)}.amazonaws.com"))
    host, path = endpoint.netloc, f"{endpoint.path.rstrip('/')}/"
    if options.get("force_path_style"):
        path += f"{bucket}/"
    else:
        host = f"{bucket}.{host}"
    return http.Request(f"{endpoint.scheme}://{host}{path}{quote(key, safe='/~')}", method="DELETE")


def _sign(request: http.Request, keys: Keys, region: str, when: datetime) -> None:
    """Add the headers of signature version 4 to a request without a body."""
    day, time = f"{when:%Y%m%d}", f"{when:%Y%m%dT%H%M%SZ}"
    place = urlsplit(request.full_url)
    headers = {"host": place.netloc, "x-amz-content-sha256": EMPTY, "x-amz-date": time}
    if keys.token:
        headers["x-amz-security-token"] = keys.token
    lines, signed = "".join(f"{k}:{v}\n" for k, v in headers.items()), ";".join(headers)
    canonical = "\n".join([request.get_method(), place.path, "", lines, signed, EMPTY])
    scope = f"{day}/{region}/s3/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{keys.secret}".encode()
    for part in (*scope.split("/"), f"AWS4-HMAC-SHA256\n{time}\n{scope}\n{digest}"):
        key = hmac.digest(key, part.encode(), "sha256")
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={keys.id}/{scope}, SignedHeaders={signed}, "
        f"Signature={key.hex()}"
    )
    del headers["host"]  # added when the request is sent
    for name, value in headers.items():
        request.add_header(name, value)


def _send(request: http.Request) -> bool:
    """Send a request, and return whether the object is gone."""
    try:
        with http.urlopen(request, timeout=TIMEOUT):
            return True
    except http_errors.HTTPError as error:
        error.close()
        return error.code == 404
    except OSError:
        return False
