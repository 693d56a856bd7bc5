"""Storage options that this library adds to Icechunk's options, and a list of the secret ones.

Credentials are never stored. They are left out of pickles, except for pickles that this library
sends to worker processes that it starts.
"""

from __future__ import annotations

import contextlib
import multiprocessing.context
import os
import re
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from deeplake_lite import checks
from deeplake_lite.errors import OptionError
from deeplake_lite.storage.repo.aws_profiles import Profile
from deeplake_lite.storage.repo.engine import compiled
from deeplake_lite.storage.repo.hub import SCHEME as HUB
from deeplake_lite.storage.repo.hub import endpoint_of, web_options

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN = ("profile", "timeout", "connect_timeout", "retries")
"""Names of the options that Icechunk's functions do not have."""

TIMEOUT, CONNECT_TIMEOUT = 120.0, 10.0
"""Default seconds to wait for a reply, and for a connection."""

RETRIES = 9
"""Default number of times that a failed request is repeated."""

FIRST_PAUSE, LONGEST_PAUSE = 100, 20_000
"""Milliseconds before the first repetition, and at most. The pause doubles each time."""

SECRETS = frozenset(
    {
        "access_key",
        "access_key_id",
        "bearer_token",
        "expires_after",
        "sas_token",
        "secret_access_key",
        "service_account_key",
        "session_token",
        "token",
    }
)
"""Names of options that are credentials."""

_NESTED = ("config", "opts", "headers", "read_headers", "write_headers")
"""Options that are dicts, whose values may be credentials."""

_SECRET = re.compile(
    r"key|secret|token|password|credential|authorization|cookie|sas", re.IGNORECASE
)

_spreading: ContextVar[bool] = ContextVar("_spreading", default=False)


@dataclass(frozen=True)
class Patience:
    """How long requests may take, and how often they are repeated."""

    timeout: float = TIMEOUT
    """Seconds to wait for a reply."""
    connect_timeout: float = CONNECT_TIMEOUT
    """Seconds to wait for a connection."""
    retries: int = RETRIES
    """Number of times that a failed request is repeated."""

    @classmethod
    def of(cls, options: Mapping[str, object]) -> Patience:
        """Return the settings in storage options. Raises OptionError for invalid ones."""
        given = {name: options[name] for name in OWN if name != "profile" and name in options}
        for name in given.keys() - {"retries"}:
            given[name] = _positive_seconds(name, given[name])
        if "retries" in given:
            given["retries"] = checks.integer("retries", given["retries"], 0)
        return cls(**given)  # type: ignore[arg-type]

    def as_config(self) -> dict[str, str]:
        """Return the time-outs as configuration of the stores of Google, Microsoft and the web."""
        waits = {"timeout": self.timeout, "connect_timeout": self.connect_timeout}
        return {name: f"{1000 * seconds:.0f}ms" for name, seconds in waits.items()}

    def apply(self, settings: compiled.StorageSettings) -> compiled.StorageSettings:
        """Set the time-outs and retries of Icechunk's settings, and return the settings."""
        settings.retries = compiled.StorageRetriesSettings(
            self.retries + 1, FIRST_PAUSE, LONGEST_PAUSE
        )
        settings.timeouts = compiled.StorageTimeoutSettings(
            connect_timeout_ms=round(1000 * self.connect_timeout),
            read_timeout_ms=round(1000 * self.timeout),
        )
        return settings


