"""Object stores that tests start on this machine. Each is a process with a folder of its own."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import urlopen

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

import deeplake_lite as dl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STARTS = 3
"""How often a server is started before giving up: another process may have taken its ports."""

SECONDS = 120
"""Time for a server to start, which takes 5 to 40 s."""

SCRIPT = 'exec 3<&0; (cat <&3 >/dev/null; kill $$) & exec "$@" 3<&- </dev/null'
"""Runs a server until standard input ends, which it also does if the tests are killed."""

_names = count()


@dataclass
class Bucket:
    """A bucket of a store, which a test has for itself."""

    name: str
    endpoint: str
    keys: dict[str, str] = field(default_factory=lambda: {"id": "key", "secret": "secretsecret"})

    @property
    def options(self) -> dict[str, object]:
        """Storage options of lakes in the bucket."""
        return {
            "access_key_id": self.keys["id"],
            "secret_access_key": self.keys["secret"],
            "region": "us-east-1",
            "endpoint_url": self.endpoint,
            "allow_http": True,
            "force_path_style": True,
        }

    @cached_property
    def client(self):
        """A client that looks at the objects, and changes them."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=self.keys["id"],
            aws_secret_access_key=self.keys["secret"],
            config=Config(s3={"addressing_style": "path"}),
        )

    def url(self, name: str = "lake") -> str:
        return f"s3://{self.name}/{name}"

    def open(self, name: str = "lake", **options: Any) -> dl.Dataset:
        return dl.open(self.url(name), storage_options=self.options, **options)

    def at(self, endpoint: str) -> Bucket:
        """Return the same bucket at another address, such as that of a proxy."""
        return replace(self, endpoint=endpoint)

    def objects(self, prefix: str = "") -> set[str]:
        """Return the keys of all objects with a prefix."""
        pages = self.client.get_paginator("list_objects_v2").paginate(
            Bucket=self.name, Prefix=prefix
        )
        return {entry["Key"] for page in pages for entry in page.get("Contents", [])}

    def read(self, key: str) -> bytes:
        return self.client.get_object(Bucket=self.name, Key=key)["Body"].read()

    def write(self, key: str, data: bytes) -> None:
        self.client.put_object(Bucket=self.name, Key=key, Body=data)

    def delete(self, key: str) -> None:
        self.client.delete_object(Bucket=self.name, Key=key)


@contextlib.contextmanager
def new_bucket(endpoint: str) -> Iterator[Bucket]:
    """Provide a new bucket, and delete it with all objects."""
    bucket = Bucket(f"bucket-{os.getpid()}-{next(_names)}", endpoint)
    bucket.client.create_bucket(Bucket=bucket.name)
    try:
        yield bucket
    finally:
        for key in bucket.objects():
            bucket.delete(key)
        with contextlib.suppress(ClientError):  # a late request may have written another object
            bucket.client.delete_bucket(Bucket=bucket.name)
        bucket.client.close()


def _program(name: str) -> str:
    """Return the path of a program that a Python package has installed."""
    return str(Path(sys.executable).with_name(name))


def free_ports(number: int) -> list[int]:
    """Return ports that no process listens at."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def _serve(
    folder: Path,
    command: Callable[..., list[str]],
    ports: int = 1,
    environment: dict[str, str] | None = None,
) -> Iterator[str]:
    """Run a server, and provide its address when it answers at the first of its ports.

    Parameters
    ----------
    folder : Path
        The folder in which it runs, and which gets its output.
    command : callable
        Returns the command line for a number of ports.
    """
    for attempt in range(STARTS):
        numbers, log = free_ports(ports), folder / f"output-{attempt}.txt"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["sh", "-c", SCRIPT, "sh", *command(*numbers)],
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env={**os.environ, **(environment or {})},
            )
        url = f"http://127.0.0.1:{numbers[0]}"
        try:
            if _answers(url, process):
                yield url
                return
        finally:
            _stop(process)
    raise AssertionError(f"A server did not start:\n{log.read_text()[-5_000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()  # SeaweedFS takes five seconds to end in order
    process.wait()
    assert process.stdin is not None, "a pipe"
    process.stdin.close()


def _answers(url: str, process: subprocess.Popen[bytes]) -> bool:
    """Wait until a server replies to requests. Return whether it does."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urlopen(f"{url}/healthz", timeout=10):
                return True
        except HTTPError as error:
            error.close()
            if error.code < 500:
                return True
        except OSError:
            pass
        time.sleep(0.05)
    return False


@contextlib.contextmanager
def seaweedfs(folder: Path) -> Iterator[str]:
    """Provide the address of a SeaweedFS, which honours conditional writes."""
    identity = {
        "name": "test",
        "credentials": [{"accessKey": "key", "secretKey": "secretsecret"}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))

    def command(*ports: int) -> list[str]:
        names = ("s3", "filer", "volume", "master")
        options = (*(f"{name}.port" for name in names), *(f"{name}.port.grpc" for name in names))
        return [
            _program("weed"), "server", "-dir=.", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
            "-filer", "-s3", "-s3.config=s3.json", "-s3.port.iceberg=0", "-s3.port.lance=0",
            "-master.volumeSizeLimitMB=64", "-volume.max=1000",
            *(f"-{name}={port}" for name, port in zip(options, ports, strict=True)),
        ]  # fmt: skip

    # Each bucket has volumes of its own: one of them is enough.
    environment = {"WEED_MASTER_VOLUME_GROWTH_COPY_1": "1"}
    with _serve(folder, command, ports=8, environment=environment) as url:
        yield url


@contextlib.contextmanager
def localbucket(folder: Path) -> Iterator[str]:
    """Provide the address of a LocalBucket, which ignores the header If-Match."""
    (folder / "data").mkdir()
    with _serve(folder, lambda port: [_program("localbucket"), "--port", str(port), "data"]) as url:
        yield url


@contextlib.contextmanager
def rclone(folder: Path) -> Iterator[str]:
    """Provide the address of an rclone, which ignores the headers If-Match and If-None-Match."""
    (folder / "data").mkdir()

    def command(port: int) -> list[str]:
        keys = ["--auth-key", "key,secretsecret", "--addr", f"127.0.0.1:{port}"]
        return [_program("rclone"), "serve", "s3", *keys, "data"]

    with _serve(folder, command) as url:
        yield url


@contextlib.contextmanager
def azurite(folder: Path) -> Iterator[str]:
    """Provide the address of an Azurite that is installed in a folder."""

    def command(port: int) -> list[str]:
        program = str(folder / "node_modules" / ".bin" / "azurite-blob")
        listen = ["--blobHost", "127.0.0.1", "--blobPort", str(port)]
        return [program, *listen, "--inMemoryPersistence", "--silent", "--skipApiVersionCheck"]

    with _serve(folder, command) as url:
        yield url
