"""Addresses and options of lakes in repositories of the Hugging Face hub.

The hub serves the files of a repository at addresses that end in ``/resolve/REVISION/PATH``. It
redirects most of them to a content delivery network. So a lake there is read as from any web
server::

    hf://datasets/me/flowers@v1/lake  →  https://huggingface.co/datasets/me/flowers/resolve/v1/lake

Icechunk's function `hf_storage` is for something else: the hub's storage buckets, through a gateway
with the S3 protocol. It has no anonymous access, and it cannot read repositories.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.errors import LakeNotFoundError, OptionError

SCHEME = "hf"

ENDPOINT = "https://huggingface.co"
"""Address of the hub, unless ``endpoint_url`` or the variable ``HF_ENDPOINT`` names another."""

OWN = ("token", "anonymous", "endpoint_url", "allow_http")
"""Names of the options that Icechunk's `http_storage` does not have."""

_KINDS = {"datasets": "datasets/", "spaces": "spaces/", "models": "", None: ""}
"""Maps the first part of an ``hf://`` URL to the part after the endpoint in addresses."""

_URL = re.compile(
    r"(?i:hf)://(?:(datasets|spaces|models)/)?"
    r"((?!(?:datasets|spaces|models|buckets|kernels)/)[\w.-]+/[\w.-]+)"
    r"(?:@(refs/(?:pr/\d+|convert/\w+)|[^/@?#]+))?"
    r"(?:/([^?#]*))?"
)


class Place(NamedTuple):
    """A folder in a repository of the hub."""

    kind: str | None
    """``datasets``, ``spaces`` or ``models``; None for models."""
    name: str
    """Name of the repository, ``USER/REPO``."""
    revision: str
    """A branch, tag or commit."""
    path: str
    """Path of the folder, without slashes at its ends; empty for the repository itself."""

    @classmethod
    def of(cls, url: str) -> Place:
        """Read a URL that begins with ``hf://``. Raises LakeNotFoundError.

        >>> Place.of("hf://datasets/me/flowers@refs/pr/3/lake/")
        Place(kind='datasets', name='me/flowers', revision='refs/pr/3', path='lake')
        """
        match = _URL.fullmatch(url)
        path = "" if match is None else (match[4] or "").strip("/")
        if match is None or {".", ".."} & {*path.split("/"), *match[2].split("/")}:
            raise LakeNotFoundError(
                "The URL of a lake on the Hugging Face hub must have the form "
                f"hf://datasets/USER/REPO[@REVISION][/PATH], but it is {brief(url, 200)}. Write "
                "%2F for a slash in the name of a branch."
            )
        return cls(match[1], match[2], unquote(match[3] or "main"), path)

    def address(self, endpoint: str) -> str:
        """Return the address below which the files of the folder are served.

        >>> Place.of("hf://datasets/me/flowers@refs/pr/3").address("https://huggingface.co")
        'https://huggingface.co/datasets/me/flowers/resolve/refs%2Fpr%2F3'
        """
        base = f"{endpoint}/{_KINDS[self.kind]}{self.name}/resolve/{quote(self.revision, safe='')}"
        return f"{base}/{quote(self.path)}" if self.path else base


def is_hub(url: str) -> bool:
    """Return whether a URL names a place on the Hugging Face hub.

    >>> is_hub("hf://datasets/me/flowers"), is_hub("https://huggingface.co/datasets/me/flowers")
    (True, False)
    """
    return url.partition("://")[0].lower() == SCHEME


def endpoint_of(options: Mapping[str, object]) -> str:
    """Return the address of the hub. Raises OptionError for plain HTTP that is not allowed."""
    given = options.get("endpoint_url") or os.environ.get("HF_ENDPOINT") or ENDPOINT
    endpoint = checks.text("endpoint_url", given).rstrip("/")
    schemes = ("https", "http") if options.get("allow_http") else ("https",)
    try:
        parts = urlsplit(endpoint)
        is_valid = parts.scheme in schemes and bool(parts.hostname) and not parts.query
    except ValueError:
        is_valid = False
    if not is_valid or "@" in endpoint:
        shown = "it contains credentials" if "@" in endpoint else f"it is {brief(endpoint, 200)}"
        raise OptionError(
            f"The address of the hub must begin with https://, but {shown}. Correct endpoint_url "
            "in storage_options or the variable HF_ENDPOINT. If you trust the network, a hub at "
            "http:// can be used with allow_http=True in storage_options."
        )
    return endpoint


def web_options(options: Mapping[str, object]) -> dict[str, Any]:
    """Return the options of `http_storage` for options of the hub, with the token as a header.

    The token is that in the options, or else in the variable ``HF_TOKEN``, unless the options say
    ``anonymous`` or have a header for it.

    >>> web_options({"token": "hf_x"})["headers"]
    {'authorization': 'Bearer hf_x'}
    >>> web_options({"anonymous": True})
    {}

    Raises
    ------
    OptionError
        When options contradict each other, or the token is not valid. The token is not shown.
    """
    rest = {name: value for name, value in options.items() if name not in OWN}
    token, headers = options.get("token"), rest.get("headers")
    has_header = _has_authorization(headers)
    is_anonymous = checks.flag("anonymous", options.get("anonymous", False))
    if token is not None and (is_anonymous or has_header):
        other = "anonymous" if is_anonymous else "a header Authorization"
        raise OptionError(
            f"Credentials must come from one place, but storage_options has both token and {other}."
            " Leave one of them out."
        )
    if token is None and not is_anonymous and not has_header:
        token = os.environ.get("HF_TOKEN", "").strip() or None
    if token is None:
        return rest
    if not isinstance(token, str) or not re.fullmatch(r"[!-~]+", token):
        raise OptionError(
            "token must be a token of the Hugging Face hub, a string of ASCII characters without "
            "spaces, but it is not. Copy it again from https://huggingface.co/settings/tokens."
        )
    if headers is None or isinstance(headers, Mapping):
        rest["headers"] = {**(headers or {}), "authorization": f"Bearer {token}"}
    return rest


def _has_authorization(headers: object) -> bool:
    names = list(headers) if isinstance(headers, Mapping) else []
    return any(str(name).lower() == "authorization" for name in names)