def engine_options(scheme: str, options: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments of Icechunk's function for a scheme.

    Raises
    ------
    OptionError
        When options contradict each other, or ask for plain HTTP without saying so.
    """
    arguments = {name: value for name, value in options.items() if name not in OWN}
    if scheme == "s3":
        _add_profile(arguments, options.get("profile"))
        _check_http(arguments)
        # If the user passes credentials, `from_env` must stay at its default, which is None.
        has_credentials = arguments.keys() & {"access_key_id", "anonymous", "get_credentials"}
        arguments.setdefault("from_env", not has_credentials or None)
        return arguments
    if options.get("profile") is not None:
        raise OptionError(
            f"profile must name a profile of Amazon's configuration files, but the URL begins with "
            f"{scheme}://. Leave it out."
        )
    if scheme == HUB:
        scheme = urlsplit(endpoint_of(options)).scheme
        arguments = {**web_options(arguments), "allow_http": True}  # as `endpoint_of` has checked
    if scheme in ("http", "https"):
        return _web_options(scheme, arguments, Patience.of(options))
    own = {"access_key", "anonymous", "bearer_token", "get_credentials", "sas_token"}
    own |= {"application_credentials", "service_account_file", "service_account_key"}
    arguments.setdefault("from_env", not (arguments.keys() & own) or None)
    config = arguments.get("config")
    if config is None or isinstance(config, Mapping):
        arguments["config"] = {**Patience.of(options).as_config(), **(config or {})}
    return arguments


def _web_options(scheme: str, arguments: dict[str, Any], patience: Patience) -> dict[str, Any]:
    """Return the arguments for a web server, which has no credentials but headers."""
    is_allowed = arguments.pop("allow_http", False)
    if scheme == "http" and not is_allowed:
        raise OptionError(
            "The URL of a lake on a web server must begin with https://, but it begins with "
            "http://, where others on the network can change the data. If you trust the network, "
            "pass allow_http=True in storage_options."
        )
    given = arguments.get("opts")
    if given is None or isinstance(given, Mapping):
        plain = {"allow_http": "true"} if scheme == "http" else {}
        arguments["opts"] = {**patience.as_config(), **plain, **(given or {})}
    return arguments


def _add_profile(arguments: dict[str, Any], name: object) -> None:
    """Replace the name of a profile by a function that reads its credentials."""
    if name is None:
        return
    others = sorted(arguments.keys() & {"access_key_id", "anonymous", "get_credentials"})
    if others:
        raise OptionError(
            f"Credentials must come from one place, but storage_options has both profile and "
            f"{others[0]}. Leave one of them out."
        )
    profile = Profile(checks.text("profile", name))
    profile.check()
    arguments["get_credentials"] = profile
    if region := profile.region():
        arguments.setdefault("region", region)


def _check_http(arguments: Mapping[str, object]) -> None:
    """Reject plain HTTP unless it is allowed: Icechunk 2.3 uses it without being asked to."""
    names = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    endpoint = arguments.get("endpoint_url") or next(filter(None, map(os.environ.get, names)), "")
    is_plain = isinstance(endpoint, str) and urlsplit(endpoint).scheme.lower() == "http"
    if is_plain and not arguments.get("allow_http"):
        raise OptionError(
            f"endpoint_url must begin with https://, but it is {endpoint!r}, where others on the "
            "network can read the data. If you trust the network, pass allow_http=True in "
            "storage_options."
        )


def _positive_seconds(name: str, value: object) -> float:
    """Return a number of seconds above 0. Raises OptionError."""
    if not (seconds := checks.seconds(name, value)):
        raise OptionError(f"{name} must be a number of seconds above 0, but it is {value!r}.")
    return seconds


# ---- credentials stay in this process


def without_credentials(options: Mapping[str, object]) -> dict[str, object]:
    """Return storage options without credentials. Functions that return credentials are kept.

    >>> without_credentials({"region": "eu-central-1", "access_key_id": "A"})
    {'region': 'eu-central-1'}
    >>> without_credentials({"headers": {"Authorization": "Bearer x", "x-amz-acl": "private"}})
    {'headers': {'x-amz-acl': 'private'}}
    """
    public = {name: value for name, value in options.items() if name not in SECRETS}
    for name in _NESTED:
        if isinstance(nested := public.get(name), Mapping):
            public[name] = {k: v for k, v in nested.items() if not _SECRET.search(str(k))}
    return public


@contextlib.contextmanager
def spreading_credentials() -> Iterator[None]:
    """Keep credentials in objects pickled in this context, for a worker of this process."""
    token = _spreading.set(True)
    try:
        yield
    finally:
        _spreading.reset(token)


def picklable_options(options: Mapping[str, object]) -> dict[str, object]:
    """Return the storage options that a pickle may contain.

    `multiprocessing` pickles the arguments of a process that it starts, and sends them to it over a
    pipe. Credentials are kept there, too.
    """
    is_spawning = multiprocessing.context.get_spawning_popen() is not None
    return dict(options) if is_spawning or _spreading.get() else without_credentials(options)
