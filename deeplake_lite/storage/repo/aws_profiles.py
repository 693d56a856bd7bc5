"""Credentials from the profiles in Amazon's configuration files.

The files are described in https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import OptionError
from deeplake_lite.lazy import LazyModule
from deeplake_lite.storage.repo.engine import compiled

if TYPE_CHECKING:
    import configparser
else:
    configparser = LazyModule("configparser")

FRESH = timedelta(minutes=10)
"""How long the credentials of a profile are used before they are read again."""


@dataclass(frozen=True)
class Profile:
    """A function that returns the credentials of a profile.

    Icechunk calls it again when the credentials expire. Its pickle contains only the name of the
    profile.
    """

    name: str

    def __call__(self) -> compiled.S3StaticCredentials:
        """Read the credentials. Raises OptionError if the profile has no credentials."""
        entries = self._entries()
        key, secret = (entries.get(f"aws_{n}") for n in ("access_key_id", "secret_access_key"))
        token = entries.get("aws_session_token")
        if key is None or secret is None:
            key, secret, token = self._ask_botocore()
        return compiled.S3StaticCredentials(key, secret, token, datetime.now(UTC) + FRESH)

    def check(self) -> None:
        """Reject a profile that does not exist. Raises OptionError."""
        if not self._entries():
            raise OptionError(
                f"profile must name a profile in {_credentials_file()} or {_config_file()}, but "
                f"there is no {self.name!r}. Add it with 'aws configure --profile {self.name}'."
            )

    def region(self) -> str | None:
        """Return the region of the profile, if it has one."""
        return self._entries().get("region")

    def _entries(self) -> dict[str, str]:
        """Return the entries of the profile in both files."""
        section = self.name if self.name == "default" else f"profile {self.name}"
        return _section(_config_file(), section) | _section(_credentials_file(), self.name)

    def _ask_botocore(self) -> tuple[str, str, str | None]:
        """Return credentials that botocore must request, as for single sign-on."""
        try:
            from botocore.session import Session
        except ImportError:
            found: Any = None
        else:
            found = Session(profile=self.name).get_credentials()
        if found is None:
            raise OptionError(
                f"A profile must have aws_access_key_id and aws_secret_access_key, but "
                f"{self.name!r} does not. To use single sign-on or roles, install boto3."
            )
        frozen = found.get_frozen_credentials()
        return frozen.access_key, frozen.secret_key, frozen.token


def _credentials_file() -> Path:
    return Path(os.environ.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials")).expanduser()


def _config_file() -> Path:
    return Path(os.environ.get("AWS_CONFIG_FILE", "~/.aws/config")).expanduser()


def _section(path: Path, name: str) -> dict[str, str]:
    """Return the entries of a section of a file, or none if there is no such section."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        # The error itself would quote lines of the file, which may be secret.
        raise OptionError(
            f"Amazon's configuration files must be readable, but {str(path)!r} is not "
            f"({type(error).__name__}). Correct it, or set AWS_CONFIG_FILE and "
            "AWS_SHARED_CREDENTIALS_FILE."
        ) from None
    return dict(parser[name]) if name in parser else {}
